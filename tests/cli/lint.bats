#!/usr/bin/env bats
# lint: every problem and every warning, each with its place and its fix.

bats_require_minimum_version 1.5.0

load lib/helper

prepare() {
	command_file good <<'LUA'
return { description = "Good", danger_level = "safe", run = function() end,
	examples = { { command = "runner good" } } }
LUA
}

bad_file() {
	command_file bad <<'LUA'
return {
	description = "Bad",
	danger_level = "harmless",
	tiemout = "5s",
	run = function() io.open("ran", "w"):close() end,
}
LUA
}

@test "a clean project has neither problems nor warnings" {
	call lint
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"files": 1, "problems": [], "warnings": []}'
}

@test "a file that takes the standard library apart spoils neither the list nor the check of others" {
	command_file a_bad <<'LUA'
print, string.rep, string.format, table.concat = nil
setmetatable(_G, { __index = function(_, name) error("no " .. name) end, __metatable = false })
setmetatable(string, { __newindex = error })
return { description = "Bad", danger_level = "safe", run = function() end, examples = { { command = "runner a_bad" } } }
LUA
	command_file last <<'LUA'
local text = ("x"):rep(3)
assert(print)
return { description = ("%s"):format(text), danger_level = "safe", run = function() end,
	examples = { { command = table.concat({ "runner", "last" }, " ") } } }
LUA
	call lint
	assert_envelope
	expect 'e.data == {"files": 3, "problems": [], "warnings": []}'
	call help --format json
	assert_envelope
	expect 'e.data["commands"]["last"] == "xxx"'
}

@test "functions of arguments are called as in a run: their values must be valid" {
	known
	command_file asks <<'LUA'
return { description = "Asks", danger_level = "safe", run = function() end, examples = { { command = "runner asks" } },
	args = { { "a", "enum", description = "x", values = function() return { 1 } end },
		{ "b", "string", description = "x", default = function(config) return config.name.first end },
		{ "c", "integer", description = "x", max = 5, default = function() return 6 end },
		{ "d", "enum", description = "x", values = function() return { "x" } end, default = "y" },
		{ "e", "string", description = "x", default = function() os.exit(0) end },
		{ "f", "string", description = "x", default = function() error({ code = "NOT_FOUND", message = "later" }) end },
		{ "g", "string", description = "x", default = function(config) return config.good end } } }
LUA
	echo 'return { config = { good = "yes" } }' >runner.lua
	call lint asks
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'sorted(p["key"] for p in e.data["problems"]) == ["args.%s" % k for k in ("a.values", "b.default", "c.default", "d.default", "e.default")]'
	expect '{"Write a whole number of at most 5", "Write one of its values"} < {p["fix"] for p in e.data["problems"]}'
}

@test "every problem of every file is reported, with file, line, key and fix, and nothing is run" {
	bad_file
	echo 'return {' | command_file db/syntax
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "COMMAND_INVALID" and e.data["files"] == 3 and len(e.data["problems"]) == 3'
	expect '[(p["file"], p["line"], p.get("key")) for p in e.data["problems"]] == [("commands/bad.lua", 3, "danger_level"), ("commands/bad.lua", 4, "tiemout"), ("commands/db/syntax.lua", 2, None)]'
	expect 'e.data["problems"][1]["fix"] == "Rename '"'"'tiemout'"'"' to '"'"'timeout'"'"'"'
	expect 'len(e.error.errors) == 3 and e.error.errors[0]["file"] == "commands/bad.lua" and e.error.errors[0]["line"] == 3'
	[ ! -e ran ]
}

@test "warnings are reported and are not a failure" {
	command_file doubtful <<'LUA'
print("loading")
return { description = "x", danger_level = "mutating", run = function() os.execute("true") return { effect = "noop" } end,
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } } }
LUA
	call lint doubtful
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["problems"] == []'
	expect 'sorted(d["key"] for d in e.data["warnings"]) == ["examples", "exit_codes.TIMEOUT", "os.execute", "print"]'
}

