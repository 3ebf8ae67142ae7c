#!/usr/bin/env bats
# What a caller may call: --policy and RUNNER_POLICY, and the ways around them.

load lib/helper

prepare() {
	body look <<<'return { level = "safe", timeout = ctx.timeout_ms }'
	body db/show <<<'return { shown = true }'
	body db/drop <<<'return { dropped = true }'
	body dbx <<<'return { other = true }'
	failing change mutating <<<'fs.write("changed", "x") return { effect = "updated" }'
	failing wipe destructive <<<'fs.write("wiped", "x") return { effect = "deleted" }'
}

policy() {
	printf '%s\n' "$1" >"${2:-p.json}"
}

# denied RULE ARGS…: the call is refused by that rule, and nothing has happened
denied() {
	local rule=$1
	shift
	answers 7 "$@"
	expect "e.error.code == 'POLICY_DENIED' and e.error.context['rule'] == '$rule'"
	expect 'e.error.side_effects == "none" and e.error.retryable is False and e.error.phase == "validation"'
	[ ! -e changed ] && [ ! -e wiped ]
}

invalid() {
	answers 4 "$@"
	expect 'e.error.code == "POLICY_INVALID" and e.error.side_effects == "none" and e.error.retryable is False'
}

@test "the highest danger level refuses what is more dangerous, and nothing is loaded of the rest" {
	policy '{ "max_danger": "mutating" }'
	answers 0 --policy p.json look
	expect "e.meta['policy'] == [{ 'file': '$PWD/p.json', 'digest': e.meta['policy'][0]['digest'] }]"
	answers 0 --policy p.json change
	rm changed
	denied max_danger --policy p.json wipe --confirm-destructive
	expect "e.error.context == { 'policy': '$PWD/p.json', 'rule': 'max_danger', 'command': 'wipe' }"
	denied max_danger --policy p.json wipe --dry-run
	denied max_danger --policy p.json wipe --plan
	policy '{ "max_danger": "safe" }'
	denied max_danger --policy p.json change
	denied max_danger --policy p.json new other
	[ ! -e commands/other.lua ]
	call look
	expect '"policy" not in e.meta'
}

@test "allow and deny take names, groups and globs, and no name that only begins so" {
	policy '{ "allow": ["db"] }'
	answers 0 --policy p.json db show
	denied allow --policy p.json dbx
	denied allow --policy p.json look
	denied allow --policy p.json lint
	denied allow --policy p.json self lint
	answers 0 --policy p.json help
	answers 0 --policy p.json manifest
	policy '{ "allow": ["db s*", "look"], "deny": ["look"] }'
	answers 0 --policy p.json db show
	denied allow --policy p.json db drop
	denied 'deny: look' --policy p.json look
	policy '{ "deny": ["db.*"] }'
	denied 'deny: db.*' --policy p.json db show
	answers 0 --policy p.json dbx
	policy '{ "allow": [] }'
	denied allow --policy p.json look
	policy '{ "deny": ["help"] }'
	denied 'deny: help' --policy p.json
}

@test "a denied command is refused before its file is loaded, whatever flag comes with it" {
	command_file sly <<<'io.open("loaded", "w"):close() return { description = "x", danger_level = "safe", run = function() end }'
	policy '{ "deny": ["sly"] }'
	local flag
	for flag in --help --plan --schema --version --show-config --validate-only --; do
		denied 'deny: sly' --policy p.json sly "$flag"
	done
	denied 'deny: sly' RUNNER_POLICY=p.json --quiet sly
	denied 'deny: sly' RUNNER_POLICY="$PWD/p.json" --timeout 1s sly --policy=other
	[ ! -e loaded ]
}

@test "a file that has the name of a built-in command and that command are two" {
	body status <<<'return { own = true }'
	policy '{ "allow": ["status"] }'
	answers 0 --policy p.json status
	expect 'e.data == { "own": True }'
	denied allow --policy p.json self status
	policy '{ "deny": ["status"] }'
	denied 'deny: status' --policy p.json status
	denied 'deny: status' --policy p.json self status
	policy '{ "allow": ["doctor"] }'
	answers 0 --policy p.json self doctor
}

