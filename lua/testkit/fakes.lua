-- fakes: what stands in for the world in a test: a program, and a server.
--
-- The server is a real one on 127.0.0.1 with a script of answers, in tasks beside the test. The answers are a list, given
-- in this order; a table of "METHOD /path" → answer or list; or a function of the request. A request that no answer fits
-- gets 404 and fails the test, as does what can't be read as HTTP/1.1.

local command_line = require "runner.core.command_line"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"
local test_bed = require "runner.test_bed"

local M = {}

-- --- HTTP/1.1 --------------------------------------------------------------------------

local HEAD_MAX = 1 << 16

---@class runner.HttpSeen a request that came
---@field method string
---@field path string without the query
---@field query string "" for none
---@field target string as it came; of a proxy the whole URL
---@field headers table<string, string> by lower-case name
---@field body string

local function headers_of(text)
	local headers = {}
	for name, value in text:gmatch "\n([^:\r\n]+):[ \t]*([^\r\n]*)" do
		name = name:lower()
		headers[name] = headers[name] and headers[name] .. ", " .. value or value
	end
	return headers
end

-- The body of chunks and where it ends; nil: more has to come.
local function chunked(bytes, at)
	local parts = {}
	while true do
		local size, from = bytes:match("^(%x+)[^\r\n]*\r\n()", at)
		local n = size and tonumber(size, 16)
		if not n or #bytes < from + n + 1 then
			return nil
		elseif n == 0 then
			return table.concat(parts)
		end
		parts[#parts + 1], at = bytes:sub(from, from + n - 1), from + n + 2
	end
end

---What has come so far as a request.
---@param bytes string
---@return runner.HttpSeen? request nil: more has to come, or see `problem`
---@return string? problem
function M.parse(bytes)
	local head, at = bytes:match "^(.-\r\n)\r\n()"
	if not head then
		return nil, #bytes > HEAD_MAX and "the head of a request is too long" or nil
	end
	local method, target = head:match "^(%u+) (%S+) HTTP/1%.%d\r\n"
	if not method then
		return nil, "what came is no HTTP/1.1 request: " .. head:match "^[^\r\n]*"
	end
	local headers = headers_of(head)
	local length = tonumber(headers["content-length"] or 0) or 0
	local body
	if (headers["transfer-encoding"] or ""):find "chunked" then
		body = chunked(bytes, at)
	elseif #bytes - at + 1 >= length then
		body = bytes:sub(at, at + length - 1)
	end
	local path, query = target:gsub("^%a+://[^/]*", ""):match "^([^?]*)%??(.*)$"
	return body and { method = method, path = path, query = query, target = target, headers = headers, body = body } or nil
end

-- A client asks before it sends a long body.
---@param bytes string what has come so far
---@return boolean
local function expects_continue(bytes)
	return bytes:lower():find("\r\nexpect: 100-continue", 1, true) ~= nil
end

local REASONS = {
	[200] = "OK", [201] = "Created", [204] = "No Content", [301] = "Moved Permanently", [302] = "Found", [304] = "Not Modified",
	[400] = "Bad Request", [401] = "Unauthorized", [403] = "Forbidden", [404] = "Not Found", [409] = "Conflict",
	[429] = "Too Many Requests", [500] = "Internal Server Error", [502] = "Bad Gateway", [503] = "Service Unavailable",
	[504] = "Gateway Timeout",
}

local KEYS = { status = "number", headers = "table", body = "any", json = "any", drop = "boolean" }

---Whether a value can be an answer; nil, or what is wrong.
---@param answer any
---@return string?
function M.wrong_answer(answer)
	if type(answer) == "string" then
		return nil
	elseif type(answer) ~= "table" then
		return ("an answer is a string or a table, not a %s"):format(type(answer))
	end
	for key, value in next, answer do
		if not KEYS[key] or KEYS[key] ~= "any" and KEYS[key] ~= type(value) then
			return ("an answer has status, headers, body, json and drop, not %s = %s"):format(tostring(key), tostring(value))
		end
	end
end

---An answer as bytes.
---@param answer string|table
---@param to_head boolean without its body: the request was HEAD
---@return string
function M.bytes(answer, to_head)
	answer = type(answer) == "string" and { body = answer } or answer
	local status, body = math.floor(answer.status or 200), tostring(answer.body or "")
	local headers = { ["content-type"] = "text/plain; charset=utf-8", connection = "close" }
	if answer.json ~= nil then
		body, headers["content-type"] = assert(json.encode(answer.json)), "application/json"
	end
	for name, value in next, answer.headers or {} do
		headers[tostring(name):lower()] = tostring(value)
	end
	if status ~= 204 and status ~= 304 then
		headers["content-length"] = #body
	end
	local lines = { ("HTTP/1.1 %d %s\r\n"):format(status, REASONS[status] or "Status") }
	for name, value in next, headers do
		lines[#lines + 1] = ("%s: %s\r\n"):format(name, value)
	end
	return table.concat(lines) .. "\r\n" .. ((to_head or status == 204 or status == 304) and "" or body)
end

-- --- the server ------------------------------------------------------------------------

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
	elseif type(answers) == "table" and answers[1] == nil and next(answers) and M.wrong_answer(answers) then
		return next_of(self, answers[request.method .. " " .. request.path] or answers[request.path])
	end
	return next_of(self, answers)
end

function Server:answer(request)
	local ok, answer = pcall(self.choose, self, request)
	local wrong = not ok and tostring(answer) or answer == nil and ("no answer fits %s %s"):format(request.method, request.path)
		or M.wrong_answer(answer)
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
			local request, problem = M.parse(bytes)
			self.problem = self.problem or problem
			if request or problem then
				return request
			elseif not asked and expects_continue(bytes) then
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
			write_all(self, connection, M.bytes(answer, request.method == "HEAD"))
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

-- Programs that answer from a script, in a folder that stands first in PATH. Each is a
-- shell script: it notes how it was called, finds the first rule whose words its arguments begin with,
-- and gives that rule's next answer. A call that no rule fits exits with 127, and fails the test.
--
-- What doesn't look in PATH is not reached: a program named by its path, what a shell has built in,
-- what a C module does.

local SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
local PROGRAM_KEYS = { args = "table", stdout = "string", stderr = "string", status = "number", signal = "string", script = "string" }
local EXECUTABLE = 493 -- 0755
local UNFIT = 127

---@class runner.FakeProgram
---@field name string
---@field rules { id: integer, args: string[], answers: table[] }[]
---@field folder string what it notes
---@field path string
local FakeProgram = {}
FakeProgram.__index = FakeProgram

local quoted = command_line.quoted

local function must(ok, why)
	if not ok then
		errors.raise("UNAVAILABLE", "A stand-in can't be written: " .. tostring(why))
	end
end

local function check(answer, name)
	if type(answer) == "string" then
		return { stdout = answer }
	elseif type(answer) ~= "table" then
		error(("fake.run: an answer of %s is a string or a table, not a %s"):format(name, type(answer)), 4)
	end
	for key, value in next, answer do
		if PROGRAM_KEYS[key] ~= type(value) then
			error(("fake.run: an answer of %s has args (a list), stdout, stderr, signal, script (strings) and status (a number), not %s = %s")
				:format(name, tostring(key), tostring(value)), 4)
		end
	end
	return answer
end

-- One answer, or a list of them: the last one is given from then on.
local function answers_of(given, name)
	local list = type(given) == "table" and given[1] ~= nil and given or { given == nil and {} or given }
	local out = {}
	for i, answer in ipairs(list) do
		out[i] = check(answer, name)
	end
	return out
end

-- --- the script --------------------------------------------------------------------------------

local function condition(args)
	local tests = { ("[ $# -ge %d ]"):format(#args) }
	for i, word in ipairs(args) do
		tests[#tests + 1] = ('[ "${%d}" = %s ]'):format(i, quoted(tostring(word)))
	end
	return table.concat(tests, " && ")
end

local function answer_lines(answer)
	local lines = {}
	local function add(format, ...)
		lines[#lines + 1] = "\t\t\t" .. format:format(...)
	end
	if answer.stdout and answer.stdout ~= "" then
		add("printf %%s %s", quoted(answer.stdout))
	end
	if answer.stderr and answer.stderr ~= "" then
		add("printf %%s %s >&2", quoted(answer.stderr))
	end
	if answer.script then
		add("(PATH=$given; %s\n\t\t\t)", answer.script)
		add(answer.status and "exit %d" or "exit", answer.status)
	elseif answer.signal then
		add("kill -%s $$", quoted((answer.signal:gsub("^SIG", ""))))
	else
		add("exit %d", answer.status or 0)
	end
	add ";;"
	return table.concat(lines, "\n")
end

-- The n-th call of a rule gets its n-th answer: making a folder is what only one process can do.
local function rule_lines(number, rule)
	local lines = { ("if %s; then"):format(condition(rule.args)), ('\tcount "$d/rule%d"'):format(number), "\tcase $n in" }
	for i, answer in ipairs(rule.answers) do
		lines[#lines + 1] = ("\t\t%s)\n%s"):format(i == #rule.answers and "*" or tostring(i), answer_lines(answer))
	end
	lines[#lines + 1] = "\tesac\nfi"
	return table.concat(lines, "\n")
end

local HEAD = [[
#!/bin/sh
# Written by runner test.
given=$PATH
PATH=%s
d=%s
count() {
	n=1
	while ! mkdir "$1.$n" 2>/dev/null; do
		[ -d "$1.$n" ] || exit 125
		n=$((n + 1))
	done
}
count "$d/call"
c=$d/call.$n
for word in "$@"; do printf '%%s\0' "$word"; done >"$c/args"
printf %%s "$PWD" >"$c/cwd"
[ -t 0 ] || cat >"$c/stdin"
]]

function FakeProgram:write()
	local lines = { HEAD:format(SYSTEM_PATH, quoted(self.folder)) }
	for _, rule in ipairs(self.rules) do
		lines[#lines + 1] = rule_lines(rule.id, rule)
	end
	lines[#lines + 1] = (': >"$c/unfit"\necho "%s: no answer of fake.run fits: $*" >&2\nexit %d\n'):format(self.name, UNFIT)
	must(fs.write(self.path, table.concat(lines, "\n"), EXECUTABLE))
end

-- --- what it was asked -------------------------------------------------------------------------

local function words_of(text)
	local words = {}
	for word in text:gmatch "([^%z]*)%z" do
		words[#words + 1] = word
	end
	return words
end

---How it was called so far, in order.
---@return { args: string[], cwd: string, stdin: string }[]
function FakeProgram:calls()
	local list = {}
	while true do
		local folder = ("%s/call.%d"):format(self.folder, #list + 1)
		local args = fs.read(folder .. "/args")
		if not args then
			return list
		end
		list[#list + 1] = { args = words_of(args), cwd = fs.read(folder .. "/cwd") or "", stdin = fs.read(folder .. "/stdin") or "",
			unfit = fs.stat(folder .. "/unfit") and true or nil }
	end
end

---The arguments of the first call that no rule fitted.
---@return string?
function FakeProgram:unfit()
	for _, call in ipairs(self:calls()) do
		if call.unfit then
			return table.concat(call.args, " ")
		end
	end
end

---Add a rule, and write the program again.
---@param given any as fake.run takes it
function FakeProgram:add(given)
	local answers = answers_of(given, self.name)
	local args = type(given) == "table" and given.args or answers[1].args or {}
	self.rules[#self.rules + 1] = { id = #self.rules + 1, args = args, answers = answers }
	-- the longest first, so that a general rule doesn't hide a particular one
	table.sort(self.rules, function(a, b)
		return #a.args > #b.args or #a.args == #b.args and a.id < b.id
	end)
	self:write()
end

---@param name string of the program, without a folder
---@param bin string the folder in PATH
---@param notes string a folder for what it notes
---@return runner.FakeProgram
function M.program(name, bin, notes)
	if type(name) ~= "string" or not name:find "^[%w._+-]+$" or name:find "^%.+$" then
		error("fake.run: it stands in for a program of PATH, by its name: fake.run(\"git\", …)", 3)
	end
	local self = setmetatable({ name = name, rules = {}, folder = notes .. "/" .. name, path = bin .. "/" .. name }, FakeProgram)
	must(fs.mkdirs(self.folder))
	return self
end

return M