@test "a code in retry.on that is not retryable is a warning: it would never be retried" {
	command_file again <<'LUA'
return { description = "Again", danger_level = "safe", run = function() end, examples = { { command = "runner again" } },
	retry = { retries = 1, on = { "UNAVAILABLE", "CONFLICT", "INTERNAL_ERROR", "NOT_FOUND", "OWN" } },
	exit_codes = { NOT_FOUND = { retryable = true }, OWN = { code = 79, retryable = false, side_effects = "none" } } }
LUA
	call lint again
	assert_envelope
	expect '[d["message"].split(" lists ")[1].split(",")[0] for d in e.data["warnings"]] == ["CONFLICT", "INTERNAL_ERROR", "OWN"]'
	expect '"maybe = true" in e.data["warnings"][1]["fix"] and "CONFLICT = { retryable = true }" in e.data["warnings"][0]["fix"]'
}

@test "a file, a path with dots and a command's name can be named" {
	bad_file
	local name
	for name in commands/bad.lua ./commands/bad.lua "$PWD/commands/bad.lua" bad; do
		call lint "$name"
		[ "$status" -eq 4 ]
		expect 'e.data["files"] == 1 and e.data["problems"][0]["file"] == "commands/bad.lua"'
	done
	call lint good
	[ "$status" -eq 0 ]
}

@test "the words of one command name it, as help and doctor write them" {
	body db/good <<<'return {}'
	answers 0 lint db good
	expect 'e.data["files"] == 1 and e.data["problems"] == []'
	answers 2 lint db
	answers 2 lint db good more
	expect '[p["value"] for p in e.error["errors"]] == ["db", "more"]'
}

@test "what is neither a file nor a command is an argument error" {
	call lint nosuch
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error.errors[0].code == "INVALID_ARGUMENT" and "nosuch" in e.error.message'
	call lint commands
	[ "$status" -eq 2 ]
}

@test "every problem of runner.lua is reported with its line, and the commands are still checked" {
	printf 'return {\n\ttimeout = "soon",\n\tcomands = "cmd",\n}\n' >runner.lua
	bad_file
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect '[(p["file"], p["line"]) for p in e.data["problems"]] == [("runner.lua", 3), ("runner.lua", 2), ("commands/bad.lua", 3), ("commands/bad.lua", 4)]'
}

@test "a file that a built-in hides is a problem" {
	cp commands/good.lua commands/help.lua
	call lint
	[ "$status" -eq 4 ]
	expect 'e.data["problems"][0]["file"] == "commands/help.lua" and "never run" in e.error.message'
}

@test "files that anybody may write to are a problem" {
	chmod 666 commands/good.lua
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.data["problems"][0]["file"] == "commands/good.lua"'
}

@test "100 hostile files end in time, each with its problem" {
	local i
	for i in $(seq 1 100); do
		case $((i % 4)) in
		0) echo 'return 1' ;;
		1) echo 'os.exit(0)' ;;
		2) echo 'error {}' ;;
		3) head -c 200 /dev/urandom ;;
		esac | command_file "h$i"
	done
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.data["files"] == 101 and len({p["file"] for p in e.data["problems"]}) == 100'
}

@test "people get a line for each finding" {
	bad_file
	call lint --format table
	[ "$status" -eq 4 ]
	[[ $stderr == *"error: commands/bad.lua:3: danger_level is \"harmless\""* ]]
	[[ $stderr == *"2 files, 2 errors, "* ]]
}

@test "REQ-F-021 lint points at the time of the call in output_schema" {
	command_file times <<'LUA'
return { description = "x", danger_level = "safe", run = print, examples = { { command = "runner times" } },
	output_schema = { type = "object", properties = { fetched_at = { type = "string", format = "date-time" },
		created = { type = "string", format = "date-time" } } } }
LUA
	call lint times
	[ "$status" -eq 0 ]
	run field '" ".join(w["key"] for w in e.data["warnings"])'
	[ "$output" = output_schema.properties.fetched_at ]
}

