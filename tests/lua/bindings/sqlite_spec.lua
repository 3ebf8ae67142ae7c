-- runner.sqlite against the real library and real files.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local fs = require "runner.fs"
local host = require "runner.host"
local sqlite = require "runner.sqlite"

local SETUP = [[dofile "tests/lua/init.lua"; local sqlite = require "runner.sqlite"; ]]

local dir, path, conn

-- Lua in a process of its own; what it prints.
local function elsewhere(code)
	local pipe = assert(io.popen(("exec lua5.4 -e '%s' 2>&1"):format(SETUP .. code)))
	return pipe, pipe:read "l"
end

local function output_of(code)
	local pipe, first = elsewhere(code)
	pipe:close()
	return first
end

local function count()
	return conn:rows("SELECT count(*) AS n FROM t")[1].n
end

local function open_files()
	return #fs.list "/proc/self/fd"
end

before_each(function()
	dir = os.tmpname()
	os.remove(dir)
	assert(fs.mkdir(dir))
	path = dir .. "/test.db"
	conn = assert(sqlite.open(path))
	assert(conn:exec "CREATE TABLE t (a, b)")
end)

after_each(function()
	conn:close()
	assert(fs.remove_tree(dir))
end)

describe("the library", function()
	it("is opened when the first database is, not when the binding is loaded", function()
		local look = [[
			local function loaded() return io.open "/proc/self/maps":read "a":find "libsqlite3" and "there" or "absent" end
			local before = loaded()
			local conn = sqlite.open ":memory:"
			print(before, loaded())]]
		assert.are.equal("absent\tthere", output_of(look))
	end)

	it("is named by the loader where it is missing", function()
		local so = os.getenv "RUNNER_HOST_SO"
		fs.write(dir .. "/libsqlite3.so.0", "")
		local pipe = io.popen(("RUNNER_HOST_SO=%s LD_LIBRARY_PATH=%s exec lua5.4 -e '%s' 2>&1"):format(so, dir,
			SETUP .. [[local _, message, name = sqlite.open ":memory:" print(name, message)]]))
		assert.matches("^LIBRARY\t.*libsqlite3", pipe:read "a")
		pipe:close()
	end)
end)

describe("values", function()
	local function round_trip(value)
		assert(conn:run("DELETE FROM t"))
		assert(conn:run("INSERT INTO t VALUES (?, 0)", value))
		return assert(conn:rows "SELECT a, typeof(a) AS kind FROM t")[1]
	end

	it("keep every bit of an integer", function()
		for _, n in ipairs { 0, -1, math.maxinteger, math.mininteger, 1 << 53 | 1 } do
			local row = round_trip(n)
			assert.are.equal(n, row.a)
			assert.are.equal("integer", math.type(row.a))
		end
	end)

	it("keep floats, text and NULL apart", function()
		local row = round_trip(0.1)
		assert.are.equal(0.1, row.a)
		assert.are.equal("real", row.kind)
		assert.are.equal("float", math.type(round_trip(2.0).a))
		assert.are.equal("text", round_trip("12").kind)
		assert.is_nil(round_trip(nil).a)
		assert.are.equal("null", round_trip(nil).kind)
	end)

	it("keep every byte of a text, NUL and invalid UTF-8 included", function()
		for _, text in ipairs { "", "ü", "a\0b", "\0", "\xff\xfe", ("x"):rep(1 << 20), "'); DROP TABLE t; --" } do
			assert.are.equal(text, round_trip(text).a)
		end
	end)

	it("make 1 and 0 of booleans", function()
		assert.are.equal(1, round_trip(true).a)
		assert.are.equal(0, round_trip(false).a)
	end)

	it("come from blobs as bytes", function()
		assert.are.equal("\0\xff", conn:rows("SELECT x'00ff' AS v")[1].v)
		assert.are.equal("", conn:rows("SELECT zeroblob(0) AS v")[1].v)
	end)
end)

