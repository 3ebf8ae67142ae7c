#!/usr/bin/env bats
# What keeps a caller's values from doing more than they say: no shell, declared subprocesses,
# places of options, secrets off the command line, identifiers with a pattern.

load lib/helper

@test "REQ-F-062 a program as one string is refused by name, in ctx:run, ctx:spawn and ctx:pipeline" {
	local call
	for call in 'ctx:run("ls | cat")' 'ctx:spawn("ls")' 'ctx:pipeline{ "ls", { "cat" } }'; do
		body shell <<<"$call"
		answers 1 shell
		expect 'e.error["code"] == "SHELL_STRING_PROHIBITED" and e.error["retryable"] is False and e.error["fix_required"]'
	done
}

@test "REQ-F-044 REQ-C-019 what a user gives a declared program has no shell characters and no line break" {
	local keys='subprocess = { binary = "git", user_controlled_args = { "branch", "more" } },'
	body branch "$keys" 'args = { { "branch", "string", positional = true }, { "more", "array", items = "string" }, { "free", "string" } },' \
		<<<'io.open("ran", "w"):close() return { out = ctx:run{ "printf", "%s", args.branch or "" }.stdout }'
	local value
	for value in '; rm -rf /' 'a|b' 'a&b' 'a$b' 'a(b' 'a)b' 'a<b' 'a>b' 'a`b' 'a\b' $'a\nb' $'a\rb'; do
		answers 2 branch -- "$value"
		expect 'e.error["errors"][0]["field"] == "branch" and e.error["phase"] == "validation" and "git" in e.error["message"]'
		answers 2 branch --more ok --more "$value"
		expect 'e.error["errors"][0]["field"] == "more"'
		[ ! -e ran ]
	done
	answers 0 branch 'feature/x *.json "quoted"' --free 'a;b'
	expect 'e.data["out"] == "feature/x *.json \"quoted\""'
	answers 0 branch --schema
	expect 'e.data["subprocess"] == {"binary": "git", "user_controlled_args": ["branch", "more"]}'
}

@test "REQ-C-019 a subprocess declaration that is wrong, or names no argument, is refused at load" {
	local wrong
	for wrong in '"git"' '{}' '{ binary = 1 }' '{ binary = "git", user_controlled_args = "x" }' '{ binary = "git", other = 1 }' \
		'{ binary = "git", user_controlled_args = { "nosuch" } }'; do
		body bad "subprocess = $wrong," <<<'return {}'
		answers 4 bad
		expect 'e.error["code"] == "COMMAND_INVALID" and "subprocess" in e.error["message"]'
	done
}

@test "REQ-C-027 behind the first positional of a strict command every token is a positional" {
	local keys='args = { { "words", "array", items = "string", variadic = true }, { "loud", "boolean" } },'
	body say 'option_placement = "strict",' "$keys" <<<'return { words = args.words, loud = args.loud }'
	answers 0 say --loud --format json one --loud --timeout -- --x
	expect 'e.data == {"loud": True, "words": ["one", "--loud", "--timeout", "--", "--x"]}'
	answers 0 say --loud
	expect 'e.data == {"loud": True, "words": []}'
	answers 0 say --schema
	expect 'e.data["option_placement"] == "strict"'
	body say 'option_placement = "any",' "$keys" <<<'return { words = args.words, loud = args.loud }'
	answers 0 say one --loud
	expect 'e.data == {"loud": True, "words": ["one"]}'
	body say 'option_placement = "first",' "$keys" <<<'return {}'
	answers 4 say
	body say 'option_placement = "strict", args = { { "word", "string", positional = true } },' <<<'return {}'
	answers 2 say one --loud
}

@test "REQ-C-016 a secret on the command line is refused, and lint points at arguments that are named like one" {
	body login 'args = { { "token", "string", secret = true, env = "MY_TOKEN" } },' <<<'return { length = #args.token }'
	local how
	for how in --token=s3cr3t-value '--raw-payload={"token":"s3cr3t-value"}'; do
		answers 2 login "$how"
		expect 'e.error["errors"][0]["code"] == "SECRET_ON_COMMAND_LINE" and "--token-from-env" in e.error["errors"][0]["fix_required"]'
		expect 'e.error["phase"] == "validation" and e.error["errors"][0]["field"] == "token"'
		[[ $stdout != *s3cr3t* ]]
	done
	answers 2 login --token s3cr3t-value
	body pos 'args = { { "token", "string", secret = true, positional = true } },' <<<'return { length = #args.token }'
	answers 2 pos s3cr3t-value
	answers 0 T=s3cr3t-value pos --token-from-env T
	echo '{"token":"s3cr3t-value"}' >arguments.json
	answers 0 login --input-file arguments.json
	answers 0 RUNNER_AUTOMATION=true login --token s3cr3t-value
	expect '[w["code"] for w in e.warnings] == ["SECRET_ON_COMMAND_LINE"]'
	answers 0 T=s3cr3t-value login --token-from-env T
	expect 'e.warnings == []'
	answers 0 MY_TOKEN=s3cr3t-value login
	expect 'e.warnings == []'
	body outer <<<'return ctx:call("login", { token = "s3cr3t-value" })'
	answers 0 outer
	expect 'e.data == {"length": 12} and e.warnings == []'
	answers 0 manifest login
	expect 'e.data["commands"]["login"]["secret_env_vars"] == ["MY_TOKEN"]'
	body login 'args = { { "token", "string" } },' <<<'return {}'
	call lint login
	expect 'any("named like" in w["message"] or "name like a secret" in w["message"] for w in e.data["warnings"])'
}

@test "REQ-C-020 lint points at an identifier without a pattern" {
	body show 'args = { { "user_id", "string" }, { "id", "string", pattern = "uuid" }, { "valid", "string" }, { "run-id", "array", items = "string" } },' \
		<<<'return {}'
	call lint show
	expect 'sorted(w["key"] for w in e.data["warnings"] if "identifier" in w["message"]) == ["args.run-id", "args.user_id"]'
}
