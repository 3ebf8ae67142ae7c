-- trace: the numbers of a trace and its spans, and how they travel: TRACEPARENT (W3C Trace Context,
-- level 1). The numbers follow from the run, so that a step's program has its parent's number before
-- the span is written, and two processes agree on it.

local host = require "runner.host"

local M = {}

local ZERO = ("0"):rep(16)
local DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" -- of a ULID (Crockford's base 32)

---@class runner.TraceParent
---@field trace_id string 32 lower-case hexadecimal digits, not all 0
---@field span_id string 16 of them, not all 0
---@field sampled boolean

---Read a traceparent; nil: it is none, and then it is as if there were none (section 3.2.2).
---@param text? string
---@return runner.TraceParent?
function M.parse(text)
	local version, trace_id, span_id, flags, more = (text or ""):match "^(%x%x)%-(%x+)%-(%x+)%-(%x%x)(.*)$"
	local wrong = not version or version == "ff" or text:find "%u" or #trace_id ~= 32 or #span_id ~= 16
		or more ~= "" and (version == "00" or more:sub(1, 1) ~= "-") or trace_id == ZERO .. ZERO or span_id == ZERO
	if wrong then
		return nil
	end
	return { trace_id = trace_id, span_id = span_id, sampled = tonumber(flags, 16) & 1 == 1 }
end

---@param parent runner.TraceParent
---@return string traceparent
function M.text(parent)
	return ("00-%s-%s-%s"):format(parent.trace_id, parent.span_id, parent.sampled and "01" or "00")
end

---The 128 bits of the ULID in an ID such as run_01J…, as the number of a trace; of any other text a digest.
---@param id string
---@return string
function M.trace_id(id)
	local ulid, bits, have, out = id:match "(%w+)$" or "", 0, -2, {} -- 26 digits hold 130 bits: the first two are 0
	for i = 1, #ulid do
		local digit = DIGITS:find(ulid:sub(i, i), 1, true)
		bits, have = bits << 5 | (digit or 1) - 1, have + 5
		if have >= 4 then
			have = have - 4
			out[#out + 1] = ("%x"):format(bits >> have & 15)
			bits = bits & (1 << have) - 1
		end
		if have >= 4 then
			have = have - 4
			out[#out + 1] = ("%x"):format(bits >> have & 15)
			bits = bits & (1 << have) - 1
		end
	end
	local text = table.concat(out)
	return #ulid == 26 and #text == 32 and text ~= ZERO .. ZERO and text or host.digest(id) .. host.digest(id .. "\0")
end

---The number of a span.
---@param ... any what tells it from every other
---@return string
function M.span_id(...)
	local id = host.digest(table.concat({ ... }, "\0"))
	return id ~= ZERO and id or ZERO:sub(2) .. "1"
end

return M
