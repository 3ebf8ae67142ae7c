-- What a claude program says that it used, and amounts of money.

local json = require "runner.json"
local money = require "runner.core.money"
local reply = require "runner.workflow.kinds.reply"

local function usage(text)
	return reply.usage(assert(json.decode(text)))
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
		assert.same({}, reply.usage(nil))
	end)

	it("is not believed where it can't be", function()
		assert.same({}, usage '{"session_id":1,"num_turns":-1,"total_cost_usd":-0.1,"usage":[],"modelUsage":"x"}')
		assert.same({}, usage '{"session_id":"","num_turns":1e300,"total_cost_usd":1e10,"usage":{"input_tokens":"9"},"modelUsage":{"m":3}}')
	end)
end)

describe("an amount of money", function()
	it("is a whole number of micro-dollars, to the nearest", function()
		for dollars, micros in pairs { [0.1] = 100000, [0.3] = 300000, [1e-6] = 1, [4e-7] = 0, [0] = 0, [12345.678901] = 12345678901,
			[0.31500000000000006] = 315000 } do
			assert.equal(micros, money.micros(dollars))
		end
		for _, wrong in ipairs { -1, 0 / 0, math.huge, 1e15, "1", {} } do
			assert.is_nil(money.micros(wrong))
		end
	end)

	it("goes to dollars and back without loss", function()
		local micros = 1
		for i = 1, 4000 do
			micros = (micros * 48271 + i) % 100000000000
			assert.equal(micros, money.micros(money.dollars(micros)))
			assert.equal(micros, money.micros(tonumber(money.text(micros))))
		end
	end)

	it("is shown in full to programs, in cents to people", function()
		local rows = { { 0, "0", "$0.00" }, { 525000, "0.525", "$0.53" }, { 2000000, "2", "$2.00" }, { 12, "0.000012", "$0.000012" },
			{ 100000000, "100", "$100.00" }, { 999999, "0.999999", "$1.00" } }
		for _, row in ipairs(rows) do
			assert.same({ row[2], row[3] }, { money.text(row[1]), money.shown(row[1]) })
		end
	end)
end)
