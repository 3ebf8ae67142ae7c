-- value_rules: the rules for a value that few arguments have: a pattern, a size in bytes, a
-- directory that a path may not leave, a JSON Schema. Loaded when a row has one.

local M = {}

-- --- paths ------------------------------------------------------------------------------

-- Where a path leads, symbolic links followed as far as it exists; nil where that can't be told.
local function resolved(fs, path)
	local rest = ""
	while true do
		local real, _, code = fs.realpath(path)
		if real then
			return (real == "/" and "" or real) .. rest
		elseif code ~= "ENOENT" or fs.readlink(path) then
			return nil
		end
		local parent, name = path:match "^(.-)/*([^/]+)/*$"
		if name == ".." then
			return nil
		end
		path, rest = parent ~= "" and parent or path:sub(1, 1) == "/" and "/" or ".", name ~= "." and "/" .. name .. rest or rest
	end
end

---Does a path stay in a directory? Both are relative to the working directory. A check of what
---is there now, not a sandbox.
---@param path string
---@param root string
---@return boolean
function M.is_within(path, root)
	local fs = require "runner.fs"
	local inside, from = resolved(fs, path), resolved(fs, root)
	return inside ~= nil and from ~= nil and (inside .. "/"):sub(1, #from + 1) == from .. "/"
end

-- --- all --------------------------------------------------------------------------------

---Why a row's rarer rules reject a value; nil: they don't.
---@param row table normalised
---@param value any of the row's type
---@return "bytes"|"pattern"|"regex"|"outside"|"schema"|nil
function M.refuses(row, value)
	if row.max_bytes and #value > row.max_bytes then
		return "bytes"
	elseif row.schema then
		return require("runner.core.json_schema").problems(row.schema, value)[1] and "schema" or nil
	end
	local why = row.pattern and require("runner.declare.patterns").refuses(row.pattern, value)
	return why or row.within and not M.is_within(value, row.within) and "outside" or nil
end

return M
