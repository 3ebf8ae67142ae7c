local declared = require "runner.declare.executors"

describe("executors of a runner.lua", function()
	for what, case in pairs {
		["a name that no step can write"] = { { ["a b"] = {} }, "executors", "a b", "is not a valid name" },
		["a name that is no text"] = { { {} }, "executors", 1, "is not a valid name" },
		["the name none"] = { { none = {} }, "executors", "none", "is not a valid name" },
		["no table"] = { { c = true }, "executors", "c", "is no table" },
		["an unknown key"] = { { a = { kind = "local" }, c = { memroy = "4G" } }, "executors.c", "memroy",
			"is not a key of an executor", "rename it to memory" },
		["a key that is no text"] = { { c = { "x" } }, "executors.c", 1, "is not a key of an executor", "remove it" },
		["a wrong value"] = { { c = { kind = "x" } }, "executors.c", "kind",
			"has a value that an executor can't have", "write slurm, command or local" },
	} do
		it("with " .. what .. " are refused in words that name the place", function()
			local prefix, key, clause, fix = declared.wrong(case[1])
			assert.same({ case[2], case[3], case[4], case[5] or fix }, { prefix, key, clause, fix })
			assert.is_nil(declared.accept(case[1]))
		end)
	end

	it("that are no table at all, or right, have no place", function()
		assert.is_nil(declared.wrong(true))
		assert.is_nil(declared.wrong { c = { kind = "local" } })
	end)
end)
