-- tool_names: the names of tools. Pure.

local M = {}

---Give each row the name of its tool. Clients hand names on to models that take no dots: "db.migrate"
---is db_migrate. A command that is called db_migrate itself keeps its name, and the other one its dot.
---@param rows runner.mcp.Row[]
function M.give(rows)
	local taken = {}
	for _, row in ipairs(rows) do
		taken[row.command] = true
	end
	for _, row in ipairs(rows) do
		local name = row.command:gsub("%.", "_")
		if name ~= row.command and not taken[name] then
			taken[name], row.tool.name = true, name
		end
	end
end

return M
