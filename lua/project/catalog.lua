-- catalog: all commands, for help, lint and did-you-mean. It lists folders and loads
-- files, so a plain call never uses it. A Tab does: loops over all commands count, since ipairs
-- takes a call of C for each.

local attempt = require "runner.core.attempt"
local builtins = require "runner.project.builtins"
local command_line = require "runner.core.command_line"
local declarations = require "runner.project.declarations"
local places = require "runner.project.folders"
local host = require "runner.host"
local listing = require "runner.listing"
local loader = require "runner.project.loader"
local locate = require "runner.project.locate"
local rules = require "runner.core.rules"

local M = {}

local MAX_DEPTH = 4
local MAX_STEPS = 50000000 -- instructions that a file may take to load, here only: a second or less

local function add_folder(dir, folder, prefix, out, depth)
	local names, marks, folders = listing.folder(dir)
	local by_name, is_word, fixed = out.by_name, rules.is_command_word, depth == 1 and locate.fixed or {}
	for i = 1, #(names or "") do
		local name = names[i]
		local word = name:sub(1, -5)
		local full = prefix .. word
		if not by_name[full] and is_word(word) and not fixed[word] then
			by_name[full] = { name = full, path = dir .. "/" .. name, folder = folder, mark = marks[i] }
		end
	end
	for _, name in ipairs(depth < MAX_DEPTH and folders or {}) do
		if is_word(name) and not fixed[name] then
			add_folder(dir .. "/" .. name, folder, prefix .. name .. ".", out, depth + 1)
		end
	end
end

local function add_vendored(root, by_name)
	for _, entry in ipairs(require("runner.project.vendored").list(root)) do
		by_name[entry.name] = by_name[entry.name] or entry
	end
end

