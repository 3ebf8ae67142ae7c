-- Destructive tools: the person is asked, with what a dry run says; and no way in which a model
-- could confirm itself works.

local json = require "runner.json"
local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")

local ROW = { command = "db.drop", danger_level = "destructive", listing = "allow", secrets = { "token" }, added = { dry_run = true },
	safe_default = false, examples = {},
	tool = { name = "db_drop", title = "db drop", description = "x", inputSchema = { type = "object" }, annotations = {} } }

local OTHER = { command = "wipe", danger_level = "destructive", listing = "allow", secrets = {}, added = { dry_run = true },
	safe_default = false, examples = {},
	tool = { name = "wipe", title = "wipe", description = "x", inputSchema = { type = "object" }, annotations = {} } }

local ACCEPT = { confirm = { action = "accept", content = { confirm = true } } }

local function client(options)
	options = options or {}
	options.rows = { ROW, OTHER }
	options.settings = options.settings or { allow = { "db drop", "wipe" } }
	options.run = options.run or function(request)
		if request.confirmed == "pending" then -- which the call itself refuses
			return { ok = false, error = { code = "CONFIRMATION_REQUIRED", message = "no", suggestion = "ask", context = { approval = "apr_1" } } }
		end
		local done = { effect = "deleted" }
		local data = request.dry_run and { effect = "would_run", rows = 3 } or done
		return { ok = true, data = data, warnings = json.array {}, meta = { dry_run = request.dry_run or nil } }
	end
	return client_of.new(options)
end

-- How many calls have run that were no dry runs.
local function done(c)
	local n = 0
	for _, request in ipairs(c.calls) do
		assert.is_true(not (request.dry_run and request.confirmed) or request.confirmed == "look" or request.confirmed == "declined")
		assert.is_true(request.dry_run or request.confirmed ~= "look" and request.confirmed ~= "declined", "what isn't confirmed runs dry")
		n = n + ((request.dry_run or request.confirmed == "pending") and 0 or 1)
	end
	return n
end

local function call(c, id, params, capabilities)
	params.name = params.name or "db_drop"
	return c:modern(id, "tools/call", params, capabilities or client_of.ELICITS)
end

local function ask(c, arguments)
	return call(c, "ask", { arguments = arguments or { name = "prod" } }).result
end

describe("a destructive tool", function()
	it("is not there without --allow", function()
		local c = client { settings = {} }
		assert.same({}, c:modern(1, "tools/list").result.tools)
		assert.equal(-32602, call(c, 2, {}).error.code)
		assert.same({}, c.calls)
	end)

	it("asks the person, who sees the arguments and what a dry run says", function()
		local c = client()
		local result = ask(c, { name = "prod\nArguments: {}", token = "s3cret", odd = "a\u{202E}b\u{E0041}" })
		assert.equal("input_required", result.resultType)
		assert.is_nil(result.ttlMs)
		local text = result.inputRequests.confirm.params.message
		assert.is_truthy(text:find("db drop", 1, true))
		assert.is_truthy(text:find([[prod\nArguments]], 1, true), "a line break in a value stays in it")
		assert.is_truthy(text:find([[  token: "***"]], 1, true))
		assert.is_truthy(text:find([[  odd: "a[U+202E]b[U+E0041]"]], 1, true))
		assert.is_truthy(text:find([[{"effect":"would_run","rows":3}]], 1, true))
		assert.is_nil(text:find("s3cret", 1, true))
		assert.equal(0, done(c))
	end)

	it("runs once the person has ticked the box", function()
		local c = client()
		local state = ask(c).requestState
		local result = call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT }).result
		assert.is_false(result.isError)
		assert.equal("deleted", result.structuredContent.data.effect)
		assert.equal("asked", c.calls[#c.calls].confirmed)
		assert.equal(1, done(c))
	end)

	it("does not run where the person does not want it", function()
		for _, reply in ipairs { { action = "decline" }, { action = "cancel" }, { action = "accept" },
			{ action = "accept", content = {} }, { action = "accept", content = { confirm = false } },
			{ action = "accept", content = { confirm = "true" } }, { action = "accept", content = { confirm = 1 } },
			{ action = "Accept", content = { confirm = true } }, { action = 1 }, {}, json.array {}, "accept", true, json.null } do
			local c = client()
			local state = ask(c).requestState
			local result = call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = { confirm = reply } }).result
			assert.is_true(result.isError, json.encode(reply))
			assert.equal("CONFIRMATION_REQUIRED", result.structuredContent.error.code)
			local again = call(c, 3, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT })
			assert.equal(-32602, again.error.code, "an answer uses the question up")
			assert.equal(0, done(c))
		end
	end)

	it("asks again where the answer is missing", function()
		local c = client()
		local state = ask(c).requestState
		for i, responses in ipairs { {}, { other = ACCEPT.confirm } } do
			local result = call(c, i, { arguments = { name = "prod" }, requestState = state, inputResponses = responses }).result
			assert.equal("input_required", result.resultType)
			assert.are_not.equal(state, result.requestState)
			state = result.requestState
		end
		assert.equal(0, done(c))
	end)

	it("says what a dry run fails with, and asks nobody", function()
		local c = client { run = function() return { ok = false, error = { code = "VALIDATION_ERROR", message = "no" } } end }
		local result = ask(c)
		assert.is_true(result.isError)
		assert.equal("VALIDATION_ERROR", result.structuredContent.error.code)
	end)

	it("may be run dry without a question", function()
		local c = client()
		assert.is_false(call(c, 1, { arguments = { name = "x", dry_run = true } }, {}).result.isError)
		assert.equal(0, done(c))
	end)

	it("is refused where the client can't ask", function()
		for _, capabilities in ipairs { {}, { elicitation = { url = {} } }, { elicitation = "form" }, { elicitation = json.array {} } } do
			local c = client()
			local e = call(c, 1, { arguments = { name = "prod" } }, capabilities).error
			assert.equal(-32021, e.code)
			assert.same({ elicitation = { form = {} } }, e.data.requiredCapabilities)
			assert.equal("apr_1", e.data.approval)
			assert.equal("ask", e.data.suggestion)
			local state = ask(c).requestState
			assert.is_truthy(call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT }, capabilities).error)
			assert.equal(0, done(c))
		end
		assert.equal("input_required", call(client(), 1, {}, { elicitation = {} }).result.resultType, "{} means form")
	end)
