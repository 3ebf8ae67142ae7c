-- The list of commands: of all, and of one group.

local catalog = require "runner.project.catalog"
local fs = require "runner.fs"

local dir

local function file(path)
	assert(fs.mkdirs(dir .. "/" .. (path:match "^(.*)/" or ""), 448))
	assert(io.open(dir .. "/" .. path, "w")):close()
end

local function names(entries)
	local out = {}
	for i, entry in ipairs(entries) do
		out[i] = ("%s %s"):format(entry.name, entry.path or "built in")
	end
	return out
end

describe("the list of a group", function()
	local project

	before_each(function()
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir, 448))
		project = { root = dir, commands = dir .. "/commands" }
	end)

	after_each(function()
		fs.remove_tree(dir)
	end)

	it("is the part of the whole list that is below it, whatever lies there", function()
		for _, path in ipairs { "db.lua", "db/drop.lua", "db/a/b.lua", "db/a/b/c.lua", "db/a/b/c/d.lua", "db/a/b/c/d/e.lua", "dbx/y.lua",
			"job/list.lua", "job/mine.lua", "new.lua", "new/thing.lua", "workflow/run.lua", "help/me.lua", "UPPER/x.lua", "_h/x.lua",
			".hidden/x.lua", "empty/x.txt", "deploy.lua", "workflow.lua", "watch.lua" } do
			file("commands/" .. path)
		end
		local all = catalog.list(project)
		local groups = { "", "nosuch", "..", "db.", ".db", "db..a", "/", "db/a", "deploy" }
		for _, entry in ipairs(all) do
			for at in entry.name:gmatch "()%." do
				groups[#groups + 1] = entry.name:sub(1, at - 1)
			end
			groups[#groups + 1] = entry.name
		end
		assert.equal(3, #catalog.list_below(project, "db"))
		for _, group in ipairs(groups) do
			assert.same(names(catalog.below(all, group)), names(catalog.list_below(project, group)), group)
		end
		assert.same({ "self.job.list built in", "self.new built in", "self.watch built in" }, names(catalog.list_below(project, "self")))
	end)

	it("reads no other folder", function()
		file "commands/db/drop.lua"
		file "commands/other/x.lua"
		local listing = require "runner.listing"
		local real, read = listing.folder, {}
		listing.folder = function(path)
			read[#read + 1] = path:sub(#dir + 2)
			return real(path)
		end
		catalog.list_below(project, "db")
		listing.folder = real
		assert.equal("commands/db", read[1])
		assert.is_nil(table.concat(read, " "):find("other", 1, true))
	end)
end)
