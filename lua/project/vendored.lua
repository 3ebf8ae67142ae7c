-- vendored: the libraries of commands that `runner add` has copied into a project: which there are
-- (runner.lock), their commands, and whether their files are still those of the lock. A library is a group
-- of its name. Loaded where a project has a runner.lock and a command is not its own. lua/vendor/ writes.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

local SHOWN = 3 -- paths in a message
local FOLDER = "vendor"

M.FILE_BYTES = 4 << 20 -- of one file, as of any command file (src/worker/source.c)

---@class runner.Library
---@field source string where it came from: an absolute path, or one that starts at the project
---@field digest string SHA-256 of the lines "DIGEST  PATH" of all its files, sorted by path, as sha256sum prints them
---@field files table<string, string> path below the library → SHA-256 in hexadecimal

-- --- the lock ---------------------------------------------------------------------------------

---May a file of a library have this path? Plain names alone: no dots in front, no "..", nothing that
---another file system would take for another name.
---@param path any
---@return boolean
function M.is_plain(path)
	if type(path) ~= "string" or path == "" or #path > 400 or path:find("//", 1, true) or path:find "^/" or path:find "/$" then
		return false
	end
	for part in path:gmatch "[^/]+" do
		if #part > 100 or not part:find "^[%w_][%w_.-]*$" or part:find "%.$" then
			return false
		end
	end
	return true
end

local function digest(v)
	return type(v) == "string" and #v == 64 and not v:find "[^%x]" and v or nil
end

local function files(v)
	for path, hex in next, type(v) == "table" and v or { false } do
		if not M.is_plain(path) or not digest(hex) then
			return nil
		end
	end
	return v
end

local LIBRARY = { source = rules.text, digest = digest, files = files }

-- The libraries of the text; nil and what is wrong.
local function parse(text)
	local value, why = json.decode(text, { unique = true })
	if type(value) ~= "table" then
		return nil, "it is not JSON: " .. tostring(why)
	elseif value.version ~= 1 then
		return nil, ("its version is %s, and this runner reads version 1"):format(tostring(value.version))
	end
	for name, row in next, type(value.libraries) == "table" and value.libraries or { false } do
		local good = type(name) == "string" and rules.is_command_word(name) and type(row) == "table"
		for key, accept in next, good and LIBRARY or {} do
			good = good and accept(row[key]) ~= nil
		end
		if not good then
			return nil, ("its library '%s' is not as runner add writes it"):format(tostring(name))
		end
	end
	return value.libraries
end

---@param root string of the project
---@return string
function M.lock_path(root)
	return root .. "/runner.lock"
end

