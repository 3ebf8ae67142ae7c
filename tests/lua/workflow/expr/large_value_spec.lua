-- Outputs that are kept in a file, or were cut.

local large_value = require "runner.workflow.expr.large_value"

describe("an output that was cut", function()
	it("suggests a limit of twice its length, a power of two, and at least 2 MiB", function()
		for bytes, limit in pairs { [1] = "2M", [1 << 20] = "2M", [(1 << 20) + 1] = "4M", [2 << 20] = "4M", [3 << 20] = "8M",
			[4 << 20] = "8M" } do
			local ok, e = pcall(large_value.file, large_value.new { step = "long", cut = 1, bytes = bytes })
			assert.is_false(ok)
			assert.equal("PRECONDITION", e.code)
			assert.truthy(e.suggestion:find("Set capture_limit: " .. limit .. " on step long;", 1, true), e.suggestion)
		end
	end)
end)
