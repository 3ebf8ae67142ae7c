-- http_server: a real server on 127.0.0.1 with a script of answers, in tasks beside the test. The
-- answers are a list, given in this order; a table of "METHOD /path" → answer or list; or a function of
-- the request. A request that no answer fits gets 404 and fails the test.

local errors = require "runner.core.errors"
local message = require "runner.testkit.http_message"
local scheduler = require "runner.task.scheduler"
local test_bed = require "runner.test_bed"

local M = {}

local POLLIN, POLLOUT = 1, 4

---@class runner.TestServer
---@field url string "http://127.0.0.1:PORT"
---@field requests runner.HttpSeen[] those that came, in order
---@field problem? string
---@field answers any
---@field given table<any, integer> how many answers of a list were given
---@field listener userdata
---@field open table<userdata, true>
---@field closed boolean
local Server = {}
Server.__index = Server

-- --- which answer ------------------------------------------------------------------------------------

-- The next one of a list; the last one is given from then on.
local function next_of(self, list)
	if type(list) ~= "table" or list[1] == nil then
		return list
	end
	self.given[list] = math.min((self.given[list] or 0) + 1, #list)
	return list[self.given[list]]
end

function Server:choose(request)
	local answers = self.answers
	if type(answers) == "function" then
		return answers(request)
	elseif type(answers) == "table" and answers[1] == nil and next(answers) and message.wrong_answer(answers) then
		return next_of(self, answers[request.method .. " " .. request.path] or answers[request.path])
	end
	return next_of(self, answers)
end

function Server:answer(request)
	local ok, answer = pcall(self.choose, self, request)
	local wrong = not ok and tostring(answer) or answer == nil and ("no answer fits %s %s"):format(request.method, request.path)
		or message.wrong_answer(answer)
	if wrong then
		self.problem = self.problem or wrong
		return { status = 404, body = wrong .. "\n" }
	end
	return answer
end

-- --- a connection -------------------------------------------------------------------------------------

-- All of a request; nil: there is none.
local function read_request(self, connection)
	local bytes, asked = "", false
	while not self.closed do
		local some, why = connection:read()
		if some == "" or not some and why ~= "wait" then
			return nil
		elseif not some then
			scheduler.ready(connection:fd(), POLLIN)
		else
			bytes = bytes .. some
			local request, problem = message.parse(bytes)
			self.problem = self.problem or problem
			if request or problem then
				return request
			elseif not asked and message.expects_continue(bytes) then
				asked = true
				connection:write "HTTP/1.1 100 Continue\r\n\r\n"
			end
		end
	end
end

local function write_all(self, connection, bytes)
	local from = 1
	while from <= #bytes and not self.closed do
		local count = connection:write(bytes, from)
		if not count then
			return
		elseif count == 0 then
			scheduler.ready(connection:fd(), POLLOUT)
		end
		from = from + count
	end
end

local function serve(self, connection)
	local request = read_request(self, connection)
	if request then
		self.requests[#self.requests + 1] = request
		local answer = self:answer(request)
		if type(answer) ~= "table" or not answer.drop then
			write_all(self, connection, message.bytes(answer, request.method == "HEAD"))
		end
	end
	self.open[connection] = nil
	connection:close()
end

local function accept_all(self)
	while not self.closed do
		local connection, why = self.listener:accept()
		if connection then
			self.open[connection] = true
			scheduler.spawn(serve, self, connection)
		elseif why ~= "wait" then
			self.problem = self.problem or why
			return
		else
			scheduler.ready(self.listener:fd(), POLLIN)
		end
	end
end

-- --- its life ---------------------------------------------------------------------------------------

---End it, and whatever is still open.
function Server:close()
	if self.closed then
		return
	end
	self.closed = true
	scheduler.forget(self.listener:fd(), POLLIN)
	for connection in next, self.open do
		scheduler.forget(connection:fd(), POLLIN)
		scheduler.forget(connection:fd(), POLLOUT)
	end
	self.listener:close()
end

---Start a server. Raises UNAVAILABLE.
---@param answers any
---@return runner.TestServer
function M.start(answers)
	if type(answers) ~= "table" and type(answers) ~= "function" and type(answers) ~= "string" then
		error("fake.http: it takes an answer, a list of answers, a table of \"GET /path\" → answer, or a function", 3)
	end
	local listener, port = test_bed.listen()
	if not listener then
		errors.raise("UNAVAILABLE", "fake.http can't listen: " .. tostring(port))
	end
	local self = setmetatable({ url = ("http://127.0.0.1:%d"):format(port), requests = {}, answers = answers, given = {},
		listener = listener, open = {}, closed = false }, Server)
	scheduler.spawn(accept_all, self)
	return self
end

return M
