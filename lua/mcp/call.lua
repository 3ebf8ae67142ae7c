-- call: tools/call. The arguments of a call are the model's: nothing among them confirms. A
-- destructive tool is previewed by a dry run and then asked about; only the answer of the
-- person, which the client sends beside the arguments, lets it run.

local answer = require "runner.mcp.answer"
local confirmations = require "runner.mcp.confirmations"
local contract = require "runner.declare.contract"
local era = require "runner.mcp.era"
local json = require "runner.json"
local listing = require "runner.mcp.listing"
local reference = require "runner.core.reference"
local rpc = require "runner.mcp.rpc"
local speech = require "runner.mcp.speech"
local tables = require "runner.core.tables"
local tasks = require "runner.mcp.tasks"
local usage = require "runner.declare.usage"

local M = {}

---@class runner.mcp.Call
---@field row runner.mcp.Row
---@field arguments table for the command
---@field own table those that runner added
---@field dry_run boolean
---@field problems table[] wrong values among those
---@field validates? boolean nothing is run

local function invalid(message)
	return nil, rpc.fault(rpc.INVALID_PARAMS, message)
end

-- --- what is asked for ----------------------------------------------------------------------

---What is wrong with the params of a tools/call; nil: nothing.
---@param params table
---@return string?
function M.problem(params)
	if type(params.name) ~= "string" then
		return "name must be a string"
	elseif params.arguments ~= nil and not rpc.is_object(params.arguments) then
		return "arguments must be an object"
	elseif params.inputResponses ~= nil and not rpc.is_object(params.inputResponses) then
		return "inputResponses must be an object"
	elseif params.requestState ~= nil and type(params.requestState) ~= "string" then
		return "requestState must be a string"
	end
end

local LIMIT_MAX = contract.find("limit").max

-- Runner's own arguments: what each must be, and its value as it is meant; nil: it is wrong.
local OWN = {
	dry_run = { "true or false", function(v)
		if type(v) == "boolean" then
			return v
		end
	end },
	limit = { ("a whole number from 0 to %d"):format(LIMIT_MAX), function(v)
		local n = math.type(v) and math.tointeger(v)
		return n and n >= 0 and n <= LIMIT_MAX and n or nil
	end },
	cursor = { "a string", function(v) return type(v) == "string" and v or nil end },
}

local function problem_of(name, expected)
	return { code = "INVALID_ARGUMENT", field = name, message = ("Invalid %s: expected %s"):format(name, expected),
		fix_required = ("Correct the %s argument before retrying"):format(name), suggestion = "Give " .. expected }
end

