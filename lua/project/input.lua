-- input: what --input-file and stdin bring before `run`: the arguments as JSON, or the data that
-- a command declares with `stdin`, or the lines that a value `-` stands for, read whole, with a cap. A phase of lua/boot.lua, loaded where
-- a call has one. The plan is sent before anything is read, so the command's own limits hold.

local amounts = require "runner.core.amounts"
local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"

local M = {}

local STDIN_MAX = 1 << 16 -- bytes; RUNNER_MAX_STDIN_BYTES and the declaration say otherwise
local FILE_MAX = 1 << 28 -- bytes of a file, which is read into memory
local ARGUMENTS_MAX = 1 << 24 -- bytes of a file of arguments
local VARIABLE = "RUNNER_MAX_STDIN_BYTES"
local WAIT_MS = 800 -- for a pipe that the caller didn't ask us to wait for

-- --- bytes ------------------------------------------------------------------------------

local function stdin_max(spec)
	return amounts.size(os.getenv(VARIABLE) or "", 1) or spec and spec.max_bytes or STDIN_MAX
end

local function check_variable(problems)
	local text = os.getenv(VARIABLE) or ""
	if text ~= "" and not require("runner.declare.environment").accepts(VARIABLE, text) then
		problems[#problems + 1] = require("runner.declare.arg_errors").setting(VARIABLE, text)
	end
end

local function too_large(path, most, received)
	local is_stdin = path == "-"
	local what = is_stdin and "stdin has" or ("'%s' has"):format(path)
	return errors.new(is_stdin and "STDIN_TOO_LARGE" or "FIELD_TOO_LARGE", ("%s more than %d bytes"):format(what, most), {
		phase = "validation", retryable = false, side_effects = "none",
		fix_required = is_stdin and "Give the data as a file: --input-file FILE" or "Give a smaller file",
		suggestion = is_stdin and "Pass --input-file FILE, or raise RUNNER_MAX_STDIN_BYTES" or nil,
		context = { received_bytes = received, limit_bytes = most },
	})
end

local function required(why)
	return errors.new("STDIN_REQUIRED", ("'%s' needs data: %s"):format(attempt.name, why), {
		phase = "validation", retryable = false, side_effects = "none",
		suggestion = "Pass --input-file FILE; or --input-file - and the data on stdin",
		fix_required = "Give the data: --input-file FILE, or --input-file - for stdin" })
end

-- Up to `most` bytes of fd 0.
local function read_all(most)
	local parts, length = {}, 0
	while length <= most do
		local part, why = io.stdin:read(math.min(most + 1 - length, 1 << 16))
		if why then
			return nil, why
		elseif not part then
			break
		end
		parts[#parts + 1], length = part, length + #part
	end
	return table.concat(parts), length
end

local function unreadable(path, why)
	local fix = "Give --input-file a file that can be read, or - for stdin"
	return { field = "input_file", code = "INVALID_ARGUMENT", value = path, suggestion = fix, fix_required = fix,
		message = ("--input-file: can't read '%s': %s"):format(path, why) }
end

-- The same of stdin as an argument's value.
local function unreadable_value(row, why)
	local problem = unreadable("-", why)
	problem.field, problem.message = row.name, ("--%s -: can't read stdin: %s"):format(row.flag, why)
	problem.suggestion, problem.fix_required = "Give a stdin that can be read", "Give a stdin that can be read"
	return problem
end

-- The bytes of a file or of stdin, whose `row` is that of an argument | nil, an error | nil, nil, a problem.
local function bytes_of(input, path, most, row)
	local ok, why = true, nil
	if path == "-" then
		host.take_stdin()
	else
		ok, why = host.open_stdin(path)
	end
	local text, length
	if ok then
		text, length = read_all(most)
	end
	if not text then
		return nil, nil, row and unreadable_value(row, why or length) or unreadable(path, why or length)
	elseif length > most then
		return nil, too_large(path, most, length)
	end
	input.spooled = attempt.job and path == "-" and text or nil
	return text
end

-- --- arguments ----------------------------------------------------------------------------

local function conflict()
	return { field = "input_file", code = "CONFLICTING_VALUES", message = "--input-file and --raw-payload both give the arguments",
		suggestion = "Give one of them", fix_required = "Give one of them" }
end

-- With what has been read, which `about` names as lua/project/args.lua does; and what is secret then.
local function parse_again(a, about)
	about.config, about.command, about.in_front = a.project.config, a.command, a.call.in_front
	local parsed = require("runner.project.args").parse(a.command.args, a.tokens, about)
	for _, problem_of_flags in ipairs(a.parsed.problems) do -- of lua/project/call_flags.lua
		if problem_of_flags.code == "CONFIRMATION_REQUIRED" then
			table.insert(parsed.problems, problem_of_flags)
		end
	end
	local found = a.command.secrets and require("runner.project.secret_args").hide(a.command, parsed, a.project.config) or {}
	found.parsed, found.framework = parsed, parsed.framework
	return found
end

-- The object stands in place of flags.
local function take_arguments(a, input, path)
	local problems = a.parsed.problems
	if a.framework.raw_payload then
		problems[#problems + 1] = conflict()
		return nil
	end
	local text, e, problem = bytes_of(input, path, path == "-" and stdin_max() or ARGUMENTS_MAX)
	if not text then
		a.parsed.problems = { problem }
		return e
	end
	return nil, parse_again(a, { payload = text })
end

-- One argument is the lines of stdin.
local function take_lines(a, input, row)
	local problems = a.parsed.problems
	problems[#problems + 1] = require("runner.project.stdin_arguments").dash_conflict(a)
	if #problems > 0 then
		return nil
	end
	local text, e, unread = bytes_of(input, "-", stdin_max(), row)
	local lines
	problems[1] = unread
	if text then
		lines, e = require("runner.project.stdin_arguments").lines_of(row, text)
	end
	if lines then
		return nil, parse_again(a, { lines = lines })
	end
	return e
end

-- --- data -------------------------------------------------------------------------------

-- Bytes as the command declares them; nil and a problem.
local function typed(spec, text, path)
	local row = { name = "stdin", positional = true, flag = path == "-" and "stdin" or "--input-file",
		type = spec.type == "json" and "json" or "string", schema = spec.schema, rare = spec.schema ~= nil }
	if spec.type == "bytes" then
		return text
	end
	local value, why = require("runner.project.argv_parser").read(row, text)
	return value, why and require("runner.declare.arg_errors").invalid(row, text, why, "flag") or nil
end

-- Where the data of a call comes from; nil: there is none, and why.
local function source(path, spec)
	if path or not spec.required then
		return path
	elseif attempt.launch.stdin_is_tty then
		return nil, "stdin is a terminal"
	end
	return host.take_stdin(WAIT_MS) and "-" or nil, "nothing has come on stdin"
end

local function take_data(parsed, input, spec)
	local path, why = source(parsed.framework.input_file, spec)
	if not path then
		return spec.required and required(why) or nil
	end
	local text, e, problem = bytes_of(input, path, path == "-" and stdin_max(spec) or FILE_MAX)
	if not text then
		parsed.problems[1] = problem
		return e
	elseif text == "" and spec.required then
		return required((path == "-" and "stdin" or "the file") .. " is empty")
	end
	input.digest = host.digest(text)
	input.value, parsed.problems[1] = typed(spec, text, path)
end

-- `run` reads the stream itself.
local function take_stream(problems, input, path)
	local ok, why = true, nil
	if path ~= "-" then
		ok, why = host.open_stdin(path)
		input.is_stream = ok
	end
	problems[#problems + 1] = not ok and unreadable(path, why) or nil
end

local function is_asked_for(a, spec, path)
	local framework = a.framework
	if a.framework.piped and (framework.plan or framework.show_config) then
		return false
	end
	return (path or type(spec) == "table" and spec.required)
		and not (framework.help or framework.schema or framework.output_schema or framework.version)
end

-- A client that hands data over (_stdin of exec) means it to be read.
local UNREAD = { field = "stdin", code = "INVALID_ARGUMENT", message = "The command reads no stdin, and was given some",
	suggestion = "Leave the data out, or declare stdin in the command", fix_required = "Leave the data for stdin out" }

---Read what this call brings besides its command line.
---@param a runner.Attempt
---@return {input: runner.Input, parsed?: runner.Parsed}? found
---@return runner.Answer? answer where it can't be read
function M.take(a)
	local spec, path, input, parsed = a.command.stdin, a.framework.input_file, {}, a.parsed
	if a.call.has_stdin and not (spec or path == "-" or a.framework.piped) then
		parsed.problems[#parsed.problems + 1] = UNREAD
	end
	if not is_asked_for(a, spec, path) then
		return nil
	end
	require("runner.project.plan").send(a.command, a.settled, a.framework, a.project, path == "-" or path == nil)
	local e, found
	if a.framework.piped then
		e, found = take_lines(a, input, a.framework.piped)
	elseif not spec then
		e, found = take_arguments(a, input, path)
	end
	found = found or {}
	found.input, parsed = input, found.parsed or parsed
	check_variable(parsed.problems)
	if spec == true then
		take_stream(parsed.problems, input, path)
	elseif spec and #parsed.problems == 0 then -- else they are reported, and nothing is read
		e = take_data(parsed, input, spec)
	end
	return found, e and { error = e }
end

return M
