local errors = require "runner.core.errors"

describe("errors", function()
	it("shows an error as CODE: message", function()
		assert.equal("LOCKED: held by 12", tostring(errors.new("LOCKED", "held by 12")))
	end)

	it("takes the code for the message when there is none", function()
		assert.equal("LOCKED", errors.new("LOCKED").message)
	end)

	it("keeps every field of the contract", function()
		local fields = {
			retryable = "maybe", retry_after_ms = 5, retry_strategy = "immediate", side_effects = "partial",
			phase = "execution", fix_required = "a", fix_command = "b", suggestion = "c", context = { x = 1 },
			data = false, detail = "d", errors = { {} }, retries_exhausted = 3,
		}
		local e = errors.new("X1", "m", fields)
		for name, value in pairs(fields) do
			assert.same(value, e[name], name)
		end
	end)

	it("keeps retryable = false, which is not the same as not said", function()
		assert.is_false(errors.new("X1", "m", { retryable = false }).retryable)
		assert.is_nil(errors.new("X1", "m").retryable)
	end)

	it("leaves out values that the wire format forbids", function()
		local e = errors.new("X1", "m", {
			retryable = "often", retry_after_ms = -1, retry_strategy = "soon", side_effects = "some", phase = 1,
			detail = {}, context = "text", errors = "none", retries_exhausted = 0 / 0, unknown = 1,
		})
		for _, name in ipairs({ "retryable", "retry_after_ms", "retry_strategy", "side_effects", "phase", "detail",
			"context", "errors", "retries_exhausted", "unknown" }) do
			assert.is_nil(e[name], name)
		end
	end)

	it("rounds a fractional retry_after_ms up to an integer", function()
		local e = errors.new("X1", "m", { retry_after_ms = 1499.2 })
		assert.equal(1500, e.retry_after_ms)
		assert.equal("integer", math.type(e.retry_after_ms))
	end)

	it("knows its own objects", function()
		assert.is_true(errors.is(errors.new("X1", "m")))
		for _, v in ipairs({ { code = "X1", message = "m" }, "text", 1, true }) do
			assert.is_false(errors.is(v))
		end
		assert.is_false(errors.is(nil))
	end)

	it("raises an object that pcall catches", function()
		local ok, e = pcall(errors.raise, "LOCKED", "held", { retryable = true })
		assert.is_false(ok)
		assert.is_true(errors.is(e))
		assert.is_true(e.retryable)
		assert.is_nil(e.detail)
	end)

	it("notes the position of the caller when a level asks for it", function()
		local _, e = pcall(function()
			errors.raise("LOCKED", "held", nil, 1)
		end)
		assert.truthy(e.detail:find("errors_spec%.lua:%d+$"))
	end)

	it("knows the shape of a code", function()
		for _, name in ipairs({ "OK", "A1", "RATE_LIMITED", ("A"):rep(64) }) do
			assert.is_true(errors.well_formed(name), name)
		end
		for _, name in ipairs({ "", "A", "a_b", "1A", "_A", "A-B", "A ", ("A"):rep(65) }) do
			assert.is_false(errors.well_formed(name), name)
		end
		assert.is_false(errors.well_formed(nil))
		assert.is_false(errors.well_formed(12))
	end)
end)

describe("errors.normalise", function()
	it("turns a Lua error into INTERNAL_ERROR with file:line and traceback", function()
		local _, raised = pcall(function()
			local t = nil
			return t.x
		end)
		local e = errors.normalise(raised, "stack traceback: …")
		assert.equal("INTERNAL_ERROR", e.code)
		assert.truthy(e.message:find("errors_spec%.lua:%d+: attempt to index"))
		assert.equal("stack traceback: …", e.detail)
	end)

	it("keeps a raised error object, without a traceback", function()
		local e = errors.normalise(errors.new("LOCKED", "held", { retry_after_ms = 7, data = { 1 } }), "traceback")
		assert.equal("LOCKED: held", tostring(e))
		assert.equal(7, e.retry_after_ms)
		assert.same({ 1 }, e.data)
		assert.is_nil(e.detail)
	end)

	it("believes a plain table with a code and a message", function()
		local e = errors.normalise({ code = "LOCKED", message = "held", retryable = true })
		assert.is_true(errors.is(e))
		assert.is_true(e.retryable)
	end)

	it("repairs an error object that a script has spoilt", function()
		local e = errors.new("LOCKED", "held")
		e.message, e.retryable = 12, "yes"
		local n = errors.normalise(e)
		assert.equal("12", n.message)
		assert.is_nil(n.retryable)
	end)

	it("calls an exhausted memory MEMORY_LIMIT", function()
		assert.equal("MEMORY_LIMIT", errors.normalise("not enough memory").code)
	end)

	it("takes the message of a table whose code is none", function()
		local e = errors.normalise({ code = "enoent", message = "no such file" }, "tb")
		assert.equal("INTERNAL_ERROR: no such file", tostring(e))
		assert.equal("tb", e.detail)
	end)

	it("shows values by their own __tostring", function()
		local v = setmetatable({}, { __tostring = function() return "my own" end })
		assert.equal("INTERNAL_ERROR: my own", tostring(errors.normalise(v)))
	end)

	it("says what to raise in place of a value without a message", function()
		local e = errors.normalise { status = 5 }
		assert.equal("INTERNAL_ERROR: The command raised a table without a message", tostring(e))
		assert.equal('Raise { code = "CONFLICT", message = "…" }, or call ctx:fail(code, message)', e.fix_required)
		assert.equal("The command raised nil without a message", errors.normalise(nil).message)
		assert.is_nil(errors.normalise("text").fix_required)
	end)

	it("shortens the message of a missing module and suggests one", function()
		local _, raised = pcall(require, "jsn")
		local e = errors.normalise(raised, "tb")
		assert.equal("module 'jsn' not found", e.message)
		assert.equal("Did you mean 'json'?", e.suggestion)
		assert.truthy(e.detail:find("no file", 1, true))
		assert.equal("\ntb", e.detail:sub(-3))
	end)

	it("survives every value that Lua can raise", function()
		local hostile = {
			setmetatable({}, { __tostring = function() error "no" end }),
			setmetatable({}, { __tostring = function() return 1 end }),
			setmetatable({}, { __index = function() error "no" end }),
			setmetatable({}, { __metatable = "locked" }),
			setmetatable({}, { __metatable = false, __tostring = error }),
			{ code = "LOCKED", message = setmetatable({}, { __tostring = error }) },
			{}, true, 42, 0 / 0, print, coroutine.create(print), io.stdout,
		}
		for i, v in ipairs(hostile) do
			local e = errors.normalise(v, "tb")
			assert.is_true(errors.is(e), i)
			assert.equal("string", type(e.message), i)
			assert.equal("INTERNAL_ERROR", e.code, i)
		end
		assert.equal("INTERNAL_ERROR", errors.normalise(nil).code)
		assert.equal("INTERNAL_ERROR", errors.normalise(false).code)
		assert.equal("42", errors.normalise(42).message)
	end)
end)
