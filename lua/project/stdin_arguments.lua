-- stdin_arguments: arguments that come on stdin: words that a caller gives there (lua/invoke.lua), where no other process
-- can see them as it sees an argv, and the lines that `-` stands for as the value of an argument that declares
-- pipe_compatible (REQ-O-006). The first parse only notes such a value; lua/project/input.lua reads the lines, and the
-- arguments are parsed again with them. Loaded if there are any. RUNNER_ARGUMENTS says where the words are:
--
--   stdin     all of stdin is a JSON array of words that go after those of the command line
--   stdin:N   only its first N bytes are; the rest is the command's stdin. It is a file
--   front:N   as stdin:N, but the words go in front of all others
--   file:PATH as stdin, of a file: stdin is the terminal
--   agreed:N, agreed:PATH  as stdin:N and file:PATH; who has confirmed the caller has confirmed this, should it be destructive
--   needed:N, needed:PATH  the same; a person was asked about the caller, and told that it needs this. Of another process than runner:
--                          agreed
--   confirmed:N   as front:N, and a person has confirmed the call, should it be destructive
--   asked:N       as confirmed:N, and the person was asked about this very call. Of another process than runner: front:N
--   approved:N:ID:DIGEST  as asked:N; the call waited for that as this approval, and is to be the same call
--   pending:N     as front:N, and a person has to be asked, who can't be asked here
--   look:N        as front:N: a person is about to be asked, unless this very call was decided elsewhere
--   declined:N    as front:N: a person was asked about this very call, and has said no. Of another process than runner: pending:N
--
-- In place of the array there may be {"words": [...], "secrets": [...]}: values that are secret to the caller.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local ASKS = { pending = "pending", look = "look", declined = "declined" }
local IN_FRONT = require("runner.core.tables").add({ front = true, confirmed = true, asked = true, approved = true }, ASKS)
local VOUCHED = { asked = "person", approved = "person", needed = "need", agreed = "caller", confirmed = true }
local UNPROVED = { asked = "front", approved = "front", needed = "agreed", declined = "pending" } -- of a process that isn't runner
local FIX = "Unset RUNNER_ARGUMENTS: ctx:call sets it for the command that it calls"

-- The first bytes of fd 0, which are gone for what reads the rest.
local function read_first(length)
	host.take_stdin()
	io.stdin:setvbuf "no" -- reads no more than it is asked for
	local size = io.stdin:seek "end" or length
	io.stdin:seek("set", 0)
	local text, has_more = io.stdin:read(math.min(length, size)), size > length
	io.stdin:seek("set", length)
	io.stdin:setvbuf "full"
	host.used_stdin(length)
	return text, has_more
end

-- The words in a text, and the secrets beside them; nil, the secrets and a problem.
local function words_in(text)
	local words, secrets = require("runner.json").decode(text or ""), nil
	if type(words) == "table" and type(words.secrets) == "table" then
		secrets, words = words.secrets, words.words
	end
	for i, word in ipairs(type(words) == "table" and words or { false }) do
		if type(word) ~= "string" then
			return nil, secrets, errors.new("VALIDATION_ERROR",
				("RUNNER_ARGUMENTS is set, but stdin has no JSON array of strings (item %d)"):format(i), { fix_required = FIX })
		end
	end
	return words, secrets
end

local function read(where, place)
	if place:sub(1, 1) == "/" then
		return fs.read(place)
	elseif tonumber(place) then
		return read_first(math.tointeger(tonumber(place)))
	end
	host.take_stdin()
	return io.read "a"
end

-- Does a process of our own program say that these words are its? It says so by a mapping, which nothing that becomes our
-- program later has: an ancestor, which has executed it, or what has inherited this process.
local function is_runners(pid, text)
	local its, own = fs.stat(("/proc/%s/exe"):format(pid)), fs.stat "/proc/self/exe"
	local maps = pid and its and own and its.dev == own.dev and its.ino == own.ino and fs.read(("/proc/%s/maps"):format(pid))
	local proof = "/memfd:runner-" .. require("runner.ledger").digest(text) .. " (deleted)\n"
	return maps and maps:find(proof, 1, true) ~= nil
