#!/usr/bin/env bats
# types: an editor learns the script API; what else is in .luarc.json stays.

load lib/helper

@test "the types and .luarc.json are written; writing again is a no-op" {
	call types
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["effect"] == "created" and ".runner/types/runner.lua" in e.data["paths"]'
	grep -q 'function Context:fail' .runner/types/runner.lua
	grep -q '^---@class runner.Command$' .runner/types/runner.lua
	python3 -c 'import json; s = json.load(open(".luarc.json")); assert s == {"runtime.version": "Lua 5.4", "workspace.library": [".runner/types"]}, s'
	touch -d @1000000000 .luarc.json .runner/types/runner.lua
	call types
	expect 'e.data["effect"] == "noop"'
	[ "$(stat -c %Y .luarc.json)" = 1000000000 ]
	[ "$(stat -c %Y .runner/types/runner.lua)" = 1000000000 ]
}

@test "outdated types are renewed" {
	call types
	echo old >.runner/types/runner.lua
	call types
	expect 'e.data["effect"] == "updated"'
	grep -q 'function Context:fail' .runner/types/runner.lua
}

@test "other settings stay, in both ways to write them" {
	echo '{"runtime.version": "LuaJIT", "workspace": {"library": ["mine"], "maxPreload": 9007199254740993}, "x": []}' >.luarc.json
	call types
	expect 'e.data["effect"] == "updated"'
	python3 -c 'import json; s = json.load(open(".luarc.json")); assert s == {"runtime.version": "LuaJIT", "workspace": {"library": ["mine", ".runner/types"], "maxPreload": 9007199254740993}, "x": []}, s'
	echo '{"workspace.library": {"mine": true}}' >.luarc.json
	call types
	python3 -c 'import json; s = json.load(open(".luarc.json")); assert s["workspace.library"] == {"mine": True, ".runner/types": True}, s'
}

@test "a plugin of the language server is neither added, changed nor removed" {
	call types
	[[ $(cat .luarc.json) != *plugin* ]]
	echo '{"runtime": {"plugin": "mine.lua", "pluginArgs": ["a"]}}' >.luarc.json
	call types
	[ "$status" -eq 0 ]
	python3 -c 'import json; s = json.load(open(".luarc.json")); assert s["runtime"]["plugin"] == "mine.lua" and s["runtime"]["pluginArgs"] == ["a"], s'
	[ -s .runner/types/test.lua ]
}

@test "a .luarc.json keeps its comments, its order and its commas: two settings are added to it" {
	printf '{\n\t// ours\n\t"zebra": 1, /* last */\n\t"workspace.library": [\n\t\t"mine", // kept\n\t],\n}\n' >.luarc.json
	call types
	expect 'e.data["effect"] == "updated"'
	printf '{\n\t// ours\n\t"zebra": 1, /* last */\n\t"workspace.library": [\n\t\t"mine", // kept\n\t\t".runner/types"\n\t],\n%s\n}\n' \
		$'\t"runtime.version": "Lua 5.4"' >wanted
	diff wanted .luarc.json
	call types
	expect 'e.data["effect"] == "noop"'
	diff wanted .luarc.json
}

@test "a .luarc.json that can't be read as JSON is left alone, and nothing is written" {
	local text
	for text in '{ // comment' '[]' '{"a": 1,,}' 'null' $'{"a": "\xff"}'; do
		printf '%s\n' "$text" >.luarc.json
		call types
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error.code == "PRECONDITION" and e.error.fix_required'
		[ "$(cat .luarc.json)" = "$text" ]
		[ ! -e .runner ]
	done
}

@test "the schemas of workflow files and of runner.lua's data stand beside the types, as they are published" {
	local name
	call types
	for name in workflow project; do
		cmp ".runner/types/$name.schema.json" "$ROOT/docs/schema/$name.json"
		"$RUNNER" types --print "$name" --format plain >printed
		cmp printed "$ROOT/docs/schema/$name.json"
		call types --print "$name"
		assert_envelope
		expect 'e.data["effect"] == "noop" and e.data["schema"]["$schema"].startswith("http://json-schema.org/draft-07/")'
	done
}

@test "a schema that is printed writes nothing, and one that there is not is an argument error" {
	call types --print workflow
	[ ! -e .runner ]
	[ ! -e .luarc.json ]
	call types --print command
	assert_envelope
	[ "$status" -eq 2 ]
	expect '"project" in e.error.suggestion and "workflow" in e.error.suggestion'
}

@test "they go to the root of the project" {
	echo 'return {}' >runner.lua
	mkdir -p deep/er
	cd deep/er
	call types
	cd ../..
	[ -f .luarc.json ]
	[ ! -e deep/er/.luarc.json ]
}
