-- interpreters: the shells that may run a shell text, and their command lines. Only
-- shells with the quoting rules of lua/workflow/expr/quoting.lua can be among them.

local M = {}

---@class runner.workflow.Interpreter
---@field name string as `interpreter:` in the file names it
---@field stops string[] argv before the text: it stops at the first failing command
---@field goes_on string[] argv before the text: it goes on
---@field sees_pipes boolean does `stops` notice a failure on the left side of a pipe?

---@type runner.workflow.Interpreter[]
M.rows = {
	{ name = "sh", stops = { "/bin/sh", "-e", "-c" }, goes_on = { "/bin/sh", "-c" }, sees_pipes = false },
	{ name = "bash", stops = { "bash", "-eo", "pipefail", "-c" }, goes_on = { "bash", "-c" }, sees_pipes = true },
}

---The one that runs texts unless the file names another.
M.default = "sh"

---By name.
---@type table<string, runner.workflow.Interpreter>
M.named = {}
for _, row in ipairs(M.rows) do
	M.named[row.name] = row
end

---The command line that runs a text.
---@param name? string default: M.default
---@param errexit boolean stop at the first failing command
---@param text string
---@return string[] argv
function M.argv(name, errexit, text)
	local row = M.named[name or M.default]
	local argv = table.move(errexit and row.stops or row.goes_on, 1, 4, 1, {})
	argv[#argv + 1] = text
	return argv
end

return M
