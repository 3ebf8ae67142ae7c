-- confirmations: the questions that a person has been asked and not yet answered. What the client
-- carries back (requestState) is a random name and nothing else: there is nothing in it to forge
-- or to change, and what it stands for is here: one call, its arguments, and until when. Each
-- name is good for one answer. It dies with the server (basic/patterns/mrtr.mdx, "Server
-- Requirements": single use has to be enforced here in any case).

local M = {}

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
	return (bytes:gsub(".", function(c)
		return ("%02x"):format(c:byte())
	end))
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

return M
