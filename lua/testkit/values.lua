-- values: what two values differ in, and a value as text, for the messages of failed tests.

local json = require "runner.json"
local layout = require "runner.output.layout"

local M = {}

local SHOWN_MAX = 400

-- Keys of any type, in an order.
local function keys_of(t)
	local keys = {}
	for key in next, t do
		keys[#keys + 1] = key
	end
	table.sort(keys, function(a, b)
		return type(a) == type(b) and (type(a) == "number" or type(a) == "string") and a < b or tostring(a) < tostring(b)
	end)
	return keys
end

---A text of at most so many bytes.
---@param text string
---@return string
function M.cut(text)
	return #text > SHOWN_MAX and text:sub(1, SHOWN_MAX) .. "…" or text
end

---A value in a message, on one line and bounded.
---@param v any
---@return string
function M.shown(v)
	local text
	if type(v) == "string" then
		text = ("%q"):format(v):gsub("\\\n", "\\n")
	elseif v == json.null then
		text = "null"
	elseif type(v) == "table" then
		text = json.encode(v) or tostring(v)
	else
		text = tostring(v)
	end
	return M.cut(text)
end

local function at(path, key)
	if type(key) == "number" then
		return ("%s[%d]"):format(path, key)
	end
	return path == "" and tostring(key) or path .. "." .. tostring(key)
end

---Where two values differ first; nil: nowhere. Tables are compared by what is in them.
---@param got any
---@param wanted any
---@param path? string
---@return string?
function M.difference(got, wanted, path)
	path = path or ""
	if type(got) ~= "table" or type(wanted) ~= "table" then
		if got == wanted then
			return nil
		end
		return ("%sgot %s, wanted %s"):format(path ~= "" and path .. ": " or "", M.shown(got), M.shown(wanted))
	end
	for _, key in ipairs(keys_of(wanted)) do
		local found = M.difference(got[key], wanted[key], at(path, key))
		if found then
			return found
		end
	end
	for _, key in ipairs(keys_of(got)) do
		if wanted[key] == nil then
			return ("%s: got %s, wanted nothing"):format(at(path, key), M.shown(got[key]))
		end
	end
end

---A value as the text of a snapshot: a string as it is, anything else as indented JSON.
---@param v any
---@return string? text nil: it can't be written
---@return string? why
function M.text(v)
	if type(v) == "string" then
		return v
	end
	local text, why = json.encode(v)
	return text and layout.json(json.decode(text)) .. "\n", why
end

return M