-- A file that is a group of commands stands for these.
local function add_groups(project, dir, words, by_name)
	local files, at = {}, dir
	for name, entry in next, by_name do
		files[#files + 1] = entry.folder == dir and name or nil
	end
	for i, word in ipairs(words) do
		local name = table.concat(words, ".", 1, i)
		at = ("%s/%s"):format(at, word)
		if host.probe(at .. ".lua") and not locate.fixed[words[1]] then
			by_name[name], files[#files + 1] = { name = name, path = at .. ".lua", folder = dir }, name
		end
	end
	local caches = declarations.caches()
	for _, name in ipairs(files) do
		local entry = by_name[name]
		local group = not (entry.mark and caches:get(entry)) and M.guarded(require("runner.project.tasks").list_group, entry, project)
		by_name[name] = not group and entry or nil
		for _, row in ipairs(group or {}) do
			by_name[row.name] = by_name[row.name] or row
		end
	end
end

-- A task that something else of its name hides is never run.
local function add_tasks(project, by_name)
	local tasks = host.probe(project.root .. "/tasks.lua") and M.guarded(require("runner.project.tasks").list, project)
	for _, entry in ipairs(tasks or {}) do
		local other = locate.fixed[entry.name:match "^[^.]+"] and "a built-in command" or (by_name[entry.name] or {}).path
		by_name[entry.name] = by_name[entry.name] or not other and entry or nil
		project.problem = project.problem or other and require("runner.project.load_failure").invalid_file(entry.path,
			("%s: the task '%s' is never run, since %s has its name"):format(entry.path, command_line.typed(entry.name), other),
			{ fix_required = "Rename it" }) or nil
	end
end

-- The files of a folder that can be commands; of a group's alone, where its words are given.
local function add_place(dir, words, out)
	local at = dir
	for i, word in ipairs(words) do
		if not rules.is_command_word(word) or i == 1 and locate.fixed[word] then
			return
		end
		at = at .. "/" .. word
	end
	if #words < MAX_DEPTH then
		add_folder(at, dir, words[1] and table.concat(words, ".") .. "." or "", out, #words + 1)
	end
end

local function entries_of(project, words, policy)
	local out = { by_name = {} }
	for i, dir in ipairs(places.list(project)) do
		add_place(dir, words, out)
		if i == 1 and project.root then
			add_groups(project, dir, words, out.by_name)
			add_tasks(project, out.by_name)
		end
		if i == 1 and places.has_libraries(project) then
			add_vendored(project.root, out.by_name)
		end
	end
	for _, name in ipairs(builtins.list()) do
		local shown = out.by_name[name] and locate.SELF .. "." .. name or name
		out.by_name[shown] = { name = shown, builtin = true }
	end
	local entries, names = {}, listing.sorted(out.by_name)
	for i = 1, #names do
		local entry = out.by_name[names[i]]
		if not policy or require("runner.project.caller_policy").lists(entry.name, entry.path) then
			entries[#entries + 1] = entry
		end
	end
	return entries
end

---All commands, sorted by name; the built-ins are marked. One that gave way to a file is `self.NAME`.
---Those that a policy refuses, by their name or by where their file is, are left out.
---@param project table
---@return {name: string, path: string?, builtin: boolean?, folder: string?, mark: string|false?, vendored: string?}[]
function M.list(project)
	return entries_of(project, {}, attempt.policy)
end

---The same, whatever a policy refuses: what its rules can mean.
---@param project table
---@return {name: string, path: string?, builtin: boolean?}[]
function M.all(project)
	return entries_of(project, {})
end

---The entries of M.list that are below a group, whose folders alone are read: "db" → db.migrate …
---@param project table
---@param group string dot path; "": none
---@return {name: string}[]
function M.list_below(project, group)
	local words = command_line.name_words(group)
	return words[1] and M.below(entries_of(project, words[1] == locate.SELF and {} or words, attempt.policy), group) or {}
end

---The entries below a group.
---@param entries {name: string}[] as M.list
---@param group string dot path
---@return {name: string}[]
function M.below(entries, group)
	local out = {}
	for _, entry in ipairs(entries) do
		if entry.name:sub(1, #group + 1) == group .. "." then
			out[#out + 1] = entry
		end
	end
	return out
end

-- --- loading what may be broken ------------------------------------------------------

-- What scripts share: every file must find it unchanged. The tables are
-- the scripts' own; the library has other globals.
local SHARED = { "coroutine", "debug", "io", "math", "os", "string", "table", "utf8" }

local kept, sizes ---@type table<table, table>, table<table, integer> their contents

-- What a file has added stays: its functions may need it. Called after each file, so it goes through a table once.
local function put_back()
	for t, before in next, kept do
		local count = 0
		debug.setmetatable(t, nil)
		for key, v in next, t do
			local was = before[key]
			if was == nil then
				before[key], sizes[t] = v, sizes[t] + 1
			elseif was ~= v then
				t[key] = was
			end
			count = count + 1
		end
		for key, v in next, count < sizes[t] and before or {} do
			t[key] = v
		end
	end
end

local function keep_globals()
	kept, sizes = { [_G] = {} }, { [_G] = 0 }
	for _, name in ipairs(SHARED) do
		kept[_G[name]], sizes[_G[name]] = {}, 0
	end
	put_back()
end

-- Raise an error instead of ending the process or looping forever.
local function guarded(f, ...)
	if not kept then
		keep_globals()
	end
	rawset(_G.os, "exit", function()
		error("the file called os.exit while it was loading", 2)
	end)
	debug.sethook(function()
		error("the file was still running after 50 million instructions: is there an endless loop at its top level?", 2)
	end, "", MAX_STEPS)
	local result = table.pack(pcall(f, ...))
	debug.sethook()
	put_back()
	if not result[1] then
		error(result[2], 0)
	end
	return table.unpack(result, 2, result.n)
end

-- A file that a policy keeps out of reach is not read, whichever list asks what it declares.
local function refused(found)
	return found.path and attempt.policy and require("runner.project.caller_policy").problem(found.name, found.path)
end

---loader.command for one of many: a file can neither end the process nor hang it, nor is it read against a policy.
---@param entry {name: string, path?: string} as M.list gives it
---@param project table
---@return table? command, runner.Error? problem
function M.load(entry, project)
	local found = locate.find(command_line.name_words(entry.name), project) or entry
	local problem = refused(found)
	if problem then
		return nil, problem
	end
	return guarded(loader.command, found, project)
end

---What tells a call of a command from others of it: its arguments without what it would take anyway.
---@param need {name: string, args: table<string, any>}
---@param project table
---@return table<string, any>
function M.distinct(need, project)
	local name, out = need.name:gsub("%s+", "."), require("runner.core.tables").add({}, need.args)
	local command = locate.find(command_line.name_words(name), project) and M.load({ name = name }, project)
	for _, row in ipairs(command and command.args or {}) do
		local value, default = out[row.name], row.default
		if row.type == "boolean" and default == nil then
			default = false
		end
		if type(value) ~= "table" and tostring(value) == tostring(default) and not (row.env or row.env_fallbacks) then
			out[row.name] = nil
		end
	end
	return out
end

---Call any function on what a file holds, with the same protection.
---@param f function
---@param ... any its arguments
---@return any ... what it returns; what it raises is raised
M.guarded = guarded

---loader.read with the same protection.
---@param found runner.Found
---@param project? table
---@return any value, runner.Error? problem, string? text
---@return true? partial
function M.read(found, project)
	local problem = refused(found)
	if problem then
		return nil, problem
	end
	return guarded(loader.read, found, project)
end

---Was its file removed since it was listed? Then the command is gone, which is not an error.
---@param entry {path?: string}
---@return boolean
function M.is_gone(entry)
	return entry.path ~= nil and not host.probe(entry.path)
end

---Is a command listed: not hidden, and of a danger level that the caller's policy permits?
---@param command table normal form
---@return boolean
function M.is_listed(command)
	return not (command.hidden or attempt.policy
		and not require("runner.project.caller_policy").permits_level(command.danger_level))
end

local DECIDES = { approve = true, reject = true } -- built-in: what they mean is a decision

---May a person alone call it?
---@param entry table of M.list
---@param command? table loaded; nil: as far as its name says
---@return boolean
function M.is_for_person(entry, command)
	return entry.builtin and DECIDES[entry.name] or command and command.requires_person or false
end

---M.load, where what can't be loaded is left out with a warning, and what is gone without.
---@param listed table an entry of M.list
---@param project table
---@return table? command normal form
function M.load_or_warn(listed, project)
	local command, problem = M.load(listed, project)
	if not command and not M.is_gone(listed) then
		local why = problem.unread
		attempt.warn(why and "COMMAND_UNREAD" or "COMMAND_INVALID", ("'%s' is left out%s %s"):format(command_line.typed(listed.name),
			why and ": it is not read, since" or ", since it can't be loaded:", why or problem.message),
			{ command = listed.name, path = listed.path, fix_required = why and problem.fix_required })
	end
	return command
end

---Load a command for a listing: the same without those that are not to be listed.
---@param listed table an entry of M.list
---@param project table
---@return table? command normal form
function M.load_listed(listed, project)
	local command = M.load_or_warn(listed, project)
	return command and M.is_listed(command) and command or nil
end

---One row of help and completion.
---@class runner.CommandRow
---@field name string words separated by spaces, "db migrate"
---@field description? string nil when broken, "" when unread
---@field danger_level? string
---@field aliases? string[] other names, of its declaration
---@field order? integer of a task in its file
---@field section? string the comment that heads it there
---@field broken? boolean it can't be loaded; `problem` says why
---@field problem? string
---@field unread? string why what it declares is not known (lua/project/inert.lua)
---@field command? table its normal form, of M.whole_rows

-- What a list says of a command; nil: nothing, it is hidden or has gone.
local function row_of(entry, project, caches, keep)
	local name = command_line.typed(entry.name)
	local known = caches and (entry.builtin and builtins.row(entry.name) or caches:get(entry))
	if known then
		known.name = name
		return M.is_listed(known) and known or nil
	end
	local found = locate.find(command_line.name_words(entry.name), project)
	found = not (entry.builtin and (found or {}).path) and found or entry
	local command, problem, required
	if keep and not project.unread then
		required, command, problem = guarded(declarations.watched, loader.command, found, project)
	else
		command, problem = guarded(loader.command, found, project)
	end
	if not command then
		local unread = problem.unread
		return not M.is_gone(entry) and { name = name, broken = not unread or nil, unread = unread, description = unread and "" or nil,
			problem = not unread and problem.message or nil } or nil
	elseif required then
		caches:put(entry, command, required)
	end
	return M.is_listed(command) and { name = name, description = command.description, danger_level = command.danger_level,
		aliases = command.aliases, command = not caches and command or nil } or nil
end

---A row for each entry; hidden commands have none.
---@param entries {name: string, path?: string}[]
---@param project table
---@param keep? boolean what has been read of them is kept for later lists
---@return runner.CommandRow[] rows
---@return table[] listed the entry of each row
function M.rows(entries, project, keep)
	local rows, listed, caches = {}, {}, declarations.caches()
	for i = 1, #entries do
		local row = row_of(entries[i], project, caches, keep)
		if row then
			local entry = entries[i]
			row.order = entry.order
			row.section = entry.section or entry.folder ~= project.commands and not entry.vendored and entry.folder
				and "From " .. entry.folder or nil
			rows[#rows + 1], listed[#listed + 1] = row, entries[i]
		end
	end
	if keep then
		caches:save()
	end
	return rows, listed
end

---Rows with all that is declared: every file is loaded.
---@param entries {name: string, path?: string}[]
---@param project table
---@return runner.CommandRow[]
function M.whole_rows(entries, project)
	local rows = {}
	for _, entry in ipairs(entries) do
		rows[#rows + 1] = row_of(entry, project)
	end
	return rows
end

---The rows of the commands that are no built-in ones.
---@param project table
---@return runner.CommandRow[] rows
---@return table[] listed the entry of each row
function M.own_rows(project)
	local own = {}
	for _, entry in ipairs(M.list(project)) do
		own[#own + 1] = not entry.builtin and entry or nil
	end
	return M.rows(own, project)
end

return M