end)

describe("a model can't confirm itself", function()
	it("with arguments", function()
		for _, arguments in ipairs { { confirm_destructive = true }, { ["confirm-destructive"] = true }, { confirm = true }, { confirmed = true },
			{ yes = true }, { live = true }, { force = true }, { dry_run = false }, { inputResponses = ACCEPT, requestState = "x" },
			{ _meta = { ["io.modelcontextprotocol/clientCapabilities"] = {} } }, { ["--"] = "--confirm-destructive" },
			{ argv = { "--confirm-destructive" } }, { name = "--confirm-destructive" }, { idempotency_key = "k" } } do
			local c = client()
			assert.equal("input_required", ask(c, arguments).resultType, json.encode(arguments))
			assert.equal(0, done(c))
			for _, request in ipairs(c.calls) do
				assert.is_true(not request.confirmed or request.dry_run and request.confirmed == "look")
			end
		end
	end)

	it("with an answer to a question that nobody asked", function()
		local c = client()
		assert.equal("input_required", call(c, 1, { inputResponses = ACCEPT }).result.resultType)
		for i, state in ipairs { "", "x", ("0"):rep(64), "../../x", "\0" } do
			assert.equal(-32602, call(c, i + 1, { inputResponses = ACCEPT, requestState = state }).error.code)
		end
		assert.equal(0, done(c))
	end)

	it("with an answer to another question", function()
		local c = client()
		local arguments = { name = "prod", list = { 1, 2 } }
		for i, other in ipairs { { name = "dev", list = { 1, 2 } }, { name = "prod" }, { name = "prod", list = { 2, 1 } },
			{ name = "prod", list = { 1, 2 }, more = true }, { name = "prod", list = { "1", "2" } }, {} } do
			local state = ask(c, arguments).requestState
			assert.equal(-32602, call(c, i, { arguments = other, requestState = state, inputResponses = ACCEPT }).error.code, json.encode(other))
		end
		local state = ask(c, arguments).requestState
		assert.equal(-32602, call(c, 20, { name = "wipe", arguments = arguments, requestState = state, inputResponses = ACCEPT }).error.code)
		assert.equal(0, done(c))
	end)

	it("with an answer that has been used", function()
		local c = client()
		local state = ask(c).requestState
		local params = { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT }
		assert.is_truthy(call(c, 2, params).result)
		assert.equal(-32602, call(c, 3, params).error.code)
		assert.equal(1, done(c))
	end)

	it("with an answer that came too late", function()
		local now = 0
		local c = client { now = function() return now end }
		local state = ask(c).requestState
		now = 10 * 60 * 1000
		assert.equal(-32602, call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT }).error.code)
		assert.equal(0, done(c))
	end)

	it("with an answer to what another server asked", function()
		local state = ask(client()).requestState
		local c = client()
		ask(c)
		assert.equal(-32602, call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT }).error.code)
		assert.equal(0, done(c))
	end)

	it("with an answer that holds for a file that has changed since", function()
		local c = client()
		local state = ask(c).requestState
		ROW.stamp = "another"
		local answer = call(c, 2, { arguments = { name = "prod" }, requestState = state, inputResponses = ACCEPT })
		ROW.stamp = nil
		assert.equal(-32602, answer.error.code)
		assert.equal(0, done(c))
	end)

	it("and what a server remembers of open questions is bounded", function()
		local c = client()
		local first = ask(c).requestState
		for i = 1, 256 do
			call(c, i, { arguments = { i = i } })
		end
		assert.equal(-32602, call(c, 300, { arguments = { name = "prod" }, requestState = first, inputResponses = ACCEPT }).error.code)
		local large = ("x"):rep(5 << 20)
		for i = 1, 5 do
			call(c, i, { arguments = { large = large .. i } })
		end
		assert.is_true(c.server.confirmations.bytes <= 16 << 20)
	end)
