#!/usr/bin/env bats
# A declared secret that is a common word, or a single letter, hides what spells it in values, and changes no member of runner's own: what is
# written stays what it is, at every door.

load lib/helper

prepare() {
	local keys='args = { { "token", "string", secret = true, env = "TOKEN_OF_MINE" } },'
	echo 'return { audit = { path = "ledger.jsonl" }, telemetry = { file = "traces.jsonl", content = true } }' >runner.lua
	body does "$keys" <<'LUA'
		ctx:log("warn", "log " .. args.token)
		ctx:warn("ODD", "odd " .. args.token, { code = args.token, message = 1 })
		ctx:progress { done = 1, total = 2, unit = args.token }
		ctx:step("one " .. args.token)
		return { code = "x", ok = true, n = 1, message = require("json").null, f = false, t = args.token,
			l = { { id = "1", run = "run", code = args.token }, { id = "ok", run = "true", code = "null" } } }
LUA
	body emits "$keys"' streams = true, primary_id_field = "id",' <<'LUA'
		ctx:emit { id = "a", code = 1, ok = true, run = args.token, items = { 1 } }
		ctx:emit { id = "b", code = 2, ok = false, run = "x", items = {} }
LUA
	body fails "$keys" <<'LUA'
		ctx:fail("UNAVAILABLE", "bad " .. args.token, { suggestion = args.token, context = { code = 1, run = args.token },
			errors = { { code = "UNAVAILABLE", message = "m " .. args.token, field = "f", value = 1 } } })
LUA
	cat >w.yaml <<'YAML'
name: w
secrets: [ TOKEN_OF_MINE ]
vars: { code: "~" }
steps:
  - id: one
    shell: echo '{"code":1,"ok":true,"text":"code"}'; echo "$TOKEN_OF_MINE" >&2
    check: [ { shell: "true" } ]
  - id: two
    foreach: [a, b]
    do: [ { shell: "echo ${item} ${code}" } ]
  - id: three
    runner: does
  - shell: echo "${steps.one.data.ok} ${steps.three.data.f}" >&2; test -e go
    repair: { max: 1, steps: [ { shell: "echo ${attempt.error}" } ] }
YAML
	cat >parts.yaml <<'YAML'
name: parts
secrets: [ TOKEN_OF_MINE ]
concurrency: { key: one }
commands:
  - id: each
    foreach: [a, b]
    max_failures: 1
    do: [ { shell: "[ ${item} != b ]" } ]
  - id: inner
    workflow: inner.yaml
  - { worktree: { keep: always }, shell: "echo x >new" }
  - approve: { message: m, timeout: 1h, show: [parts.yaml] }
YAML
	printf 'name: inner\noutputs: { x: "${steps.a.output}" }\nsteps: [ { id: a, shell: echo hi } ]\n' >inner.yaml
	git init -q
	git -c user.name=a -c user.email=a@b commit -q --allow-empty -m start
	known
}

words() {
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" PYTHONPATH="$ROOT/tests/cli/lib" python3 -B "$ROOT/tests/cli/lib/secret_words.py" "$@"
}

@test "a secret that is a word of runner's own, or a letter, breaks no answer, event, row or file, and no run" {
	words
}

@test "a secret that is the name of any member that a run shows changes none" {
	words members
}

@test "what spells such a secret in a value is hidden, and so is a longer one in a key of others" {
	body does 'args = { { "token", "string", secret = true, env = "TOKEN_OF_MINE" } },' <<<'return { text = "the code", [args.token .. "s"] = 1, code = args.token }'
	answers 0 TOKEN_OF_MINE=code does
	expect 'e.data == {"text": "the ***", "***s": 1, "code": "***"}'
	answers 0 TOKEN_OF_MINE=e does
	expect 'e.data == {"text": "th*** cod***", "es": 1, "code": "***"}'
	answers 0 TOKEN_OF_MINE=TIMEOUT does
	expect 'e.data == {"text": "the code", "***s": 1, "code": "***"}'
	answers 0 TOKEN_OF_MINE=hunter2 does
	expect 'e.data == {"text": "the code", "***s": 1, "code": "***"}'
}

@test "a secret that is the code of an error stays hidden where a command or a step says it, and the codes of errors stay" {
	cat >says.yaml <<-'YAML'
		name: says
		secrets: [ TOKEN_OF_MINE ]
		commands:
		  - { id: says, shell: 'echo "{\"code\":\"$TOKEN_OF_MINE\",\"n\":{\"code\":\"$TOKEN_OF_MINE\"}}"' }
		  - { id: fails, shell: exit 3 }
	YAML
	call TOKEN_OF_MINE=SUBPROCESS_FAILED workflow run says.yaml
	[ "$status" -eq 1 ]
	expect 'e.error["code"] == "SUBPROCESS_FAILED" and e.data["code"] == "SUBPROCESS_FAILED"'
	python3 -c 'import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select coalesce(data, \"\") || coalesce(output, \"\"), code from steps order by key").fetchall()
assert [code for _, code in rows] == ["SUBPROCESS_FAILED", None] and "***" in rows[1][0] and "SUBPROCESS" not in rows[1][0], rows' \
		"$BATS_TEST_TMPDIR.home/.local/state/runner/runs.db"
}