# with_examples NAME LEVEL EXAMPLE…: a command with one argument and these examples; each run is noted in `runs`.
with_examples() {
	local name=$1 level=$2 list=
	shift 2
	for example; do list+="{ description = 'x', command = [[$example]] },"; done
	command_file "$name" <<LUA
return { description = "x", danger_level = "$level", examples = { $list },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	args = { { "who", "string", description = "Who" }, { "how", "string", default = "well", description = "How" } },
	run = function(args, ctx)
		local f <close> = io.open("$PWD/runs", "a")
		f:write(args.who or "-", "\n")
		if args.how == "badly" then error "boom" elseif args.how == "absent" then ctx:fail("NOT_FOUND", "Nobody") end
		return { effect = "noop" }
	end }
LUA
}

@test "--run-examples runs examples, and names those that their command refuses" {
	with_examples greet safe 'runner greet --who "a b"' "runner greet --who 'c'\\''d'" 'runner greet --hwo x' 'runner gret' 'runner greet --how badly'
	call lint greet
	[ "$status" -eq 0 ]
	[ ! -e runs ]
	call lint greet --run-examples
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.data.examples == 5 and [p["key"] for p in e.data.problems] == ["examples.3", "examples.4", "examples.5"]'
	expect "\"Unknown flag '--hwo'\" in e.data.problems[0]['message'] and 'COMMAND_NOT_FOUND' in e.data.problems[1]['message'] and 'boom' in e.data.problems[2]['message']"
	[ "$(<runs)" = $'a b\nc\'d\n-' ]
}

@test "--run-examples changes nothing, and warns of what fails here or needs a shell" {
	with_examples wipe destructive 'runner wipe --who all'
	with_examples look safe 'runner look --how absent' 'runner look | head -n1' 'DEBUG=1 runner look' 'runner look --who $(id)'
	call lint --run-examples
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data.examples == 3 and e.data.problems == []'
	expect '[w["key"] for w in e.data.warnings if w["key"].startswith("examples.")] == ["examples.1", "examples.2", "examples.3", "examples.4"]'
	expect '"NOT_FOUND: Nobody" in e.data.warnings[0]["message"] and "needs a shell" in e.data.warnings[1]["message"]'
	[ "$(<runs)" = - ]
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER lint good --run-examples" /dev/null </dev/null | tr -d '\r' >out.txt
	grep -qx '1 file, 0 errors, 0 warnings, 1 example run' out.txt
}

@test "the examples of the commands that ship work" {
	mkdir -p repo/docs
	cp -r "$ROOT/commands" repo/
	cp -r "$ROOT/docs/demo" repo/docs/
	cd repo/docs/demo
	call lint --run-examples
	expect 'e.data.problems == [] and e.data.examples >= 5'
}

