#!/usr/bin/env bats
# usages: what the error of a wrong call that nothing repairs has for the next one: `context.usage`.

load lib/helper

prepare() {
	local timeout='exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },'
	command_file store/put <<LUA
return { description = "Put a value into the store", danger_level = "mutating", dry_run = true, $timeout
	args = { { "size", "integer", required = true, min = 1, description = "How many bytes" }, { "key", "string", positional = true, required = true },
		{ "class", "enum", values = { "hot", "cold" }, short = "c", default = "hot", description = "Where it lies" },
		{ "tag", "array", items = "string" }, { "quick", "boolean" }, { "password", "string", secret = true, default = "hunter2" },
		{ "shape", "json", schema = { type = "object" } } },
	validate = function(args) return args.key == "bad" and "The key is bad" or nil end, run = function(args) return { key = args.key } end }
LUA
	command_file store/drop <<LUA
return { description = "Remove a value for good", danger_level = "destructive", dry_run = true, $timeout
	args = { { "key", "string", positional = true, required = true } }, run = function() io.open("dropped", "w"):close() return {} end }
LUA
	command_file store/hush <<<'return { description = "Hidden", danger_level = "safe", hidden = true, run = function() return {} end }'
	command_file store/seal <<<"return { description = 'For a person', danger_level = 'mutating', interactive = true, requires_person = true, $timeout run = function() return {} end }"
	command_file duty <<<'return { description = "Who is on call tonight", danger_level = "safe", args = { { "team", "string", positional = true, required = true } }, run = function() return {} end }'
	known
}

# bounded: the usage of the last error has room, tells no secret, confirms nothing, and names nothing that is not for its reader
bounded() {
	expect 'sum(len(l.encode()) for l in e.error.context["usage"]) <= 1200'
	expect '"hunter2" not in str(e.error.context["usage"]) and "--confirm" not in str(e.error.context["usage"])'
	expect '"hush" not in str(e.error) and "seal" not in str(e.error)'
	[ ! -e dropped ]
}

# wrong ARGS…: of a call of `store put`, which can't be repaired
wrong() {
	call store put "$@"
	[ "$status" -eq 2 ]
	assert_envelope
	expect '"fix_command" not in e.error'
	expect 'e.error.context["usage"][0] == "runner store put <key> --size <integer> [-c|--class hot|cold] [--tag <string>]... [--quick] [--password-from-env <VARIABLE>] [--shape <json>] [-n|--dry-run] [--idempotency-key <string>] [--password-from-file <path>]"'
	expect 'e.error.context["usage"][1:] == ["--size: How many bytes", "--class: Where it lies (default hot)"]'
	bounded
}

@test "each error about arguments has the usage of its command, with values, types and what they mean" {
	wrong                                       # nothing is given
	wrong k                                     # one is missing
	wrong k --size 5 --zzz                      # an unknown flag
	wrong k --size x                            # no number
	wrong k --size 0                            # out of its range
	wrong k --size                              # no value
	wrong k --size 5 --class warm               # none of the values
	wrong k --size 5 l m                        # too many words
	wrong k --size 5 --size 6                   # given twice
	wrong k --size 5 --no-tag                   # only booleans have --no-
	wrong k --size 5 --shape '{'                # no JSON
	wrong k --size 5 --shape '[]'               # not by its schema
	wrong --raw-payload '{'                     # no arguments
	wrong --raw-payload '{"zzz":1}'             # an unknown one, and others that are missing
	wrong bad --size 5                          # refused by the command itself
	wrong k --size 5 --output json              # a flag of runner's
	wrong k --size x --password hunter2 --zzz 1 # a secret beside it
}

@test "words that name no command are answered with those of the group, of the name, or of which they speak" {
	local group='["runner store drop <key> [-n|--dry-run]  # Remove a value for good", "runner store put <key> --size <integer> [-c|--class hot|cold] [--tag <string>]... [--quick] [--password-from-env <VARIABLE>] [--shape <json>] [-n|--dry-run]  # Put a value into the store"]'
	local words
	for words in "store frob" "store frob k" "stores frob k" "frob store" "run store frob"; do
		# shellcheck disable=SC2086
		call $words
		expect 'e.error.code == "COMMAND_NOT_FOUND" and "fix_command" not in e.error'
		expect "sorted(e.error.context['usage']) == $group"
			expect 'e.error.suggestion == "Commands in \x27store\x27: store drop, store put, store seal"'
	done
	call whoever tonight --zzz 1 --yyy 2
	expect 'e.error.context["usage"] == ["runner duty <team>  # Who is on call tonight"]'
	expect '"duty" in e.error.suggestion'
	call workflow rnu
	expect 'e.error.suggestion == "Did you mean \x27workflow run\x27?"'
	call zzz
	expect 'e.error.context["usage"] == ["Commands: duty, store drop, store put"]'
	call dutty
	expect 'e.error.suggestion == "Did you mean \x27duty\x27?" and e.error.context["usage"] == ["runner duty <team>  # Who is on call tonight"]'
	call approv x
	expect '"runner approve" not in str(e.error.context.get("usage"))'
}

