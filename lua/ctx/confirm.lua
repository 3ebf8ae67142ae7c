-- confirm: a destructive call that no flag has confirmed: what it would do, by a dry run where
-- the command has one, and the question at the terminal. Called before `run`, so that a
-- refusal has touched nothing. Loaded where it is needed; lua/project/safety.lua decides.

local attempt = require "runner.core.attempt"
local command_name = require "runner.core.command_name"
local confirmation = require "runner.core.confirmation"
local host = require "runner.host"

local M = {}

local SHOWN = 20 -- lines of a preview

-- What the dry run of this command says: a list; nil where it says nothing.
local function would_affect()
	if not attempt.command.dry_run then
		return nil
	end
	local data = require("runner.ctx.dry_run").preview(attempt.command.run, attempt.parsed.values)
	if not data or not (data.would_affect or data.would[1]) then
		return nil
	end
	local author = data.would_affect
	return author == nil and data.would or type(author) == "table" and author[1] ~= nil and author or { author }
end

local function line_of(item)
	return type(item) == "table" and require("runner.json").encode(item, { envelope = true }) or tostring(item)
end

local function question(list)
	local lines = { ("'%s' is destructive. It would affect:"):format(command_name.typed(attempt.name)) }
	for i = 1, math.min(#list, SHOWN) do
		lines[#lines + 1] = "  " .. line_of(attempt.mask and attempt.mask(list[i]) or list[i])
	end
	if #list > SHOWN then
		lines[#lines + 1] = ("  and %d more"):format(#list - SHOWN)
	end
	return host.clean(table.concat(lines, "\n") .. "\nContinue? [y/N] ")
end

---Confirm this call: at the terminal where there is a person, else refuse it.
---@return runner.Error? CONFIRMATION_REQUIRED; nil: it may run
function M.problem()
	local list = confirmation.affected(would_affect())
	if attempt.unconfirmed == "refuse" then
		return confirmation.required("pass --confirm-destructive", list)
	end
	local answer = (require("runner.terminal").ask(question(list), false) or ""):lower():match "^%s*(.-)%s*$"
	if answer ~= "y" and answer ~= "yes" then
		return confirmation.required("the answer at the terminal was not yes", list)
	end
	host.send("META", { name = "confirmed", data = "true" })
end

return M
