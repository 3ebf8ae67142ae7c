-- handed: arguments that a caller hands over on stdin (lua/invoke.lua), where no other
-- process can see them as it sees an argv. Loaded if RUNNER_ARGUMENTS says that there are any:
--
--   stdin     all of stdin is a JSON array of words that go behind those of the command line
--   stdin:N   only its first N bytes are; the rest is the command's stdin. It is a file
--   front:N   as stdin:N, but the words go in front of all others
--   confirmed:N   as front:N, and a person has confirmed the call, should it be destructive

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

local FIX = "Unset RUNNER_ARGUMENTS: ctx:call sets it for the command that it calls"

-- The first bytes of fd 0, which are gone for whoever gets the rest.
local function read_first(length)
	host.take_stdin()
	io.stdin:setvbuf "no" -- reads no more than it is asked for
	local text = io.stdin:read(length)
	attempt.has_stdin = (io.stdin:seek "end" or length) > length
	io.stdin:seek("set", length)
	io.stdin:setvbuf "full"
	host.used_stdin(length)
	return text
end

local function words_on_stdin(length)
	local text
	if length then
		text = read_first(length)
	else
		host.take_stdin()
		text = io.read "a"
	end
	local words = require("runner.json").decode(text or "")
	for i, word in ipairs(type(words) == "table" and words or { false }) do
		if type(word) ~= "string" then
			return nil, errors.new("VALIDATION_ERROR",
				("RUNNER_ARGUMENTS is set, but stdin has no JSON array of strings (item %d)"):format(i), { fix_required = FIX })
		end
	end
	return words
end

---Add them to argv. Children of this run inherit neither them nor the variable.
---@param launch {argv: string[]} whose argv is replaced: that of host.launch can't grow
---@return integer first the index in argv of the first of them
---@return runner.Error? problem
function M.add(launch)
	local argv = table.move(launch.argv, 1, #launch.argv, 1, {})
	launch.argv = argv
	local where, length = os.getenv("RUNNER_ARGUMENTS"):match "^(%l+):?(%d*)$"
	host.setenv("RUNNER_ARGUMENTS", nil)
	local words, problem = words_on_stdin(math.tointeger(tonumber(length or "")))
	if not words then
		return #argv + 1, problem
	end
	local first = (where == "front" or where == "confirmed") and 1 or #argv + 1
	attempt.is_call, attempt.vouched = first == 1, where == "confirmed"
	table.move(argv, first, #argv, first + #words)
	table.move(words, 1, #words, first, argv)
	return first
end

return M
