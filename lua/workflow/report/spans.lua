-- spans: a run as the spans of a trace: the run, its steps, and their attempts, as far as this
-- process has executed them. Names of attributes are those of OpenTelemetry's semantic conventions
-- (cicd.*, gen_ai.*, process.*, error.type), else ours (runner.*). Texts that prompts, scripts or
-- programs wrote are left out unless the project asks for them. Nothing of that changes how the run ends.

local amounts = require "runner.core.amounts"
local export = require "runner.telemetry.export"
local host = require "runner.host"
local settings = require "runner.telemetry.settings"
local trace = require "runner.telemetry.trace"

local M = {}

local CONTENT = 4096 -- bytes of a text
local RESULTS = { completed = "success", failed = "failure", cancelled = "cancellation", interrupted = "cancellation",
	skipped = "skip", running = "cancellation", waiting = "cancellation" }

---@class runner.workflow.Segment what one process executes of a run
---@field run_id string
---@field resumes integer
---@field parent runner.TraceParent? that the caller is in
---@field trace_id string
---@field span_id string of the run
---@field sampled boolean
---@field started_ms integer
---@field content boolean texts are exported too
---@field variable fun(key: string, number: integer): string the entry of an attempt's environment

local function attempt_id(segment, key, number)
	return trace.span_id(segment.run_id, key, number)
end

---What the program of an attempt has as TRACEPARENT.
---@param segment runner.workflow.Segment
---@param key? string of its step; nil: of the run itself
---@param number? integer of the attempt
---@return string
local function traceparent(segment, key, number)
	return trace.text { trace_id = segment.trace_id, span_id = key and attempt_id(segment, key, number) or segment.span_id,
		sampled = segment.sampled }
end

---The segment that begins now.
---@param run_id string
---@param resumes integer how often the run was resumed
---@param parent? runner.TraceParent
---@param now_ms integer
---@param content boolean
---@return runner.workflow.Segment
local function new_segment(run_id, resumes, parent, now_ms, content)
	local segment = { run_id = run_id, resumes = resumes, parent = parent, started_ms = now_ms, content = content,
		trace_id = parent and parent.trace_id or trace.trace_id(run_id), span_id = trace.span_id(run_id, resumes),
		sampled = not parent or parent.sampled }
	function segment.variable(key, number)
		return "TRACEPARENT=" .. traceparent(segment, key, number)
	end
	return segment
end

local function text_of(segment, text)
	return segment.content and text and text ~= "" and text:sub(1, CONTENT) or nil
end

local function span(segment, span_id, parent_id, name, start_ms, end_ms, attributes)
	return { trace_id = segment.trace_id, span_id = span_id, parent_id = parent_id, name = name, start_ms = start_ms,
		end_ms = end_ms, attributes = attributes }
end

-- An end that is no success; what it says beyond its code stays at home.
local function failed(segment, s, row)
	if row.code then
		s.attributes["error.type"] = row.code
		s.error = text_of(segment, row.message) and row.code .. ": " .. text_of(segment, row.message) or row.code
	end
	return s
end

-- --- the spans -----------------------------------------------------------------------------------

local function run_span(segment, run, now_ms)
	local ended = run.state ~= "running"
	return failed(segment, span(segment, segment.span_id, segment.parent and segment.parent.span_id, run.workflow,
		segment.started_ms, ended and run.ended_ms or now_ms, {
			["cicd.pipeline.name"] = run.workflow, ["cicd.pipeline.run.id"] = run.id,
			["cicd.pipeline.result"] = RESULTS[run.state], ["runner.run.resumes"] = segment.resumes,
			["runner.run.state"] = run.state, ["runner.run.failed_step"] = run.failed_step,
		}), run)
end

-- The step that holds this one, of those that have a span.
local function parent_of(segment, key, ids)
	local outer = key
	while outer do
		outer = outer:match "^(.*)%[%d+%]$" or outer:match "^(.*)%.[^.]*$"
		if ids[outer] then
			return ids[outer]
		end
	end
	return segment.span_id
end

-- "checks[3].lint" → "checks.lint": a name stands for all items of a loop.
local function name_of(key)
	return (key:gsub("%[%d+%]", ""))
end

local function step_span(segment, step, ids, first_ms, now_ms)
	local s = span(segment, ids[step.key], parent_of(segment, step.key, ids), name_of(step.key),
		math.max(first_ms or step.started_ms or segment.started_ms, segment.started_ms),
		step.state ~= "running" and step.state ~= "waiting" and step.ended_ms or now_ms, {
			["cicd.pipeline.task.name"] = step.key, ["cicd.pipeline.task.run.id"] = segment.run_id .. "/" .. step.key,
			["cicd.pipeline.task.run.result"] = RESULTS[step.state], ["runner.step.kind"] = step.kind,
			["runner.step.label"] = text_of(segment, step.label), ["runner.step.output"] = text_of(segment, step.output),
		})
	s.events = {}
	return failed(segment, s, step)
