#!/usr/bin/env bats
# Rules between arguments, which a command declares in `requires`.

load lib/helper
load lib/input

# ruled RULES: a command with these rules
ruled() {
	command_file x <<-LUA
		return { description = "x", danger_level = "safe", requires = { $1 },
			args = { { "format", "enum", values = { "csv", "json" }, default = "json" }, { "sep_char", "string" },
				{ "all", "boolean" }, { "name", "string" }, { "names", "array", items = "string" }, { "size", "integer", default = 3, max = 50 },
				{ "wait", "duration" }, { "pin", "string", secret = true } },
			run = function(args) io.open("touched", "w"):close() return args end }
	LUA
}

# passes ARGS… / fails CODE FIELD ARGS…
passes() {
	call x "$@"
	succeeded
	rm -f touched
}

fails() {
	local code=$1 field=$2
	shift 2
	call x "$@"
	refused 2 "$code"
	expect "e.error.errors[0]['field'] == '$field'"
}

@test "REQ-C-026 a value makes other arguments necessary, wherever it comes from" {
	ruled '{ if_flag = "format", if_value = "csv", then_required = { "sep-char" } }'
	passes
	passes --format csv --sep-char ';'
	fails MISSING_ARGUMENT sep_char --format csv
	expect '"--format csv needs it" in e.error.message'
	fails MISSING_ARGUMENT sep_char --raw-payload '{"format":"csv"}'
	passes --raw-payload '{"format":"csv","sep_char":";"}'
	sed -i 's/default = "json"/default = "csv"/' commands/x.lua
	fails MISSING_ARGUMENT sep_char
	ruled '{ if_flag = "wait", if_value = "2s", then_required = { "name" } }'
	fails MISSING_ARGUMENT name --wait 2000ms
	passes --wait 3s
	ruled '{ if_flag = "names", if_value = "a", then_required = { "name" } }'
	fails MISSING_ARGUMENT name --names b --names a
	passes --names b
}

@test "REQ-C-026 arguments exclude each other; a default and a false are not there" {
	ruled '{ if_flag = "all", prohibited = { "name", "size" } }'
	fails CONFLICTING_VALUES name --all --name x
	fails CONFLICTING_VALUES size --all --size 3
	passes --all
	passes --no-all --name x
	passes --raw-payload '{"all":false,"name":"x"}'
	call x --all --name x --size 4
	expect 'len(e.error.errors) == 2'
}

@test "REQ-C-026 an argument that is absent changes the default of another" {
	ruled '{ if_flag = "all", target_flag = "size", default = 50 }'
	passes
	expect 'e.data["size"] == 50'
	passes --all
	expect 'e.data["size"] == 3'
	passes --size 7
	expect 'e.data["size"] == 7'
	ruled '{ if_flag = "all", target_flag = "size", default = 51 }'
	fails INVALID_ARGUMENT size
}

@test "REQ-C-026 one of several, and exactly one of several" {
	ruled '{ any_of = { "all", "name", "pin" } }'
	fails MISSING_ARGUMENT all
	fails MISSING_ARGUMENT all --no-all
	passes --all --name x
	HOME=secret passes --pin-from-env HOME
	ruled '{ one_of = { "all", "name" } }'
	fails MISSING_ARGUMENT all
	fails CONFLICTING_VALUES name --all --name x
	passes --name x
}

@test "REQ-C-026 a misspelt flag, or JSON that can't be read, is the only problem" {
	ruled '{ any_of = { "all", "name" } }'
	call x --nmae y
	expect 'len(e.error.errors) == 1'
	call x --raw-payload '{'
	expect 'len(e.error.errors) == 1'
}

@test "REQ-C-026 the rules are in --schema, and a wrong one is refused" {
	ruled '{ if_flag = "format", if_value = "csv", then_required = { "sep_char" } }, { any_of = { "all", "name" } }'
	call x --schema
	expect 'e.data["requires"] == [{"if_flag": "format", "if_value": "csv", "then_required": ["sep-char"]}, {"any_of": ["all", "name"]}]'
	local rule
	for rule in '{ if_flag = "format" }' '{ if_flag = "nope", prohibited = { "name" } }' '{ any_of = { "name" } }' \
		'{ one_of = { "name", "all" }, any_of = { "name", "all" } }' '"name"' '{ if_flag = "format", if_value = "csv", then_required = {} }'; do
		ruled "$rule"
		call x --name y
		refused 4 COMMAND_INVALID
	done
}
