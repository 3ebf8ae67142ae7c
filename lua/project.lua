-- project: runner.lua, the settings of a project, checked. Loaded where there is one.

local loader = require "runner.loader"
local rules = require "runner.rules"

local M = {}

-- key of runner.lua → its normal form, nil when wrong
local PROJECT = {
	name = function(v) return type(v) == "string" and v or nil end,
	version = function(v) return type(v) == "string" and v or nil end,
	commands = function(v) return type(v) == "string" and v ~= "" and v or nil end,
	exit_table = function(v) return (v == "standard" or v == "classic") and v or nil end,
	config = function(v) return type(v) == "table" and v or nil end,
	retry = function(v) return type(v) == "table" and require("runner.policy").normalise(v) and v or nil end,
}
for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
	PROJECT[name] = function(v) return rules.duration(v) end
end
M.keys = PROJECT ---@type table<string, fun(v: any): any>

-- All wrong keys of runner.lua as one error: the first one's, the others in errors.
local function project_problem(path, wrong, value, text)
	local first, rows = nil, {}
	table.sort(wrong, function(a, b)
		return tostring(a) < tostring(b)
	end)
	for i, key in ipairs(wrong) do
		local e = require("runner.declaration").project_problem(path, key, value[key], PROJECT, text)
		rows[i] = { field = tostring(key), code = e.code, message = e.message, fix_required = e.fix_required,
			line = e.context.line }
		first = first or e
	end
	first.errors = rows
	return first
end

---Read a runner.lua.
---@param path string
---@param project table gets its settings, in their normal form
---@return runner.Error? problem
function M.read(path, project)
	local value, problem, text = loader.run_file(path)
	if problem then
		return problem
	elseif type(value) ~= "table" then
		return loader.invalid(path, path .. " must return a table",
			{ fix_required = "write return { … } with the project's settings, or remove the file" })
	end
	local wrong = {}
	for key, v in pairs(value) do
		local accept = PROJECT[key]
		project[key] = accept and accept(v)
		if project[key] == nil then
			wrong[#wrong + 1] = key
		end
	end
	return wrong[1] ~= nil and project_problem(path, wrong, value, text) or nil
end

return M
