#!/usr/bin/env bats
# Flags that any call may have: what runner tells of its doing and of its settings, and whose
# settings and state it uses.

load lib/helper

prepare() {
	cat >runner.lua <<'LUA'
return { timeout = "20s", config = { host = "default", api_key = "k3y", deep = { list = { 1, 2 } } }, contexts = {
	prod = { config = { host = "prod.example" }, timeout = "5s" }, dev = { grace = "1s" } } }
LUA
	body show 'args = { { "token", "string" } },' <<<'return { host = ctx.config.host }'
}

@test "REQ-O-008 --debug says what runner does, and quiet, verbose and debug exclude each other" {
	body work 'timeout = "10s",' <<'LUA'
ctx:run{ "printf", "%s", "a b", "--token=s3cret-value" }
local lock = ctx:lock("mine") lock:release()
pcall(ctx.http, ctx, { url = "http://127.0.0.1:9/x?token=s3cret-value" })
ctx:log("debug", "the author's own")
return {}
LUA
	answers 0 XDG_STATE_HOME="$PWD/state" work --debug
	[[ $stderr == *'"level":"debug"'*'command work from '*work.lua* ]]
	[[ $stderr == *"settings from $PWD/runner.lua"* ]]
	[[ $stderr == *'timeout 10s (command)'* ]]
	[[ $stderr == *'ctx:run [\"printf\",\"%s\",\"a b\"'* ]]
	[[ $stderr == *'ctx:lock mine'* ]]
	[[ $stderr == *'ctx:http GET http://127.0.0.1:9/x'* ]]
	[[ $stderr == *"the author's own"* ]]
	[[ $stderr != *s3cret* ]]
	answers 0 XDG_STATE_HOME="$PWD/state" RUNNER_DEBUG=1 work
	[[ $stderr == *'ctx:lock mine'* ]]
	answers 0 XDG_STATE_HOME="$PWD/state" RUNNER_DEBUG=1 work --quiet
	[ -z "$stderr" ]
	answers 0 XDG_STATE_HOME="$PWD/state" DEBUG=1 work
	[[ $stderr != *'ctx:lock mine'* ]]
	local other
	for other in --quiet --verbose; do
		answers 2 work --debug "$other"
		expect 'e.error["errors"][0]["code"] == "CONFLICTING_VALUES"'
	done
	answers 0 work --plan --debug
}

@test "REQ-F-051 REQ-F-073 a declared secret is in no debug line" {
	body login 'args = { { "token", "string", secret = true } },' <<<'ctx:run{ "true", args.token } return {}'
	answers 0 T=hunter2-value login --token-from-env T --debug
	[[ $stderr == *'ctx:run'*'***'* ]]
	[[ $stderr != *hunter2* ]]
}

@test "REQ-F-073 DEBUG alone changes nothing, and a variable with the prefix goes before a foreign one, a flag before both" {
	body who 'args = { { "token", "string", secret = true, env = "MYTOOL_TOKEN", env_fallbacks = { "TOKEN" } }, { "n", "integer", env = "MYTOOL_N", env_fallbacks = { "N" } } },' \
		<<<'return { n = args.n, length = #(args.token or "") }'
	answers 0 DEBUG=1 QUIET=1 TIMEOUT=bad FORMAT=bad who
	[ -z "$stderr" ]
	answers 0 RUNNER_DEBUG=1 who
	[[ $stderr == *'"level":"debug"'* ]]
	answers 0 N=2 TOKEN=foreign-token who
	expect 'e.data == {"n": 2, "length": 13}'
	answers 0 N=2 MYTOOL_N=1 TOKEN=foreign-token MYTOOL_TOKEN=own-token who
	expect 'e.data == {"n": 1, "length": 9}'
	answers 0 N=2 MYTOOL_N=1 who --n 3
	expect 'e.data["n"] == 3'
	answers 2 N=x who
	expect '"in N:" in e.error["errors"][0]["message"]'
	answers 0 manifest who
	expect 'e.data["commands"]["who"]["flags"]["n"]["env_vars"] == [{"name": "MYTOOL_N"}, {"name": "N"}]'
	expect 'e.data["commands"]["who"]["secret_env_vars"] == ["MYTOOL_TOKEN", "TOKEN"]'
	call who --help --format plain
	[[ $stdout == *'from $MYTOOL_N, else $N'* ]]
	local wrong
	for wrong in '{}' '{ "A B" }' '{ 1 }' '{ A = "B" }' 1 '"TOKEN"'; do
		body wrong "args = { { 'n', 'integer', env_fallbacks = $wrong } },"  <<<'return {}'
		call wrong
		expect 'e.error["code"] == "COMMAND_INVALID" and "env" in e.error["message"]'
	done
}

