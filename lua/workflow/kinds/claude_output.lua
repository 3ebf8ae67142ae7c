-- claude_output: what a claude program prints on stdout: its JSON result, as one object (json), in a list
-- of messages (verbose json) or as the last of its lines (stream-json), and the events of stream-json before
-- it: which of them are worth a line to watch, and which lines are none. Runs in the worker. It judges
-- nothing: that is lua/workflow/kinds/classify.lua's.

local amounts = require "runner.core.amounts"
local claude_meter = require "runner.workflow.kinds.claude_meter"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

local LINES = 50 -- looked at from the end

---@class runner.workflow.Reply
---@field type "result"
---@field subtype string?
---@field is_error boolean?
---@field result any

local function is_result(v)
	return type(v) == "table" and v.type == "result" and (v.is_error ~= nil or type(v.subtype) == "string")
end

-- Without what a strict parser rejects but programs print when they quote anything:
-- invalid UTF-8, escapes for NUL and for half a surrogate pair.
local function repaired(text)
	local pairs_hidden = host.clean(text):gsub("\\u0000", "\\ufffd")
		:gsub("\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", "\1%1\1%2")
	local repaired_text = pairs_hidden:gsub("\\u[dD][89a-fA-F]%x%x", "\\ufffd"):gsub("\1", "\\u")
	return repaired_text
end