---Where the files of a library are. The digest is part of it, so that the lock alone decides which
---version counts: it changes in one rename (docs/design.md#vendored-libraries).
---@param root string of the project
---@param name string
---@param row runner.Library
---@return string
function M.folder(root, name, row)
	return ("%s/%s/%s/%s"):format(root, FOLDER, name, row.digest:sub(1, 12))
end

---What the lock says; none where there is no lock. It is trusted as a command file is, and from here on
---every folder from the project down to the libraries must be.
---@param root string of the project
---@return table<string, runner.Library>? libraries, runner.Error? problem
function M.read(root)
	local path = M.lock_path(root)
	local text, why, code = host.source(path, root .. "/" .. FOLDER)
	if code == "ENOENT" then
		return {}
	end
	local libraries
	if text then
		libraries, why = parse(text)
	end
	if libraries then
		return libraries
	end
	return nil, require("runner.project.load_failure").invalid_file(path, ("Can't use %s: %s"):format(path, why), {
		fix_required = "Take it back from version control, or remove it and add the libraries again" })
end

-- --- finding ----------------------------------------------------------------------------------

---The command of a library that words name, the deepest file first.
---@param words string[]
---@param root string of the project, which has a runner.lock
---@param is_builtin any is there a built-in command of the first word? Then a broken lock is no answer
---@return runner.Found?
function M.find(words, root, is_builtin)
	local name = words[1]
	local libraries = rules.is_command_word(name) and M.read(root)
	if libraries == nil and not is_builtin and host.probe(("%s/%s/%s"):format(root, FOLDER, name)) then
		return { name = name, words = 1, path = M.lock_path(root), folder = root .. "/" .. FOLDER, vendored = root } -- M.problem says why
	end
	local row = libraries and libraries[name]
	local most = 1
	while row and words[most + 1] and rules.is_command_word(words[most + 1]) do
		most = most + 1
	end
	for last = most, 2, -1 do
		local path = ("commands/%s.lua"):format(table.concat(words, "/", 2, last))
		if row.files[path] then
			local dir = M.folder(root, name, row)
			return { name = table.concat(words, ".", 1, last), words = last, path = dir .. "/" .. path,
				folder = dir .. "/commands", vendored = root }
		end
	end
end

---The name of the command that a file of a library holds, "db.migrate"; nil: it holds none.
---@param path string below the library
---@return string?
function M.command_of(path)
	local name = path:match "^commands/(.+)%.lua$"
	for word in (name or "_"):gmatch "[^/]+" do
		if not rules.is_command_word(word) then
			return nil
		end
	end
	return (name:gsub("/", "."))
end

---Every command of every library, for lists. None where the lock can't be used: a call says why.
---@param root string of the project
---@return {name: string, path: string, folder: string, vendored: string, mark: string|false}[]
function M.list(root)
	local out = {}
	local libraries = M.read(root) or {}
	for _, name in ipairs(tables.sorted_keys(libraries)) do
		local dir = M.folder(root, name, libraries[name])
		for _, path in ipairs(tables.sorted_keys(libraries[name].files)) do
			local below = M.command_of(path)
			out[#out + 1] = below and { name = name .. "." .. below, path = dir .. "/" .. path, folder = dir .. "/commands",
				vendored = root, mark = require("runner.listing").mark(dir .. "/" .. path) or false } or nil
		end
	end
	return out
end

-- --- checking -----------------------------------------------------------------------------------

-- Everything below the folder that is no directory: path → type.
local function present(dir, prefix, out)
	for _, name in ipairs(fs.list(dir) or {}) do
		local kind = (fs.lstat(dir .. "/" .. name) or {}).type
		if kind == "directory" then
			present(dir .. "/" .. name, prefix .. name .. "/", out)
		else
			out[prefix .. name] = kind
		end
	end
	return out
end

local function is_same(path, kind, expected)
	local text = kind == "file" and fs.read(path, M.FILE_BYTES)
	return text and require("runner.ledger").digest(text) == expected
end

---How the files of a library differ from the lock: sorted paths below the library.
---@param root string of the project
---@param name string
---@param row runner.Library
---@return {changed: string[], missing: string[], added: string[]}? nil: they don't
function M.differences(root, name, row)
	local dir, out = M.folder(root, name, row), { changed = {}, missing = {}, added = {} }
	local there = present(dir, "", {})
	for _, path in ipairs(tables.sorted_keys(row.files)) do
		local list = not there[path] and out.missing
			or not is_same(dir .. "/" .. path, there[path], row.files[path]) and out.changed
		if list then
			list[#list + 1] = path
		end
	end
	for _, path in ipairs(tables.sorted_keys(there)) do
		out.added[#out.added + 1] = not row.files[path] and path or nil
	end
	return (out.changed[1] or out.missing[1] or out.added[1]) and out or nil
end

local VERBS = { { "changed", "was changed" }, { "missing", "is missing" }, { "added", "was added" } }

---The error of a library whose files are not those of the lock.
---@param root string of the project
---@param name string
---@param row runner.Library
---@return runner.Error? problem LIBRARY_CHANGED
function M.changed(root, name, row)
	local found = M.differences(root, name, row)
	if not found then
		return nil
	end
	local said = {}
	for _, verb in ipairs(VERBS) do
		for _, path in ipairs(found[verb[1]]) do
			said[#said + 1] = ("%s %s"):format(path, verb[2])
		end
		json.array(found[verb[1]])
	end
	local more = #said > SHOWN and (", and %d more"):format(#said - SHOWN) or ""
	found.library, found.folder = name, M.folder(root, name, row)
	return errors.new("LIBRARY_CHANGED", ("The library '%s' is not what runner.lock has: %s%s"):format(name,
		table.concat(said, ", ", 1, math.min(#said, SHOWN)), more), {
		phase = "validation", side_effects = "none", retryable = false, context = found,
		fix_required = "Bring back what runner.lock has, or take the library anew with runner library update " .. name,
		fix_command = ("runner library update %s --locked"):format(name) })
end

local checked = {}

---May a file of a library be loaded? All files of the library are compared with the lock, once in a process.
---@param found runner.Found of M.find
---@return runner.Error? problem
function M.problem(found)
	local root, name = found.vendored, found.name:match "^[^.]+"
	local id = root .. "\0" .. name
	if checked[id] == nil then
		local libraries, problem = M.read(root)
		local row = libraries and libraries[name]
		checked[id] = problem or row and M.changed(root, name, row) or false
	end
	return checked[id] or nil
end

return M
