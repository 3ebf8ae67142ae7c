-- A whole argv, as a caller gives it: lua/boot.lua answers with one RESULT, after one
-- PLAN; `run` sees only values that keep their rules; nothing is raised. Files are
-- held in memory and frames are kept, so that each input is one call without a
-- process. The input: a byte that says how argv begins (see BEGINNINGS) and, from 128
-- on, that stdout is a terminal; then tokens, each behind a NUL; NAME=value behind \1
-- is the environment.

local real = { host = require "runner.host", fs = require "runner.fs" }
local utf8 = utf8

local FILES = {
	["/p/runner.lua"] = [[return { timeout = "20s", config = { places = { "here", "there" } } }]],
	["/p/commands/plain.lua"] = [[return { description = "x", danger_level = "safe", run = CHECK }]],
	["/p/commands/deploy.lua"] = [[return { description = "Deploy", danger_level = "mutating", steps = { "a", "b" },
		timeout = "5m", grace = "1s", idle_timeout = "9s",
		exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial", retry_after_ms = 0 },
			LOCKED = { code = 79, description = "x", retryable = true, side_effects = "none" } },
		retry = { retries = 2, delay = "1s", on = { "TIMEOUT", "LOCKED" } },
		args = { { "target", "enum", values = { "prod", "dev" }, required = true, short = "t", code = "BAD_TARGET" },
			{ "release", "string", pattern = "semver", positional = true },
			{ "keep", "integer", min = 1, max = 50, default = 5, short = "n", env = "KEEP" },
			{ "dry_run", "boolean", short = "d" }, { "tag", "array", items = "string", env = "TAGS" },
			{ "wait", "duration", max = "1h" } }, run = CHECK }]],
	["/p/commands/files.lua"] = [[return { description = "x", danger_level = "safe",
		args = { { "files", "path", variadic = true } }, validate = function(args) return #args.files > 3 and { "too many" } or nil end,
		run = CHECK }]],
	["/p/commands/where.lua"] = [[return { description = "x", danger_level = "safe",
		args = { { "place", "enum", values = function(config) return config.places end, positional = true },
			{ "ratio", "number", min = -1, max = 1, default = 0.5 } }, run = CHECK }]],
	["/p/commands/fail.lua"] = [[return { description = "x", danger_level = "safe",
		run = function(args, ctx) ctx:warn("CAREFUL", "x") ctx:fail("UNAVAILABLE", "503") end }]],
	["/p/commands/db/migrate.lua"] = [[return { description = "x", danger_level = "destructive",
		exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = CHECK }]],
	["/p/commands/broken.lua"] = [[return { description = "x", run = 5 }]],
	["/p/commands/nosyntax.lua"] = [[return {]],
}

-- Most inputs are to get further than to an unknown command.
local BEGINNINGS = {
	{}, { "plain" }, { "deploy" }, { "deploy", "-tdev" }, { "deploy", "--target", "prod", "1.2.3" }, { "files" },
	{ "where" }, { "where", "here" }, { "fail" }, { "db", "migrate" }, { "broken" },
}

local FOLDERS = {}
for path in pairs(FILES) do
	local dir, name = path:match("^(.*)/([^/]+)$")
	while dir ~= "" do
		FOLDERS[dir] = FOLDERS[dir] or {}
		FOLDERS[dir][name] = true
		dir, name = dir:match("^(.*)/([^/]+)$")
	end
end

-- --- the world around one call ---------------------------------------------------

local call -- of now: { argv, env, frames, written, problem }

local function refused()
	return nil, "refused", "EROFS"
end

local host = setmetatable({}, { __index = real.host })

-- One table for all calls: modules keep it.
local launch = { attempt = 1, repeats_made = 0, called_made = 0, request_id = "req_0", session_dir = "/tmp/none", version = "0.0.0",
	stdin_is_tty = false }

function host.launch() return launch end

