-- Lines of a client of MCP, whatever they are: the server never raises, each request gets one
-- answer under its id, nothing else gets one with an id, each message is one line of JSON, and no
-- destructive command runs without an answer to a question of the server.

local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local server = require "runner.mcp.server"

local function row(name, level)
	return { command = name, danger_level = level, task = level == "mutating" and "long" or "any",
		listing = level == "destructive" and "allow" or "always", secrets = { "token" },
		added = { dry_run = level ~= "safe" or nil }, safe_default = false, examples = { { description = "x", command = "runner " .. name } },
		tool = { name = name, title = name, description = "x", inputSchema = { type = "object" }, annotations = {} } }
end

local ROWS = { row("hello", "safe"), row("put", "mutating"), row("drop", "destructive") }
local SETTINGS = { { allow = { "drop" } }, { allow = { "drop" }, progressive = true }, {} }

-- Gates that are never opened but by the server itself.
local Gate = {}
Gate.__index = Gate

function Gate:wait()
	self[#self + 1] = coroutine.running()
	coroutine.yield()
end

function Gate:open()
	while self[1] do
		assert(coroutine.resume(table.remove(self, 1)))
	end
end

-- Jobs that never end.
local function fake_tasks()
	local jobs = {}
	return { KEPT_MS = 1000, now = function() return 0 end, find = function(id) return jobs[id] end, runs = function() return true end,
		names = function() return { next(jobs) } end, ask_to_end = function() return true end, remove = function(id) jobs[id] = nil end,
		mark_cancelled = function(id) jobs[id].cancelled = true end,
		keep = function(id, command, ttl_ms)
			jobs[id] = { id = id, command = command, created_ms = 0, updated_ms = 0, ttl_ms = ttl_ms, running = true, cancelled = false }
			return true
		end }
end

local function is_detached(request)
	return table.concat(request.flags, " "):find("--detach", 1, true) ~= nil
end

local function new_server(settings, sent)
	return server.new({
		send = function(message)
			local text = assert(json.encode(message))
			assert(not text:find "\n" and json.decode(text))
			sent[#sent + 1] = message
		end,
		spawn = function(fn)
			assert(coroutine.resume(coroutine.create(fn)))
		end,
		run = function(request)
			local s = sent.server
			assert(request.command ~= "drop" or request.dry_run or request.confirmed and s.session, "nobody confirmed it")
			assert(not (is_detached(request) and request.dry_run))
			request.on_event { kind = "stderr", text = "x" }
			return { ok = request.arguments == nil or request.arguments.fail == nil, data = { arguments = request.arguments },
				error = { code = "X", message = "x" }, meta = { job_id = is_detached(request) and "job_1" or nil } }
		end,
		tasks = fake_tasks(), sleep = coroutine.yield, wait_for_room = function() end,
		gate = function() return setmetatable({}, Gate) end, now = function() return 0 end, rows = function() return ROWS end,
		left_out = function() return { { command = "x", message = "broken" } } end,
		log = function() end, documents = { list = function() return {} end }, info = { name = "x", version = "x" }, at_once = 2,
	}, settings)
end

local function key_of(id)
	return type(id) == "string" and "s" .. id or ("n%d"):format(id)
end

-- What one line was answered with: errors without an id are answers to lines that are none.
local function check(line, first, sent)
	local v = json.decode(line, { unique = true })
	local is_request = rpc.is_object(v) and v.jsonrpc == "2.0" and type(v.method) == "string" and rpc.is_id(v.id)
	local answers = 0
	for i = first, #sent do
		local message = sent[i]
		assert((message.result ~= nil) or (message.error ~= nil) or type(message.method) == "string")
		if is_request and message.method == nil and (message.id == nil or key_of(message.id) == key_of(v.id)) then
			answers = answers + 1
		end
	end
	assert(answers <= 1, "one answer")
	local waits = is_request and sent.server.requests[key_of(v.id)]
	assert(not is_request or answers == 1 or waits, "an answer, or a question first")
end

return function(text)
	local sent = {}
	sent.server = new_server(SETTINGS[(text:byte(1) or 0) % #SETTINGS + 1], sent)
	for line in text:sub(2):gmatch "[^\n]+" do
		local first = #sent + 1
		sent.server:line(line)
		check(line, first, sent)
	end
	assert(sent.server.pending <= 256)
	sent.server:close()
end
