-- json_schema: whether a value keeps to a JSON Schema (draft 07). It knows the keywords that
-- constrain JSON (listed in `keywords`), local references ("#/definitions/x") and references
-- to other schemas by file name. Formats other than date-time are not checked, as the draft
-- allows. Loaded on first use.

local json = require "runner.json"
local regexes = require "runner.core.regexes"
local tables = require "runner.core.tables"

local M = {}

---@class runner.SchemaProblem
---@field path string where in the value: "meta/exit_code"; "" is the value itself
---@field message string what is wrong there

local DEPTH_MAX = 200 -- of nested schemas: a reference to itself must end

-- --- single values ---------------------------------------------------------------------

local function type_of(value)
	if value == json.null or value == nil then
		return "null"
	elseif type(value) == "table" then
		return json.is_array(value) and "array" or "object"
	elseif type(value) == "number" then
		return math.type(value) == "integer" and "integer"
			or value == math.floor(value) and math.abs(value) < math.huge and "integer" or "number"
	end
	return type(value)
end

local function is_type(value, wanted)
	local actual = type_of(value)
	return actual == wanted or wanted == "number" and actual == "integer"
end

---Are two decoded values the same?
---@param a any
---@param b any
---@return boolean
function M.equal(a, b)
	if type(a) ~= "table" or type(b) ~= "table" then
		return a == b
	elseif json.is_array(a) ~= json.is_array(b) then
		return false
	end
	for key, value in pairs(a) do
		if not M.equal(value, b[key]) then
			return false
		end
	end
	for key in pairs(b) do
		if a[key] == nil then
			return false
		end
	end
	return true
end

local function shown(value)
	local text = json.encode(value) or tostring(value)
	return #text > 60 and text:sub(1, 57) .. "…" or text
end

local function characters(text)
	return utf8.len(text) or #text
end

local function matches(pattern, text)
	return regexes.found(pattern, text)
end

local function is_date_time(text)
	local month, day, hour, minute, second, zone =
		text:match("^%d%d%d%d%-(%d%d)%-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)%.?%d*(.+)$")
	if not month then
		return false
	end
	local within = month >= "01" and month <= "12" and day >= "01" and day <= "31" and hour < "24" and minute < "60"
		and second <= "60"
	return within and (zone:upper() == "Z" or zone:match("^[+-]%d%d:%d%d$") ~= nil)
end

-- --- schemas ---------------------------------------------------------------------------

-- --- one schema ------------------------------------------------------------------------

local validate

