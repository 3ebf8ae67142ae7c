-- reply: the JSON result that a claude program prints on stdout: one object
-- (json), a list of messages (verbose json) or one message a line (stream-json).
-- Runs in the worker. It judges nothing: that is lua/workflow/kinds/classify.lua's.

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

return M
