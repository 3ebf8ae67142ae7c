-- What steps leave for each other.

local json = require "runner.json"
local scopes = require "runner.workflow.run.scope"
local variables = require "runner.workflow.expr.variables"

describe("the counts of a loop", function()
	it("are those of its data, and no other step has any", function()
		local rows = json.array { { ok = true, output = "a" }, { ok = false, item = 1 }, { ok = true, data = json.array { { ok = false } } } }
		local scope = { vars = {}, steps = {} }
		scopes.remember({ id = "each", kind = "foreach", steps = {} }, scope, { ok = true, output = "", data = rows })
		scopes.remember({ id = "none", kind = "parallel", steps = {} }, scope, { ok = true, data = json.array {} })
		scopes.remember({ id = "build", kind = "shell" }, scope, { ok = true, data = { total = 7 } })
		scopes.remember_failure({ id = "failed", kind = "foreach", steps = {} }, scope, { code = "A", message = "b" })
		local function text(name)
			return variables.expand("${steps." .. name .. "}", scope)
		end
		assert.same({ "3", "2", "1", "0", "7" }, { text "each.total", text "each.succeeded", text "each.failed", text "none.total",
			text "build.data.total" })
		for _, name in ipairs { "build.total", "other.total", "failed.total", "each.totals" } do
			assert.is_false(pcall(text, name), name)
		end
	end)
end)
