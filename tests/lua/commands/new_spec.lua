-- The file that `runner new` writes.

local declaration = require "runner.declare.declaration"
local new_file = require "runner.tools.new_file"

local function loaded()
	local text = new_file.command_text("db migrate")
	return assert(load(text, "@db/migrate.lua"))(), { path = "db/migrate.lua", name = "db.migrate", text = text }
end

describe("a new command file", function()
	it("lints clean: no problems, no warnings", function()
		local value, where = loaded()
		assert.same({}, declaration.problems(value, where))
		assert.same({}, require("runner.declare.lint").find(value, where))
	end)

	it("does what its examples say", function()
		local value = loaded()
		assert.same({ greetings = { "Hello, Ada!", "Hello, Ada!" } }, value.run({ name = "Ada", times = 2 }))
		assert.equal("runner db migrate --name Ada --times 2", value.examples[1].command)
	end)

	it("shows how a command fails", function()
		local value, code = loaded(), nil
		value.run({ name = "nobody", times = 1 }, { fail = function(_, c) code = c end })
		assert.equal("NOT_FOUND", code)
	end)
end)
