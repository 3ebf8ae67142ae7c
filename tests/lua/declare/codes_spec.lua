-- What Lua is told of the registry of error codes (src/common/codes.def).

local host = require "runner.host"

describe("a code of the registry", function()
	it("has its exit status and what to do, and when to try again where that is known", function()
		local limited = host.registry_code "RATE_LIMIT_EXCEEDED"
		assert.same({ "RATE_LIMITED", "true", 30000, "exponential_backoff" },
			{ limited.entry, limited.retryable, limited.retry_after_ms, limited.retry_strategy })
		assert.is_nil(host.registry_code("NOT_FOUND").retry_after_ms)
		assert.is_nil(host.registry_code "NO_SUCH_CODE")
	end)
end)
