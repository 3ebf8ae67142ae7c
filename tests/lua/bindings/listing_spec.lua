-- The lines of a cache of declarations, as they are found and taken apart.

local listing = require "runner.listing"

local FIRST = "runner 1 x\n"

local function line_of(name, mark, fields)
	return ("%s\t%s\t%s\n"):format(name, mark, table.concat(fields, "\t"))
end

local function beginning(name, mark)
	return ("\n%s\t%s\t"):format(name, mark)
end

-- The same with patterns, from the beginning.
local function by_patterns(text, with)
	local _, at = text:find(with, 1, true)
	local shown, danger, required, aliases, description = text:match("^([hv])\t(%l+)\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)", (at or #text) + 1)
	if shown then
		return at, shown, danger, required, aliases, description
	end
end

describe("a line of a cache", function()
	it("is found from any place before or behind it, and taken apart", function()
		local text = FIRST .. line_of("a.lua", "1", { "v", "safe", "", "", "The first" })
			.. line_of("b.lua", "2", { "h", "mutating", "lib.lua=3", "bb bbb", "" })
			.. line_of("c.lua", "3", { "v", "safe", "", "", "with\ttabs" })
		for at = 1, #text + 1 do
			assert.same({ "v", "safe", "", "", "The first" }, { select(2, listing.line(text, at, beginning("a.lua", "1"))) })
			assert.same({ "h", "mutating", "lib.lua=3", "bb bbb", "" }, { select(2, listing.line(text, at, beginning("b.lua", "2"))) })
			assert.same({ "v", "safe", "", "", "with\ttabs" }, { select(2, listing.line(text, at, beginning("c.lua", "3"))) })
			assert.same({}, { listing.line(text, at, beginning("b.lua", "3")) })
			assert.same({}, { listing.line(text, at, beginning(".lua", "1")) })
		end
		local at = listing.line(text, 1, beginning("a.lua", "1"))
		assert.equal("a.lua\t1\t", text:sub(at - 7, at))
	end)

	it("is not there where it is damaged", function()
		for _, fields in ipairs { { "x", "safe", "", "", "" }, { "", "safe", "", "", "" }, { "vv", "safe", "", "", "" },
			{ "\0", "safe", "", "", "" }, { "v", "", "", "", "" }, { "v", "Safe", "", "", "" }, { "v", "sa fe", "", "", "" },
			{ "v", "safe", "", "" }, { "v" }, {} } do
			local text = FIRST .. line_of("a.lua", "1", fields) .. line_of("b.lua", "1", { "v", "safe", "", "", "fine" })
			assert.same({}, { listing.line(text, 1, beginning("a.lua", "1")) }, table.concat(fields, "|"))
		end
		for _, text in ipairs { "", "\n", "\na.lua\t1\t", "\na.lua\t1", "\na.lua\t1\tv\tsafe\t\t" } do
			assert.same({}, { listing.line(text, 1, beginning("a.lua", "1")) }, text)
		end
		assert.has_error(function()
			listing.line("x", 3, "y")
		end)
		assert.has_error(function()
			listing.line("x", 0, "y")
		end)
	end)

	it("is what patterns would find, in any text", function()
		local pieces = { "\n", "\t", "v", "h", "safe", "a.lua", "1", "x", "\na.lua\t1\t", "v\tsafe\t\t\t", "\0" }
		math.randomseed(7)
		local found = 0
		for _ = 1, 20000 do
			local parts = {}
			for i = 1, math.random(0, 14) do
				parts[i] = pieces[math.random(#pieces)]
			end
			local text = table.concat(parts)
			local wanted = { by_patterns(text, "\na.lua\t1\t") }
			assert.same(wanted, { listing.line(text, 1, "\na.lua\t1\t") }, ("%q"):format(text))
			found = found + (wanted[1] and 1 or 0)
		end
		assert.is_true(found > 500, found)
	end)
end)
