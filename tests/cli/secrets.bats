#!/usr/bin/env bats
# The value of a secret argument appears nowhere.

load lib/helper

SECRET='hunter2 "quoted"/x'

# seen: the secret, in any form, in what the last call wrote
seen() {
	grep -qF -e 'hunter2' out.txt err.txt
}

@test "the value of a secret argument appears nowhere" {
	local how keys='args = { { "token", "string", secret = true, pattern = "^h.*$", env = "TOKEN_OF_MINE" }, { "n", "integer" } }, retry = { retries = 1, delay = 0 },'
	for how in 'ctx:fail("UNAVAILABLE", "bad " .. args.token)' 'error("bad " .. args.token)' 'error({ message = args.token })' \
		'ctx:fail("UNAVAILABLE", "x", { suggestion = args.token, context = { [args.token] = { args.token } }, errors = { { code = "ODD", message = args.token } }, data = { args.token } })' \
		'ctx:log("token " .. args.token) ctx:warn("ODD", args.token, { t = args.token }) ctx:progress({ t = args.token }) return { args.token, deep = { args.token } }' \
		'ctx:run { "sh", "-c", "echo \"$T\" >&2; exit 3", env = { T = args.token } }' 'ctx:step(args.token) error("x")' \
		'return nil, args.token' 'return args.token'; do
		body login "$keys" <<<"$how"
		call TOKEN_OF_MINE="$SECRET" login
		assert_envelope
		[ "$(seen; echo $?)" -eq 1 ]
		call TOKEN_OF_MINE="$SECRET" login --format table --output result.txt
		[ "$(seen; echo $?)" -eq 1 ]
		[ "$(grep -csF hunter2 result.txt)" != 1 ]
	done
	body login "$keys" <<<'print(args.token) return 1'
	call TOKEN_OF_MINE="$SECRET" login
	assert_envelope
	[ "$(grep -cF hunter2 out.txt)" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["THIRD_PARTY_STDOUT"]'
	call TOKEN_OF_MINE="$SECRET" login --plan
	assert_envelope
	[ "$(seen; echo $?)" -eq 1 ]
}

@test "a secret argument that is wrong is not repeated, and no child of ours gets it" {
	local keys='args = { { "token", "string", secret = true, pattern = "^h.{3}$", env = "TOKEN_OF_MINE" }, { "n", "integer", secret = true } },'
	body login "$keys" <<<'return ctx:run({ "cat", "/proc/self/cmdline" }).stdout'
	local arguments
	for arguments in "--token=hunter2" "--token=hunter2 --token=hunter2b" "--token -xhunter2" "--n hunter2"; do
		# shellcheck disable=SC2086 # words
		answers 2 login $arguments
		[ "$(grep -cF hunter2 err.txt)" -eq 0 ]
		expect '"hunter2" not in e.error.message'
	done
	answers 2 TOKEN_OF_MINE=hunter2 login
	[ "$(seen; echo $?)" -eq 1 ]
	body shown 'args = { { "token", "string", secret = true, positional = true } },' <<<'io.open("began", "w"):close()'
	answers 2 shown hunter2
	expect 'e.error.errors[0].code == "SECRET_ON_COMMAND_LINE" and "hunter2" not in e.error.message'
	answers 2 shown --raw-payload '{"token":"hunter2"}'
	expect 'e.error.errors[0].code == "SECRET_ON_COMMAND_LINE"'
	[ ! -e began ]
	body login "$keys" <<<'return { n = args.n, other = args.n + 1, text = "n is " .. args.n }'
	answers 0 N=4711 login --n-from-env N
	expect 'e.data == {"n": "***", "other": 4712, "text": "n is ***"}'
	keys+=' validate = function(args) return { { field = "token", message = "no " .. args.token, value = args.token } } end,'
	body login "$keys" <<<'return 1'
	answers 2 TOKEN_OF_MINE=hunt login
	expect 'e.error.message == "no ***" and e.error.errors[0].value == "***"'
}

# (of what it is sent, the command then reads that the supervisor can't hide it)
@test "a command does not begin where its supervisor can't hide its secrets" {
	needs_strace
	body login 'args = { { "token", "string", secret = true } },' <<<'io.open("began", "w"):close() print(args.token)'
	printf '#!/bin/sh\nexec strace -qq -f -o /dev/null -e trace=sendto -e inject=sendto:poke_enter=@arg2=2d:when=1 "%s" "$@"\n' "$RUNNER" >traced
	chmod 755 traced
	RUNNER=$PWD/traced call TOKEN=hunter2 ASAN_OPTIONS=detect_leaks=0 login --token-from-env TOKEN
	assert_envelope
	[ ! -e began ]
	expect 'not e.ok and "hide" in e.error.message'
	[ "$(seen; echo $?)" -eq 1 ]
}

@test "an error has no piece of a secret where it cuts what a program wrote" {
	local secret how command
	secret="hunter2-$(printf "%040d" 0 | tr 0 q)"
	# the token across the end of a message, and across the beginning of an end of the output
	for how in 'printf "%0180d$token\n" 0 >&2; exit 1' 'printf "$token%04057d" 0; exit 1' 'printf "%0180d$token%04090d" 0 0 >&2; exit 1'; do
		printf 'return { tasks = { cut = { "Cut", args = { { "token", "string", secret = true, env = "TOKEN_OF_MINE" } },
			shell = [[%s]] } } }' "$how" >tasks.lua
		body runs 'args = { { "token", "string", secret = true, env = "TOKEN_OF_MINE" } },' <<<"ctx:run { 'sh', '-c', [[${how}]], env = { token = args.token } }"
		for command in cut runs; do
			call TOKEN_OF_MINE="$secret" "$command"
			assert_envelope
			expect 'e.error.code == "SUBPROCESS_FAILED"'
			[ "$(grep -cE 'hunt|qqqq' out.txt)" -eq 0 ]
		done
	done
}