@test "REQ-O-015 --show-config prints each setting with its source, and no secret; it runs nothing" {
	body ran 'attempt_timeout = "3s",' <<<'io.open("marker", "w"):close()'
	answers 0 RUNNER_GRACE=1500ms ran --show-config --retries 2 --format json
	expect 'e.data["precedence_order"] == ["cli-flags", "env-vars", "command", "files", "default"]'
	expect 'set(e.data["effective_config"]) == set(e.data["sources"])'
	expect "[(e.data['effective_config'][k], e.data['sources'][k]) for k in ('timeout', 'attempt_timeout', 'grace', 'idle_timeout', 'retries', 'format')] == [
		('20s', 'file:$PWD/runner.lua'), ('3s', 'command'), ('1.5s', 'env:RUNNER_GRACE'), ('none', 'default'), (2, 'flag:--retries'), ('json', 'flag:--format')]"
	expect 'e.data["effective_config"]["config.api_key"] == "[REDACTED]" and e.data["effective_config"]["config.deep.list"] == [1, 2]'
	[ ! -e marker ]
	[[ $stdout != *k3y* ]]
	# of a project that never ran anything, the file is read and not run
	answers 0 XDG_STATE_HOME="$PWD/state" --show-config
	expect 'e.data["sources"]["config.host"].endswith("runner.lua") and e.warnings == []'
	local settings
	settings=$(<runner.lua)
	echo "os.getenv 'HOME' $settings" >runner.lua
	answers 0 XDG_STATE_HOME="$PWD/state" --show-config
	expect '"config.host" not in e.data["sources"] and [w["code"] for w in e.warnings] == ["PROJECT_UNREAD"]'
	answers 0 XDG_STATE_HOME="$PWD/state" ran
	answers 0 XDG_STATE_HOME="$PWD/state" --show-config
	expect 'e.data["sources"]["config.host"].endswith("runner.lua") and e.warnings == []'
	answers 0 --no-config show --show-config
	expect '"config.host" not in e.data["effective_config"] and e.data["sources"]["timeout"] == "default"'
}

@test "REQ-O-024 --context lays named settings over those of the file, and meta says which" {
	answers 0 show
	expect 'e.data == {"host": "default"} and "context" not in e.meta and e.meta["timeout_ms"] == 20000'
	answers 0 --context prod show
	expect 'e.data == {"host": "prod.example"} and e.meta["context"] == "prod" and e.meta["timeout_ms"] == 5000'
	answers 0 --context dev show
	expect 'e.data == {"host": "default"} and e.meta["timeout_ms"] == 20000'
	cat >other.lua <<<'return { contexts = { prod = { config = { host = "other" } } } }'
	answers 0 --config other.lua --context prod show
	expect 'e.data == {"host": "other"}'
	answers 2 --context nosuch show
	expect 'e.error["suggestion"] == "The contexts are dev, prod"'
	answers 2 --no-config --context prod show
	body own 'args = { { "context", "string" } },' <<<'return { own = args.context }'
	answers 0 own --context x
	expect 'e.data == {"own": "x"}'
}

