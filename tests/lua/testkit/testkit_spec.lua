-- The parts of `runner test` that need no process: which lines can run, what an HTTP request is, what
-- differs; and that editors know all that a test holds.

local annotations = require "runner.tools.annotations"
local coverage = require "runner.testkit.coverage"
local server = require "runner.testkit.fakes"
local values = require "runner.testkit.values"

describe("the lines that can run", function()
	-- Lua itself says so of the functions that exist.
	local function active(fn, into)
		for line in pairs(debug.getinfo(fn, "L").activelines) do
			into[line] = true
		end
		return into
	end

	it("are those of Lua itself, of all functions, however deep", function()
		local chunk = assert(load([[
local a <const> = 1
local function outer(x, ...)

	local b = x
	return function()
		return b + a
	end
end
-- a comment
for i = 1, 3 do
	outer(i)
end
return outer, outer(1)
]], "=x"))
		local wanted = active(chunk, {})
		local outer, inner = chunk()
		active(outer, wanted)
		active(inner, wanted)
		assert.same(wanted, coverage.lines_of(chunk))
	end)

	it("are found past long gaps, long strings, numbers and hundreds of constants", function()
		local lines = { "local t = {}" }
		for i = 1, 400 do
			lines[#lines + 1] = ("t.k%d = { %d, %d.5, %q, true, nil }%s"):format(i, i, i, ("x"):rep(i), i == 200 and ("\n"):rep(300) or "")
		end
		lines[#lines + 1] = "return t"
		local chunk = assert(load(table.concat(lines, "\n"), "=x"))
		assert.same(active(chunk, {}), coverage.lines_of(chunk))
	end)
end)

describe("a request", function()
	it("is one once all of it has come, whatever its pieces", function()
		local whole = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX: 1\r\nX: 2\r\n\r\nhello"
		for n = 1, #whole - 1 do
			assert.is_nil((server.parse(whole:sub(1, n))))
		end
		local request = server.parse(whole)
		assert.same({ "POST", "/a/b", "c=d", "hello", "1, 2" }, { request.method, request.path, request.query, request.body, request.headers.x })
	end)

	it("may have its body in chunks", function()
		local head = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
		assert.equal("hello world", server.parse(head .. "5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n").body)
		assert.is_nil((server.parse(head .. "5\r\nhello\r\n")))
		assert.is_nil((server.parse(head .. "zz\r\n")))
	end)

	it("of a proxy names its path, and what is none says so", function()
		assert.equal("/x", server.parse("GET http://a.example/x HTTP/1.1\r\n\r\n").path)
		local _, problem = server.parse "\22\3\1\r\n\r\n"
		assert.truthy(problem:find("no HTTP/1.1 request", 1, true))
		assert.truthy(select(2, server.parse(("x"):rep(1 << 17))))
	end)

	it("gets an answer whose length is true", function()
		assert.truthy(server.bytes({ json = { 1 } }, false):find("content-length: 3\r\n", 1, true))
		assert.truthy(server.bytes("hi", true):find("\r\n\r\n$"))
		assert.falsy(server.bytes({ status = 204 }, false):find("content-length", 1, true))
		assert.truthy(server.wrong_answer { code = 1 })
	end)
end)

describe("a difference", function()
	it("names the first place, with keys of every type", function()
		assert.is_nil(values.difference({ a = { 1, { b = 2 } } }, { a = { 1, { b = 2 } } }))
		assert.equal("a[2].b: got 2, wanted 3", values.difference({ a = { 1, { b = 2 } } }, { a = { 1, { b = 3 } } }))
		assert.equal("c: got 1, wanted nothing", values.difference({ c = 1 }, {}))
		assert.truthy(values.difference({ [true] = 1, x = 2, [1] = 3 }, { [true] = 2, x = 2, [1] = 3 }))
		assert.equal("got nil, wanted false", values.difference(nil, false))
	end)
end)

describe("the annotations", function()
	it("have every method of a test, and every field of its answer and options", function()
		local text = assert(io.open(debug.getinfo(1, "S").source:match "^@(.*)tests/lua/" .. "lua/testkit/sandbox.lua")):read "a"
		local found = 0
		for name in text:gmatch "\nfunction Sandbox:([%w_]+)" do
			if name ~= "left_ms" and name ~= "path" then
				found = found + 1
				assert.truthy(annotations.files.test:find("function Test:" .. name .. "(", 1, true), name)
			end
		end
		for name in text:gmatch "\n\tfunction fake%.([%w_]+)" do
			assert.truthy(annotations.files.test:find("function Fake." .. name .. "(", 1, true), name)
		end
		assert.is_true(found >= 8)
	end)
end)
