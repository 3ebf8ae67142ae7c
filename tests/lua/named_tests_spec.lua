-- What docs/reliability.md says that a model can't do has the test that it names.

local function read(path)
	local file <close> = assert(io.open(path))
	return file:read "a"
end

describe("the page about reliability", function()
	it("names tests that are there", function()
		local count = 0
		for path, name in read("docs/reliability.md"):gmatch "| `(tests/[%w_/.]+)`: ([^|\n]+) |" do
			count = count + 1
			local text = read(path)
			local is_there = text:find(('@test "%s"'):format(name), 1, true) or text:find(('it("%s"'):format(name), 1, true)
			assert.is_truthy(is_there, path .. ": " .. name)
		end
		assert.is_true(count >= 30, count)
	end)
end)
