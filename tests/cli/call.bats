#!/usr/bin/env bats
# One command calls another: ctx:call, its arguments, and a runner that is started as a program.

load lib/helper

@test "ctx:call gives the data of another command, or the very error that it ended with" {
	body inner 'args = { { "n", "integer" }, { "tags", "array", items = "string" }, { "dry", "boolean" } },' <<-'LUA'
		if args.n == 3 then ctx:fail("NOT_FOUND", "no three", { suggestion = "Take four", context = { n = 3 }, data = { tried = 3 } }) end
		return { n = args.n, tags = args.tags, dry = args.dry }
	LUA
	failing back safe <<<'return ctx:call("inner", { n = 4, tags = { "a", "b c" }, dry = true })'
	answers 0 back
	expect 'e.data == {"n": 4, "tags": ["a", "b c"], "dry": True}'
	returns_of_inner NOT_FOUND 'ctx:call("inner", { n = 3 })' 5
	expect 'e.error.message == "no three" and e.error.suggestion == "Take four" and e.error.context == {"n": 3} and e.data == {"tried": 3}'
	returns_of_inner VALIDATION_ERROR 'ctx:call("inner", { n = "x" })' 1
	expect 'e.error.errors[0]["field"] == "n" and e.error.side_effects == "none"'
	returns_of_inner COMMAND_NOT_FOUND 'ctx:call("outer")' 1
	returns_of_inner INTERNAL_ERROR 'ctx:call({})' 1
	expect 'e.error.retryable is False'
}

@test "the arguments of ctx:call are in nobody's argv or environment, and reach no child of the command" {
	secret_of_its_own
	body inner 'stdin = true, args = { { "token", "string", secret = true }, { "words", "array", items = "string", positional = true } },' <<-'LUA'
		local seen = ctx:run { "sh", "-c", "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c \"$LOOKED_FOR\"",
			ok_statuses = { 0, 1 } }.stdout
		local nested = ctx:run { "sh", "-c", "echo ${RUNNER_ARGUMENTS-unset}" }.stdout
		return { seen = seen, nested = nested, length = #(args.token or ""), words = args.words, rest = io.read "a" }
	LUA
	body back <<<"return { ctx:call('inner', { token = '$secret' }), ctx:call('inner', { '--', 'a b', '--c' }), ctx:call('inner') }"
	answers 0 back
	expect "e.data[0] == {'seen': '0\n', 'nested': 'unset\n', 'length': ${#secret}, 'words': [], 'rest': ''}"
	expect 'e.data[1]["words"] == ["a b", "--c"] and e.data[2]["length"] == 0'
	body back <<<'return { #ctx:call("inner", { (("x"):rep(300000)) }).words[1] }' # more than one word of an argv may have
	answers 0 back
	expect 'e.data == [300000]'
	body back <<<'ctx:call("inner", { token = "a\0b" })'
	answers 1 back
	expect '"NUL" in e.error.message and "ctx:call" in e.error.message'
}

@test "RUNNER_ARGUMENTS without what it promises is refused, and says who sets it" {
	body plain <<<'return 1'
	call RUNNER_ARGUMENTS=stdin plain
	[ "$status" -eq 2 ]
	assert_envelope
	expect '"ctx:call" in e.error.fix_required'
}

# returns_of_inner CODE BODY EXIT
returns_of_inner() {
	failing back safe <<<"$2"
	answers "$3" back --retries 0
	expect "e.error.code == '$1'"
}

@test "a callee's retries are of the caller's budget, within its deadline" {
	command_of inner 'retry = { retries = 5, delay = 0 },' <<<'ctx:fail("UNAVAILABLE", "busy")'
	failing back safe <<<'ctx:call("inner")'
	answers 12 back
	expect 'e.error.code == "UNAVAILABLE" and e.meta.retries == 2'
	[ "$(<runs)" = "1 2 3 " ]
	body slow <<<'ctx:sleep(60)'
	failing back safe <<<'ctx:call("slow")'
	answers 10 back --timeout 2s
	expect 'e.error.code == "TIMEOUT"'
	[ "$elapsed_ms" -lt 20000 ]
}

@test "a runner that is started as a program passes its envelope's error through" {
	body inner <<<'ctx:fail("CONFLICT", "two at once")'
	ln -s "$RUNNER" runner
	failing back safe <<<'ctx:run { "./runner", "inner" }'
	answers 6 back
	expect 'e.error.code == "CONFLICT" and e.error.message == "two at once"'
}

@test "a flag of the call is no argument of the command, whatever those are called" {
	body shape 'args = { { "format", "string", default = "none" } },' <<<'return { format = args.format }'
	body outer <<<'return ctx:call("shape")'
	answers 0 outer
	expect 'e.data == { "format": "none" }'
	printf '%s\n' 'name: w' 'steps:' '  - runner: shape' '    args: { format: round }' >w.yaml
	answers 0 workflow run w.yaml
	expect 'e.data.steps[0].data == { "format": "round" }'
}
