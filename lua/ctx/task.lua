-- task: the work of a task (lua/declare/tasks.lua): a script or one program. What the caller gives comes as variables of the
-- environment and as "$@", never as text of the script, so that no value can become code. Lines of the script have the
-- numbers that they have in the file, for what its interpreter says of them.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local process = require "runner.ctx.process"
local script_text = require "runner.declare.script"
local tasks = require "runner.declare.tasks"

local M = {}

local DATA_MAX = 16 << 20 -- bytes of output that becomes data

-- --- variables -----------------------------------------------------------------------------------

-- "$NAME" and "${NAME}" of other variables, declared or the caller's; "$$" is a dollar sign. All else is as it is written.
local function expanded(env, name, seen)
	local value = env[name]
	if type(value) ~= "string" or seen[name] then -- PATH = "bin:$PATH"
		return value == nil and os.getenv(name) or seen[name] and os.getenv(name) or value or nil
	end
	seen[name] = true
	local out = value:gsub("%$(%$?)({?)([%a_]?[%w_]*)(}?)", function(dollar, open, other, close)
		if dollar ~= "" then
			return dollar .. open .. other .. close
		elseif other:find "^[%a_]" and (open == "" or close ~= "") then
			return (expanded(env, other, seen) or "") .. (open == "" and close or "")
		end
	end)
	seen[name] = nil
	return out
end

---Set the variables that a command declares, for all that it starts.
---@param env table<string, string|false>
function M.set_variables(env)
	local values = {}
	host.setenv("PWD", host.getcwd())
	for name in next, env do
		values[name] = expanded(env, name, {}) or ""
	end
	for name, value in next, values do
		host.setenv(name, env[name] ~= false and value or nil)
	end
end

