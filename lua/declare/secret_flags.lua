-- secret_flags: the flags that give a secret argument its value without showing it to every
-- user of the machine, as a command line does: --NAME-from-env and --NAME-from-file. Loaded by
-- lua/declare/contract.lua where a command declares secrets; lua/project/secret_args.lua reads
-- what they name.

local flags = require "runner.declare.flags"

local M = {}

local SOURCES = {
	{ "env", "string", "Environment variable that holds %s" },
	{ "file", "path", "File that holds %s; a line break at its end doesn't count" },
}

---@class runner.SecretFlagRow: runner.FlagRow
---@field of table the argument's row
---@field source "env"|"file"

local function flag_row(row, source, kind, description)
	local name = ("%s_from_%s"):format(row.name, source)
	return { name = name, flag = flags.spelling(name), type = kind, when = "secrets", section = "Secrets", of = row,
		source = source, description = description:format(row.positional and row.flag or "--" .. row.flag) }
end

---The rows for a command's secret arguments, but lists. An argument of the author's goes
---before one of its name.
---@param command table normal form
---@return runner.SecretFlagRow[]
function M.rows(command)
	local out, taken = {}, {}
	for _, row in ipairs(command.args) do
		taken[row.flag] = true
	end
	for _, row in ipairs(command.args) do
		for _, source in ipairs(row.secret and row.type ~= "array" and SOURCES or {}) do
			local made = flag_row(row, table.unpack(source))
			out[#out + 1] = not taken[made.flag] and made or nil
		end
	end
	return out
end

---The row of a spelling.
---@param command table normal form
---@param spelling string
---@return runner.SecretFlagRow?
function M.find(command, spelling)
	for _, row in ipairs(M.rows(command)) do
		if row.flag == spelling then
			return row
		end
	end
end

return M
