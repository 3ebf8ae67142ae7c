-- streams: what a command declares that emits rows while it runs (ctx:emit), and the flags
-- that it gets; and heartbeats, for any command.

local rules = require "runner.core.rules"

local function needs_streams(n, fault)
	if n.rows_may_repeat and not n.streams then
		fault("needs streams = true", "Add streams = true")
	end
end

-- true, or the name of the boolean argument that switches it on.
local function streams(v)
	return type(v) == "string" and v:find "^%l[%w_]*$" and v or rules.flag(v)
end

local function check_streams(n, fault)
	for _, row in ipairs(type(n.streams) == "string" and n.args or {}) do
		if (row.name or row[1]) == n.streams and (row.type or row[2]) == "boolean" then
			return
		end
	end
	if type(n.streams) == "string" then
		fault(("names no boolean argument '%s'"):format(n.streams), "Write true, or the name of a boolean argument")
	end
end

-- A caller can't confirm rows that are on their way.
local function not_destructive(n, fault)
	if n.streams and n.danger_level == "destructive" then
		fault("can't be used with danger_level = \"destructive\"", "Remove streams, and return the rows from run")
	end
	check_streams(n, fault)
end

---@type runner.Subject
return {
	keys = {
		streams = { accept = streams, expected = "true, false or the name of a boolean argument", check = not_destructive, manifest = "schema" },
		rows_may_repeat = { accept = rules.flag, expected = "true or false", check = needs_streams, manifest = "schema" },
	},
	flags = {
		{ name = "stream", type = "boolean", when = "streams", section = "Output",
			description = "As --format jsonl: rows as they come; --no-stream: as --format json" },
		{ name = "heartbeat_ms", type = "integer", min = 0, max = 86400000, yields = true, section = "Output",
			description = "Milliseconds of silence before a JSON line on stdout says that the command still runs; 0: never" },
		{ name = "heartbeat_interval", type = "duration", min = 0.1, max = 86400, yields = true, section = "Output",
			description = "Every so many seconds, a line on stderr says how far the command is" },
	},
}
