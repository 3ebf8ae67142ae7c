-- pending_calls: a call that needs a person whom its client can't ask becomes a row of `approvals` (kind call): a person has it run,
-- once, or refuses it (lua/workflow/run/decision.lua), and the same call, made again, is told what has become of it
-- (docs/design.md#pending-calls). What is kept holds no secret: a call with one is refused, as any was before.

local attempt = require "runner.core.attempt"
local confirmation = require "runner.core.confirmation"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local ledger = require "runner.ledger"
local reference = require "runner.core.reference"
local scope = require "runner.core.scope"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

local TTL_MS, KEPT_MS = 24 * 3600 * 1000, 30 * 24 * 3600 * 1000
local MOST, ASKERS = 100, 32 -- that wait, of a project and a subject; of one
local BYTES, SHOWN = 64 << 10, 20 -- of one; lines of what it would affect
local LINE = 5000 -- bytes of what decides a call, each of which is shown whole
local SURROUNDINGS = { "RUNNER_CLIENT", "RUNNER_CONTEXT", "RUNNER_PATH", "RUNNER_POLICY", "RUNNER_SERVED", "RUNNER_SUBJECT" }
-- Flags that decide how the answer looks, who confirms, or what is read in their place (deciding). All others decide the call.
local FORM = tables.set [[format quiet verbose debug no_color width meta plain max_bytes yes non_interactive confirm_destructive
	cwd config context no_config policy subject raw_payload]]

-- --- which calls ------------------------------------------------------------------------------

-- Can only a person confirm it? A call that another command makes is a part of that one's.
local function is_for_person(a)
	local policy, needs = a.policy, os.getenv "RUNNER_NEEDS"
	local is_bound = policy and (policy.asked or policy.over or not policy.confirm_by_flag)
	return (is_bound or os.getenv "RUNNER_CLIENT" ~= nil) and not (a.launch.job or os.getenv "RUNNER_CALLED" == "ctx:call"
		or os.getenv "RUNNER_AUTOMATION" or needs and needs ~= "")
end

-- Its words as they are called again: the answer is JSON then. A command's own `format` stays.
local function words_of(a)
	local out, argv, i, own = json.array {}, a.call.argv, 1, false
	for _, row in ipairs(a.command.args) do
		own = own or row.name == "format"
	end
	while argv[i] do
		local name, value = argv[i]:match "^%-%-([%w-]+)(=?)"
		if argv[i] == "--" then
			return table.move(argv, i, #argv, #out + 1, out)
		elseif name == "runner-format" or name == "format" and not (own and i > a.call.in_front) then
			i = value == "" and i + 1 or i
		else
			out[#out + 1] = argv[i]
		end
		i = i + 1
	end
	return out
end

-- What it finds in its environment; false: nothing.
local function surroundings(a)
	local env = { RUNNER_DRY_RUN = false }
	for _, name in ipairs(SURROUNDINGS) do
		env[name] = os.getenv(name) or false
	end
	for _, row in ipairs(a.command.args) do
		if row.env then
			env[row.env] = os.getenv(row.env) or false
		end
	end
	return env
end

-- All that decides what a call does, besides its project, its command, its arguments and whose it is: a name and a value each. It is in the
-- key, in the digest and in the question. What is `inside` the project goes without saying.
local function deciding(a)
	local root, list = scope.project(), {}
	local function add(name, value, inside)
		list[#list + 1] = value ~= nil and { name = name, value = value, inside = inside } or nil
	end
	local here, place = host.getcwd() or "", a.place
	add("Directory", here, true) -- which the question has
	add("Called in", place.came_from ~= here and place.came_from or nil)
	add("Its paths begin in", place.stands ~= here and place.stands ~= place.came_from and place.stands or nil)
	add("Context", os.getenv "RUNNER_CONTEXT")
	local file, path, settings = a.project.file, a.command.path, place.settings or {}
	add("Settings", settings.none and "none" or file, not settings.config and file == root .. "/runner.lua")
	add("Command file", path, root ~= "" and path ~= nil and path:sub(1, #root + 1) == root .. "/")
	add("RUNNER_PATH", os.getenv "RUNNER_PATH")
	local is_task = a.call.vouched == "person" and not a.call.approved -- a server detaches what its client's person has agreed to
	for _, name in ipairs(tables.sorted_keys(a.parsed.framework_given)) do
		if a.parsed.framework_given[name] == "flag" and not FORM[name] and not (is_task and name == "detach") then
			add("--" .. name:gsub("_", "-"), a.framework[name])
		end
	end
	return list
end

local function digest_of(path)
	return path and ledger.digest(assert(fs.read(path))) or ""
end

-- Equal calls have the same key; and as long as the files of its command and its settings are the same, the same digest.
local function identity(a)
	local call, decides = confirmation.call(), deciding(a)
	local what = ledger.digest(assert(json.encode { scope.project(), scope.subject() or "", a.name, call.arguments, decides }))
	local policies = {}
	for i, policy in ipairs(a.policy and a.policy.list or {}) do -- whoever decides may have more of them, by which it runs, too
		policies[i] = policy.path
	end
	return { key = ledger.digest(what .. table.concat(policies, ":")),
		digest = ledger.digest(what .. a.command.digest .. digest_of(a.command.path) .. digest_of(a.project.file)),
		call = call, decides = decides, dir = a.place.came_from or host.getcwd() or "" }
end

local function has_secrets(a)
	for _, row in ipairs(a.command.args) do
		if row.secret and a.parsed.values[row.name] ~= nil then
			return true
		end
	end
	return a.secrets and true or false
end

-- Why it can't be made again as it is, as the rest of a sentence.
local function hindrance(a)
	if has_secrets(a) then
		return "it may have a secret"
	elseif a.framework.unmask then -- also where we read its envelope ourselves (lua/core/tool.lua)
		return "its answer may have secrets (--unmask), or it is one of several calls (runner + a + b): make it by itself"
	elseif a.command.stdin or a.call.has_stdin or a.framework.input_file then
		return "it reads its input"
	elseif a.raw or a.framework.stream ~= nil or a.framework.output then
		return "its answer isn't on stdout alone"
	end
end

-- Why it can't be kept, or what is kept of it.
local function kept(a, is, affected)
	local why = hindrance(a)
	if why then
		return why
	end
	for _, row in ipairs(is.decides) do
		if #visible.one_line(row.value, math.huge) > LINE then
			return ("%s is too long to be shown"):format(row.name)
		end
	end
	local client = os.getenv "RUNNER_CLIENT"
	local text = json.encode { words = words_of(a), env = surroundings(a), cwd = is.dir, command = is.call.command,
		arguments = is.call.arguments, would_affect = affected, client = client and json.decode(client) or nil,
		trace_id = a.launch.trace_id }
	if not text or #text > BYTES then
		return "its arguments can't be kept, or are too long"
	elseif host.may_hold_secrets(text) then
		return "it may have a secret"
	end
	return nil, text
end

-- --- what a person reads ------------------------------------------------------------------------

-- The quotas that it is above.
local function full_quotas()
	local over = attempt.policy and attempt.policy.over
	return over and over.full or {}
end

local function shown(is, affected)
	local lines = visible.argument_lines(is.call.arguments)
	table.insert(lines, 1, lines[1] and "Arguments:" or "Arguments: none")
	for _, one in ipairs(full_quotas()) do
		lines[#lines + 1] = visible.text(("Above %s of %s: %s"):format(one.rule, one.policy.path, one.why))
	end
	for _, row in ipairs(is.decides) do
		lines[#lines + 1] = not row.inside and ("%s: %s"):format(row.name, visible.one_line(row.value, LINE)) or nil
	end
	lines[#lines + 1] = "It would affect:"
	for i = 1, math.min(#affected, SHOWN) do
		lines[#lines + 1] = "  " .. visible.one_line(affected[i])
	end
	lines[#lines + 1] = #affected > SHOWN and ("  and %d more"):format(#affected - SHOWN) or nil
	return table.concat(lines, "\n")
end

local DOUBTS = "SELECT id FROM approvals WHERE kind = 'call' AND key = ? AND state = 'approved' AND outcome IS NULL"

local function message_of(db, is)
	local doubt, context = db:row(DOUBTS, is.key), (os.getenv "RUNNER_CONTEXT" or ""):match "^[^#]+"
	return visible.text(("Run '%s' in %s%s%s?%s"):format(is.call.command, is.decides[1].value, context
		and (", context %s,"):format(context) or "", scope.subject() and (" for %s"):format(scope.subject()) or "",
		doubt and (" The same call is in doubt: %s began and did not end"):format(doubt.id) or ""))
end

-- --- what has become of it ---------------------------------------------------------------------------

local function no_change(row, code, message, fields)
	fields.phase, fields.side_effects, fields.retryable = "validation", "none", false
	fields.context = { approval = row.id, why = row.why }
	return { error = errors.new(code, message, fields) }
end

local function person_of(row)
	local by = json.decode(row.decided_by or "null")
	by = type(by) == "table" and by or {}
	return by.by == "default" and "default" or by.user or by.uid or "?"
end

-- When it was rejected, or had ended; nil: it has not, or it is not known.
local function ended_ms(row)
	local envelope = row.outcome and json.decode(row.outcome)
	return envelope and (envelope.ended_ms or row.decided_ms) or row.state == "rejected" and row.decided_ms or nil
end

-- The answer that the call had when a person let it run, with its warnings.
local function outcome(row)
	local envelope, minutes = json.decode(row.outcome), (host.wall_ms() - ended_ms(row)) // 60000
	attempt.warn("APPROVED_CALL", ("This is what came of the call when %s let it run (%s), %d minute%s ago; made again, it asks anew"):format(
		person_of(row), row.id, minutes, minutes == 1 and "" or "s"), { approval = row.id, decided = host.rfc3339(row.decided_ms) })
	for _, warning in ipairs(envelope.warnings or {}) do
		attempt.warn(warning.code, warning.message, warning.context)
	end
	for name, value in pairs(envelope.meta or {}) do
		host.send("META", { name = name, data = json.encode(value, { envelope = true }) }, true)
	end
	require("runner.core.attached").again(envelope.attachments)
	local e = envelope.error
	if envelope.ok then
		return { success = true, data = envelope.data }
	end
	e = errors.new(e.code, e.message, e)
	e.retryable, e.retry_after_ms, e.max_retries, e.data = false, nil, nil, envelope.data ~= json.null and envelope.data or nil
	return { error = e }
end

local function is_running(row)
	return row.state == "approved" and not row.outcome and require("runner.state.idempotency_keys").is_alive(row.owner)
end

local function runs(a, row)
	return { error = errors.new("LOCK_HELD", ("'%s' was approved by %s, and runs"):format(a.name, person_of(row)),
		{ phase = "validation", side_effects = "none", context = { approval = row.id } }) }
end

local function told(row)
	if row.state == "rejected" then
		return no_change(row, "APPROVAL_REJECTED", ("'%s' was rejected by %s%s"):format(attempt.name, person_of(row),
			row.why and ": " .. row.why or ""), { suggestion = "Made again, it asks anew" })
	elseif row.outcome then
		return outcome(row)
	end
	return no_change(row, "IN_DOUBT", ("'%s' was approved, began and did not end: nobody knows what it did"):format(attempt.name),
		{ fix_required = "Find out what it did", suggestion = "Made again, it asks anew" })
end

local function waits(row, affected)
	local full, why = full_quotas(), ("a person must confirm it, for which %s waits"):format(row.id)
	for i = #full, 1, -1 do
		why = ("%s; %s"):format(full[i].why, why)
	end
	local e = confirmation.required(why, affected)
	if full[1] then
		tables.add(e.context, full[1].context)
		e.context.policy, e.context.rule, e.context.danger_level = full[1].policy.path, full[1].rule, attempt.command.danger_level
	end
	e.context.approval, e.context.deadline = row.id, host.rfc3339(row.deadline_ms)
	e.fix_required = "Have a person confirm it: look at context.would_affect"
	e.suggestion = ("Have a person decide: %s. Then make the same call again: it answers with what came of it"):format(
		reference.call("approve " .. row.id))
	return e
end

-- --- the table ------------------------------------------------------------------------------------------

local LAST = "SELECT * FROM approvals WHERE kind = 'call' AND key = ? AND told = 0 AND state <> 'replaced' ORDER BY asked_ms DESC LIMIT 1"
local EXPIRE = [[UPDATE approvals SET state = 'rejected', decided_ms = ?2, decided_by = '{"by":"default"}',
	why = 'no person decided in time'
	WHERE kind = 'call' AND project = ?1 AND subject IS ?3 AND state = 'pending' AND deadline_ms <= ?2 RETURNING *]]
local ASK = [[
	INSERT INTO approvals (id, kind, project, key, digest, state, asked_ms, deadline_ms, fallback, asker, message, shown, subject, call)
	VALUES (?, 'call', ?, ?, ?, 'pending', ?, ?, 'reject', ?, ?, ?, ?, ?) RETURNING *]]
local COUNT = "SELECT count(*) AS n FROM approvals WHERE kind = 'call' AND state = 'pending' AND project = ?"
	.. " AND subject IS ?"
local FORGET = "DELETE FROM approvals WHERE kind = 'call' AND state <> 'pending' AND asked_ms < ?"

-- In the audit ledger, or it stays as it is.
local function expire(db, now)
	for _, row in ipairs(db:rows(EXPIRE, scope.project(), now, scope.subject())) do
		local problem = confirmation.decided("declined", { by = "default", reason = row.why, approval = row.id })
		if problem then
			error(problem, 0)
		end
	end
end

-- Its policies say something else by now: as it was kept it can't run.
local function has_other_policies(row)
	local call = json.decode(row.call)
	return not call or call.env.RUNNER_POLICY ~= (os.getenv "RUNNER_POLICY" or false)
end

-- What waits with other files asks anew; and after a day it is another wish.
local function last(db, is, asks)
	local now = host.wall_ms()
	expire(db, now)
	db:run(FORGET, now - KEPT_MS)
	local row = db:row(LAST, is.key)
	if row and row.state == "pending" and (row.digest ~= is.digest or asks and has_other_policies(row)) then
		db:run("UPDATE approvals SET state = 'replaced' WHERE id = ?", row.id)
		return nil
	end
	if row and row.owner and row.owner == require("runner.state.idempotency_keys").owner(attempt.launch.supervisor) then
		return nil -- an attempt before this one has decided it
	end
	-- Does it run? Asked here, where nobody writes: by the time that it is told it may have ended, with an outcome that we haven't read.
	return row and (ended_ms(row) or now) > now - TTL_MS and tables.add(row, { runs = is_running(row) }) or nil
end

local WITHDRAW = [[UPDATE approvals SET state = 'rejected', decided_ms = ?, decided_by = '{"by":"default"}', told = 1,
	why = 'made again when there was room' WHERE id = ? RETURNING *]]

-- In the audit ledger, or it stays as it is. What is decided already comes back. What has begun to wait since this call looked
-- is another's.
local function withdraw(db, is)
	local row = last(db, is)
	if not row or row.id ~= is.waiting then
		return nil
	elseif row.state ~= "pending" then
		return row
	end
	row = db:row(WITHDRAW, host.wall_ms(), row.id)
	local problem = confirmation.decided("declined", { by = "default", reason = row.why, approval = row.id })
	if problem then
		error(problem, 0)
	end
end

local function look(db, is)
	local row = last(db, is)
	if row and row.state ~= "pending" and not row.runs then
		db:run("UPDATE approvals SET told = 1 WHERE id = ?", row.id) -- the next caller asks again
	end
	return row
end

local function ask(db, is, affected, text)
	local row, now = last(db, is, true), host.wall_ms()
	local waiting = row and row.state == "pending" and row or nil
	local askers = require("runner.core.person").askers(waiting and json.decode(waiting.asker) or {})
	if #askers > ASKERS then
		return nil, ("more than %d have asked for it"):format(ASKERS)
	elseif waiting then -- or another call was faster: the caller that has asked doesn't decide
		db:run("UPDATE approvals SET asker = ? WHERE id = ?", assert(json.encode(askers)), waiting.id)
		return waiting
	elseif db:row(COUNT, scope.project(), scope.subject()).n >= MOST then
		return nil, ("%d calls wait already"):format(MOST)
	end
	local asked = db:row(ASK, ("apr_%013x"):format(host.random() & (1 << 52) - 1), scope.project(), is.key, is.digest, now, now + TTL_MS,
		assert(json.encode(askers)), message_of(db, is), shown(is, affected), scope.subject(), text)
	asked.is_new = true
	return asked
end

local held -- the database, open since before the command is confined

local function release()
	if held then
		held:close()
		held = nil
	end
end

-- Nothing runs where the table can't be read or written: the call is refused as any other.
local function guarded(f, keep)
	local ok, row, why, cancelled = host.protect(function()
		local database = require "runner.state.database"
		local db = held or database.writer(database.default_path())
		held = db
		local done, found, because = pcall(db.write, db, f, db)
		if not (keep and done) then
			release()
		end
		if not done then
			error(found, 0)
		end
		return found, because
	end)
	if not ok and cancelled then
		error("cancelled", 0)
	end
	return ok and row or nil, ok and why or not ok and errors.normalise(row, why).message or nil
end

local NOTIFIED = "UPDATE approvals SET notified = 1 WHERE id = ?"
local AGAIN_MS = 60000

-- Whoever asks first has somebody called; and whoever asks again a minute later, where that has failed, or was killed.
local function notify(row)
	local due = row.is_new or row.notified == 0 and host.wall_ms() - row.asked_ms > AGAIN_MS
	if due and (attempt.project or {}).notify and require("runner.state.notify").call(row) then
		guarded(function(db)
			db:run(NOTIFIED, row.id)
		end)
	end
end

local warned = false

local function warn(why)
	local _ = warned or attempt.warn("CALL_NOT_KEPT", "No person can be asked about this call later: " .. why)
	warned = true
end

-- --- a call ------------------------------------------------------------------------------------------------

M.is_for_person = is_for_person

---Can it be made later, by a person?
---@param a runner.Attempt
---@return boolean
function M.may_wait(a)
	local why = is_for_person(a) and hindrance(a)
	if why then
		warn(why)
	end
	return is_for_person(a) and not why
end

local function has_table()
	local ok, path = pcall(function()
		return require("runner.state.database").default_path()
	end)
	return ok and fs.lstat(path) ~= nil
end

local looked_for ---@type table? the identity of this call, from before anything of its project could change its arguments

---What has become of this call, where it was made before and a person had to be asked; nil: nothing, or it still waits.
---@param a runner.Attempt
---@return runner.Answer?
function M.answer(a)
	if not is_for_person(a) or hindrance(a) then
		return nil
	end
	looked_for = identity(a)
	local row, why
	if has_table() then
		row, why = guarded(function(db)
			return look(db, looked_for)
		end)
	end
	looked_for.waiting = row and row.id
	if why then
		warn(why)
	elseif row and row.runs then
		return runs(a, row)
	end
	return row and row.state ~= "pending" and told(row) or nil
end

---The call is made, and counted: what waits of it is taken back, so that nobody has it run once more.
---@param a runner.Attempt
---@return runner.Error? problem it was decided meanwhile, or can't be taken back
function M.take_back(a)
	local row, why
	if looked_for and has_table() then
		row, why = guarded(function(db)
			return withdraw(db, looked_for)
		end)
	end
	return why and confirmation.required("what waits of it for a person can't be taken back: " .. why)
		or row and ((row.runs or row.outcome) and runs(a, row) or told(row)).error or nil
end

-- What refuses it where nobody can be asked about it later.
local function refused_plainly(a, why, affected)
	local over = a.policy and a.policy.over
	return over and over.full[1] and over.denied() or confirmation.refused(why, affected)
end

---The refusal of a call that no person could be asked about, which waits for a person where only one can confirm it.
---@param a runner.Attempt
---@param affected? table[] what a dry run says
---@return runner.Error CONFIRMATION_REQUIRED, or of a quota POLICY_DENIED
function M.refused(a, affected)
	local why = a.policy and a.policy.asked and "a person must confirm it" or "pass --confirm-destructive"
	affected = affected or confirmation.affected()
	local wrong = a.policy and a.policy.values and a.policy.values(a.parsed.values) -- as validate leaves them
	if wrong then
		return wrong
	elseif not is_for_person(a) then
		return refused_plainly(a, why, affected)
	end
	local is = identity(a)
	local because, text = kept(a, is, affected)
	local row
	if text then
		row, because = guarded(function(db)
			return ask(db, is, affected, text)
		end)
	end
	if not row then
		warn(because)
		return refused_plainly(a, why, affected)
	end
	confirmation.decided("refused", { by = "runner", reason = "a person must confirm it", approval = row.id })
	notify(row)
	return waits(row, affected)
end

-- --- a person who was asked about it elsewhere --------------------------------------------------------

local SETTLE = "UPDATE approvals SET state = ?2, decided_ms = ?3, decided_by = ?4, why = ?5, owner = ?6, told = ?7 WHERE id = ?1"
local ENDED = "UPDATE approvals SET outcome = ?3, told = 1 WHERE kind = 'call' AND key = ?1 AND owner = ?2 AND state = 'approved'"

-- What waits is decided with this, and by nobody else; what was decided before stays as it is. In one transaction.
local function settle(db, a, is, yes, owner)
	local row = last(db, is)
	if row and row.state == "pending" then
		local uid, user = require("runner.ledger").user()
		local by = { by = a.unconfirmed == "ask" and "terminal" or "client", uid = uid, user = user, trace_id = a.launch.trace_id }
		db:run(SETTLE, row.id, yes and "approved" or "rejected", host.wall_ms(), assert(json.encode(by)),
			not yes and "declined where the call was made again" or nil, yes and owner or nil, yes and 0 or 1)
		return { id = row.id }
	end
	local by_person = row and (row.state ~= "rejected" or person_of(row) ~= "default")
	if by_person and not row.runs then
		db:run("UPDATE approvals SET told = 1 WHERE id = ?", row.id)
	end
	return by_person and row or nil
end

-- The answer is this caller's: nobody else is told. A process that ends without it leaves the call in doubt.
local function note_end(is, owner)
	attempt.at_end(function(answer)
		local text = assert(json.encode { ok = answer.success == true, ended_ms = host.wall_ms() })
		local _, why = guarded(function(db)
			db:run(ENDED, is.key, owner, text)
		end)
		local _ = why and warn(why)
	end)
end

---The person at the client of this call, or its flag, has said yes or no: what waits of the same call is decided with that.
---@param a runner.Attempt
---@param yes boolean
---@return runner.Answer? answer of a no; and where it was decided elsewhere before: what has become of it
---@return string? approval that was decided
function M.settled(a, yes)
	local no = not yes and { error = confirmation.required "the person declined" } or nil
	if not is_for_person(a) or hindrance(a) or not has_table() then
		return no
	end
	local is, owner = identity(a), require("runner.state.idempotency_keys").owner(a.launch.supervisor)
	local row, why = guarded(function(db)
		return not a.launch.confirmed and settle(db, a, is, yes, owner) or nil -- of a retry the first attempt has done this
	end, yes)
	if why then
		return { error = confirmation.required("what waits for a person can't be decided with it: " .. why) }
	elseif yes and (a.launch.confirmed or row and not row.state) then
		note_end(is, owner)
	else
		release()
	end
	looked_for = nil
	if row and row.state and (a.call.vouched == "person" or a.unconfirmed == "ask" and row.runs or not yes) then
		return row.runs and runs(a, row) or told(row)
	elseif no then
		no.error.context.approval = row and row.id
	end
	return no, row and not row.state and row.id or nil
end

local RUNS = "SELECT owner FROM approvals WHERE id = ? AND kind = 'call' AND digest = ? AND state = 'approved' AND outcome IS NULL"

-- Does the caller make this very call?
local function is_made_by_owner(row)
	return require("runner.state.idempotency_keys").is_alive(row.owner)
		and require("runner.core.person").descends(math.tointeger(tonumber(row.owner:match "^%d+")))
end

---Why this call isn't the one that a person has approved; nil: it is.
---@param a runner.Attempt
---@return runner.Error?
function M.changed(a)
	local given = a.call.approved
	local row, why = guarded(function(db)
		return db:row(RUNS, given.id, given.digest)
	end)
	local is_other = identity(a).digest ~= given.digest
	if is_other or not (row and is_made_by_owner(row)) then
		return errors.new("CONFLICT", (is_other and "'%s' isn't what was approved: its files, its arguments or where it runs have changed"
			or "'%s' isn't a call that was approved and runs now%s"):format(a.name, why and ": " .. why or ""),
			{ phase = "validation", side_effects = "none", retryable = false, context = { approval = given.id },
				fix_required = "Make the call again: it asks anew" })
	end
end

return M
