-- catalog: every command there is, for help, lint and did-you-mean. It lists
-- folders and loads files: never on the way of a plain call.

local errors = require "runner.errors"
local fs = require "runner.fs"
local locate = require "runner.locate"

local M = {}

local MAX_DEPTH = 4

local function add_folder(dir, prefix, out, depth)
	for _, name in ipairs(depth <= MAX_DEPTH and fs.list(dir) or {}) do
		local path = dir .. "/" .. name
		local word = name:match("^(.+)%.lua$")
		local kind = fs.stat(path)
		if not kind then
			word = nil
		elseif word and locate.is_name(word) and kind.type == "file" then
			local full = prefix .. word
			if not out.by_name[full] and not locate.builtins[full] then
				out.by_name[full] = { name = full, path = path, folder = dir }
			end
		elseif kind.type == "directory" and locate.is_name(name) then
			add_folder(path, prefix .. name .. ".", out, depth + 1)
		end
	end
end

---Every command by name, sorted; the built-ins are marked.
---@param project table
---@return {name: string, path: string?, builtin: boolean?}[]
function M.list(project)
	local out = { by_name = {} }
	for _, dir in ipairs(locate.folders(project)) do
		add_folder(dir, "", out, 1)
	end
	for name in pairs(locate.builtins) do
		out.by_name[name] = { name = name, builtin = true }
	end
	local names = {}
	for name in pairs(out.by_name) do
		names[#names + 1] = name
	end
	table.sort(names)
	for i, name in ipairs(names) do
		names[i] = out.by_name[name]
	end
	return names
end

-- What could have been meant by these words: names below a folder, or near ones.
local function meant(words, list)
	local below, near = {}, {}
	for _, c in ipairs(list) do
		if c.name:sub(1, #words[1] + 1) == words[1] .. "." then
			below[#below + 1] = c.name:gsub("%.", " ")
		end
		near[#near + 1] = c.name
	end
	return below, require("runner.suggest").nearest(table.concat(words, ".", 1, math.min(#words, 2)), near, 3),
		require("runner.suggest").nearest(words[1], near, 3)
end

---The error for words that name no command.
---@param words string[]
---@param project table
---@return table error
function M.not_found(words, project)
	local below, near, near_first = meant(words, M.list(project))
	near = #near > 0 and near or near_first
	local suggestion = #below > 0 and ("It has the commands: " .. table.concat(below, ", "))
		or #near > 0 and ("Did you mean '%s'?"):format((near[1]:gsub("%.", " ")))
		or "Run 'runner' for the list of commands"
	return errors.new("COMMAND_NOT_FOUND", ("Unknown command '%s'"):format(words[1]), {
		phase = "validation", suggestion = suggestion,
		context = { folders = locate.folders(project) },
	})
end

return M
