#!/usr/bin/env bats
# A command is given the same bytes, whichever way they come: every door of lib/doors.py × every text.

load lib/helper
load lib/mcp

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME" SECRET=abcd RUNNER_MAX_STDIN_BYTES=9999999)
	body bytes 'args = { { "s", "string", default = "absent" }, { "secret", "string", secret = true } },' <<'LUA'
		local hex = args.s:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
		local file <close> = io.open("hex", "w")
		file:write(hex)
		return { hex = hex }
LUA
	sed 's/default = "absent"/pipe_compatible = true/' commands/bytes.lua >commands/piped.lua
	sed 's/danger_level/timeout = "5m", danger_level/' commands/bytes.lua >commands/slow.lua
}

# through DOOR…: every text that JSON can carry comes through as it is
through() {
	session <<PY
from doors import *
for door in """$(printf '%s\n' "$@")""".strip().split("\n"):
    texts = [t for t in TEXTS + random_texts(12) if fits(door, t)]
    for text, found in zip(texts, DOORS[door](texts), strict=True):
        assert found == text.encode().hex(), (door, text[:80], found[:160])
PY
}

@test "what a command line, an object, a file or a pipe brings are the bytes that run gets" {
	through argv --raw-payload --input-file '--input-file -' 'a pipe'
}

@test "what a request of exec or of a client of MCP brings are the bytes that run gets" {
	through exec mcp 'mcp --progressive'
}

@test "what a task or a job is given are the bytes that run gets" {
	through 'a task' 'a task of 2025-11-25' 'a job' 'a job, --raw-payload' 'a job with a secret'
}

@test "what a command, its needs or a workflow pass on are the bytes that run gets" {
	through ctx:call 'ctx:call, words' needs 'a runner: step' 'a runner: step, words'
}

@test "what no argument can hold is refused at every door that JSON comes through, and none is left out" {
	session <<'PY'
from doors import *
assert set(DOORS) - NOT_JSON == {"--raw-payload", "--input-file", "--input-file -", "exec", "mcp", "mcp --progressive", "a task",
                                 "a task of 2025-11-25", "a job, --raw-payload"}
for text in REFUSED:
    line = '{"s": %s}' % text
    assert came(run("bytes", "--raw-payload", line)) == "INVALID_JSON"
    assert came(run("bytes", "--raw-payload", line, "--detach")) == "INVALID_JSON"
    assert came(run("bytes", "--input-file", "-", stdin=line.encode())) == "INVALID_JSON"
    assert exec_lines(['{"_cmd":"bytes","s":%s}' % text]) == ["DISPATCH_PARSE_ERROR"]
    with Server() as s:
        s.line('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bytes","arguments":%s}}' % line)
        assert s.read()["error"]["code"] == -32700
assert not os.path.exists("hex")
PY
}

@test "bytes that are no text are refused with the argument's name, never repaired" {
	body outer 'args = { { "how", "string" } },' <<'LUA'
		local bytes = ({ nul = "a\0b", latin = "caf\xe9", half = "\xe2\x82" })[args.how]
		return ctx:call("bytes", args.how == "nul" and { s = bytes } or { "--s=" .. bytes })
LUA
	local how
	for how in nul latin half; do
		call outer --how "$how"
		[ "$status" -ne 0 ]
		assert_envelope
		[ ! -e hex ]
	done
	expect '"--s=" in e.error.message and "UTF-8" in e.error.message and e.error.side_effects == "none"'
	call SECRET=abcd bytes --detach --secret-from-env=SECRET $'--s=caf\xe9'
	[ "$status" -eq 2 ]
	[ ! -e hex ]
}

@test "a number that a command passes on keeps its digits" {
	body number 'args = { { "n", "number" }, { "i", "integer" } },' <<<'return { n = args.n, i = args.i }'
	body outer <<<'return ctx:call("number", { n = 0.1 + 0.2, i = 2.0 ^ 53 })'
	answers 0 outer
	expect 'e.data == {"n": 0.30000000000000004, "i": 2 ** 53}'
	body outer <<<'return ctx:call("number", { n = 0 / 0 })'
	answers 1 outer
}

@test "a text longer than an argument may be comes through the doors that are no command line" {
	session <<'PY'
from doors import *
texts, hex_of = [LONG], LONG.encode().hex()
for door in ("--input-file", "exec", "mcp", "ctx:call"):
    assert DOORS[door](texts) == [hex_of], door
try:
    DOORS["a runner: step"](texts)
except AssertionError as refused:
    assert refused.args[0]["code"] == "PRECONDITION" and "bytes long" in refused.args[0]["message"], refused
else:
    raise AssertionError("cut")
PY
}
