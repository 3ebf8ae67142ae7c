-- declaration: every problem in a declaration: file, line, key, what was found and how
-- to fix it (lua/declare/declaration_messages.lua). Loaded by lint, and when
-- lua/declare/command.lua has reported a fault. The rules themselves are in command.lua.

local command = require "runner.declare.command"
local errors = require "runner.core.errors"
local policy = require "runner.declare.policy"
local computed = require "runner.declare.computed"
local values = require "runner.declare.values"
local messages = require "runner.declare.declaration_messages"

local M = {}

---@class runner.DeclarationProblem
---@field key string where it stands, "args.keep.min"
---@field line? integer where the source text shows it
---@field message string file, line, key, what was found, and the fix
---@field fix string

-- --- where it stands --------------------------------------------------------------

local function escape(word)
	return (word:gsub("%W", "%%%0"))
end

-- The next place of a word: as a key (word =) or as a quoted string, whichever comes
-- first; else anywhere. The outermost word is a key.
local function next_place(text, word, from, outermost)
	local w = escape(word)
	local key = text:find("%f[%w_]" .. w .. "%s*=[^=]", from)
	local quoted = text:find("[\"']" .. w .. "[\"']", from)
	if key and quoted and not outermost then
		return math.min(key, quoted)
	end
	return key or quoted or text:find("%f[%w_]" .. w .. "%f[^%w_]", from)
end

-- Line comments are blanked: they may mention keys that the code does not have.
local function line_of(text, path)
	text = ("\n" .. text):gsub("\n%s*%-%-[^\n]*", function(comment)
		return comment:gsub("[^\n]", " ")
	end)
	local start = text:find("\nreturn%f[%W]") or 1
	local at
	for _, word in ipairs(path) do
		local found = next_place(text, word, at or start, not at)
		if not found then
			break
		end
		at = found
	end
	return at and select(2, text:sub(1, at):gsub("\n", ""))
end

local ABSENT = { missing = true, missing_code = true, timeout_entry = true }

