-- input: what a command declares about what it reads: its stdin, rules between its arguments, where its options may stand, and
-- commands whose stdin and stdout are another program's (arguments = "passthrough", REQ-C-031) or a protocol's (stdout =
-- "protocol", REQ-C-032; lua/project/raw_stdout.lua acts on them). And how arguments may come as JSON.

local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

-- --- stdin -----------------------------------------------------------------------------------

local STDIN_TYPES = rules.one_of("text", "bytes", "json")

-- What a command reads whole, before `run`: a type, a cap, and whether it needs it. `true` hands
-- the stream itself to `run`.
local STDIN = {
	type = STDIN_TYPES,
	required = rules.flag,
	max_bytes = function(v)
		local n = require("runner.core.amounts").size(v, 1)
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
	local out = tables.accepted(STDIN, v)
	if not out then
		return nil
	end
	out.type = out.type or "text"
	if out.required == nil then
		out.required = true
	end
	return not (out.schema and out.type ~= "json") and out or nil
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

-- rules between arguments (REQ-C-026)

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

-- --- another program's stdin and stdout ------------------------------------------------------

-- What needs an answer on stdout, a second attempt, or a caller who comes back later.
local NEITHER = { "retry", "streams", "list", "rows", "truncates", "output_schema", "older_versions", "columns", "async", "interruption",
	"safe_default", "requires_person", "resumable" }
local NO_PASSTHROUGH = { "args", "requires", "option_placement", "stdout", "subprocess", "requires_editor", "auth" }
local NO_PROTOCOL = { "stdin", "interactive", "arguments", "requires_editor", "gui_operations" }

local function excluded(n, names, what, fault)
	for _, name in ipairs(names) do
		local value = n[name]
		if value and not (name == "args" and not value[1]) then
			fault(("can't be used with %s"):format(name), ("Remove %s, or %s"):format(name, what))
		end
	end
end

-- A destructive call could not be confirmed: --confirm-destructive would be the other program's.
local function check(n, what, more, fault)
	excluded(n, NEITHER, what, fault)
	excluded(n, more, what, fault)
	if n.danger_level == "destructive" then
		fault('can\'t be used with danger_level = "destructive"', "Remove " .. what .. ", and declare the arguments")
	end
end

local function check_passthrough(n, fault)
	check(n, 'arguments = "passthrough"', NO_PASSTHROUGH, fault)
	if type(n.stdin) == "table" then
		fault("can't be used with a table for stdin", "Remove stdin: the other program reads it")
	end
	n.stdin, n.raw = true, "passthrough"
end

local function check_protocol(n, fault)
	check(n, 'stdout = "protocol"', NO_PROTOCOL, fault)
	if not n.protocol then
		fault("needs protocol", 'Name it: protocol = "mcp-stdio", "lsp", "dap" or a name of your own')
	end
	n.stdin, n.raw = true, "protocol"
end

local function needs(key, value)
	return function(n, fault)
		if n[key] ~= value then
			fault(("needs %s = %q"):format(key, value), ("Add %s = %q"):format(key, value))
		end
	end
end

-- --- the rows ---------------------------------------------------------------------------

---@type runner.Subject
return {
	keys = {
		-- stdin
		requires = { accept = rules.list_of(rule, 1), manifest = "schema", check = check_requires, expected = REQUIRES },
		stdin = { accept = stdin, manifest = "none", check = check_stdin,
			expected = 'true or false, or a table such as { type = "json", max_bytes = "1MiB", required = false }' },
		-- options
		option_placement = { accept = rules.one_of("any", "strict"), expected = '"any" or "strict"', manifest = "entry" },
		-- another program's stdin and stdout
		arguments = { accept = rules.one_of "passthrough", expected = '"passthrough"', manifest = "schema", check = check_passthrough },
		help_argv = { accept = rules.list_of(rules.text, 1), manifest = "schema", check = needs("arguments", "passthrough"),
			expected = 'the words that ask the other program for help: { "--help" }' },
		stdout = { accept = rules.one_of "protocol", expected = '"protocol"', manifest = "schema", check = check_protocol },
		protocol = { accept = rules.matching("^[a-z][a-z0-9]*[a-z0-9-]*$", 64), manifest = "schema", check = needs("stdout", "protocol"),
			expected = '"mcp-stdio", "lsp", "dap" or another name of a-z, 0-9 and -' },
	},
	flags = {
		-- stdin
		{ name = "raw_payload", type = "string", yields = true, secret = true, section = "Input",
			description = "All arguments as one JSON object, in place of flags" },
		{ name = "input_file", type = "path", yields = true, listed = "stdin", section = "Input",
			description = "Read the arguments from this file, as one JSON object; - is stdin. The data of a command that declares stdin" },
		{ name = "validate_only", type = "boolean", yields = true, section = "Input",
			description = "Check the call and say what is wrong with it; run nothing" },
	},
}
