-- raised: what a failure has to say beyond its code: the message for a raised value that is not one of our errors,
-- where in the scripts it was raised, and where a command has moved to (error.redirect). Loaded only for these.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local suggest = require "runner.core.suggest"

local M = {}

-- --- messages --------------------------------------------------------------------------------

-- A script's modules besides those of lib/.
local OURS = { "cjson", "cjson.safe", "fs", "json" }

-- "/project/lib/?.lua" → the modules in /project/lib, but not those of the system
local function modules_in(template, out)
	local dir = template:match "^(.*/lib)/%?%.lua$"
	for _, name in ipairs(dir and require("runner.fs").list(dir) or {}) do
		out[#out + 1] = name:match "^(.+)%.lua$"
	end
end

local function candidates()
	local out = table.move(OURS, 1, #OURS, 1, {})
	for template in package.path:gmatch "[^;]+" do
		modules_in(template, out)
	end
	return out
end

-- Lua's list of tried paths becomes a detail; the module that was probably meant, advice.
local function missing_module(message)
	local place, name = message:match "^(.-)module '([^'\n]+)' not found:\n"
	if not name then
		return message, {}
	end
	local near = suggest.nearest(name, candidates(), 1)[1]
	return ("%smodule '%s' not found"):format(place, name), { detail = message, suggestion = near
		and ("Did you mean '%s'?"):format(near) or ("Put it in lib/%s.lua, beside commands/"):format((name:gsub("%.", "/"))) }
end

local LINE_MAX = 160 -- bytes of source that are shown

-- Lua's tracebacks cut the beginning of a long path.
local function whole(path)
	if path:sub(1, 3) ~= "..." then
		return path
	end
	local command = attempt.command and attempt.command.path or ""
	return command:sub(-#path + 3) == path:sub(4) and command or nil
end

local function shown(path)
	local here = host.getcwd()
	return here and path:sub(1, #here + 1) == here .. "/" and path:sub(#here + 2) or path
end

local function source(path, number)
	local file <close> = io.open(path, "rb")
	for line in file and file:lines() or function() end do
		number = number - 1
		if number == 0 then
			return (line:gsub("^%s+", ""):gsub("%s+$", ""):sub(1, LINE_MAX))
		end
	end
end

---The line of a script that "FILE:LINE: …" begins with.
---@param message string
---@return string? line
---@return string? place "FILE:LINE: "
function M.line_of(message)
	local path, number, more = message:match "^([^\n:]+%.lua):(%d+): ()"
	path = path and whole(path)
	return path and source(path, tonumber(number)), path and message:sub(1, more - 1)
end

-- Of an argument that a script has named wrong, or that wasn't given.
local function of_argument(field, line, is_arithmetic)
	local names, own, rows = {}, nil, attempt.command and attempt.command.args or {}
	for _, row in ipairs(rows) do
		if is_arithmetic and row.name:match "^([^-]+)%-" == field and line:find("args." .. row.name, 1, true) then
			return ("args.%s is args.%s minus %s to Lua"):format(row.name, field, row.name:match "%-(.*)$"), ("Write args[%q]"):format(row.name)
		end
		names[#names + 1], own = row.name, row.name == field and row or own
	end
	if not line:find("args%." .. field:gsub("%W", "%%%0") .. "%f[^%w_]") then
		return nil
	end
	local near = not own and suggest.nearest(field, names, 1)[1]
	for _, row in ipairs(rows) do
		own = row.name == near and row or own
	end
	local row = own and not own.required and own.default == nil
		and "required = true or a default, since it is nil where it isn't given"
	if near then
		return ("there is no argument '%s': args has '%s'"):format(field, near),
			("Write args.%s, or { %q, %q } in args%s"):format(near, field, own.type, row and "; and add " .. row or "")
	end
	return own and ("args.%s is nil: it wasn't given"):format(field), row and ("Add to the argument %s: %s"):format(field, row)
end

-- A list that is gone through without ipairs.
local function of_loop(line)
	local names, value = line:match "^for%s+(.-)%s+in%s+(.-)%s+do%f[^%w_]"
	if not names or value:find "," then
		return nil
	end
	names = names:find "," and names or "_, " .. names
	return ("%s gives a table, and for needs ipairs to go through it"):format(value), ("Write for %s in ipairs(%s) do"):format(names, value)
end

-- What is wrong, and what to write, where Lua itself has refused a line, as far as its words and the line tell.
local function of_lua(message)
	local line, place = M.line_of(message)
	local field, what, fix = message:match "a nil value %(field '([^']+)'%)", nil, nil
	if line and field then
		what, fix = of_argument(field, line, message:find("arithmetic", 1, true))
	elseif line and message:find("call a table value (for iterator", 1, true) then
		what, fix = of_loop(line)
	end
	return what and place .. what or message, { fix_required = fix or nil }
end

local RAISE = 'Raise { code = "CONFLICT", message = "…" }, or call ctx:fail(code, message)'

---May raise itself: __index and __tostring belong to the script that made the value.
---@param raised any
---@return string message
---@return {detail?: string, suggestion?: string, fix_required?: string} fields
function M.describe(raised)
	local kind, meta = type(raised), getmetatable(raised)
	if kind == "string" and raised:find("attempt to ", 1, true) then
		return of_lua(raised)
	elseif kind == "string" then
		return missing_module(raised)
	elseif kind == "table" and type(raised.message) == "string" then
		return raised.message, {}
	elseif kind == "number" or type(meta) == "table" and meta.__tostring then
		return tostring(raised), {}
	end
	return ("The command raised %s without a message"):format(kind == "nil" and kind or "a " .. kind),
		{ fix_required = RAISE }
end

-- --- where -----------------------------------------------------------------------------------

---For a person at a terminal: the innermost line of a script in a traceback; nil: there is none, or the script failed on
---purpose (ctx:fail).
---@param traceback? string
---@return string? "commands/deploy.lua:12", and the line below it
function M.source_line(traceback)
	for path, number in (traceback or ""):gmatch "\n\t([^\n:]+%.lua):(%d+): in" do
		if path == "lua/ctx/fail.lua" then
			return nil
		end
		path = path:find "^[/.]" and whole(path)
		if path then
			local line = source(path, tonumber(number))
			return ("%s:%s"):format(shown(path), number) .. (line and line ~= "" and "\n    " .. line or "")
		end
	end
end

local HERE = debug.getinfo(1, "S").source:match "^(.*)core/raised%.lua$" -- of all our chunks

---Where in a script one of our functions was called, for a message about that call: "file:line: " of the first line that is
---not in a room; "" where that line is ours, too: after a tail call (return ctx:run{…}) the script has left no trace.
---@param room string the folder of the functions that scripts call: "ctx/"
---@return string
function M.call_site(room)
	for level = 2, 30 do
		local at = debug.getinfo(level, "Sl")
		if not at then
			break
		elseif at.currentline > 0 and at.source:sub(1, #HERE + #room) ~= HERE .. room then
			return at.source:sub(1, #HERE) ~= HERE and ("%s:%d: "):format(at.short_src, at.currentline) or ""
		end
	end
	return ""
end

-- --- redirects -------------------------------------------------------------------------------

local REASONS = { renamed = true, restructured = true, deprecated = true, typo_corrected = true }

---Where a command has moved to.
---@param v any what ctx:fail was given: the call to make instead, or a table of it
---@return {command: string, permanent: boolean, reason?: string}? nil: it names none
function M.redirect(v)
	local t = type(v) == "string" and { command = v } or v
	if type(t) ~= "table" or type(t.command) ~= "string" or t.command == "" then
		return nil
	end
	return { command = t.command, permanent = t.permanent == true, reason = REASONS[t.reason] and t.reason or nil }
end

return M
