-- The protocol by itself: frames, eras, requests, cancellation. Each message that the server sends
-- is checked against the official schemas (tests/lua/lib/mcp_client.lua).

local json = require "runner.json"
local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")

local function row(name, level, more)
	local out = { command = name, danger_level = level or "safe", listing = level == "destructive" and "allow" or "always", secrets = {},
		added = { dry_run = level ~= nil and level ~= "safe" or nil }, safe_default = false, examples = {},
		tool = { name = name, title = name, description = "x", inputSchema = { type = "object" }, annotations = {} } }
	for key, v in pairs(more or {}) do
		out[key] = v
	end
	return out
end

local function client(options)
	options = options or {}
	options.rows = options.rows or { row "hello" }
	return client_of.new(options)
end

local function code_of(message)
	return message and message.error and message.error.code
end

-- --- frames -----------------------------------------------------------------------------------

describe("a line of the client", function()
	it("that is no JSON-RPC message gets one error", function()
		local cases = {
			{ "{", -32700 }, { "nonsense", -32700 }, { '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', -32700 },
			{ "\xff\xfe", -32700 }, { '"\\ud800"', -32700 }, { ("["):rep(5000), -32700 },
			{ "1", -32600 }, { "null", -32600 }, { "[]", -32600 }, { '"x"', -32600 },
			{ '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600 },
			{ "{}", -32600 }, { '{"id":1,"method":"ping"}', -32600, 1 }, { '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 1 },
			{ '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600 }, { '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600 },
			{ '{"jsonrpc":"2.0","id":true,"method":"ping"}', -32600 }, { '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600 },
			{ '{"jsonrpc":"2.0","id":1,"method":7}', -32600, 1 }, { '{"jsonrpc":"2.0","id":"a"}', -32600, "a" },
			{ '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602, 1 },
			{ '{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', -32602, 1 },
			{ '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}', -32602, 1 },
		}
		for _, case in ipairs(cases) do
			local c = client()
			c:line(case[1])
			assert.equal(1, #c.received, case[1])
			assert.equal(case[2], code_of(c:last()), case[1])
			assert.equal(case[3], c:last().id, case[1])
		end
	end)

	it("that our reader refuses gets the error under its id", function()
		for id, text in pairs { [1] = [[{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"x\u0000y"}}]],
			a = [[{"params":{"id":7,"b":[{"id":8}],"n":99999999999999999999},"method":"ping","id":"a","jsonrpc":"2.0"}]],
			[-3] = [[{"jsonrpc":"2.0","id": -3 ,"method":"ping","params":{"a":1,"a":2}}]],
			b = '{"id":"b","method":"ping","params":' .. ('{"x":'):rep(3000) .. "1" .. ("}"):rep(3002),
			c = [[{"id":"c","method":"ping","params":{"id\":":"\ud800","}":"{"}}]] } do
			local c = client()
			c:line(text)
			assert.same({ -32700, id }, { code_of(c:last()), c:last().id }, text:sub(1, 100))
			assert.equal(1, #c.received)
		end
		for _, text in ipairs { [[{"id":1,"id":1,"method":"ping","a":"\u0000"}]], [[{"id":1,"method":"ping","a":"\u0000"]],
			[[{"id":1]], [["id":1]],
			[[{"id":"\u0000","method":"ping"}]], [[{"id":1.5,"method":"ping","a":"\u0000"}]], "{\"id\":\"\xff\",\"method\":\"ping\"}" } do
			local c = client()
			c:line(text)
			assert.same({ -32700 }, { code_of(c:last()), c:last().id }, text)
		end
	end)

	it("that needs no answer gets none", function()
		for _, text in ipairs { "", " ", "\t", '{"jsonrpc":"2.0","method":"notifications/initialized"}',
			'{"jsonrpc":"2.0","method":"no/such"}', '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"hello"}}',
			'{"jsonrpc":"2.0","method":"x","params":[]}', '{"jsonrpc":"2.0","id":9,"result":{}}',
			'{"jsonrpc":"2.0","id":9,"error":{"code":1,"message":"x"}}', '{"jsonrpc":"2.0","id":[],"result":{}}',
			'{"jsonrpc":"2.0","method":"notifications/cancelled"}',
			'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
			'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}' } do
			local c = client()
			c:line(text)
			assert.same({}, c.received, text)
			assert.same({}, c.calls, text)
		end
	end)

	it("that is too long gets one error", function()
		local c = client()
		c.server:too_long(100)
		assert.same({ -32600 }, { code_of(c:last()), c:last().id })
		c.server:too_long(100, '{"id":"a","method":"ping","params":{}}')
		assert.same({ -32600, "a" }, { code_of(c:last()), c:last().id })
		for _, outline in ipairs { "", "{", '{"id":1,"id":1}', '{"id":1}{}', '{"id":[],"method":"ping"}', '[{}]', "7" } do
			c.server:too_long(100, outline)
			assert.same({ -32600 }, { code_of(c:last()), c:last().id }, outline)
		end
		local before = #c.received
		c.server:too_long(100, '{"id":1,"result":{}}')
		assert.equal(before, #c.received)
	end)
end)

-- --- eras ---------------------------------------------------------------------------------------

describe("a request of 2026-07-28", function()
	it("finds out what the server is", function()
		local result = client():modern("d", "server/discover").result
		assert.same({ "2026-07-28" }, result.supportedVersions)
		assert.same({
			tools = { listChanged = true }, resources = {}, prompts = {}, completions = {},
			extensions = { ["io.modelcontextprotocol/tasks"] = {} } },
			result.capabilities)
		assert.equal("complete", result.resultType)
		assert.is_true(result.ttlMs >= 0)
		assert.same({ name = "runner", version = "0" }, result._meta["io.modelcontextprotocol/serverInfo"])
	end)

	it("without what each request must say is refused", function()
		local version, capabilities = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
		for _, meta in ipairs { { [version] = "2026-07-28" }, { [capabilities] = {} }, { [version] = 1, [capabilities] = {} },
			{ [version] = "2026-07-28", [capabilities] = json.array {} }, { [version] = "2026-07-28", [capabilities] = "x" },
			{ [version] = "2026-07-28", [capabilities] = {}, ["io.modelcontextprotocol/clientInfo"] = "x" },
			{ [version] = "2026-07-28", [capabilities] = {}, ["io.modelcontextprotocol/logLevel"] = "loud" }, "x", json.array {} } do
			assert.equal(-32602, code_of(client():ask(1, "tools/list", { _meta = meta })), json.encode(meta))
		end
		assert.equal(-32602, code_of(client():ask(1, "server/discover")))
		assert.equal(-32602, code_of(client():ask(1, "tools/list", {})))
	end)

	it("of another version learns which there are", function()
		for _, version in ipairs { "1900-01-01", "2025-11-25", "" } do
			local meta = client_of.meta { ["io.modelcontextprotocol/protocolVersion"] = version }
			local e = client():ask(1, "tools/list", { _meta = meta }).error
			assert.equal(-32022, e.code)
			assert.same({ supported = { "2026-07-28" }, requested = version }, e.data)
		end
	end)

	it("finds no method of the era before", function()
		for _, method in ipairs { "initialize", "ping", "logging/setLevel", "tasks/list", "no/such" } do
			assert.equal(-32601, code_of(client():modern(1, method, { level = "info", protocolVersion = "2025-11-25" })), method)
		end
	end)

	it("gets ttlMs and cacheScope with each list", function()
		local result = client():modern(1, "tools/list").result
		assert.equal("private", result.cacheScope)
		assert.equal("hello", result.tools[1].name)
		assert.equal(-32602, code_of(client():modern(1, "tools/list", { cursor = "x" })))
	end)
end)

describe("a client of an earlier era", function()
	it("begins with initialize", function()
		for _, case in ipairs { { "2025-11-25", "2025-11-25" }, { "2025-06-18", "2025-06-18" }, { "2026-07-28", "2025-11-25" },
			{ "x", "2025-11-25" } } do
			local c = client()
			local result = c:initialize(case[1]).result
			assert.equal(case[2], result.protocolVersion)
			assert.equal("runner", result.serverInfo.name)
			assert.is_nil(result.resultType)
			assert.is_nil(c:ask(2, "tools/list").result.ttlMs)
			assert.same({}, c:ask(3, "ping").result)
		end
	end)

	it("is refused an initialize that lacks what it must have", function()
		for _, params in ipairs { {}, { protocolVersion = 1 }, { protocolVersion = "2025-11-25" },
			{ protocolVersion = "2025-11-25", capabilities = {} }, { protocolVersion = "2025-11-25", capabilities = "x", clientInfo = {} } } do
			local c = client()
			assert.equal(-32602, code_of(c:ask(1, "initialize", params)))
			assert.equal(-32602, code_of(c:ask(2, "tools/list")), "there is no session")
		end
	end)

	it("may ping before it begins, and nothing else", function()
		local c = client()
		assert.same({}, c:ask(1, "ping").result)
		assert.equal(-32602, code_of(c:ask(2, "logging/setLevel", { level = "info" })))
		assert.equal(-32602, code_of(c:ask(3, "tools/call", { name = "hello" })))
		assert.same({}, c.calls)
	end)

	it("sets a level, if it is one", function()
		local c = client()
		c:initialize()
		assert.same({}, c:ask(1, "logging/setLevel", { level = "warning" }).result)
		assert.equal(-32602, code_of(c:ask(2, "logging/setLevel", { level = "loud" })))
		assert.equal(-32601, code_of(c:ask(3, "server/discover")))
	end)

	it("shares the connection with requests of 2026-07-28", function()
		local c = client()
		c:initialize()
		assert.equal("complete", c:modern(1, "tools/list").result.resultType)
		assert.is_nil(c:ask(2, "tools/list").result.resultType)
		assert.equal(-32601, code_of(c:modern(3, "ping")))
	end)
end)

-- --- calls --------------------------------------------------------------------------------------

describe("tools/call", function()
	it("calls the command and answers with its envelope", function()
		local c = client { run = function() return { ok = true, data = { n = 1 }, warnings = json.array {},
			meta = { request_id = "req_1", exit_code = 0, duration_ms = 3, cache_used = false } } end }
		local result = c:modern(1, "tools/call", { name = "hello", arguments = { name = "Ada" } }).result
		assert.same({ name = "Ada" }, c.calls[1].arguments)
		assert.equal("hello", c.calls[1].command)
		assert.is_falsy(c.calls[1].confirmed)
		assert.is_false(result.isError)
		assert.same({ n = 1 }, result.structuredContent.data)
		assert.same({ request_id = "req_1", exit_code = 0, cache_used = false }, result.structuredContent.meta)
		assert.same(result.structuredContent, json.decode(result.content[1].text))
	end)

	it("shows a failure with what the next step depends on", function()
		local c = client { run = function() return { ok = false, data = json.null, warnings = json.array {}, meta = {},
			error = { code = "UNAVAILABLE", message = "503", retryable = true, retry_after_ms = 500, side_effects = "none" } } end }
		local result = c:modern(1, "tools/call", { name = "hello" }).result
		assert.is_true(result.isError)
		local e = json.decode(result.content[1].text).error
		assert.same({ "UNAVAILABLE", true, 500 }, { e.code, e.retryable, e.retry_after_ms })
	end)

	it("refuses params that are none", function()
		for _, params in ipairs { {}, { name = 1 }, { name = "hello", arguments = "x" }, { name = "hello", arguments = json.array {} },
			{ name = "hello", inputResponses = json.array {} }, { name = "hello", requestState = 1 }, { name = "no-such" }, { name = "" } } do
			local c = client()
			assert.equal(-32602, code_of(c:modern(1, "tools/call", params)), json.encode(params))
			assert.same({}, c.calls)
		end
	end)

	it("runs a dry run where the model asks for one", function()
		local c = client { rows = { row("put", "mutating") } }
		c:modern(1, "tools/call", { name = "put", arguments = { dry_run = true, a = 1 } })
		assert.is_true(c.calls[1].dry_run)
		assert.same({ a = 1 }, c.calls[1].arguments)
		assert.is_true(c:modern(2, "tools/call", { name = "put", arguments = { dry_run = "no" } }).result.isError)
		assert.same({ "--runner-validate-only" }, c.calls[2].flags)
		assert.equal(2, #c.calls)
	end)

	it("leaves an argument dry_run to the command that has one", function()
		local c = client { rows = { row("put", "mutating", { added = {} }) } }
		c:modern(1, "tools/call", { name = "put", arguments = { dry_run = "x" } })
		assert.same({ dry_run = "x" }, c.calls[1].arguments)
	end)

	it("passes on how much of a list is wanted, as one word each", function()
		local c = client { rows = { row("items", "safe", { added = { limit = true, cursor = true } }) } }
		c:modern(1, "tools/call", { name = "items", arguments = { limit = 5, cursor = "--confirm-destructive", all = true } })
		assert.same({ "--limit=5", "--cursor=--confirm-destructive" }, c.calls[1].flags)
		assert.same({ all = true }, c.calls[1].arguments)
		for _, arguments in ipairs { { limit = "5" }, { limit = -1 }, { limit = 1.5 }, { cursor = 1 }, { cursor = {} } } do
			assert.is_true(c:modern(2, "tools/call", { name = "items", arguments = arguments }).result.isError)
			assert.same({ "--runner-validate-only" }, c.calls[#c.calls].flags)
		end
		assert.equal(6, #c.calls)
	end)

	it("answers a fault of ours as an internal error", function()
		local c = client { run = function() error("broken", 0) end }
		assert.equal(-32603, code_of(c:modern(1, "tools/call", { name = "hello" })))
		assert.same({}, c:ask(2, "ping").result)
	end)
end)

-- A command that ends when the test says so.
local function slow()
	local gates, handles = {}, {}
	return function(request)
		local gate = client_of.gate()
		local handle = { cancel = function(self) self.cancelled = true gate:open() end }
		table.insert(gates, gate)
		table.insert(handles, handle)
		request.on_start(handle)
		if not handle.cancelled then
			gate:wait()
		end
		return handle.cancelled and { ok = false, error = { code = "CANCELLED" } } or { ok = true, data = { effect = "noop" } }
	end, gates, handles
end

describe("several requests at once", function()
	it("are answered as they end", function()
		local run, gates = slow()
		local c = client { run = run }
		assert.is_nil(c:modern(1, "tools/call", { name = "hello" }))
		assert.is_nil(c:modern("1", "tools/call", { name = "hello" }))
		assert.is_truthy(c:modern(3, "tools/list").result)
		gates[2]:open()
		assert.is_truthy(c:answer "1")
		assert.is_nil(c:answer(1))
		gates[1]:open()
		assert.is_truthy(c:answer(1))
	end)

	it("run as many as there are places, in their order", function()
		local run, gates = slow()
		local c = client { run = run, at_once = 2 }
		for i = 1, 4 do
			c:modern(i, "tools/call", { name = "hello", arguments = { i = i } })
		end
		assert.equal(2, #gates)
		gates[2]:open()
		assert.equal(3, c.calls[3].arguments.i)
		assert.equal(3, #gates)
		gates[1]:open()
		gates[3]:open()
		gates[4]:open()
		assert.equal(0, c.server.pending)
	end)

	-- Each way to call something that only waits, and whether that is so.
	local WAITS = { { "job.wait" }, { "workflow.wait" }, { "job.logs", { follow = true } }, { "workflow.logs", { follow = true } },
		{ "workflow.show", { watch = true } }, { "self.job.wait" } }

	it("that only wait for something else take no place, and there are so many of them", function()
		for _, one in ipairs(WAITS) do
			local run, gates = slow()
			local c = client { run = run, at_once = 1, rows = { row "hello", row(one[1]) } }
			for i = 1, 32 do
				assert.is_nil(c:modern(i, "tools/call", { name = one[1], arguments = one[2] }))
			end
			assert.same({ 32, 0 }, { #gates, c.server.slots.taken }, one[1])
			local refused = c:modern(33, "tools/call", { name = one[1], arguments = one[2] }).result.structuredContent.error
			assert.same({ "RATE_LIMITED", true, "none" }, { refused.code, refused.retryable, refused.side_effects })
			assert.is_true(refused.retry_after_ms > 0)
			assert.is_nil(c:modern(34, "tools/call", { name = "hello" }))
			assert.equal(33, #gates)
			gates[33]:open()
			assert.is_truthy(c:answer(34).result)
			c:tell("notifications/cancelled", { requestId = 1 })
			assert.is_nil(c:modern(35, "tools/call", { name = one[1], arguments = one[2] }))
			assert.equal(34, #gates)
		end
	end)

	it("take a place where they do more than wait", function()
		for _, one in ipairs { row("job.logs"), row("workflow.logs"), row("workflow.show"), row("job.status"),
			row("job.wait", "safe", { path = "/p/commands/job/wait.lua" }) } do
			local run, gates = slow()
			local c = client { run = run, at_once = 1, rows = { one } }
			c:modern(1, "tools/call", { name = one.command, arguments = { follow = false } })
			c:modern(2, "tools/call", { name = one.command })
			assert.equal(1, #gates, one.command)
			assert.equal(1, #c.server.slots.queue)
		end
	end)

	it("may not share an id", function()
		local run, gates = slow()
		local c = client { run = run }
		c:modern(1, "tools/call", { name = "hello" })
		c:modern(1, "tools/call", { name = "hello" })
		assert.equal(-32600, code_of(c:last()))
		assert.is_nil(c:last().id)
		c:modern(1.0, "tools/list")
		assert.equal(-32600, code_of(c:last()))
		gates[1]:open()
		assert.is_truthy(c:answer(1).result)
		assert.equal(1, #c.calls)
		c:modern(1, "tools/list")
		assert.is_truthy(c:last().result.tools, "an id is free again after its answer")
	end)

	it("are refused beyond a number", function()
		local run = slow()
		local c = client { run = run }
		for i = 1, 256 do
			c:modern(i, "tools/call", { name = "hello" })
		end
		assert.equal(-32603, code_of(c:modern(257, "tools/call", { name = "hello" })))
		assert.equal(256, c.server.pending)
	end)

	-- About 60 MiB as values, 1 MB as text.
	local function large()
		local list = json.array {}
		for i = 1, 325000 do
			list[i] = json.array {}
		end
		return { name = "hello", arguments = { a = list } }
	end

	it("are refused where they would take more than 256 MiB of memory, unless they are small", function()
		local run, gates = slow()
		local c = client { run = run, at_once = 10 }
		for i = 1, 4 do
			assert.is_nil(c:modern(i, "tools/call", large()))
		end
		assert.equal(-32603, code_of(c:modern(5, "tools/call", large())))
		assert.is_nil(c:modern(6, "tools/call", { name = "hello", arguments = { a = "x" } }))
		assert.equal(5, #c.calls)
		gates[1]:open()
		assert.is_nil(c:modern(7, "tools/call", large()))
		gates[6]:open()
		assert.is_truthy(c:answer(7).result)
	end)

	it("that would take too much memory by themselves get an error, under their id", function()
		local c = client()
		for id, value in pairs { [1] = ("[],"):rep(360000) .. "[]", [2] = ("1,"):rep(1100000) .. "1", [3] = ("{},"):rep(360000) .. "{}" } do
			c:line(('{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hello","arguments":{"a":[%s]}}}'):format(id, value))
			assert.equal(-32600, code_of(c:answer(id)))
		end
		assert.same({}, c.calls)
		c:line('{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"a":[' .. ("[],"):rep(100000) .. "[]]}}")
		assert.equal(-32602, code_of(c:answer(9)), "it was read: it belongs to no era")
	end)

	it("are refused as long as a cancelled large one runs", function()
		local gate = client_of.gate()
		local c = client { run = function(request)
			request.on_start { cancel = function() end }
			gate:wait()
			return { ok = true }
		end }
		for i = 1, 4 do
			c:modern(i, "tools/call", large())
			c:tell("notifications/cancelled", { requestId = i })
		end
		assert.equal(-32603, code_of(c:modern(5, "tools/call", large())))
		gate:open()
		assert.is_nil(c:modern(6, "tools/call", large()))
	end)

	it("begin no call while the client leaves answers unread", function()
		local room = client_of.gate()
		local c = client { wait_for_room = function() room:wait() end }
		c:modern(1, "tools/call", { name = "hello" })
		assert.equal(0, #c.calls)
		room:open()
		assert.is_truthy(c:answer(1).result)
	end)
end)

describe("notifications/cancelled", function()
	it("ends the call, and nothing more is said of it", function()
		local run, _, handles = slow()
		local c = client { run = run }
		c:modern(1, "tools/call", { name = "hello", _meta = client_of.meta { progressToken = "p" } })
		c:tell("notifications/cancelled", { requestId = 1, reason = "enough" })
		assert.is_true(handles[1].cancelled)
		c.calls[1].on_event { kind = "stderr", text = "late" }
		assert.same({}, c.received)
		assert.equal(0, c.server.pending)
		assert.is_truthy(c:modern(1, "tools/list").result)
	end)

	it("ends a call that has not begun", function()
		local run, gates = slow()
		local c = client { run = run, at_once = 1 }
		c:modern(1, "tools/call", { name = "hello" })
		c:modern(2, "tools/call", { name = "hello" })
		c:tell("notifications/cancelled", { requestId = 2 })
		gates[1]:open()
		assert.equal(1, #c.calls)
		assert.is_nil(c:answer(2))
		assert.is_truthy(c:modern(3, "tools/list"))
	end)

	it("leaves nothing of calls that have not begun, however many", function()
		local run, gates = slow()
		local c = client { run = run, at_once = 1 }
		c:modern(1, "tools/call", { name = "hello" })
		for i = 1, 300 do
			assert.is_nil(c:modern(2, "tools/call", { name = "hello", arguments = { i = i } }))
			c:tell("notifications/cancelled", { requestId = 2 })
		end
		assert.same({ 1, 1, 0 }, { c.server.pending, c.server.held, #c.server.slots.queue })
		assert.is_nil(c:modern(3, "tools/call", { name = "hello" }))
		gates[1]:open()
		gates[2]:open()
		assert.is_truthy(c:answer(3).result)
		assert.equal(2, #c.calls)
	end)

	it("leaves nothing of calls whose tasks have not begun, as where it comes with them in one piece", function()
		local run, gates = slow()
		local tasks = {}
		local c = client { run = run, at_once = 1, spawn = function(fn) table.insert(tasks, coroutine.wrap(fn)) end }
		c:modern(1, "tools/call", { name = "hello" })
		tasks[1]()
		for i = 2, 6 do
			c:modern(2, "tools/call", { name = "hello" })
			c:tell("notifications/cancelled", { requestId = 2 })
			tasks[i]()
		end
		assert.same({ 1, 1, 0 }, { c.server.pending, c.server.held, #c.server.slots.queue })
		gates[1]:open()
		assert.equal(1, #c.calls)
	end)

	it("of an id of another type means another request", function()
		local run, gates, handles = slow()
		local c = client { run = run }
		c:modern(1, "tools/call", { name = "hello" })
		c:tell("notifications/cancelled", { requestId = "1" })
		assert.is_nil(handles[1].cancelled)
		gates[1]:open()
		assert.is_truthy(c:answer(1))
	end)
end)

describe("progress", function()
	it("goes to the token of the request, and always grows", function()
		local c = client { run = function(request)
			request.on_event { kind = "stderr", text = "one" }
			request.on_event { kind = "stderr", text = '{"level":"info","message":"two"}' }
			for _, text in ipairs { "", "\xff", '{"message":1}', "{", ("ä"):rep(1000) } do
				request.on_event { kind = "stderr", text = text }
			end
			return { ok = true }
		end }
		c:modern(1, "tools/call", { name = "hello", _meta = client_of.meta { progressToken = 7 } })
		assert.equal(7, c.received[1].params.progressToken)
		assert.is_true(c.received[2].params.progress > c.received[1].params.progress)
		assert.equal("two", c.received[2].params.message)
		assert.equal(6, #c.received, "a line that is no text is left out")
		assert.is_truthy(c.received[5].params.message:find("^äää.*ä…$"))
		assert.is_truthy(c.received[6].result)
		assert.equal(7, #c.log, "all of it is in the log")
	end)

	local function progress(done, total)
		return { kind = "stderr", text = ('{"level":"info","event":"progress","command":"hello","message":"%d/%d files"}'):format(done, total) }
	end

	local function said(c)
		local out = {}
		for _, message in ipairs(c.received) do
			local p = message.params
			out[#out + 1] = p and ("%s %s of %s"):format(p.message, p.progress, p.total or "?") or "answer"
		end
		return out
	end

	it("is ten messages a second at most, and the last value always", function()
		local now = 0
		local c = client { now = function() return now end, run = function(request, self)
			for i = 1, 50000 do
				now = i // 10 -- 5 s
				request.on_event(progress(i, 50000))
				local _ = i % 10 == 0 and self.tick:open()
			end
			return { ok = true }
		end }
		c:modern(1, "tools/call", { name = "hello", _meta = client_of.meta { progressToken = 7 } })
		local all = said(c)
		assert.is_true(#all > 20 and #all <= 52, #all)
		assert.same({ "50000/50000 files 50000 of 50000", "answer" }, { all[#all - 1], all[#all] })
		now = 0
		c = client { now = function() return now end, run = function(request)
			for i = 1, 5000 do
				now = i // 6 -- less than 1 s
				request.on_event { kind = "stderr", text = "line " .. i }
			end
			return { ok = true }
		end }
		c:modern(1, "tools/call", { name = "hello", _meta = client_of.meta { progressToken = 7 } })
		all = said(c)
		assert.equal(12, #all, "ten at once, the last, the answer")
		assert.equal("line 5000 0.011 of ?", all[11])
	end)

	it("has what was measured, also behind lines that measure nothing, and says the last while the call goes on in silence", function()
		local now, gate = 0, client_of.gate()
		local c = client { now = function() return now end, run = function(request)
			for i = 0, 6 do
				request.on_event(progress(i, 9))
			end
			gate:wait()
			request.on_event(progress(7, 9))
			request.on_event { kind = "stderr", text = '{"level":"info","event":"step","command":"hello","message":"verify"}' }
			request.on_event { kind = "stderr", text = "24/7 support" }
			request.on_event(progress(9, 9))
			request.on_event { kind = "stderr", text = "\xff" }
			request.on_event { kind = "stderr", text = "" }
			return { ok = true }
		end }
		c:modern(1, "tools/call", { name = "hello", _meta = client_of.meta { progressToken = 7 } })
		local begun = { "0/9 files 0 of 9", "1/9 files 1 of 9", "2/9 files 2 of 9", "3/9 files 3 of 9", "4/9 files 4 of 9" }
		assert.same(begun, said(c))
		now = 200
		c.tick:open()
		gate:open()
		assert.same({ "6/9 files 6 of 9", "7/9 files 7 of 9", "verify 7.001 of 9", "24/7 support 7.002 of 9", "9/9 files 9 of 9", "answer" },
			table.move(said(c), 6, 11, 1, {}))
		assert.equal(11, #c.received)
	end)

	it("is not sent to who did not ask for it", function()
		local c = client { run = function(request)
			request.on_event { kind = "stderr", text = "one" }
			return { ok = true }
		end }
		c:modern(1, "tools/call", { name = "hello" })
		assert.equal(1, #c.received)
	end)
end)

describe("a change of the tools", function()
	local notifications = require "runner.mcp.notifications"

	it("is told to those that listen for it, under the id of their request", function()
		local c = client()
		assert.is_false(notifications.are_wanted(c.server))
		c:modern("s", "subscriptions/listen", { notifications = { toolsListChanged = true, resourcesListChanged = true } })
		assert.equal("notifications/subscriptions/acknowledged", c.received[1].method)
		assert.same({ toolsListChanged = true }, c.received[1].params.notifications)
		c:modern(2, "subscriptions/listen", { notifications = {} })
		notifications.tools_changed(c.server)
		assert.equal(3, #c.received)
		assert.equal("s", c.received[3].params._meta["io.modelcontextprotocol/subscriptionId"])
		c:tell("notifications/cancelled", { requestId = "s" })
		notifications.tools_changed(c.server)
		assert.equal(3, #c.received)
		c.server:close()
		assert.equal(2, c:last().result._meta["io.modelcontextprotocol/subscriptionId"])
	end)

	it("is told to a session of an earlier era", function()
		local c = client()
		c:initialize()
		assert.is_true(notifications.are_wanted(c.server))
		notifications.tools_changed(c.server)
		assert.equal("notifications/tools/list_changed", c:last().method)
	end)

	it("needs a filter", function()
		assert.equal(-32602, code_of(client():modern(1, "subscriptions/listen", {})))
	end)
end)

-- --- what a person may want to know ---------------------------------------------------------------

describe("a command that is left out", function()
	local BROKEN = { { command = "x", message = "'x' is left out" } }

	it("is named to a client that wants warnings, when it asks for the tools", function()
		local c = client { left_out = BROKEN }
		for level, count in pairs { debug = 1, warning = 1, error = 0, emergency = 0 } do
			local before = #c.received
			c:modern(level, "tools/list", { _meta = client_of.meta { ["io.modelcontextprotocol/logLevel"] = level } })
			assert.equal(count + 1, #c.received - before, level)
		end
		local before = #c.received
		c:modern(9, "tools/list")
		c:initialize()
		c:ask(11, "logging/setLevel", { level = "error" })
		c:ask(12, "tools/list")
		assert.equal(before + 4, #c.received)
		c:initialize()
		c:ask(10, "tools/list")
		local said = c.received[#c.received - 1]
		assert.same({ "notifications/message", "warning", "x" }, { said.method, said.params.level, said.params.data.command })
	end)
end)
