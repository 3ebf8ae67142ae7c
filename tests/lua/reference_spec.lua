-- The generated parts of the pages match their sources.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")

local function read(path)
	local f = assert(io.open(ROOT .. path, "rb"))
	local text = f:read("a")
	f:close()
	return text
end

-- The generator looks for its sources below the root, where the tests run.
local generate = dofile(ROOT .. ".ci/docs/generate.lua")

-- A page that holds only this part, rendered.
local function part(name)
	return generate.render(("<!-- generated: %s -->\n<!-- end -->\n"):format(name))
end

describe("the pages for maintainers", function()
	it("name every table and column of the run database", function()
		local page, found = read "docs/database.md", 0
		for _, migration in ipairs(require("runner.state.schema").MIGRATIONS) do
			for name, columns in migration:gmatch "CREATE TABLE (%w+) (%b())" do
				local row = page:match("\n| `" .. name .. "` |[^\n]*")
				assert.truthy(row, "no table " .. name)
				for column in columns:gmatch "\n%s*([a-z_]+) [A-Z]" do
					found = found + 1
					assert.truthy(row:find("%f[%w_]" .. column .. "%f[^%w_]"), name .. " lacks " .. column)
				end
			end
		end
		for _, migration in ipairs(require("runner.state.schema").MIGRATIONS) do
			for name, column in migration:gmatch "ALTER TABLE (%w+) ADD COLUMN ([%w_]+)" do
				found = found + 1
				assert.truthy(page:match("\n| `" .. name .. "` |[^\n]*%f[%w_]" .. column .. "%f[^%w_]"), name .. " lacks " .. column)
			end
		end
		assert.is_true(found > 41)
	end)

	it("have a place for every module", function()
		local page = read "docs/modules.md"
		local modules = assert(io.popen(("cd '%s' && find lua -name '*.lua' ! -path 'lua/types/*'"):format(ROOT == "" and "." or ROOT)))
		local found = 0
		for path in modules:lines() do
			local name = path:gsub("^lua/", ""):gsub("%.lua$", "")
			found = found + 1
			assert.truthy(page:find(("\n| `%s` |"):format(name), 1, true), "no place for " .. name)
		end
		modules:close()
		assert.is_true(found > 100)
	end)
end)

describe("the reference", function()
	local files = table.move(generate.pages, 1, #generate.pages, #generate.sources + 1, { table.unpack(generate.sources) })

	it("is up to date", function()
		for _, path in ipairs(files) do
			local page = read(path)
			assert.is_true(generate.render(page, path:match "%.(%w+)$") == page, path .. " is out of date: run make docs")
		end
	end)

	it("has every part that can be generated", function()
		local all = ""
		for _, path in ipairs(files) do
			all = all .. read(path)
		end
		for _, name in ipairs(generate.parts()) do
			assert.truthy(all:find(" generated: " .. name:gsub("%-", "%%-") .. "[ \n]"), name)
		end
	end)

	it("changes nothing outside of its parts", function()
		local page = "before\n<!-- generated: limits -->\nold\n<!-- end -->\nafter <!-- end -->\n"
		local made = generate.render(page)
		assert.equal("before\n", made:match("^(before\n)<!%-%- generated"))
		assert.truthy(made:find("<!-- end -->\nafter <!-- end -->\n", 1, true))
		assert.falsy(made:find("old", 1, true))
		assert.equal(made, generate.render(made))
	end)

	it("lists every function, the first one as well", function()
		local annotations = require "runner.tools.annotations"
		for name, place in pairs { methods = { "runner", "Context" }, process = { "runner", "Process" },
			json = { "json", "json" }, fs = { "fs", "fs" } } do
			local made = part(name)
			for found in annotations.files[place[1]]:gmatch("\nfunction " .. place[2] .. "[.:]([%w_]+)") do
				assert.truthy(made:find("[.:]" .. found .. "%("), name .. " lacks " .. found)
			end
		end
	end)

	it("lists every key of a workflow file, every spelling of it, and every class of failures", function()
		local keys = require "runner.workflow.file.keys"
		local made
		for name, rows in pairs { workflow = keys.workflow, claude = keys.claude, any = keys.any, process = keys.process,
			foreach = keys.own.foreach, parallel = keys.own.parallel, retry = require("runner.workflow.file.retry").keys } do
			made = part("workflow-" .. name) .. (name == "claude" and part "workflow-flags" or "")
			for key in pairs(rows) do
				assert.truthy(made:find("`" .. key .. "`", 1, true), name .. " lacks " .. key)
			end
		end
		made = part "workflow-failures"
		for _, row in ipairs(require("runner.workflow.kinds.classify").table()) do
			assert.truthy(made:find("| " .. row.name .. " |", 1, true), row.name)
		end
	end)

	it("lists every row of the registry and every flag", function()
		local text = read "src/common/codes.def"
		for kind, name in pairs { EXIT = "exit-codes", CODE = "error-codes" } do
			local made = part(name)
			for found in text:gmatch("\n" .. kind .. "%(([%u_]+),") do
				assert.truthy(made:find("`" .. found .. "`", 1, true), found)
			end
		end
		for _, row in ipairs(require("runner.declare.flags").rows) do
			assert.truthy(part("flags"):find("--" .. row.flag .. "`", 1, true), row.name)
		end
	end)
end)
