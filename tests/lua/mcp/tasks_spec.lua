-- Tasks of MCP, of both eras, over jobs that never were (tests/lua/lib/mcp_client.lua).

local json = require "runner.json"
local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")

local function row(name, task, level)
	return { command = name, danger_level = level or "safe", listing = level == "destructive" and "allow" or "always", secrets = {},
		task = task, added = { dry_run = level ~= nil or nil }, safe_default = false, examples = {},
		tool = { name = name, title = name, description = "x", inputSchema = { type = "object" }, annotations = {} } }
end

local function contains(list, value)
	for _, v in ipairs(list) do
		if v == value then
			return true
		end
	end
	return false
end

local next_id = 0

-- A run of a command: with --detach it is a job, but for a wrong argument and a dry run.
local function run(request)
	if request.arguments.wrong then
		return { ok = false, error = { code = "VALIDATION_ERROR", message = "wrong" }, warnings = json.array {}, meta = { exit_code = 2 } }
	elseif contains(request.flags, "--detach") then
		next_id = next_id + 1
		local id = ("job_%03d"):format(next_id)
		return { ok = true, data = { job_id = id }, warnings = json.array {}, meta = { job_id = id } }
	end
	if request.confirmed == "pending" then -- which the call itself refuses
		return { ok = false, error = { code = "CONFIRMATION_REQUIRED", message = "no" } }
	end
	return { ok = true, data = { dry_run = request.dry_run or false }, warnings = json.array {}, meta = {} }
end

local function client(options)
	options = options or {}
	options.rows = options.rows or { row("build", "long"), row("hello", "any"), row("job_wait"), row("wipe", "long", "destructive") }
	options.run = options.run or run
	options.settings = options.settings or { allow = { "wipe" } }
	return client_of.new(options)
end

local function finish(c, id, ok)
	local job = c.jobs[id]
	job.running = false
	job.envelope = { ok = ok ~= false, data = { built = true }, error = ok == false and { code = "UNAVAILABLE", message = "503" } or nil,
		warnings = json.array {}, meta = {} }
end

local BOTH = { extensions = client_of.TASKS.extensions, elicitation = { form = {} } }

