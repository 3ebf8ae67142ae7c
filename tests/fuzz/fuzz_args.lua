-- args.parse takes any tokens and any environment: it never raises, each problem
-- says what to correct, and each value keeps the rules of its row. The input:
-- a digit (which command), then tokens, each behind a NUL; NAME=value behind \1
-- is the environment.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local json = require "runner.json"

local COMMANDS = {
	{
		{ "target", "enum", values = { "prod", "staging", "dev" }, required = true, short = "t", code = "BAD_TARGET" },
		{ "release", "string", pattern = "semver", positional = true },
		{ "keep", "integer", min = 1, max = 50, default = 5, short = "n", env = "KEEP" },
		{ "force", "boolean", short = "f" }, { "dry_run", "boolean", short = "d" },
	},
	{
		{ "from", "path", positional = true, required = true }, { "files", "path", variadic = true },
		{ "wait", "duration", min = "1s", max = "1h", default = "2s" }, { "ratio", "number", min = -1, max = 1 },
	},
	{
		{ "tag", "array", items = "string", min_length = 1, max_length = 3, env = "TAGS", short = "T" },
		{ "level", "array", items = "enum", values = { "a", "b" } }, { "size", "array", items = "integer" },
	},
	{
		{ "id", "string", min_length = 2, max_length = 8, pattern = "^[a-zé€]+$", positional = true },
		{ "url", "string", pattern = "url" }, { "file", "string", pattern = "filepath" },
		{ "uuid", "string", pattern = "uuid" }, { "deadline", "duration", default = "none" },
	},
	{},
}

local ROWS = {}
for i, list in ipairs(COMMANDS) do
	ROWS[i] = assert(command.normal({ description = "x", danger_level = "safe", run = print, args = list },
		{ path = "commands/x.lua", name = "x" })).args
end

local function split(text)
	local tokens, env = {}, {}
	for token in text:gmatch("%z([^%z]*)") do
		local name, value = token:match("^\1([^=]*)=(.*)$")
		if name then
			env[name] = value
		else
			tokens[#tokens + 1] = token
		end
	end
	return tokens, function(name) return env[name] end
end

local function check_problem(p)
	assert(type(p.field) == "string" and require("runner.core.errors").well_formed(p.code), p.code)
	assert(type(p.message) == "string" and p.message ~= "")
	assert(utf8.len(p.message), "a problem's message is no UTF-8")
	assert(#p.message < 4000, "a problem's message is too long")
	assert(p.fix_required == nil or type(p.fix_required) == "string")
end

local TYPES = { string = "string", path = "string", enum = "string", integer = "integer", number = "number",
	duration = "number", boolean = "boolean" }

local function check_item(row, v)
	local kind = TYPES[row.items or row.type]
	assert(kind == "integer" and math.type(v) == "integer" or kind ~= "integer" and type(v) == kind, row.name)
	assert(not (row.min and v < row.min) and not (row.max and v > row.max), row.name)
	assert(type(v) ~= "string" or utf8.len(v))
	assert(v == v and v ~= math.huge and v ~= -math.huge)
end

local function check_values(rows, values)
	for _, row in ipairs(rows) do
		local v = values[row.name]
		for _, item in ipairs(row.type == "array" and v or { v }) do
			check_item(row, item)
		end
		assert(v ~= nil or not row.required, row.name)
	end
end

return function(text)
	local rows = ROWS[(text:byte(1) or 0) % #ROWS + 1]
	local tokens, getenv = split(text)
	local r = args.parse(rows, tokens, { getenv = getenv })
	assert(#r.problems <= 101)
	for _, p in ipairs(r.problems) do
		check_problem(p)
	end
	if #r.problems == 0 then
		check_values(rows, r.values)
		assert(json.encode(r.values))
	else
		local e = require("runner.declare.arg_errors").error(r.problems)
		assert(e.fix_required and e.phase == "validation" and json.encode(e.errors))
	end
	local names, places = args.command_words(tokens)
	for i, name in ipairs(names) do
		assert(tokens[places[i]] == name)
	end
end
