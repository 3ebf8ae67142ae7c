-- annotations: the script API for editors (LuaCATS): the files of lua/types, by the name that `runner types` gives each,
-- and what their classes say: fields, their types and meanings, for the generated reference and the schema of
-- runner.lua. A test checks that no method, module function or declaration key is missing.

local M = {}

M.files = {} ---@type table<string, string>

for _, name in ipairs { "runner", "test", "json", "fs", "cjson", "cjson/safe", "runner/codec", "runner/hash", "runner/path", "runner/text",
	"runner/time", "runner/toml", "runner/yaml" } do
	M.files[name] = require("runner.types." .. name:gsub("/", "."))
end

---@class runner.Field a field of a class
---@field name string
---@field optional boolean
---@field type string "string|string[]"
---@field meaning string

---"string? the rest" → the type and the rest. Blanks inside brackets belong to the type.
---@param text string
---@return string type, string rest
function M.split_type(text)
	local depth, at = 0, 1
	while at <= #text do
		local c = text:sub(at, at)
		if c:find("[%(%{%[<]") then
			depth = depth + 1
		elseif c:find("[%)%}%]>]") then
			depth = depth - 1
		elseif c == " " and depth == 0 and not text:sub(1, at - 1):find("[:,|]$") then
			break
		end
		at = at + 1
	end
	return text:sub(1, at - 1), text:sub(at + 1)
end

---Split a text at a character outside of brackets and quotes.
---@param text string
---@param separator string
---@return string[]
function M.split(text, separator)
	local out, depth, from, quoted = {}, 0, 1, false
	for at = 1, #text do
		local c = text:sub(at, at)
		quoted = quoted ~= (c == '"')
		depth = depth + (c:find "[%(%{%[<]" and 1 or c:find "[%)%}%]>]" and -1 or 0)
		if c == separator and depth == 0 and not quoted then
			out[#out + 1] = text:sub(from, at - 1)
			from = at + 1
		end
	end
	out[#out + 1] = text:sub(from)
	return out
end

local function escaped(text)
	return (text:gsub("%p", "%%%0"))
end

---The fields of a class, those of the classes that it builds on last.
---@param text string an annotation file
---@param class string "runner.Project"
---@return runner.Field[]? fields nil: there is no such class
function M.fields(text, class)
	local block = (text .. "\n"):match("%-%-%-@class " .. escaped(class) .. "%f[^%w]([^\n]*\n.-)\n\n")
	if not block then
		return nil
	end
	local fields, known = {}, {}
	for name, rest in block:gmatch "%-%-%-@field (%S+) ([^\n]+)" do
		local kind, meaning = M.split_type(rest)
		local plain = name:gsub("%?$", "")
		fields[#fields + 1] = { name = plain, optional = plain ~= name, type = kind, meaning = meaning }
		known[plain] = true
	end
	local base = block:match "^ : ([%w.]+)"
	for _, field in ipairs(base and M.fields(text, base) or {}) do
		fields[#fields + 1] = not known[field.name] and field or nil
	end
	return fields
end

return M
