-- Keys in an order that is the same every time.

local tables = require "runner.core.tables"

describe("tables.sorted_keys", function()
	it("gives every key once, in order", function()
		assert.same({ "a", "b", "c" }, tables.sorted_keys { c = 1, a = false, b = 3 })
		assert.same({}, tables.sorted_keys {})
	end)
end)

describe("tables.inherited_keys", function()
	it("gives the names of a table and of those behind it, each once", function()
		local outer = setmetatable({ a = 1, b = 2, "first" }, { __index = { z = 0, b = 1 } })
		assert.same({ "a", "b", "c", "z" }, tables.inherited_keys(setmetatable({ b = 3, c = 4 }, { __index = outer })))
		assert.same({}, tables.inherited_keys(nil))
		assert.same({}, tables.inherited_keys(setmetatable({}, { __index = function() end })))
	end)
end)