# db LUA: a command with these args; db.old: one that goes.
db() {
	command_file db/migrate <<LUA
return { description = "x", danger_level = "$1", args = { $2 }, examples = { { command = "runner db migrate" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" }, $3 }, run = function() return { effect = "noop" } end }
LUA
}

@test "REQ-F-075 --against names what callers of an earlier version could no longer do" {
	db mutating '{ "to", "string", positional = true, description = "x" }, { "env", "enum", values = { "dev", "prod" }, description = "x" },
		{ "wait", "integer", description = "x" }, { "force", "boolean", description = "x" }' 'STUCK = { code = 80, description = "x", retryable = false, side_effects = "none" }'
	with_examples gone safe 'runner gone'
	call manifest --output manifest.json
	call lint --against manifest.json
	[ "$status" -eq 0 ]
	rm commands/gone.lua
	db destructive '{ "to", "integer", positional = true, required = true, description = "x" }, { "env", "enum", values = { "dev" }, description = "x" },
		{ "wait", "string", description = "x" }, { "name", "string", required = true, description = "x" }' ''
	call lint --against manifest.json
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'sorted(p["message"].split(": ")[2].split(". ")[0] for p in e.data["problems"]) == ["--env no longer takes prod", "--force is gone", "--name is new and required", "--wait was integer and is string", "exit code 80 is gone", "it is gone", "it was mutating and is destructive", "to is required now", "to was string and is integer"]'
	call manifest
	cp out.txt whole.json
	call lint --against whole.json
	[ "$status" -eq 0 ]
}

@test "--against takes a manifest and nothing else" {
	local text
	for text in '' '[]' '{' '{"data": null}' '{"commands": 5}'; do
		echo "$text" >wrong.json
		call lint --against wrong.json
		assert_envelope
		[ "$status" -eq 2 ]
		expect 'e.error["errors"][0]["field"] == "against"'
	done
	call lint --against missing.json
	[ "$status" -eq 2 ]
	echo '{"commands": {"a": 1, "b": {}}}' >odd.json
	call lint --against odd.json
	[ "$status" -eq 4 ]
	expect '[p["key"] for p in e.data["problems"]] == ["b"]'
}

@test "lint sees the whole project: ignored files, aliases to nothing, circles, scripts, a list cut short" {
	mkdir -p commands/db
	cp commands/good.lua "commands/my cmd.lua"
	cp commands/good.lua commands/db/foo.bar.lua
	cp commands/good.lua commands/_helper.lua
	echo 'return { aliases = { fine = "good", gone = "nothing here" } }' >runner.lua
	cat >tasks.lua <<-'LUA'
		return { tasks = {
			a = { "A", needs = { "b" } }, b = { "B", parallel = { { "c" } } }, c = { "C", needs = { "a" } },
			look = { "Look", danger_level = "safe", needs = { "make" } },
			make = { "Make", shell = [[
				cd build
				rm -f "$dir/"*
				if [ $x = y ]; then
					read answer < $(ls)
				fi ]] },
			run = { "Run", run = function(_, ctx)
				local list = { "x" }
				ctx:run{ "ls", table.unpack(list), "y" }
				ctx:run{ "ls", "-l", table.unpack(list) }
			end },
		} }
	LUA
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect '[p["message"] for p in e.data.problems if "needs itself" in p["message"]] == ["tasks.lua: \u0027a\u0027 needs itself: a → b → c → a. Remove one of these from needs"]'
	expect '[p["file"] for p in e.data.problems if "gone" in p["message"]] == ["runner.lua"] and "fine" not in str(e.data.problems)'
	expect 'sorted(w["file"] for w in e.data.warnings if "is no command" in w["message"]) == ["commands/db/foo.bar.lua", "commands/my cmd.lua"]'
	expect '"commands/my cmd.lua: this file is no command, since \u0027my cmd\u0027 is no name of one. Rename it to my-cmd.lua" in [w["message"] for w in e.data.warnings]'
	expect 'any("foo/bar.lua" in w["fix"] for w in e.data.warnings)'
	expect '[w["line"] for w in e.data.warnings if w.get("key") == "table.unpack"] == [12]'
	expect 'any("says that it is safe" in w["message"] for w in e.data.warnings)'
	expect '{(w["line"], w["key"]) for w in e.data.warnings if "SC" in w["fix"]} == {(8, "shell")} and "tasks.lua:8: shell of \u0027make\u0027" in str(e.data.warnings)'
	call lint make
	expect '{w["line"] for w in e.data.warnings if w["key"] == "shell"} == {8}'
}

@test "the word effect in a comment or a text is no effect; a file that leaves it to another is not asked" {
	local run
	for run in 'return { n = 1 } -- effect' 'return { text = "effect" }'; do
		command_file c <<<"return { description = 'C', danger_level = 'mutating', exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } }, run = function() $run
			end }"
		call lint
		assert_envelope
		grep -q 'never names an effect' out.txt
	done
	for run in 'return { effect = "noop" }' 'return ctx:call("other")' 'return { ["effect"] = "noop" }'; do
		command_file c <<<"return { description = 'C', danger_level = 'mutating', exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } }, run = function(args, ctx) $run end }"
		call lint
		run -1 grep -q 'never names an effect' out.txt
	done
}
