-- limits: the resource limits of a declaration. A part of lua/declare/command.lua, loaded where there are any.

local rules = require "runner.core.rules"

local M = {}

M.rules = {
	memory = require("runner.core.amounts").size, cpu = rules.duration,
	processes = rules.whole(1, 1000000), open_files = rules.whole(16, 1000000),
}

---Walk them. "none" is nil here, but for memory: there it lifts the default.
---@param limits any as declared
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}
function M.walk(limits, report)
	local l = rules.accept(M.rules, "limits", limits, "limits", report)
	return { memory_bytes = l.memory, cpu_ms = l.cpu ~= 0 and l.cpu or nil, processes = l.processes,
		open_files = l.open_files }
end

return M
