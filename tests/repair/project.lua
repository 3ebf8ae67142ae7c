-- project: the commands that tests/repair/calls.txt calls wrongly. As a program it writes them:
--
--   lua5.4 tests/repair/project.lua FOLDER

local COMMANDS = {
	["alert list"] = { "safe", "List alerts that are firing", [[
		{ "severity", "enum", values = { "info", "warning", "critical" } }, { "since", "duration" }]], "list = true," },
	["alert show"] = { "safe", "Show one alert", [[{ "id", "integer", positional = true, required = true }]] },
	["alert silence"] = { "mutating", "Mute an alert for some time", [[
		{ "id", "integer", required = true }, { "duration", "duration", default = "1h" }, { "reason", "string" }]] },
	["alert ack"] = { "mutating", "Acknowledge an alert", [[{ "id", "integer", positional = true, required = true }, { "note", "string" }]] },
	["service list"] = { "safe", "List services", [[{ "team", "string" }, { "all", "boolean" }]], "list = true," },
	["service deploy"] = { "mutating", "Deploy a service", [[
		{ "name", "string", positional = true, required = true },
		{ "environment", "enum", values = { "dev", "staging", "production" }, required = true },
		{ "version", "string" }, { "wait", "boolean" }]], "dry_run = true," },
	["service status"] = { "safe", "Show which version runs where", [[{ "name", "string", positional = true }]] },
	["service scale"] = { "mutating", "Change how many instances run", [[
		{ "name", "string", required = true }, { "instances", "integer", min = 0, max = 50, required = true }]], "dry_run = true," },
	["service restart"] = { "mutating", "Restart a service", [[{ "name", "string", required = true }, { "grace-period", "duration" }]] },
	["service delete"] = { "destructive", "Remove a service", [[{ "name", "string", required = true }]] },
	["backup create"] = { "mutating", "Make a snapshot", [[{ "database", "string", required = true }, { "label", "string" }]] },
	["backup list"] = { "safe", "List snapshots", [[{ "database", "string" }]], "list = true," },
	["backup verify"] = { "safe", "Check that a snapshot can be read", [[{ "snapshot", "string", required = true }]] },
	["db migrate"] = { "mutating", "Apply migrations", [[{ "database", "string" }, { "steps", "integer" }]], "dry_run = true," },
	["db query"] = { "safe", "Run SQL", [[
		{ "database", "string", required = true }, { "sql", "string", positional = true, required = true }]] },
	["db drop"] = { "destructive", "Drop a database", [[{ "name", "string", required = true }]] },
	["host list"] = { "safe", "List machines", [[{ "role", "string" }, { "state", "enum", values = { "up", "down" } }]], "list = true," },
	["host show"] = { "safe", "Show a machine", [[{ "name", "string", required = true }]] },
	["host reboot"] = { "mutating", "Restart a machine", [[{ "name", "string", required = true }, { "max-wait", "duration" }]] },
	["log search"] = { "safe", "Find log lines", [[
		{ "text", "string", required = true }, { "service", "string" }, { "level", "enum", values = { "debug", "info", "warn", "error" } },
		{ "follow", "boolean", short = "f" }]] },
	["user invite"] = { "mutating", "Invite somebody", [[{ "email", "string", required = true },
		{ "role", "enum", values = { "viewer", "editor", "admin" }, default = "viewer" }]] },
	["user list"] = { "safe", "List accounts", [[{ "role", "enum", values = { "viewer", "editor", "admin" } }, { "inactive", "boolean" }]] },
	["token create"] = { "mutating", "Create a token", [[{ "name", "string", required = true }, { "password", "string", secret = true }]] },
	["ticket reply"] = { "mutating", "Answer a ticket", [[{ "id", "integer", required = true }, { "text", "string", required = true }]] },
	["report sales"] = { "safe", "Show revenue", [[{ "month", "string" }, { "countries", "array", items = "string" }]] },
	health = { "safe", "Say whether all is well", [[{ "verbose-checks", "boolean" }, { "max-age", "duration" }]] },
}

for name, one in pairs(COMMANDS) do
	local folder, file = (arg[1] .. "/commands/" .. name:gsub(" ", "/")):match "^(.*)/([^/]*)$"
	os.execute(("mkdir -p '%s'"):format(folder))
	local out <close> = assert(io.open(("%s/%s.lua"):format(folder, file), "w"))
	local list = (one[4] or ""):find "^list"
	out:write(("return {\n\tdescription = %q, danger_level = %q, %s\n\targs = {\n%s },\n"):format(one[2], one[1], one[4] or "", one[3]),
		"\texit_codes = { TIMEOUT = { retryable = false, side_effects = \"partial\" } },\n",
		list and "\trun = function(args) return { args } end,\n}\n" or "\trun = function(args) return args end,\n}\n")
end
