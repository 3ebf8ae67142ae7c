-- resource_limits: the memory, CPU, processes and files that a command may use (its
-- `limits`): set before `run`, named when something failed because of them. Loaded only
-- where limits are declared. The kernel enforces them; the supervisor reports it.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

---Set the declared limits for this process and everything it starts; meta.limits
---reports how each is enforced.
---@param limits {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}
function M.set(limits)
	if limits.memory_bytes then
		host.memory_limit(limits.memory_bytes)
	end
	local mechanisms = host.allow(limits)
	if next(mechanisms) then
		host.send("META", { name = "limits", data = json.encode(mechanisms) }, true)
	end
end

---An error that was raised under limits: if no descriptor is left now, that is
---the cause.
---@param e runner.Error
---@param limits table
---@return runner.Error e
function M.explain(e, limits)
	if limits.open_files and host.files_full() then
		e.context = e.context or {}
		e.context.limit, e.context.open_files = "open_files", limits.open_files
		e.fix_required = e.fix_required or "Close files sooner, or raise limits.open_files"
	end
	return e
end

return M
