-- lint: findings as rows, and the built-in commands kept to the same rules.

local catalog = require "runner.project.catalog"
local declaration = require "runner.declare.declaration"
local host = require "runner.host"
local lint = require "runner.tools.lint"
local lint_rules = require "runner.declare.lint"
local loader = require "runner.project.loader"
local locate = require "runner.project.locate"

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
ROOT = ROOT:sub(1, 1) == "/" and ROOT or host.getcwd() .. "/" .. ROOT

local folder

local function file(name, text)
	local path = folder .. "/" .. name
	local f = assert(io.open(path, "w"))
	f:write(text)
	f:close()
	return path
end

local function findings(text)
	local out = { problems = {}, warnings = {} }
	lint.command({ name = "x", path = file("x.lua", text) }, {}, out)
	return out.problems, out.warnings
end

describe("lint", function()
	before_each(function()
		folder = os.tmpname()
		os.remove(folder)
		assert(require("runner.fs").mkdirs(folder))
	end)
	after_each(function()
		require("runner.fs").remove_tree(folder)
	end)

	it("finds nothing in a clean file", function()
		local problems, warnings = findings [[
return { description = "x", danger_level = "safe", run = function() end,
	examples = { { command = "runner x" } } }
]]
		assert.same({ {}, {} }, { problems, warnings })
	end)

	it("warns of a variable without a prefix, unless one with a prefix goes before it", function()
		local function warned(variable)
			local problems, warnings = findings(([[
return { description = "x", danger_level = "safe", run = function() end, examples = { { command = "runner x" } },
	args = { { "n", "integer", description = "n", %s } } }
]]):format(variable))
			assert.same({}, problems)
			return warnings[1] and warnings[1].message:match "reads (%S+)," or #warnings
		end
		assert.equal("COUNT", warned 'env = "COUNT"')
		assert.equal("_COUNT", warned 'env = "_COUNT"')
		assert.equal("COUNT", warned 'env_fallbacks = { "COUNT", "MYTOOL_COUNT" }')
		assert.equal(0, warned 'env = "MYTOOL_COUNT", env_fallbacks = { "COUNT" }')
		assert.equal(0, warned 'env = "MYTOOL_COUNT"')
	end)

	it("misses a file that was named, and none that is gone since it was listed", function()
		local out, path = { problems = {}, warnings = {} }, folder .. "/gone.lua"
		lint.command({ name = "gone", path = path, listed = true }, {}, out)
		assert.same({}, out.problems)
		lint.command({ name = "gone", path = path }, {}, out)
		assert.truthy(out.problems[1].message:find "gone.lua: No such file")
		file("broken.lua", "return 1")
		local rows = catalog.rows({ { name = "gone", path = path }, { name = "broken", path = folder .. "/broken.lua" } }, {})
		assert.same({ "broken" }, { rows[1].name, rows[2] })
	end)

	it("reports all problems of a file with their lines and fixes", function()
		local problems = findings [[
return {
	description = "x",
	danger_level = "harmless",
	tiemout = 5,
	run = function() end,
}
]]
		assert.equal(2, #problems)
		assert.same({ 3, "danger_level" }, { problems[1].line, problems[1].key })
		assert.same({ 4, "tiemout", "Rename 'tiemout' to 'timeout'" }, { problems[2].line, problems[2].key, problems[2].fix })
		assert.truthy(problems[1].message:find("x.lua:3: danger_level", 1, true))
	end)

	it("keeps warnings apart from problems", function()
		local problems, warnings = findings [[
return { description = "x", danger_level = "safe", run = function() os.execute("ls") end,
	examples = { { command = "runner x" } } }
]]
		assert.same({}, problems)
		assert.equal(1, #warnings)
		assert.same({ "os.execute", 1 }, { warnings[1].key, warnings[1].line })
	end)

	it("reports a syntax error with its line", function()
		local problems = findings "return {\n\tdescription = = 1\n}\n"
		assert.equal(1, #problems)
		assert.equal(2, problems[1].line)
	end)

	it("survives a file that raises, exits or never ends while it is loaded", function()
		local cases = { ["error 'boom'"] = "boom", ["os.exit(0)"] = "os.exit", ["while true do end"] = "endless loop" }
		for text, wanted in pairs(cases) do
			local problems = findings(text)
			assert.equal(1, #problems)
			assert.truthy(problems[1].message:find(wanted, 1, true), problems[1].message)
		end
		assert.is_nil(debug.gethook())
	end)

	it("reports a file that has the name of a built-in", function()
		file("help.lua", "")
		local out = { problems = {} }
		lint.shadowed({ commands = folder }, out)
		assert.equal(1, #out.problems)
		assert.truthy(out.problems[1].message:find("never run", 1, true))
	end)

	it("writes paths as seen from the working directory", function()
		assert.equal("a/b.lua", lint.shown(host.getcwd() .. "/a/b.lua"))
		assert.equal("/elsewhere/b.lua", lint.shown("/elsewhere/b.lua"))
	end)
end)

describe("the built-in commands", function()
	local function add_files(names, dir, prefix)
		for _, name in ipairs(assert(require("runner.fs").list(ROOT .. dir))) do
			local word = name:match("^(.+)%.lua$")
			if word then
				names[#names + 1] = prefix .. word
			else
				add_files(names, dir .. "/" .. name, prefix .. name .. ".")
			end
		end
		return names
	end

	it("are exactly the files of lua/commands", function()
		local files = add_files({}, "lua/commands", "")
		table.sort(files)
		assert.same(files, require("runner.project.builtins").list())
	end)

	it("of a group are found by whole words alone", function()
		assert.equal("job.list", locate.find({ "job", "list" }).name)
		for _, word in ipairs { "lis", "list logs", " ", "", "list " } do
			assert.is_nil(locate.find { "job", word })
		end
		assert.is_nil(locate.find { "job" })
	end)

	it("have neither problems nor warnings", function()
		package.loaded["runner.core.attempt"] = { launch = {}, call = { argv = {} }, place = {}, input = {}, framework = {} }
		for _, name in ipairs(require("runner.project.builtins").list()) do
			local path = ROOT .. "lua/commands/" .. name:gsub("%.", "/") .. ".lua"
			local value = loader.read { name = name }
			local where = { name = name, path = path, config = {}, text = require("runner.fs").read(path) }
			assert.same({}, declaration.problems(value, where))
			assert.same({}, lint_rules.find(value, where))
		end
		package.loaded["runner.core.attempt"] = nil
	end)
end)
