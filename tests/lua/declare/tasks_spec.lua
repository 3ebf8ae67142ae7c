-- Tasks: what a file may say, which task words name, the declaration that one becomes, and where it stands in the text.

local tasks = require "runner.declare.tasks"
local task_text = require "runner.declare.task_text"

local FILE = {
	env = { A = "1" },
	tasks = {
		build = { "Build", shell = "make" },
		["db drop"] = { "Drop", shell = "x" },
		db = { migrate = { "Migrate", run = { "m" } }, user = { add = { "Add", run = function() end } } },
		ci = { needs = { "build" } },
		env = { show = { "Show the environment", shell = "env" } },
	},
}

local function names(file)
	local out = {}
	for i, row in ipairs((tasks.all(file.tasks))) do
		out[i] = row.name
	end
	table.sort(out)
	return table.concat(out, " ")
end

describe("a file of tasks", function()
	it("has tasks and groups, by a blank and by tables", function()
		assert.same("build ci db.drop db.migrate db.user.add env.show", names(FILE))
	end)

	it("is searched for the most words that name a task", function()
		for words, expected in pairs { ["build x"] = 1, ["db drop it"] = 2, ["db migrate"] = 2, ["db user add a b"] = 3, db = false,
			["db user"] = false, nope = false, ["env show"] = 2 } do
			local list = {}
			for word in words:gmatch "%S+" do
				list[#list + 1] = word
			end
			assert.same(expected or nil, (select(2, tasks.find(FILE.tasks, list, 1, FILE))), words)
		end
	end)

	it("that is wrong says what to write", function()
		local cases = {
			{ nil, "returns nothing" }, { 5, "returns no table" }, { {}, "has no tasks" }, { { build = { "B" } }, "outside of tasks" },
			{ { tasks = {}, dir = "x" }, "has the key dir" }, { { tasks = { a = 5 } }, "is a number" }, { { tasks = { "x" } }, "is no name" },
			{ { tasks = { ["a  b"] = { "x" } } }, "is no name" }, { { tasks = { a = "make" } }, 'is a text' },
			{ { tasks = { a = { b = { c = { d = { e = { "deep" } } } } } } }, "is a table" },
		}
		for i = 1, #cases do
			local problem, fix = tasks.problem(cases[i][1], "tasks")
			if not problem then
				problem, fix = select(2, tasks.all(cases[i][1].tasks))
			end
			assert.truthy(problem and problem:find(cases[i][2], 1, true), cases[i][2] .. ": " .. tostring(problem))
			assert.truthy(fix)
		end
	end)
end)

describe("a task", function()
	local function declaration(task, file, more)
		return tasks.declaration(task, file, more or {})
	end

	it("has defaults that fit it, and says otherwise where it does", function()
		local d = declaration({ "Build", shell = "make" }, FILE, { timeout = "1h" })
		assert.same({ "Build", "mutating", "project", "1h", { A = "1" }, { TIMEOUT = { retryable = false, side_effects = "partial" } } },
			{ d.description, d.danger_level, d.cwd, d.timeout, d.env, d.exit_codes })
		assert.equal(tasks.run, d.run)
		d = declaration({ "Build", shell = "make", danger_level = "safe", cwd = "web", timeout = "5s", env = { A = "2", B = "3" } }, FILE,
			{ timeout = "1h", private = true })
		assert.same({ "safe", "web", "5s", true, { A = "2", B = "3" } }, { d.danger_level, d.cwd, d.timeout, d.hidden, d.env })
		assert.is_nil(d.exit_codes)
		assert.equal("destructive", declaration({ "Drop", shell = "x", confirm = "Really?" }).danger_level)
		assert.same({ "m" }, declaration({ "Migrate", run = { "m" } }).program)
	end)

	it("is walked as any declaration is, and leaves what the author wrote as it was", function()
		local task = { "Build", shell = "make", args = { { "flags", "string", variadic = true } } }
		local n = require("runner.declare.command").normal(declaration(task), { path = "tasks.lua", name = "build" })
		assert.equal("make", n.shell)
		assert.same({ "Build", shell = "make", args = { { "flags", "string", variadic = true } } }, task)
		for _, wrong in ipairs { { "B", shell = "x", run = function() end }, { "B", shell = "x", program = { "y" } }, { "B" },

			{ "B", run = function() end, quiet = true }, { "B", interpreter = "bash", run = { "x" } }, { "B", shell = "x", confirm = "?",
			danger_level = "safe" }, { "B", shell = "x", args = { { "http-proxy", "string" } } }, { "B", shell = "x", env = { ["a b"] = "1" } },
			{ "B", shell = "a\0b" } } do
			assert.is_nil((require("runner.declare.command").normal(declaration(wrong), { path = "tasks.lua", name = "b" })))
		end
	end)

	it("gives its arguments as texts", function()
		assert.same({ "", "true", "", "3", "90", "1.5", '["a"]' }, { tasks.text({}, nil), tasks.text({}, true), tasks.text({}, false),
			tasks.text({}, 3), tasks.text({}, 90.0), tasks.text({}, 1.5), tasks.text({}, { "a" }) })
		assert.is_nil(tasks.text({ variadic = true }, { "a" }))
		assert.equal("dry_run", tasks.variable "dry-run")
	end)
end)

describe("the text of a file of tasks", function()
	local TEXT = [=[
local x = { tasks = 1 }
return {
	env = { A = "tasks = {" },
	tasks = {
	-- Building

	build = { "Build it", shell = 'make {{ "$@"', args = { { "flags", "string", variadic = true } } },
	-- says what test does
	test = { "Run", shell = [[
		make } "$filter"
		]] },

	-- Data base ----------
	["db drop"] = { "Drop", shell = "x" }, db = { migrate = { "M", run = function() return { 1 } end } },
	[ 'x' ] = helper("a", { 1, 2 }),
	last = { "l" }
	},
}
]=]

	it("tells the order and the sections", function()
		local places = task_text.places(TEXT)
		local order = { "build", "test", "db.drop", "db.migrate", "x", "last" }
		for i = 2, #order do
			assert.is_true(places[order[i - 1]].order < places[order[i]].order, order[i])
		end
		assert.same({ "Building", "Building", "Data base", "Data base", "Data base" }, { places.build.section, places.test.section,
			places["db.drop"].section, places["db.migrate"].section, places.last.section })
		assert.same({}, task_text.places "return f()")
		assert.same({}, task_text.places "return { tasks = {")
	end)

	it("gives a task as it is written, and the file without the others", function()
		assert.equal('test = { "Run", shell = [[\n\tmake } "$filter"\n\t]] }\n', task_text.written(TEXT, "test"))
		assert.is_nil(task_text.written(TEXT, "nope"))
		local only = task_text.only(TEXT, "test")
		assert.equal(#TEXT, #only)
		assert.equal(select(2, TEXT:gsub("\n", "")), select(2, only:gsub("\n", "")))
		assert.truthy(only:find('make } "$filter"', 1, true))
		assert.is_nil(only:find("Build it", 1, true))
	end)

	it("without the others is the same whatever they are, and another one if the file's own changes", function()
		local closed = task_text.only(TEXT, "test", nil, true)
		local function other(pattern, with)
			local text, n = TEXT:gsub(pattern, with)
			assert.equal(1, n, pattern)
			return task_text.only(text, "test", nil, true)
		end
		assert.equal(closed, other("Build it", "Build all of it"))
		assert.equal(closed, other('%["db drop"%] = ', '\n\n\tnew = { "New", shell = "true" },\n\t["db drop"] = '))
		assert.not_equal(closed, other('make } "%$filter"', "make"))
		assert.not_equal(closed, other("A = ", "A  = "))
	end)
end)
