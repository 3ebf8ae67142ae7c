-- host.protect: which failures come with a traceback (src/worker/host.c).

local host = require "runner.host"

local function failing_with(v)
	local _, _, traceback = host.protect(function() error(v, 0) end)
	return traceback
end

describe("host.protect", function()
	it("gives the traceback of what a script did not mean", function()
		for _, raised in ipairs { "broken", {}, { code = 1 }, { code = "lower" }, { code = "X" }, { code = ("X"):rep(65) }, { code = "A\0B" },
			setmetatable({}, { __index = { code = "NOT_YET" } }) } do
			assert.matches("^stack traceback:", failing_with(raised))
		end
	end)

	it("gives none for a failure with a code, and asks no metamethod about it", function()
		assert.is_nil(failing_with { code = "NOT_YET" })
		local raised = setmetatable({ code = "NOT_YET" }, { __index = error, __tostring = error, __metatable = false })
		local ok, same, traceback, cancelled = host.protect(error, raised)
		assert.is_false(ok)
		assert.equal(raised, same)
		assert.is_nil(traceback)
		assert.is_false(cancelled)
	end)
end)
