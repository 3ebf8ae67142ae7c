-- process_spec: checks the specs of ctx:run{…}, ctx:spawn{…} and ctx:pipeline{…} key by key,
-- and turns them into what runner.process takes. A wrong spec is a bug of the script
-- (lua/ctx/misuse.lua).

local attempt = require "runner.core.attempt"
local misuse = require "runner.ctx.misuse"
local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"

local M = {}

local CAP = 1 << 20 -- bytes kept of each stream
local GRACE_MS = 2000 -- outside of an attempt
local STOP_SIGNALS = { HUP = true, INT = true, QUIT = true, TERM = true, USR1 = true, USR2 = true, WINCH = true }

-- A mistake in what the script wrote, at the script's own line.
local function fail(method, message, ...)
	misuse.raise("ctx:" .. method, message:format(...))
end

-- --- values: each gives what runner.process takes, or nil and what would do ------

local function text(value)
	if type(value) == "number" then
		return tostring(value)
	elseif type(value) == "string" and not command_line.has_nul(value) then
		return value
	end
	return nil, "a string without NUL"
end

local function path(value)
	local s = text(value)
	if s and s ~= "" then
		return s
	end
	return nil, "a path: a string that is not empty, without NUL"
end

local function flag(value)
	if type(value) == "boolean" then
		return value
	end
	return nil, "true or false"
end

local function callback(value)
	if type(value) == "function" then
		return value
	end
	return nil, "a function(line, stream)"
end

local function bytes(value)
	local n = math.type(value) and math.tointeger(value)
	if n and n >= 0 and n <= 1 << 40 then
		return n
	end
	return nil, "a number of bytes, 0 or more"
end

---As ms; raises for what is none.
---@param value any
---@param method string "run", "spawn" …
---@param key string "timeout"
---@return integer ms
function M.duration(value, method, key)
	return rules.duration(value) or misuse.duration("ctx:" .. method, key, value)
end

local function stop_signal(value)
	local name = type(value) == "string" and value:gsub("^SIG", "")
	if STOP_SIGNALS[name] then
		return "SIG" .. name
	end
	return nil, "HUP, INT, QUIT, TERM, USR1, USR2 or WINCH"
end

local function env_entry(name, value)
	if type(name) ~= "string" or name == "" or name:find("[=%z]") then
		return nil, ("a name without '=' (found %s)"):format(misuse.shown(name))
	elseif value == false then
		return name
	end
	local s, expected = text(value)
	if not s then
		return nil, ("%s = %s, or false to unset it (found %s)"):format(name, expected, misuse.shown(value))
	end
	return name .. "=" .. s
end

