-- call: a call of a command as the spans of a trace, where its project wants one: the call, its
-- attempts, and the programs that they run with ctx:run. Each attempt is a process of its own and
-- exports what it knows; the last one exports the call, too. Nothing of that changes the answer.

local attempt = require "runner.core.attempt"
local export = require "runner.telemetry.export"
local host = require "runner.host"
local settings = require "runner.telemetry.settings"
local trace = require "runner.telemetry.trace"
local waiting = require "runner.core.waiting"

local M = {}

local MOST = 1000 -- programs of an attempt that become spans
local TEXT = 4096 -- bytes
local DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

---@class runner.CallTrace
---@field telemetry runner.Telemetry
---@field trace_id string
---@field sampled boolean
---@field parent? runner.TraceParent that the caller is in
---@field root string the span of the call
---@field span string that of this attempt
---@field started_ms integer
---@field children runner.Span[]
---@field left_out integer programs beyond MOST

-- The time in the call's ID, which is a ULID: that of its first attempt.
local function began_ms(request_id, now_ms)
	local ms = 0
	for digit in (request_id:match "_(%w%w%w%w%w%w%w%w%w%w)" or ""):gmatch "." do
		ms = ms * 32 + (DIGITS:find(digit, 1, true) or 1) - 1
	end
	return ms > 0 and ms <= now_ms and ms or now_ms
end

-- Without secrets, and cut: in this order.
local function shown(text)
	return (attempt.mask or tostring)(text):sub(1, TEXT)
end

local function span(t, id, parent, name, start_ms, attributes)
	return { trace_id = t.trace_id, span_id = id, parent_id = parent, name = name, start_ms = start_ms,
		end_ms = host.wall_ms(), attributes = attributes }
end

-- --- programs -----------------------------------------------------------------------------------

local VARIABLE = "TRACEPARENT"

-- Unless the script has set it, the program's parent is its own span.
local function hand_on(t, options, id)
	for _, entry in ipairs(options.env or {}) do
		if entry == VARIABLE or entry:sub(1, #VARIABLE + 1) == VARIABLE .. "=" then
			return
		end
	end
	local env = table.move(options.env or {}, 1, #(options.env or {}), 1, {})
	env[#env + 1] = VARIABLE .. "=" .. trace.text { trace_id = t.trace_id, span_id = id, sampled = t.sampled }
	options.env = env
end

local function program_span(t, options, id, start_ms, result)
	local name = shown(options.argv[1]:match "[^/]+$" or options.argv[1])
	local s = span(t, id, t.span, name, start_ms, {
		["process.executable.name"] = name, ["process.exit.code"] = result.status, ["runner.program.signal"] = result.signal,
		["process.command_args"] = t.telemetry.content and shown(table.concat(options.argv, " ")) or nil,
	})
	local why = result.timed_out and "timeout" or result.signal or result.errno
		or not result.ok and (result.status and tostring(result.status) or "unknown") or nil
	s.attributes["error.type"], s.error = why, why
	return s
end

-- A program that ctx:run runs to its end by `run`.
local function follow(t, options, run)
	if #t.children >= MOST then
		t.left_out = t.left_out + 1
		return run(options)
	end
	local id, start_ms = trace.span_id(t.span, "program", #t.children), host.wall_ms()
	local place = #t.children + 1
	t.children[place] = false -- taken: programs run side by side
	hand_on(t, options, id)
	local result = run(options)
	t.children[place] = program_span(t, options, id, start_ms, result)
	return result
end

-- --- the attempt and the call ---------------------------------------------------------------------

-- No retry is left, whatever the failure is.
local function is_final()
	local retries = attempt.settled.policy.retries
	return retries >= 0 and attempt.launch.attempt > retries
end

-- Does the supervisor make no other attempt? Where only it can know, none is the last.
local function is_last(e)
	if not e or is_final() then
		return true
	end
	local row, retryable = host.registry_code(e.code), e.retryable
	for _, declared in ipairs(attempt.command.exit_codes) do
		row = declared.name == e.code and declared.retryable ~= nil and declared or row
	end
	if retryable == nil and row then
		retryable = row.retryable
	end
	return tostring(retryable) == "false"
end

local function failed(t, s, code, message)
	s.attributes["error.type"] = code
	s.error = code and (t.telemetry.content and message and shown(("%s: %s"):format(code, message)) or code)
	return s
end

local function spans_of(t, code, message, last)
	local name, request = attempt.command.name, attempt.launch.request_id
	local out = { failed(t, span(t, t.span, t.root, name .. " attempt", t.started_ms, {
		["runner.command"] = name, ["runner.attempt.number"] = attempt.launch.attempt,
		["runner.programs_left_out"] = t.left_out > 0 and t.left_out or nil,
	}), code, message) }
	for _, child in ipairs(t.children) do
		out[#out + 1] = child or nil
	end
	if last then
		table.insert(out, 1, failed(t, span(t, t.root, t.parent and t.parent.span_id, name, began_ms(request, t.started_ms), {
			["runner.command"] = name, ["runner.request_id"] = request, ["runner.attempts"] = attempt.launch.attempt,
			["runner.danger_level"] = attempt.command.danger_level,
		}), code, message))
	end
	return out
end

local function finish(t, ctx, code, message, last)
	if t.over then
		return
	end
	t.over = true
	waiting.trace_programs(nil) -- the export's own programs, if any, are none of the call's
	export.all(t, t.telemetry, ctx, attempt.mask, function()
		return spans_of(t, code, message, last)
	end, "this call")
end

local function begin(ctx, telemetry)
	local request, parent = attempt.launch.request_id, settings.parent()
	local t = { telemetry = telemetry, parent = parent, sampled = not parent or parent.sampled, children = {}, left_out = 0,
		trace_id = parent and parent.trace_id or trace.trace_id(request), root = trace.span_id(request, "call"),
		span = trace.span_id(request, "attempt", attempt.launch.attempt), started_ms = host.wall_ms() }
	host.setenv(VARIABLE, trace.text { trace_id = t.trace_id, span_id = t.span, sampled = t.sampled })
	waiting.trace_programs(function(options, run)
		return follow(t, options, run)
	end)
	attempt.at_end(function(answer)
		if answer.success or answer.error then
			local e = answer.error
			finish(t, ctx, e and e.code, e and e.message, is_last(e))
		end
	end)
	ctx:defer(function() -- of a call that was ended from outside
		finish(t, ctx, "CANCELLED", nil, is_final())
	end)
end

---Have this call traced, once it runs.
---@param a runner.Attempt
---@return (fun(v: any): any)? mask that of the call, which leaves out the secrets of tracing, too
function M.note(a)
	attempt.around("run", function(run, values, ctx)
		begin(ctx, a.project.telemetry)
		return run(values, ctx)
	end)
	local secrets = settings.secrets()
	if secrets[1] then
		local mask, before = require("runner.core.mask").guard(secrets), a.mask
		return before and function(v) return mask(before(v)) end or mask
	end
end

return M
