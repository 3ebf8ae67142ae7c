-- misuse: a wrong use of ctx by a script: an unknown key, a wrong type, a dot for a
-- colon. It is a bug of the command, so the same call would fail again: not retryable,
-- and the fix names what to write. Loaded when something is wrong.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local raised = require "runner.core.raised"

local M = {}

-- "file:line: " of the script, whichever of our functions it called; else "file: " of the command.
local function position()
	local at = raised.call_site "ctx/"
	local path = at == "" and attempt.command and attempt.command.path
	return path and path .. ": " or at
end

-- The script's own line; nil: it isn't known.
local function line()
	return (raised.line_of(position()))
end

---Raise INTERNAL_ERROR at the script's own line.
---@param what string? "ctx:run"; nil: the message names it
---@param message string what is wrong
---@param fix? string what to write; default: to correct that call
---@param code? string default: INTERNAL_ERROR
function M.raise(what, message, fix, code)
	local called = what or "ctx"
	what = what and what .. ": " or ""
	error(errors.new(code or "INTERNAL_ERROR", position() .. what .. message, {
		retryable = false, fix_required = fix or ("Correct this call of %s in the command file"):format(called),
		detail = debug.traceback(nil, 2),
	}), 0)
end

---A method was called with a dot, so its first argument is where ctx should be.
---@param name string
function M.without_colon(name)
	local own, count = (line() or ""):gsub("([%w_]+)%." .. name .. "%f[^%w_]", "%1:" .. name)
	M.raise("ctx." .. name, "called with a dot instead of a colon",
		count == 1 and "Write " .. own or ("Write ctx:%s, with a colon"):format(name))
end

-- The inside of the one table that was meant, of the words and keys in all that were given.
local function one_table(name, given)
	local items, keys = {}, {}
	for i = 1, given.n do
		for k, v in next, type(given[i]) == "table" and given[i] or { given[i] } do
			if type(k) == "string" then
				keys[#keys + 1] = k .. " = …"
			elseif type(v) == "string" or math.type(v) then
				items[#items + 1] = (name == "http" and "url = " or "") .. M.shown(v)
			end
		end
	end
	table.sort(keys)
	if name == "pipeline" or #items == 0 or #items + #keys > 20 then
		items = { name == "pipeline" and '{ "ls" }, { "wc", "-l" }' or "…" }
	end
	return table.concat(table.move(keys, 1, math.min(#keys, 20), #items + 1, items), ", ")
end

---A method was called with more arguments than it takes, which would have no effect. What is nil says nothing.
---@param name string
---@param most integer that it takes
---@param given table as of table.pack
function M.too_many(name, most, given)
	local last = given.n
	while last > most and given[last] == nil do
		last = last - 1
	end
	if last == most then
		return
	end
	local form = require("runner.types.runner"):match("function Context:" .. name .. "(%b())") or "(…)"
	if form == "(spec)" then
		form = ("{ %s }, with all in the one table"):format(one_table(name, given))
	elseif math.type(given[last]) and type(given[last - 1]) == "string" then -- as of gsub
		form = form .. "; parentheses around a call keep its first value alone"
	end
	M.raise("ctx:" .. name, ("takes %s, not %d"):format(most == 0 and "no argument" or most == 1 and "one argument"
		or ("at most %d arguments"):format(most), last), "Write ctx:" .. name .. form)
end

local RUN = 'Write ctx:run{ "git", "status" }, with your own words'
local FS = "Write ctx.fs.%s(…)"
local HABITS = {
	shell = RUN, sh = RUN, bash = RUN, system = RUN, execute = RUN, cmd = RUN, popen = RUN, command = RUN,
	print = "Write ctx:log(…), or return it", echo = "Write ctx:log(…), or return it", getenv = 'Write os.getenv "HOME"',
	exit = "Return, or call ctx:fail(code, message)", read_file = FS:format "read", write_file = FS:format "write",
	glob = FS:format "glob", list = FS:format "list", mkdir = FS:format "mkdirs",
}

---A field that ctx hasn't got. Raises where a name of ctx was probably meant; any other
---is nil, as in every table.
---@param key string
---@param named table[] names as keys
function M.absent(key, named)
	if HABITS[key] == RUN then
		local _, text = (line() or ""):match("[.:]" .. key .. "%s*%(?%s*([\"'])([^\"'\\]*)%1")
		local call = text and (require("runner.core.shell_words").call_of(text) or ('ctx:run{ "sh", "-c", %q }'):format(text))
		M.raise(nil, ("there is no ctx:%s"):format(key), call and "Write " .. call or RUN)
	elseif HABITS[key] then
		M.raise(nil, ("there is no ctx:%s"):format(key), HABITS[key])
	end
	local names = {}
	for _, t in ipairs(named) do
		for name in pairs(t) do
			names[#names + 1] = name:sub(1, 1) ~= "_" and name or nil
		end
	end
	local near = #key > 2 and require("runner.core.suggest").nearest(key, names, 1)[1]
	if near then
		M.raise(nil, ("there is no ctx.%s; did you mean '%s'?"):format(key, near), ("Rename '%s' to '%s'"):format(key, near))
	end
end

---A value as a message shows it: short, and never a table's address.
---@param value any
---@return string
function M.shown(value)
	if type(value) == "string" then
		return ("%q"):format(#value > 60 and value:sub(1, 60) .. "…" or value)
	elseif type(value) == "number" or type(value) == "boolean" or value == nil then
		return tostring(value)
	end
	return "a " .. type(value)
end

---A value that is no duration. Raises INVALID_ARGUMENT.
---@param what string "ctx:lock"
---@param key string "wait"
---@param value any
function M.duration(what, key, value)
	M.raise(what, ("'%s' must be %s, not %s"):format(key, errors.DURATION, M.shown(value)), nil, "INVALID_ARGUMENT")
end

---An unknown option, with the ones that there are.
---@param what string
---@param key any
---@param known string[]
function M.unknown(what, key, known)
	local near = type(key) == "string" and require("runner.core.suggest").nearest(key, known, 1)[1]
	M.raise(what, ("unknown key '%s'%s; the keys are %s"):format(tostring(key),
		near and (": did you mean '%s'?"):format(near) or "", table.concat(known, ", ")),
		near and ("Rename '%s' to '%s'"):format(tostring(key), near)
			or ("Remove '%s': %s takes %s"):format(tostring(key), what, table.concat(known, ", ")))
end

return M
