-- rare_arguments: the keys of an argument that few have, and what they refuse: a pattern, sizes in bytes, directories that a
-- path may not leave, schemas of JSON. Loaded for one of them.

local rules = require "runner.core.rules"

local M = {}

-- 0 would be no limit.
local function bytes(v)
	local n = require("runner.core.sizes").size(v, 1)
	return n ~= 0 and n or nil
end

local function schema(v)
	return type(v) == "table" and require("runner.declare.output_schema").copy(v) or nil
end

M.rules = {
	max_bytes = bytes, within = rules.text, schema = schema, pipe_compatible = rules.flag,
	env_fallbacks = rules.list_of(rules.matching("^[%a_][%w_]*$", 256), 1),
}

-- Which types a key is for.
local FOR = { max_bytes = { string = true, path = true }, within = { path = true }, schema = { json = true },
	pipe_compatible = { string = true, path = true, enum = true, integer = true, number = true, duration = true } }

---The first of a row's env_fallbacks that is set, for a row whose own variable is not. Messages name it.
---@param row table normalised
---@param getenv? fun(name: string): string?
---@return string?
function M.fallback(row, getenv)
	for _, name in ipairs(row.env_fallbacks) do
		local text = (getenv or os.getenv)(name)
		if text and text ~= "" then
			row.read_from = name
			return text
		end
	end
end

---Check the rules between the keys of one argument.
---@param r table row, in part normalised
---@param kind string its type, or that of its items
---@param fault fun(key: string, reason: string, found: any)
function M.check(r, kind, fault)
	for key, kinds in next, FOR do
		if r[key] ~= nil and not kinds[kind] then
			fault(key, "not_for_type", kind)
			r[key] = nil
		end
	end
	if kind == "json" and r.secret then -- a table can't be hidden wherever a part of it appears
		fault("secret", "not_for_type", kind)
	end
	if r.pipe_compatible and r.secret then -- it has --NAME-from-file
		fault("pipe_compatible", "not_for_secret")
	end
	local problem = r.schema and require("runner.declare.output_schema").fault(r.schema)
	if problem then
		fault("schema", "schema", problem)
		r.schema = nil
	end
end

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
