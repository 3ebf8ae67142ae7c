#!/usr/bin/env bats
# manifest: from one document an agent knows every command and how to call it.

load lib/helper

prepare() {
	command_file deploy <<'LUA'
return {
	description = "Deploy a release", danger_level = "safe", required_scopes = { "deploy:write" },
	args = {
		{ "target", "enum", values = function(c) return c.targets end, required = true, short = "t", description = "Where to" },
		{ "keep", "integer", min = 1, max = 50, default = 5, env = "DEPLOY_KEEP", description = "Old releases kept" },
		{ "wait", "duration", default = "90s", description = "How long" },
		{ "token", "string", secret = true, env = "DEPLOY_TOKEN", description = "Who calls" },
		{ "tag", "array", items = "string", description = "Labels" },
		{ "id", "string", pattern = "uuid", description = "Which" },
		{ "release", "string", pattern = "^v[0-9]+$", positional = true, required = true, description = "What" },
		{ "files", "path", variadic = true, description = "Which files" },
	},
	exit_codes = { LOCKED = { code = 79, description = "Another deploy runs", retryable = true, side_effects = "none" } },
	examples = { { description = "To production", command = "runner deploy --target prod v1" } },
	steps = { "copy", "switch" }, has_network_io = true,
	run = function(args) return args end,
}
LUA
	command_file db/migrate <<'LUA'
return { description = "Change tables", danger_level = "safe", stdin = true, run = function() return {} end }
LUA
	echo 'return { config = { targets = { "prod", "dev" } } }' >runner.lua
}

# manifest_is_valid ARGS…: the check of the CLI Agent Spec passes for `runner ARGS`.
manifest_is_valid() {
	python3 - "$RUNNER" "$@" >profile.json <<'PY'
import json, sys
print(json.dumps({"schema_version": "1.0", "tool": "runner", "command": [sys.argv[1]], "timeout_seconds": 20,
	"manifest": sys.argv[2:], "probes": [{"name": "read", "argv": ["db", "migrate"], "kind": "read"}]}))
PY
	call conformance profile.json
	expect '[(c["status"], c["failures"]) for c in e.data["checks"] if c["id"] == "manifest_valid"] == [("pass", [])]'
}

@test "REQ-O-041 the manifest is valid by the schema of the spec: whole, compact, of a group, of one command" {
	manifest_is_valid manifest
	manifest_is_valid manifest --compact
	manifest_is_valid manifest db
	manifest_is_valid manifest workflow --compact
	manifest_is_valid manifest deploy
}

@test "REQ-O-041 it holds every command with its arguments, built-in ones marked" {
	known
	call manifest
	assert_envelope
	[ "$status" -eq 0 ]
	expect '{"deploy", "db.migrate", "help", "manifest", "workflow.run"} <= set(e.data["commands"])'
	expect 'e.data["commands"]["workflow.run"]["builtin"] is True and "builtin" not in e.data["commands"]["deploy"]'
	expect 'e.data["commands"]["db.migrate"]["stdin"] == {"mode": "buffered"}'
	expect 'e.data["framework_version"] == e.meta.tool_version'
	python3 - out.txt <<'PY'
import json, sys
deploy = json.load(open(sys.argv[1]))["data"]["commands"]["deploy"]
flags = deploy["flags"]
assert flags["target"] == {"type": "enum", "required": True, "short": "t", "description": "Where to",
	"enum_values": ["prod", "dev"]}, flags["target"]
assert flags["keep"] == {"type": "integer", "required": False, "default": 5, "env_vars": [{"name": "DEPLOY_KEEP"}],
	"description": "Old releases kept (a whole number from 1 to 50)"}, flags["keep"]
assert flags["wait"]["type"] == "string" and flags["wait"]["default"] == "90s", flags["wait"]
assert "such as 500ms" in flags["wait"]["description"]
assert flags["tag"]["schema"] == {"type": "array", "items": {"type": "string"}}, flags["tag"]
assert flags["id"]["pattern_type"] == "uuid" and "pattern" not in flags["id"]
assert deploy["positionals"][0]["name"] == "release" and "^v[0-9]+$" in deploy["positionals"][0]["description"]
assert deploy["positionals"][1] == {"name": "files", "type": "string", "required": False, "variadic": True,
	"description": "Which files"}, deploy["positionals"]
assert deploy["secret_env_vars"] == ["DEPLOY_TOKEN"] and deploy["steps"] == ["copy", "switch"]
assert deploy["exit_codes"]["79"] == {"name": "LOCKED", "description": "Another deploy runs", "retryable": True,
	"side_effects": "none"}
assert deploy["examples"] == [{"description": "To production", "command": "runner deploy --target prod v1"}]
assert deploy["has_network_io"] is True
PY
}

