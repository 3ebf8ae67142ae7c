-- template: the text of a new command file. Loaded by `runner new` alone. A test
-- checks that the new file loads, lints clean and runs.

local M = {}

local TEXT = [==[
-- runner @WORDS@: what it is for, in one line.
-- 'runner types' sets up your editor to complete and check this table.

---@type runner.Command
return {
	description = "Greet somebody",
	danger_level = "safe", -- safe: changes nothing; mutating; destructive

	-- name, type (string, integer, number, boolean, enum, duration, path, array), rules
	args = {
		{ "name", "string", default = "world", description = "Who to greet" },
		{ "times", "integer", min = 1, max = 10, default = 1, description = "How often" },
	},

	timeout = "30s", -- for the whole run: all attempts and the waits between them
	retry = { retries = 2, delay = "1s" }, -- of failures that are safe to retry

	examples = {
		{ description = "Greet Ada twice", command = "runner @WORDS@ --name Ada --times 2" },
	},

	-- args: the checked values. ctx: runner's functions, such as ctx:run{ "git", "status" }
	-- and ctx.fs.read("notes.txt"). A failure there raises an error, and the run fails with it.
	run = function(args, ctx)
		if args.name == "nobody" then
			ctx:fail("NOT_FOUND", "There is nobody to greet", { suggestion = "Pass --name" })
		end
		local greetings = {}
		for i = 1, args.times do
			greetings[i] = "Hello, " .. args.name .. "!"
		end
		return { greetings = greetings } -- becomes `data` in the envelope
	end,
}
]==]

local TEST = [==[
-- Tests of runner @WORDS@: 'runner test' runs them.

local test = require "test"

test("greets by name, as often as it is told", function(t)
	local answer = t:call("@WORDS@", { name = "Ada", times = 2 })
	t:equal(t:succeeds(answer), { greetings = { "Hello, Ada!", "Hello, Ada!" } })
end)

test("finds nobody", function(t)
	local e = t:fails(t:call("@WORDS@", { name = "nobody" }), "NOT_FOUND")
	t:contains(e.message, "nobody to greet")
end)
]==]

---The file of its tests.
---@param words string separated by spaces
---@return string
function M.test(words)
	return (TEST:gsub("@WORDS@", words))
end

---The file for a command of that name.
---@param words string separated by spaces, "db migrate"
---@return string
function M.text(words)
	return (TEXT:gsub("@WORDS@", words))
end

return M