local function decoded(text)
	local v = json.decode(text)
	if v == nil then
		v = json.decode(repaired(text))
	end
	if is_result(v) then
		return v
	end
	local last = json.is_array(v) and v[#v]
	return is_result(last) and last or nil
end

local function last_lines(text)
	local lines = {}
	for line in text:gmatch "[^\r\n]+" do
		if line:find "%S" then
			lines[#lines + 1] = line
		end
	end
	return lines
end

-- Where the output was cut in the middle, its last lines are still whole.
local function in_lines(text)
	local lines = last_lines(text)
	for i = #lines, math.max(1, #lines - LINES), -1 do
		local found = lines[i]:find '^%s*{.*"result"' and decoded(lines[i])
		if found then
			return found
		end
	end
end

---@param stdout string
---@return runner.workflow.Reply? nil where there is none
function M.find(stdout)
	if not stdout:find '"result"' then
		return nil
	end
	stdout = stdout:gsub("^\u{FEFF}", "")
	return stdout:find "^%s*[{[]" and decoded(stdout) or in_lines(stdout)
end

---Does it report a failure? `is_error`, or a subtype such as error_max_turns.
---@param reply runner.workflow.Reply?
---@return boolean
function M.failed(reply)
	return reply ~= nil and (reply.is_error == true or type(reply.subtype) == "string" and reply.subtype:find "^error" ~= nil)
end

local function text_of(v)
	if type(v) == "table" then
		return text_of(v.message or v.text or v.error or v[1])
	end
	return type(v) == "string" and v or nil
end

---What it says, as text; "" for nothing.
---@param reply runner.workflow.Reply
---@return string
function M.text(reply)
	return text_of(reply.result) or text_of(reply.error) or text_of(reply.errors) or ""
end

local function number(v)
	local n = math.tointeger(tonumber(v))
	return n and n >= 400 and n <= 599 and n or nil
end

---The status of the API, where the result has a field for it.
---@param reply runner.workflow.Reply
---@return integer?
function M.status(reply)
	local e = type(reply.error) == "table" and reply.error or {}
	return number(reply.api_error_status) or number(reply.status) or number(reply.status_code) or number(e.status)
end

-- --- what it used ---------------------------------------------------------------------

-- A count that a program printed; nil for anything else.
local function count(v)
	local n = type(v) == "number" and v >= 0 and v < 2 ^ 53 and v // 1
	return n and math.tointeger(n) or nil
end

-- Field of ours → its name in `usage`, its name in a row of `modelUsage`.
local TOKENS = {
	input_tokens = { "input_tokens", "inputTokens" }, output_tokens = { "output_tokens", "outputTokens" },
	cache_read_tokens = { "cache_read_input_tokens", "cacheReadInputTokens" },
	cache_write_tokens = { "cache_creation_input_tokens", "cacheCreationInputTokens" },
}

local function tables_in(v)
	local out = {}
	for name, row in pairs(type(v) == "table" and v or {}) do
		out[name] = type(name) == "string" and type(row) == "table" and row or nil
	end
	return out
end

-- Summed over all models: `usage` is the last model's, and zero after some errors.
local function tokens(reply, models)
	local out = {}
	local total = type(reply.usage) == "table" and reply.usage or {}
	for field, names in pairs(TOKENS) do
		if not next(models) then
			out[field] = count(total[names[1]])
		end
		for _, row in pairs(models) do
			out[field] = (out[field] or 0) + (count(row[names[2]]) or 0)
		end
	end
	return out
end

-- The one that cost most; by name where several did.
local function main_model(models)
	local best, most
	for name, row in pairs(models) do
		local cost = amounts.micros(row.costUSD) or 0
		if not best or cost > most or cost == most and name < best then
			best, most = name, cost
		end
	end
	return best
end

-- What it shows of the prices of each model; nil: nothing.
local function prices_of(reply, models)
	local out, only = {}, next(models)
	only = only and next(models, only) == nil
	for name, row in pairs(models) do
		local micros = amounts.micros(row.costUSD) or only and amounts.micros(reply.total_cost_usd)
		out[claude_meter.model(name)] = micros and claude_meter.prices({ input = count(row.inputTokens) or 0,
			output = count(row.outputTokens) or 0, cache_read = count(row.cacheReadInputTokens) or 0,
			cache_write = count(row.cacheCreationInputTokens) or 0 }, micros, count(reply.num_turns) or 1) or nil
	end
	return next(out) and out or nil
end

---What the program says that it used; fields that it doesn't report are nil.
---@param reply runner.workflow.Reply?
---@return table usage session_id, model, turns, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost_micros,
---  prices: by model
function M.usage(reply)
	reply = reply or {}
	local models = tables_in(reply.modelUsage)
	local usage = tokens(reply, models)
	usage.session_id = type(reply.session_id) == "string" and reply.session_id ~= "" and reply.session_id or nil
	usage.prices = prices_of(reply, models)
	usage.model, usage.turns, usage.cost_micros = main_model(models), count(reply.num_turns), amounts.micros(reply.total_cost_usd)
	return usage
end

-- --- its events --------------------------------------------------------------------------

-- The input that says most about a call, in this order.
local TELLING = { "command", "file_path", "notebook_path", "pattern", "path", "url", "query", "skill", "description", "prompt" }

local function one_line(text)
	return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
end

local function input_of(input)
	for _, name in ipairs(TELLING) do
		if type(input[name]) == "string" then
			return input[name]
		end
	end
	return next(input) and json.encode(input) or ""
end

---A call of a tool on one line: "Bash git diff --stat".
---@param tool string
---@param input table
---@return string
function M.tool_call(tool, input)
	return one_line(tool .. " " .. input_of(input))
end

-- A block of an assistant's message → its line.
local BLOCKS = {
	text = function(block)
		return type(block.text) == "string" and one_line(block.text)
	end,
	tool_use = function(block)
		return "> " .. M.tool_call(type(block.name) == "string" and block.name or "tool", type(block.input) == "table" and block.input or {})
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

local function shown_number(v)
	return type(v) == "number" and ("%g"):format(v) or "?"
end

-- The program retries requests by itself.
local function system(event)
	if event.subtype ~= "api_retry" then
		return {}
	end
	local seconds = type(event.retry_delay_ms) == "number" and (", again in %.1fs"):format(event.retry_delay_ms / 1000) or ""
	return { one_line(("request failed (%s/%s)%s: %s"):format(shown_number(event.attempt), shown_number(event.max_retries), seconds,
		type(event.error) == "string" and event.error or "unknown error")) }
end

local TYPES = { assistant = assistant, system = system }

---What an event has to watch, a line each; they are neither cleaned nor cut.
---@param event table decoded, secrets masked
---@return string[]
function M.event_lines(event)
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
function M.without_events(stdout)
	local out = {}
	for line in (stdout:gsub("\n$", "") .. "\n"):gmatch "([^\n]*)\n" do
		out[#out + 1] = not M.is_event(line) and line or nil
	end
	return table.concat(out, "\n")
end

return M
