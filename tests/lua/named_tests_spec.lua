-- Tables of a page whose last column is "test": each row names one that is there.

local function read(path)
	local file <close> = assert(io.open(path))
	return file:read "a"
end

-- Whether it names a test, in quotes as the file has it.
local function is_there(path, name)
	local file <close> = io.open(path)
	local text = file and file:read "a" or ""
	if path:find "%.bats$" then
		return text:find(('@test "%s" {\n'):format(name:gsub('["\\$`]', "\\%0")), 1, true) ~= nil
	end
	return text:find(('it("%s", '):format(name), 1, true) ~= nil
end

-- The rows of all tables that begin so, and those that name no test.
local function rows(page, head)
	local count, without, is_in = 0, {}, false
	for line in (read(page) .. "\n"):gmatch "([^\n]*)\n" do
		local is_row = line:find "^|" and not line:find "^|[-|]+$"
		if is_in and is_row then
			count = count + 1
			local path, name = line:match "| `(tests/[%w_/.]+)`: ([^|]+) |$"
			without[#without + 1] = not (path and is_there(path, name)) and line or nil
		end
		is_in = line:find "^|" and is_in or line == head
	end
	return count, without
end

describe("a row of a table of tests", function()
	for _, table in ipairs { { "docs/reliability.md", "| promise | test |", 30 }, { "docs/reliability.md", "| way | test |", 30 },
		{ "docs/security.md", "| promise | test |", 20 }, { "docs/scale.md", "| what is seen | what runner does | test |", 25 } } do
		local page, head, least = table[1], table[2], table[3]
		it(("names one that is there: %s: %s"):format(page, head), function()
			local count, without = rows(page, head)
			assert.same({}, without)
			assert.is_true(count >= least, count)
		end)
	end
end)
