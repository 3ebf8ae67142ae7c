-- claude_events: the lines of a claude program's stream-json: what is worth a line for
-- whoever watches, and what isn't an event at all. The result, which is the last of them,
-- is lua/workflow/kinds/reply.lua's. Pure.

local json = require "runner.json"

local M = {}

-- The input that says most about a call, in this order.
local TELLING = { "command", "file_path", "notebook_path", "pattern", "path", "url", "query", "skill", "description", "prompt" }

local function one_line(text)
	return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local function input_of(call)
	local input = type(call.input) == "table" and call.input or {}
	for _, name in ipairs(TELLING) do
		if type(input[name]) == "string" then
			return input[name]
		end
	end
	return next(input) and json.encode(input) or ""
end

-- A block of an assistant's message → its line.
local BLOCKS = {
	text = function(block)
		return type(block.text) == "string" and one_line(block.text)
	end,
	tool_use = function(block)
		return one_line(("> %s %s"):format(type(block.name) == "string" and block.name or "tool", input_of(block)))
	end,
}
BLOCKS.server_tool_use = BLOCKS.tool_use

local function assistant(event)
	local message, out = type(event.message) == "table" and event.message or {}, {}
	for _, block in ipairs(type(message.content) == "table" and message.content or {}) do
		local line = type(block) == "table" and BLOCKS[block.type] and BLOCKS[block.type](block)
		out[#out + 1] = line and line ~= "" and line or nil
	end
	return out
end

local function number(v)
	return type(v) == "number" and ("%g"):format(v) or "?"
end

-- The program retries requests by itself.
local function system(event)
	if event.subtype ~= "api_retry" then
		return {}
	end
	local seconds = type(event.retry_delay_ms) == "number" and (", again in %.1fs"):format(event.retry_delay_ms / 1000) or ""
	return { one_line(("request failed (%s/%s)%s: %s"):format(number(event.attempt), number(event.max_retries), seconds,
		type(event.error) == "string" and event.error or "unknown error")) }
end

local TYPES = { assistant = assistant, system = system }

---What an event has for whoever watches, a line each; they are neither cleaned nor cut.
---@param event table decoded, secrets masked
---@return string[]
function M.lines(event)
	return TYPES[event.type] and TYPES[event.type](event) or {}
end

---Does a line begin as an event does?
---@param line string
---@return boolean
function M.is_event(line)
	return line:find '^%s*{%s*"type"%s*:%s*"' ~= nil
end

---An output without its events: what the program printed as text.
---@param stdout string
---@return string
function M.plain(stdout)
	local out = {}
	for line in (stdout:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do
		out[#out + 1] = not M.is_event(line) and line or nil
	end
	return table.concat(out, "\n")
end

return M