-- The arguments; what was not given is empty, and hides what the caller's environment has.
local function arguments(values)
	local env, rest = {}, {}
	for _, row in ipairs(attempt.command.args) do
		local value = values[row.name]
		env[tasks.variable(row.name)] = tasks.text(row, value) or false
		for _, item in ipairs(row.variadic and value or {}) do
			rest[#rest + 1] = tasks.text({}, item)
		end
	end
	return env, rest
end

-- --- the script ------------------------------------------------------------------------------------

local numbered = false -- the lines of the script are those of the file

-- What the interpreter calls the script.
local function file_name()
	return numbered and (attempt.command.path or "task"):match "[^/]+$" or attempt.name
end

-- Interpreters to which empty lines in front of the script are nothing.
local NUMBERED = { "sh$", "^python", "^perl", "^ruby", "^node", "^lua" }

local function is_numbered(program)
	for _, pattern in ipairs(NUMBERED) do
		if program:match("[^/]*$"):find(pattern) then
			return true
		end
	end
	return false
end

-- The program that a line such as "#!/usr/bin/env python3" names, and its one argument.
local function shebang(script)
	local program, argument = script:match "^%s*#![ \t]*(%S+)[ \t]*([^\n]*)"
	local words = { program, argument and argument:match "^(.-)%s*$" }
	words[2] = words[2] ~= "" and words[2] or nil
	return program and words
end

local function written(ctx, words, script)
	local path = ("%s/%s"):format(ctx.tempdir, file_name())
	ctx.fs.write(path, script)
	words[#words + 1] = path
	return words
end

local function script_words(ctx, script)
	local text = script_text.dedented(script)
	local named = shebang(text)
	local words = named or attempt.command.interpreter and table.move(attempt.command.interpreter, 1, 1000, 1, {}) or { "/bin/sh", "-e" }
	local program = named and named[2] and named[1]:find "/env$" and named[2] or words[1]
	local found = attempt.found
	local line = is_numbered(program) and found and found.source
		and script_text.line_of(found.source, script, found)
	numbered = line and true or false
	if line then
		text = ("\n"):rep(line - 1) .. (named and text:gsub("#![^\n]*", "", 1) or text)
	end
	if named or attempt.command.interpreter or #text > command_line.MAX then
		return written(ctx, words, text)
	end
	return table.move({ "-c", text, file_name() }, 1, 3, #words + 1, words)
end

-- --- its output ------------------------------------------------------------------------------------

local function show(line)
	if not attempt.framework.quiet then
		io.stderr:write(line .. "\n")
	end
end

-- A terminal is the program's own, unless what it writes has secrets to be hidden.
local function choose_output(command, spec)
	local hidden = command.quiet or attempt.framework.quiet
	spec.merge = not command.output -- in the order in which it is written
	if command.output then
		spec.cap = DATA_MAX
		spec.on_line = function(line, stream)
			if stream == "stderr" and not hidden then
				show(line)
			end
		end
	elseif attempt.launch.stderr_is_tty and not (hidden or command.secrets or attempt.secrets) then
		spec.capture, spec.merge = false, nil
	elseif not hidden then
		spec.on_line = show
	end
end

-- "tasks.lua: 12: cargo: not found", "tasks.lua: line 12: …", 'File "/tmp/…/tasks.lua", line 12'
local function failing_line(text)
	if not numbered then
		return nil
	end
	local name, found = file_name():gsub("%W", "%%%0"), nil
	for line in text:gmatch "[^\n]+" do
		found = line:match(name .. "\"?[:,] l?i?n?e? ?(%d+)") or line:match(name .. ":(%d+)") or found
	end
	return math.tointeger(tonumber(found or ""))
end

-- "tasks.lua:3: " of the script, or of the task where it is one program.
local function place_of(line)
	local found, name = attempt.found or {}, (attempt.command.path or ""):match "[^/]+$"
	local source = found.source
	if not line and source and attempt.command.shell then
		line = script_text.line_of(source, attempt.command.shell, found)
	end
	local own = not line and source and found.task and require("runner.declare.task_text").places(source, found.group)[found.name]
	line = line or own and 1 + select(2, source:sub(1, own.first - 1):gsub("\n", ""))
	return name and line and ("%s:%d: "):format(name, line) or ""
end

-- A word that the shell itself knows, or finds: what `command -v` says.
local function is_known(name)
	return process.run({}, { "/bin/sh", "-c", 'command -v "$1"', "sh", name, check = false }).ok
end

-- The command of a script that has failed, or is not there, where that is sure; its line in the file.
local function culprit(result)
	local script = attempt.command.shell
	if not script or not result.status or attempt.command.interpreter or shebang(script) then
		return nil
	end
	local found = result.status == 127 and script_text.absent_program(script, is_known)
		or result.status < 126 and result.status ~= 2 and script_text.only_command(script)
	local first = found and numbered and script_text.line_of(attempt.found.source, script, attempt.found)
	return found or nil, first and first + found.line - 1
end

local TRACE = "To see each command before it runs, write set -x as the first line of the script"

-- What has failed, and what to do.
local function told(spec, result, name)
	if result.error then
		return result.error, result.suggestion
	end
	local line, ending = failing_line(result.stderr), process.ending(spec, result)
	local found, at = culprit(result)
	local last = process.last_line(result.stderr)
	last = line and last:match("^" .. file_name():gsub("%W", "%%%0") .. ": [line ]*%d+: (.*)") or last
	local said = last ~= "" and ": " .. last or ""
	if found and result.status == 127 then
		return ("%s is not in PATH"):format(found.text), ("Install %s, or add its directory to PATH"):format(found.text), at or line
	elseif found and (not line or line == at) and not found.text:find "^exit" then
		return ("%s %s%s"):format(found.text, ending, said), nil, at
	elseif attempt.command.program then
		local why, fix = require("runner.core.shell_words").advice(spec, result.stderr, true)
		return why and ("%s %s"):format(why, ending) or ("'%s' %s%s"):format(name, ending, said), fix
	end
	return ("%s'%s' %s%s"):format(line and "" or "the script of ", name, ending, said), result.suggestion
		or result.status == 127 and "Install what was not found, or add its directory to PATH"
		or result.status and last == "" and not attempt.command.interpreter and not shebang(attempt.command.shell) and TRACE or nil, line
end

local function fail(spec, result)
	local name = command_line.typed(attempt.name)
	local is_after = attempt.command.needs or attempt.command.parallel -- which have run
	if result.errno == "E2BIG" then
		errors.raise("VALIDATION_ERROR", ("The values for '%s' are longer than a program can be given, all together"):format(name),
			{ side_effects = not is_after and "none" or nil, fix_required = "Give fewer, or a file that has them" })
	end
	local what, fix, line = told(spec, result, name)
	if attempt.command.quiet and not attempt.framework.quiet then
		io.stderr:write(host.clean(result.stderr))
	end
	errors.raise(result.code or "SUBPROCESS_FAILED", place_of(line) .. what, {
		retryable = attempt.command.retry and true or nil, -- its author says so
		suggestion = fix,
		context = { task = name, status = result.status, signal = result.signal, line = line, path = attempt.command.path,
			stdout = process.tail(result.stdout), stderr = process.tail(result.stderr), truncated = result.truncated or nil },
	})
end

local function data_of(result)
	if result.truncated then
		errors.raise("OUTPUT_TOO_LARGE", ("'%s' wrote more than %d MiB"):format(command_line.typed(attempt.name), DATA_MAX >> 20))
	end
	local value = json.decode(result.stdout)
	if value == nil then
		value = result.stdout:gsub("\n$", "")
	end
	return attempt.wrap(value)
end

-- --- a run -------------------------------------------------------------------------------------------

local function spec_of(ctx, script, values)
	local env, rest = arguments(values)
	local words = script and script_words(ctx, script) or table.move(attempt.command.program, 1, 1000, 1, {})
	local spec = table.move(rest, 1, #rest, #words + 1, words)
	spec.env, spec.check, spec.stdin = env, false, attempt.command.stdin == true and io.stdin or nil
	return spec
end

---Does its `status` say that there is nothing to do?
---@param ctx runner.Context
---@param command table normal form
---@param values table
---@return boolean
function M.is_done(ctx, command, values)
	local result = process.run(ctx, { "/bin/sh", "-e", "-c", command.status, "status", env = arguments(values), check = false })
	local broken = result.status == 126 or result.status == 127 or result.status == 2
		and not process.run(ctx, { "/bin/sh", "-n", "-c", command.status, "status", check = false }).ok
	if broken then
		attempt.warn("STATUS_BROKEN", ("The status of '%s' can't tell whether there is anything to do: %s"):format(
			command_line.typed(attempt.name), process.last_line(result.stderr)), { status = result.status })
	end
	return result.ok
end

---Do the work of the task that this call is of.
---@param ctx runner.Context
---@param values table
---@return any data
function M.run(ctx, values)
	local command = attempt.command
	if not (command.shell or command.program) then
		return nil -- what it needs was all of it
	end
	local spec = spec_of(ctx, command.shell, values)
	local person = attempt.launch.person and ctx.interactive and not command.output
	if not person then
		choose_output(command, spec)
	end
	local result = person and require("runner.ctx.interaction").exec(ctx, spec) or process.run(ctx, spec)
	if spec.merge then
		result.stdout, result.stderr = "", result.stdout -- where it went
	end
	if not result.ok then
		fail(spec, result)
	end
	return command.output and data_of(result) or nil
end

return M