describe("the tasks of 2026-07-28", function()
	local function call(c, id, name, arguments, capabilities)
		return c:modern(id, "tools/call", { name = name, arguments = arguments }, capabilities or client_of.TASKS)
	end

	it("are long calls of a client that knows them, whatever else it asks for", function()
		local c = client()
		local made = call(c, 1, "build").result
		assert.same({ "task", "working" }, { made.resultType, made.status })
		assert.is_truthy(contains(c.calls[1].flags, "--detach"))
		assert.equal("complete", call(c, 2, "hello").result.resultType)
		assert.equal("complete", call(c, 3, "build", {}, {}).result.resultType)
		assert.equal("complete", c:modern(4, "tools/call", { name = "hello", task = { ttl = 1 } }, client_of.TASKS).result.resultType)
		for _, capabilities in ipairs { { extensions = {} }, { extensions = "x" }, { tasks = {} },
			{ extensions = { ["io.modelcontextprotocol/tasks"] = true } } } do
			assert.equal("complete", call(c, 5, "build", {}, capabilities).result.resultType)
		end
	end)

	it("have their result in tasks/get once they have ended, failed or not", function()
		for _, ok in ipairs { true, false } do
			local c = client()
			local id = call(c, 1, "build").result.taskId
			c.jobs[id].progress, c.jobs[id].step = { done = 3 }, "compile"
			local now = c:modern(2, "tasks/get", { taskId = id }, client_of.TASKS).result
			assert.same({ "working", 'compile: {"done":3}' }, { now.status, now.statusMessage })
			finish(c, id, ok)
			now = c:modern(3, "tasks/get", { taskId = id }, client_of.TASKS).result
			assert.same({ "completed", not ok, not ok and "503" or nil }, { now.status, now.result.isError, now.statusMessage })
		end
	end)

	it("are cancelled, and are so when they have ended", function()
		local c = client()
		local id = call(c, 1, "build").result.taskId
		assert.is_truthy(c:modern(2, "tasks/cancel", { taskId = id }, client_of.TASKS).result)
		assert.is_true(c.jobs[id].asked)
		assert.equal("working", c:modern(3, "tasks/get", { taskId = id }, client_of.TASKS).result.status)
		finish(c, id, false)
		c.jobs[id].cancelled = true
		assert.equal("cancelled", c:modern(4, "tasks/get", { taskId = id }, client_of.TASKS).result.status)
		assert.is_truthy(c:modern(5, "tasks/cancel", { taskId = id }, client_of.TASKS).result)
	end)

	it("are nothing to a client that does not know them, and have no methods of the earlier form", function()
		local c = client()
		local id = call(c, 1, "build").result.taskId
		for i, method in ipairs { "tasks/get", "tasks/cancel", "tasks/update" } do
			local e = c:modern(i + 1, method, { taskId = id, inputResponses = {} }).error
			assert.equal(-32021, e.code)
			assert.same({ extensions = { ["io.modelcontextprotocol/tasks"] = {} } }, e.data.requiredCapabilities)
		end
		assert.is_nil(c.jobs[id].asked)
		for _, method in ipairs { "tasks/result", "tasks/list" } do
			assert.equal(-32601, c:modern(method, method, { taskId = id }, client_of.TASKS).error.code)
		end
		local listen = c:modern(9, "subscriptions/listen", { notifications = { taskIds = json.array { id } } })
		assert.equal(-32021, listen.error.code)
	end)

	it("have names that nobody else's have", function()
		local c = client()
		for i, id in ipairs { "", "x", "job_999", "../job_001", "job_001/", "job_\0", ("x"):rep(1 << 16), 1, true, {}, json.null } do
			for _, method in ipairs { "tasks/get", "tasks/cancel", "tasks/update" } do
				local e = c:modern(method .. i, method, { taskId = id, inputResponses = {} }, client_of.TASKS).error
				assert.equal(-32602, e and e.code, tostring(id))
			end
		end
	end)

	it("take answers to questions that nobody asked for what they are", function()
		local c = client()
		local id = call(c, 1, "build").result.taskId
		local params = { taskId = id, inputResponses = { confirm = { action = "accept" } } }
		assert.is_truthy(c:modern(2, "tasks/update", params, client_of.TASKS).result)
		assert.equal(-32602, c:modern(3, "tasks/update", { taskId = id, inputResponses = "x" }, client_of.TASKS).error.code)
		assert.equal(-32602, c:modern(4, "tasks/update", { taskId = id }, client_of.TASKS).error.code)
	end)

	it("begin after the person's yes and not before", function()
		local c = client()
		local asked = call(c, 1, "wipe", { name = "prod" }, BOTH).result
		assert.equal("input_required", asked.resultType)
		assert.is_false(contains(c.calls[1].flags, "--detach"))
		assert.is_true(c.calls[1].dry_run)
		local params = { name = "wipe", arguments = { name = "prod" }, requestState = asked.requestState,
			inputResponses = { confirm = { action = "accept", content = { confirm = true } } } }
		local made = c:modern(2, "tools/call", params, BOTH).result
		assert.same({ "task", nil }, { made.resultType, made.requestState })
		assert.equal("asked", c.calls[2].confirmed)
		assert.is_true(contains(c.calls[2].flags, "--detach"))
		assert.equal(-32602, c:modern(3, "tools/call", params, BOTH).error.code, "used up")
		params.requestState = nil
		local no = c:modern(4, "tools/call", params, BOTH).result
		assert.equal("input_required", no.resultType)
		assert.equal(-32021, call(c, 5, "wipe", { name = "prod" }).error.code)
		local detached = 0
		for _, request in ipairs(c.calls) do
			detached = detached + (contains(request.flags, "--detach") and 1 or 0)
		end
		assert.equal(1, detached)
	end)

	it("are results at once where there is nothing to wait for", function()
		local c = client()
		assert.equal("VALIDATION_ERROR", call(c, 1, "build", { wrong = true }).result.structuredContent.error.code)
		local asked = c:modern(2, "tools/call", { name = "wipe", arguments = { dry_run = true } }, BOTH).result
		assert.is_true(asked.structuredContent.data.dry_run)
	end)

	it("are there for their time, and not longer", function()
		local now = 0
		local c = client { now = function() return now end }
		local id = call(c, 1, "build").result.taskId
		local function get(as)
			return c:modern(as, "tasks/get", { taskId = id }, client_of.TASKS)
		end
		assert.equal(24 * 3600 * 1000, get(2).result.ttlMs)
		now = 30 * 3600 * 1000
		assert.is_true(get(3).result.ttlMs > now, "one that runs stays")
		finish(c, id)
		c.jobs[id].updated_ms = now
		assert.equal("completed", get(4).result.status)
		now = now + 60 * 1000
		assert.equal(-32602, get(5).error.code)
		assert.is_nil(c.jobs[id])
	end)

	it("of a command that is no tool of this server are not there", function()
		local c = client { settings = { only = { "hello" } } }
		c.jobs.job_900 = { id = "job_900", command = "build", created_ms = 0, updated_ms = 0, running = true, cancelled = false }
		assert.equal(-32602, c:modern(1, "tasks/get", { taskId = "job_900" }, client_of.TASKS).error.code)
		assert.equal(-32602, c:modern(2, "tasks/cancel", { taskId = "job_900" }, client_of.TASKS).error.code)
		assert.is_nil(c.jobs.job_900.asked)
	end)

	it("are calls that are waited for where 64 run already", function()
		local c = client()
		for i = 1, 64 do
			assert.equal("task", call(c, i, "build").result.resultType)
		end
		assert.equal("complete", call(c, 65, "build").result.resultType)
		for id in pairs(c.jobs) do
			finish(c, id)
		end
		assert.equal("task", call(c, 66, "build").result.resultType)
	end)

	it("end with their call where that was cancelled before it had its answer", function()
		local c
		c = client { run = function(request)
			c:tell("notifications/cancelled", { requestId = 1 })
			return run(request)
		end }
		assert.is_nil(call(c, 1, "build"))
		local _, job = next(c.jobs)
		assert.is_true(job.asked)
	end)

	it("end with their call where that was cancelled while it started them", function()
		local c
		c = client { run = function(request)
			c:tell("notifications/cancelled", { requestId = 1 })
			local envelope = run(request)
			envelope.ok, envelope.error = false, { code = "INCOMPLETE", message = "The work goes on as a job" }
			return envelope
		end }
		assert.is_nil(call(c, 1, "build"))
		local _, job = next(c.jobs)
		assert.is_true(job.asked)
	end)
end)

