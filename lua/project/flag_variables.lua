-- flag_variables: the environment variables of runner's own flags, which count where the flag is not given, and the checks of
-- those that are no flag's. A part of lua/project/args.lua, loaded where a variable of runner's is set.

local flags = require "runner.declare.flags"

local M = {}

-- Variables that are not a flag's, and have a rule of their own.
local SETTINGS = { "RUNNER_EXIT_TABLE", "RUNNER_LOAD_TIMEOUT", "RUNNER_MAX_OUTPUT_BYTES", "RUNNER_SEED" }

---@param s table the state of a parse (lua/project/args.lua)
---@param read fun(s: table, row: runner.FlagRow): boolean reads that of a row
---@param add_problem fun(s: table, kind: string, ...: any)
function M.read(s, read, add_problem)
	for _, row in ipairs(flags.rows) do
		if not s.framework_given[row.name] then
			read(s, row)
		end
	end
	for _, name in ipairs(SETTINGS) do
		local text = (s.opts.getenv or os.getenv)(name)
		if text and text ~= "" and not require("runner.declare.environment").accepts(name, text) then
			add_problem(s, "setting", name, text)
		end
	end
end

return M
