#!/usr/bin/env bats
# A command file that is a group of commands: commands/site.lua returns { commands = { … } } (docs/reference/tasks.md).

bats_require_minimum_version 1.5.0

load lib/helper
load lib/mcp

prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$BATS_TEST_TMPDIR.state")
}

site() {
	cat >commands/site.lua <<-'LUA'
		-- The site
		return {
			env = { OUT = "public" },
			commands = {
				-- Making it
				build = { "Build it", shell = 'echo "$OUT $what"', args = { { "what", "string", positional = true, default = "all" } } },
				["db drop"] = { "Drop it", shell = "touch dropped", confirm = "Really?" },

				-- Other
				db = { up = { "Up", shell = [[
					echo up
					[ "$OUT" = public ] || no-such-program ]] } },
				_hidden = { "Hidden", shell = "echo hidden" },
				both = { "Both", needs = { "site build", "site _hidden" } },
			},
		}
	LUA
}

@test "a command file with commands is a group of them, each a task" {
	site
	call site build x
	assert_envelope
	[ "$stderr" = "public x" ]
	expect 'e.ok and e.meta.command == "site.build" and e.meta.timeout_ms == 3600000'
	call site both
	[ "$(sort <<<"$stderr")" = "$(printf 'hidden\npublic all')" ]
	call site db drop
	[ "$status" -eq 2 ]
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	[ ! -e dropped ]
	sed -i 's/"public"/"none"/' commands/site.lua
	call site db up
	[ "$status" -eq 1 ]
	expect 'e.error.context.line == 12'
}

@test "lists, help, completion, manifest, lint and MCP know the commands of a group" {
	site
	call site build
	call --format json
	expect 'list(e.data.commands) == ["site both", "site build", "site db drop", "site db up"]'
	call site
	[[ $stdout == *"site build"*"site db up"* ]]
	[[ $stdout != *_hidden* ]]
	call site db
	[[ $stdout == *"site db drop"* ]]
	call site nope
	[ "$status" -eq 2 ]
	expect 'e.error.code == "COMMAND_NOT_FOUND" and "site build" in e.error.suggestion'
	call help site build --show --format json
	expect 'e.data.text.startswith("build = {") and "both" not in e.data.text'
	call completion bash --format plain -- site ""
	[[ $stdout == *build*db*both* ]]
	call manifest
	expect '"site.build" in str(e.data)'
	call lint
	expect 'e.ok and e.data.problems == [] and e.data.warnings == []'
	call mcp tools
	expect '"site_build" in str(e.data)'
}

@test "a folder's file goes before a group's command, and other files stay what they are" {
	site
	mkdir commands/site
	body site/build <<<'return { from = "folder" }'
	body commands <<<'local commands = { a = 1 } return { from = commands.a }'
	call site build
	expect 'e.data == {"from": "folder"}'
	call site db up
	[ "$stderr" = up ]
	call commands
	expect 'e.data == {"from": 1}'
	call --format json
	expect 'list(e.data.commands) == ["commands", "site both", "site build", "site db drop", "site db up"]'
}

@test "a group that can't be used says what to write" {
	local want
	while IFS='|' read -r body want; do
		printf '%s\n' "$body" >commands/site.lua
		call site build
		assert_envelope
		[ "$status" -eq 4 ]
		expect "$want"
		call lint
		[ "$status" -eq 4 ]
		call
		[ "$status" -eq 0 ]
	done <<-'CASES'
		return { commands = { build = "make" } }|"text" in e.error.message and "shell" in e.error.fix_required
		return { commands = { build = { "B", shell = "make" } }, shel = 1 }|"commands, env, cwd" in e.error.fix_required
		return { commands = { build = { "B", shell = "make" ,, } } }|"unexpected symbol" in e.error.message
		return { commands = 1 }|"has no commands" in e.error.message
		return { commands = {}, test = { "T", shell = "true" } }|"outside of commands" in e.error.message
	CASES
}

@test "a policy means the commands of a group by their names, and reads none where it may not look" {
	site
	echo '{"allow": ["site build"]}' >policy.json
	call --policy policy.json site build
	expect 'e.ok'
	call --policy policy.json site db up
	expect 'e.error.code == "POLICY_DENIED"'
	echo '{"deny": ["site"]}' >policy.json
	call --policy policy.json site build
	expect 'e.error.code == "POLICY_DENIED"'
	echo '{"folders": ["/nowhere"]}' >policy.json
	sed -i '1i io.open("touched", "w"):close()' commands/site.lua
	call --policy policy.json site build
	expect 'e.error.code == "POLICY_DENIED"'
	call --policy policy.json help
	expect 'e.ok'
	[ ! -e touched ]
}

@test "a project whose commands nobody has called is only read for a list; what can't be read so is said" {
	site
	sed -i '1i io.open("touched", "w"):close()' commands/site.lua
	call
	[ "$status" -eq 0 ]
	[ ! -e touched ]
	call site --help
	[ ! -e touched ]
	call site build
	expect 'e.ok'
	[ -e touched ]
	call --format json
	expect '"site build" in e.data.commands'
}

@test "a server of tools sees that the file of a group has changed" {
	site
	call site build
	session <<-'PY'
		with Server() as s:
		    assert "site_build" in str(s.ask("tools/list", {}))
		    open("commands/site.lua", "w").write('return { commands = { other = { "Other", shell = "echo 5", output = "data", danger_level = "safe" } } }')
		    assert s.call("site_other", {})["structuredContent"]["data"]["value"] == 5
		    assert "site_build" not in str(s.ask("tools/list", {}))
		    s.close()
	PY
}

@test "what a command is given goes on to what it needs; an argument that it hasn't is said" {
	cat >tasks.lua <<'LUA'
return { tasks = {
	d = { "D", args = { { "n", "integer" }, { "words", "string", variadic = true } }, shell = 'echo "$n" "$@"' },
	a = { "A", args = { { "count", "integer" }, { "rest", "string", variadic = true } }, needs = { { "d", n = { arg = "count" }, words = { arg = "rest" } } }, shell = "echo a" },
	drop = { "Drop", confirm = "Really?", args = { { "count", "integer" } }, needs = { { "d", n = { arg = "count" } } }, shell = "true" },
	bad = { "Bad", needs = { { "d", n = { arg = "nope" } } }, shell = "true" }, odd = { "Odd", needs = { { "d", n = { arg = 1 } } }, shell = "true" },
} }
LUA
	call a --count 3 -- "x y" --z
	[ "$stderr" = "$(printf '3 x y --z\na')" ]
	call a
	[ "$stderr" = "$(printf '\na')" ]
	call drop --count 4
	expect 'e.error.context.would_affect[1] == {"command": "d", "arguments": {"n": 4}}'
	call bad
	expect 'e.error.code == "COMMAND_INVALID" and "nope" in e.error.message'
	call odd
	expect 'e.error.code == "COMMAND_INVALID"'
}