@test "a policy that can't be read or understood refuses everything" {
	local text
	invalid --policy nothing.json look
	for text in '' 'null' '[]' '[1]' '"safe"' '{ "max_danger": "none" }' '{ "max_dangre": "safe" }' '{ "allow": "look" }' '{ "allow": {} }' \
		'{ "allow": ["../look"] }' '{ "allow": [""] }' '{ "allow": ["look", null] }' '{ "deny": ["a"], "deny": [] }' '{ "max_retries": -1 }' \
		'{ "max_retries": "2" }' '{ "max_timeout": "none" }' '{ "max_timeout": 0 }' '{ "max_cost_usd": -1 }' '{ "dry_run": 1 }' \
		'{ "deny": ["***a*b*c*d*e"] }' '{ "folders": ["relative"] }' '{ "relocate": null }' '{} {}' "$(printf '{ "deny": ["\xff"] }')"; do
		policy "$text"
		invalid --policy p.json look
		invalid --policy p.json help
	done
	head -c 5000000 /dev/zero >p.json
	invalid --policy p.json look
	invalid --policy . look
	invalid --policy /dev/null look
	mkfifo pipe
	invalid --policy pipe look
	policy '{ "max_dangre": "safe" }'
	call --policy p.json look
	expect '"max_danger" in e.error.fix_required'
	invalid RUNNER_POLICY= look
	invalid RUNNER_POLICY=: look
	policy '{}'
	invalid RUNNER_POLICY=p.json: look
	answers 0 RUNNER_POLICY=p.json look
	answers 0 --policy p.json look
}

@test "a policy that others may write to is refused, and so is one in a folder of theirs" {
	policy '{}'
	chmod o+w p.json
	invalid --policy p.json look
	chmod o-w p.json
	mkdir open && policy '{}' open/p.json && chmod 777 open
	invalid --policy open/p.json look
	ln -s open/p.json link.json
	chmod 755 open && chmod o+w open/p.json
	invalid --policy link.json look
}

@test "only in front of the name is --policy runner's own, and it needs a value" {
	policy '{}'
	policy '{ "deny": ["look"] }' strict.json
	answers 2 look --policy p.json
	answers 2 --policy "" look
	answers 2 --policy --quiet look
	answers 2 --no-policy look
	[ "$(field 'e.error.code')" != null ]
	answers 7 --policy strict.json --policy strict.json look
	denied 'deny: look' --policy strict.json --runner-policy=strict.json look
	call --policy p.json --policy strict.json look # two different ones: neither counts more
	[ "$status" -ne 0 ]
	body own 'args = { { "policy", "string" } },' <<<'return { policy = args.policy }'
	answers 0 own --policy mine
	expect 'e.data == { "policy": "mine" }'
	denied 'deny: look' RUNNER_POLICY=strict.json --policy p.json look
	denied 'deny: look' RUNNER_POLICY=p.json --policy strict.json look
	denied 'deny: look' RUNNER_POLICY=p.json:strict.json look
	invalid --policy a:b look
}

