#!/usr/bin/env bats
# runner mcp install: what a client of MCP needs to start the server.

load lib/helper

prepare() {
	body hello <<<'return { n = 1 }'
	mkdir home
}

@test "it prints the entry and writes nothing" {
	for client in claude-code claude-desktop cursor vscode; do
		call HOME="$PWD/home" mcp install "$client" --allow hello --progressive
		[ "$status" -eq 0 ]
		assert_envelope
		expect 'e.data["effect"] == "noop"'
		expect '[s["args"][-5:] for g in e.data["config"].values() for s in g.values()] == [["mcp", "serve", "--allow", "hello", "--progressive"]]'
	done
	[ -z "$(find . -name '*.json')" ]
}

@test "the policies of the call are those of the entry, and one that doesn't allow it to serve is said" {
	echo '{ "allow": ["mcp", "hello"] }' >p.json
	echo '{ "max_danger": "mutating", "allow": ["mcp install"] }' >"q q.json"
	answers 0 --policy p.json mcp install claude-code
	expect "list(e.data['config']['mcpServers'].values())[0]['args'] == ['--policy', '$PWD/p.json', 'mcp', 'serve'] and e.warnings == []"
	answers 0 RUNNER_POLICY="$PWD/p.json" --policy "q q.json" mcp install claude-code
	expect "list(e.data['config']['mcpServers'].values())[0]['env'] == {'RUNNER_POLICY': '$PWD/p.json:$PWD/q q.json'}"
	expect "list(e.data['config']['mcpServers'].values())[0]['args'] == ['mcp', 'serve'] and [w['code'] for w in e.warnings] == ['POLICY_REFUSES']"
	answers 0 mcp install claude-code
	expect "list(e.data['config']['mcpServers'].values())[0]['args'] == ['mcp', 'serve']"
}

@test "--policy is that of the entry and not of the call, beside those of the call; what is wrong with it is said" {
	echo '{ "subject": "agent-7", "allow": ["hello", "mcp serve"] }' >p.json
	echo '{ "allow": ["mcp"] }' >own.json
	answers 0 mcp install claude-code --policy p.json
	expect "list(e.data['config']['mcpServers'].values())[0]['args'] == ['--policy', '$PWD/p.json', 'mcp', 'serve'] and e.warnings == []"
	expect '"policy" not in e.meta'
	answers 0 --policy own.json mcp install claude-code --policy p.json
	expect "list(e.data['config']['mcpServers'].values())[0]['env'] == {'RUNNER_POLICY': '$PWD/own.json:$PWD/p.json'}"
	echo '{ "allow": ["hello"] }' >own.json
	answers 0 mcp install claude-code --policy own.json
	expect '[w["code"] for w in e.warnings] == ["POLICY_REFUSES"]'
	echo '{ "allow": ["helo"] }' >own.json
	for policy in own.json missing.json; do
		answers 4 mcp install claude-code --write --policy "$policy"
		expect 'e.error["code"] == "POLICY_INVALID"'
	done
	answers 0 --subject agent-9 mcp install claude-code
	expect "list(e.data['config']['mcpServers'].values())[0]['args'] == ['--subject', 'agent-9', 'mcp', 'serve']"
	answers 7 --subject agent-9 mcp install claude-code --write --policy p.json
	expect 'e.error["code"] == "POLICY_DENIED" and e.error["context"]["rule"] == "subject"'
	[ ! -e .mcp.json ]
}

@test "--write adds the entry and loses nothing, and a second time changes nothing" {
	printf '{\n  "mcpServers": {\n    "other": { "command": "x", "env": { "KEY": "1" } }\n  },\n  "n": 12345678901234567\n}\n' >.mcp.json
	call mcp install claude-code --write --name mine
	expect 'e.data["effect"] == "updated"'
	python3 - <<'PY'
import json
v = json.load(open(".mcp.json"))
assert v["mcpServers"]["other"] == {"command": "x", "env": {"KEY": "1"}} and v["n"] == 12345678901234567
assert v["mcpServers"]["mine"]["args"] == ["mcp", "serve"], v
PY
	cp .mcp.json before.json
	call mcp install claude-code --write --name mine
	expect 'e.data["effect"] == "noop"'
	cmp .mcp.json before.json
	call mcp install claude-code --write --name mine --only hello
	expect 'e.data["effect"] == "updated"'
}

