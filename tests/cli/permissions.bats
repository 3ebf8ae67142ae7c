#!/usr/bin/env bats
# permissions: what a credential may do against what commands declare.

load lib/helper

prepare() {
	command_file deploy <<'LUA'
return { description = "x", danger_level = "safe", required_scopes = { "deploy:write", "deploy:read" },
	run = function() return { deployed = true } end }
LUA
	command_file db/list <<'LUA'
return { description = "x", danger_level = "safe", required_scopes = { "db:read" }, run = function() return {} end }
LUA
	command_file local <<'LUA'
return { description = "x", danger_level = "safe", run = function() return {} end }
LUA
}

# scopes LUA: what the credential may do.
scopes() {
	echo "return { scopes = $1 }" >runner.lua
}

@test "REQ-O-047 a credential that covers a command, and no more, passes without a warning" {
	scopes '{ "deploy:read", "deploy:write" }'
	call check-permissions --for deploy
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"command": "deploy", "required_scopes": ["deploy:write", "deploy:read"],
		"active_scopes": ["deploy:read", "deploy:write"], "over_privileged": False}'
	expect 'e.warnings == []'
}

@test "REQ-O-047 missing scopes are exit code 8, and named" {
	scopes 'function() return { "deploy:read" } end'
	answers 4 check-permissions --for deploy
	expect 'e.error["code"] == "PRECONDITION" and "scopes is a function" in e.error["message"] and "RUNNER_TRUST" in e.error["fix_required"]'
	known
	call check-permissions --for deploy
	assert_envelope
	[ "$status" -eq 8 ]
	expect 'e.error["code"] == "AUTH_REQUIRED" and e.error["context"]["missing_scopes"] == ["deploy:write"]'
	expect 'e.data["required_scopes"] == ["deploy:write", "deploy:read"]'
	call check-permissions
	[ "$status" -eq 8 ]
	expect 'sorted(e.error["context"]["missing_scopes"]) == ["db:read", "deploy:write"]'
	expect 'e.data["commands"]["deploy"]["covered"] is False and e.data["commands"]["local"]["covered"] is True'
}

@test "REQ-O-047 a credential that can do more passes with a warning, here and in every call" {
	scopes '{ "deploy:read", "deploy:write", "admin" }'
	local args
	for args in "check-permissions --for deploy" deploy; do
		# shellcheck disable=SC2086
		call $args
		assert_envelope
		[ "$status" -eq 0 ]
		expect '[w["code"] for w in e.warnings] == ["CREDENTIAL_OVER_PRIVILEGED"]'
		expect 'e.warnings[0]["context"]["extra_scopes"] == ["admin"]'
	done
	call check-permissions --for deploy
	expect 'e.data["over_privileged"] is True'
	call local
	expect 'e.warnings == []'
}

@test "REQ-O-047 where nobody is signed in nothing is flagged" {
	local given
	for given in '' 'return { scopes = function() end }'; do
		echo "${given:-return {\}}" >runner.lua
		call check-permissions
		assert_envelope
		[ "$status" -eq 0 ]
		expect 'e.data["active_scopes"] is None and e.warnings == []'
		expect 'e.data["commands"]["deploy"] == {"required_scopes": ["deploy:write", "deploy:read"], "covered": False, "over_privileged": False}'
		call deploy
		expect 'e.ok and e.warnings == []'
	done
}

@test "a scopes function that fails is an error of check-permissions, and a warning of a call" {
	local code
	known
	for code in 'function() error("no token") end' 'function() return "admin" end'; do
		scopes "$code"
		call check-permissions --for deploy
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error["code"] == "PRECONDITION" and "scopes of runner.lua" in e.error["message"]'
		call deploy
		[ "$status" -eq 0 ]
		expect '[w["code"] for w in e.warnings] == ["SCOPES_UNKNOWN"]'
	done
	scopes 7
	call deploy
	expect 'e.error["code"] == "COMMAND_INVALID" and "scopes" in e.error["message"]'
}

@test "check-permissions takes the name of a nested command either way, and refuses unknown ones" {
	scopes '{ "db:read" }'
	call check-permissions --for db.list
	[ "$status" -eq 0 ]
	call check-permissions --for "db list"
	[ "$status" -eq 0 ]
	expect 'e.data["command"] == "db.list"'
	call check-permissions --for nothing
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error["errors"][0]["field"] == "for" and e.error["errors"][0]["code"] == "COMMAND_NOT_FOUND"'
}