@test "the most retries and the longest time are cut, whoever asks for more, and --plan says so" {
	policy '{ "max_retries": 1, "max_timeout": "10s" }'
	command_of often 'retry = { retries = 5, delay = 0 }, timeout = "none", exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },' \
		<<<'ctx:fail("TIMEOUT", "again")'
	answers 10 --policy p.json often
	[ "$(cat runs)" = "1 2 " ]
	rm runs
	answers 10 --policy p.json often --retries 4 --timeout none
	[ "$(cat runs)" = "1 2 " ]
	expect 'e.meta["timeout_ms"] == 10000'
	answers 0 --policy p.json often --plan --timeout 1h
	expect 'e.data["limits"]["timeout"] == { "ms": 10000, "source": "policy" }'
	expect 'e.data["retry"]["retries"] == 1 and e.data["retry"]["sources"]["retries"] == "policy"'
	expect "e.data['policy']['files'] == ['$PWD/p.json'] and e.data['policy']['max_retries'] == 1"
	answers 0 --policy p.json often --plan --timeout 2s --retries 0
	expect 'e.data["limits"]["timeout"] == { "ms": 2000, "source": "flag" } and e.data["retry"]["retries"] == 0'
	answers 0 --policy p.json look --show-config
	expect "e.data['effective_config']['policy.max_retries'] == 1 and e.data['sources']['policy.max_retries'] == 'policy:$PWD/p.json'"
	policy '{ "max_retries": 3, "max_timeout": "5s" }' second.json
	answers 0 RUNNER_POLICY=p.json:second.json often --plan
	expect 'e.data["limits"]["timeout"]["ms"] == 5000 and e.data["retry"]["retries"] == 1'
	call --policy p.json often --plan --format plain
	[[ $stdout == *"policy"*"p.json"* ]]
}

@test "retries inside run count among those that a policy allows" {
	policy '{ "max_retries": 2 }'
	body loop 'exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },' <<'LUA'
return ctx:retry(function()
	local f = io.open("tries", "a") f:write("x") f:close()
	ctx:fail("TIMEOUT", "again")
end, { retries = 9, delay = 0, on = { "TIMEOUT" } })
LUA
	answers 10 --policy p.json loop
	[ "$(cat tries)" = xxx ]
}

@test "under dry_run commands that change something only say what they would do" {
	policy '{ "dry_run": true }'
	answers 0 --policy p.json change --no-dry-run
	expect 'e.meta["dry_run"] is True'
	answers 0 --policy p.json wipe --confirm-destructive
	expect 'e.data["effect"] == "would_run"'
	[ ! -e changed ]
	[ ! -e wiped ]
	answers 0 --policy p.json look
}

@test "where flags don't confirm, neither --yes nor --live nor --confirm-destructive does" {
	policy '{ "confirm_by_flag": false }'
	denied confirm_by_flag --policy p.json wipe --confirm-destructive
	denied confirm_by_flag --policy p.json look --yes
	answers 2 --policy p.json wipe
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	{
		echo 'return { description = "x", danger_level = "destructive", safe_default = true, timeout = "none",'
		echo 'run = function() require("fs").write("wiped", "x") return { effect = "deleted" } end }'
	} | command_file careful
	answers 2 --policy p.json careful --live
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	[ ! -e wiped ]
	answers 0 careful --live
}

@test "files elsewhere are out of reach, and so are the flags that lead there" {
	mkdir -p other/commands
	echo 'return { description = "x", danger_level = "safe", run = function() return { other = true } end }' >other/commands/look.lua
	policy "{ \"folders\": [\"$PWD/commands/\"], \"max_danger\": \"mutating\" }"
	answers 0 --policy p.json look
	denied folders --policy p.json --cwd other look
	denied folders RUNNER_PATH="$PWD/other/commands" RUNNER_POLICY="$PWD/p.json" --cwd / look
	mv commands/look.lua kept.lua
	ln -s "$PWD/other/commands/look.lua" commands/look.lua
	denied folders --policy p.json look
	policy "{ \"folders\": [\"$PWD/comm\"] }"
	denied folders --policy p.json dbx
	answers 0 --policy p.json doctor
	policy '{ "relocate": false }'
	denied relocate --policy p.json --cwd other look
	denied relocate --cwd other --policy p.json look
	denied relocate RUNNER_POLICY=p.json --config nothing.lua look
	denied relocate RUNNER_POLICY=p.json --no-config look
	answers 0 --policy p.json dbx
}

