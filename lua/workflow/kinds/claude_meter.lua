-- claude_meter: the tokens of a claude program that is cut off before its result says what it
-- cost: what its events (stream-json) say of each message, and what that is charged at the
-- prices that earlier results showed. An estimate from above. Pure.

local json = require "runner.json"

local M = {}

local KINDS = { "input", "output", "cache_read", "cache_write" }
local FIELDS = { input = "input_tokens", output = "output_tokens", cache_read = "cache_read_input_tokens",
	cache_write = "cache_creation_input_tokens" }
local SYNTHETIC = "<synthetic>" -- the model of messages that the program writes itself, of errors for example
local BYTES_OF_TOKEN = 2 -- at least, of what the model says

---@class runner.workflow.Prices micro-dollars, at most: of a token of each kind, and of a whole turn
---@field input number
---@field output number
---@field cache_read number
---@field cache_write number
---@field turn number

---@class runner.workflow.Meter
---@field messages table[] as they came: model, and a count for each kind of tokens
---@field by_id table<string, table>
---@field model? string that the program began with
---@field streams boolean
---@field missed? true a part of what it said was not seen
local Meter = {}
Meter.__index = Meter

---@param streams boolean it prints its events (stream-json), the first before it asks anything
---@return runner.workflow.Meter
function M.new(streams)
	return setmetatable({ messages = {}, by_id = {}, streams = streams }, Meter)
end

---"claude-opus-4-8[1m]" → "claude-opus-4-8", as messages name it.
---@param model any
---@return string?
function M.model(model)
	return type(model) == "string" and model:gsub("%[.-%]$", "") or nil
end

local function count(v)
	return type(v) == "number" and v >= 0 and v < 2 ^ 53 and v or 0
end

-- An event has a part of a message. Its output_tokens are those of its beginning, so its bytes count.
local function add(meter, message)
	local row = message.id and meter.by_id[message.id] or { bytes = 0 }
	if not row.model then
		row.model = M.model(message.model) or meter.model
		meter.messages[#meter.messages + 1] = row
		meter.by_id[message.id or row] = row
	end
	local usage = type(message.usage) == "table" and message.usage or {}
	for _, kind in ipairs(KINDS) do
		row[kind] = math.max(row[kind] or 0, count(usage[FIELDS[kind]]))
	end
	row.bytes = row.bytes + #(json.encode(message.content or "") or "")
	row.output = math.max(row.output, row.bytes // BYTES_OF_TOKEN)
end

---A line of its stdout.
---@param line string
---@param is_part? boolean of a longer one
function Meter:line(line, is_part)
	local kind = line:match '^%s*{%s*"type"%s*:%s*"(%l+)"'
	if is_part and kind == "assistant" then
		self.missed = true
	elseif not is_part and (kind == "assistant" or kind == "system") then
		local event = json.decode(line)
		if type(event) == "table" and kind == "assistant" and type(event.message) == "table"
			and event.message.model ~= SYNTHETIC then
			add(self, event.message)
		elseif type(event) == "table" and event.subtype == "init" then
			self.model = M.model(event.model)
		end
	end
end

local function charge_of(row, price)
	local micros = 0
	for _, kind in ipairs(KINDS) do
		micros = micros + row[kind] * price[kind]
	end
	return micros
end

-- The dearest turn that was seen of its model; of any, where it has not said which.
local function turn_of(meter, prices)
	local price, most = prices[meter.model or ""], nil
	for _, row in pairs(meter.streams and not meter.model and prices or {}) do
		most = math.max(most or 0, row.turn)
	end
	return price and price.turn or most
end

---What it is charged: its messages, and the request that was under way like the dearest of them, or
---like the dearest turn that was seen.
---@param prices table<string, runner.workflow.Prices> by model
---@return integer? micros nil: a price is missing, or tokens are
function Meter:charge(prices)
	local first = not self.messages[1] and turn_of(self, prices)
	if self.missed or first == nil then
		return nil
	end
	local total, dearest = 0, 0
	for _, row in ipairs(self.messages) do
		local price = prices[row.model or ""]
		if not price then
			return nil
		end
		local micros = charge_of(row, price)
		total, dearest = total + micros, math.max(dearest, micros)
	end
	return math.ceil(total + (first or dearest))
end

-- --- prices --------------------------------------------------------------------------------

-- List prices, in those of a token of input, and what of that may at most be true: two times the
-- price that the ratios give, also for a cache that keeps for an hour.
local WEIGHTS = { input = 1, output = 5, cache_write = 1.25, cache_read = 0.1 }
local MOST = { input = 2, output = 10, cache_write = 4, cache_read = 0.2 }

local function weight_of(used)
	local sum = 0
	for kind, weight in pairs(WEIGHTS) do
		sum = sum + used[kind] * weight
	end
	return sum
end

---What a result shows of a model's prices. One sum bounds them twice. A token read from the cache
---costs no more than one of input, that no more than one written to the cache, that no more than one
---of output; so the whole cost bounds the price of each kind, over the tokens that cost as much or more.
---And the ratios of list prices are known, so no price is more than twice what these make of the sum.
---@param used {input: integer, output: integer, cache_read: integer, cache_write: integer}
---@param micros integer what these tokens cost
---@param turns integer
---@return runner.workflow.Prices? nil: without output there is no bound
function M.prices(used, micros, turns)
	if used.output <= 0 then
		return nil
	end
	local write = used.cache_write + used.output
	local input = used.input + write
	local out = { output = micros / used.output, cache_write = micros / write, input = micros / input,
		cache_read = micros / (used.cache_read + input), turn = micros / math.max(turns, 1) }
	local unit = micros / weight_of(used)
	for kind, most in pairs(MOST) do
		out[kind] = math.min(out[kind], most * unit)
	end
	return out
end

return M
