-- Whatever was wrong with a call, its fix has no value elsewhere than where a right name has put it: over random declarations and calls.
-- The seed is fixed; a failure names the round, and the call.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local repair = require "runner.project.repair_arguments"

local ROUNDS = 6000
local NAMES = { "src", "dst", "log", "from", "to", "files", "first", "no_cache", "limit_to", "tags", "mode", "name" }
local UNKNOWN = { "cache", "source", "file", "Tags", "path", "x", "out", "max", "lvel", "nam", "quiet-mode", "target", "query" }

local function pick(list)
	return list[math.random(#list)]
end

local function declaration()
	local list, positional, used = {}, math.random(0, 3), {}
	for i = 1, math.random(2, 5) do
		local name = pick(NAMES)
		if not used[name] then
			used[name] = true
			local row = { name, pick { "string", "string", "integer", "array", "boolean", "enum" } }
			row.positional = i <= positional and row[2] ~= "boolean" or nil
			row.required = row[2] ~= "boolean" and row[2] ~= "array" and math.random(3) == 1 or nil
			row.items = row[2] == "array" and pick { "string", "integer" } or nil
			row.values = row[2] == "enum" and { "v1", "v2", "copy", "move", "3", "4" } or nil
			list[#list + 1] = row
		end
	end
	return { description = "x", danger_level = pick { "safe", "mutating" }, option_placement = math.random(4) == 1 and "strict" or nil,
		exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } }, args = list, run = print }
end

local function misspelt(name)
	return pick { name:upper(), name .. "s", name:sub(1, -2), name:gsub("-", ""), name:gsub("^%l", string.upper) }
end

-- A call: its words, and what was given by a right name: value → flag. Each value is given once.
local function call_of(normal)
	local words, right, n = {}, {}, 0
	local strict, behind = normal.option_placement == "strict", false -- behind its first word nothing is an option
	for _ = 1, math.random(1, 6) do
		local row = pick(normal.args)
		n = n + 1
		local value = ((row.type == "integer" or row.items == "integer") and "" or "v") .. n
		local kind = math.random(6)
		if kind == 1 then
			words[#words + 1] = value
			behind = strict
		elseif kind == 2 then
			words[#words + 1] = "--" .. pick(UNKNOWN) .. pick { "=" .. value, "=false", "=" .. value }
		elseif kind == 3 then
			words[#words + 1] = "--" .. misspelt(row.flag) .. "=" .. value
		elseif row.type == "boolean" then
			words[#words + 1] = "--" .. row.flag
		else
			words[#words + 1] = "--" .. row.flag .. "=" .. value
			right[value] = not behind and row.name or nil
		end
	end
	return words, right
end

local function each(value)
	return type(value) == "table" and value or { value }
end

describe("a repaired call", function()
	it("has no value under another name than the right one it was given by", function()
		math.randomseed(20261129)
		local fixed, kept = 0, 0
		for round = 1, ROUNDS do
			local normal = command.normal(declaration(), "x")
			local words, right = {}, {}
			if normal then
				normal.name = "x"
				words, right = call_of(normal)
			end
			local is_wrong = normal and args.parse(normal.args, words, { command = normal }).problems[1]
			for _, proposal in ipairs(is_wrong and repair.proposals(normal, words, {}) or {}) do
				local fix = proposal.words
				local parsed = args.parse(normal.args, fix, { command = normal })
				if parsed.problems[1] then
					goto continue -- is none
				end
				fixed = fixed + 1
				local said = ("round %d: %s -> %s"):format(round, table.concat(words, " "), table.concat(fix, " "))
				local found = {}
				for name, value in pairs(parsed.values) do
					for _, one in ipairs(each(value)) do
						one = tostring(one)
						assert.is_true(right[one] == nil or right[one] == name, said)
						found[one] = true
					end
				end
				for value in pairs(right) do
					kept = kept + 1
					assert.is_true(found[value], said .. ": no " .. value)
				end
				::continue::
			end
		end
		assert.is_true(fixed > ROUNDS / 50 and kept > ROUNDS / 50, fixed .. " " .. kept)
	end)
end)