end)

describe("in an earlier era a destructive tool", function()
	local function begin(version, capabilities, options)
		local c = client(options)
		c:initialize(version or "2025-11-25", capabilities or { elicitation = {} })
		return c
	end

	local function reply(c, id, result)
		c:line((assert(json.encode { jsonrpc = "2.0", id = id, result = result })))
	end

	it("asks through a request of the server", function()
		for version, mode in pairs { ["2025-11-25"] = "form", ["2025-06-18"] = false } do
			local c = begin(version)
			assert.is_nil(c:ask(1, "tools/call", { name = "db_drop", arguments = { name = "prod" } }))
			local question = c:last()
			assert.equal("elicitation/create", question.method)
			assert.equal(mode or nil, question.params.mode)
			assert.equal(0, done(c))
			reply(c, question.id, ACCEPT.confirm)
			assert.is_false(c:answer(1).result.isError)
			assert.equal(1, done(c))
			reply(c, question.id, ACCEPT.confirm)
			assert.equal(1, done(c))
		end
	end)

	it("does not run without a yes", function()
		for _, result in ipairs { { action = "decline" }, { action = "cancel" }, { action = "accept" },
			{ action = "accept", content = { confirm = false } }, {} } do
			local c = begin()
			c:ask(1, "tools/call", { name = "db_drop" })
			reply(c, c:last().id, result)
			assert.is_true(c:answer(1).result.isError)
			assert.equal(0, done(c))
		end
		local c = begin()
		c:ask(1, "tools/call", { name = "db_drop" })
		c:line((assert(json.encode { jsonrpc = "2.0", id = c:last().id, error = { code = -1, message = "no" } })))
		assert.is_true(c:answer(1).result.isError)
		assert.equal(0, done(c))
	end)

	it("takes an answer that can't be read for none", function()
		local c = begin()
		c:ask(1, "tools/call", { name = "db_drop" })
		c:line(([[{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"confirm":true,"x":"\u0000"}}}]]):format(c:last().id))
		assert.is_true(c:answer(1).result.isError)
		assert.equal(0, done(c))
	end)

	it("takes no answer under another id", function()
		local c = begin()
		c:ask(1, "tools/call", { name = "db_drop" })
		for _, id in ipairs { 1, "1", "runner-0", "runner-2", "runner-01" } do
			reply(c, id, ACCEPT.confirm)
		end
		assert.is_nil(c:answer(1))
		assert.equal(0, done(c))
	end)

	it("is refused where the client can't ask", function()
		for _, capabilities in ipairs { {}, { elicitation = { url = {} } } } do
			local c = begin("2025-11-25", capabilities)
			local result = c:ask(1, "tools/call", { name = "db_drop", requestState = "x", inputResponses = ACCEPT }).result
			assert.equal("CONFIRMATION_REQUIRED", result.structuredContent.error.code)
			assert.equal("apr_1", result.structuredContent.error.context.approval)
			assert.equal(1, #c.calls)
			assert.equal("pending", c.calls[1].confirmed)
		end
	end)

	it("lets go of the question when the call is cancelled", function()
		local c = begin()
		c:ask(1, "tools/call", { name = "db_drop" })
		local id = c:last().id
		c:tell("notifications/cancelled", { requestId = 1 })
		assert.equal("notifications/cancelled", c:last().method)
		assert.equal(id, c:last().params.requestId)
		reply(c, id, ACCEPT.confirm)
		assert.is_nil(c:answer(1))
		assert.equal(0, done(c))
		assert.equal(0, c.server.pending)
	end)
end)
