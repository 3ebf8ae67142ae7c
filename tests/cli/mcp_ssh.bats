#!/usr/bin/env bats
# A server of MCP that agents of other machines reach: ssh with a forced command, a key and a policy for each (docs/reference/mcp.md).

load lib/helper
load lib/mcp
load lib/ssh

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	command_file deploy <<-'LUA'
		return { description = "Deploy", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "env", "enum", values = { "staging", "prod" }, required = true } },
			run = function(args)
				require("fs").append("deployed", args.env .. "\n")
				return { effect = "updated", env = args.env }
			end }
	LUA
	body look <<<'return { looked = true }'
	echo '{ "subject": "agent-7", "allow": { "mcp serve": {}, "deploy": { "args": { "env": ["staging"] }, "max_calls": "2/h" } } }' >agent7.json
	echo '{ "subject": "agent-9", "allow": { "mcp serve": {}, "look": {}, "job list": {}, "job status": {} } }' >agent9.json
	mkdir -p ssh
	chmod 700 ssh
	for key in key agent7 agent9; do
		ssh-keygen -q -t ed25519 -N '' -C "$key" -f "ssh/$key"
	done
	{
		echo "restrict,command=\"runner --cwd $PWD --policy $PWD/agent7.json mcp serve\" $(cat ssh/agent7.pub)"
		echo "restrict,command=\"runner --cwd $PWD --policy $PWD/agent9.json mcp serve --builtin\" $(cat ssh/agent9.pub)"
	} >ssh/key.pub # what sshd authorizes
	# shellcheck disable=SC2034 # for lib/ssh.bash
	SERVER_ENV=(TOKEN="$TOKEN" LC_ALL=C.UTF-8 XDG_STATE_HOME="$XDG_STATE_HOME" ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"})
	sshd_up
	# in the place of the program: it gives its words to ssh as a client would
	for agent in agent7 agent9; do
		printf '#!/bin/sh\nexec ssh -i "%s/ssh/%s" -o BatchMode=yes -- node ${WORDS-runner} "$@"\n' "$PWD" "$agent" >"$agent.sh"
		chmod +x "$agent.sh"
	done
}

clean_up() {
	sshd_down
}

@test "each key has its policy: two agents, two leashes, one project" {
	session <<'PY'
os.environ["RUNNER"] = "./agent7.sh"
with Server() as seven:
    os.environ["RUNNER"] = "./agent9.sh"
    with Server() as nine:
        assert {t["name"] for t in nine.ask("tools/list")["result"]["tools"]} >= {"look"}
        assert nine.call("look")["structuredContent"]["data"] == {"looked": True}
        denied = nine.call("deploy", {"env": "staging"})
        assert denied.get("code") == -32602 or denied["structuredContent"]["error"]["code"] == "POLICY_DENIED", denied
        assert seven.call("deploy", {"env": "staging"})["structuredContent"]["data"]["env"] == "staging"
        e = seven.call("deploy", {"env": "prod"})["structuredContent"]["error"]
        assert e["code"] == "POLICY_DENIED" and "staging" in e["message"], e
        assert seven.call("deploy", {"env": "staging"})["structuredContent"]["ok"]
        e = seven.call("deploy", {"env": "staging"})["structuredContent"]["error"]
        assert e["code"] == "POLICY_DENIED" and e["context"]["retry_after_ms"] > 0, e
        assert nine.close()[0] == 0
    assert seven.close()[0] == 0
assert open("deployed").read() == "staging\n" * 2
rows = [json.loads(line) for line in open("audit.jsonl")]
assert {r["subject"] for r in rows if r.get("command") == "deploy" and r["subject"]} >= {"agent-7"}, rows
until(lambda: not [p for p in processes() if b"mcp\0serve" in arguments(p)])
PY
}

@test "no word, variable or forwarding of the client's changes what its key starts" {
	session <<'PY'
for words in ("sh -c 'touch pwned'", "runner mcp serve --allow deploy #", "--policy agent9.json", "runner --no-config deploy --env prod"):
    os.environ["RUNNER"], os.environ["WORDS"] = "./agent7.sh", words
    with Server(env={"RUNNER_POLICY": "agent9.json", "RUNNER_CONFIG": "/dev/null"}) as s:
        assert "deploy" in [t["name"] for t in s.ask("tools/list")["result"]["tools"]]
        assert s.call("deploy", {"env": "prod"})["structuredContent"]["error"]["code"] == "POLICY_DENIED", words
        looked = s.call("look")
        assert "code" in looked or looked["structuredContent"]["error"]["code"] == "POLICY_DENIED", looked
assert not os.path.exists("pwned") and not os.path.exists("deployed")
PY
	run env -i "${CLEAN_ENV[@]}" ssh -i ssh/agent7 -o BatchMode=yes -W 127.0.0.1:1 node </dev/null
	[[ $output == *"administratively prohibited"* ]]
	run env -i "${CLEAN_ENV[@]}" ssh -i ssh/agent7 -tt -o BatchMode=yes node </dev/null
	[[ $output == *"PTY allocation request failed"* ]]
	run env -i "${CLEAN_ENV[@]}" ssh -i ssh/key -o BatchMode=yes node true # whose key has no line
	[ "$status" -eq 255 ]
	[ ! -e deployed ]
}

@test "a line that breaks ends its server and what it runs, and nothing else" {
	body hang 'timeout = "10m",' <<<'ctx:run { "sh", "-c", ">began; exec sleep 600" }'
	echo '{ "allow": { "mcp serve": {}, "hang": {}, "look": {} } }' >agent9.json
	session <<'PY'
os.environ["RUNNER"] = "./agent9.sh"
with Server() as other, Server() as s:
    assert other.call("look")["structuredContent"]["ok"]
    s.request("tools/call", {"name": "hang", "arguments": {}})
    until(lambda: os.path.exists("began"))
    s.process.kill()
    until(lambda: not [p for p in processes() if b"sleep\x00600" in arguments(p)])
    assert other.call("look")["structuredContent"]["ok"]
PY
}
