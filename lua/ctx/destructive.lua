-- destructive: a destructive call that no flag has confirmed: what it would do, by a dry run where
-- the command has one, and the question at the terminal. Called before `run`, so that a
-- refusal has touched nothing. Loaded where it is needed; lua/project/safety.lua decides.

local attempt = require "runner.core.attempt"
local command_line = require "runner.core.command_line"
local confirmation = require "runner.core.confirmation"
local host = require "runner.host"
local visible = require "runner.core.visible"

local M = {}

local SHOWN = 20 -- lines of a preview

-- What the dry run of this command says: a list; nil where it says nothing.
local function would_affect()
	if not attempt.command.dry_run then
		return nil
	end
	local data = require("runner.ctx.dry_run").preview(attempt.wrapped "run", attempt.parsed.values)
	if not data or not (data.would_affect or data.would[1]) then
		return nil
	end
	local author = data.would_affect
	return author == nil and data.would or type(author) == "table" and author[1] ~= nil and author or { author }
end

local function line_of(item)
	return type(item) == "table" and visible.one_line(item) or visible.text(tostring(item))
end

-- What the dry run says hides no argument, and no argument hides another.
local function add_arguments(lines)
	local arguments = confirmation.call().arguments
	arguments = attempt.mask and attempt.mask(arguments) or arguments
	local rows = visible.argument_lines(arguments)
	lines[#lines + 1] = rows[1] and "Arguments:" or nil
	table.move(rows, 1, #rows, #lines + 1, lines)
end

local function question(list)
	local own, lines = attempt.command.confirm, {}
	local asked = attempt.policy and attempt.policy.asked
	lines[1] = not own and ("'%s' %s."):format(command_line.typed(attempt.name), asked and asked ~= "destructive"
		and "is asked for by a policy" or "is destructive") or nil
	add_arguments(lines)
	lines[#lines + 1] = list[1] and "It would affect:" or nil
	for i = 1, math.min(#list, SHOWN) do
		lines[#lines + 1] = "  " .. line_of(attempt.mask and attempt.mask(list[i]) or list[i])
	end
	if #list > SHOWN then
		lines[#lines + 1] = ("  and %d more"):format(#list - SHOWN)
	end
	return host.clean(table.concat(lines, "\n") .. (lines[1] and "\n" or "") .. (own or "Continue?") .. " [y/N] ")
end

-- Above a quota it waits, whoever asks: no terminal of the caller's says yes.
local function above(over)
	local pending = require "runner.state.pending_calls"
	return pending.answer(attempt) or over.full[1] and { error = pending.refused(attempt, confirmation.affected(would_affect())) } or nil
end

-- A person has said yes: what waits of the same call is decided with it.
local function agreed()
	local told, approval = require("runner.state.pending_calls").settled(attempt, true)
	if told then
		return told
	end
	host.send("META", { name = "confirmed", data = "true" })
	local e = confirmation.decided("confirmed", { by = "terminal", approval = approval })
	return e and { error = e }
end

-- At the terminal where there is a person, else it is refused.
local function problem()
	local effects = would_affect()
	local list = confirmation.affected(effects)
	local shown = effects and list or table.move(list, 2, #list, 1, {}) -- the first is the call itself, whose arguments are shown
	if attempt.unconfirmed == "refuse" then
		return { error = require("runner.state.pending_calls").refused(attempt, list) }
	end
	local answer = (require("runner.terminal").ask(question(shown), false) or ""):lower():match "^%s*(.-)%s*$"
	if answer ~= "y" and answer ~= "yes" then
		return { error = confirmation.refused("the answer at the terminal was not yes", list, { decision = "declined", by = "terminal" }) }
	end
	return agreed()
end

---Confirm this call: nil: it may run.
---@return runner.Answer? CONFIRMATION_REQUIRED, or what has become of it
function M.answer()
	local over = not attempt.dry_run and attempt.policy and attempt.policy.over
	local answer = over and (over.full[1] or attempt.call.vouched ~= "person") and above(over)
	return answer or attempt.unconfirmed ~= "above" and problem() or nil
end

return M
