-- Properties over random values: what goes through JSON, and through argv, comes
-- back. The seeds are fixed; a failure names the round, which makes the same value.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local json = require "runner.json"

-- The normal form, or the error that names every problem.
local function check(declared, where)
	local normal, raised = command.normal(declared, where)
	return normal, not normal and require("runner.declare.declaration").error(declared, where, raised) or nil
end

local ROUNDS = 2000

local function pick(list)
	return list[math.random(#list)]
end

-- --- random texts and numbers ---------------------------------------------------

local CHARACTERS = { "a", "Z", "0", " ", "-", "=", ",", ".", "/", "\\", '"', "'", "$", "\n", "\t", "\127", "é", "€",
	"😀", "\u{85}", "\u{2028}", "\u{FFFF}" }

local function random_text(most)
	local out = {}
	for i = 1, math.random(0, most) do
		out[i] = pick(CHARACTERS)
	end
	return table.concat(out)
end

local INTEGERS = { 0, 1, -1, math.maxinteger, math.mininteger, 2 ^ 53 | 0, -(2 ^ 53) | 0 }
local FLOATS = { 0.0, -0.0, 0.1, 1e308, 5e-324, -1.5, 2.0 ^ 53, 1 / 3 }

local function random_integer()
	return math.random(3) == 1 and pick(INTEGERS) or math.random(-1000000, 1000000)
end

local function random_number()
	return math.random(3) == 1 and pick(FLOATS) or (math.random() - 0.5) * 10.0 ^ math.random(-20, 20)
end

-- --- JSON -------------------------------------------------------------------------

local random_value

local function random_array(depth)
	local out = {}
	for i = 1, math.random(0, 5) do
		out[i] = random_value(depth - 1)
	end
	return json.array(out)
end

local function random_object(depth)
	local out = {}
	for _ = 1, math.random(0, 5) do
		out[random_text(6)] = random_value(depth - 1)
	end
	return out
end

local LEAVES = {
	random_integer, random_number, function() return random_text(20) end,
	function() return math.random(2) == 1 end, function() return json.null end,
}

function random_value(depth)
	if depth > 0 and math.random(3) == 1 then
		return pick { random_array, random_object } (depth)
	end
	return pick(LEAVES)()
end

-- 1 and 1.0, {} and [] are not the same.
local function same(a, b)
	if type(a) ~= "table" or type(b) ~= "table" then
		return a == b and math.type(a) == math.type(b)
	elseif json.is_array(a) ~= json.is_array(b) then
		return false
	end
	for k, v in pairs(a) do
		if not same(v, b[k]) then
			return false
		end
	end
	for k in pairs(b) do
		if a[k] == nil then
			return false
		end
	end
	return true
end

describe("JSON of random values", function()
	it("reads back as the same value, with the same types", function()
		math.randomseed(20260401)
		for round = 1, ROUNDS do
			local value = random_value(6)
			local text = assert(json.encode(value))
			assert.is_true(same(value, json.decode(text)), ("round %d: %s"):format(round, text))
			assert.equal(text, json.encode(json.decode(text)), "round " .. round)
		end
	end)

	it("is clean whatever bytes a text holds, and from then on stays as it is", function()
		math.randomseed(20260402)
		for round = 1, ROUNDS do
			local bytes = {}
			for i = 1, math.random(0, 30) do
				bytes[i] = string.char(math.random(0, 255))
			end
			local text = assert(json.encode { table.concat(bytes) })
			assert.is_nil(text:find("[%c\127]"), "round " .. round)
			assert.truthy(utf8.len(text), "round " .. round)
			local again, _, notes = json.encode(json.decode(text), {})
			assert.same({ text, 0 }, { again, notes.repaired }, "round " .. round)
		end
	end)
end)

-- --- argv -------------------------------------------------------------------------

local ENUM = { "prod", "staging", "dev", "-x", "a b", "é" }

-- A value of that type, and its spellings.
local KINDS = {
	string = function()
		local text = random_text(8)
		return text, { text }
	end,
	enum = function()
		local value = pick(ENUM)
		return value, { value }
	end,
	integer = function()
		local n = random_integer()
		return n, { ("%d"):format(n), n >= 0 and ("+%d"):format(n) or ("%d"):format(n) }
	end,
	number = function()
		local n = random_number()
		return n, { ("%.17g"):format(n) }
	end,
	boolean = function()
		local v = math.random(2) == 1
		return v, v and { "true", "yes", "on", "1" } or { "false", "no", "off", "0" }
	end,
	duration = function()
		local ms = math.random(0, 10000000)
		local seconds = ms % 1000 == 0 and ms // 1000 or ms / 1000
		return seconds, { ms .. "ms", ("%.3fs"):format(ms / 1000), ("%.3f"):format(ms / 1000) }
	end,
}
local TYPES = { "string", "enum", "integer", "number", "boolean", "duration" }

local function random_rows()
	local list = {}
	for i = 1, math.random(1, 6) do
		local kind, is_array = pick(TYPES), math.random(4) == 1
		list[i] = { "arg" .. i, is_array and "array" or kind, items = is_array and kind or nil,
			values = kind == "enum" and ENUM or nil, short = math.random(2) == 1 and ("abcdef"):sub(i, i) or nil }
	end
	local normal, e = check({ description = "x", danger_level = "safe", run = print, args = list },
		{ path = "commands/x.lua", name = "x" })
	return assert(normal, e and e.message).args
end

-- One value as tokens: each way of writing it that a user may choose.
local function write(row, text, tokens)
	local way = math.random(4)
	if row.type == "boolean" then
		way = 3 -- a value of its own only behind "="
	end
	if way == 1 and not text:find("^%-") then
		table.move({ "--" .. row.flag, text }, 1, 2, #tokens + 1, tokens)
	elseif way == 2 and row.short and text ~= "" then
		tokens[#tokens + 1] = "-" .. row.short .. "=" .. text
	else
		tokens[#tokens + 1] = "--" .. row.flag .. "=" .. text
	end
end

local function random_call(rows)
	local want, tokens = {}, {}
	for _, row in ipairs(rows) do
		local kind = row.items or row.type
		local count = row.type == "array" and math.random(0, 3) or math.random(0, 1)
		for _ = 1, count do
			local value, spellings = KINDS[kind]()
			write(row, pick(spellings), tokens)
			if row.type == "array" then
				want[row.name] = want[row.name] or {}
				table.insert(want[row.name], value)
			else
				want[row.name] = value
			end
		end
		if count == 0 and row.type == "array" then
			want[row.name] = {}
		elseif count == 0 and row.type == "boolean" then
			want[row.name] = false
		end
	end
	return want, tokens
end

describe("random arguments", function()
	it("come out of argv as the values that were written into it", function()
		math.randomseed(20260403)
		for round = 1, ROUNDS do
			local rows = random_rows()
			local want, tokens = random_call(rows)
			local r = args.parse(rows, tokens)
			local shown = ("round %d: %s"):format(round, json.encode(tokens))
			assert.same({}, r.problems, shown)
			assert.same(want, r.values, shown)
		end
	end)

	it("stay behind -- as they are, whatever they look like", function()
		math.randomseed(20260404)
		local rows = check({ description = "x", danger_level = "safe", run = print,
			args = { { "words", "string", variadic = true } } }, { path = "commands/x.lua", name = "x" }).args
		for _ = 1, ROUNDS do
			local words = { "--" }
			for i = 1, math.random(0, 5) do
				words[i + 1] = pick { "--words", "-h", "--", "" } .. random_text(4)
			end
			local r = args.parse(rows, words)
			assert.same({}, r.problems)
			assert.same(table.move(words, 2, #words, 1, {}), r.values.words)
		end
	end)
end)
