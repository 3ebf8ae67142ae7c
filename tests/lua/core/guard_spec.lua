-- Which functions of the scripts' libraries a dry run refuses.

local fs = require "runner.fs"
local guard = require "runner.core.guard"

local READERS = {}
for name in ("stat lstat list readlink realpath read lock locked watch glob walk tempfile hash"):gmatch "%a+" do
	READERS[name] = true
end

describe("a dry run", function()
	it("refuses each function of fs that changes something: a new one is known to it, or only reads", function()
		local seen = 0
		for name in assert(fs.read "lua/types/fs.lua"):gmatch "\nfunction fs%.([%a_]+)" do
			seen = seen + 1
			assert.is_true((guard.CHANGES[name] ~= nil) ~= (READERS[name] ~= nil), name)
		end
		assert.is_true(seen > 25)
	end)
end)
