-- progress: what a call says while it runs, as notifications of its request: any line of its stderr as
-- progress, for who sent a token, and what ctx:log said as a message, for who wants such. A line that
-- is one of runner's own has its text in `message`; any other line is text.

local era = require "runner.mcp.era"
local json = require "runner.json"

local M = {}

local LONGEST = 500 -- bytes of a message

---A text as a line of progress has it.
---@param text string
---@return string
function M.cut(text)
	if #text <= LONGEST then
		return text
	end
	local stop = LONGEST
	while text:byte(stop + 1) & 0xC0 == 0x80 do
		stop = stop - 1
	end
	return text:sub(1, stop) .. "…"
end

local LEVELS = { debug = "debug", info = "info", warn = "warning", error = "error" }

-- Bytes that are no text are left out: what a program prints is not ours to check.
local function message_of(event, line)
	local text = type(event.message) == "string" and event.message or line
	return utf8.len(text) and text ~= "" and M.cut(text) or nil
end

---Does the client of a request want to hear more than warnings and errors?
---@param r runner.mcp.Request
---@return boolean
function M.wants_all(r)
	local level = r.caller.log_level
	return r.caller.progress_token ~= nil or level ~= nil and level < era.severity "warning"
end

---Tell the client of an event of a call, if it wants to know.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param event {kind: "stderr", text: string}
function M.tell(server, r, event)
	local token, wants = r.caller.progress_token, r.caller.log_level
	local line = (token ~= nil or wants) and event.text:sub(1, 1) == "{" and json.decode(event.text)
	line = type(line) == "table" and line or {}
	local message = (token ~= nil or wants) and message_of(line, event.text)
	if message and line.event == "log" and LEVELS[line.level] then
		server:message(r, LEVELS[line.level], { command = line.command, message = message })
	end
	if message and token ~= nil then
		r.progress = (r.progress or 0) + 1
		server:notify(r, "notifications/progress", { progressToken = token, progress = r.progress, message = message }, true)
	end
end

return M
