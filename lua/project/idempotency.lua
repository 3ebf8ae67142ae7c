-- idempotency: --idempotency-key: a call that was made before is answered with what it returned, and
-- not made again. Loaded where the flag is given; lua/state/idempotency_keys.lua decides.

local attempt = require "runner.core.attempt"
local database = require "runner.state.database"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local scope = require "runner.core.scope"
local idempotency_keys = require "runner.state.idempotency_keys"

local M = {}

local EMPTY = "null" -- data of a command that returned nothing

local claimed -- the key that this call owns

local function id_of(a)
	local project, subject = a.project or {}, scope.subject()
	return { user = require("runner.fs").stat("/proc/self").uid, command = a.name, key = a.framework.idempotency_key,
		project = (project.root or project.commands or require("runner.core.paths").here()) .. (subject and "\n" .. subject or "") }
end

-- A checkpoint says what the call before has done.
local function resumes(a)
	if not (a.command.interruption and a.command.interruption.resume) then
		return nil
	end
	local checkpoints = require "runner.core.checkpoints"
	return checkpoints.exists(checkpoints.key(a))
end

local function take(a)
	local db = database.writer(database.default_path())
	local id, owner = id_of(a), idempotency_keys.owner(a.launch.supervisor)
	local call = require("runner.core.confirmation").call()
	call.arguments["--input-file"] = attempt.input.digest -- another file is another call
	local arguments = assert(json.encode(call.arguments))
	local row = idempotency_keys.take(db, id, { owner = owner, arguments = arguments, request_id = a.launch.request_id,
		now_ms = os.time() * 1000, resumes = resumes(a) })
	if row then
		db:close()
		return row
	end
	claimed = { db = db, id = id, owner = owner }
end

-- What the first call returned and attached, with the effect of this one. The files are a line of their own.
local function answer_of(row)
	local text, files = (row.data or EMPTY):match "^([^\n]*)\n?(.*)$"
	local data = json.decode(text)
	require("runner.core.attached").again(files ~= "" and json.decode(files) or nil)
	host.send("META", { name = "idempotency_hit", data = "true" }, true)
	if data == nil or data == json.null then
		data = {}
	end
	if type(data) == "table" and not json.is_array(data) then
		data.effect = "noop"
	end
	return { success = true, data = data }
end

---Before `run`: the answer of the first call, or an error; nil: this is the first.
---@param a runner.Attempt
---@return runner.Answer?
function M.claim(a)
	local ok, row, traceback, cancelled = host.protect(take, a)
	if ok then
		return row and answer_of(row) or nil
	elseif cancelled then
		error("cancelled", 0)
	end
	local e = errors.normalise(row, traceback)
	e.phase = "validation"
	return { error = e }
end

-- Did the failure change nothing? The first that says something: the error, the declaration,
-- the registry.
local function is_harmless(a, e)
	local said = e.side_effects
	for _, row in ipairs(a.command.exit_codes) do
		said = said or row.name == e.code and row.side_effects or nil
	end
	local known = host.registry_code(e.code)
	return (said or known and known.entry ~= "ARG_ERROR" and known.side_effects) == "none"
end

local function finish(a, answer)
	local held = claimed
	if answer.success then
		local data = attempt.wrap(answer.data)
		data = a.mask and a.mask(data) or data
		local text = data == nil and EMPTY or json.encode(data, { max = 16 << 20, envelope = true })
		local attached = require "runner.core.attached"
		if text and attached.list[1] then
			local files = a.mask and a.mask(attached.list) or attached.list
			text = text .. "\n" .. assert(json.encode(attached.rows(a.launch.request_id, files)))
		end
		if text then -- else the call fails after it has changed something
			idempotency_keys.finish(held.db, held.id, held.owner, "done", text)
			attached.is_recorded = true
		end
	elseif answer.error and is_harmless(a, answer.error) then
		idempotency_keys.finish(held.db, held.id, held.owner, "free")
	end
	held.db:close()
end

---After `run`: record its answer. What can't be recorded stays in doubt.
---@param a runner.Attempt
---@param answer runner.Answer
function M.finish(a, answer)
	local ok, raised = true, nil
	if claimed then
		ok, raised = pcall(finish, a, answer)
	end
	if not ok then
		attempt.warn("KEY_NOT_RECORDED", "The result was not recorded under its idempotency key: "
			.. errors.normalise(raised).message)
	end
end

return M
