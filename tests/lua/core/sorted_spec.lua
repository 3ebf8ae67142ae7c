-- Keys in an order that is the same every time.

local sorted = require "runner.core.sorted"

describe("sorted.keys", function()
	it("gives every key once, in order", function()
		assert.same({ "a", "b", "c" }, sorted.keys { c = 1, a = false, b = 3 })
		assert.same({}, sorted.keys {})
	end)
end)

describe("sorted.inherited", function()
	it("gives the names of a table and of those behind it, each once", function()
		local outer = setmetatable({ a = 1, b = 2, "first" }, { __index = { z = 0, b = 1 } })
		assert.same({ "a", "b", "c", "z" }, sorted.inherited(setmetatable({ b = 3, c = 4 }, { __index = outer })))
		assert.same({}, sorted.inherited(nil))
		assert.same({}, sorted.inherited(setmetatable({}, { __index = function() end })))
	end)
end)