local function path_of(f)
	local path = {}
	for word in (f.prefix or ""):gmatch("[^.]+") do
		path[#path + 1] = word
	end
	local by_place = type(f.key) ~= "string" or f.kind == "arg" and (f.key == "name" or f.key == "type")
	if not by_place and not ABSENT[f.reason] then
		path[#path + 1] = f.key
	end
	return path
end

-- The dot path of the command file, where it is a group that has the command.
local function group_of(where)
	local group = where.name:match "^(.*)%."
	while group and not where.path:find("/" .. group:gsub("%.", "/") .. ".lua", 1, true) do
		group = group:match "^(.*)%."
	end
	return group
end

-- --- all problems -------------------------------------------------------------------

local function problem_of(f, where)
	local key = type(f.key) == "string" and f.key or f.key ~= nil and "[" .. messages.show(f.key) .. "]" or nil
	key = f.prefix and key and f.prefix .. "." .. key or f.prefix or key or ""
	local text = where.text
	f.text = text
	local found, fix = messages.of(f, key)
	local group = f.task and group_of(where)
	local own = text and f.task and require("runner.declare.task_text").places(text, group)[where.name]
	text = own and require("runner.declare.task_text").only(text, where.name, group) or text
	local line = text and (line_of(text, path_of(f)) or own and 1 + select(2, text:sub(1, own.first - 1):gsub("\n", "")))
	local place = line and where.path .. ":" .. line or where.path
	return { key = key, line = line or nil, message = ("%s: %s. %s"):format(place, found, fix), fix = fix }
end

-- Call the functions of an argument with the project's config, as a run does. An error
-- that they raise with a code of their own is the caller's to fix, not the file's.
local function call_functions(row, config, report)
	local function fault(key, reason, found)
		report("arg", "args." .. row.name, key, reason, found)
	end
	local function called(key, f, ...)
		local ok, given = pcall(f, ...)
		if not ok and given.code == "COMMAND_INVALID" then
			fault(key, "call_failed", given.message)
		end
		return ok, given
	end
	local ok, listed = called("values", computed.listed, row, config)
	local given = row.default
	if ok and type(given) == "function" then
		ok, given = called("default", computed.value, row, "default", config)
	end
	if ok and given ~= nil and select(2, values.accept(row, given, listed)) then
		fault("default", "default", { value = given, row = row })
	end
end

local function collect(declaration, where, with_calls)
	local faults, seen = {}, {}
	local is_task = type(declaration) == "table" and rawget(declaration, "task") and (where.path:find "tasks%.lua$" or group_of(where))
	local task = is_task and where.name:gsub("%.", " ") or nil
	local function report(kind, prefix, key, reason, found)
		local place = (prefix or "") .. "\0" .. tostring(key)
		if reason ~= "missing" or not seen[place] then
			faults[#faults + 1] = { kind = kind, prefix = prefix, key = key, reason = reason, found = found, task = task,
				declared = type(declaration) == "table" and declaration or nil }
		end
		seen[place] = true
	end
	local ok, normal = pcall(command.walk, declaration, where, report)
	if not ok then
		report("command", nil, nil, "raised", normal)
	end
	for _, row in ipairs(with_calls and not faults[1] and normal.args or {}) do
		call_functions(row, where.config, report)
	end
	return faults
end

---Every problem in a declaration, in file order as far as it is known.
---@param declaration any what the file returned
---@param where {path: string, name: string, text?: string, config?: table}
---@param with_calls? boolean call the functions of its arguments as well
---@return runner.DeclarationProblem[]
function M.problems(declaration, where, with_calls)
	local out = {}
	for i, fault in ipairs(collect(declaration, where, with_calls)) do
		out[i] = problem_of(fault, where)
	end
	table.sort(out, function(a, b)
		if (a.line or 0) ~= (b.line or 0) then
			return (a.line or 0) < (b.line or 0)
		elseif a.key ~= b.key then
			return a.key < b.key
		end
		return a.message < b.message
	end)
	return out
end

---All problems as one COMMAND_INVALID.
---@param declaration any
---@param where {path: string, name: string, text?: string, config?: table}
---@param raised? any what the walk raised, if it did
---@return runner.Error
function M.error(declaration, where, raised)
	local problems = M.problems(declaration, where)
	local first = problems[1] or problem_of({ kind = "command", reason = "raised", found = raised }, where)
	local rows, all = {}, {}
	for i, p in ipairs(problems) do
		rows[i] = { field = p.key, code = "COMMAND_INVALID", message = p.message, fix_required = p.fix, line = p.line }
		all[i] = p.message
	end
	local more = #problems > 1 and (" (and %d more)"):format(#problems - 1) or ""
	local anew, keys
	if #problems > 1 and type(declaration) == "table" and rawget(declaration, "task") then
		anew, keys = messages.anew(where.name:gsub("%.", " "), declaration)
	end
	if anew then
		first.fix, more = "Write " .. anew, ""
		first.message = ("%s%s: unknown keys %s. %s"):format(where.path, first.line and ":" .. first.line or "", table.concat(keys, " and "),
			first.fix)
	end
	return errors.new("COMMAND_INVALID", first.message .. more, {
		phase = "validation", retryable = false, side_effects = "none", fix_required = first.fix,
		detail = #problems > 1 and table.concat(all, "\n") or nil, errors = rows,
		context = { path = where.path, line = first.line },
	})
end

local BY_NAME = { aliases = true, contexts = true, hosts = true } -- entries that stand each for itself

-- Of such a table the first entry that is wrong, taken alone; nil: none is.
local function entry_refused(key, found, accept)
	local wrong
	for name, value in next, found do
		if accept { [name] = value } == nil and (wrong == nil or tostring(name) < tostring(wrong)) then
			wrong = name
		end
	end
	return wrong ~= nil and { kind = "project", prefix = key, key = wrong, reason = "contract",
		found = { "is " .. messages.show(found[wrong]), "write " .. messages.project(key) } } or nil
end

---A key of runner.lua that is unknown or refused, as COMMAND_INVALID.
---@param path string of runner.lua
---@param key any
---@param found any its value
---@param known table<string, any> the keys that runner.lua may have
---@param text? string of the file: for the line
---@return runner.Error
function M.project_problem(path, key, found, known, text)
	local f = { kind = "project", key = key, found = found, reason = known[key] and "refused" or "unknown" }
	messages.rules.project = known
	if f.reason == "refused" and key == "retry" then
		local _, message, wrong = policy.normalise(found)
		f = { kind = "retry", prefix = "retry", key = wrong, reason = "retry", found = message }
	elseif f.reason == "refused" and key == "executors" then
		local prefix, wrong, clause, fix = require("runner.declare.executors").wrong(found)
		f = prefix and { kind = "project", prefix = prefix, key = wrong, reason = "contract", found = { clause, fix } } or f
	elseif f.reason == "refused" and BY_NAME[key] and type(found) == "table" then
		f = entry_refused(key, found, known[key]) or f
	end
	local p = problem_of(f, { path = path, text = text })
	return errors.new("COMMAND_INVALID", p.message, {
		phase = "validation", retryable = false, side_effects = "none", fix_required = p.fix,
		context = { path = path, line = p.line },
	})
end

---The message for a field given to ctx:fail that an error can't hold.
---@param key any
---@param found any
---@return string
function M.failure_problem(key, found)
	local f = { kind = "failure", key = key, found = found, reason = messages.rules.failure[key] and "refused" or "unknown" }
	return problem_of(f, { path = "ctx:fail" }).message
end


return M