describe("statements", function()
	it("give their rows as a list, or how much they changed", function()
		assert.are.equal(2, conn:run "INSERT INTO t VALUES (1, 'x'), (2, NULL)")
		assert.are.same({ { a = 1, b = "x" }, { a = 2 } }, conn:rows "SELECT * FROM t ORDER BY a")
		assert.are.same({}, conn:rows("SELECT * FROM t WHERE a = ?", 9))
		assert.are.equal(0, conn:run("UPDATE t SET b = 1 WHERE a = ?", 9))
		assert.is_true(conn:exec "DELETE FROM t WHERE a = 1; DELETE FROM t WHERE a = 2;")
		assert.are.equal(0, count())
	end)

	it("fail with SQLite's words and a stable name", function()
		local _, message, name = conn:rows "SELECT * FROM missing"
		assert.are.equal("no such table: missing", message)
		assert.are.equal("SQLITE_ERROR", name)
		conn:exec "PRAGMA foreign_keys = ON; CREATE TABLE u (k PRIMARY KEY, f REFERENCES u (k))"
		conn:run "INSERT INTO u VALUES (1, NULL)"
		assert.are.equal("SQLITE_CONSTRAINT_PRIMARYKEY", select(3, conn:run "INSERT INTO u VALUES (1, NULL)"))
		assert.are.equal("SQLITE_CONSTRAINT_FOREIGNKEY", select(3, conn:run "INSERT INTO u VALUES (2, 7)"))
		assert.are.equal("SQLITE_ERROR", select(3, conn:exec "CREATE"))
	end)

	it("are one at a time, with exactly their parameters", function()
		assert.has_error(function() conn:run "DELETE FROM t; DELETE FROM t" end)
		assert.has_error(function() conn:rows "" end)
		assert.has_error(function() conn:rows "-- only a comment" end)
		assert.has_error(function() conn:run("DELETE FROM t WHERE a = ?") end)
		assert.has_error(function() conn:run("DELETE FROM t WHERE a = ?", 1, 2) end)
		assert.has_error(function() conn:run("DELETE FROM t WHERE a = ?", {}) end)
		assert.has_error(function() conn:run(5) end)
		assert.is_truthy(conn:run "DELETE FROM t; \n;")
	end)

	it("may be more than the cache holds", function()
		for i = 1, 250 do
			assert.are.equal(i, conn:rows("SELECT " .. i .. " AS n")[1].n)
			assert.are.equal(i, conn:rows("SELECT ? AS n", i)[1].n)
		end
	end)

	it("follow when another connection changes the tables", function()
		assert.are.equal(0, #conn:rows "SELECT * FROM t")
		local other <close> = assert(sqlite.open(path))
		other:exec "ALTER TABLE t ADD COLUMN c DEFAULT 7; INSERT INTO t (a) VALUES (1)"
		assert.are.same({ { a = 1, c = 7 } }, conn:rows "SELECT * FROM t")
	end)
end)

describe("a transaction", function()
	it("is committed when its function returns, and gives what that returned", function()
		local function add(...)
			conn:run("INSERT INTO t VALUES (?, ?)", ...)
			return nil, "and", 3
		end
		assert.are.same({ true, nil, "and", 3, n = 4 }, table.pack(conn:transaction(add, 1, 2)))
		local other <close> = assert(sqlite.open(path, { readonly = true }))
		assert.are.same({ { a = 1, b = 2 } }, other:rows "SELECT * FROM t")
	end)

	it("is undone by an error, which goes through as it is", function()
		local e = setmetatable({}, { __name = "mine" })
		local ok, raised = pcall(conn.transaction, conn, function()
			conn:run "INSERT INTO t VALUES (1, 1)"
			error(e)
		end)
		assert.is_false(ok)
		assert.are.equal(e, raised)
		assert.are.equal(0, count())
		assert.is_true(conn:transaction(conn.run, conn, "INSERT INTO t VALUES (1, 1)"))
		assert.are.equal(1, count())
	end)

	it("has none inside, and can't be closed from inside", function()
		assert.has_error(function()
			conn:transaction(function() conn:transaction(print) end)
		end)
		assert.has_error(function()
			conn:transaction(function() conn:close() end)
		end)
		assert.are.equal(0, count())
	end)

	it("notices that its file was moved or deleted, instead of writing to nobody", function()
		assert(fs.rename(path, dir .. "/elsewhere.db"))
		local _, message, name = conn:transaction(error)
		assert.are.equal("SQLITE_READONLY_DBMOVED", name)
		assert.matches("moved or deleted", message)
		assert(fs.write(path, "")) -- replaced
		assert.are.equal("SQLITE_READONLY_DBMOVED", select(3, conn:transaction(error)))
		assert(fs.rename(dir .. "/elsewhere.db", path))
		assert.is_true(conn:transaction(tostring, 1))
	end)
end)

describe("another process's lock", function()
	-- A process that holds the write lock for so many seconds.
	local function holder(seconds)
		return elsewhere(([[
			local c = sqlite.open "%s"
			c:transaction(function()
				print(io.open "/proc/self/stat":read "n") io.stdout:flush()
				os.execute "exec sleep %s >/dev/null 2>&1"
			end)]]):format(path, seconds))
	end

	it("is waited for", function()
		local pipe = holder(0.4)
		local started = host.now()
		assert.is_truthy(conn:run "INSERT INTO t VALUES (1, 1)")
		assert.is_true(host.now() - started < 20000)
		pipe:close()
	end)

	it("is waited for no longer than busy_ms", function()
		local pipe, pid = holder(60)
		local hasty <close> = assert(sqlite.open(path, { busy_ms = 300 }))
		local started = host.now()
		local _, message, name = hasty:transaction(error)
		local took = host.now() - started
		assert.are.equal("SQLITE_BUSY", name)
		assert.are.equal("database is locked", message)
		assert.is_true(took >= 290 and took < 20000, took .. " ms")
		os.execute("kill -9 " .. pid)
		pipe:close()
	end)
end)

describe("a connection", function()
	it("makes a file that only its owner may read, beside it too", function()
		conn:exec "PRAGMA journal_mode = WAL; INSERT INTO t VALUES (1, 1)"
		for _, suffix in ipairs { "", "-wal", "-shm" } do
			assert.are.equal(384, fs.stat(path .. suffix).mode) -- 0600
		end
	end)

	it("leaves an existing file's mode alone", function()
		os.execute(("touch %s/own.db && chmod 640 %s/own.db"):format(dir, dir))
		sqlite.open(dir .. "/own.db"):close()
		assert.are.equal(416, fs.stat(dir .. "/own.db").mode)
	end)

	it("for reading makes no file and changes nothing", function()
		local _, _, name = sqlite.open(dir .. "/none.db", { readonly = true })
		assert.are.equal("SQLITE_CANTOPEN", name)
		assert.is_nil((fs.stat(dir .. "/none.db")))
		local reader <close> = assert(sqlite.open(path, { readonly = true }))
		assert.are.equal("SQLITE_READONLY", select(3, reader:run "DELETE FROM t"))
	end)

	it("names what is wrong with the file", function()
		fs.write(dir .. "/text.db", ("no database "):rep(200))
		local text <close> = assert(sqlite.open(dir .. "/text.db"))
		assert.are.equal("SQLITE_NOTADB", select(3, text:rows "PRAGMA user_version"))
		local _, message, name = sqlite.open(dir .. "/no/such.db")
		assert.are.equal("SQLITE_CANTOPEN", name)
		assert.matches("No such file or directory", message)
		assert.are.equal("SQLITE_CANTOPEN", select(3, sqlite.open(dir)))
	end)

	it("gives everything back when it is closed or collected", function()
		local before = open_files()
		for i = 1, 20 do
			local c = sqlite.open(dir .. "/gone.db")
			c:exec "CREATE TABLE IF NOT EXISTS t (a)"
			for j = 1, 5 do
				c:rows(("SELECT %d FROM t"):format(j))
			end
			if i % 2 == 0 then
				c:close()
				c:close()
			end
		end
		collectgarbage()
		collectgarbage()
		assert.are.equal(before, open_files())
	end)

	it("refuses to work when it is closed", function()
		conn:close()
		assert.has_error(function() conn:rows "SELECT 1" end)
		assert.has_error(function() conn:transaction(print) end)
		assert.is_true(conn:close())
	end)
end)

describe("the write-ahead log", function()
	local ADD = "INSERT INTO t VALUES (?, randomblob(9000))"

	local function log_size()
		local stat = fs.stat(path .. "-wal")
		return stat and stat.size or 0
	end

	local function add(c, i)
		return c:transaction(function() assert(c:run(ADD, i)) end)
	end

	before_each(function()
		conn:exec "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF"
	end)

	it("grows in doublings, before it is full, and up to where SQLite starts it over", function()
		local sizes, checks, before = {}, 0, 0
		for i = 1, 500 do
			assert(add(conn, i))
			local size = log_size()
			if size ~= before and size > 65536 then
				sizes[#sizes + 1], before = size, size
			end
			checks = checks + (conn:rows("SELECT count(*) AS n FROM t")[1].n == i and 1 or 0)
		end
		assert.are.equal(500, checks)
		assert.is_true(#sizes >= 5 and #sizes <= 16, table.concat(sizes, " "))
		assert.is_true(sizes[#sizes] < 5 << 20, table.concat(sizes, " "))
	end)

	it("has no room in a short run", function()
		assert(add(conn, 1))
		assert(add(conn, 2))
		assert.is_true(log_size() < 65536)
	end)

	it("has room once, whoever writes: connections don't outdo each other", function()
		while log_size() <= 65536 do
			assert(add(conn, 1))
		end
		assert(add(conn, 1))
		assert.are.equal(131072, log_size())
		for _ = 1, 3 do
			local other = assert(sqlite.open(path))
			assert(other:run "INSERT INTO t VALUES (1, 2)")
			assert(other:transaction(function() assert(other:run "INSERT INTO t VALUES (3, 4)") end))
			other:close()
		end
		assert.are.equal(131072, log_size())
	end)

	it("keeps what two connections write in turn", function()
		local other = assert(sqlite.open(path))
		for i = 1, 200 do
			assert(add(i % 3 == 0 and other or conn, i))
		end
		assert.are.equal(200, count())
		assert.are.equal("ok", other:rows("PRAGMA integrity_check")[1].integrity_check)
		other:close()
	end)

	it("gives back what was committed when its process is killed, and no zeros", function()
		local code = ([[local c = sqlite.open "%s"
			for i = 1, 100 do
				c:transaction(function() c:run("INSERT INTO t VALUES (?, randomblob(9000))", i) end)
			end
			print "done"
			io.stdout:flush()
			os.execute("kill -9 $PPID")]]):format(path)
		conn:close()
		assert.are.equal("done", output_of(code))
		assert.is_true(log_size() > 100 * 9000 * 1.1)
		conn = assert(sqlite.open(path))
		assert.are.equal(100, count())
		assert.are.equal("ok", conn:rows("PRAGMA integrity_check")[1].integrity_check)
	end)

	it("takes no more than there is room for, and fails only where SQLite would", function()
		local code = ([[local c = sqlite.open "%s"
			local n = 0
			for i = 1, 100 do
				local ok = c:transaction(function() assert(c:run("INSERT INTO t VALUES (?, randomblob(9000))", i)) end)
				if not ok then break end
				n = i
			end
			print(n)]]):format(path)
		conn:close()
		local pipe = io.popen(("trap \"\" XFSZ; ulimit -f 600; exec lua5.4 -e '%s' 2>&1"):format(SETUP .. code))
		local committed = tonumber(pipe:read "l")
		pipe:close()
		assert.is_true(committed > 14 and committed < 20, tostring(committed)) -- of 307,200 bytes each takes 4 or 5 pages
		conn = assert(sqlite.open(path))
		assert.are.equal(committed, count())
	end)

	it("of another kind is left alone", function()
		conn:exec "PRAGMA journal_mode = PERSIST; PRAGMA synchronous = OFF"
		for i = 1, 60 do
			assert(add(conn, i))
		end
		assert.is_true(fs.stat(path .. "-journal").size < 65536)
		assert.are.equal(60, count())
	end)
end)
