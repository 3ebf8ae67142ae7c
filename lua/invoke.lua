-- invoke: a runner command as a child process: its argv, and reading the envelope that
-- it prints. It starts no process itself.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local paths = require "runner.core.paths"
local tables = require "runner.core.tables"
local tool = require "runner.core.tool"

local M = {}

local COLUMNS, LEAST = 80, 20

-- --- the call ---------------------------------------------------------------------------

---Our own program, to be started by us: its path; where an upgrade has removed that file, or put
---another in its place, the one that we are, for as long as we run (proc(5), /proc/pid/exe).
---@return string
function M.program()
	local path = fs.readlink "/proc/self/exe"
	if path and path:find " %(deleted%)$" then
		return "/proc/self/exe"
	end
	return path or "runner"
end

---What a child that is our own program is called (`argv0` of process.start): it speaks as the tool that we are
---called as (lua/project/tool_name.lua).
---@return string? nil: as its path says
function M.name()
	local own = tool.own()
	return own and own.name
end

local function flag(name)
	return "--" .. name:gsub("_", "-")
end

local add

local function add_all(argv, name, values, text)
	for _, value in ipairs(values) do
		add(argv, name, value, text)
	end
end

-- One named argument: a list repeats the flag, true and false are --name and --no-name.
function add(argv, name, value, text)
	if json.is_array(value) or type(value) == "table" and value[1] ~= nil then
		add_all(argv, name, value, text)
	elseif type(value) == "boolean" then
		argv[#argv + 1] = value and flag(name) or flag("no-" .. name)
	else
		argv[#argv + 1] = flag(name) .. "=" .. text(value)
	end
end

-- Append the words of the arguments.
local function add_args(argv, args, text)
	for _, value in ipairs(args) do
		argv[#argv + 1] = text(value)
	end
	if args[1] ~= nil then
		return argv
	end
	for _, name in ipairs(tables.sorted_keys(args)) do
		add(argv, name, args[name], text)
	end
	return argv
end

---A value as one word of a call.
---@param value any
---@return string? word nil: it is none by itself
function M.word(value)
	if math.type(value) == "float" and value - value == 0 then
		return math.tointeger(value) and ("%d"):format(value) or json.encode(value) -- tostring() cuts digits
	end
	return (type(value) == "string" or math.type(value) == "integer") and tostring(value) or nil
end

-- Runner's own, in front of the command's name, where they can be no argument of the command. The
-- outer call masks its own answer.
local FLAGS = require("runner.core.tool").LIST

---The words of a command with its arguments, as a person would type them.
---@param words string[] the command's name and what follows it
---@param args table a list of words, or values by name
---@param text fun(value: any): string a value as one word
---@return string[]
function M.words(words, args, text)
	return add_args(table.move(words, 1, #words, 1, {}), args, text)
end

---The argv of a call that prints its envelope on stdout.
---@param program string runner itself
---@param words string[] the command's name and what follows it
---@param args table a list of words, or values by name
---@param text fun(value: any): string a value as one word
---@return string[] argv
function M.argv(program, words, args, text)
	local argv = table.move(FLAGS, 1, #FLAGS, 2, { program })
	return add_args(table.move(words, 1, #words, #argv + 1, argv), args, text)
end

---The same call as its author wrote it, for logs: without the flags that are ours.
---@param argv string[] as M.argv returns it
---@return string
function M.describe(argv)
	return argv[1] .. " " .. table.concat(argv, " ", 2 + #FLAGS)
end

---Words as JSON, which a call reads on its stdin; with what is secret to us, which it is to the call, too. Raises
---VALIDATION_ERROR for a word that JSON can't hold: no argument arrives as another one.
---@param words string[]
---@return string
function M.handed(words)
	local secrets = attempt.secrets
	local text, _, notes = json.encode(secrets and { words = json.array(words), secrets = json.array(secrets) } or json.array(words), {})
	for _, word in ipairs(notes.repaired > 0 and words or {}) do
		if not utf8.len(word) or word:find("\0", 1, true) then
			errors.raise("VALIDATION_ERROR", ("An argument can't be handed over: '%s' is not valid UTF-8, or has a NUL byte"):format(
				word:sub(1, 256)), { side_effects = "none", fix_required = "Pass such bytes in a file, or encoded" })
		end
	end
	return assert(text)
end

local PROVED = { asked = true, approved = true, needed = true, declined = true }

---What proves to a call that these words are ours, where a person has agreed to it: as long as that isn't closed.
---@param where string of lua/project/stdin_arguments.lua
---@param text string
---@return string by
---@return any proof
function M.vouched(where, text)
	if not PROVED[where] then
		return "", nil
	end
	local pid = (require("runner.fs").read "/proc/self/stat" or ""):match "^%d*"
	return pid .. "@", require("runner.process").vouch("runner-" .. require("runner.ledger").digest(text))
end

-- Words in front of the stdin of a call, and the environment that says so.
local function on_stdin(words, where, stdin, more)
	if #words == 0 and where == "stdin" and not attempt.secrets then
		return stdin, {}
	end
	local text = M.handed(words)
	local by, proof = M.vouched(where, text)
	return text .. stdin, { RUNNER_ARGUMENTS = ("%s:%s%d%s"):format(where, by, #text, more or "") }, proof
end

---The arguments of a call as its stdin, which no other process can look at, and the
---environment that says so (lua/project/stdin_arguments.lua): they may be secrets.
---@param args table a list of words, or values by name
---@param text fun(value: any): string a value as one word
---@param confirmed? "agreed"|"needed" a person has confirmed a call that needs this one; a person was asked about both
---@return string stdin of process.start, with reread_stdin: the call may make several attempts
---@return table<string, string> env
---@return any proof to be closed when the call has ended
function M.hand_over(args, text, confirmed)
	return on_stdin(add_args({}, args, text), confirmed or "stdin", "")
end

---The same of words that go in front of the command's name, where each is runner's own flag:
---no argument of the command can be meant. What `stdin` has is still the command's.
---@param words string[] at least one
---@param stdin? string
---@param confirmed? boolean|"asked"|"pending"|"look"|"declined"|{id: string, digest: string} a person has confirmed the call, should it
---  be destructive; "asked": for this very call; "pending": no person can be asked; "look": one is about to be; "declined": has said no;
---  a table: it was kept as this approval
---@return string stdin of process.start, with reread_stdin: the call may make several attempts
---@return table<string, string> env
---@return any proof to be closed when the call has ended
function M.hand_over_flags(words, stdin, confirmed)
	local kept = type(confirmed) == "table" and (":%s:%s"):format(confirmed.id, confirmed.digest) or nil
	local where = kept and "approved" or type(confirmed) == "string" and confirmed or confirmed and "confirmed" or "front"
	return on_stdin(words, where, stdin or "", kept)
end

---Where it is noted that a needed command has run: once in a tree of calls (lua/ctx/needs.lua).
---@param directory string
---@param name string
---@param args table
---@return string path of the mark, to which ".lock" and ".done" are added
function M.mark(directory, name, args)
	return ("%s/%s"):format(directory, paths.file_name(name .. " " .. assert(json.encode(args)), 180))
end

-- --- what it says ---------------------------------------------------------------------------

---A line of its stderr as a person reads it: the text of a line that runner wrote as JSON, else the line.
---@param line string
---@return string
function M.said(line)
	local row = line:sub(1, 10) == '{"level":"' and json.decode(line)
	if type(row) ~= "table" or type(row.message) ~= "string" or type(row.event) ~= "string" then
		return line
	end
	local level = row.event == "log" and row.level ~= "info" and row.level .. ": " or ""
	return level .. require("runner.host").clean(row.message)
end

---How wide the terminal is that a call gets whose lines we show at ours, behind the name in front of them.
---@param name? string
---@return integer? columns nil: ours is none
function M.columns(name)
	local columns = attempt.launch.stderr_is_tty and (require("runner.terminal").columns() or COLUMNS)
	return columns and math.max(columns - (name and #name + 3 or 0), LEAST) or nil
end

local function kept(final)
	return final ~= "m" and "" or nil
end

---A line that was written to a terminal of its own, as it is in the end: with its colours, without what moves the cursor.
---@param line string
---@return string
function M.drawn(line)
	line = line:gsub("\r+$", ""):gsub("^.*\r", "")
	if line:find("\27", 1, true) then
		line = line:gsub("\27%][^\7\27]*\27?[\7\\]", ""):gsub("\27%[[0-?]*[ -/]*([@-~])", kept):gsub("\27[()].", ""):gsub("\27%f[^%[\27]", "")
	end
	return line:find("\27", 1, true) and not line:find "\27%[0?m$" and line .. "\27[0m" or line
end

---The name of one of several in front of its line, in a colour of its own. A line for programs has none.
---@param name? string
---@param line string
---@param watched boolean is it for a terminal?
---@return string
function M.marked(name, line, watched)
	if not name or not watched and line:sub(1, 1) == "{" then
		return line
	elseif not watched or attempt.framework.no_color or attempt.launch.no_color then
		return name .. " | " .. line
	end
	local sum = 0
	for i = 1, #name do
		sum = sum * 31 + name:byte(i)
	end
	return ("\27[3%dm%s |\27[0m %s"):format(sum % 6 + 1, name, line)
end

-- --- the answer -------------------------------------------------------------------------

---The envelope that a runner printed; nil if it is not one, or contradicts the status.
---@param result runner.Result
---@return table?
function M.envelope(result)
	local v = json.decode(result.stdout)
	if type(v) ~= "table" or type(v.ok) ~= "boolean" or v.ok ~= (result.status == 0) then
		return nil
	elseif not v.ok and (type(v.error) ~= "table" or type(v.error.code) ~= "string") then
		return nil
	end
	return v
end

-- errno of a start that may well succeed later.
local SHORT_OF = { EAGAIN = true, EMFILE = true, ENFILE = true, ENOMEM = true, ENOSPC = true }

local function not_started(name, result, argv)
	return errors.new(SHORT_OF[result.errno] and "RESOURCE_EXHAUSTED" or "SUBPROCESS_FAILED",
		("%s could not be started: %s"):format(name, result.error),
		{ side_effects = "none", context = { argv = argv, errno = result.errno } })
end

---The failure of a call that has printed no envelope, as when its supervisor was killed.
---@param name string the command
---@param result runner.Result
---@param argv? string[] for the context
---@return runner.Error
function M.lost(name, result, argv)
	if result.error then
		return not_started(name, result, argv)
	end
	local fields = { context = { argv = argv, status = result.status, signal = result.signal, stderr = result.stderr:sub(-4096) } }
	if result.timed_out then
		return errors.new("TIMEOUT", ("%s did not end in time, and was killed"):format(name), { side_effects = "partial",
			retryable = "maybe", context = fields.context })
	elseif result.stdout_dropped > 0 then
		return errors.new("OUTPUT_TOO_LARGE", ("%s answered with more than is kept of it"):format(name), fields)
	end
	local _, why, code = json.decode(result.stdout)
	if code == "TOO_LARGE" then
		return errors.new("OUTPUT_TOO_LARGE", ("%s answered, and can't be read: %s"):format(name, why), fields)
	end
	return errors.new("SUBPROCESS_FAILED", ("%s returned no envelope"):format(name), fields)
end

---A member of an envelope: nil for null.
---@param v any
---@return any
function M.value(v)
	if v ~= json.null then
		return v
	end
end

---The error of an envelope that says so, as the command raised it.
---@param envelope table with ok = false
---@return runner.Error
function M.failure(envelope)
	local fields = {}
	for name, v in pairs(envelope.error) do
		fields[name] = M.value(v)
	end
	fields.data, fields.phase = M.value(envelope.data), nil
	return errors.new(envelope.error.code, fields.message, fields)
end

return M
