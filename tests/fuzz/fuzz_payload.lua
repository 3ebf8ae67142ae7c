-- Arguments as JSON, whatever their text: args.parse never raises, each problem says what to
-- correct, no message repeats a secret, and each value keeps the rules of its row and can be
-- written as JSON again. The input: a digit (how: the object, a json argument, lenient_json
-- itself), then the text.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local json = require "runner.json"
local lenient_json = require "runner.core.lenient_json"

local COMMAND = assert(command.normal({ description = "x", danger_level = "safe", run = print,
	requires = { { if_flag = "force", prohibited = { "b" } }, { if_flag = "target", if_value = "dev", then_required = { "keep" } },
		{ if_flag = "b", target_flag = "ratio", default = 1 } },
	args = {
		{ "target", "enum", values = { "prod", "dev" }, required = true }, { "keep", "integer", min = 1, max = 50, short = "n" },
		{ "ratio", "number" }, { "force", "boolean" }, { "wait_for", "duration" }, { "id", "string", pattern = "alphanumeric_id" },
		{ "b", "string", max_bytes = 8, min_length = 1 }, { "tags", "array", items = "string", max_length = 3 },
		{ "sizes", "array", items = "integer" }, { "any", "json" },
		{ "filter", "json", schema = { type = "object", properties = { a = { type = "integer" } } } },
		{ "file", "path", within = "site" },
	} }, { path = "commands/x.lua", name = "x" }))

local SECRET = assert(command.normal({ description = "x", danger_level = "safe", run = print,
	args = { { "a", "string", secret = true }, { "b", "integer", secret = true } } }, { path = "commands/x.lua", name = "x" }))

local function no_environment() end

local function check_problem(p)
	assert(type(p.field) == "string" and utf8.len(p.field), "field")
	assert(require("runner.core.errors").well_formed(p.code), p.code)
	assert(type(p.message) == "string" and p.message ~= "" and utf8.len(p.message) and #p.message < 4000, p.message)
	assert(type(p.fix_required) == "string" and p.fix_required ~= "")
	assert(p.corrected_input == nil or json.decode(p.corrected_input, { unique = true }) ~= nil, p.corrected_input)
end

local TYPES = { integer = "integer", number = { integer = true, float = true }, boolean = "boolean" }

local function check_value(row, v)
	local kind = TYPES[row.items or row.type]
	if kind == "integer" then
		assert(math.type(v) == "integer" and v >= (row.min or v) and v <= (row.max or v), row.name)
	elseif kind == "boolean" then
		assert(type(v) == "boolean")
	elseif kind or row.type == "duration" then
		assert(math.type(v) and v == v and v ~= math.huge and v ~= -math.huge)
	elseif row.type ~= "json" then
		assert(type(v) == "string" and utf8.len(v) and not v:find("\0", 1, true), row.name)
		assert(#v <= (row.max_bytes or #v))
	end
end

local function check_values(rows, parsed)
	for _, row in ipairs(rows) do
		local v = parsed.values[row.name]
		for _, item in ipairs(row.type == "array" and v or { v }) do
			check_value(row, item)
		end
		assert(v ~= nil or not row.required, row.name)
	end
	assert(json.encode(parsed.values))
end

local function parse(cmd, opts, tokens)
	opts.command, opts.getenv = cmd, no_environment
	local parsed = args.parse(cmd.args, tokens or {}, opts)
	assert(#parsed.problems <= 101)
	for _, p in ipairs(parsed.problems) do
		check_problem(p)
	end
	if not parsed.problems[1] then
		check_values(cmd.args, parsed)
	else
		assert(json.encode(require("runner.declare.arg_errors").error(parsed.problems).errors))
	end
	return parsed
end

-- A value of a secret stands in no problem: no eight bytes of it.
local function check_secret(text)
	local marked = text:gsub("%%", "q7Zw93Kx")
	for _, p in ipairs(parse(SECRET, { payload = marked }).problems) do
		local known = p.code == "UNKNOWN_FLAG" -- a key is a name, and repeated
		assert(known or not (p.message .. (p.suggestion or "") .. tostring(p.value or "")):find("q7Zw93Kx", 1, true), p.message)
		assert(p.corrected_input == nil)
	end
end

local function check_reader(text)
	local value, why, proposal = lenient_json.decode(text)
	assert((value == nil) == (why ~= nil), why)
	assert(why == nil or why:find "^line %d+ column %-?%d+: ." or why:find "^nested too deeply", why)
	assert(proposal == nil or value == nil and json.decode(proposal, { unique = true }) ~= nil)
	local strict, fault = json.decode(text, { unique = true })
	if fault == nil and why == nil then
		assert(json.encode(strict) == json.encode(value))
	end
	if why == nil then
		local again = assert(json.encode(value))
		assert(json.encode((lenient_json.decode(again))) == again, again)
	end
end

local WAYS = {
	function(text) parse(COMMAND, { payload = text }) end,
	function(text) parse(COMMAND, {}, { "--raw-payload=" .. text:gsub("%z", "") }) end,
	function(text) parse(COMMAND, {}, { "--target=prod", "--any=" .. text:gsub("%z", ""), "--filter=" .. text:gsub("%z", "") }) end,
	check_reader,
	check_secret,
}

return function(text)
	WAYS[(text:byte(1) or 0) % #WAYS + 1](text:sub(2))
end
