-- The borders of the house: which room may use which (docs/rooms.lua), that nothing goes
-- in circles, how long a file may be, and that it says first what it owns.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local borders = dofile(ROOT .. "tests/lua/lib/borders.lua")
local house = dofile(ROOT .. "docs/rooms.lua")

local MAX_LINES = 400
local LONG = { ["lua/types/runner.lua"] = true } -- a reference without code

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
	assert.is_nil(lines[1], table.concat(lines, "\n") .. "\n\nThe rooms (docs/rooms.lua):\n" .. table_of_rooms())
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

	it("let every file use its own room and those that docs/rooms.lua allows, and nothing else", function()
		none(borders.strangers(house.rooms, uses, house.circles))
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

	it("need every exception that docs/rooms.lua makes", function()
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

describe("every file of the rooms", function()
	it("has at most 400 lines", function()
		for _, path in ipairs(borders.files(ROOT)) do
			local _, lines = borders.read(ROOT .. path):gsub("\n", "")
			assert.is_true(lines <= MAX_LINES or LONG[path] or false, ("%s has %d lines"):format(path, lines))
		end
	end)

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