@test "of the commands that may be meant those that have the flags of the call come first, and alone in the hint" {
	call store frob k --class hot
	expect '"fix_command" in e.error or e.error.suggestion == "\x27store put\x27 may be meant" and e.error.context["usage"][0].startswith("runner store put ")'
	call store frob k --zzz 1
	expect 'e.error.suggestion == "Commands in \x27store\x27: store drop, store put, store seal"'
	local name
	for name in a b c d; do
		command_file "box-$name/list" <<<"return { description = 'List', danger_level = 'safe', args = { { '$([[ $name == [ab] ]] && echo since || echo for)', 'string' } }, run = print }"
	done
	call list --since 2d
	expect '"fix_command" not in e.error and e.error.suggestion == "One of these may be meant: box-a list, box-b list"'
	expect '[l.split(" [")[0] for l in e.error.context["usage"][:2]] == ["runner box-a list", "runner box-b list"]'
}

@test "a flag of runner's own that can't take the value is not what was meant, and what a near one takes is said" {
	body turn 'args = { { "person", "string", required = true }, { "degrees", "integer", required = true } },' <<<'return args'
	call turn --with ana --x 1
	expect '"--width" not in str(e.error) and "Its flags are --person, --degrees" in str(e.error)'
	call turn --person ana --degree half
	expect '"fix_command" not in e.error and "Did you mean \x27--degrees\x27? It takes a whole number" in str(e.error)'
}

@test "a call that is repaired has no usage, and an error that is none of arguments neither" {
	call store put k --sizee 5
	expect 'e.error.fix_command == "runner store put k --size 5" and "usage" not in e.error.get("context", {})'
	call stroe put k --size 5
	expect 'e.error.fix_command == "runner store put k --size 5" and "usage" not in e.error.context and "usage" not in e.error.fix_required'
	call store drop k
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and "usage" not in e.error.context'
	call store seal
	expect 'e.error.code == "PERSON_REQUIRED" and "usage" not in e.error.get("context", {})'
	echo 'name: x' >wrong.yml
	call workflow check wrong.yml
	expect '"usage" not in e.error.get("context", {})'
}

@test "what a policy refuses is in no usage, whatever the words" {
	local words
	echo '{"deny": ["store put"]}' >denies.json
	echo '{"max_danger": "safe"}' >safe.json
	for words in "store frob" "stores put k" "putt" "store pt k" "frob store" "zzz" "value store"; do
		# shellcheck disable=SC2086
		call --policy denies.json $words
		[ "$status" -eq 2 ]
		expect '"store put" not in str(e.error)'
		# shellcheck disable=SC2086
		call --policy safe.json $words
		[ "$status" -eq 2 ]
		expect '"store put" not in str(e.error.context) and "store drop" not in str(e.error)'
	done
}

@test "of a large group the likeliest have their usage and the others their names, in 1,200 bytes" {
	local i
	for i in {10..69}; do
		command_file "many/item-$i" <<<"return { description = '$(printf 'x%.0s' {1..150}) $i', danger_level = 'safe', args = { { 'name', 'enum', values = { '$(printf 'a%.0s' {1..100})', 'b' } } }, run = print }"
	done
	command_file many/zap <<<'return { description = "Remove the dust", danger_level = "safe", args = { { "name", "string" } }, run = print }'
	call many dust
	bounded
	expect 'e.error.context["usage"][0] == "runner many zap [--name <string>]  # Remove the dust"'
	expect 'e.error.context["usage"][-1].startswith("Also: many item-") and e.error.context["usage"][-1].endswith(" more")'
	call zzz
	bounded
	expect 'len(e.error.context["usage"]) == 1 and e.error.context["usage"][0].startswith("Commands: duty, many item-10")'
}

