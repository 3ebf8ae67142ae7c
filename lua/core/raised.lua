-- raised: the message for a raised value that is not one of our errors, and advice: a
-- value without a message, or a `require` that found nothing. Loaded only for these.

local suggest = require "runner.core.suggest"

local M = {}

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

local RAISE = 'Raise { code = "CONFLICT", message = "…" }, or call ctx:fail(code, message)'

---May raise itself: __index and __tostring belong to whoever made the value.
---@param raised any
---@return string message
---@return {detail?: string, suggestion?: string, fix_required?: string} fields
function M.describe(raised)
	local kind, meta = type(raised), getmetatable(raised)
	if kind == "string" then
		return missing_module(raised)
	elseif kind == "table" and type(raised.message) == "string" then
		return raised.message, {}
	elseif kind == "number" or type(meta) == "table" and meta.__tostring then
		return tostring(raised), {}
	end
	return ("The command raised %s without a message"):format(kind == "nil" and kind or "a " .. kind),
		{ fix_required = RAISE }
end

return M
