-- What `runner releases` tells while another deploys: between any two looks of it at the
-- file system.

local fs = require "fs"

local LOOKS = { "list", "lstat", "read", "readlink" }

local dir

local function path(name)
	return dir .. "/" .. name
end

local function add(name)
	assert(fs.mkdirs(path("releases/" .. name)))
end

local function activate(name)
	assert(fs.swap_symlink("releases/" .. name, path "current"))
end

-- Runs it with act() in front of its look number `at`. The rows, and how many looks there were.
local function releases(at, act)
	local command = dofile "commands/releases.lua"
	local original, looks = {}, 0
	for _, name in ipairs(LOOKS) do
		original[name] = fs[name]
		fs[name] = function(...)
			looks = looks + 1
			if looks == at then
				act()
			end
			return original[name](...)
		end
	end
	local ok, rows = pcall(command.run, { target = "prod" }, { config = { targets = { prod = { path = dir } } } })
	for name, f in pairs(original) do
		fs[name] = f
	end
	assert(ok, ("look %d: %s"):format(at, rows))
	return rows, looks
end

-- Every time there is one that is live.
local function for_every_look(act)
	local at, looks = 0
	repeat
		at = at + 1
		fs.remove_tree(dir)
		add "one"
		add "two"
		activate "two"
		local live, rows = 0
		rows, looks = releases(at, act)
		for _, row in ipairs(rows) do
			live = live + (row.live and 1 or 0)
		end
		assert.are.equal(1, live, "look " .. at)
	until looks < at
	assert.is_true(at > 6, "looks: " .. at)
end

describe("the list of releases", function()
	before_each(function()
		dir = os.tmpname()
		assert(os.remove(dir))
	end)

	after_each(function()
		assert(fs.remove_tree(dir))
	end)

	it("bears that one is removed meanwhile", function()
		for_every_look(function()
			assert(fs.rename(path "releases/one", path "releases/.trash-one"))
		end)
	end)

	it("has a live one, also if two deploys come between", function()
		for_every_look(function()
			add "three"
			activate "three"
			assert(fs.rename(path "releases/two", path "releases/.trash-two"))
		end)
	end)
end)
