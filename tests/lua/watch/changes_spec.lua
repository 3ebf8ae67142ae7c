-- runner.watch.changes: which files have changed since the last look.

local needs = dofile "tests/lua/lib/needs.lua" (_ENV)
local changes = require "runner.watch.changes"
local fs = require "runner.fs"
local scope = require "runner.watch.scope"
local session = require "runner.watch.session"

describe("the files that have changed", function()
	local root

	before_each(function()
		root = os.tmpname()
		os.remove(root)
		assert(fs.mkdirs(root))
		root = fs.realpath(root)
	end)

	after_each(function()
		fs.remove_tree(root)
	end)

	local function put(path, text)
		assert(fs.mkdirs((root .. "/" .. path):match "^(.*)/"))
		assert(fs.write(root .. "/" .. path, text or path))
	end

	local function watching(globs, more)
		local fields = { patterns = scope.patterns(globs or { "." }, root), without = {}, ignore = {}, here = root, gitignore = true }
		for name, value in pairs(more or {}) do
			fields[name] = value
		end
		return changes.new(scope.options(fields))
	end

	local function relative(list)
		local out = {}
		for i, path in ipairs(list) do
			out[i] = path:sub(#root + 2)
		end
		return out
	end

	it("are those that have come, gone, or become others", function()
		put "a"
		put "d/b"
		put "d/c"
		local watched <close> = watching()
		assert.same({}, watched:look())
		put("a", "other")
		put "e/f/new"
		assert(fs.unlink(root .. "/d/b"))
		assert.same({ "a", "d/b", "e/f/new" }, relative(watched:look()))
		assert.same({}, watched:look())
		assert(fs.rename(root .. "/d/c", root .. "/a")) -- as an editor saves
		assert.same({ "a", "d/c" }, relative(watched:look()))
		assert(fs.chmod(root .. "/a", tonumber("700", 8)))
		assert.same({ "a" }, relative(watched:look()))
	end)

	it("are found in a folder that is removed and made again, and in one that comes later", function()
		put "d/a"
		local watched <close> = watching { "d", "later/**/*.x" }
		assert(fs.remove_tree(root .. "/d"))
		assert.same({ "d/a" }, relative(watched:next(5)))
		put "d/a"
		assert.same({ "d/a" }, relative(watched:next(5)))
		put "later/e/f.x"
		assert.same({ "later/e/f.x" }, relative(watched:next(5)))
	end)

	it("are told by the kernel, in folders of the first look and in new ones", function()
		put "d/a"
		local watched <close> = watching()
		put "d/b"
		assert.is_true(watched:wait(10000))
		watched:look()
		assert.is_false(watched:wait(0))
		assert(fs.mkdirs(root .. "/n/m"))
		assert.is_true(watched:wait(10000))
		watched:look()
		put "n/m/f"
		assert.is_true(watched:wait(10000))
		assert.same({ "n/m/f" }, relative(watched:look()))
	end)

	it("are not those of version control, of editors at work, or that .gitignore or a line names", function()
		put(".gitignore", "*.o\n/out\n")
		put ".git/HEAD"
		local watched <close> = watching(nil, { ignore = { "*.log", "/tmp/" }, without = scope.patterns({ "gen/*.c" }, root) })
		for _, path in ipairs { ".git/index", "a.o", "out/x", "a.log", "tmp/x", "gen/x.c", ".a.swp", "a~", "#a#", ".#a", "4913", "sub/.hg/x",
			"gen/x.h", ".env", "sub/tmp/x" } do
			put(path)
		end
		assert.same({ ".env", "gen/x.h", "sub/tmp/x" }, relative(watched:look()))
	end)

	it("are those that patterns name, and no other", function()
		put "src/a.c"
		put "note"
		local watched <close> = watching { "src/**/*.{c,h}", "note", "doc" }
		for _, path in ipairs { "src/b.c", "src/d/e.h", "src/x.o", "other/a.c", "note", "doc/x/.y" } do
			put(path, "new")
		end
		assert.same({ "doc/x/.y", "note", "src/b.c", "src/d/e.h" }, relative(watched:look()))
		assert.equal(5, watched.count)
	end)

	it("are in a folder that .gitignore names, where somebody has named it", function()
		put(".gitignore", "out\n*.x\n")
		put ".git/HEAD"
		put "out/a"
		local named <close> = watching { "out" }
		local all <close> = watching(nil, { gitignore = false })
		put "out/b.x"
		assert.same({ "out/b.x" }, relative(named:look()))
		assert.same({ "out/b.x" }, relative(all:look()))
	end)

	it("are not behind links to folders, and are behind links to files", function()
		put "real/f"
		put "watched/x"
		assert(fs.symlink("..", root .. "/watched/up"))
		assert(fs.symlink("../real/f", root .. "/watched/f"))
		assert(fs.symlink("nowhere", root .. "/watched/broken"))
		local watched <close> = watching { "watched" }
		put("real/f", "changed behind the link")
		put "real/g"
		assert.same({ "watched/f" }, relative(watched:look()))
	end)

	it("are found without the kernel's help", function()
		put "a"
		local real = fs.watch
		fs.watch = function() return nil, "watch: Too many open files", "EMFILE" end
		local watched <close> = watching()
		fs.watch = real
		assert.equal("EMFILE", watched.blind)
		put "b"
		assert.same({ "b" }, relative(watched:next(5)))
	end)

	it("say where the kernel watches no more, and what can't be read", function()
		put "d/a"
		local real, list = fs.watch, fs.list
		local kernel = { add = function() return nil, "watch x: No space left on device", "ENOSPC" end, wait = function() return false end,
			close = function() end }
		fs.watch = function() return kernel end
		fs.list = function(path)
			if path:find "/d$" then
				return nil, "list: Permission denied", "EACCES"
			end
			return list(path)
		end
		local watched <close> = watching()
		fs.watch, fs.list = real, list
		assert.equal("ENOSPC", watched.blind)
		assert.equal(root .. "/d", watched.unread)
	end)

	it("wait for the end of many at once", function()
		local watched <close> = watching()
		local said = 0
		put "a"
		local changed = watched:next(5, function()
			said = said + 1
			if said == 3 then
				put "b"
			end
			return said < 5
		end)
		assert.same({ "a", "b" }, relative(changed))
		assert.is_nil(watched:next(5, function() return nil end))
	end)

	it("of a run itself count while their content changes, three runs on end at most", needs "md" or function()
		local made, path = session.own_writes(), root .. "/f"
		local function inside(text, alone)
			put("f", text)
			local counted, aside = made:inside({ path }, alone)
			return #counted, #aside
		end
		assert.same({ 1, 0 }, { inside("one", false) })
		assert.same({ 0, 0 }, { inside("one", true) })
		assert.same({ 1, 0 }, { inside("two", false) })
		assert.same({ 1, 0 }, { inside("three", true) })
		assert.same({ 0, 1 }, { inside("four", true) })
		assert.same({ 0, 0 }, { inside("five", true) })
		made:outside { path }
		assert.same({ 1, 0 }, { inside("six", false) })
		fs.unlink(path)
		assert.same({ { path }, {} }, { made:inside({ path }, false) })
	end)
end)
