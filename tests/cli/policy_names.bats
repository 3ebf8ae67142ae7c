#!/usr/bin/env bats
# What the names in allow and deny of a policy mean: every spelling that is printed, and no rule that means nothing.

load lib/helper

prepare() {
	body db/drop <<<'require("fs").write("dropped", "x") return { dropped = true }'
	body look <<<'return { seen = true }'
	body outer 'exit_codes = {},' <<<'return ctx:call("db drop")'
}

policy() {
	printf '%s\n' "$1" >p.json
}

invalid() {
	answers 4 "$@"
	expect 'e.error.code == "POLICY_INVALID" and e.error.side_effects == "none" and e.error.retryable is False'
}

@test "each of 18 spellings, allowed or denied, means the command or is refused at each of six doors" {
	printf 'name: flow\nsteps:\n  - runner: db drop\n' >flow.yaml
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" XDG_STATE_HOME="$PWD/state" timeout 300 python3 "$ROOT/tests/cli/lib/policy_doors.py"
}

@test "a rule names commands, not their arguments" {
	policy '{ "allow": ["look"], "deny": ["look here"] }'
	invalid --policy p.json look
	expect '"after the name of the command" in e.error.message and e.error.fix_required == "Write '"'look'"'"'
	policy '{ "deny": [{ "name": "look here", "optional": true }] }'
	invalid --policy p.json look
}

@test "a rule that may mean nothing says so, and a typo is told what it may have meant" {
	policy '{ "deny": ["lok"] }'
	invalid --policy p.json look
	expect 'e.error.fix_required == "Write '"'look'"'"'
	invalid --policy p.json help
	invalid --policy p.json nothing
	policy '{ "deny": ["qqqqqqqqqqqqqqqq"] }'
	invalid --policy p.json look
	expect '"optional" in e.error.fix_required'
	policy '{ "deny": ["mcp__tools__db_drop"] }'
	invalid --policy p.json look
	expect 'e.error.fix_required == "Write '"'db drop'"'"'
	policy '{ "deny": [{ "name": "lok", "optional": true }, { "name": "db_drop" }] }'
	answers 0 --policy p.json look
	answers 7 --policy p.json db drop
	local text
	for text in '{ "name": "look", "optional": 1 }' '{ "name": "look", "other": true }' '{}' '["look"]' '{ "name": 1 }' '{ "optional": true }'; do
		policy "{ \"deny\": [$text] }"
		invalid --policy p.json look
	done
}

@test "a group means what is below it, and no command whose name only begins so" {
	body db-wipe <<<'return { wiped = true }'
	policy '{ "allow": ["db"] }'
	answers 0 --policy p.json db drop
	answers 7 --policy p.json db-wipe
	policy '{ "deny": ["db drop"] }'
	answers 0 --policy p.json db-wipe
}

@test "self NAME means the built-in command, also where no file has its name" {
	policy '{ "deny": ["self doctor"] }'
	answers 7 --policy p.json doctor
	answers 7 --policy p.json self doctor
	policy '{ "allow": ["self_doctor"] }'
	answers 0 --policy p.json doctor
	answers 7 --policy p.json look
	body doctor <<<'return { own = true }'
	answers 7 --policy p.json doctor
	answers 0 --policy p.json self doctor
}

@test "a policy is matched with its own project: what it starts in another one is bound, and not asked for these commands" {
	mkdir -p other/commands
	mv commands/look.lua other/commands/
	body away 'exit_codes = {},' <<'LUA'
local runner, out = require("fs").readlink "/proc/self/exe", {}
for _, words in ipairs { { "look" }, { "db", "drop" }, { "lint" } } do
	out[#out + 1] = ctx:run{ runner, "--cwd", "other", words[1], words[2], check = false }.status
end
return { statuses = out }
LUA
	policy '{ "deny": ["db_drop", "lint"] }'
	answers 0 --policy p.json away
	expect 'e.data["statuses"] == [0, 2, 7]'
	mv other/commands/look.lua commands/
	cd other
	invalid --policy ../p.json lint
}

@test "policy check says which commands each rule means" {
	policy '{ "allow": ["d*", "self lint"], "deny": ["db-drop", { "name": "old", "optional": true }] }'
	answers 0 policy check p.json
	expect '[(r["list"], r["rule"], r["commands"], r["optional"]) for r in e.data["rules"]] == [("allow", "d*", ["db drop", "doctor"], False),
		("allow", "self lint", ["lint"], False), ("deny", "db-drop", ["db drop"], False), ("deny", "old", [], True)]'
	policy '{ "allow": ["look now", "look"] }'
	answers 4 policy check p.json
	expect 'e.error.code == "POLICY_INVALID" and [("problem" in r, r["commands"]) for r in e.data["rules"]] == [(True, []), (False, ["look"])]'
	answers 4 policy check nothing.json
	answers 4 policy check
	expect 'e.error.code == "PRECONDITION"'
	policy '{ "deny": ["db_drop"] }'
	answers 0 --policy p.json policy check
	expect 'e.data["rules"][0]["commands"] == ["db drop"]'
}

@test "a policy that allows a server and one command makes a server of this command, and nothing more" {
	policy '{ "allow": ["look", "mcp serve"] }'
	body peek <<<'io.open("peeked", "w"):close() return {}'
	mkdir docs
	echo hello >docs/guide.md
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" RUNNER="$RUNNER" RUNNER_POLICY="$PWD/p.json" PYTHONPATH="$ROOT/tests/cli/lib" \
		PYTHONDONTWRITEBYTECODE=1 timeout 100 python3 - <<-'PY'
		from mcp import *
		with Server() as s:
		    assert [t["name"] for t in s.ask("tools/list")["result"]["tools"]] == ["look"]
		    assert s.call("look", {})["structuredContent"]["data"] == {"seen": True}
		    for name in "peek", "db_drop", "job_list", "mcp_tools", "exec", "workflow_run":
		        assert "error" in s.ask("tools/call", {"name": name, "arguments": {}}), name
		    uris = [r["uri"] for r in s.ask("resources/list")["result"]["resources"]]
		    assert not [u for u in uris if "db" in u or "runs" in u], uris
		with Server("--progressive") as s:
		    assert s.call("call", {"name": "look", "arguments": {}})["structuredContent"]["data"] == {"seen": True}
		    answer = s.ask("tools/call", {"name": "call", "arguments": {"name": "db drop", "arguments": {}}})
		    assert "error" in answer or answer["result"]["isError"], answer
	PY
	[ ! -e dropped ]
	[ ! -e peeked ]
	answers 7 --policy p.json exec
	answers 7 --policy p.json db drop
	policy '{ "allow": ["look"] }'
	answers 7 --policy p.json mcp tools
	policy '{ "allow": ["mcp serve", "look"], "deny": ["mcp tools"] }'
	answers 7 --policy p.json mcp tools
}

@test "a policy that allows a workflow lets it run its steps on an executor, and one that allows a check lets that probe" {
	policy '{ "allow": ["look", "workflow run", "executor check"] }'
	printf 'name: flow\nexecutors: { here: { kind: local, poll: 100ms } }\nsteps:\n  - { runner: look, on: here }\n' >flow.yaml
	printf 'return { executors = { here = { kind = "local", directory = "%s" } } }\n' "$PWD" >runner.lua
	answers 0 XDG_STATE_HOME="$PWD/state" --policy p.json workflow run flow.yaml
	answers 0 XDG_STATE_HOME="$PWD/state" --policy p.json executor check here
	answers 7 --policy p.json workflow resume x
}