@test "a context holds for what a call starts in its project, and RUNNER_CONTEXT chooses one" {
	cat >runner.lua <<<'return { config = { host = "base" }, contexts = { prod = { config = { host = "prod" } }, dev = { config = { host = "dev" } } } }'
	body outer <<<'return ctx:call "show"'
	answers 0 --context prod outer
	expect 'e.data == {"host": "prod"}'
	answers 0 RUNNER_CONTEXT=prod outer
	expect 'e.data == {"host": "prod"} and e.meta["context"] == "prod"'
	answers 0 RUNNER_CONTEXT=prod --context dev outer
	expect 'e.data == {"host": "dev"}'
	answers 0 RUNNER_CONTEXT= outer
	expect 'e.data == {"host": "base"} and "context" not in e.meta'
	answers 0 RUNNER_CONTEXT=prod --no-config show
	expect '"context" not in e.meta'
	answers 2 RUNNER_CONTEXT=prd show
	expect "e.error['suggestion'] == \"Did you mean 'prod'?\""
	expect '"runner.lua: RUNNER_CONTEXT names it" in e.error.message and "--context NAME" in e.error.fix_required'
	expect '"unset the environment variable RUNNER_CONTEXT" in e.error["errors"][0]["fix_required"]'
	answers 0 RUNNER_CONTEXT=prd doctor --help
	call RUNNER_CONTEXT=prd doctor --format json
	expect '"unset the environment variable RUNNER_CONTEXT" in e.data["checks"][0]["fix"]'
	answers 2 --context prd show
	expect '"RUNNER_CONTEXT" not in str(e.error)'
	printf 'steps:\n  - id: a\n    runner: show\n' >w.yaml
	answers 0 XDG_STATE_HOME="$PWD/state" --context prod workflow run w.yaml
	expect 'e.data["steps"][0]["data"] == {"host": "prod"}'
	answers 2 show --profile prod
	expect '"--context NAME" in str(e.error)'
	echo 'return {}' >runner.lua
	answers 2 RUNNER_CONTEXT=prod show
	expect 'e.error.fix_required == "Unset the environment variable RUNNER_CONTEXT: there are no contexts here"'
	expect '"suggestion" not in e.error'
}

@test "a run is resumed in the context that it was started in, and in no other" {
	local settings='config = { host = "base" }, contexts = { prod = { config = { host = "prod" } }, dev = {} }'
	echo "return { $settings }" >runner.lua
	failing fails safe <<<'if fs.stat "heal" then return 1 end ctx:fail("NOT_FOUND", "no")'
	printf 'steps:\n  - id: a\n    runner: fails\n  - id: b\n    runner: show\n' >w.yaml
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	call --context prod workflow run w.yaml
	touch heal
	answers 4 --context dev workflow resume @last
	expect "\"was started in the context 'prod', and can't go on in the context 'dev'\" in e.error.message"
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none"'
	answers 4 RUNNER_CONTEXT=dev workflow resume @last
	expect '"RUNNER_CONTEXT" in e.error.fix_required'
	echo 'return {}' >runner.lua
	answers 4 workflow resume @last
	expect "e.error.fix_required == 'Restore contexts.prod in $PWD/runner.lua'"
	echo "return { $settings }" >runner.lua
	cp -r state copy
	answers 0 XDG_STATE_HOME="$PWD/copy" --no-config workflow resume @last
	expect 'e.data["steps"][1]["data"] == {"host": "prod"}'
	answers 0 workflow resume @last
	expect 'e.data["steps"][1]["data"] == {"host": "prod"} and e.meta["context"] == "prod"'
	rm heal
	call workflow run w.yaml
	touch heal
	answers 4 --context prod workflow resume @last
	expect '"was started without a context" in e.error.message'
	answers 0 workflow resume @last
	expect 'e.data["steps"][1]["data"] == {"host": "base"}'
}

@test "a built-in command does nothing without the context that its caller asks for" {
	echo 'return { contexts = { prod = { config = { host = "prod" } } } }' >runner.lua
	printf 'steps:\n  - shell: touch ran\n' >w.yaml
	answers 2 --context prd workflow run w.yaml
	expect "e.error['suggestion'] == \"Did you mean 'prod'?\" and '--context' in e.error.fix_required"
	answers 2 RUNNER_CONTEXT=prd workflow run w.yaml
	[ ! -e ran ]
	answers 2 --context prd manifest
	answers 0 RUNNER_CONTEXT=prd manifest
	answers 4 --context prd lint
	expect 'e.error.code == "COMMAND_INVALID" and "There is no context" in e.error.message'
	answers 0 --context prd help lint
}