function host.send(kind, fields)
	call.frames[#call.frames + 1] = { kind = kind, fields = fields }
	return true
end

function host.probe(path)
	return FILES[path] and "file" or FOLDERS[path] and "directory" or nil
end

function host.source(path)
	if FILES[path] then
		return FILES[path]
	end
	return nil, "No such file or directory", "ENOENT"
end

function host.getcwd() return "/p" end
function host.random() return 7 end
function host.take_stdin() return true end
function host.open_stdin() return nil, "No such file or directory" end
function host.nested() return nil end
host.enter_run, host.export_deadline, host.setenv, host.set_limits = refused, refused, refused, refused

local fs = setmetatable({}, { __index = function(_, name)
	return real.fs[name] and refused
end })

function fs.list(dir)
	local names = {}
	for name in pairs(FOLDERS[dir] or {}) do
		names[#names + 1] = name
	end
	table.sort(names)
	return names
end

function fs.stat(path)
	local kind = host.probe(path)
	return kind and { type = kind, size = 0, mode = 420 } or nil, "No such file or directory", "ENOENT"
end

function fs.write(path, text)
	call.written[#call.written + 1] = path
	return #text
end

-- What a script could do to this machine, or to the fuzzer's own output.
for library, names in pairs {
	[os] = { "execute", "remove", "rename", "tmpname", "exit" }, [io] = { "popen", "open", "write" }, [_G] = { "print" },
} do
	for _, name in ipairs(names) do
		rawset(library, name, refused)
	end
end
rawset(io, "stderr", { write = refused })
rawset(os, "getenv", function(name) return call.env[name] end)

package.loaded["runner.host"], package.loaded["runner.fs"] = host, fs
for _, name in ipairs { "http_client", "process", "sqlite", "terminal", "yaml" } do
	package.loaded["runner." .. name] = setmetatable({}, { __index = function() return refused end })
end

-- The result is looked at here: it comes as a text, not as a buffer that only host reads.
local encoder = require "runner.json"
local encode = encoder.encode
rawset(encoder, "encode", function(value, opts)
	if opts then
		opts.buffer = nil
	end
	return encode(value, opts)
end)

-- The built-ins are the same in every call: checked once.
local loader = require "runner.project.loader"
local check, checked = loader.command, {}

function loader.command(found, project)
	if found.path then
		return check(found, project)
	end
	checked[found.name] = checked[found.name] or table.pack(check(found, project))
	return table.unpack(checked[found.name], 1, 2)
end

-- --- what must hold --------------------------------------------------------------

local TYPES = { string = "string", path = "string", enum = "string", number = "number", integer = "number",
	duration = "number", boolean = "boolean" }

local function check_value(row, v)
	local kind = row.items or row.type
	assert(type(v) == TYPES[kind], row.name)
	assert(kind ~= "integer" or math.type(v) == "integer", row.name)
	assert(not (row.min and v < row.min) and not (row.max and v > row.max), row.name)
	assert(type(v) ~= "string" or utf8.len(v), row.name)
end

-- `run` of the commands above.
local function check_args(args)
	for _, row in ipairs(require("runner.core.attempt").command.args) do
		local v = args[row.name]
		assert(v ~= nil or not row.required, row.name)
		for _, item in ipairs(row.type == "array" and v or { v }) do
			check_value(row, item)
		end
	end
	return args
end

rawset(_G, "CHECK", function(args)
	local ok, why = pcall(check_args, args)
	call.problem = not ok and why or call.problem
	return args
end)

local FORMATS = { json = true, jsonl = true, tsv = true, plain = true, table = true, text = true }

local function check_plan(f)
	assert(type(f.command) == "string" and FORMATS[f.format], "PLAN without a command or a format")
	for key, v in pairs(f) do
		if key:find("_ms$") then
			assert(math.type(v) == "integer" and v >= 0, key)
		end
	end
	assert(not f.retries or f.retries >= 0 and f.retries <= 1000)
end

local function check_result(f, plan, seen)
	local json = require "json"
	for _, key in ipairs { "data", "errors", "context" } do
		assert(f[key] == nil or f[key] == "null" or json.decode(f[key]) ~= nil, key)
	end
	if f.ok then
		assert(plan.format == "json" or seen.TEXT, "a success in a format without its text")
	else
		assert(require("runner.core.errors").well_formed(f.code) and f.message ~= "", f.code)
		assert(f.code ~= "INTERNAL_ERROR" and f.code ~= "COMMAND_CRASHED", tostring(f.code) .. ": " .. tostring(f.message))
		assert(seen.RUN or f.phase == "validation", "a failure before run is no failure of run")
		assert(f.code ~= "VALIDATION_ERROR" or f.fix_required, "no word on what to correct")
	end
end

-- EXIT*, PLAN, RUN?, …, TEXT?, RESULT, and from then on only warnings; members of meta at any time.
local function check_frames(frames)
	local seen, plan = {}, nil
	for _, frame in ipairs(frames) do
		local kind = frame.kind
		assert(not seen.RESULT or kind == "WARN" or kind == "META", kind .. " behind the RESULT")
		assert(plan or kind == "EXIT" or kind == "PLAN" or kind == "WARN" or kind == "META", kind .. " before the PLAN")
		assert(not (seen.PLAN and (kind == "PLAN" or kind == "EXIT")), kind .. " behind the PLAN")
		if kind == "PLAN" then
			plan = frame.fields
			check_plan(plan)
		elseif kind == "RESULT" then
			check_result(frame.fields, plan, seen)
		end
		seen[kind] = true
	end
	assert(seen.RESULT, "no RESULT")
end

-- A file is written where the caller has asked for one, and there only.
local function check_written()
	for _, path in ipairs(call.written) do
		local asked = false
		for i, token in ipairs(call.argv) do
			asked = asked or token == "new" or token == "--output=" .. path
				or token == "--output" and call.argv[i + 1] == path
		end
		assert(asked, path .. " was written")
	end
end

-- --- one call -----------------------------------------------------------------------

local PATH = package.path
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"

-- Rooms with modules that keep something of the call, and with those that hold them.
local OF_A_CALL = { boot = true, project = true, tools = true, commands = true, ctx = true }

-- What a module that is not loaded again keeps in a table of its own (the names of upvalues are not embedded).
local function forget(f, module)
	for i = 1, debug.getinfo(f, "u").nups do
		local _, kept = debug.getupvalue(f, i)
		if type(kept) == "table" and kept ~= module and kept ~= _G then
			for key in pairs(kept) do
				kept[key] = nil
			end
		end
	end
end

local function fresh_worker()
	for name, value in pairs(attempt) do
		if type(value) ~= "function" and name ~= "launch" then
			attempt[name] = nil
		end
	end
	forget(attempt.around, attempt)
	forget(attempt.at_end, attempt)
	forget(attempt.add, attempt)
	forget(display.set, display)
	attempt.call, attempt.place, attempt.input, attempt.framework = { argv = {} }, {}, {}, {}
	launch.argv, launch.stdout_is_tty, launch.stderr_is_tty = call.argv, call.terminal, call.terminal
	launch.format = call.terminal and not call.ci and "text" or "json"
	for name in pairs(package.loaded) do
		local room = name:match "^runner%.(%w+)"
		if room and OF_A_CALL[room] or name == "runner.core.retry_budget" then
			package.loaded[name] = nil
		end
	end
	package.path = PATH
end

return function(text)
	local how = text:byte(1) or 0
	call = { argv = { table.unpack(BEGINNINGS[how % #BEGINNINGS + 1]) }, env = { HOME = "/home" }, frames = {},
		written = {}, terminal = how >= 128 }
	for token in text:sub(2):gmatch("%z([^%z]*)") do
		local name, value = token:match("^\1([^=]*)=(.*)$")
		if name then
			call.env[name] = value
		elseif #call.argv < 64 then
			call.argv[#call.argv + 1] = token
		end
	end
	fresh_worker()
	require "runner.boot"
	assert(not call.problem, call.problem)
	check_frames(call.frames)
	check_written()
end