end

---The call with them. Children of this run inherit neither them nor the variable.
---@param argv string[] of the command line
---@return runner.Call
---@return string[]? secrets of the caller
---@return runner.Error? problem
function M.call(argv)
	local where, place = os.getenv("RUNNER_ARGUMENTS"):match "^(%l+):?(.*)$"
	local id, digest, pid
	if where and UNPROVED[where] and place:find "^%d+@" then
		pid, place = place:match "^(%d+)@(.*)$"
	end
	if where == "approved" then
		place, id, digest = place:match "^(%d+):([%w_]+):(%x+)$"
	end
	host.setenv("RUNNER_ARGUMENTS", nil)
	argv = table.move(argv, 1, #argv, 1, {})
	local text, has_more = read(where, place)
	where = UNPROVED[where] and not is_runners(pid, text or "") and UNPROVED[where] or where
	local words, secrets, problem = words_in(text)
	if not words then
		return { argv = argv, stdin_words = #argv + 1, has_stdin = has_more }, secrets, problem
	end
	local first = IN_FRONT[where] and 1 or #argv + 1
	table.move(argv, first, #argv, first + #words)
	table.move(words, 1, #words, first, argv)
	return { argv = argv, stdin_words = first, has_stdin = has_more, is_call = first == 1,
		vouched = VOUCHED[where] or false,
		approved = where == "approved" and { id = id, digest = digest } or nil, asks = ASKS[where] }, secrets
end

---The token `-` has arrived for `row`.
---@param s table the state of lua/project/args.lua
---@param row table
---@param from runner.From
---@param take fun(s: table, row: table, text: string, from: string) a value, "line" where it is one of stdin
---@param add_problem fun(s: table, kind: string, ...)
---@return boolean taken false: this `-` is a text like any other, of a variable or of stdin itself
function M.take_dash(s, row, from, take, add_problem)
	if from ~= "flag" and from ~= "positional" then
		return false
	end
	s.given[row.name] = s.given[row.name] or from
	if s.framework.piped then
		add_problem(s, "piped_twice", row, s.framework.piped)
		return true
	end
	s.framework.piped = row
	s.framework.input_file = s.framework.input_file or "-" -- what the call brings is read from there
	for _, line in ipairs(s.opts.lines or {}) do
		take(s, row, line, "line")
	end
	return true
end

local function problem(row, message, fix)
	return { field = row.name, code = "CONFLICTING_VALUES", value = "-", message = message, suggestion = fix, fix_required = fix }
end

---Why a call can't read this value from stdin; nil: it can.
---@param a runner.Attempt
---@return runner.Problem?
function M.dash_conflict(a)
	local row = a.framework.piped
	if a.parsed.framework_given.input_file then
		return problem(row, ("--%s - and --input-file exclude each other"):format(row.flag), "Give one of them")
	elseif a.job then
		return problem(row, ("--%s - can't be used with a job, which has no stdin"):format(row.flag),
			("Give the values of --%s on the command line"):format(row.flag))
	end
end

local function wrong(row, code, message, fix)
	return nil, errors.new(code, message, { phase = "validation", retryable = false, side_effects = "none",
		fix_required = fix, suggestion = fix, context = { field = row.name } })
end

---The values in what stdin had: its lines without those that are empty.
---@param row table
---@param text string
---@return string[]? lines at least one; just one unless the argument is an array
---@return runner.Error?
function M.lines_of(row, text)
	local lines = {}
	for line in text:gmatch "[^\n]+" do
		line = line:gsub("\r$", "")
		lines[#lines + 1] = line ~= "" and line or nil
	end
	if #lines == 0 then
		return wrong(row, "EMPTY_STDIN", ("--%s - reads stdin, which is empty"):format(row.flag),
			"Put a value on each line of stdin, or give it on the command line")
	elseif #lines > 1 and row.type ~= "array" then
		return wrong(row, "VALIDATION_ERROR", ("--%s takes one value; stdin has %d lines"):format(row.flag, #lines),
			"Give one line on stdin")
	end
	return lines
end

return M