@test "REQ-F-079 the manifest lists global flags once, and what a declaration switches on in its command" {
	call manifest
	expect '{"format", "timeout", "quiet", "retries"} <= set(e.data["flags"])'
	expect 'e.data["flags"]["format"]["env_vars"] == [{"name": "RUNNER_FORMAT"}]'
	expect 'not {"format", "timeout", "proxy"} & set(e.data["commands"]["db.migrate"]["flags"])'
	expect '"proxy" not in e.data["flags"] and "proxy" in e.data["commands"]["deploy"]["flags"]'
	expect '"RUNNER_PATH" in [v["name"] for v in e.data["env_vars"]]'
}

@test "REQ-F-079 an argument may not have the name of a global option" {
	command_file own <<<'return { description = "x", danger_level = "safe", args = { { "timeout", "duration" } }, run = function() end }'
	call own
	[ "$status" -eq 4 ]
	expect 'e.error["code"] == "COMMAND_INVALID" and "--timeout" in e.error["message"]'
}

@test "REQ-C-029 every command of the manifest says which scopes it needs" {
	call manifest
	expect 'all(isinstance(c["required_scopes"], list) for c in e.data["commands"].values())'
	expect 'e.data["commands"]["deploy"]["required_scopes"] == ["deploy:write"]'
}

@test "REQ-O-041 the etag stays while nothing changes, and answers with not_modified" {
	local etag
	call manifest
	etag=$(field 'e.data["etag"]')
	call manifest --etag "$etag"
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data is None and e.meta.not_modified is True'
	sed -i 's/Change tables/Change the tables/' commands/db/migrate.lua
	call manifest --etag "$etag"
	expect 'e.data["etag"] != "'"$etag"'" and "not_modified" not in e.meta'
}

@test "REQ-O-041 a broken file is left out and named; hidden commands are left out" {
	known
	echo 'return {' | command_file broken
	echo 'return { description = "x", danger_level = "safe", hidden = true, run = print }' | command_file secret
	call manifest
	assert_envelope
	[ "$status" -eq 0 ]
	expect '"deploy" in e.data["commands"] and not {"broken", "secret"} & set(e.data["commands"])'
	expect '[(w["code"], w["context"]["command"]) for w in e.warnings] == [("COMMAND_INVALID", "broken")]'
}

@test "the compact manifest has the project's own commands, and of exit codes what is special" {
	call manifest --compact
	expect 'set(e.data["commands"]) == {"deploy", "db.migrate"}'
	expect 'set(e.data["commands"]["deploy"]["exit_codes"]) == {"79"}'
	expect 'e.data["exit_codes"]["12"]["name"] == "UNAVAILABLE"'
	expect '"examples" not in e.data["commands"]["deploy"]'
}

@test "a retryable of maybe and a retry after partial effects are published as they are declared" {
	command_file risky <<'LUA'
return { description = "x", danger_level = "safe", run = print, exit_codes = {
	TIMEOUT = { retryable = true, side_effects = "partial" },
	FLAKY = { code = 80, retryable = "maybe", side_effects = "none" } } }
LUA
	call manifest risky
	expect 'e.data["commands"]["risky"]["exit_codes"]["80"]["retryable"] == "maybe"'
	expect 'e.data["commands"]["risky"]["exit_codes"]["10"]["retryable"] is True'
	expect 'e.data["commands"]["risky"]["exit_codes"]["10"]["side_effects"] == "partial"'
}

@test "the manifest of an unknown command is exit code 2, with what was probably meant" {
	call manifest deplyo
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error["errors"][0]["code"] == "COMMAND_NOT_FOUND" and "deploy" in e.error["errors"][0]["suggestion"]'
}

@test "a project's own command named manifest wins, and the manifest names both" {
	echo 'return { description = "Ours", danger_level = "safe", run = function() return { ours = true } end }' | command_file manifest
	call manifest
	expect 'e.data == {"ours": True}'
	call self manifest
	expect 'e.data["commands"]["manifest"]["description"] == "Ours"'
	expect 'e.data["commands"]["self.manifest"]["builtin"] is True'
}
