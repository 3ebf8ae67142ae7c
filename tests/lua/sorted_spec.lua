-- Keys in an order that is the same every time.

local sorted = require "runner.sorted"

describe("sorted.keys", function()
	it("gives every key once, in order", function()
		assert.same({ "a", "b", "c" }, sorted.keys { c = 1, a = false, b = 3 })
		assert.same({}, sorted.keys {})
	end)
end)
