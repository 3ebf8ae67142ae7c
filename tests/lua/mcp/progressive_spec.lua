-- Progressive mode: three tools stand for all commands, under the same rules.

local json = require "runner.json"
local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")

local function row(name, description, level, listing)
	return { command = name, danger_level = level or "safe", listing = listing or "always", secrets = {},
		added = { dry_run = level ~= nil or nil },
		safe_default = false, examples = {}, tool = { name = name:gsub("%.", "_"), title = name:gsub("%.", " "), description = description,
			inputSchema = { type = "object" }, annotations = {} } }
end

local ROWS = { row("db.drop", "Drop a database", "destructive", "allow"), row("db.list", "List databases"),
	row("deploy", "Make a release live", "mutating"),
	row("releases", "List releases"), row("wipe", "Remove a disk", "destructive", "allow") }

local function client()
	return client_of.new { rows = ROWS, settings = { progressive = true, allow = { "db drop" } }, run = function(request)
		return { ok = true, data = { dry = request.dry_run or false }, warnings = json.array {}, meta = {} }
	end }
end

local function call(c, id, name, arguments, more)
	local params = { name = name, arguments = arguments }
	for key, v in pairs(more or {}) do
		params[key] = v
	end
	return c:modern(id, "tools/call", params, client_of.ELICITS)
end

local function data(c, id, name, arguments)
	local result = call(c, id, name, arguments).result
	return (result.structuredContent or json.decode(result.content[1].text)).data
end

describe("progressive mode", function()
	it("lists three tools", function()
		local names = {}
		for i, tool in ipairs(client():modern(1, "tools/list").result.tools) do
			names[i] = tool.name
		end
		assert.same({ "call", "describe", "search" }, names)
	end)

	it("finds commands by words, those in the name first", function()
		local found = data(client(), 1, "search", { query = "LIST" })
		assert.equal(2, found.total)
		assert.equal("db_list", found.tools[1].name)
		assert.equal("deploy", data(client(), 1, "search", { query = "release live" }).tools[1].name)
		local none = data(client(), 1, "search", { query = "%a+ zzzz" })
		assert.same({ {}, { db = 2, deploy = 1, releases = 1 } }, { none.tools, none.groups })
		assert.equal(4, data(client(), 1, "search", {}).total, "not wipe, which is not allowed")
		assert.equal(4, data(client(), 1, "search").total)
	end)

	it("describes a command as the tool that it would be", function()
		assert.equal("Make a release live", data(client(), 1, "describe", { name = "deploy" }).description)
		assert.is_nil(call(client(), 1, "describe", { name = "deploy" }).result.structuredContent, "it would be sent twice")
		assert.equal("NOT_FOUND", call(client(), 1, "describe", { name = "wipe" }).result.structuredContent.error.code)
	end)

	it("calls a command", function()
		local c = client()
		data(c, 1, "call", { name = "deploy", arguments = { target = "prod", dry_run = true } })
		assert.equal("deploy", c.calls[1].command)
		assert.same({ target = "prod" }, c.calls[1].arguments)
		assert.is_true(c.calls[1].dry_run)
	end)

	it("asks the person as a direct call does, and the answer is bound to the inner call", function()
		local c = client()
		local yes = { confirm = { action = "accept", content = { confirm = true } } }
		local arguments = { name = "db_drop", arguments = { name = "a" } }
		local asked = call(c, 1, "call", arguments).result
		assert.equal("input_required", asked.resultType)
		local other = { name = "db_drop", arguments = { name = "b" } }
		assert.equal(-32602, call(c, 2, "call", other, { requestState = asked.requestState, inputResponses = yes }).error.code)
		asked = call(c, 3, "call", arguments).result
		assert.is_false(call(c, 4, "call", arguments, { requestState = asked.requestState, inputResponses = yes }).result.isError)
		assert.equal("asked", c.calls[#c.calls].confirmed)
		assert.equal(3, #c.calls)
		local inside = { name = "db_drop", arguments = { name = "a", requestState = "x", inputResponses = yes, confirmed = true } }
		assert.equal("input_required", call(c, 5, "call", inside).result.resultType)
	end)

	it("calls nothing that is not allowed, and no command by its own name", function()
		local c = client()
		assert.equal("NOT_FOUND", call(c, 1, "call", { name = "wipe" }).result.structuredContent.error.code)
		for _, name in ipairs { "deploy", "db_drop", "call call", "" } do
			assert.equal(-32602, call(c, 2, name, {}).error.code)
		end
		for _, name in ipairs { "call", "search", "describe" } do
			assert.equal("NOT_FOUND", call(c, 3, "call", { name = name }).result.structuredContent.error.code)
		end
		assert.same({}, c.calls)
	end)

	it("refuses arguments that are none", function()
		for _, case in ipairs { { "search", { query = 1 } }, { "search", { words = "x" } }, { "describe", {} }, { "describe", { name = {} } },
			{ "call", {} }, { "call", { name = "deploy", arguments = "x" } }, { "call", { name = "deploy", arguments = json.array {} } },
			{ "call", { name = "deploy", requestState = "x" } }, { "call", { name = "deploy", confirmed = true } } } do
			local c = client()
			assert.equal("VALIDATION_ERROR", call(c, 1, case[1], case[2]).result.structuredContent.error.code)
			assert.same({}, c.calls)
		end
	end)

	it("says what its own tools take, and repeats little of a name", function()
		local long = ("x"):rep(50000)
		local function wrong(name, arguments)
			return call(client(), 1, name, arguments).result.structuredContent.error
		end
		local problem = wrong("search", { words = "x" })
		assert.equal("There is no argument 'words': search takes query", problem.message)
		assert.equal('Call search {"query":"…"}', problem.suggestion)
		assert.equal("There is no argument 'args': call takes arguments and name", wrong("call", { name = "deploy", args = {} }).message)
		assert.equal('Call call {"name":"…","arguments":{…}}', wrong("call", {}).suggestion)
		assert.equal('Call search {"query":"db drop all"}', wrong("describe", { name = "--db_drop; \"all\"" }).suggestion)
		assert.equal('Call search {"query":"…"}', wrong("call", { name = "--" }).suggestion)
		for _, case in ipairs { { "search", { [long] = 1 } }, { "describe", { name = long } }, { "call", { name = long } } } do
			problem = wrong(case[1], case[2])
			assert.is_true(#problem.message < 1100 and #problem.suggestion < 200)
		end
		local unknown = call(client(), 1, long, {}).error
		assert.is_truthy(unknown.message:find "The tools are call, describe and search$")
	end)
end)
