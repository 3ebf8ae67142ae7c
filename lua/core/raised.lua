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

-- What to write where Lua itself has refused a line, as far as its words tell.
local function of_lua(message)
	local field = message:match "a nil value %(field '([^']+)'%)"
	local names, given = {}, nil
	for _, row in ipairs(field and attempt.command and attempt.command.args or {}) do
		if message:find("arithmetic", 1, true) and row.name:match "^([^-]+)%-" == field then
			return message, { fix_required = ("Write args[%q]: a name with - stands in brackets"):format(row.name) }
		end
		names[#names + 1], given = row.name, given or row.name == field
	end
	local near = field and not given and suggest.nearest(field, names, 1)[1]
	return message, { fix_required = near and ("Rename '%s' to '%s'"):format(field, near)
		or given and ("Give the argument '%s' a default, or required = true: it is nil where it wasn't given"):format(field)
		or message:find("for iterator", 1, true) and "Write for _, x in ipairs(…) do: the value is a list"
		or field and ("Correct this line: '%s' is nil there"):format(field) or nil }
end

local RAISE = 'Raise { code = "CONFLICT", message = "…" }, or call ctx:fail(code, message)'

---May raise itself: __index and __tostring belong to whoever made the value.
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
