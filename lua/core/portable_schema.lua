-- portable_schema: a JSON Schema of a declaration (draft 07, patterns of PCRE2) as one that every reader takes: draft 2020-12
-- without keywords that only we know, patterns as lua/core/regexes.lua writes them. A pattern that can't be
-- translated is left out, with a note ($comment); so is what would then refuse more than we do. Pure.

local json = require "runner.json"
local regexes = require "runner.core.regexes"

local M = {}

-- Runner's own, and what would say that it is another draft.
local OURS = { high_entropy = true, ordered = true, ["$schema"] = true, ["$id"] = true }
local ONE = { additionalProperties = true, contains = true, ["else"] = true, ["if"] = true, items = true, ["not"] = true,
	propertyNames = true, ["then"] = true }
local NAMED = { definitions = true, properties = true }
local SEVERAL = { allOf = true, anyOf = true, oneOf = true }
-- What refuses more where a schema in it takes more.
local STRICT = { ["if"] = true, ["not"] = true, oneOf = true }
-- Beside a $ref, draft 07 knows nothing else.
local BESIDE = { description = true, title = true, ["$comment"] = true }

local convert

---The note in the place of a pattern.
---@param why string as lua/core/regexes.lua gives it
---@return string
function M.left_out(why)
	return ("A pattern is left out here, and checked by runner: not all readers of schemas know %s"):format(why)
end

local function note(out, why)
	out["$comment"] = M.left_out(why)
end

local function each(run, schemas)
	local out, lost = setmetatable({}, getmetatable(schemas)), nil
	for name, schema in next, schemas do
		local less
		out[name], less = convert(run, schema)
		lost = lost or less
	end
	return out, lost
end

local function by_pattern(schemas, run, out)
	local kept, lost = {}, nil
	for pattern, schema in next, schemas do
		local text, why = regexes.search(pattern)
		local less
		if text then
			local value
			value, less = convert(run, schema)
			kept[text] = kept[text] and { allOf = json.array { kept[text], value } } or value
		else
			note(out, why)
			run.open[out], less = true, why
		end
		lost = lost or less
	end
	return kept, lost
end

local function reference(run, schema)
	local out = {}
	for key in next, BESIDE do
		out[key] = schema[key]
	end
	local to = schema["$ref"]
	out["$ref"] = to:sub(1, 1) == "#" and run.place .. to:sub(2) or to
	return out, run.lost
end

-- The value of a keyword, and why it takes more than before.
local function keyword(run, key, v, out)
	if key == "pattern" then
		local text, why = regexes.search(v)
		if why then
			note(out, why)
		end
		return text, why
	elseif key == "patternProperties" then
		return by_pattern(v, run, out)
	elseif NAMED[key] or SEVERAL[key] or key == "items" and json.is_array(v) then
		return each(run, v)
	elseif ONE[key] then
		return convert(run, v)
	end
	return v
end

function convert(run, schema)
	if type(schema) ~= "table" then
		return schema
	elseif type(schema["$ref"]) == "string" then
		return reference(run, schema)
	end
	local out, lost = {}, nil
	for key, v in next, schema do
		local value, less
		if not OURS[key] then
			value, less = keyword(run, key, v, out)
		end
		if less and STRICT[key] then
			note(out, less)
			value = nil
		end
		if key == "items" and json.is_array(v) then
			key = "prefixItems"
		end
		out[key], lost = value, lost or less
	end
	if run.open[out] then
		out.additionalProperties = nil
	end
	if out["if"] == nil then
		out["then"], out["else"] = nil, nil
	end
	return out, lost
end

---A copy for other readers.
---@param schema table|boolean
---@param place? string where it stands in a larger document ("#/properties/a"): its local references begin there
---@return table|boolean
---@return string? lost what a pattern that was left out has; nil: it takes exactly what the schema takes
function M.of(schema, place)
	local run = { place = place or "#", open = {} }
	local out, lost = convert(run, schema)
	if lost then -- what a reference leads to may take more, too
		run.lost = lost
		out = convert(run, schema)
	end
	return out, lost
end

---A schema of ours for editors, which are told its draft. It loses nothing, or it is wrong.
---@param schema table of draft 07
---@return table
function M.published(schema)
	local out, lost = M.of(schema)
	assert(not lost, lost)
	out["$schema"] = "http://json-schema.org/draft-07/schema#"
	return out
end

return M
