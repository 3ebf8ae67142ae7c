-- What a claude program says that it used, and amounts of money.

local claude_meter = require "runner.workflow.kinds.claude_meter"
local json = require "runner.json"
local amounts = require "runner.core.amounts"
local claude_output = require "runner.workflow.kinds.claude_output"

local function usage(text)
	local found = claude_output.usage(assert(json.decode(text)))
	found.prices = nil
	return found
end

describe("what a reply used", function()
	it("is summed over its models", function()
		assert.same({ session_id = "s", model = "opus", turns = 2, input_tokens = 110, output_tokens = 11, cache_read_tokens = 5,
			cache_write_tokens = 7, cost_micros = 525001 }, usage [[
{"type":"result","is_error":false,"session_id":"s","num_turns":2,"total_cost_usd":0.5250009,
 "usage":{"input_tokens":0,"output_tokens":0},
 "modelUsage":{"haiku":{"inputTokens":10,"outputTokens":1,"costUSD":0.001},
  "opus":{"inputTokens":100,"outputTokens":10,"cacheReadInputTokens":5,"cacheCreationInputTokens":7,"costUSD":0.5}}}]])
	end)

	it("is that of usage where no models are named", function()
		assert.same({ input_tokens = 3, output_tokens = 4, cache_read_tokens = 5, cache_write_tokens = 6 },
			usage '{"usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":5,"cache_creation_input_tokens":6}}')
		assert.same({}, claude_output.usage(nil))
	end)

	it("is not believed where it can't be", function()
		assert.same({}, usage '{"session_id":1,"num_turns":-1,"total_cost_usd":-0.1,"usage":[],"modelUsage":"x"}')
		assert.same({}, usage '{"session_id":"","num_turns":1e300,"total_cost_usd":1e10,"usage":{"input_tokens":"9"},"modelUsage":{"m":3}}')
	end)
end)

describe("the prices that a result shows", function()
	local LIST = { cache_read = 0.1, input = 1, cache_write = 1.25, output = 5 }
	local DEARER = { cache_write = 1.6 } -- for an hour

	local function cost(used, prices)
		local micros = 0
		for kind, tokens in pairs(used) do
			micros = micros + tokens * prices[kind]
		end
		return micros
	end

	it("are never below the true ones, whose ratios are within a factor of two of those of list prices", function()
		local random = require("runner.host").random
		local function some(n) return random() % n end
		for _ = 1, 2000 do
			local true_prices, last = {}, 0
			for _, kind in ipairs { "cache_read", "input", "cache_write", "output" } do
				last = math.max(last, LIST[kind] * (1 + some(1001) / 1000) * (DEARER[kind] or 1) * 7)
				true_prices[kind] = last
			end
			local used = { input = some(1000), output = 1 + some(1000), cache_read = some(100000), cache_write = some(10000) }
			local seen = claude_meter.prices(used, cost(used, true_prices), 1 + some(9))
			for kind, price in pairs(true_prices) do
				assert.is_true(seen[kind] >= price * 0.999999, kind)
			end
		end
		assert.is_nil(claude_meter.prices({ input = 9, output = 0, cache_read = 0, cache_write = 0 }, 10, 1))
	end)

	it("are at most twice the true ones of input and output, wherever the cost of a result comes from", function()
		for _, used in ipairs { { input = 10, output = 200, cache_write = 20000, cache_read = 500000 },
			{ input = 90000, output = 1, cache_write = 0, cache_read = 0 }, { input = 0, output = 1, cache_write = 0, cache_read = 900000 } } do
			local seen = claude_meter.prices(used, cost(used, LIST), 1)
			assert.is_true(seen.output <= 10.0001 and seen.input <= 2.0001 and seen.cache_write <= 4.0001 and seen.cache_read <= 0.20001)
		end
	end)

	it("are those of each model, under the name that its messages have, and of the sum where there is one model", function()
		local seen = claude_output.usage(json.decode [[{"num_turns":2,"total_cost_usd":0.5,
			"modelUsage":{"opus[1m]":{"inputTokens":10,"outputTokens":10}}}]]).prices
		for kind, price in pairs(seen.opus) do
			seen.opus[kind] = math.floor(price)
		end
		assert.same({ opus = { output = 50000, cache_write = 33333, input = 16666, cache_read = 1666, turn = 250000 } }, seen)
		assert.is_nil(claude_output.usage(json.decode [[{"total_cost_usd":0.5,
			"modelUsage":{"a":{"outputTokens":10},"b":{"outputTokens":10}}}]]).prices)
	end)
end)

describe("the events of a program that is cut off", function()
	it("are charged once for each message, whatever they look like", function()
		local meter = claude_meter.new(true)
		local prices = { m = { input = 1, output = 2, cache_read = 1, cache_write = 1, turn = 7 } }
		assert.equal(7, meter:charge(prices))
		for _, line in ipairs { "", "x", "{", '{"type":"assistant"}', '{"type":"assistant","message":7}', '{"type":"assistant"',
			'{"type":"system","subtype":"init","model":"m[1m]"}', '{"type":"user","message":{"usage":{"input_tokens":9}}}' } do
			meter:line(line)
		end
		assert.equal(7, meter:charge(prices))
		assert.is_nil(meter:charge {})
		for _ = 1, 2 do -- two blocks of one message
			meter:line '{"type":"assistant","message":{"id":"1","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":"x"}}}'
		end
		assert.equal(2 * (10 + 2 * 2), meter:charge(prices))
		meter:line '{"type":"assistant","message":{"id":"9","model":"<synthetic>","content":["words"],"usage":{"output_tokens":0}}}'
		assert.equal(2 * (10 + 2 * 2), meter:charge(prices)) -- what the program writes itself costs nothing
		meter:line('{"type":"assistant","message":{"id":"2",', true)
		assert.is_nil(meter:charge(prices))
		assert.is_nil(claude_meter.new(false):charge(prices))
	end)
end)

describe("an amount of money", function()
	it("is a whole number of micro-dollars, to the nearest", function()
		for dollars, micros in pairs { [0.1] = 100000, [0.3] = 300000, [1e-6] = 1, [4e-7] = 0, [0] = 0, [12345.678901] = 12345678901,
			[0.31500000000000006] = 315000 } do
			assert.equal(micros, amounts.micros(dollars))
		end
		for _, wrong in ipairs { -1, 0 / 0, math.huge, 1e15, "1", {} } do
			assert.is_nil(amounts.micros(wrong))
		end
	end)

	it("goes to dollars and back without loss", function()
		local micros = 1
		for i = 1, 4000 do
			micros = (micros * 48271 + i) % 100000000000
			assert.equal(micros, amounts.micros(amounts.dollars(micros)))
			assert.equal(micros, amounts.micros(tonumber(amounts.text(micros))))
		end
	end)

	it("is shown in full to programs, in cents to people", function()
		local rows = { { 0, "0", "$0.00" }, { 525000, "0.525", "$0.53" }, { 2000000, "2", "$2.00" }, { 12, "0.000012", "$0.000012" },
			{ 100000000, "100", "$100.00" }, { 999999, "0.999999", "$1.00" } }
		for _, row in ipairs(rows) do
			assert.same({ row[2], row[3] }, { amounts.text(row[1]), amounts.shown(row[1]) })
		end
	end)
end)