@test "an inherited context means nothing in another project" {
	cat >runner.lua <<<'return { config = { host = "base" }, contexts = { prod = { config = { host = "prod" } } } }'
	mkdir -p other/commands
	cp commands/show.lua other/commands
	body elsewhere <<LUA
	local r = ctx:run { "$RUNNER", "show", cwd = "other" }
	return require("json").decode(r.stdout).data
LUA
	for settings in 'return { config = { host = "other" } }' 'return { config = { host = "other" }, contexts = { prod = { config = { host = "wrong" } } } }'; do
		echo "$settings" >other/runner.lua
		answers 0 --context prod elsewhere
		expect 'e.data == {"host": "other"}'
	done
}

@test "a policy that forbids relocation refuses --context; a list of an unknown project runs no settings for RUNNER_CONTEXT" {
	echo '{ "relocate": false }' >p.json
	answers 7 --policy p.json --context prod show
	answers 0 RUNNER_CONTEXT=prod --policy p.json show
	echo 'io.open("loaded", "w"):close() return { contexts = { prod = {} } }' >runner.lua
	call XDG_STATE_HOME="$PWD/fresh" RUNNER_CONTEXT=prod help
	[ ! -e loaded ]
	call XDG_STATE_HOME="$PWD/fresh" RUNNER_CONTEXT=prod completion bash -- runner ''
	[ ! -e loaded ]
}

@test "REQ-O-024 contexts that are no settings are refused with runner.lua" {
	local wrong
	for wrong in '{ 1 }' '{ a = 1 }' '{ a = { nosuch = 1 } }' '{ a = { timeout = "x" } }' '{ a = { contexts = {} } }' '"x"'; do
		echo "return { contexts = $wrong }" >runner.lua
		answers 4 show
		expect 'e.error["code"] == "COMMAND_INVALID" and "contexts" in e.error["message"]'
	done
}

@test "REQ-O-036 each instance has its own locks and runs; the variable is the same as the flag" {
	mkdir state
	body lock <<<'local l = ctx:lock("x") return { path = l.path, id = os.getenv "RUNNER_INSTANCE_ID" }'
	answers 0 XDG_STATE_HOME="$PWD/state" lock --instance-id one
	expect "e.data == {'path': '$PWD/state/runner/instances/one/locks/x.lock', 'id': 'one'} and e.meta['instance_id'] == 'one'"
	answers 0 XDG_STATE_HOME="$PWD/state" RUNNER_INSTANCE_ID=two lock
	expect "e.data['path'] == '$PWD/state/runner/instances/two/locks/x.lock' and e.meta['instance_id'] == 'two'"
	answers 0 XDG_STATE_HOME="$PWD/state" RUNNER_INSTANCE_ID=two lock --instance-id one
	expect 'e.meta["instance_id"] == "one"'
	answers 0 XDG_STATE_HOME="$PWD/state" lock
	expect "e.data['path'] == '$PWD/state/runner/locks/x.lock' and 'instance_id' not in e.meta"
	echo 'commands: [{ shell: "true" }]' >one.yaml
	answers 0 XDG_STATE_HOME="$PWD/state" workflow run one.yaml --instance-id one
	[ -e state/runner/instances/one/runs.db ]
	[ ! -e state/runner/runs.db ]
	answers 0 XDG_STATE_HOME="$PWD/state" workflow list --instance-id two
	expect 'e.data == []'
	local bad
	for bad in ../x a/b '' 'a b' .x; do
		answers 2 XDG_STATE_HOME="$PWD/state" lock --instance-id "$bad"
	done
	answers 2 XDG_STATE_HOME="$PWD/state" RUNNER_INSTANCE_ID=../x lock
	[ ! -e state/x ]
}
