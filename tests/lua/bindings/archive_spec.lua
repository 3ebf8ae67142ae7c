-- The binding of libarchive: what it says of entries, and how it fails. What runner add makes of them is
-- tested in tests/cli/libraries_hostile.bats.

local archive = require "runner.archive"
local fs = require "runner.fs"

-- A tar header as POSIX has it (ustar).
local function entry(name, data, kind, link)
	local head = name .. ("\0"):rep(100 - #name) .. "0000644\0" .. "0000000\0" .. "0000000\0" .. ("%011o\0"):format(#data)
		.. ("%011o\0"):format(0) .. (" "):rep(8) .. (kind or "0") .. (link or "") .. ("\0"):rep(100 - #(link or "")) .. "ustar\00000"
	head = head .. ("\0"):rep(512 - #head)
	local sum = 0
	for i = 1, 512 do
		sum = sum + head:byte(i)
	end
	head = head:sub(1, 148) .. ("%06o\0 "):format(sum) .. head:sub(157)
	return head .. data .. ("\0"):rep(-#data % 512)
end

local END = ("\0"):rep(1024)

describe("archive", function()
	local path

	before_each(function()
		path = os.tmpname()
	end)
	after_each(function()
		os.remove(path)
	end)

	local function open(bytes)
		assert(fs.write(path, bytes))
		local reader, why, code = archive.open(path)
		if code == "PRECONDITION" then
			pending "there is no libarchive"
		end
		return reader, why, code
	end

	it("tells files, folders, links and the rest, and reads what is in a file", function()
		local reader = open(entry("a.lua", "text") .. entry("d/", "", "5") .. entry("l", "", "2", "a.lua")
			.. entry("h", "", "1", "a.lua") .. entry("p", "", "6") .. END)
		if not reader then
			return
		end
		local first = reader:next()
		assert.same({ "a.lua", "file", 4, 420 }, { first.path, first.type, first.size, first.mode })
		assert.equal("text", reader:read(4))
		local kinds = {}
		for one in function() return reader:next() end do
			kinds[#kinds + 1] = one.type
			assert.is_true(one.unpacked >= 512)
		end
		assert.same({ "directory", "link", "link", "other" }, kinds)
		assert.is_nil(reader:next())
		reader:close()
		reader:close()
		assert.has_error(function() reader:next() end)
	end)

	it("reads no more of a file than it may", function()
		local reader = open(entry("a", ("x"):rep(1000)) .. END)
		if reader then
			reader:next()
			assert.equal("E2BIG", select(3, reader:read(999)))
		end
	end)

	it("names what is no archive, no file and not there", function()
		local reader, _, code = open(("x"):rep(2000))
		if code ~= "PRECONDITION" then
			assert.equal("EILSEQ", reader and select(3, reader:next()) or code)
			assert.equal("ENOENT", select(3, archive.open(path .. ".nosuch")))
			assert.equal("EINVAL", select(3, archive.open "/tmp"))
			assert.has_error(function() archive.open() end)
			assert.has_error(function() archive.open "a\0b" end)
		end
	end)
end)
