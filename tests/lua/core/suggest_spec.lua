local suggest = require "runner.core.suggest"

describe("suggest.nearest", function()
	local commands = { "deploy", "rollback", "releases", "health" }

	it("finds a word with one slip of each kind", function()
		for _, word in ipairs({ "deploi", "deplo", "deployy", "dpeloy", "DEPLOY" }) do
			assert.same({ "deploy" }, suggest.nearest(word, commands), word)
		end
	end)

	it("counts swapped neighbours as one slip", function()
		assert.same({ "prod" }, suggest.nearest("prdo", { "prod", "dev" }))
	end)

	it("finds a word by its beginning", function()
		assert.same({ "staging" }, suggest.nearest("stag", { "prod", "staging" }))
	end)

	it("offers nothing that is far off", function()
		assert.same({}, suggest.nearest("prodution", { "prod", "staging", "dev" }))
		assert.same({}, suggest.nearest("xyz", commands))
		assert.same({}, suggest.nearest("", commands))
		assert.same({}, suggest.nearest("a", { "b", "c" }))
	end)

	it("puts the nearest first and keeps the order among equals", function()
		assert.same({ "cat", "bat", "hat" }, suggest.nearest("cat", { "bat", "cat", "hat", "rat" }))
		assert.same({ "bat", "hat" }, suggest.nearest("cat", { "bat", "hat" }, 2))
	end)

	it("keeps to its limit", function()
		assert.equal(3, #suggest.nearest("aaaa", { "aaab", "aaac", "aaad", "aaae" }))
		assert.equal(1, #suggest.nearest("aaaa", { "aaab", "aaac" }, 1))
	end)

	it("bears words of any length and bytes", function()
		assert.same({}, suggest.nearest(("x"):rep(100000), commands))
		assert.same({}, suggest.nearest("\255\0\254", commands))
	end)
end)