describe("the tasks of 2025-11-25", function()
	local function begin(options, version, capabilities)
		local c = client(options)
		local said = c:initialize(version, capabilities)
		return c, said
	end

	local function call(c, id, name, arguments, task)
		return c:ask(id, "tools/call", { name = name, arguments = arguments, task = task or {} })
	end

	it("are announced, and each tool says whether it can be one", function()
		local c, said = begin()
		assert.same({ list = {}, cancel = {}, requests = { tools = { call = {} } } }, said.result.capabilities.tasks)
		local support = {}
		for _, tool in ipairs(c:ask(1, "tools/list").result.tools) do
			support[tool.name] = tool.execution and tool.execution.taskSupport
		end
		assert.same({ build = "optional", hello = "optional", wipe = "optional" }, support)
		c, said = begin(nil, "2025-06-18")
		assert.is_nil(said.result.capabilities.tasks)
		assert.is_nil(c:ask(1, "tools/list").result.tools[1].execution)
		assert.is_nil(call(c, 2, "build").result.task, "it is ignored there")
		assert.equal(-32601, c:ask(3, "tasks/list").error.code)
		assert.equal(-32601, c:ask(4, "tasks/get", { taskId = "x" }).error.code)
	end)

	it("are what the client wants to be one", function()
		local c = begin()
		local task = call(c, 1, "hello", {}, { ttl = 90000 }).result.task
		assert.same({ "working", 90000 }, { task.status, task.ttl })
		assert.is_nil(c:ask(2, "tools/call", { name = "build" }).result.task)
		assert.equal(-32601, call(c, 3, "job_wait").error.code)
		for i, wrong in ipairs { "x", 1, true, json.array {}, { ttl = "x" }, { ttl = -1 }, { ttl = 1.5 }, { ttl = {} } } do
			assert.equal(-32602, call(c, 10 + i, "hello", {}, wrong).error.code, json.encode(wrong))
		end
	end)

	it("give their result to whoever waits for it", function()
		for _, ok in ipairs { true, false } do
			local c = begin()
			local id = call(c, 1, "hello").result.task.taskId
			assert.is_nil(c:ask(2, "tasks/result", { taskId = id }))
			c.tick:open()
			assert.is_nil(c:answer(2))
			finish(c, id, ok)
			c.tick:open()
			local result = c:answer(2).result
			assert.equal(not ok, result.isError)
			assert.equal(id, result._meta["io.modelcontextprotocol/related-task"].taskId)
			assert.equal(ok and "completed" or "failed", c:ask(3, "tasks/get", { taskId = id }).result.status)
			assert.same(result, c:ask(4, "tasks/result", { taskId = id }).result)
		end
	end)

	it("keep a result that was there at once", function()
		local c = begin()
		local task = call(c, 1, "hello", { wrong = true }).result.task
		assert.same({ "failed", "wrong" }, { task.status, task.statusMessage })
		assert.equal("VALIDATION_ERROR", c:ask(2, "tasks/result", { taskId = task.taskId }).result.structuredContent.error.code)
		assert.equal(-32602, c:ask(3, "tasks/cancel", { taskId = task.taskId }).error.code)
		for i = 1, 70 do
			call(c, 10 + i, "hello", { wrong = true })
		end
		assert.equal(64, #c.server.tasks.ended)
		assert.equal(-32602, c:ask(4, "tasks/get", { taskId = task.taskId }).error.code)
	end)

	it("are cancelled for good", function()
		local c = begin()
		local id = call(c, 1, "hello").result.task.taskId
		assert.equal("cancelled", c:ask(2, "tasks/cancel", { taskId = id }).result.status)
		assert.is_true(c.jobs[id].asked)
		finish(c, id)
		assert.equal("cancelled", c:ask(3, "tasks/get", { taskId = id }).result.status)
		assert.equal(-32602, c:ask(4, "tasks/cancel", { taskId = id }).error.code)
	end)

	it("are listed newest first, a page at a time", function()
		local c = begin()
		for i = 1, 250 do
			local id = ("job_%03d"):format(i)
			c.jobs[id] = { id = id, command = i % 2 == 0 and "hello" or "gone", created_ms = 0, updated_ms = 0, running = true, cancelled = false }
		end
		local seen, cursor, pages = {}, nil, 0
		repeat
			local result = c:ask(pages, "tasks/list", { cursor = cursor }).result
			for _, task in ipairs(result.tasks) do
				seen[#seen + 1] = task.taskId
			end
			cursor, pages = result.nextCursor, pages + 1
		until not cursor
		assert.same({ 125, 2, "job_250", "job_002" }, { #seen, pages, seen[1], seen[125] })
		for i, wrong in ipairs { "", "x", 1, {}, "job_999" } do
			assert.equal(-32602, c:ask("w" .. i, "tasks/list", { cursor = wrong }).error.code)
		end
	end)

	it("begin after the person's yes and not before", function()
		local c = begin(nil, nil, { elicitation = {} })
		assert.is_nil(call(c, 1, "wipe", { name = "prod" }))
		local question = c:last()
		assert.equal("elicitation/create", question.method)
		c:line((assert(json.encode { jsonrpc = "2.0", id = question.id, result = { action = "accept", content = { confirm = true } } })))
		assert.equal("working", c:answer(1).result.task.status)
		assert.equal("asked", c.calls[2].confirmed)
		assert.is_nil(call(c, 2, "wipe", { name = "prod" }))
		c:line((assert(json.encode { jsonrpc = "2.0", id = c:last().id, result = { action = "decline" } })))
		assert.equal("failed", c:answer(2).result.task.status)
		assert.same({ 4, "declined", true }, { #c.calls, c.calls[4].confirmed, c.calls[4].dry_run })
		c = begin()
		local task = call(c, 1, "wipe", { name = "prod" }).result.task
		assert.equal("CONFIRMATION_REQUIRED", c:ask(2, "tasks/result", { taskId = task.taskId }).result.structuredContent.error.code)
		assert.same({ 1, "pending" }, { #c.calls, c.calls[1].confirmed })
	end)

	it("are refused where 64 run already", function()
		local c = begin()
		for i = 1, 64 do
			call(c, i, "hello")
		end
		assert.equal(-32603, call(c, 65, "hello").error.code)
	end)

	it("are those of `call` where the tools are searched for", function()
		local c = begin { settings = { progressive = true } }
		local support = {}
		for _, tool in ipairs(c:ask(1, "tools/list").result.tools) do
			support[tool.name] = tool.execution and tool.execution.taskSupport
		end
		assert.same({ call = "optional" }, support)
		assert.equal("working", call(c, 2, "call", { name = "hello" }).result.task.status)
		assert.equal(-32601, call(c, 3, "search", {}).error.code)
		assert.equal(-32601, call(c, 4, "call", { name = "job_wait" }).error.code)
		assert.equal("failed", call(c, 5, "call", { name = "hello", arguments = { wrong = true } }).result.task.status)
	end)
end)
