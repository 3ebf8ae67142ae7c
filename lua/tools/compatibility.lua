-- compatibility: what a caller of an earlier version would stumble over: commands, arguments, values and
-- exit codes of an earlier manifest that today's lacks or that mean something else now. For
-- `runner lint --against`. What was added is compatible, unless it is required.

local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

local LARGEST = 64 << 20 -- bytes

---The manifest in a file: as `runner manifest` prints it, with its envelope or without.
---@param path string
---@return table? manifest
---@return string? problem
function M.read(path)
	local stat = fs.stat(path)
	if stat and stat.size > LARGEST then
		return nil, "it is larger than 64 MiB"
	end
	local text, why = fs.read(path)
	local value = text and json.decode(text)
	if type(value) == "table" and type(value.data) == "table" then
		value = value.data
	end
	if type(value) ~= "table" or type(value.commands) ~= "table" then
		return nil, why or "it is no manifest: it has no commands"
	end
	return value
end

local function set_of(list)
	local out = {}
	for _, v in ipairs(type(list) == "table" and list or {}) do
		out[v] = true
	end
	return out
end

local function missing_values(old, new)
	local known, out = set_of(new), {}
	for _, v in ipairs(type(old) == "table" and new and old or {}) do
		out[#out + 1] = not known[v] and tostring(v) or nil
	end
	return out
end

-- An argument that both have.
local function compare_argument(name, old, new, add)
	if old.type ~= new.type then
		add(("%s was %s and is %s"):format(name, old.type, new.type), "Keep its type, and add an argument of another name")
	end
	if new.required and not old.required then
		add(name .. " is required now", "Give it a default")
	end
	local gone = missing_values(old.enum_values, new.enum_values)
	if gone[1] then
		add(("%s no longer takes %s"):format(name, table.concat(gone, ", ")), "Accept the values as before")
	end
end

local function compare_flags(old, new, add)
	for _, name in ipairs(tables.sorted_keys(old)) do
		if not new[name] then
			add(("--%s is gone"):format(name), "Keep it, or let the command be deprecated first")
		else
			compare_argument("--" .. name, old[name], new[name], add)
		end
	end
	for _, name in ipairs(tables.sorted_keys(new)) do
		if not old[name] and new[name].required then
			add(("--%s is new and required"):format(name), "Give it a default")
		end
	end
end

local function compare_positionals(old, new, add)
	for i, row in ipairs(old) do
		if not new[i] then
			add(row.name .. " is gone", "Keep it")
		else
			compare_argument(new[i].name, row, new[i], add)
		end
	end
	for i = #old + 1, #new do
		if new[i].required then
			add(new[i].name .. " is new and required", "Give it a default")
		end
	end
end

local WORSE = { safe = 1, mutating = 2, destructive = 3 }

local function compare_command(old, new, add)
	if (WORSE[new.danger_level] or 0) > (WORSE[old.danger_level] or 0) then
		add(("it was %s and is %s"):format(old.danger_level, new.danger_level), "Give what changes more a command of its own")
	end
	compare_flags(old.flags or {}, new.flags or {}, add)
	compare_positionals(old.positionals or {}, new.positionals or {}, add)
	for _, number in ipairs(tables.sorted_keys(old.exit_codes or {})) do
		if not (new.exit_codes or {})[number] then
			add(("exit code %s is gone"):format(number), "Keep it declared")
		end
	end
end

---What an earlier manifest promises and today's breaks, one row each.
---@param old table
---@param new table
---@param file string of the earlier manifest, for the messages
---@return runner.Finding[]
function M.find(old, new, file)
	local out = {}
	for _, name in ipairs(tables.sorted_keys(old.commands)) do
		local was, is = old.commands[name], new.commands[name]
		local function add(what, fix)
			out[#out + 1] = { file = file, key = name, fix = fix, message = ("%s: command '%s': %s. %s"):format(file,
				command_line.typed(name), what, fix) }
		end
		local is_ours = type(was) == "table" and not was.builtin
		if is_ours and not is then
			add("it is gone", "Keep it, with deprecated_in and replacement, until its callers have moved")
		elseif is_ours then
			compare_command(was, is, add)
		end
	end
	return out
end

return M
