-- call_flags: what runner's rare flags switch on in a call, whatever its command is. Loaded when
-- one of them is given. Those that need more have a module of their own.

local attempt = require "runner.core.attempt"
local host = require "runner.host"

local M = {}

local function needs_yes(a)
	local launch, message = a.launch, "--no-injection-protection needs --yes where no person is at a terminal"
	return a.framework.yes == nil and not launch.person and {
		field = "no_injection_protection", code = "CONFIRMATION_REQUIRED", message = message,
		suggestion = "Add --yes", fix_required = "Add --yes, or leave --no-injection-protection out",
	} or nil
end

-- Said in every answer, whether or not the command has data from outside (REQ-O-023).
local function trust_everything(a)
	attempt.warn("INJECTION_PROTECTION_DISABLED", "Data from outside is not marked as untrusted in this answer")
	host.send("META", { name = "injection_protection", data = "false" }, true)
	return needs_yes(a)
end

local function conflict(a, name)
	local given = a.parsed.framework_given
	return a.framework[name] and given[name] == "flag" and given.debug == "flag" and {
		field = "debug", code = "CONFLICTING_VALUES", message = ("--debug and --%s exclude each other"):format(name),
		suggestion = "Give one of them", fix_required = "Give one of them",
	} or nil
end

-- Where a variable asks for it, a flag that asks for silence goes before it.
local function begin_trace(a, problems)
	problems[#problems + 1] = conflict(a, "quiet") or conflict(a, "verbose")
	if not a.framework.quiet then
		a.framework.verbose = true
		return function(message)
			host.send("LOG", { level = "debug", message = message:sub(1, 60000) })
		end
	end
end

local function shown_settings(a)
	local out = {}
	for _, name in ipairs { "timeout", "attempt_timeout", "idle_timeout", "grace" } do
		local ms = a.settled[name .. "_ms"]
		out[#out + 1] = ("%s %s (%s)"):format(name, ms == 0 and "none" or host.duration_text(ms), a.settled.sources[name])
	end
	return table.concat(out, ", ")
end

---Say what has been decided so far, where --debug asks for it. The rest of the library says by
---`attempt.trace` what it does.
---@param a runner.Attempt
function M.trace_start(a)
	a.trace(("command %s from %s"):format(a.name, a.command.path or "runner itself"))
	a.trace("settings from " .. (a.project.file or "no runner.lua"))
	a.trace("limits: " .. shown_settings(a))
	a.trace(("attempt %d, retries %d, format %s"):format(a.launch.attempt, a.settled.policy.retries, a.format))
end

-- Children belong to the same instance.
local function take_instance(id)
	host.setenv("RUNNER_INSTANCE_ID", id)
	host.send("META", { name = "instance_id", data = require("runner.json").encode(id, { envelope = true }) }, true)
end

-- For screen readers: nothing here draws a line again, nor does what is called from here.
local function speak_plainly(framework)
	framework.no_color = framework.plain or framework.no_color
	host.setenv("RUNNER_PLAIN", framework.plain and "1" or nil)
end

-- Rows that have gone out can't be given again; those that are kept for data.items can.
local function rows_once(a)
	local kept = a.format == "json" or a.format == "tsv" or a.format == "plain" or a.framework.output
	return not kept and { field = "idempotency_key", code = "CONFLICTING_VALUES", value = a.framework.idempotency_key,
		message = "--idempotency-key can't be used while rows are streamed", suggestion = "Use --format json",
		fix_required = "Give --format json, or leave --idempotency-key out" } or nil
end

-- The form of the result that the caller knows (REQ-O-014), or a problem.
local function older_form(command, major)
	local current, older = command.schema_version, command.older_versions[tostring(major)]
	if older then
		command.schema_version = older.version
		return { version = older.version, current = current, shape = older.shape }
	elseif current:match "^%d+" ~= tostring(major) then
		local known = require("runner.core.tables").sorted_keys(command.older_versions)
		return nil, { field = "schema_version", code = "INVALID_ARGUMENT", value = major,
			message = ("The result has no form of version %d"):format(major), fix_required = "Give a version that there is",
			suggestion = ("The versions are %s and %s"):format(table.concat(known, ", "), current:match "^%d+") }
	end
end

-- What lua/output/tokens.lua gives of the result. A count is JSON, whatever the format of that would be.
local function window_of(framework, format)
	local window = { limit = framework.token_limit, offset = framework.token_offset or 0,
		count = framework.token_count and true or nil, format = format }
	if window.count and format ~= "id" then
		framework.format, framework.stream, format = "json", nil, "json"
	end
	return window, format
end

---What meta says of a call, and of one that fails before its command is known.
---@param framework table
function M.tell(framework)
	if framework.meta == "short" then
		host.send("META", { name = "form", data = '"short"' }, true)
	end
	if framework.stable_output then
		host.send("META", { name = "stable_output", data = "true" }, true)
	end
end

-- `runner --choose` is a call of the command that makes calls, which are chosen then.
local function choosing(a)
	local found = { name = "several", words = 0 }
	local command = assert(require("runner.project.loader").command(found, a.project))
	local parsed = require("runner.project.args").parse(command.args, a.tokens, { command = command, in_front = #a.tokens })
	return { found = found, name = found.name, command = command, parsed = parsed, framework = parsed.framework, format = a.format }
end

---Take the flags; what is wrong with them joins the problems of the arguments.
---@param a runner.Attempt
---@return {format: string, trace?: function, older?: table, window?: runner.Window}
function M.take(a)
	local problems, framework, found = a.parsed.problems, a.framework, { format = a.format }
	if framework.choose and a.name == "help" and not a.call.places[1] then
		return choosing(a)
	elseif framework.choose then
		problems[#problems + 1] = { field = "choose", code = "INVALID_ARGUMENT", message = "--choose stands alone",
			suggestion = "Write runner --choose", fix_required = "Leave out the command, or --choose" }
	end
	if framework.no_cache or framework.cache_ttl and framework.cache_ttl < 1 then
		host.send("META", { name = "cache_used", data = "false" }, true) -- before the next one, which only leaves out true
	end
	M.tell(framework)
	if framework.debug then
		found.trace = begin_trace(a, problems)
	end
	if framework.plain ~= nil then
		speak_plainly(framework)
	end
	if framework.idempotency_key and a.command.streams then
		problems[#problems + 1] = rows_once(a)
	end
	if framework.schema_version then
		found.older, problems[#problems + 1] = older_form(a.command, framework.schema_version)
	end
	if framework.instance_id and not (a.policy and a.policy.together) then -- else it is refused, and that is where all of it is
		take_instance(framework.instance_id)
	end
	local interval = framework.heartbeat_interval
	if interval and not framework.quiet then
		host.send("EMIT", { state = "stderr", delay_ms = require("runner.core.rules").milliseconds(interval) }, true)
	end
	if framework.token_limit or framework.token_offset or framework.token_count then
		found.window, found.format = window_of(framework, a.format)
	end
	if a.framework.no_injection_protection then
		problems[#problems + 1] = trust_everything(a)
	end
	return found
end

---`runner + a + b` is never made again: what is given of attempts is for each of its calls.
---@param settled table
function M.of_each(settled)
	settled.policy.retries, settled.attempt_timeout_ms, settled.idle_timeout_ms = 0, 0, 0
end

-- --- proxies --------------------------------------------------------------------------------

local PROXIES = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" }

---Set or clear the variables of this process, which ctx:http and what it starts read. --no-proxy wins.
---@param framework {proxy?: string, no_proxy?: boolean}
function M.export_proxy(framework)
	local proxy = not framework.no_proxy and framework.proxy or nil
	for _, name in ipairs(PROXIES) do
		host.setenv(name, proxy)
	end
	for _, name in ipairs { "no_proxy", "NO_PROXY" } do
		host.setenv(name, nil)
	end
end

return M
