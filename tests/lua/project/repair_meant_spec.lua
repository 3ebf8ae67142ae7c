-- What a repair may not turn round or measure otherwise: a unit, the side of a limit, and a value that says no. A project is a table
-- here, and nothing is run.

local catalog = require "runner.project.catalog"
local command = require "runner.declare.command"
local locate = require "runner.project.locate"
local repair = require "runner.project.repair"

-- A project of "thing set", with these arguments.
local function project(args, level)
	local entry = { name = "thing.set", path = "thing.set.lua" }
	local loaded = assert(command.normal({ description = "Do it", danger_level = level or "mutating", run = print, args = args,
		exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } } }, "thing.set"))
	loaded.name = "thing.set"
	catalog.all = function() return { entry } end
	catalog.load = function() return loaded end
	locate.find = function(typed)
		return typed[1] == "thing" and typed[2] == "set" and { name = entry.name, path = entry.path, words = 2 } or nil
	end
end

local function call(...)
	local fix, hint = repair.command { call = { argv = { "thing", "set", ... } }, project = { config = {} } }
	return (fix or hint or ""):match "runner thing.*"
end

describe("what was typed", function()
	local all, load, find = catalog.all, catalog.load, locate.find
	after_each(function()
		catalog.all, catalog.load, locate.find = all, load, find
	end)

	it("keeps its unit: an argument that has another, or none, isn't meant", function()
		local UNITS = { "cents", "euro", "kb", "mb", "gb", "tb", "ms", "seconds", "minutes", "hours", "days", "weeks" }
		local count = 0
		for _, own in ipairs(UNITS) do
			for _, what in ipairs { "Amount in " .. own, "How long, or how much", "The size, time, duration, amount, limit or price" } do
				for _, is_required in ipairs { false, true } do
					for _, level in ipairs { "mutating", "safe" } do
						project({ { own, "integer", required = is_required, description = what } }, level)
						for _, typed in ipairs(UNITS) do
							if typed ~= own then
								assert.is_nil(call("--" .. typed, "15"), typed .. " of " .. own)
								count = count + 1
							end
						end
						for _, typed in ipairs { "amount", "price", "size", "duration", "for", "time", "limit" } do
							assert.is_nil((call("--" .. typed, "15") or ""):match("%-%-" .. own), typed .. " of " .. own)
						end
						assert.equal(("runner thing set --%s 15"):format(own), call("--" .. own:upper(), "15"))
					end
				end
			end
		end
		assert.is_true(count > 1000)
		project { { "size-gb", "integer" } }
		assert.equal("runner thing set --size-gb 15", call("--size", "15GB"))
		assert.is_nil(call("--size", "15MB"))
		project { { "size", "integer", required = true, description = "In GB" } }
		assert.equal("runner thing set --size 15", call("--gb", "15"))
		assert.is_nil(call("--mb", "15"))
		project { { "after", "duration", required = true, description = "In hours" } }
		assert.truthy(call("--hours", "15m"))
	end)

	it("keeps its side of a limit, and gets none", function()
		local SIDES = { "older-than", "newer-than", "min", "max", "above", "below", "at-least", "at-most", "min-views", "max-views" }
		for _, own in ipairs(SIDES) do
			for _, what in ipairs { "Only those " .. own:gsub("-", " ") .. " this age or limit", "Which age, limit, count, size or views" } do
				project { { own, own:find "er%-" and "duration" or "integer", description = what } }
				for _, typed in ipairs { "age", "than", "limit", "count", "size", "views", "value", "at", table.unpack(SIDES) } do
					local value = own:find "er%-" and "5d" or "5"
					if own ~= typed and not own:find(typed .. "-", 1, true) and not typed:find(own .. "-", 1, true) then
						assert.is_nil(call("--" .. typed, value), typed .. " of " .. own)
					end
				end
				assert.truthy(call("--" .. own:upper(), own:find "er%-" and "5d" or "5"))
			end
		end
		project { { "newer-than", "duration" } }
		assert.equal("runner thing set --newer-than 5d", call("--since", "5d"))
		project { { "age", "duration", description = "How old" } }
		for _, typed in ipairs { "since", "newer-than", "older-than", "within" } do
			assert.is_nil(call("--" .. typed, "5d"), typed)
		end
	end)

	it("keeps what says no in front of a value", function()
		for _, level in ipairs { "safe", "mutating" } do
			for _, one in ipairs { "!full", "^full", "~full", "not-full", "no-full", "non-full", "!ful", "not full", "unfull", "-full",
				" !full", '"!full"', "'!full'" } do
				project({ { "mode", "enum", values = { "full", "delta", "other", "third" } } }, level)
				assert.is_nil(call("--mode=" .. one), one)
				project({ { "mode", "enum", values = { "full", "delta" }, required = true } }, level)
				assert.is_nil(call("--mode=" .. one), one)
				project({ { "modes", "array", items = "enum", values = { "full", "delta" } } }, level)
				assert.is_nil(call("--modes", "delta," .. one), one)
			end
			project({ { "count", "integer", min = 1, description = "Number of them" } }, level)
			assert.is_nil(call("--count=-5"))
			assert.is_nil(call("--count=!5"))
			project({ { "cache", "enum", values = { "no-cache", "unknown" } } }, level)
			assert.equal("runner thing set --cache no-cache", call("--cache", "NO_CACHE"))
		end
	end)
end)
