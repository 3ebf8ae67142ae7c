local fs = require "runner.fs"
local raised = require "runner.core.raised"

local function raised_by(name)
	return select(2, pcall(require, name))
end

describe("raised.describe", function()
	local folder, before

	before_each(function()
		folder, before = os.tmpname(), package.path
		os.remove(folder)
		assert(fs.mkdirs(folder .. "/lib"))
		assert(fs.write(folder .. "/lib/pictures.lua", "return {}"))
		package.path = folder .. "/lib/?.lua;" .. before
	end)
	after_each(function()
		package.path = before
		fs.remove_tree(folder)
	end)

	it("suggests a module of lib/, after the place of the require", function()
		local message, fields = raised.describe("commands/a.lua:3: " .. raised_by "picturs")
		assert.equal("commands/a.lua:3: module 'picturs' not found", message)
		assert.equal("Did you mean 'pictures'?", fields.suggestion)
	end)

	it("says where a module that resembles no other belongs", function()
		local message, fields = raised.describe(raised_by "tools.zebra")
		assert.equal("module 'tools.zebra' not found", message)
		assert.equal("Put it in lib/tools/zebra.lua, beside commands/", fields.suggestion)
	end)

	it("leaves any other message alone", function()
		for _, text in ipairs { "", "no module 'x' here", "module 'x' not found", "it's: module '\n' not found:\n" } do
			assert.same({ text, {} }, { raised.describe(text) })
		end
	end)
end)
