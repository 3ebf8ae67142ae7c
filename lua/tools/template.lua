-- template: the text of a new command file. Loaded by `runner new` alone. A test
-- proves that what it makes loads, lints clean and runs.

local M = {}

local TEXT = [==[
-- runner @WORDS@: what it is for, in one line.
-- 'runner types' tells your editor all that can stand here.

---@type runner.Command
return {
	description = "Greet somebody",
	danger_level = "safe", -- safe: changes nothing; mutating; destructive

	-- name, type (string, integer, number, boolean, enum, duration, path, array), rules
	args = {
		{ "name", "string", default = "world", description = "Whom to greet" },
		{ "times", "integer", min = 1, max = 10, default = 1, description = "How often" },
	},

	timeout = "30s", -- bounds everything: all attempts and the waits between them
	retry = { retries = 2, delay = "1s" }, -- after failures that are safe to repeat

	examples = {
		{ description = "Greet Ada twice", command = "runner @WORDS@ --name Ada --times 2" },
	},

	-- args: the checked values. ctx: what runner offers, such as ctx:run{ "git", "status" }.
	run = function(args, ctx)
		if args.name == "nobody" then
			ctx:fail("NOT_FOUND", "There is nobody to greet", { suggestion = "Pass --name" })
		end
		local greetings = {}
		for i = 1, args.times do
			greetings[i] = "Hello, " .. args.name .. "!"
		end
		return { greetings = greetings } -- becomes `data` of the answer
	end,
}
]==]

---The file for a command of that name.
---@param words string with blanks between, "db migrate"
---@return string
function M.text(words)
	return (TEXT:gsub("@WORDS@", words))
end

return M
