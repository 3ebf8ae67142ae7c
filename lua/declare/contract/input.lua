-- input: how the arguments of a command may come as JSON, and what a command declares about what
-- it reads.

local rules = require "runner.core.rules"

local STDIN_TYPES = rules.one_of("text", "bytes", "json")

-- What a command reads whole, before `run`: a type, a cap, and whether it needs it. `true` hands
-- the stream itself to `run`.
local STDIN = {
	type = STDIN_TYPES,
	required = rules.flag,
	max_bytes = function(v)
		local n = rules.size(v, 1)
		return n ~= 0 and n or nil
	end,
	schema = function(v)
		return type(v) == "table" and require("runner.declare.output_schema").copy(v) or nil
	end,
}

local function stdin(v)
	if type(v) ~= "table" then
		return rules.flag(v)
	end
	local whole = true
	local out = rules.accept(STDIN, "stdin", v, nil, function() whole = false end)
	out.type = out.type or "text"
	if out.required == nil then
		out.required = true
	end
	return whole and not (out.schema and out.type ~= "json") and out or nil
end

local function check_stdin(n, fault)
	local schema = type(n.stdin) == "table" and n.stdin.schema
	local problem = schema and require("runner.declare.output_schema").fault(schema)
	if problem then
		fault("has a schema that is no JSON Schema: " .. problem, "Correct the schema")
	end
	for _, row in ipairs(type(n.args) == "table" and n.args or {}) do
		if n.stdin and type(row) == "table" and row.pipe_compatible then
			fault("can't be used with an argument that is pipe_compatible", "Remove one of them: there is one stdin")
		end
	end
end

-- --- rules between arguments (REQ-C-026) ---------------------------------------------------

-- As its flag is spelt, without the dashes in front.
local function flag_name(v)
	return type(v) == "string" and v:find "^%-*[a-z][a-z0-9_-]*$" and v:gsub("^%-+", ""):gsub("_", "-") or nil
end

local several, some = rules.list_of(flag_name, 2), rules.list_of(flag_name, 1)

local SHAPES = {
	{ if_flag = flag_name, if_value = rules.anything, then_required = some },
	{ if_flag = flag_name, prohibited = some },
	{ if_flag = flag_name, target_flag = flag_name, default = rules.anything },
	{ any_of = several },
	{ one_of = several },
}

local function in_shape(shape, v)
	for key in next, v do
		if not shape[key] then
			return nil
		end
	end
	local out = {}
	for key, accept in next, shape do
		if v[key] == nil then
			return nil
		end
		out[key] = accept(v[key])
		if out[key] == nil then
			return nil
		end
	end
	return out
end

local function rule(v)
	for _, shape in ipairs(SHAPES) do
		local out = type(v) == "table" and in_shape(shape, v)
		if out then
			return out
		end
	end
end

local FLAGS_OF = { "if_flag", "target_flag", "then_required", "prohibited", "any_of", "one_of" }

-- Every name is an argument's. Their rows have not been walked yet.
local function check_requires(n, fault)
	local known = {}
	for _, row in ipairs(n.args or {}) do
		local name = type(row) == "table" and (row.name or row[1])
		known[type(name) == "string" and name:gsub("_", "-") or ""] = true
	end
	for _, one in ipairs(n.requires) do
		for _, key in ipairs(FLAGS_OF) do
			for _, name in ipairs(type(one[key]) == "table" and one[key] or { one[key] }) do
				if not known[name] then
					fault(("names '%s', which is no argument"):format(name), "Name an argument of this command")
				end
			end
		end
	end
end

local REQUIRES = 'a list of rules such as { if_flag = "format", if_value = "csv", then_required = { "separator" } }, '
	.. '{ if_flag = "a", prohibited = { "b" } }, { if_flag = "a", target_flag = "b", default = 1 }, { any_of = { "a", "b" } } '
	.. 'or { one_of = { "a", "b" } }'

---@type runner.Subject
return {
	keys = {
		requires = { accept = rules.list_of(rule, 1), manifest = "schema", check = check_requires, expected = REQUIRES },
		stdin = { accept = stdin, manifest = "none", check = check_stdin,
			expected = 'true or false, or a table such as { type = "json", max_bytes = "1MiB", required = false }' },
	},
	flags = {
		{ name = "raw_payload", type = "string", yields = true, secret = true, section = "Input",
			description = "All arguments as one JSON object, in place of flags" },
		{ name = "input_file", type = "path", yields = true, listed = "stdin", section = "Input",
			description = "Read the arguments from this file, as one JSON object; - is stdin. The data of a command that declares stdin" },
		{ name = "validate_only", type = "boolean", yields = true, section = "Input",
			description = "Check the call and say what is wrong with it; run nothing" },
	},
}
