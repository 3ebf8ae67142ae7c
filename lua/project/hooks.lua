-- hooks: functions of runner.lua that are called around the commands of a group (`groups`). Those of the
-- whole project are its keys `before` and `after`. lua/ctx/around.lua calls them.

local rules = require "runner.core.rules"

local M = {}

local PARTS = { before = rules.of_type "function", after = rules.of_type "function" }

---@param v any { db = { before = function(ctx, call) … end } }, by the dot path of the group
---@return table<string, {before?: function, after?: function}>? nil: something in it is wrong
function M.groups(v)
	local out, clean = {}, type(v) == "table"
	for name, hooks in next, clean and v or {} do
		out[name] = rules.accept(PARTS, "groups", hooks, nil, function()
			clean = false
		end)
		clean = clean and type(name) == "string" and type(hooks) == "table"
	end
	return clean and out or nil
end

return M
