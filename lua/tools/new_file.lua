-- new_file: create a file that a person goes on to edit, and the text of a new command and its tests. A file that
-- exists is never changed. A test checks that the new command loads, lints clean and runs.

local fs = require "runner.fs"
local host = require "runner.host"

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
function M.test_text(words)
	return (TEST:gsub("@WORDS@", words))
end

---The file for a command of that name.
---@param words string separated by spaces, "db migrate"
---@return string
function M.command_text(words)
	return (TEXT:gsub("@WORDS@", words))
end

---A path as answers show it: relative to the working directory if it is below that.
---@param path string
---@return string
function M.shown(path)
	local here = host.getcwd() .. "/"
	return path:sub(1, #here) == here and path:sub(#here + 1) or path
end

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOTDIR = "CONFLICT", EEXIST = "CONFLICT" }

local function must(ctx, what, ok, why, errno)
	if not ok then
		ctx:fail(CODES[errno] or "UNAVAILABLE", ("Can't write the %s: %s"):format(what, why))
	end
end

---Create the file, and its directory if that is missing. Fails with ALREADY_EXISTS, CONFLICT,
---PERMISSION_DENIED or UNAVAILABLE.
---@param ctx runner.Context
---@param what string for the message: "command file"
---@param path string
---@param text string
function M.create(ctx, what, path, text)
	local dir = path:match("^(.*)/")
	if dir and dir ~= "" then
		must(ctx, what, fs.mkdirs(dir))
	end
	-- Checking first whether the name is free would be a race: create() fails if it exists.
	local ok, why, errno = fs.create(path, text)
	if errno == "EEXIST" then
		ctx:fail("ALREADY_EXISTS", ("%s already exists and was not changed"):format(M.shown(path)),
			{ fix_required = "Choose another name, or edit that file", context = { path = path } })
	end
	must(ctx, what, ok, why, errno)
end

return M
