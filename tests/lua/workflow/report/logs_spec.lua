-- The log of an attempt: where it is, who may read it, and what comes back.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"
local masks = require "runner.core.mask"

local dir, state, home

local function code_of(call, ...)
	local ok, e = pcall(call, ...)
	assert.is_false(ok)
	return e.code, e.message
end

describe("logs", function()
	before_each(function()
		state, home = os.getenv "XDG_STATE_HOME", os.getenv "HOME"
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir, 448))
		host.setenv("XDG_STATE_HOME", dir)
	end)

	after_each(function()
		host.setenv("XDG_STATE_HOME", state)
		host.setenv("HOME", home)
		fs.remove_tree(dir)
	end)

	it("are in the state directory, by run, step and attempt", function()
		assert.are.equal(dir .. "/runner/logs/01RUN/3.on_failure.1-2.json", logs.path("01RUN", "3.on_failure.1", 2))
		host.setenv("XDG_STATE_HOME", "relative/is/not/used")
		host.setenv("HOME", dir)
		assert.are.equal(dir .. "/.local/state/runner/logs/r/1-1.json", logs.path("r", "1", 1))
		host.setenv("HOME", nil)
		assert.are.equal("PRECONDITION", (code_of(logs.path, "r", "1", 1)))
	end)

	it("can't leave their folder, whatever a step is called", function()
		assert.are.equal(dir .. "/runner/logs/r/%2E.%2Fx%20y-1.json", logs.path("r", "../x y", 1))
		local long = logs.path("r", ("k"):rep(500), 1)
		assert.is_true(#long:match "[^/]+$" < 255)
		assert.are_not.equal(long, logs.path("r", ("k"):rep(501), 1))
	end)

	it("come back as they were written", function()
		local path = logs.path("r", "1", 1)
		local record = { attempt = 1, stdout = "a\nb", nested = { list = json.array {} }, null = json.null }
		logs.write("r", path, record)
		assert.are.same(record, logs.read(path))
		logs.write("r", path, { attempt = 2 })
		assert.are.same({ attempt = 2 }, logs.read(path))
		assert.are.same({ "1-1.json" }, fs.list(path:match "^(.*)/"))
	end)

	-- As the store gives it, for an attempt whose record was just written.
	local function row_of(record, succeeded)
		local own = logs.path("r", record.step, record.number)
		local path, at = logs.write("r", own, record, succeeded)
		return { key = record.step, number = record.number, log = path, log_at = at, status = 0 }
	end

	it("of short successes share a file, and each is found by its offset", function()
		local rows, records = {}, {}
		for i, step in ipairs { "1", 'a "quoted"\nname', "3" } do
			records[i] = { step = step, number = i, stdout = ("x"):rep(i * 5000) }
			rows[i] = row_of(records[i], true)
		end
		assert.are.same({ "succeeded.jsonl" }, fs.list(dir .. "/runner/logs/r"))
		assert.are.equal(384, fs.stat(rows[1].log).mode & 511)
		for i, row in ipairs(rows) do
			assert.are.same(records[i], logs.of("r", row))
		end
	end)

	it("of failures and of long successes have files of their own", function()
		local long = { step = "long", number = 1, stdout = ("x"):rep(64 << 10) }
		local failed = { step = "failed", number = 2, code = "SUBPROCESS_FAILED" }
		assert.are.same(long, logs.of("r", row_of(long, true)))
		assert.are.same(failed, logs.of("r", row_of(failed, false)))
		assert.are.same({ "failed-2.json", "long-1.json" }, fs.list(dir .. "/runner/logs/r"))
	end)

	it("share a file up to the last byte that a line may have", function()
		local record = { number = 1, step = "1", stdout = "" }
		record.stdout = ("x"):rep((64 << 10) - #json.encode(record) - 1)
		local row = row_of(record, true)
		assert.are.equal(0, row.log_at)
		row_of({ step = "2", number = 1 }, true)
		assert.are.same(record, logs.of("r", row))
		record.stdout = record.stdout .. "x"
		assert.is_nil(row_of(record, true).log_at)
	end)

	it("that a power loss took are missing, and cost no other", function()
		local lost, path = row_of({ step = "lost", number = 1 }, true), dir .. "/runner/logs/r/succeeded.jsonl"
		for _, left in ipairs { "", '{"number":1,"st', "\0\0\0\0", ("x"):rep(200000) } do
			assert(fs.write(path, left))
			local _, message = logs.of("r", lost)
			assert.matches("no log of step lost, attempt 1", message)
			local kept = row_of({ step = "kept", number = 1 }, true)
			assert.are.same({ step = "kept", number = 1 }, logs.of("r", kept))
			assert.is_nil((logs.of("r", lost)))
		end
		assert(fs.unlink(path))
		assert.matches("damaged", (select(2, logs.of("r", lost))))
	end)

	it("of an attempt whose end was never committed is found by its step", function()
		row_of({ step = "other", number = 1, stdout = '"step":"cut"' }, true)
		row_of({ step = "cut", number = 2, stdout = "the second" }, true)
		row_of({ step = "cut", number = 1, stdout = "it was done" }, true)
		local row = { key = "cut", number = 1, log = logs.path("r", "cut", 1) }
		assert.are.equal("it was done", logs.of("r", row).stdout)
		row.status = 0 -- it was committed: its own file is only missing
		assert.is_nil((logs.of("r", row)))
		assert.is_nil((logs.of("r", { key = "cut", number = 3, log = logs.path("r", "cut", 3) })))
		assert.is_nil((logs.of("none", { key = "cut", number = 1, log = logs.path("none", "cut", 1) })))
	end)

	it("are found where the step's name was masked", function()
		local _, at = logs.write("r", "", { step = "***", number = 1, stdout = "x" }, true)
		local row = { key = "s3cret", number = 1, log = dir .. "/runner/logs/r/succeeded.jsonl", log_at = at }
		assert.are.equal("x", logs.of("r", row).stdout)
	end)

	it("are for their owner alone", function()
		local path = logs.path("r", "1", 1)
		logs.write("r", path, {})
		assert.are.equal(384, fs.stat(path).mode & 511)
		assert.are.equal(448, fs.stat((path:match "^(.*)/")).mode & 511)
	end)

	it("keep output that is no valid UTF-8 readable", function()
		local path = logs.path("r", "1", 1)
		logs.write("r", path, { stdout = "a\xff\0b" })
		assert.matches("^a.+b$", logs.read(path).stdout)
	end)

	it("say why they can't be written or read", function()
		local path = logs.path("r", "1", 1)
		local record, _, errno = logs.read(path)
		assert.is_nil(record)
		assert.are.equal("ENOENT", errno)
		assert(fs.write(dir .. "/runner", "a file in the way"))
		local ok, message
		ok, message, errno = logs.write("r", path, {})
		assert.is_nil(ok)
		assert.matches("runner", message)
		assert.are.equal("EEXIST", errno)
		assert(fs.write(dir .. "/broken.json", "{"))
		record, message = logs.read(dir .. "/broken.json")
		assert.is_nil(record)
		assert.matches("damaged", message)
		assert.is_nil((logs.write("r", dir .. "/x.json", { f = print })))
	end)
end)

-- What an attempt has printed so far, for readers in other processes and for those after a crash.

local folder, log

local function writer(...)
	local _, hide = masks.masker { ... }
	return logs.partial_writer(log, hide)
end

local function put(w, text, stream)
	w:put { { stream = stream or "stdout", text = text } }
end

local function text_of(pieces, stream)
	local out = {}
	for _, piece in ipairs(pieces) do
		out[#out + 1] = piece.stream == (stream or "stdout") and piece.text or nil
	end
	return table.concat(out)
end

describe("a partial log", function()
	before_each(function()
		folder = os.tmpname()
		assert(os.remove(folder))
		log = folder .. "/logs/run/step-1.json"
	end)

	after_each(function()
		fs.remove_tree(folder)
	end)

	it("makes its directory, and is for the owner alone", function()
		put(writer(), "a\n")
		assert.are.equal(384, fs.stat(folder .. "/logs/run/step-1.part").mode)
		assert.are.equal(448, fs.stat(folder .. "/logs/run").mode)
	end)

	it("is read as it grows, each piece once", function()
		local w, r = writer(), logs.partial_reader(log)
		assert.are.same({}, r:read())
		assert.is_false(r:has_news())
		put(w, "a\n")
		put(w, "b\n", "stderr")
		assert.is_true(r:has_news())
		assert.are.same({ { stream = "stdout", text = "a\n" }, { stream = "stderr", text = "b\n" } }, r:read())
		assert.is_false(r:has_news())
		assert.are.same({}, r:read())
		put(w, "c\n \n")
		assert.are.same({ { stream = "stdout", text = "c\n \n" } }, r:read())
		assert.are.equal("c", r:last_line())
		assert.is_false(r.over)
		w:finish()
		w:remove()
		r:read()
		assert.is_true(r.over)
		r:close()
	end)

	it("holds back what may be the beginning of a secret, and nothing else", function()
		local w, r = writer("s3cr3t-v4lue"), logs.partial_reader(log)
		put(w, "plain s3cr")
		assert.are.equal("plain ", text_of(r:read()))
		put(w, "ummage ")
		assert.are.equal("s3crummage ", text_of(r:read()))
		put(w, "the s3cr3t")
		put(w, "-v4lue\n")
		assert.are.equal("the ***\n", text_of(r:read()))
		put(w, "s3cr")
		w:finish()
		assert.are.equal("s3cr", text_of(r:read()))
		r:close()
	end)

	it("keeps the newest of what exceeds two files, and says that something is missing", function()
		local w, early = writer(), logs.partial_reader(log)
		local line = ("x"):rep(65535) .. "\n"
		put(w, "first\n")
		assert.are.equal("first\n", text_of(early:read()))
		for _ = 1, 20 do
			put(w, line)
		end
		assert.are.equal(20 * 65536, #text_of(early:read())) -- none is lost between the two files
		for i = 1, 60 do
			put(w, i .. line)
		end
		local pieces = early:read()
		early:close()
		assert.is_truthy(text_of(pieces):find("[… earlier output omitted …]\n", 1, true))
		assert.are.equal("60x", text_of(pieces):match "(%d+x)x*\n$")
		local record = logs.partial_record(log)
		assert.is_true(record.partial)
		assert.are.equal("", record.stderr)
		assert.matches("^%[… earlier output omitted …%]\n", record.stdout:sub(1, 200))
		assert.is_true(#record.stdout > 1 << 20 and #record.stdout < 3 << 20)
		assert.are.equal(2, #fs.list(folder .. "/logs/run"))
		w:remove()
		assert.are.equal(0, #fs.list(folder .. "/logs/run"))
	end)

	it("that is damaged gives what is left of it", function()
		local w = writer()
		put(w, "a\n")
		local path = folder .. "/logs/run/step-1.part"
		local text = fs.read(path)
		assert(fs.write(path, '\0junk\n{"n":"x"}\n[1]\n{"n":1,"stream":"odd","text":"b"}\n{"n":2,"stream":"stderr","text":{}}\n'
			.. text:gsub('"n":1', '"n":3') .. '{"n":4,"stream":"stdout","te'))
		assert.are.same({ stdout = "a\n", stderr = "", partial = true }, logs.partial_record(log))
		assert(fs.write(path, ""))
		assert.is_nil(logs.partial_record(log))
	end)

	it("that can't be written raises nothing", function()
		assert(fs.write(folder, "a file"))
		local w = writer()
		put(w, "a\n")
		put(w, "b\n")
		w:finish()
		w:remove()
		assert.is_nil(logs.partial_record(log))
	end)
end)

describe("masking piece by piece", function()
	it("shows what masking the whole text shows, however it is cut", function()
		local mask, hide = masks.masker { "abcab", "y\ny", "longer secret\nof two lines" }
		local letters = { "abcab", "abc", "ab", "y", "y\n", "longer ", "secret\n", "of two lines", "x", "longer secret\nof two lines" }
		math.randomseed(7)
		for _ = 1, 300 do
			local whole, out, put_piece = {}, {}, hide.stream()
			for i = 1, 30 do
				whole[i] = letters[math.random(#letters)]
				out[i] = put_piece(whole[i])
			end
			out[#out + 1] = put_piece(nil)
			local expected, got = mask(table.concat(whole)), table.concat(out)
			assert.are.equal((expected:gsub("%*+", "*")), (got:gsub("%*+", "*")), table.concat(whole))
		end
	end)

	it("holds back no more than a bounded part of what looks like many secrets in a row", function()
		local _, hide = masks.masker { "y\ny\n!" }
		local put_piece, out = hide.stream(), 0
		for _ = 1, 1000 do
			out = out + #put_piece "y\n"
		end
		assert.is_true(out > 1900)
	end)
end)
