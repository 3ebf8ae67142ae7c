-- redirect: where a command has moved to: error.redirect of REDIRECTED. Loaded when a
-- failure names one.

local M = {}

local REASONS = { renamed = true, restructured = true, deprecated = true, typo_corrected = true }

---@param v any what ctx:fail was given: the call to make instead, or a table of it
---@return {command: string, permanent: boolean, reason?: string}? nil: it names none
function M.read(v)
	local t = type(v) == "string" and { command = v } or v
	if type(t) ~= "table" or type(t.command) ~= "string" or t.command == "" then
		return nil
	end
	return { command = t.command, permanent = t.permanent == true, reason = REASONS[t.reason] and t.reason or nil }
end

return M
