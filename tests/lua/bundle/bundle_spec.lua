-- The parts of `runner bundle` that need no program: an archive and back, and a section in an ELF file.

local archive = require "runner.bundle.archive"

describe("an archive", function()
	it("gives back the files that went in, of any bytes", function()
		local files = { { path = "a", text = "" }, { path = "b/c.lua", text = "\0\255\n" } }
		local head, back = archive.unpack(archive.pack({ name = "x", version = "1" }, files))
		assert.same({ name = "x", version = "1" }, head)
		assert.same(files, back)
	end)

	it("unpacks nothing outside of its folder, and nothing that is cut", function()
		for _, path in ipairs { "../x", "a/../../x", "/etc/x", "", ".." } do
			assert.is_false((pcall(archive.unpack, archive.pack({}, { { path = path, text = "" } }))), path)
		end
		local bytes = archive.pack({}, { { path = "a", text = "text" } })
		for n = 0, #bytes - 1 do
			if n ~= 6 then -- the head alone is an archive without files
				assert.is_false((pcall(archive.unpack, bytes:sub(1, n))), n)
			end
		end
	end)
end)

describe("a section", function()
	it("is refused for what is no 64-bit ELF file", function()
		for _, text in ipairs { "", "\127ELF", "#!/bin/sh\n", "\127ELF\1\1" .. ("\0"):rep(100), "\127ELF\2\1" .. ("\0"):rep(100) } do
			local program, why = archive.with_section(text, ".x", "data")
			assert.is_nil(program)
			assert.is_string(why)
		end
	end)
end)
