-- selection: which rows (lua/mcp/tools.lua) are tools of this server: what --only and --group
-- leave, and --allow adds. A name that is not among them can't be called either. Pure.

local M = {}

---@class runner.mcp.Settings of one server
---@field allow? string[] commands that are listed only if they are named here
---@field only? string[] nothing but these commands
---@field group? string[] and what is below these groups
---@field progressive? boolean the tools are search, describe and call

-- "db migrate" → "db.migrate"
local function dotted(name)
	return (name:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", "."))
end

local function is_named(list, command)
	for _, name in ipairs(list or {}) do
		if dotted(name) == command then
			return true
		end
	end
	return false
end

local function is_below(groups, command)
	for _, name in ipairs(groups or {}) do
		local group = dotted(name) .. "."
		if command:sub(1, #group) == group then
			return true
		end
	end
	return false
end

local function is_chosen(settings, command)
	local narrows = (settings.only or {})[1] or (settings.group or {})[1]
	return not narrows or is_named(settings.only, command) or is_below(settings.group, command)
end

---Is this command a tool?
---@param settings runner.mcp.Settings
---@param row runner.mcp.Row
---@return boolean
function M.has(settings, row)
	local may = row.listing == "always" or row.listing == "allow" and is_named(settings.allow, row.command)
	return may and is_chosen(settings, row.command)
end

---The tools among the rows, in their order.
---@param settings runner.mcp.Settings
---@param rows runner.mcp.Row[]
---@return runner.mcp.Row[]
function M.of(settings, rows)
	local out = {}
	for _, row in ipairs(rows) do
		out[#out + 1] = M.has(settings, row) and row or nil
	end
	return out
end

---The names of --allow, --only and --group that name nothing, for a clear failure at the start.
---@param settings runner.mcp.Settings
---@param names string[] dot paths of all commands
---@return {flag: string, name: string}[]
function M.unknown(settings, names)
	local out = {}
	local function check(flag, matches)
		for _, name in ipairs(settings[flag] or {}) do
			local found = false
			for _, command in ipairs(names) do
				found = found or matches({ name }, command)
			end
			out[#out + 1] = not found and { flag = flag, name = name } or nil
		end
	end
	check("allow", is_named)
	check("only", is_named)
	check("group", is_below)
	return out
end

return M