@test "over MCP the usage is a tool and its arguments, also of a name that is no tool's, and without flags" {
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" python3 - <<'PY'
from mcp import Server
PUT = ('{"size": <integer>, "key": <string>, "class"?: "hot"|"cold", "dry_run"?: <boolean>, "password"?: <string>, "quick"?: <boolean>, '
       '"shape"?: <object>, "tag"?: [<string>, …]}')
def members(line):
    return sorted(line[line.index("{"):].strip("{}").split(", \""))
def judge(text, first, line):
    assert line.startswith(first) and members(line[len(first) - 1:].rstrip("}") + "}") == members(PUT), line
    assert "hunter2" not in text and "--" not in text and "hush" not in text and "seal" not in text, text
WRONG = [{}, {"key": "k"}, {"key": "k", "size": 5, "zzz": 1}, {"key": "k", "size": "x"}, {"key": "k", "size": 5, "class": "warm"},
         {"key": "k", "size": 5, "dry_run": "maybe"}, {"key": "bad", "size": 5}, {"key": "k", "size": "x", "password": "hunter2"}]
with Server() as s:
    for arguments in WRONG:
        error = s.call("store_put", arguments)["structuredContent"]["error"]
        if "fix_call" not in error:
            usage = error["context"]["usage"]
            judge(str(error), "store_put {", usage[0])
            assert "size: How many bytes" in usage and len("".join(usage).encode()) <= 1200, usage
    unknown = s.call("store_insert", {})
    assert unknown["code"] == -32602 and unknown["message"].startswith("Unknown tool: store_insert. One of these may be meant:\nstore_put {"), unknown
    judge(unknown["message"], "store_put {", unknown["message"].split("\n")[1].split("  # ")[0])
    assert s.call("zzz", {})["message"] == "Unknown tool: zzz"
    assert len(s.call("store " * 5000, {})["message"]) < 40000
with Server("--progressive") as s:
    error = s.call("call", {"name": "store_put", "arguments": {"key": "k"}})["structuredContent"]["error"]
    assert error["context"]["usage"][0].startswith('call {"name": "store_put", "arguments": {'), error
    error = s.call("call", {"name": "store_insert", "arguments": {}})["structuredContent"]["error"]
    assert error["code"] == "NOT_FOUND" and error["context"]["usage"][0].startswith('call {"name": "store_put", "arguments": {'), error
    assert "store_drop" not in str(error), error
PY
}

@test "for a request of exec the usage is such a request" {
	call_exec() { env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <<<"$1" 2>err.txt | head -n1 >out.txt; }
	call_exec '{"_cmd":"store put","key":"k"}'
	expect 'e.error.context["usage"][0].startswith("{\"_cmd\": \"store put\", \"size\": <integer>, \"key\": <string>, \"class\"?: \"hot\"|\"cold\"")'
	call_exec '{"_cmd":"store frob","key":"k"}'
	expect 'e.error.context["usage"][0].startswith("{\"_cmd\": \"store ") and "--" not in str(e.error.context["usage"])'
}

@test "a flag behind --, and a value of several words, are told apart from a value that has lost its flag" {
	call store put k --size 5 -- --quick
	expect '"Leave out the \x27--\x27" in e.error.fix_required'
	call store put k --size 5 words
	expect '"The value of --size is one word" in str(e.error)'
	call store put k --tag two words --size 5
	expect 'e.error.get("fix_command") or "in quotes" in str(e.error)'
	call store put k --size 5 --quick a b
	expect '"in quotes" in e.error.suggestion and "--tag" in e.error.suggestion'
}

@test "the usage of a secret argument is one that is taken as it stands" {
	command_file vault/login <<<'return { description = "Log in", danger_level = "safe", args = { { "user", "string", required = true }, { "password", "string", secret = true, required = true } }, run = function(args) return { user = args.user } end }'
	command_file vault/unseal <<<'return { description = "Unseal", danger_level = "safe", args = { { "key", "string", secret = true, required = true, positional = true } }, run = function() return {} end }'
	local usage args
	call vault login
	usage=$(field 'e.error.context["usage"][0]')
	[ "$usage" = "runner vault login --user <string> --password-from-env <VARIABLE> [--password-from-file <path>]" ]
	expect '"--password-from-env or --password-from-file" in str([p["fix_required"] for p in e.error.errors])'
	call S=hunter2 vault login --user a --password-from-env S
	expect 'e.data == {"user": "a"}'
	call vault unseal
	expect 'e.error.context["usage"][0] == "runner vault unseal --key-from-env <VARIABLE> [--key-from-file <path>]"'
	expect 'e.error.fix_required == "Give --key-from-env or --key-from-file"'
	call S=hunter2 vault unseal --key-from-env S
	expect 'e.ok'
	call vault unseal --help --format plain
	[[ $stdout == *"runner vault unseal --key-from-env <VARIABLE>"* ]]
	for args in "--ky k1" "--kye=k1"; do
		# shellcheck disable=SC2086
		call vault unseal $args
		expect '"Did you mean" not in str(e.error) and "Rename" not in str(e.error) and "k1" not in str(e.error)'
		expect '"Give --key-from-env or --key-from-file" in str(e.error)'
	done
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <<<'{"_cmd":"vault login"}' 2>err.txt | head -n1 >out.txt
	expect '"\"password\": <string>" in e.error.context["usage"][0] and "from-env" not in str(e.error)'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" exec <<<'{"_cmd":5}' 2>err.txt | head -n1 >out.txt
	expect 'e.error.fix_required == "Write \"_cmd\":\"NAME\""'
	call vault unseal --all
	expect '"list the commands" not in str(e.error)'
}
