local reference = require "runner.core.reference"

describe("what is written for an ID", function()
	local ID = "run_01M7ZCSDPM44C3BTRA6W2ZPGEE"

	it("is its beginning or its end, in any case, with or without what stands in front", function()
		for _, text in ipairs { ID, ID:lower(), "run_", "r", "0", "01m7zc", "run_01M7ZCSDPM4", "PGEE", "w2zpgee", reference.short(ID) } do
			assert.is_true(reference.matches(ID, text), text)
		end
	end)

	it("is nothing from the middle, no end of three characters, and nothing longer", function()
		for _, text in ipairs { "GEE", "44C3", "job_01M7", "x" .. ID, ID .. "E", "_01M7", "%w%w%w%w" } do
			assert.is_false(reference.matches(ID, text), text)
		end
	end)

	it("is short and random where people read it", function()
		assert.equal("W2ZPGEE", reference.short(ID):sub(2))
		assert.equal(8, #reference.short(ID))
		assert.equal("a", reference.short "a")
	end)
end)
