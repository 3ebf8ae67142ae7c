-- Lines of runner exec: what they ask for, and what they may not.

local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local request = require "runner.calls.request"

local function parsed(text)
	local r, problem = request.parse(text)
	assert.is_nil(problem and problem.message)
	return r
end

local function refused(text)
	local r, problem = request.parse(text)
	assert.is_nil(r)
	assert.equal("DISPATCH_PARSE_ERROR", problem.code)
	return problem.message
end

describe("a request", function()
	it("has its command's words, however they are written", function()
		for _, name in ipairs { "db.migrate", "db migrate", " db  migrate " } do
			assert.same({ "db", "migrate" }, parsed(('{"_cmd":"%s"}'):format(name)).words)
		end
	end)

	it("keeps every argument as it is, numbers too", function()
		assert.same({ n = 9007199254740993, f = 0.5, b = false, list = { "a" } },
			parsed('{"_cmd":"x","n":9007199254740993,"f":0.5,"b":false,"list":["a"]}').arguments)
	end)

	it("has flags as words, and those that a call settles as members", function()
		local r = parsed '{"_cmd":"x","_opts":{"retries":0,"quiet":true,"no_cache":false,"fields":"a,b","timeout":"5s","dry_run":false}}'
		assert.same({ "--fields=a,b", "--no-no-cache", "--quiet", "--retries=0" }, r.flags)
		assert.equal(5000, r.timeout_ms)
		assert.is_false(r.dry_run)
	end)

	it("is refused with what could be read of it", function()
		local _, problem, partial = request.parse '{"_id":7,"_cmd":"x","_what":1}'
		assert.truthy(problem.message:find("_what", 1, true))
		assert.same({ 7, "x" }, { partial.id, partial.cmd })
	end)

	it("never confirms, under no spelling", function()
		for _, name in ipairs { "yes", "confirm_destructive", "confirm-destructive" } do
			assert.truthy(refused(('{"_cmd":"x","_opts":{"%s":true}}'):format(name)):find "can't confirm itself")
		end
		for _, name in ipairs { "runner-yes", "YES", "y", "no-yes", "policy", "cwd", "format", "yes=1", "", "-yes", "non_interactive" } do
			refused(('{"_cmd":"x","_opts":{"%s":true}}'):format(name))
		end
		refused '{"_cmd":"x","_opts":{"live":"yes"}}'
	end)

	it("can have flags that there are, and no other", function()
		local known = {}
		for _, row in ipairs(contract.rows(nil, true)) do
			known[row.name] = row
		end
		for name in pairs(request.open_flags) do
			assert.truthy(known[name], name)
			assert.is_nil(known[name].front, name)
			assert.is_nil(known[name].secret, name)
		end
		for _, name in ipairs { "yes", "confirm_destructive", "live", "format", "raw_payload", "input_file", "unmask", "policy" } do
			assert.truthy(known[name], name)
			assert.is_nil(request.open_flags[name], name)
		end
		assert.equal("no-cache", flags.spelling "no_cache")
	end)
end)
