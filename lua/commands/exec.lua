-- runner exec: many calls, one JSON request a line on stdin, one envelope a line on stdout
-- (REQ-O-050). Each call is a run of its own (lua/calls).

local attempt = require "runner.core.attempt"
local batch = require "runner.calls.batch"
local budget = require "runner.core.budget"
local calls = require "runner.calls.calls"
local envelopes = require "runner.calls.envelope"
local errors = require "runner.core.errors"
local json = require "runner.json"
local locate = require "runner.project.locate"
local requests = require "runner.calls.request"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local LINE_MAX = 1 << 20

-- Built-in commands that only read. Any other may run what a file says, or write what another user
-- runs later: it could confirm what a request can't.
local OPEN = tables.set [[audit.list audit.verify changelog check-permissions completion doctor help job.list job.logs job.status job.wait
	manifest mcp.tools status workflow.check workflow.list workflow.logs workflow.plan workflow.show workflow.stats workflow.wait]]
local NEVER = tables.set "exec flame mcp.serve several"

-- --- what a request may do ------------------------------------------------------------------

local function denied(message, fix)
	return errors.new("PERMISSION_DENIED", message, { phase = "validation", retryable = false, side_effects = "none", fix_required = fix })
end

-- The command that these words would run, if it is a built-in one: by its name, or by an alias of
-- runner.lua (one of a command file stands for that file alone).
local function builtin(words)
	local found = locate.find(words, attempt.project)
	local stands_for = not found and (attempt.project.aliases or {})[words[1]]
	found = stands_for and locate.find(stands_for, attempt.project) or found
	return found and not found.path and found.name or nil
end

local function refusal(request, allowed)
	local name = builtin(request.words)
	if NEVER[name] then
		return denied(("%s can't be called in a request"):format(request.cmd), "Send its requests as lines of their own")
	elseif name and not OPEN[name] and not allowed then
		return denied(("%s may write or run files, and was not allowed"):format(request.cmd),
			("Have the program that starts exec add --allow '%s'"):format(table.concat(request.words, " ")))
	elseif request.live and not allowed then
		return denied(("%s was not allowed: _opts.live can't confirm it"):format(request.cmd),
			("Have the program that starts exec add --allow '%s'"):format(table.concat(request.words, " ")))
	end
end

local function allowed_names(list)
	local set = {}
	for _, name in ipairs(list or {}) do
		set[table.concat(calls.words(name), ".")] = true
	end
	return set
end

local function validate(args)
	for _, name in ipairs(args.allow or {}) do
		if not calls.words(name) then
			return ("--allow: '%s' is not the name of a command"):format(name)
		end
	end
end

-- --- one request ------------------------------------------------------------------------------

local function shorter(a, b)
	return a and b and math.min(a, b) or a or b
end

-- A request may ask for a real run where exec alone says dry run, not where our caller does.
local function dry_run(args, request)
	if request.dry_run == false and os.getenv "RUNNER_DRY_RUN" == "1" then
		return nil
	elseif request.dry_run ~= nil then
		return request.dry_run
	end
	return args.dry_run or nil
end

