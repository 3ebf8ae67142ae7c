-- What an attempt has printed so far, for readers in other processes and for those after a crash.

local fs = require "runner.fs"
local masks = require "runner.core.mask"
local partial_log = require "runner.workflow.report.partial_log"

local dir, log

local function writer(...)
	local _, hide = masks.masker { ... }
	return partial_log.writer(log, hide)
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
		dir = os.tmpname()
		assert(os.remove(dir))
		log = dir .. "/logs/run/step-1.json"
	end)

	after_each(function()
		fs.remove_tree(dir)
	end)

	it("makes its directory, and is for the owner alone", function()
		put(writer(), "a\n")
		assert.are.equal(384, fs.stat(dir .. "/logs/run/step-1.part").mode)
		assert.are.equal(448, fs.stat(dir .. "/logs/run").mode)
	end)

	it("is read as it grows, each piece once", function()
		local w, r = writer(), partial_log.reader(log)
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
		local w, r = writer("s3cr3t-v4lue"), partial_log.reader(log)
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
		local w, early = writer(), partial_log.reader(log)
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
		local record = partial_log.record(log)
		assert.is_true(record.partial)
		assert.are.equal("", record.stderr)
		assert.matches("^%[… earlier output omitted …%]\n", record.stdout:sub(1, 200))
		assert.is_true(#record.stdout > 1 << 20 and #record.stdout < 3 << 20)
		assert.are.equal(2, #fs.list(dir .. "/logs/run"))
		w:remove()
		assert.are.equal(0, #fs.list(dir .. "/logs/run"))
	end)

	it("that is damaged gives what is left of it", function()
		local w = writer()
		put(w, "a\n")
		local path = dir .. "/logs/run/step-1.part"
		local text = fs.read(path)
		assert(fs.write(path, '\0junk\n{"n":"x"}\n[1]\n{"n":1,"stream":"odd","text":"b"}\n{"n":2,"stream":"stderr","text":{}}\n'
			.. text:gsub('"n":1', '"n":3') .. '{"n":4,"stream":"stdout","te'))
		assert.are.same({ stdout = "a\n", stderr = "", partial = true }, partial_log.record(log))
		assert(fs.write(path, ""))
		assert.is_nil(partial_log.record(log))
	end)

	it("that can't be written raises nothing", function()
		assert(fs.write(dir, "a file"))
		local w = writer()
		put(w, "a\n")
		put(w, "b\n")
		w:finish()
		w:remove()
		assert.is_nil(partial_log.record(log))
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
