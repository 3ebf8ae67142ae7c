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

@test "a .luarc.json that can't be read as JSON is left alone, and nothing is written" {
	echo '{ // comment' >.luarc.json
	call types
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "PRECONDITION" and e.error.fix_required'
	[ "$(cat .luarc.json)" = '{ // comment' ]
	[ ! -e .runner ]
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
