-- confirmations: what a person is asked before a destructive tool runs, as a form (client/elicitation.mdx), what their
-- answer means, and the questions that have not been answered yet. What the client carries back (requestState) is a random
-- name and nothing else: there is nothing in it to forge or to change, and what it stands for is here: one call, its
-- arguments, and until when. Each name is good for one answer. It dies with the server (basic/patterns/mrtr.mdx, "Server
-- Requirements": single use has to be enforced here in any case).

local encoding = require "runner.core.encoding"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

-- --- the questions that are open -------------------------------------------------------

local TTL_MS = 10 * 60 * 1000
local BYTES_MAX, COUNT_MAX = 16 << 20, 256 -- of what is remembered; the oldest questions go first

---@class runner.mcp.Confirmations
---@field random fun(): string an unguessable name
---@field now fun(): number ms
---@field list {state: string, what: string, until_ms: number}[] oldest first
---@field bytes integer
local Confirmations = {}
Confirmations.__index = Confirmations

---256 bits of the kernel's, as text.
---@return string
function M.random()
	local file <close> = assert(io.open("/dev/urandom", "rb"))
	file:setvbuf "no"
	local bytes = file:read(32)
	assert(bytes and #bytes == 32, "/dev/urandom gave too little")
	return encoding.hex(bytes)
end

---@param now fun(): number ms, of a clock that never goes back
---@param random? fun(): string
---@return runner.mcp.Confirmations
function M.new(now, random)
	return setmetatable({ now = now, random = random or M.random, list = {}, bytes = 0 }, Confirmations)
end

function Confirmations:remove(index)
	self.bytes = self.bytes - #table.remove(self.list, index).what
end

function Confirmations:forget_old()
	while self.list[1] and self.list[1].until_ms <= self.now() do
		self:remove(1)
	end
end

---Remember a question.
---@param what string the call with its arguments, as one text
---@return string state what the client carries back
function Confirmations:open(what)
	self:forget_old()
	while self.list[1] and (#self.list >= COUNT_MAX or self.bytes + #what > BYTES_MAX) do
		self:remove(1)
	end
	local state = self.random()
	self.list[#self.list + 1] = { state = state, what = what, until_ms = self.now() + TTL_MS }
	self.bytes = self.bytes + #what
	return state
end

---Was this very call asked about? Whatever the answer, the state is used up.
---@param state string
---@param what string
---@return boolean
function Confirmations:take(state, what)
	self:forget_old()
	for i, question in ipairs(self.list) do
		if question.state == state then
			self:remove(i)
			return question.what == what
		end
	end
	return false
end

-- --- a question and its answer ---------------------------------------------------------

-- The key of the question among inputRequests.
M.KEY = "confirm"

local PREVIEW_MAX, QUESTION_MAX = 4000, 31 << 10 -- bytes

---The arguments without the values of secrets.
---@param arguments table
---@param secrets string[]
---@return table
function M.masked(arguments, secrets)
	local out = tables.add({}, arguments)
	for _, name in ipairs(secrets) do
		if out[name] ~= nil then
			out[name] = "***"
		end
	end
	return out
end

local FORM = {
	type = "object",
	properties = { confirm = { type = "boolean", title = "Run it", description = "Tick to run the command as shown", default = false } },
	required = json.array { "confirm" },
}

---The params of an elicitation/create; nil: not all arguments have room in one question.
---@param row runner.mcp.Row
---@param arguments table
---@param preview any the data of a dry run
---@param mode? string "form", where the revision knows modes
---@return table?
function M.form(row, arguments, preview, mode)
	local lines = visible.argument_lines(M.masked(arguments, row.secrets))
	table.insert(lines, 1, ("Run '%s'? %s."):format(row.tool.title, row.asked and "A policy has you asked" or "It is destructive"))
	table.insert(lines, 2, lines[2] and "Arguments:" or "Arguments: none")
	local form = { mode = mode, requestedSchema = FORM }
	for tries = 0, 3 do
		lines[#lines + (tries > 0 and 0 or 1)] = "A dry run says: "
			.. visible.one_line(preview == nil and json.null or preview, PREVIEW_MAX >> 2 * tries)
		form.message = table.concat(lines, "\n")
		if #visible.encode(form) <= QUESTION_MAX then
			return form
		end
	end
end

---Does the person want it? Only a form that was sent with the box ticked says yes.
---@param reply any an ElicitResult
---@return boolean yes
---@return string? why not, as the rest of a sentence
function M.is_yes(reply)
	if not rpc.is_object(reply) or type(reply.action) ~= "string" then
		return false, "the client sent no valid answer"
	elseif reply.action ~= "accept" then
		return false, reply.action == "decline" and "the person declined" or "the person gave no answer"
	elseif not rpc.is_object(reply.content) or reply.content.confirm ~= true then
		return false, "the person did not tick the box"
	end
	return true
end

return M
