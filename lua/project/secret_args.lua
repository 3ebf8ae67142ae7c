-- secret_args: arguments declared secret: their values come from variables and files too, and
-- leave the worker in no frame. Loaded if a command declares one.

local attempt = require "runner.core.attempt"
local computed = require "runner.declare.computed"

local M = {}

-- --- where values come from --------------------------------------------------------------

local LARGEST = 1 << 16 -- bytes of a file

local SOURCES = {} -- each returns the text, or nil and what is wrong with it

function SOURCES.env(name)
	local text = os.getenv(name)
	return text ~= "" and text or nil, ("the environment variable %s is not set"):format(name)
end

local function fault_of(text)
	if not text or text == "" then
		return text and "is empty" or "can't be read"
	elseif #text > LARGEST then
		return "is larger than 64 KiB"
	end
	return text:find("\0", 1, true) and "holds a NUL" or nil
end

function SOURCES.file(path)
	local file, why = io.open(path, "rb")
	if not file then
		return nil, why
	end
	local text = file:read(LARGEST + 1)
	file:close()
	text = text and text:gsub("\r?\n$", "")
	local fault = fault_of(text)
	return not fault and text or nil, fault and ("the file %s %s"):format(path, fault)
end

local function wrong(row, code, message, fix)
	return { field = row.of.name, code = code, message = message, suggestion = fix, fix_required = fix }
end

-- The value that a flag leads to | nil, the problem.
local function read(row, name, config)
	local text, why = SOURCES[row.source](name)
	if not text then
		return nil, wrong(row, "INVALID_ARGUMENT", ("--%s: %s"):format(row.flag, why),
			row.source == "env" and ("Set %s"):format(name) or ("Correct %s, or --%s"):format(name, row.flag))
	end
	local list = computed.listed(row.of, config)
	local value, reason = require("runner.project.argv_parser").read(row.of, text, list)
	return value, reason and require("runner.declare.arg_errors").invalid(row.of, text, reason, "flag", list)
end

-- What the argument's variable or default has wrong, and that it is missing, doesn't matter now.
local function forget(problems, name)
	for i = #problems, 1, -1 do
		if problems[i].field == name then
			table.remove(problems, i)
		end
	end
end

-- Take the values that --NAME-from-env and --NAME-from-file name, and add what is wrong to the
-- problems.
local function take(command, parsed, config)
	for _, row in ipairs(require("runner.declare.rare_arguments").secret_rows(command)) do
		local named, name = parsed.framework[row.name], row.of.name
		local from = parsed.given[name]
		if named and (from == "flag" or from == "positional" or from == "payload") then
			parsed.problems[#parsed.problems + 1] = wrong(row, "CONFLICTING_VALUES",
				("--%s was given, but '%s' has a value already"):format(row.flag, name), "Give one of them")
		elseif named then
			forget(parsed.problems, name)
			parsed.given[name] = "flag"
			parsed.values[name], parsed.problems[#parsed.problems + 1] = read(row, named, config)
		end
	end
end

local SHOWN = "The value of '%s' stands on the command line, where every user of the machine can read it"

-- Every user of the machine can read a command line (REQ-C-016). Steps of a workflow put their
-- arguments there, so that they are warned.
local function refuse_shown(command, parsed)
	local of_call = attempt.call.stdin_words
	for _, row in ipairs(command.args) do
		local from = parsed.given[row.name]
		local shown = from == "flag" or from == "positional" or from == "payload" and parsed.framework.raw_payload
		local twice = parsed.framework[row.name .. "_from_env"] or parsed.framework[row.name .. "_from_file"] -- take() says so
		if row.secret and not of_call and shown and not twice and row.type ~= "array" then
			local message, fix = SHOWN:format(row.flag), ("Give --%s-from-env or --%s-from-file"):format(row.flag, row.flag)
			fix = from == "payload" and fix .. "; or the object by --input-file, - for stdin" or fix
			if os.getenv "RUNNER_AUTOMATION" == "true" then
				attempt.warn("SECRET_ON_COMMAND_LINE", ("%s. %s"):format(message, fix), { argument = row.name })
			else
				parsed.problems[#parsed.problems + 1] = { field = row.name, code = "SECRET_ON_COMMAND_LINE", message = message,
					suggestion = fix, fix_required = fix }
			end
		end
	end
end

-- --- where they go ----------------------------------------------------------------------

local function add(list, value)
	if type(value) == "table" then
		for _, item in ipairs(value) do
			add(list, item)
		end
	elseif type(value) == "string" or type(value) == "number" then
		list[#list + 1] = tostring(value)
	end
end

---Take the secret arguments of a call, and its token if the command signs in, and hide their values from here on, with
---those that the caller has handed over.
---@param command table normal form
---@param parsed runner.Parsed
---@param config? table of the project
---@return {secrets?: string[], mask: (fun(v: any): any), token?: string} found values to mask, a copy without
---  them, and of a command that signs in its token
function M.hide(command, parsed, config)
	refuse_shown(command, parsed)
	take(command, parsed, config)
	local list, token = attempt.secrets or {}, nil
	for _, row in ipairs(command.args) do
		if row.secret then
			add(list, parsed.values[row.name])
		end
	end
	if command.auth then
		token = require("runner.core.requirements").token(command, parsed.framework)
		add(list, token)
	end
	return { secrets = list[1] and list or false, mask = require("runner.core.mask").guard(list), token = token }
end

return M