@test "what it writes starts a server" {
	call mcp install cursor --write --name mine
	expect 'e.data["effect"] == "created"'
	python3 - >words <<'PY'
import json
server = json.load(open(".cursor/mcp.json"))["mcpServers"]["mine"]
print("\n".join([server["command"], *server["args"]]))
PY
	mapfile -t words <words
	echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | env -i "${CLEAN_ENV[@]}" "${words[@]}" | grep -q '"result":{}'
}

@test "a file of the project has the program by its name where PATH leads to it, one of a desktop its path" {
	mkdir bin other
	ln -s "$(readlink -f "$RUNNER")" bin/runner
	printf '#!/bin/sh\n' >other/runner
	chmod +x other/runner
	for client in claude-code cursor vscode; do
		call PATH="$PWD/bin:$PATH" HOME="$PWD/home" mcp install "$client"
		expect '[s["command"] for g in e.data["config"].values() for s in g.values()] == ["runner"]'
	done
	call PATH="$PWD/bin:$PATH" HOME="$PWD/home" mcp install claude-desktop
	expect '[s["command"][0] for g in e.data["config"].values() for s in g.values()] == ["/"]'
	for path in "$PWD/other:$PWD/bin:$PATH" "bin:/usr/bin:/bin" /nonexistent; do
		call PATH="$path" mcp install cursor
		expect '[s["command"][0] for g in e.data["config"].values() for s in g.values()] == ["/"]'
	done
	call PATH="$PWD/bin:$PATH" mcp install cursor --write --name mine
	PATH="$PWD/bin:$PATH"
	echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | env -i "${CLEAN_ENV[@]}" PATH="$PATH" "$(python3 -c 'import json
print(json.load(open(".cursor/mcp.json"))["mcpServers"]["mine"]["command"])')" mcp serve | grep -q '"result":{}'
}

@test "a file outside of the project is told the project's folder, and keeps its mode and its link" {
	mkdir -p home/.config/Claude
	echo '{}' >home/real.json
	chmod 600 home/real.json
	ln -s ../../real.json home/.config/Claude/claude_desktop_config.json
	call HOME="$PWD/home" mcp install claude-desktop --write
	expect 'e.data["effect"] == "updated"'
	[ -L home/.config/Claude/claude_desktop_config.json ]
	[ "$(stat -c %a home/real.json)" = 600 ]
	grep -q -- '--cwd' home/real.json
	call HOME=/proc/nonexistent --cwd / mcp install claude-desktop
	[ "$status" -eq 0 ]
	expect 'list(e.data["config"]["mcpServers"]) == ["runner"]'
	answers 4 HOME="$PWD/none" mcp install claude-desktop --write
	expect 'e.error.code == "PRECONDITION" and e.error.side_effects == "none" and "HOME is no directory" in e.error.message'
	[ ! -e none ]
}

@test "a dry run, a file that is no JSON, and a folder that can't be written change nothing" {
	call mcp install vscode --write --dry-run
	[ "$status" -eq 0 ]
	[ ! -e .vscode ]
	printf '// a comment\n{ "servers": {} }\n' >before
	mkdir .vscode
	cp before .vscode/mcp.json
	call mcp install vscode --write
	expect 'e.error["code"] == "CONFLICT" and e.error["side_effects"] == "none"'
	cmp before .vscode/mcp.json
	call mcp install no-such
	[ "$status" -eq 2 ]
	call mcp install cursor --name 'a b'
	[ "$status" -eq 2 ]
	call mcp install cursor --allow nothing
	[ "$status" -eq 2 ]
}

@test "the name of the project's folder is made one that --name takes, and without a project it warns" {
	mkdir -p "my proj.v2/commands" empty
	cp commands/hello.lua "my proj.v2/commands"
	call --cwd "$PWD/my proj.v2" mcp install claude-code
	expect 'list(e.data["config"]["mcpServers"]) == ["my-proj-v2"] and e.warnings == []'
	call --cwd "$PWD/my proj.v2" mcp install claude-code --name my-proj-v2
	[ "$status" -eq 0 ]
	local long
	long=$(printf 'x%.0s' {1..80})
	mkdir -p "$long/commands"
	call --cwd "$PWD/$long" mcp install claude-code
	expect 'list(e.data["config"]["mcpServers"]) == ["x" * 64]'
	rm -r commands
	call --cwd "$PWD/empty" mcp install claude-code
	expect '[w["code"] for w in e.warnings] == ["NO_PROJECT"]'
}