@test "what is in none of the folders is neither listed nor read, by an unknown word, help, a Tab or lint" {
	mkdir -p user/runner/commands
	local top='io.open("loaded", "w"):close() return { description = "x", danger_level = "safe",'
	tee commands/sly.lua >user/runner/commands/wide.lua <<<"$top aliases = { 'short' }, run = function() return { ran = true } end }"
	policy "{ \"folders\": [\"$PWD/other\"] }"
	local name
	for name in nothing short; do
		answers 2 XDG_CONFIG_HOME="$PWD/user" --policy p.json "$name"
	done
	for name in sly wide; do
		denied folders XDG_CONFIG_HOME="$PWD/user" --policy p.json help "$name"
		answers 4 XDG_CONFIG_HOME="$PWD/user" --policy p.json lint "$name"
		call XDG_CONFIG_HOME="$PWD/user" RUNNER_TRUST="$PWD" --policy p.json completion bash -- "$name" --
	done
	for name in help manifest lint doctor "mcp tools" generate-skills; do
		# shellcheck disable=SC2086 # a name of two words
		answers 0 XDG_CONFIG_HOME="$PWD/user" RUNNER_TRUST="$PWD" --policy p.json $name --format json
		[[ $stdout != *sly* && $stdout != *wide* ]]
	done
	[ ! -e loaded ]
	policy "{ \"folders\": [\"$PWD/user\"] }"
	call XDG_CONFIG_HOME="$PWD/user" --policy p.json mcp tools --format json
	[[ $stdout == *wide* && $stdout != *sly* ]]
	answers 0 XDG_CONFIG_HOME="$PWD/user" --policy p.json short
	rm loaded
}

@test "what a call starts is bound too, and can't take its policy off" {
	policy '{ "deny": ["wipe"] }'
	policy '{}' none.json
	body outer 'exit_codes = {},' <<'LUA'
local runner = require("fs").readlink "/proc/self/exe"
local out = {}
for name, env in pairs{ kept = {}, emptied = { RUNNER_POLICY = "" }, replaced = { RUNNER_POLICY = "none.json" } } do
	local r = ctx:run{ runner, "wipe", "--confirm-destructive", check = false, env = env }
	out[name] = r.status
end
out.shell = os.execute(runner .. " wipe --confirm-destructive >/dev/null 2>&1") or false
out.variable = os.getenv "RUNNER_POLICY"
local ok, e = pcall(ctx.call, ctx, "wipe", { "--confirm-destructive" })
out.call = e.code
return out
LUA
	mkdir sub
	answers 0 --policy p.json outer
	expect '[e.data[k] for k in ("kept", "emptied", "replaced", "shell", "call")] == [7, 7, 7, False, "POLICY_DENIED"]'
	expect "e.data['variable'].startswith('$PWD/p.json#')"
	answers 0 --policy "../${PWD##*/}/p.json" outer
	expect 'e.data["kept"] == 7'
	[ ! -e wiped ]
	cat >flow.yaml <<-'YAML'
		name: flow
		env: { RUNNER_POLICY: "" }
		steps:
		  - runner: wipe
		    args: ["--confirm-destructive"]
		    env: { RUNNER_POLICY: none.json }
	YAML
	call XDG_STATE_HOME="$PWD/state" --policy p.json workflow run flow.yaml
	[ "$status" -ne 0 ]
	[[ $stdout == *POLICY_DENIED* ]]
	[ ! -e wiped ]
	answers 0 XDG_STATE_HOME="$PWD/state" workflow run flow.yaml
	[ -e wiped ]
}

@test "a job is bound by the policy of the call that made it" {
	policy '{ "deny": ["wipe"], "max_timeout": "20s" }'
	body outer 'exit_codes = {},' <<'LUA'
local r = ctx:run{ require("fs").readlink "/proc/self/exe", "wipe", "--confirm-destructive", check = false }
return { status = r.status }
LUA
	answers 0 XDG_STATE_HOME="$PWD/state" --policy p.json outer --detach
	local id
	id=$(field 'e.data["job_id"]')
	answers 0 XDG_STATE_HOME="$PWD/state" job wait "$id"
	expect 'e.data["status"] == 7 and e.meta["job"]["timeout_ms"] == 20000 and "policy" in e.meta["job"]'
	denied 'deny: wipe' XDG_STATE_HOME="$PWD/state" --policy p.json wipe --detach --confirm-destructive
}

