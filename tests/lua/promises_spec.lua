-- The stored mutants of promises (tests/mutate/promises): each has its place in the sources as they are
-- now, and its tests. Whether these fail is for tests/mutate/promises/run, which takes its time.

local catalogue = dofile "tests/mutate/promises/catalogue.lua"
local compliance = dofile ".ci/docs/compliance.lua"

local function read(path)
	local file <close> = assert(io.open(path))
	return file:read "a"
end

local function has_test(test)
	local path, name = test:match "^(tests/[%w_/.]+): (.+)$"
	local text = path and read(path) or ""
	if path and path:find "%.bats$" then
		return text:find(('@test "%s" {\n'):format(name:gsub('["\\$`]', "\\%0")), 1, true)
	end
	return name and text:find(name, 1, true)
end

describe("the stored mutants of promises", function()
	local entries = catalogue.entries()
	local seen = {}
	for _, entry in ipairs(entries) do
		seen[entry.page .. " " .. entry.id] = true
	end

	it("have one place each in the sources", function()
		local sources, lost = catalogue.sources(), {}
		for _, entry in ipairs(entries) do
			local places = catalogue.places(entry.find, sources)
			assert.not_equal(entry.find, entry.replacement)
			if #places ~= 1 then
				lost[#lost + 1] = ("%s stands in { %s }: %s"):format(entry.id, table.concat(places, ", "), entry.find)
			end
		end
		assert.equal("", table.concat(lost, "\n"))
	end)

	it("have tests that are there", function()
		for _, entry in ipairs(entries) do
			assert.is_true(#entry.tests > 0, entry.id .. " names no test")
			for _, test in ipairs(entry.tests) do
				assert.truthy(has_test(test), entry.id .. ": " .. test)
			end
		end
	end)

	it("are there for every row of the page of compliance that is done", function()
		local without = {}
		for _, row in ipairs(compliance.entries()) do
			if (row.status == "done" or row.status == "departs") and not seen["compliance " .. row.id] then
				without[#without + 1] = row.id
			end
		end
		assert.same({}, without)
	end)

	it("are there for every promise of the pages of reliability and security", function()
		for _, page in ipairs { "reliability", "security" } do
			local without, known = {}, {}
			for i, promise in ipairs(catalogue.promises(page)) do
				known[promise] = i
				without[#without + 1] = not seen[page .. " " .. promise] and promise or nil
			end
			assert.same({}, without)
			for _, entry in ipairs(entries) do
				assert.truthy(entry.page ~= page or known[entry.id], entry.id .. " is no promise of the page")
			end
		end
	end)
end)
