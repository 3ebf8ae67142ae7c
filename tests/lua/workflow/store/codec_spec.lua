-- The columns of the run database: what is written means the same when it is read.

local codec = require "runner.workflow.store.codec"
local json = require "runner.json"

local function there_and_back(value)
	return codec.decode({ data = codec.encode("data", value) }).data
end

describe("a value in the database", function()
	it("keeps bytes that JSON can't hold", function()
		assert.same({ a = "a\0b", k = { "\27[31m", "\xff" } }, there_and_back { a = "a\0b", k = { "\27[31m", "\xff" } })
		assert.equal("\xff", there_and_back "\xff")
	end)

	it("keeps what looks like our own form of bytes", function()
		for _, value in ipairs {
			{ ["runner.bytes"] = "1b5b" }, { ["runner.bytes"] = "not hex" }, { ["runner.bytes"] = { 1 } },
			{ ["runner.as_it_is"] = { ["runner.bytes"] = "00" } }, { ["runner.as_it_is"] = "x" },
			{ inner = { ["runner.bytes"] = "1b" }, list = { { ["runner.bytes"] = "1b" } } },
			{ ["runner.bytes"] = "1b", other = 1 }, { ["runner.bytes"] = "\xff" },
			{ ["runner.as_it_is"] = { ["runner.as_it_is"] = { ["runner.bytes"] = "\0" } } },
		} do
			assert.same(value, there_and_back(value))
		end
		assert.same({ { ["runner.bytes"] = "1b" } }, there_and_back(json.array { { ["runner.bytes"] = "1b" } }))
	end)

	it("reads bytes as earlier versions wrote them", function()
		assert.same({ k = "\27[" }, codec.decode({ data = '{"k":{"runner.bytes":"1b5b"}}' }).data)
	end)
end)
