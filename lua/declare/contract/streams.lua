-- streams: what a command declares that emits rows while it runs (ctx:emit), and the flags
-- that it gets; and heartbeats, for any command.

local rules = require "runner.core.rules"

local function needs_streams(n, fault)
	if n.rows_may_repeat and not n.streams then
		fault("needs streams = true", "Add streams = true")
	end
end

-- A caller can't confirm rows that are on their way.
local function not_destructive(n, fault)
	if n.streams and n.danger_level == "destructive" then
		fault("can't be used with danger_level = \"destructive\"", "Remove streams, and return the rows from run")
	end
end

---@type runner.Subject
return {
	keys = {
		streams = { accept = rules.flag, expected = "true or false", check = not_destructive, manifest = "schema" },
		rows_may_repeat = { accept = rules.flag, expected = "true or false", check = needs_streams, manifest = "schema" },
	},
	flags = {
		{ name = "stream", type = "boolean", when = "streams", section = "Output",
			description = "As --format jsonl: rows as they come; --no-stream: as --format json" },
		{ name = "heartbeat_ms", type = "integer", min = 0, max = 86400000, yields = true, section = "Output",
			description = "Milliseconds of silence before a JSON line on stdout says that the command still runs; 0: never" },
	},
}
