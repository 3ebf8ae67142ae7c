-- The Lua half of fs: glob, walk, copy, tempfile, hash; and chmod.

local needs = dofile "tests/lua/lib/needs.lua" (_ENV)
local fs = require "fs"

local dir

local function make(name, text)
	assert(fs.mkdirs(dir .. "/" .. (name:match "^(.*)/" or ".")))
	assert(fs.write(dir .. "/" .. name, text or name))
end

before_each(function()
	dir = os.tmpname()
	os.remove(dir)
	assert(fs.mkdir(dir))
end)

after_each(function()
	fs.remove_tree(dir)
end)

describe("fs.glob", function()
	before_each(function()
		for _, name in ipairs { "a.c", "b.h", "é.c", "src/x.c", "src/deep/y.c", "src/deep/.hidden/z.c", ".dot.c", "w[1].c", "a-b.c", "{.c" } do
			make(name)
		end
		assert(fs.symlink(".", dir .. "/loop"))
	end)

	local function found(pattern)
		return assert(fs.glob(pattern, dir))
	end

	it("finds names, directories of any depth and choices, each once and sorted", function()
		assert.same({ "a-b.c", "a.c", "w[1].c", "{.c", "é.c" }, found "*.c")
		assert.same({ "a.c", "{.c", "é.c" }, found "?.c")
		assert.same({ "a.c", "b.h" }, found "[ab].?")
		assert.same({ "b.h" }, found "[!a].h")
		assert.same({ "a.c", "b.h", "src/x.c" }, found "{a.c,b.*,src/{x,q}.c,a.*}")
		assert.same({ "a-b.c", "a.c", "src/deep/y.c", "src/x.c", "w[1].c", "{.c", "é.c" }, found "**/*.c")
		assert.same({ "src/deep/y.c" }, found "src/**/y.c")
		assert.same({ "src/x.c" }, found "src/**/x.c")
		assert.same({ "src", "src/deep", "src/deep/y.c", "src/x.c" }, found "src/**")
		assert.same({ ".dot.c" }, found ".*.c")
		assert.same({}, found "nothing/*")
		assert.same({}, found "a.c/*")
		assert.same({ "w[1].c" }, found "w[[]1].c")
		assert.same({ dir .. "/b.h" }, fs.glob(dir .. "/*.h"))
	end)

	it("says which directory it can't read", function()
		assert(fs.symlink("self", dir .. "/self"))
		local paths, why, errno = fs.glob("self/*.c", dir)
		assert.is_nil(paths)
		assert.truthy(why:find("self", 1, true))
		assert.equal("ELOOP", errno)
	end)
end)

describe("fs.walk", function()
	it("gives every path once, a directory before what is in it, and enters no link", function()
		make "b/x"
		make "a"
		assert(fs.symlink(".", dir .. "/b/loop"))
		local seen = {}
		for path, stat in fs.walk(dir .. "/") do
			seen[#seen + 1] = path:sub(#dir + 2) .. " " .. stat.type
		end
		assert.same({ "a file", "b directory", "b/loop link", "b/x file" }, seen)
	end)

	it("raises where there is no directory", function()
		local _, raised = pcall(fs.walk, dir .. "/none")
		assert.equal("NOT_FOUND", raised.code)
	end)
end)

describe("fs.copy", function()
	it("replaces a file with its permissions, and leaves nothing behind where it can't", function()
		make("from", ("x"):rep(1 << 20))
		make("to", "old")
		assert(fs.chmod(dir .. "/from", tonumber("750", 8)))
		assert.is_true(fs.copy(dir .. "/from", dir .. "/to"))
		assert.equal(1 << 20, fs.stat(dir .. "/to").size)
		assert.equal(tonumber("750", 8), fs.stat(dir .. "/to").mode)
		make "sub/x"
		local ok, _, errno = fs.copy(dir .. "/from", dir .. "/sub")
		assert.is_nil(ok)
		assert.equal("EISDIR", errno)
		assert.equal("EISDIR", select(3, fs.copy(dir .. "/sub", dir .. "/other")))
		assert.equal("ENOENT", select(3, fs.copy(dir .. "/none", dir .. "/other")))
		assert.same({ "from", "sub", "to" }, fs.list(dir))
	end)
end)

describe("fs.tempfile, fs.hash and fs.chmod", function()
	it("make a file that only this user may read", function()
		local path = assert(fs.tempfile(dir, ".json"))
		assert.truthy(path:find("%.json$"))
		assert.equal(tonumber("600", 8), fs.stat(path).mode)
		assert.are_not.equal(path, fs.tempfile(dir, ".json"))
		assert.equal("ENOENT", select(3, fs.tempfile(dir .. "/none")))
	end)

	it("digest a file, and fail as fs does", needs "md" or function()
		make("abc", "abc")
		assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", fs.hash(dir .. "/abc"))
		assert.equal("ENOENT", select(3, fs.hash(dir .. "/none")))
		assert.equal("EISDIR", select(3, fs.hash(dir)))
		assert.is_false(pcall(fs.hash, dir .. "/abc", "crc"))
		assert.equal("ENOENT", select(3, fs.chmod(dir .. "/none", 0)))
		assert.is_false(pcall(fs.chmod, dir))
	end)
end)