---Take runner's own arguments out of those of the command.
---@param row runner.mcp.Row
---@param arguments? table
---@return runner.mcp.Call call
function M.prepare(row, arguments)
	local call = { row = row, arguments = {}, own = {}, problems = {} }
	for _, name in ipairs(tables.sorted_keys(arguments or {})) do
		local own = row.added[name] and OWN[name]
		if own then
			call.own[name] = own[2](arguments[name])
			call.problems[#call.problems + 1] = call.own[name] == nil and problem_of(name, own[1]) or nil
		else
			call.arguments[name] = arguments[name]
		end
	end
	call.dry_run = call.own.dry_run or false
	return call
end

-- --- running it -----------------------------------------------------------------------------

-- A value stands after "=", so that it is one, whatever it begins with.
local function flags_of(call, confirmed)
	local own = call.own
	local flags = { own.limit and ("--limit=%d"):format(own.limit) or nil }
	flags[#flags + 1] = own.cursor and "--cursor=" .. own.cursor or nil
	flags[#flags + 1] = call.validates and "--runner-validate-only" or nil
	flags[#flags + 1] = confirmed and call.row.safe_default and "--live" or nil
	return flags
end

local function execute(server, r, call, confirmed, detached)
	local flags = flags_of(call, confirmed)
	flags[#flags + 1] = detached and "--detach" or nil
	local envelope = server:execute(r, { command = call.row.command, arguments = call.arguments, dry_run = call.dry_run or nil,
		confirmed = confirmed == true and "asked" or confirmed or nil, flags = flags },
		not call.row.path and listing.waits(call.row.command, call.arguments))
	return speech.of(server, call.row, envelope, call.own)
end

-- Values of runner's own are wrong: what is wrong with the command's is said, too.
local function misgiven(server, r, call)
	local envelope = execute(server, r, { row = call.row, arguments = call.arguments, own = {}, validates = true })
	local e, problems = envelope.error, json.array(call.problems)
	if type(e) == "table" and e.phase == "validation" and type(e.errors) == "table" then
		table.move(e.errors, 1, #e.errors, #problems + 1, problems)
	end
	local only = not problems[2] and problems[1] or {}
	return answer.refusal("VALIDATION_ERROR", only.message or ("%d problems with the arguments"):format(#problems), { errors = problems,
		fix_required = only.fix_required or "Correct the arguments before retrying", suggestion = only.suggestion,
		context = { usage = json.array(usage.of_tool(call.row.tool, server.settings.progressive)) } })
end

-- Arguments are checked, and a person's yes is there, before a call becomes a task.
local function run(server, r, call, confirmed)
	if not tasks.wanted(r, call) then
		return answer.of(execute(server, r, call, confirmed))
	elseif tasks.has_room(server) then
		return tasks.of_envelope(server, r, call, execute(server, r, call, confirmed, true))
	elseif tasks.is_asked_for(r) then
		return tasks.full()
	end
	return answer.of(execute(server, r, call, confirmed))
end

-- All that was given.
local function asked_about(call)
	local out = {}
	for _, given in ipairs { call.arguments, call.own } do
		tables.add(out, given)
	end
	return out
end

-- By whom: the person at the client, or the server.
local function refused(server, r, call, why, declined, approval)
	server:record(r, declined and "declined" or "refused", { command = call.row.command, danger_level = call.row.danger_level,
		args = confirmations.masked(asked_about(call), call.row.secrets), by = declined and "client" or "server", reason = why,
		approval = approval })
	return answer.refusal("CONFIRMATION_REQUIRED", ("'%s' is destructive and was not confirmed: %s"):format(call.row.tool.title, why), {
		suggestion = "Only the person can confirm it; call it with dry_run to see what it would do",
	})
end

-- --- asking the person ----------------------------------------------------------------------

-- The call as one text: equal calls are equal texts, since members are sorted.
local function identity(call)
	return assert(json.encode { call.row.command, call.row.stamp or "", call.arguments, call.own })
end

local function tried(server, r, call, confirmed)
	return execute(server, r, { row = call.row, arguments = call.arguments, own = call.own, dry_run = true }, confirmed)
end

-- Does it say what a person elsewhere has decided, and what came of that?
local function is_told(envelope)
	for _, warning in ipairs(type(envelope.warnings) == "table" and envelope.warnings or {}) do
		if warning.code == "APPROVED_CALL" then
			return true
		end
	end
	local e = not envelope.ok and envelope.error or {}
	return e.code ~= "CONFIRMATION_REQUIRED" and type(e.context) == "table" and e.context.approval ~= nil
end

-- This client can't ask the person: the call is refused, and waits for one elsewhere, or is told what has become of it
-- (lua/state/pending_calls.lua).
local function unasked(server, r, call)
	local envelope = execute(server, r, call, "pending")
	local e = not envelope.ok and envelope.error or {}
	local above = (e.context or {}).rule -- of a quota: no form would make room
	return answer.of(envelope), e.code == "CONFIRMATION_REQUIRED" and not above and e or nil
end

-- The data of a dry run; or the result that the call fails with already, or had when it was decided elsewhere.
local function preview(server, r, call)
	local envelope = tried(server, r, call, "look")
	if not envelope.ok and envelope.error.code == "POLICY_DENIED" then -- where that is a quota that asks, the call waits
		return nil, (unasked(server, r, call))
	elseif not envelope.ok or is_told(envelope) then
		return nil, answer.of(envelope)
	end
	return call.row.asked ~= "safe" and envelope.data or nil -- which has no dry run
end

-- A form that was dismissed, or that a client without a person sends back at once, is no answer: the call waits.
local function run_if_yes(server, r, call, reply)
	local yes, why = confirmations.is_yes(reply)
	if yes then
		return run(server, r, call, true)
	elseif rpc.is_object(reply) and reply.action == "cancel" then
		return (unasked(server, r, call))
	elseif not rpc.is_object(reply) or reply.action ~= "decline" and reply.action ~= "accept" then
		return refused(server, r, call, why, true)
	end
	local envelope = tried(server, r, call, "declined") -- what waits elsewhere is refused, too: unless it has run
	if is_told(envelope) then
		return answer.of(envelope)
	end
	local context = not envelope.ok and envelope.error.context
	return refused(server, r, call, why, true, type(context) == "table" and context.approval or nil)
end

local NO_ROOM = "its arguments have no room in a question to the person"

local function ask_again(server, r, call)
	local data, failed = preview(server, r, call)
	local form = not failed and confirmations.form(call.row, asked_about(call), data, "form")
	if not form then
		return failed or refused(server, r, call, NO_ROOM)
	end
	return {
		resultType = "input_required", requestState = server.confirmations:open(identity(call)),
		inputRequests = { [confirmations.KEY] = { method = "elicitation/create",
			params = form } },
	}
end

local function modern(server, r, call)
	local state, replies = r.params.requestState, r.params.inputResponses
	if not era.can_elicit(r.caller) then
		local result, e = unasked(server, r, call)
		if not e then
			return result
		end
		local id = (e.context or {}).approval -- in the message, too: a client may pass on nothing else
		return nil, rpc.fault(rpc.MISSING_CAPABILITY, ("'%s' is destructive: the person has to be asked%s"):format(call.row.tool.title,
			id and (". %s waits for one: %s"):format(id, reference.call("approve " .. id)) or ""),
			{ requiredCapabilities = { elicitation = { form = {} } }, approval = id, suggestion = e.suggestion })
	elseif not state then
		return ask_again(server, r, call)
	elseif not server.confirmations:take(state, identity(call)) then
		refused(server, r, call, "requestState is not that of this call")
		return invalid "requestState is not that of this call, or is used up or too old; call the tool again without it"
	end
	local reply = replies and replies[confirmations.KEY]
	if reply == nil then
		return ask_again(server, r, call)
	end
	return run_if_yes(server, r, call, reply)
end

local function legacy(server, r, call)
	if not era.can_elicit(r.caller) then
		return (unasked(server, r, call))
	end
	local data, failed = preview(server, r, call)
	if failed then
		return failed
	end
	local form = confirmations.form(call.row, asked_about(call), data, r.caller.version ~= "2025-06-18" and "form" or nil)
	if not form then
		return refused(server, r, call, NO_ROOM)
	end
	local reply, why = server:ask(r, "elicitation/create", form)
	if not reply then
		return refused(server, r, call, why)
	end
	return run_if_yes(server, r, call, reply)
end

local function run_or_ask(server, r, call)
	if call.problems[1] then
		return misgiven(server, r, call)
	elseif call.row.danger_level ~= "destructive" or call.dry_run then
		return run(server, r, call)
	end
	return (r.caller.modern and modern or legacy)(server, r, call)
end

---Run a call, after the person where it is destructive.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param call runner.mcp.Call
---@return table? result
---@return runner.mcp.Fault? fault
function M.run(server, r, call)
	local fault = tasks.problem(r, call.row)
	r.row = call.row
	if fault then
		return nil, fault
	end
	local result, why = run_or_ask(server, r, call)
	if result and tasks.is_asked_for(r) and not result.task then
		return tasks.of_result(server, r, call, result)
	end
	return result, why
end

---tools/call of a command by its own name.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@return table? result
---@return runner.mcp.Fault? fault
function M.handle(server, r)
	local problem = M.problem(r.params)
	if problem then
		return invalid(problem)
	end
	local row, fault = server:find(r.params.name)
	if not row then
		server:record(r, "refused", { command = r.params.name:sub(1, 128), by = "server", reason = fault and fault.message or nil })
		local near = fault and fault.code == rpc.INVALID_PARAMS and listing.near(server, r.params.name)
		return nil, near and rpc.fault(fault.code, fault.message .. ". One of these may be meant:\n" .. table.concat(near, "\n")) or fault
	end
	return M.run(server, r, M.prepare(row, r.params.arguments))
end

return M
