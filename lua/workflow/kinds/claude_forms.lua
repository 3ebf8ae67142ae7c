-- claude_forms: the sentences that Claude Code prints in the place of an answer, and
-- the class of failure each means. A sentence counts only at the start of its line:
-- an answer may quote one. What the program was seen to print: tests/claude/records.
-- Pure.

local failure_classes = require "runner.workflow.kinds.failure_classes"

local M = {}

local SHORT = 1000 -- bytes; longer ones are answers

-- Class, and patterns in lower case with plain apostrophes; the first that matches counts.
local ROWS = {
	{ "invalid command", "^unknown command: /", "^unknown slash command: ", "^no conversation found", "^error: %-%-resume requires",
		"^error: session id .* is already in use", "^error: invalid mcp config", "^mcp config file not found",
		"cannot be used with root/sudo", "^error: input must be provided",
		"^error: piped stdin input exceeds", "^error: option .* is invalid%f[%A]", "^error: when using %-%-print" },
	{ "authentication", "^your account does not have access to claude", "^your anthropic_api_key belongs to a disabled organization",
		"^your organization has disabled", "^this organization has been disabled", "^not logged in", "^invalid api key",
		"^failed to authenticate", "^please run /login", "^oauth token revoked" },
	{ "payment", "^credit balance is too low", "^you've hit your [%a' ]*spend limit" },
	{ "usage limit", "^you've hit your [%w%- ']*limit", "^you've reached your [%w%- ']*limit", "^you're out of usage credits",
		"^you're out of extra usage", "^your org is out of usage", "^your organization is out of usage",
		"^claude ai usage limit reached", "^%d+%-hour limit reached", "^weekly limit reached", "^[%a]+ weekly limit reached" },
	{ "not found", "^there's an issue with the selected model", "^the model .* is not available on your" },
	{ "turn limit", "^error: reached max turns", "^reached maximum number of turns" },
	{ "budget", "^error: exceeded usd budget", "^reached maximum budget" },
	{ "schema", "^error: failed to provide valid structured output" },
	{ "refused", "^prompt is too long", "^request too large", "^pdf too large", "^image was too large",
		"^api error: the model has reached its context window", "^api error: claude's response exceeded .* output token maximum",
		"^api error: claude code is unable to respond .* usage policy" },
	{ "network", "^api error: connection to the api was lost", "^api error: api returned an empty or malformed response",
		"^api error: unable to connect to api" },
}

---The class of failure that a line names, where it is one of Claude Code's own sentences.
---@param line string
---@return runner.workflow.Class?
function M.class_of(line)
	local lower = line:lower():gsub("’", "'"):gsub("^%s+", "")
	for _, row in ipairs(ROWS) do
		for i = 2, #row do
			if lower:find(row[i]) then
				return failure_classes.by_name[row[1]]
			end
		end
	end
end

---Does a line report a failure of the API, whatever it was?
---@param line string
---@return boolean
function M.is_api_error(line)
	return line:find "^%s*API Error%f[%A]" ~= nil
end

---Is this whole output the answer to a slash command that doesn't exist? The program
---exits 0 then, and no model was asked.
---@param text string
---@return boolean
function M.is_unknown_command(text)
	local line = #text <= SHORT and text:match "^%s*([^\n]-)%s*$"
	return line ~= nil and line ~= false and (line:find "^Unknown command: /%S+$" or line:find "^Unknown command: /%S+%. Did you mean /%S+%?$"
		or line:find "^Unknown slash command: %S+$") ~= nil
end

return M