end

local function add_usage(attributes, usage)
	if not usage then
		return
	end
	attributes["gen_ai.operation.name"], attributes["gen_ai.provider.name"] = "invoke_agent", "anthropic"
	attributes["gen_ai.response.model"], attributes["gen_ai.conversation.id"] = usage.model, usage.session_id
	attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = usage.input_tokens, usage.output_tokens
	attributes["runner.attempt.cost_usd"] = usage.cost_micros and amounts.dollars(usage.cost_micros)
end

local function attempt_span(segment, row, ids, usage, now_ms)
	local s = span(segment, attempt_id(segment, row.key, row.number), ids[row.key], name_of(row.key) .. " attempt", row.started_ms,
		row.ended_ms or now_ms, { ["runner.attempt.number"] = row.number, ["process.exit.code"] = row.status,
			["runner.attempt.signal"] = row.signal })
	add_usage(s.attributes, usage)
	return failed(segment, s, row)
end

-- A wait after an attempt, in the span of its step.
local function wait_event(row)
	return { name = row.limit_ms and "limit.wait" or "retry.wait", time_ms = row.ended_ms or row.started_ms,
		attributes = { ["runner.delay_ms"] = row.delay_ms, ["runner.attempt.number"] = row.number, ["error.type"] = row.code } }
end

-- The attempts of this process, and when the first of each step began.
local function own_attempts(segment, rows)
	local own, first = {}, {}
	for _, row in ipairs(rows) do
		if row.started_ms >= segment.started_ms then
			own[#own + 1] = row
			first[row.key] = math.min(first[row.key] or row.started_ms, row.started_ms)
		end
	end
	return own, first
end

-- Steps that this process has worked on.
local function own_steps(segment, steps, first)
	local own = {}
	for _, step in ipairs(steps) do
		local holds = step.kind == "foreach" or step.kind == "parallel" or step.kind == "steps"
		local now = (step.ended_ms or math.huge) >= segment.started_ms
		own[#own + 1] = (first[step.key] or holds and now and step.state ~= "skipped") and step or nil
	end
	return own
end

---The spans of a segment: the run first, then steps and attempts.
---@param segment runner.workflow.Segment
---@param run table row of store:find, without secrets as all rows
---@param steps table[] of store:steps
---@param attempts table[] of store:attempts
---@param usage_of fun(key: string, number: integer): table? what a claude attempt used
---@param now_ms integer
---@return runner.Span[]
local function spans_of(segment, run, steps, attempts, usage_of, now_ms)
	local out, ids, by_key = { run_span(segment, run, now_ms) }, {}, {}
	local rows, first = own_attempts(segment, attempts)
	local own = own_steps(segment, steps, first)
	for _, step in ipairs(own) do
		ids[step.key] = trace.span_id(segment.run_id, step.key, "step", segment.resumes)
	end
	for _, step in ipairs(own) do
		by_key[step.key] = step_span(segment, step, ids, first[step.key], now_ms)
		out[#out + 1] = by_key[step.key]
	end
	for _, row in ipairs(rows) do
		out[#out + 1] = attempt_span(segment, row, ids, usage_of(row.key, row.number), now_ms)
		if row.delay_ms and by_key[row.key] then
			table.insert(by_key[row.key].events, wait_event(row))
		end
	end
	return out
end

-- --- where the project wants a trace ------------------------------------------------------------

---Begin a segment: what the run starts from now on is in its trace.
---@param run table
---@param telemetry runner.Telemetry
function M.begin(run, telemetry)
	run.segment = new_segment(run.id, run.db:find(run.id).resumes, settings.parent(), host.wall_ms(), telemetry.content)
	host.setenv("TRACEPARENT", traceparent(run.segment))
end

local function collect(run)
	local usage, db = {}, run.db
	for _, row in ipairs(db:attempts_usage(run.id)) do
		usage[row.key .. "\0" .. row.number] = row
	end
	return spans_of(run.segment, db:find(run.id), db:steps(run.id, { brief = not run.segment.content }), db:attempts(run.id),
		function(key, number) return usage[key .. "\0" .. number] end, host.wall_ms())
end

---Export the spans of the segment; once.
---@param run table
---@param ctx runner.Context
---@param telemetry runner.Telemetry
function M.finish(run, ctx, telemetry)
	if run.segment.over then
		return
	end
	run.segment.over = true
	export.all(run.segment, telemetry, ctx, run.mask, function()
		return collect(run)
	end, "run " .. run.id)
end

return M
