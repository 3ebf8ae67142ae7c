-- The file binding, against a real directory of its own.

local fs = require "runner.fs"

local dir

local function path(name)
	return dir .. "/" .. name
end

local function make(name, text)
	assert(fs.write(path(name), text or name))
	return path(name)
end

local function sh(command, ...)
	local quoted = {}
	for i, arg in ipairs { ... } do
		quoted[i] = "'" .. arg:gsub("'", "'\\''") .. "'"
	end
	local pipe = assert(io.popen(command .. " " .. table.concat(quoted, " "), "r"))
	local output = pipe:read "a"
	pipe:close()
	return output
end

local function fails(code, value, message, got)
	assert.is_nil(value)
	assert.are.equal(code, got)
	return message
end

describe("fs", function()
	before_each(function()
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir, 448)) -- 0700
	end)

	after_each(function()
		os.execute(("chmod -R u+rwx %s; chown $(id -u) %s"):format(dir, dir)) -- root leaves what is another user's in /tmp
		assert(fs.remove_tree(dir))
	end)

	describe("stat and lstat", function()
		it("say what a file is", function()
			local st = assert(fs.stat(make("f", "12345")))
			assert.are.equal("file", st.type)
			assert.are.equal(5, st.size)
			assert.is_true(math.abs(st.mtime - os.time()) < 60)
			for _, field in ipairs { "mode", "uid", "gid", "ino", "dev", "nlink" } do
				assert.are.equal("integer", math.type(st[field]))
			end
			assert.are.equal("directory", fs.stat(dir).type)
			assert.are.equal(448, fs.stat(dir).mode)
		end)

		it("differ on a symbolic link", function()
			make "f"
			assert(fs.symlink("f", path "l"))
			assert.are.equal("file", fs.stat(path "l").type)
			assert.are.equal("link", fs.lstat(path "l").type)
			assert.are.equal("f", fs.readlink(path "l"))
		end)

		it("fail with path, reason and name", function()
			local message = fails("ENOENT", fs.stat(path "none"))
			assert.are.equal("stat " .. path "none" .. ": No such file or directory", message)
			make "f"
			fails("ENOTDIR", fs.lstat(path "f/x"))
			fails("EINVAL", fs.readlink(path "f"))
		end)
	end)

	it("raises for what can't be a path", function()
		assert.has_error(function() fs.stat() end)
		assert.has_error(function() fs.stat {} end)
		assert.has_error(function() fs.stat "" end)
		assert.has_error(function() fs.stat "a\0b" end)
		assert.has_error(function() fs.mkdir(path "d", 99999) end)
		assert.has_error(function() fs.remove_tree "" end)
	end)

	it("lists names sorted, without . and ..", function()
		for _, name in ipairs { "b", "a", "B", ".hidden", "ä" } do
			make(name)
		end
		assert.are.same({ ".hidden", "B", "a", "b", "ä" }, fs.list(dir))
		fails("ENOENT", fs.list(path "none"))
		fails("ENOTDIR", fs.list(path "a"))
		assert(fs.mkdir(path "empty"))
		assert.are.same({}, fs.list(path "empty"))
	end)

	it("makes directories, also those above", function()
		assert.is_true(fs.mkdirs(path "a/b//c/"))
		assert.are.equal("directory", fs.stat(path "a/b/c").type)
		assert.is_true(fs.mkdirs(path "a/b/c"))
		assert.is_true(fs.mkdirs(path "private/x", 448))
		assert.are.equal(448, fs.stat(path "private").mode)
		fails("EEXIST", fs.mkdir(path "a"))
		make "f"
		fails("EEXIST", fs.mkdirs(path "f"))
		local message = fails("EEXIST", fs.mkdirs(path "f/x"))
		assert.are.equal("mkdirs " .. path "f" .. ": File exists", message)
	end)

	it("renames, and names both paths when it can't", function()
		make("a", "text")
		assert.is_true(fs.rename(path "a", path "b"))
		assert.are.equal("text", fs.read(path "b"))
		local message = fails("ENOENT", fs.rename(path "a", path "b"))
		assert.are.equal("rename " .. path "a" .. " → " .. path "b" .. ": No such file or directory", message)
	end)

	it("unlinks files and removes empty directories", function()
		make "f"
		assert(fs.mkdirs(path "d/e"))
		assert.is_true(fs.unlink(path "f"))
		fails("ENOENT", fs.unlink(path "f"))
		fails("ENOTEMPTY", fs.rmdir(path "d"))
		assert.is_true(fs.rmdir(path "d/e"))
	end)

	it("resolves a path", function()
		assert(fs.mkdir(path "d"))
		assert(fs.symlink("d", path "l"))
		assert.are.equal(fs.realpath(dir) .. "/d", fs.realpath(path "l/../l"))
		fails("ENOENT", fs.realpath(path "none"))
	end)

	it("touches: makes a file or renews its time", function()
		assert.is_true(fs.touch(path "t"))
		os.execute("touch -d 2001-01-01 " .. path "t")
		assert.is_true(fs.stat(path "t").mtime < 1e9)
		assert.is_true(fs.touch(path "t"))
		assert.is_true(fs.stat(path "t").mtime > 1.5e9)
	end)

	describe("read", function()
		it("leaves no descriptor open", function()
			local file, before = make("many", "text"), #fs.list "/proc/self/fd"
			for _ = 1, 20 do
				assert.are.equal("text", fs.read(file))
			end
			assert.are.equal(before, #fs.list "/proc/self/fd")
		end)

		it("returns all bytes", function()
			local bytes = ("a\0\xff\n"):rep(100000)
			make("f", bytes)
			assert.is_true(bytes == fs.read(path "f"))
			make("empty", "")
			assert.are.equal("", fs.read(path "empty"))
		end)

		it("refuses more than the maximum", function()
			make("f", "12345")
			assert.are.equal("12345", fs.read(path "f", 5))
			fails("EFBIG", fs.read(path "f", 4))
		end)

		it("fails on directories and what is not there", function()
			fails("EISDIR", fs.read(dir))
			fails("ENOENT", fs.read(path "none"))
		end)

		it("waits for a pipe's writer, as cat does", function()
			os.execute("mkfifo " .. path "p")
			os.execute("(sleep 0.2; printf late > " .. path "p" .. ") &")
			assert.are.equal("late", fs.read(path "p"))
		end)

		it("reads what has no size, such as /proc", function()
			if fs.stat "/proc/self/status" then
				assert.matches("Pid:", fs.read "/proc/self/status")
			end
		end)
	end)

	describe("write", function()
		it("replaces the file in one step and leaves nothing beside it", function()
			make("f", "old")
			local before = fs.stat(path "f").ino
			assert.is_true(fs.write(path "f", "new"))
			assert.are.equal("new", fs.read(path "f"))
			assert.are_not.equal(before, fs.stat(path "f").ino)
			assert.are.same({ "f" }, fs.list(dir))
		end)

		it("takes a mode, else keeps that of the old file", function()
			assert(fs.write(path "f", "x", 493)) -- 0755
			assert.are.equal(493, fs.stat(path "f").mode)
			assert(fs.write(path "f", "y"))
			assert.are.equal(493, fs.stat(path "f").mode)
		end)

		it("writes no file whose path leaves no room for the name that it has first", function()
			local long = path "d"
			while #long < 4000 do
				long = long .. "/" .. ("x"):rep(math.min(200, 4076 - #long - 1))
				assert(fs.mkdirs(long))
			end
			long = long .. "/" .. ("x"):rep(4085 - #long - 1)
			assert(fs.mkdirs(long))
			fails("ENAMETOOLONG", fs.write(long .. "/f", "text"))
			assert.same({}, fs.list(long))
		end)

		it("takes its temporary file away when it fails", function()
			assert(fs.mkdir(path "d"))
			local message = fails("EISDIR", fs.write(path "d", "x"))
			assert.matches("^write .*/d: ", message)
			assert.are.same({ "d" }, fs.list(dir))
			fails("ENOENT", fs.write(path "none/f", "x"))
		end)

		it("never has what it writes in a file that more users may read than the finished one", function()
			for mode, unfinished in pairs { ["384"] = 384, ["420"] = 384, ["nil"] = 420 } do -- 0600, 0644
				local code = ("require('runner.fs').write('%s', ('x'):rep(100000), %s)"):format(path "f", mode)
				make("code.lua", "dofile 'tests/lua/init.lua' " .. code)
				sh("exec 2>/dev/null; umask 022; ulimit -c 0; ulimit -f 8; lua5.4", path "code.lua") -- XFSZ kills it: nothing is tidied up
				local names = fs.list(dir)
				assert.are.equal(2, #names)
				for _, name in ipairs(names) do
					assert.are.equal(name == "code.lua" and 420 or unfinished, fs.stat(path(name)).mode & 511, mode)
					assert(fs.unlink(path(name)))
				end
			end
		end)

		it("replaces a symbolic link instead of writing through it", function()
			make("f", "old")
			assert(fs.symlink("f", path "l"))
			assert(fs.write(path "l", "new"))
			assert.are.equal("old", fs.read(path "f"))
			assert.are.equal("file", fs.lstat(path "l").type)
		end)

		it("writes to a pipe that stands there, also behind a link, instead of replacing it", function()
			assert(os.execute("mkfifo " .. path "p"))
			assert(fs.symlink("p", path "l"))
			fails("ENXIO", fs.write(path "p", "x")) -- nobody reads
			for _, name in ipairs { "p", "l" } do
				local reader <close> = assert(io.popen("timeout 10 cat " .. path "p"))
				local deadline = os.time() + 10
				repeat
					local done = fs.write(path(name), "through")
				until done or os.time() > deadline
				assert.are.equal("through", reader:read("a"))
			end
			assert.are.equal("fifo", fs.lstat(path "p").type)
			assert.are.equal("link", fs.lstat(path "l").type)
			assert.are.same({ "l", "p" }, fs.list(dir))
		end)

		it("copes with names of full length", function()
			local name = ("n"):rep(255)
			assert.is_true(fs.write(path(name), "x"))
			assert.are.same({ name }, fs.list(dir))
		end)
	end)

	it("syncs files, directories and trees", function()
		make "f"
		assert(fs.mkdirs(path "d/e"))
		make "d/e/g"
		assert(fs.symlink("nowhere", path "d/l"))
		assert.is_true(fs.fsync(path "f"))
		assert.is_true(fs.fsync(dir))
		assert.is_true(fs.fsync_tree(dir))
		fails("ENOENT", fs.fsync(path "none"))
		fails("ENOENT", fs.fsync_tree(path "none"))
	end)

	describe("create", function()
		it("writes a file whose name is free, and nothing over what is there", function()
			assert.is_true(fs.create(path "f", "mine"))
			assert.matches("^create .*/f: ", fails("EEXIST", fs.create(path "f", "theirs")))
			assert(fs.symlink("nowhere", path "l"))
			fails("EEXIST", fs.create(path "l", "theirs"))
			fails("ENOENT", fs.create(path "none/f", "x"))
			assert.are.equal("mine", fs.read(path "f"))
			assert.are.same({ "f", "l" }, fs.list(dir))
		end)

		it("leaves nothing of what it can't complete", function()
			local code = ("print(select(3, require('runner.fs').create('%s', ('x'):rep(100000))))"):format(path "f")
			make("code.lua", "dofile 'tests/lua/init.lua' " .. code)
			assert.are.equal("EFBIG\n", sh("trap '' XFSZ; ulimit -f 8; exec lua5.4", path "code.lua"))
			assert.are.same({ "code.lua" }, fs.list(dir))
		end)
	end)

	describe("append", function()
		it("adds lines, and says where each one starts", function()
			assert.are.equal(0, fs.append(path "f", "one\n", 384))
			assert.are.equal(4, fs.append(path "f", "two\n", 420))
			assert.are.equal("one\ntwo\n", fs.read(path "f"))
			assert.are.equal(384, fs.stat(path "f").mode & 511)
		end)

		it("starts a line of its own behind one that was cut short", function()
			make("f", "one\ntw")
			assert.are.equal(7, fs.append(path "f", "three\n"))
			assert.are.equal("one\ntw\nthree\n", fs.read(path "f"))
		end)

		it("leaves nothing of what it can't complete", function()
			make("f", ("x"):rep(4000))
			local code = ("print(select(3, require('runner.fs').append('%s', ('y'):rep(100000) .. '\\n')))"):format(path "f")
			make("code.lua", "dofile 'tests/lua/init.lua' " .. code)
			assert.are.equal("EFBIG\n", sh("trap '' XFSZ; ulimit -f 8; exec lua5.4", path "code.lua"))
			assert.are.equal(("x"):rep(4000), fs.read(path "f"))
		end)

		it("refuses what is no regular file, and what is no line", function()
			assert(fs.symlink("f", path "l"))
			fails("ELOOP", fs.append(path "l", "x\n"))
			fails("EISDIR", fs.append(dir, "x\n"))
			sh("mkfifo", path "p")
			fails("EINVAL", fs.append(path "p", "x\n"))
			fails("ENOENT", fs.append(path "none/f", "x\n"))
			assert.has_error(function() fs.append(path "f", "") end)
			assert.has_error(function() fs.append(path "f", "no newline") end)
			assert.has_error(function() fs.append(path "f", "x\n", 65536) end)
			assert.are.same({ "l", "p" }, fs.list(dir))
		end)
	end)

	describe("replace", function()
		it("puts a finished file in the place of another, whose permissions stay unless others are given", function()
			assert(fs.write(path "old", "old", 384))
			assert(fs.write(path "new", "new", 420))
			assert.is_true(fs.replace(path "new", path "old"))
			assert.equal("new", fs.read(path "old"))
			assert.equal(384, fs.stat(path "old").mode)
			assert(fs.write(path "new", "newer"))
			assert.is_true(fs.replace(path "new", path "old", 416))
			assert.equal(416, fs.stat(path "old").mode)
			assert.is_nil(fs.lstat(path "new"))
		end)

		it("leaves a device alone, and what it was given", function()
			assert(fs.symlink("/dev/null", path "null"))
			assert(fs.write(path "new", "new"))
			fails("EINVAL", fs.replace(path "new", path "null"))
			fails("EINVAL", fs.copy(path "new", path "null"))
			assert.equal("link", fs.lstat(path "null").type)
			assert.equal("new", fs.read(path "new"))
			fails("ENOENT", fs.replace(path "none", path "new"))
		end)
	end)

	describe("swap_symlink", function()
		it("points the link elsewhere in one step", function()
			assert.is_true(fs.swap_symlink("one", path "l"))
			assert.is_true(fs.swap_symlink("two", path "l"))
			assert.are.equal("two", fs.readlink(path "l"))
			assert.are.same({ "l" }, fs.list(dir))
		end)

		it("swaps the link itself, not inside the directory it points to", function()
			assert(fs.mkdir(path "d"))
			assert(fs.swap_symlink("d", path "l"))
			assert(fs.swap_symlink("other", path "l"))
			assert.are.same({}, fs.list(path "d"))
		end)

		it("refuses a real directory and leaves nothing behind", function()
			assert(fs.mkdir(path "d"))
			fails("EISDIR", fs.swap_symlink("x", path "d"))
			assert.are.same({ "d" }, fs.list(dir))
		end)

		it("never shows a reader a missing link", function()
			assert(fs.mkdir(path "a"))
			assert(fs.mkdir(path "b"))
			assert(fs.swap_symlink("a", path "l"))
			local watch = assert(io.popen("i=0; while [ -e " .. path "l" .. " ] && [ $i -lt 100000 ] && [ ! -e " ..
				path "stop" .. " ]; do i=$((i+1)); done; [ -e " .. path "l" .. " ] && echo whole", "r"))
			for i = 1, 500 do
				assert(fs.swap_symlink(i % 2 == 0 and "a" or "b", path "l"))
			end
			make "stop"
			assert.are.equal("whole\n", watch:read "a")
			watch:close()
		end)
	end)

	describe("remove_tree", function()
		it("removes files, links and directories", function()
			assert(fs.mkdirs(path "t/a/b"))
			make "t/a/b/f"
			assert(fs.symlink("/", path "t/a/root"))
			assert.is_true(fs.remove_tree(path "t"))
			assert.are.same({}, fs.list(dir))
		end)

		it("never follows a symbolic link, with or without a slash behind it", function()
			assert(fs.mkdir(path "keep"))
			make "keep/f"
			assert(fs.mkdir(path "t"))
			assert(fs.symlink("../keep", path "t/l"))
			assert(fs.symlink("keep", path "l"))
			assert.is_true(fs.remove_tree(path "t"))
			assert.is_true(fs.remove_tree(path "l/"))
			assert.are.equal("keep/f", fs.read(path "keep/f"))
			fails("ENOENT", fs.lstat(path "l"))
		end)

		it("is content when nothing is there", function()
			assert.is_true(fs.remove_tree(path "none"))
		end)

		it("refuses the root and what ends in dots", function()
			assert(fs.mkdir(path "d"))
			make "d/f"
			for _, refused in ipairs { "/", "//", "/.", "/tmp/..", path "d/.", path "d/..", ".", ".." } do
				fails("EINVAL", fs.remove_tree(refused))
			end
			assert.are.equal("d/f", fs.read(path "d/f"))
		end)

		it("removes names with dots that are no dots", function()
			for _, name in ipairs { "...", ".x", "x." } do
				assert(fs.mkdir(path(name)))
				assert.is_true(fs.remove_tree(path(name)))
			end
			assert.are.same({}, fs.list(dir))
		end)

		it("removes a tree deeper than it may open directories", function()
			assert(os.execute("cd " .. dir .. " && mkdir -p t/" .. ("d/"):rep(1500) .. " && touch t/" .. ("d/"):rep(900) .. "f"))
			assert.is_true(fs.remove_tree(path "t"))
			assert.are.same({}, fs.list(dir))
		end)

		it("removes a directory of many entries", function()
			assert(fs.mkdir(path "many"))
			os.execute("cd " .. path "many" .. " && seq 1 5000 | xargs touch")
			assert.is_true(fs.remove_tree(path "many"))
			fails("ENOENT", fs.lstat(path "many"))
		end)

		it("names the entry where it stopped", function()
			local deep = ("d/"):rep(300)
			os.execute("mkdir -p " .. path(deep))
			local message = fails("ENAMETOOLONG", fs.fsync_tree(path "d"))
			assert.matches("fsync_tree .*/d/d/d", message)
		end)
	end)

	describe("check_way", function()
		it("passes through folders that nobody else can change, and makes them only with a mode", function()
			assert.is_true(fs.check_way(path "f"))
			fails("ENOENT", fs.check_way(path "new/deep/f"))
			assert.is_nil(fs.lstat(path "new"))
			assert.is_true(fs.check_way(path "new/deep/f", 448)) -- 0700
			assert.are.equal(448, fs.stat(path "new/deep").mode)
			assert.is_nil(fs.lstat(path "new/deep/f"))
		end)

		it("names the folder that others could change, as remove_tree does, which removes nothing then", function()
			assert(fs.mkdirs(path "open/t"))
			make "open/t/precious"
			assert(fs.chmod(path "open", 511)) -- 0777
			local why = ": " .. path "open" .. ": it is world-writable; others could put something else in the way: chmod o-w or +t"
			assert.are.equal("check_way " .. path "open/t" .. why, fails("EPERM", fs.check_way(path "open/t")))
			assert.are.equal("remove_tree " .. path "open/t" .. why, fails("EPERM", fs.remove_tree(path "open/t")))
			assert.are.equal("file", fs.stat(path "open/t/precious").type)
			assert(fs.chmod(path "open", 1023)) -- 1777
			assert.is_true(fs.remove_tree(path "open/t"))
		end)
	end)

	describe("copy_tree", function()
		it("copies files, directories and links with their modes", function()
			assert(fs.mkdirs(path "from/sub/empty"))
			assert(fs.write(path "from/run.sh", ("x"):rep(200000), 493))
			assert(fs.write(path "from/sub/secret", "s", 384)) -- 0600
			assert(fs.symlink("../run.sh", path "from/sub/l"))
			os.execute("chmod 750 " .. path "from/sub")
			assert.is_true(fs.copy_tree(path "from", path "to"))
			assert.are.equal("", sh("diff -r --no-dereference", path "from", path "to"))
			assert.are.equal(493, fs.stat(path "to/run.sh").mode)
			assert.are.equal(384, fs.stat(path "to/sub/secret").mode)
			assert.are.equal(488, fs.stat(path "to/sub").mode) -- 0750
			assert.are.equal("../run.sh", fs.readlink(path "to/sub/l"))
			assert.are.same({}, fs.list(path "to/sub/empty"))
		end)

		it("copies a directory that may not be written", function()
			assert(fs.mkdir(path "from"))
			make "from/f"
			os.execute("chmod 555 " .. path "from")
			assert.is_true(fs.copy_tree(path "from", path "to"))
			assert.are.equal(365, fs.stat(path "to").mode) -- 0555
		end)

		it("copies a single file", function()
			make("f", "text")
			assert.is_true(fs.copy_tree(path "f", path "g"))
			assert.are.equal("text", fs.read(path "g"))
		end)

		it("does not copy setuid", function()
			make "f"
			os.execute("chmod 4755 " .. path "f")
			assert(fs.copy_tree(path "f", path "g"))
			assert.are.equal(493, fs.stat(path "g").mode)
		end)

		it("refuses to write over something", function()
			assert(fs.mkdir(path "from"))
			assert(fs.mkdir(path "to"))
			fails("EEXIST", fs.copy_tree(path "from", path "to"))
			make "f"
			make "g"
			fails("EEXIST", fs.copy_tree(path "f", path "g"))
		end)

		it("refuses to copy a directory into itself", function()
			assert(fs.mkdirs(path "from/a"))
			make "from/f"
			fails("EINVAL", fs.copy_tree(path "from", path "from/a/copy"))
		end)

		it("refuses pipes and says which", function()
			assert(fs.mkdir(path "from"))
			os.execute("mkfifo " .. path "from/p")
			local message = fails("ENOTSUP", fs.copy_tree(path "from", path "to"))
			assert.matches("^copy_tree .*/from/p → .*/to: ", message)
		end)

		it("fails when there is nothing to copy", function()
			fails("ENOENT", fs.copy_tree(path "none", path "to"))
		end)
	end)

	describe("locked", function()
		it("says who holds a lock, and leaves no trace", function()
			assert.are.same({ n = 1 }, table.pack(fs.locked(path "l")))
			assert.are.same({}, fs.list(dir))
			local lock = assert(fs.lock(path "l"))
			local holder = assert(fs.locked(path "l"))
			assert.are.equal(fs.read(path "l"):match "%d+", tostring(holder.pid))
			assert.are.equal("number", type(holder.age_ms))
			lock:release()
			make("l", "123 4.5\n")
			assert.is_nil(fs.locked(path "l"))
			assert.are.equal("123 4.5\n", fs.read(path "l"))
		end)

		it("knows no holder of a lock that is shared, or whose file can't be opened", function()
			local _ <close> = assert(fs.lock(path "l", { shared = true }))
			assert.is_nil(fs.locked(path "l"))
			assert.matches("^check the lock .*/l/x: ", fails("ENOTDIR", fs.locked(path "l/x")))
		end)
	end)

	describe("lock", function()
		it("shuts others out until it is released", function()
			local lock = assert(fs.lock(path "l"))
			local again, message, holder = fs.lock(path "l")
			assert.is_nil(again)
			assert.are.equal("held", message)
			assert.are.equal("integer", math.type(holder.pid))
			assert.is_true(math.abs(holder.since - os.time()) < 60)
			assert.is_true(holder.age_ms >= 0 and holder.age_ms < 60000)
			assert.is_true(lock:release())
			assert.is_true(lock:release())
			assert.is_true(assert(fs.lock(path "l")):release())
		end)

		it("is for the owner's eyes only", function()
			local lock = assert(fs.lock(path "l"))
			assert.are.equal(384, fs.stat(path "l").mode) -- 0600
			lock:release()
		end)

		it("shares when asked to", function()
			local one = assert(fs.lock(path "l", { shared = true }))
			local two = assert(fs.lock(path "l", { shared = true }))
			assert.are.equal("held", select(2, fs.lock(path "l")))
			one:release()
			assert.are.equal("held", select(2, fs.lock(path "l")))
			two:release()
			local only = assert(fs.lock(path "l"))
			assert.are.equal("held", select(2, fs.lock(path "l", { shared = true })))
			only:release()
		end)

		it("is released by <close> and by the collector", function()
			do
				local _ <close> = assert(fs.lock(path "l"))
			end
			local lock = assert(fs.lock(path "l"))
			assert.is_truthy(lock)
			lock = nil -- luacheck: ignore
			collectgarbage()
			collectgarbage()
			assert(fs.lock(path "l")):release()
		end)

		it("waits as long as it is told", function()
			local lock = assert(fs.lock(path "l"))
			local started = tonumber(sh "date +%s%N")
			assert.are.equal("held", select(2, fs.lock(path "l", { wait_ms = 200 })))
			local waited = (tonumber(sh "date +%s%N") - started) / 1e6
			assert.is_true(waited >= 190 and waited < 20000, waited .. " ms")
			lock:release()
		end)

		it("gets the lock as soon as another process lets go", function()
			local other = assert(io.popen("flock -x " .. path "l" .. " sh -c 'echo held; until [ -e " .. path "over" ..
				" ]; do sleep 0.02; done'", "r"))
			assert.are.equal("held", other:read "l")
			assert.are.equal("held", select(2, fs.lock(path "l")))
			os.execute("(sleep 0.2; touch " .. path "over" .. ") &")
			assert(fs.lock(path "l", { wait_ms = 30000 })):release()
			other:close()
		end)

		it("dies with the process that holds it", function()
			local other = assert(io.popen("echo $$; exec flock -F -x " .. path "l" ..
				" sh -c 'echo held; exec sleep 60'", "r"))
			local pid = other:read "l"
			assert.are.equal("held", other:read "l")
			assert.are.equal("held", select(2, fs.lock(path "l")))
			os.execute("kill -9 " .. pid)
			assert(fs.lock(path "l", { wait_ms = 30000 })):release()
			other:close()
		end)

		it("is not inherited by a program it starts", function()
			local lock = assert(fs.lock(path "l"))
			os.execute("sleep 2 &")
			lock:release()
			assert(fs.lock(path "l")):release()
		end)

		it("notices that the file was removed under a holder", function()
			local stale = assert(fs.lock(path "l"))
			assert(fs.unlink(path "l"))
			local fresh = assert(fs.lock(path "l"))
			assert.are.equal("held", select(2, fs.lock(path "l")))
			fresh:release()
			stale:release()
		end)

		it("fails with a reason where no file can be", function()
			fails("ENOENT", fs.lock(path "none/l"))
			fails("EISDIR", fs.lock(dir))
		end)

		it("refuses what is no file of its own, and changes nothing there", function()
			make("victim", "precious")
			assert(fs.symlink("victim", path "soft"))
			assert(fs.symlink("nowhere", path "dangling"))
			assert(os.execute(("ln %s %s; mkfifo %s"):format(path "victim", path "hard", path "fifo")))
			assert.matches(": it is a symbolic link$", fails("ELOOP", fs.lock(path "soft")))
			assert.matches(": it is a symbolic link$", fails("ELOOP", fs.lock(path "dangling")))
			assert.matches(": it is a hard link to another file$", fails("EPERM", fs.lock(path "hard")))
			assert.matches(": it is not a regular file$", fails("EPERM", fs.lock(path "fifo")))
			fails("ELOOP", fs.locked(path "soft"))
			assert.are.equal("precious", fs.read(path "victim"))
			fails("ENOENT", fs.lstat(path "nowhere"))
		end)

		it("refuses another user's file, unless the directory is that user's as well", function()
			if not os.execute "test $(id -u) = 0" then
				pending "it needs root"
			end
			make("l", "precious")
			assert(os.execute("chown 12345 " .. path "l"))
			assert.matches(": it belongs to another user$", fails("EPERM", fs.lock(path "l")))
			assert.are.equal("precious", fs.read(path "l"))
			assert(os.execute("chown 12345 " .. dir))
			assert(fs.lock(path "l")):release()
		end)

		it("loses no descriptor when the file is replaced again and again", function()
			local function open_files()
				return #fs.list "/proc/self/fd"
			end
			-- a rename a moment after each of our opens: many of them meet a file that is gone
			local other = io.popen(("exec perl -e '$| = 1; print qq($$\n); for (;;) { open F, q(>%s); close F; rename q(%s), q(%s) }'")
				:format(path "new", path "new", path "l"))
			local pid = other:read "l"
			local before = open_files()
			for _ = 1, 3000 do
				local lock = fs.lock(path "l")
				if lock then
					lock:release()
				end
			end
			local after = open_files()
			os.execute("kill -9 " .. pid)
			other:close()
			assert.are.equal(before, after)
		end)
	end)
end)