@test "a policy that is replaced while a run goes on widens nothing" {
	policy '{ "deny": ["wipe"] }'
	body outer 'exit_codes = {},' <<'LUA'
require("fs").write("p.json", "{}")
local r = ctx:run{ require("fs").readlink "/proc/self/exe", "wipe", "--confirm-destructive", check = false }
return { status = r.status }
LUA
	answers 0 --policy p.json outer
	expect 'e.data["status"] == 4'
	policy '{ "max_danger": "safe" }'
	command_of again 'retry = { retries = 3, delay = 0 }, exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },' \
		<<<'require("fs").write("p.json", "{}") ctx:fail("TIMEOUT", "again")'
	answers 10 --policy p.json again
	[ "$(cat runs)" = "1 " ]
	expect '[w["code"] for w in e.warnings] == ["COMMAND_CHANGED"]'
	[ ! -e wiped ]
}

@test "listings have what a policy allows and nothing else" {
	known
	policy '{ "max_danger": "mutating", "deny": ["db drop", "workflow"] }'
	answers 0 --policy p.json manifest
	expect '"db.show" in e.data["commands"] and "change" in e.data["commands"]'
	expect 'not {"wipe", "db.drop", "workflow.run"} & set(e.data["commands"])'
	answers 0 --policy p.json help --format json
	expect '"look" in e.data["commands"] and "wipe" not in e.data["commands"]'
	call --policy p.json completion bash --format plain -- w
	[[ $stdout != *wipe* ]]
	[[ $stdout != *workflow* ]]
	answers 0 --policy p.json doctor
	expect "'policy $PWD/p.json' in [c['name'] for c in e.data['checks']]"
}

@test "the budget of a workflow run is cut, in the file, on the command line and when it is resumed" {
	policy '{ "max_cost_usd": 0.5 }'
	cat >flow.yaml <<-'YAML'
		name: flow
		max_cost: 2
		steps:
		  - shell: "[ -e ready ]"
	YAML
	call XDG_STATE_HOME="$PWD/state" --policy p.json workflow run flow.yaml --max-cost 9
	expect 'e.data["max_cost_usd"] == 0.5'
	local id
	id=$(field 'e.meta["run"]')
	touch ready
	answers 0 XDG_STATE_HOME="$PWD/state" --policy p.json workflow resume "$id" --max-cost 3
	expect 'e.data["max_cost_usd"] == 0.5'
}

@test "calls of exec and tools of MCP are bound, whatever they were allowed there" {
	policy '{ "deny": ["wipe"], "max_timeout": "20s" }'
	printf '%s\n' '{"_cmd":"wipe"}' '{"_cmd":"look","_opts":{"timeout":"1h"}}' '{"_cmd":"self.wipe"}' >requests
	"$RUNNER" --policy p.json exec --allow wipe --ignore-errors <requests >answers 2>/dev/null || true
	python3 - <<-'PY'
		import json
		wipe, look, other = [json.loads(line) for line in open("answers")][:3]
		assert wipe["error"]["code"] == "POLICY_DENIED", wipe
		assert look["ok"] and look["meta"]["timeout_ms"] <= 20000 and look["meta"]["policy"], look
		assert not other["ok"], other
	PY
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" PYTHONDONTWRITEBYTECODE=1 \
		timeout 100 python3 - <<-'PY'
		from mcp import *
		with Server() as s:
		    names = [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
		    assert "look" in names and "wipe" not in names, names
		    answer = s.ask("tools/call", {"name": "wipe", "arguments": {}})
		    assert "error" in answer or answer["result"]["isError"], answer
		    assert s.call("look", {})["structuredContent"]["data"]["level"] == "safe"
		    open("p.json", "w").write("{}")
		    answer = s.call("look", {})
		    assert answer["isError"] and answer["structuredContent"]["error"]["code"] == "POLICY_INVALID", answer
	PY
	[ ! -e wiped ]
}
