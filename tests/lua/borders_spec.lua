-- The borders of the house: which room may use which (.ci/docs/layers.lua), that nothing goes
-- in circles, and that each file says first what it owns.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local borders = dofile(ROOT .. "tests/lua/lib/borders.lua")
local house = dofile(ROOT .. ".ci/docs/layers.lua")

-- The bindings by the names that the library requires them by.
local BINDINGS = {}
for name in borders.read(ROOT .. "src/bindings/bindings.def"):gmatch '\nBINDING%("([%w_]+)"' do
	BINDINGS[name] = "src/bindings/"
end

local function table_of_rooms()
	local lines = {}
	for _, room in ipairs(house.rooms) do
		lines[#lines + 1] = ("%-16s may use %s"):format(room.name, table.concat(room.uses, " "))
	end
	return table.concat(lines, "\n")
end

local function none(lines)
	assert.is_nil(lines[1], table.concat(lines, "\n") .. "\n\nThe rooms (.ci/docs/layers.lua):\n" .. table_of_rooms())
end

describe("the borders", function()
	local uses = borders.uses(ROOT, BINDINGS)

	it("see what every file uses", function()
		local files, links = 0, 0
		for _, list in pairs(uses) do
			files, links = files + 1, links + #list
		end
		assert.is_true(files > 150 and links > 500, ("%d files, %d uses"):format(files, links))
		assert.is_truthy(BINDINGS.host and BINDINGS.json)
		assert.same({ "src/common/buf.h" }, borders.uses(ROOT, BINDINGS)["src/common/buf.c"])
	end)

	it("let every file use its own room and those that .ci/docs/layers.lua allows, and nothing else", function()
		none(borders.strangers(house.rooms, uses, house.circles))
	end)

	it("let no file use a module that isn't there", function()
		local missing = {}
		for path, list in pairs(uses) do
			for _, used in ipairs(list) do
				missing[#missing + 1] = used:find "%.lua$" and not uses[used] and path .. " uses " .. used or nil
			end
		end
		none(missing)
	end)

	it("find a file that goes where it must not", function()
		local bad = { ["src/engine/a.c"] = { "src/supervisor/run.h" }, ["lua/core/a.lua"] = { "lua/project/plan.lua" },
			["lua/stray.lua"] = {} , ["lua/core/b.lua"] = { "src/bindings/", "lua/core/a.lua" } }
		bad["lua/stray.lua"] = { "lua/core/a.lua" }
		assert.equal(3, #borders.strangers(house.rooms, bad, {}))
	end)

	it("know no circle of files, not even by what is loaded late", function()
		none(borders.cycles(uses))
		assert.same({ "a ⇄ b" }, borders.cycles { a = { "b" }, b = { "a" }, c = { "a" } })
	end)

	it("need every exception that .ci/docs/layers.lua makes", function()
		for name in pairs(house.circles) do
			assert.equal(1, #borders.strangers(house.rooms, uses, {}), name)
		end
	end)

	it("give every room a floor above all that it uses", function()
		local floor = {}
		for n, names in ipairs(borders.floors(house.rooms)) do
			for _, name in ipairs(names) do
				floor[name] = n
			end
		end
		for _, room in ipairs(house.rooms) do
			for _, below in ipairs(room.uses) do
				assert.is_true(floor[below] < floor[room.name], room.name .. " stands on " .. below)
			end
		end
	end)
end)

-- Who assigns to members of the attempt or of its records but lua/boot.lua. The list may only get shorter: what a module
-- finds it returns, and what it alone needs are locals of its own.
local WRITERS = {
	["lua/commands/several.lua"] = { "secrets" }, -- of its calls, which are read when it runs
	["lua/project/call_flags.lua"] = { "framework.verbose" }, ["lua/project/declarations.lua"] = { "launch.format" },
	["lua/project/input.lua"] = { "parsed.problems" }, ["lua/workflow/run/chunk.lua"] = { "warn" },
}

describe("the attempt", function()
	it("gets its members from lua/boot.lua alone", function()
		local found = {}
		for path in pairs(borders.uses(ROOT, BINDINGS)) do
			if path:find "^lua/" and path ~= "lua/boot.lua" then
				local writes = borders.attempt_writes(borders.read(ROOT .. path))
				found[path] = writes[1] and writes or nil
			end
		end
		assert.same(WRITERS, found)
		assert.is_true(#borders.attempt_writes(borders.read(ROOT .. "lua/boot.lua")) > 10)
	end)

	it("is seen to be written, however that is spelt", function()
		local about = "---@param a runner.Attempt\n"
		for line, member in pairs { ["\ta.mask = 1"] = "mask", ["\ta.project.root, problem = f()"] = "project.root",
			["\tlist[a.x], attempt.rows = 1, 2"] = "rows", ["function a.decide(x)"] = "decide", ["attempt.texts[format] = text"] = "texts",
			["\tif x then a.job = nil end"] = "job" } do
			assert.same({ member }, borders.attempt_writes(about .. line), line)
		end
		for _, line in ipairs { "local x = a.mask", "f(a.mask == 1)", "-- a.mask = 1", 'error "a.mask = 1"', "b.mask = a.mask" } do
			assert.same({}, borders.attempt_writes(about .. line), line)
		end
	end)
end)

describe("every file of the rooms", function()
	it("says first what it owns, a Lua file by its name", function()
		for _, path in ipairs(borders.files(ROOT)) do
			local text, name = borders.read(ROOT .. path), path:match "([^/]+)%.%w+$"
			if path:find "^lua/types/" then
				assert.equal("---@meta", text:match "^%S+", path)
			elseif path:find "%.lua$" then
				assert.equal("-- " .. (path:find "^lua/commands/" and "" or name .. ":"),
					text:match(path:find "^lua/commands/" and "^%-%- " or "^%-%- [^:]*:"), path)
			else
				assert.equal("/*", text:sub(1, 2), path)
			end
		end
	end)
end)
