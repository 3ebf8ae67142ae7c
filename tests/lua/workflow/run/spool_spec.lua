-- The outputs of the items of a loop, gathered: in memory, then in a file.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local spool = require "runner.workflow.run.spool"

local dir, path

help.in_a_place(before_each, after_each, function(d)
	dir, path = d, d .. "/outputs/step"
end)

-- What a spool holds when it is finished, wherever that is.
local function whole(s)
	return s:finish() or assert(fs.read(s.path))
end

local function refusal(f, ...)
	local ok, e = pcall(f, ...)
	assert.is_false(ok)
	assert.is_true(errors.is(e), tostring(e))
	return e
end

describe("a spool", function()
	it("keeps a text in memory up to 1 MiB, and in a private file beyond that", function()
		local s = spool.new(path)
		s:add(("a"):rep(spool.INLINE))
		assert.is_nil(fs.stat(path))
		assert.equal(spool.INLINE, #s:finish())
		s:add "b"
		assert.equal(384, fs.stat(path).mode) -- 0600
		s:add "c"
		assert.equal(spool.INLINE + 2, s.bytes)
		assert.is_nil(s:finish())
		assert.is_true(fs.read(path) == ("a"):rep(spool.INLINE) .. "bc")
	end)

	it("loses nothing of a file, however long that is", function()
		for _, size in ipairs { 0, 1, 65536, 65537, spool.INLINE + 1, 4000001 } do
			local text = ("0123456789abcdef\n"):rep(size // 17 + 1):sub(1, size)
			assert(fs.write(dir .. "/long", text))
			local s = spool.new(path)
			s:add "["
			s:add_file(dir .. "/long")
			s:add "]"
			assert.equal(size + 2, s.bytes)
			assert.is_true(whole(s) == "[" .. text .. "]", size .. " bytes")
		end
		assert.equal("OUTPUT_FAILED", refusal(spool.new(path).add_file, spool.new(path), dir .. "/none").code)
	end)

	it("keeps thousands of short pieces in their order", function()
		local s, all = spool.new(path), {}
		for i = 1, 2500 do
			all[i] = i .. ","
			s:add(all[i])
		end
		assert.equal(table.concat(all), s:finish())
		assert.is_true(#s.parts > 2 and #s.parts < 1000, #s.parts .. " pieces") -- and isn't copied for each
	end)

	it("says how it begins, and keeps no more than that when it is dropped", function()
		for _, size in ipairs { 10, 5000, spool.INLINE + 1 } do
			local s = spool.new(path)
			s:add "x"
			s:add(("y"):rep(size))
			local head = ("x" .. ("y"):rep(size)):sub(1, 4096)
			assert.equal(head, s:head())
			s:drop()
			assert.equal(head, s:head())
			assert.is_nil(fs.stat(path))
		end
	end)

	it("is on the disk when it is finished, or says that it isn't", function()
		local fsync, synced = fs.fsync, nil
		local s = spool.new(path)
		s:add(("a"):rep(spool.INLINE + 1))
		fs.fsync = function(of)
			synced = of
			return nil, "Input/output error"
		end
		local e = refusal(s.finish, s)
		fs.fsync = fsync
		assert.equal(path, synced)
		assert.equal(("Can't write %s: Input/output error"):format(path), e.message)
	end)

	it("says so when the disk is full, at the write or at its end", function()
		local s = spool.new "/dev/full"
		assert.equal("OUTPUT_FAILED", refusal(s.add, s, ("a"):rep(spool.INLINE + 1)).code)
		s = spool.new "/dev/full"
		s.bytes = spool.INLINE
		s:add "a" -- into the buffer
		local e = refusal(s.finish, s)
		assert.same({ "OUTPUT_FAILED", false }, { e.code, e.retryable })
		assert.matches("^Can't write /dev/full: ", e.message)
	end)
end)