local function env(value)
	if type(value) ~= "table" then
		return nil, "a table of variables, name = value, with false to unset one"
	end
	local list = {}
	for name, v in pairs(value) do
		local entry, expected = env_entry(name, v)
		if not entry then
			return nil, expected
		end
		list[#list + 1] = entry
	end
	return list
end

local function stdin(value)
	if type(value) == "string" or type(value) == "number" then
		return tostring(value)
	elseif io.type(value) == "file" then
		return value
	end
	return nil, "the bytes as a string, or an open file (io.stdin passes ours on)"
end

local function spawn_stdin(value)
	if value == true then
		return true
	end
	local v, expected = stdin(value)
	return v, not v and expected .. ", or true for a pipe that :write() fills" or nil
end

-- One status or a list of them, as a set; nil where it is none.
local function status_set(value, least)
	local set, list = {}, type(value) == "table" and value or { value }
	for key, n in pairs(list) do
		if math.type(key) ~= "integer" or not math.tointeger(n) or n < least or n > 255 then
			return nil
		end
		set[math.tointeger(n)] = true
	end
	return next(set) and set
end

local function ok_statuses(value)
	return status_set(value, 0), "a list of exit statuses from 0 to 255 that are not failures, such as { 0, 1 } for grep"
end

local RETRY_ON = {
	exit = function(v)
		return status_set(v, 1), "exit = a list of statuses from 1 to 255"
	end,
	stderr = function(v)
		return type(v) == "string" and v ~= "" and v or nil, "stderr = a text to look for"
	end,
	pattern = function(v)
		return type(v) == "string" and pcall(string.find, "", v) and v or nil,
			"pattern = a Lua pattern for stderr"
	end,
	code = function(v)
		return require("runner.core.errors").well_formed(v) and v or nil, "code = an error code such as UNAVAILABLE"
	end,
	retry_after_ms = function(v)
		return bytes(v), "retry_after_ms = milliseconds, 0 or more"
	end,
}

local function retry_on(value)
	if type(value) ~= "table" then
		return nil, 'a table such as { exit = {75}, stderr = "temporarily unavailable" }'
	end
	local rule = { code = "UNAVAILABLE" }
	for key, v in pairs(value) do
		local check = RETRY_ON[key]
		local kept, expected = nil, "made of exit, stderr, pattern, code, retry_after_ms"
		if check then
			kept, expected = check(v)
		end
		if not kept then
			return nil, ("%s (found %s = %s)"):format(expected, tostring(key), misuse.shown(v))
		end
		rule[key] = kept
	end
	if not (rule.exit or rule.stderr or rule.pattern) then
		return nil, "a condition: exit, stderr or pattern"
	end
	return rule
end

-- --- keys ---------------------------------------------------------------------------

local function keys(base, more)
	return setmetatable(more, { __index = base })
end

local STAGE = { cwd = path, env = env, ok_statuses = ok_statuses, stop_signal = stop_signal }
local COMMON = keys(STAGE, { stdin = stdin, grace = M.duration, capture = flag, cap = bytes, foreground = flag, check = flag,
	reads = flag })
local CHECKED = keys(COMMON, { timeout = M.duration, on_line = callback, echo = flag, retry_on = retry_on })
local KEYS = {
	stage = STAGE,
	pipeline = CHECKED,
	run = keys(CHECKED, { merge = flag }),
	delegate = { cwd = path, env = env, stdin = stdin, grace = M.duration, stop_signal = stop_signal, timeout = M.duration,
		foreground = flag, reads = flag },
	exec = { cwd = path, env = env, grace = M.duration, stop_signal = stop_signal, timeout = M.duration, check = flag,
		ok_statuses = ok_statuses, reads = flag },
	spawn = keys(COMMON, { stdin = spawn_stdin, merge = flag, detach = flag, stdout = path, stderr = path }),
}

local function unknown_key(method, rows, key)
	misuse.unknown("ctx:" .. method, key, require("runner.core.tables").inherited_keys(rows))
end

-- Named keys → options; list items are the caller's.
local function named(method, rows, spec)
	local options = {}
	for key, value in pairs(spec) do
		if math.type(key) ~= "integer" then
			local check = type(key) == "string" and rows[key] or unknown_key(method, rows, key)
			local kept, expected = check(value, method, key)
			if kept == nil then
				local found = not expected:find(" (found ", 1, true) and ", not " .. misuse.shown(value) or ""
				fail(method, "'%s' must be %s%s", key, expected, found)
			end
			options[key] = kept
		end
	end
	return options
end

-- A nil among the list items (a variable that was not set) must not shorten it.
local function length(method, spec)
	local n = 0
	for key in pairs(spec) do
		if math.type(key) == "integer" then
			n = math.max(n, key)
		end
	end
	for i = 1, n do
		if spec[i] == nil then
			fail(method, "item %d is nil; write \"\" for an empty argument", i)
		end
	end
	return n
end

local function read_argv(method, spec)
	local argv = {}
	for i = 1, length(method, spec) do
		local s, expected = text(spec[i])
		if not s then
			fail(method, "argument %d must be %s, not %s", i, expected, misuse.shown(spec[i]))
		end
		argv[i] = s
	end
	if not argv[1] or argv[1] == "" then
		fail(method, 'no program given: write { "git", "status", … }')
	end
	return argv
end

local function read_stdin(options)
	local value = options.stdin
	options.stdin = nil
	if value == true then
		options.keep_stdin_open = true
	elseif type(value) == "string" then
		options.stdin = value
	else
		options.stdin_file = value
	end
end

-- --- what the programs say goes to stderr, line by line as it comes -------------------------

local function pass(line)
	io.stderr:write(line .. "\n") -- in one piece: what is drawn below it stays
end

-- Both streams, of a command that declares stderr = "child_log" (REQ-F-038), so that a later reader has their log;
-- --quiet silences them.
local function log_streams(options)
	if attempt.framework.quiet then
		options.capture = true
	elseif options.capture and not options.on_line then
		options.on_line = pass
	end
end

-- Both streams as well, with echo = true; --quiet silences them.
local function echo_streams(options)
	local on_line = options.on_line
	options.on_line = function(line, stream)
		if not attempt.framework.quiet then
			pass(line)
		end
		if on_line then
			on_line(line, stream)
		end
	end
end

-- --- the options of a command ------------------------------------------------------------

-- Defaults, and the names that runner.process knows.
local function finish(method, ctx, options)
	read_stdin(options)
	options.cap = options.cap or CAP
	options.grace_ms = options.grace or attempt.settled and attempt.settled.grace_ms or GRACE_MS
	options.timeout_ms = options.timeout ~= 0 and options.timeout or nil
	if options.capture == nil then
		options.capture = true
	end
	options.check = options.check ~= false
	if options.foreground == nil then
		options.foreground = type(ctx) == "table" and ctx.interactive == true
	end
	if (options.on_line or options.echo) and not options.capture then
		fail(method, "%s gets no lines with capture = false; remove one of them", options.echo and "echo" or "on_line")
	elseif options.echo then
		echo_streams(options)
	end
	if (method == "run" or method == "pipeline") and attempt.command and attempt.command.stderr == "child_log" then
		log_streams(options)
	end
	options.lines = options.on_line ~= nil
	return options
end

-- Nothing splits or expands a text here: that takes a shell, and a shell takes what a user
-- typed for code (REQ-F-062).
local function prohibit_shell(method, line)
	local call = #line < 200 and require("runner.core.shell_words").call_of(line)
	local stage = method == "pipeline"
	misuse.raise(nil, ("ctx:%s takes one table of words, not the text %s"):format(method, misuse.shown(line)),
		call and "Write " .. call:gsub("^ctx:run", stage and "" or "ctx:" .. method)
			or ('Write %s{ "sh", "-c", %s }, where no value of an argument is in that text'):format(stage and "" or "ctx:" .. method,
				#line < 200 and ("%q"):format(line) or '"…"'), "SHELL_STRING_PROHIBITED")
end

local function check_table(method, spec)
	if type(spec) == "string" then
		prohibit_shell(method, spec)
	elseif type(spec) ~= "table" then
		fail(method, 'takes one table, { "git", "status", cwd = … }, not %s', misuse.shown(spec))
	end
end

-- With --debug: the words as JSON, so that each is seen as it is (REQ-F-062).
local function trace(method, argv)
	if attempt.trace then
		attempt.trace(("ctx:%s %s"):format(method, require("runner.json").encode(argv, { envelope = true }) or "?"))
	end
end

---The options of one command, as runner.process.start takes them.
---@param method "run"|"spawn"|"delegate"
---@param ctx table?
---@param spec any
---@return table
function M.command(method, ctx, spec)
	check_table(method, spec)
	local options = finish(method, ctx, named(method, KEYS[method], spec))
	options.argv = read_argv(method, spec)
	trace(method, options.argv)
	if options.detach and (options.stdin or options.keep_stdin_open or options.foreground) then
		fail(method, "a detached process gets neither stdin nor a terminal; remove stdin and foreground")
	end
	return options
end

---The options of a pipeline and of each of its stages.
---@param ctx table?
---@param spec any
---@return table options, table[] stages
function M.pipeline(ctx, spec)
	check_table("pipeline", spec)
	local options = finish("pipeline", ctx, named("pipeline", KEYS.pipeline, spec))
	local stages = {}
	for i = 1, length("pipeline", spec) do
		if type(spec[i]) == "string" then
			prohibit_shell("pipeline", spec[i])
		elseif type(spec[i]) ~= "table" then
			fail("pipeline", 'stage %d must be a table, { "sort", "-u" }, not %s', i, misuse.shown(spec[i]))
		end
		local stage = setmetatable(named("pipeline", KEYS.stage, spec[i]), { __index = options })
		stage.argv = read_argv("pipeline", spec[i])
		trace("pipeline", stage.argv)
		stages[i] = stage
	end
	if #stages < 2 then
		fail("pipeline", 'needs two stages or more: { {"ls"}, {"wc", "-l"} }; for one command there is ctx:run')
	end
	return options, stages
end

return M