local function call_of(args, request, allowed, running)
	local handle
	if request.live then
		request.flags[#request.flags + 1] = "--live"
	end
	local form = attempt.framework.meta
	if form and not table.concat(request.flags, " "):find "%-%-meta=" then
		request.flags[#request.flags + 1] = "--meta=" .. form
	end
	if attempt.framework.quiet then
		request.flags[#request.flags + 1] = "--quiet"
	end
	local limit_ms = args.call_timeout and rules.milliseconds(args.call_timeout)
	local _, exit_code, line = calls.run {
		command = request.words, arguments = request.arguments, stdin = request.stdin, flags = request.flags,
		timeout_ms = shorter(request.timeout_ms, limit_ms), max_bytes = shorter(request.max_bytes, budget.most),
		dry_run = dry_run(args, request), confirmed = allowed,
		client = not os.getenv "RUNNER_CLIENT" and { transport = "exec" } or nil,
		on_start = function(h)
			handle = h
			running[h] = true
		end,
	}
	running[handle or {}] = nil
	return exit_code == 0, line
end

local function about(number, request)
	local members = { ('"_line":%d'):format(number) }
	for _, name in ipairs { "cmd", "id" } do
		local value = request[name]
		members[#members + 1] = value ~= nil and ('"_%s":%s'):format(name, json.encode(value, { envelope = true })) or nil
	end
	return table.concat(members, ",")
end

local TOO_LONG = errors.new("DISPATCH_PARSE_ERROR", ("The line is longer than %d bytes"):format(LINE_MAX), {
	phase = "validation", retryable = false, side_effects = "none", fix_required = "Give what is long as a file, and name the file" })

-- The line of an answer says which request it is for.
local function answered(number, request, answer)
	local ok, line = answer()
	return ok, envelopes.with_meta(line, about(number, request)) or line
end

-- `seen` counts what could be understood.
local function answerer(args, running, seen)
	local allow = allowed_names(args.allow)
	return function(text, number)
		local request, problem, partial = nil, TOO_LONG, {}
		if text then
			request, problem, partial = requests.parse(text)
		end
		seen.parsed = seen.parsed + (request and 1 or 0)
		seen.refused = seen.refused or problem and ("line %d: %s"):format(number, problem.message) or nil
		local allowed = request and allow[table.concat(request.words, ".")] or false
		problem = problem or refusal(request, allowed)
		return answered(number, partial, function()
			if not problem then
				return call_of(args, request, allowed, running)
			end
			return false, envelopes.line((envelopes.failure(problem, request and table.concat(request.words, ".") or "exec")))
		end)
	end
end

-- --- all of them ------------------------------------------------------------------------------

local function counts(done)
	return { calls = done.taken, succeeded = done.taken - done.failed, failed = done.failed, stopped_at_line = not done.keep_going
		and done.failed_line or nil }
end

local function nothing_parsed(done, seen)
	local e = errors.new("DISPATCH_PARSE_ERROR", done.taken == 0 and "stdin has no request" or "No request can be made; " .. seen.refused, {
		phase = "validation", retryable = false, side_effects = "none", data = counts(done),
		fix_required = 'Write one object a line: {"_cmd":"NAME","argument":"value"}' })
	e.exit_code = 2
	return e
end

local function conclude(ctx, done, seen)
	local data = counts(done)
	if done.broken then
		errors.raise("OUTPUT_FAILED", "The answers can't be written: " .. done.broken, { data = data, side_effects = "partial" })
	elseif done.unread then
		errors.raise("CALLS_FAILED", "The requests can't be read: " .. done.unread, { data = data, side_effects = "partial" })
	elseif seen.parsed == 0 then
		error(nothing_parsed(done, seen), 0)
	elseif done.failed > 0 then
		errors.raise("CALLS_FAILED", ("%d of %d calls failed%s"):format(data.failed, data.calls, data.stopped_at_line
			and (", the first at line %d; no line was begun after that"):format(data.stopped_at_line) or ""),
			{ data = data, side_effects = "partial" })
	end
	ctx:log("info", ("%d calls succeeded"):format(data.calls))
end

local function run(args, ctx)
	local running, seen = {}, { parsed = 0 }
	local done = batch.run { max_line = LINE_MAX, answer = answerer(args, running, seen), at_once = args.parallel, unordered = args.unordered,
		keep_going = args.ignore_errors, abandon = function()
			for handle in pairs(running) do
				handle:cancel()
			end
		end }
	conclude(ctx, done, seen)
end

return {
	stdout = "protocol",
	protocol = "runner-exec",
	args = {
		{ "parallel", "integer", default = 1, min = 1, max = 64, description = "How many calls may run at once" },
		{ "unordered", "boolean", description = "Answer in the order in which calls end, not in that of the requests" },
		{ "ignore_errors", "boolean", description = "Go on after a failed call" },
		{ "call_timeout", "duration", description = "Limit for each call, as its --timeout; a request may ask for less" },
		{ "dry_run", "boolean", description = "Make dry runs of commands that change something" },
		{ "allow", "array", items = "string",
			description = "A command that requests may run though it is destructive, or runs what a file says" },
	},
	exit_codes = {
		CALLS_FAILED = { side_effects = "partial", description = "Calls failed: their answers say how" },
		DISPATCH_PARSE_ERROR = { description = "No line was a request that can be made; nothing was run" },
		OUTPUT_FAILED = { description = "Nothing reads the answers any more; running calls were ended" },
	},
	examples = {
		{ description = "Requests of a file, four at a time", command = "runner exec --parallel 4 --ignore-errors --input-file requests.jsonl" },
		{ description = "Let requests roll back", command = "runner exec --allow rollback --input-file requests.jsonl" },
	},
	validate = validate,
	run = run,
}