local function report(run, path, message, ...)
	run.problems[#run.problems + 1] = { path = path, message = message:format(...) }
end

local function below(path, key)
	return path == "" and tostring(key) or path .. "/" .. tostring(key)
end

-- The problems of a value by a schema that may be one of several; none are reported.
local function problems_of(run, schema, value, path)
	local inner = setmetatable({ problems = {} }, { __index = run })
	validate(inner, schema, value, path)
	return inner.problems
end

local function holds(run, schema, value, path)
	return #problems_of(run, schema, value, path) == 0
end

local function count_holding(run, schemas, value, path)
	local n = 0
	for _, schema in ipairs(schemas) do
		n = n + (holds(run, schema, value, path) and 1 or 0)
	end
	return n
end

-- Whether a failed alternative came closer than another: fewer problems, or as many further down.
local function is_closer(problems, than)
	return not than or #problems < #than or #problems == #than and #problems[1].path > #than[1].path
end

-- The failed alternative that came closest, which is what a reader wants to hear of.
local function closest(run, schemas, value, path)
	local best
	for _, schema in ipairs(schemas) do
		local problems = problems_of(run, schema, value, path)
		best = is_closer(problems, best) and problems or best
	end
	return best and best[1]
end

local function names(list)
	return table.concat(list, ", ")
end

-- The schema at "#/a/b" of a document.
local function at_pointer(document, pointer)
	for part in pointer:gmatch("[^/]+") do
		part = part:gsub("~1", "/"):gsub("~0", "~")
		document = type(document) == "table" and (document[part] or document[math.tointeger(tonumber(part)) or part])
	end
	return document
end

local function follow(run, reference)
	local file, pointer = reference:match("^([^#]*)#?(.*)$")
	local document = file == "" and run.document or run.others and run.others(file)
	return document, document and at_pointer(document, pointer)
end

local function dependency(run, wanted, key, value, path)
	if not json.is_array(wanted) then
		return validate(run, wanted, value, path)
	end
	for _, name in ipairs(wanted) do
		if value[name] == nil then
			report(run, path, "%q needs %q", key, name)
		end
	end
end

local function is_object(value)
	return type_of(value) == "object"
end

local function is_array(value)
	return type_of(value) == "array"
end

local function is_string(value)
	return type(value) == "string"
end

local function is_number(value)
	return type(value) == "number"
end

-- Whether a name is covered by properties or patternProperties.
local function is_known(schema, name)
	if schema.properties and schema.properties[name] ~= nil then
		return true
	end
	for pattern in pairs(schema.patternProperties or {}) do
		if matches(pattern, name) then
			return true
		end
	end
	return false
end

-- keyword → what it applies to (nil: everything), and its check (run, keyword's value, value, path, schema).
local keywords = {
	type = { nil, function(run, wanted, value, path)
		local list = type(wanted) == "table" and wanted or { wanted }
		for _, name in ipairs(list) do
			if is_type(value, name) then
				return
			end
		end
		report(run, path, "must be %s, is %s", names(list), type_of(value))
	end },
	enum = { nil, function(run, list, value, path)
		for _, one in ipairs(list) do
			if M.equal(one, value) then
				return
			end
		end
		report(run, path, "%s is none of %s", shown(value), shown(list))
	end },
	const = { nil, function(run, wanted, value, path)
		if not M.equal(wanted, value) then
			report(run, path, "must be %s, is %s", shown(wanted), shown(value))
		end
	end },

	required = { is_object, function(run, list, value, path)
		for _, name in ipairs(list) do
			if value[name] == nil then
				report(run, path, "%q is missing", name)
			end
		end
	end },
	properties = { is_object, function(run, properties, value, path)
		for _, name in ipairs(tables.sorted_keys(properties)) do
			if value[name] ~= nil then
				validate(run, properties[name], value[name], below(path, name))
			end
		end
	end },
	patternProperties = { is_object, function(run, patterns, value, path)
		for _, name in ipairs(tables.sorted_keys(value)) do
			for pattern, schema in pairs(patterns) do
				if matches(pattern, name) then
					validate(run, schema, value[name], below(path, name))
				end
			end
		end
	end },
	additionalProperties = { is_object, function(run, schema, value, path, parent)
		for _, name in ipairs(tables.sorted_keys(value)) do
			if not is_known(parent, name) then
				if schema == false then
					report(run, path, "%q is not allowed", name)
				else
					validate(run, schema, value[name], below(path, name))
				end
			end
		end
	end },
	propertyNames = { is_object, function(run, schema, value, path)
		for _, name in ipairs(tables.sorted_keys(value)) do
			validate(run, schema, name, below(path, name))
		end
	end },
	minProperties = { is_object, function(run, n, value, path)
		if #tables.sorted_keys(value) < n then
			report(run, path, "needs at least %d members", n)
		end
	end },
	maxProperties = { is_object, function(run, n, value, path)
		if #tables.sorted_keys(value) > n then
			report(run, path, "has more than %d members", n)
		end
	end },
	dependencies = { is_object, function(run, dependencies, value, path)
		for _, key in ipairs(tables.sorted_keys(dependencies)) do
			if value[key] ~= nil then
				dependency(run, dependencies[key], key, value, path)
			end
		end
	end },

	items = { is_array, function(run, items, value, path)
		for i, item in ipairs(value) do
			local schema = items
			if type(items) == "table" and json.is_array(items) then
				schema = items[i]
			end
			if schema ~= nil then
				validate(run, schema, item, below(path, i - 1))
			end
		end
	end },
	contains = { is_array, function(run, schema, value, path)
		for _, item in ipairs(value) do
			if holds(run, schema, item, path) then
				return
			end
		end
		report(run, path, "contains no item of the kind that is needed")
	end },
	minItems = { is_array, function(run, n, value, path)
		if #value < n then
			report(run, path, "needs at least %d items, has %d", n, #value)
		end
	end },
	maxItems = { is_array, function(run, n, value, path)
		if #value > n then
			report(run, path, "has %d items, at most %d are allowed", #value, n)
		end
	end },
	uniqueItems = { is_array, function(run, wanted, value, path)
		for i = 1, wanted and #value or 0 do
			for j = i + 1, #value do
				if M.equal(value[i], value[j]) then
					return report(run, path, "holds %s twice", shown(value[i]))
				end
			end
		end
	end },

	minLength = { is_string, function(run, n, value, path)
		if characters(value) < n then
			report(run, path, "needs at least %d characters", n)
		end
	end },
	maxLength = { is_string, function(run, n, value, path)
		if characters(value) > n then
			report(run, path, "has more than %d characters", n)
		end
	end },
	pattern = { is_string, function(run, pattern, value, path)
		if not matches(pattern, value) then
			report(run, path, "%s doesn't match %s", shown(value), pattern)
		end
	end },
	format = { is_string, function(run, format, value, path)
		if format == "date-time" and not is_date_time(value) then
			report(run, path, "%s is not a date and time (RFC 3339)", shown(value))
		end
	end },

	minimum = { is_number, function(run, bound, value, path)
		if value < bound then
			report(run, path, "%s is below %s", shown(value), shown(bound))
		end
	end },
	maximum = { is_number, function(run, bound, value, path)
		if value > bound then
			report(run, path, "%s is above %s", shown(value), shown(bound))
		end
	end },
	exclusiveMinimum = { is_number, function(run, bound, value, path)
		if value <= bound then
			report(run, path, "%s must be above %s", shown(value), shown(bound))
		end
	end },
	exclusiveMaximum = { is_number, function(run, bound, value, path)
		if value >= bound then
			report(run, path, "%s must be below %s", shown(value), shown(bound))
		end
	end },
	multipleOf = { is_number, function(run, step, value, path)
		local quotient = value / step
		if quotient ~= math.floor(quotient) then
			report(run, path, "%s is no multiple of %s", shown(value), shown(step))
		end
	end },

	allOf = { nil, function(run, schemas, value, path)
		for _, schema in ipairs(schemas) do
			validate(run, schema, value, path)
		end
	end },
	anyOf = { nil, function(run, schemas, value, path)
		if count_holding(run, schemas, value, path) == 0 then
			local best = closest(run, schemas, value, path)
			report(run, best.path, "%s", best.message)
		end
	end },
	oneOf = { nil, function(run, schemas, value, path)
		local n = count_holding(run, schemas, value, path)
		if n == 0 then
			local best = closest(run, schemas, value, path)
			report(run, best.path, "%s", best.message)
		elseif n > 1 then
			report(run, path, "matches %d alternatives that exclude each other", n)
		end
	end },
	["not"] = { nil, function(run, schema, value, path)
		if holds(run, schema, value, path) then
			report(run, path, "is of a kind that is not allowed: %s", shown(schema))
		end
	end },
	["if"] = { nil, function(run, schema, value, path, parent)
		local branch = parent[holds(run, schema, value, path) and "then" or "else"]
		if branch ~= nil then
			validate(run, branch, value, path)
		end
	end },
}

-- In one order, so that the same value always gives the same first problem.
local ORDER = tables.sorted_keys(keywords)

local function validate_reference(run, reference, value, path)
	local document, schema = follow(run, reference)
	if schema == nil or schema == false then
		return report(run, path, "the schema refers to %s, which doesn't exist", reference)
	end
	local inner = setmetatable({ document = document }, { __index = run })
	return validate(inner, schema, value, path)
end

function validate(run, schema, value, path)
	if schema == true or schema == false then
		return schema or report(run, path, "is not allowed")
	end
	local deeper = setmetatable({ depth = run.depth + 1 }, { __index = run })
	if deeper.depth > DEPTH_MAX then
		return report(run, path, "is nested too deeply to be checked")
	elseif schema["$ref"] then
		return validate_reference(deeper, schema["$ref"], value, path)
	end
	for _, name in ipairs(ORDER) do
		local wanted, keyword = schema[name], keywords[name]
		if wanted ~= nil and (not keyword[1] or keyword[1](value)) then
			keyword[2](deeper, wanted, value, path, schema)
		end
	end
end

---The problems of a value by a schema; none: it is valid.
---@param schema table|boolean decoded by runner.json
---@param value any decoded by runner.json, or a Lua value as runner.json encodes it
---@param others? fun(file: string): table? the schema that "$ref": "file.json" means
---@return runner.SchemaProblem[]
function M.problems(schema, value, others)
	local run = { document = schema, others = others, problems = {}, depth = 0 }
	validate(run, schema, value, "")
	return run.problems
end

---One problem as text: "meta/exit_code: must be integer, is null".
---@param problem runner.SchemaProblem
---@return string
function M.text(problem)
	return ("%s: %s"):format(problem.path == "" and "<root>" or problem.path, problem.message)
end

---The first problems as texts.
---@param problems runner.SchemaProblem[]
---@param most integer so many at most
---@return string[]
function M.texts(problems, most)
	local texts = {}
	for i = 1, math.min(#problems, most) do
		texts[i] = M.text(problems[i])
	end
	return texts
end

return M
