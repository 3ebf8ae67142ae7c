-- progress: what a call says while it runs, as notifications of its request. A line of its stderr
-- that is one of runner's own has its text in `message`; any other line is text.

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

-- Bytes that are no text are left out: what a program prints is not ours to check.
local function message_of(line)
	local event = line:sub(1, 1) == "{" and json.decode(line)
	local text = type(event) == "table" and type(event.message) == "string" and event.message or line
	return utf8.len(text) and text ~= "" and M.cut(text) or nil
end

---Tell the client of an event of a call, if it wants to know.
---@param server runner.mcp.Server
---@param r runner.mcp.Request
---@param event {kind: "stderr", text: string}
function M.tell(server, r, event)
	local token = r.caller.progress_token
	local message = token ~= nil and message_of(event.text)
	if message then
		r.progress = (r.progress or 0) + 1
		server:notify(r, "notifications/progress", { progressToken = token, progress = r.progress, message = message }, true)
	end
end

return M
