-- The keys and flags that few commands have: one index, rows that are whole, and names
-- that are reserved only where a declaration switches them on.

local args = require "runner.project.args"
local command = require "runner.declare.command"
local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local locate = require "runner.project.locate"

local function declaration(keys)
	local d = { description = "x", danger_level = "safe", run = function() end }
	for key, v in pairs(keys) do
		d[key] = v
	end
	return d
end

local function normal(keys)
	return command.normal(declaration(keys), { path = "commands/x.lua", name = "x" })
end

local function problem(keys)
	return require("runner.declare.declaration").error(declaration(keys), { path = "commands/x.lua", name = "x" }).message
end

local function parse(keys, tokens, in_front)
	local n = assert(normal(keys))
	return args.parse(n.args, tokens, { command = n, in_front = in_front })
end

describe("runner's own flags", function()
	describe("and settings have variables", function()
		local host, before = require "runner.host", {}
		local of_runs = { "RUNNER_DEADLINE_MS", "RUNNER_LUA", "RUNNER_OUTER_RETRIES", "RUNNER_TEMPDIR" }

		before_each(function()
			local pipe <close> = assert(io.popen "env")
			for name, value in pipe:read("a"):gmatch "%f[^\n\0](RUNNER_[A-Z_]*)=([^\n]*)" do
				before[name] = value
				host.setenv(name, nil)
			end
		end)
		after_each(function()
			for _, name in ipairs(of_runs) do
				host.setenv(name, nil)
			end
			for name, value in pairs(before) do
				host.setenv(name, value)
			end
		end)

		it("that are seen, alone and among those that runner sets", function()
			local names = { "RUNNER_EXIT_TABLE", "RUNNER_LOAD_TIMEOUT", "RUNNER_SEED" }
			for _, row in ipairs(flags.rows) do
				names[#names + 1] = row.env
			end
			assert.is_true(#names > 10)
			for _, others in ipairs { false, "1" } do
				for _, name in ipairs(of_runs) do
					host.setenv(name, others or nil)
				end
				assert.is_false(host.is_configured())
				for _, name in ipairs(names) do
					host.setenv(name, "x")
					assert.is_true(host.is_configured(), name)
					host.setenv(name, "")
					assert.is_false(host.is_configured(), name)
					host.setenv(name, nil)
				end
			end
		end)
	end)
end)

describe("the rows of lua/declare/contract", function()
	it("are exactly those that the index names", function()
		local all = {}
		for _, name in ipairs(contract.names) do
			local subject = contract.subject_of[name]
			all[subject] = all[subject] or {}
			assert.is_nil(all[subject][name], name)
			all[subject][name] = true
		end
		for subject, listed in pairs(all) do
			local module, found = require("runner.declare.contract." .. subject), {}
			for key in pairs(module.keys) do
				found[key] = true
			end
			for _, row in ipairs(module.flags) do
				found[row.name] = true
			end
			assert.same(found, listed, subject)
		end
		for _, name in ipairs(assert(require("runner.fs").list "lua/declare/contract")) do
			assert.truthy(all[name:match "^(.+)%.lua$"], name)
		end
	end)

	it("say everything that messages, help and the manifest need", function()
		local everyday = {}
		for key in pairs(command.rules.command) do
			everyday[key] = true
		end
		for _, key in ipairs(contract.keys()) do
			local row = contract.key(key)
			assert.is_function(row.accept, key)
			assert.is_string(row.expected, key)
			assert.truthy(({ entry = true, schema = true, none = true })[row.manifest], key)
			assert.is_nil(everyday[key], key)
		end
		for _, row in ipairs(contract.rows(nil, true)) do
			assert.is_string(row.section, row.name)
			assert.is_string(row.description, row.name)
			assert.truthy(not row.when or row.when == "mutating" or row.when == "destructive" or contract.key(row.when:match "^[^= ]+"), row.name)
		end
	end)
end)

describe("a rare key", function()
	it("is checked like any other, and named by did-you-mean", function()
		assert.is_true(normal({ has_network_io = true }).has_network_io)
		assert.is_nil(normal({ has_network_io = "yes" }))
		assert.truthy(problem({ has_network_io = "yes" }):find("has_network_io is \"yes\". Write true or false", 1, true))
		assert.truthy(problem({ has_network = true }):find("rename 'has_network' to 'has_network_io'", 1, true)
			or problem({ has_network = true }):find("Rename 'has_network' to 'has_network_io'", 1, true))
	end)
end)

describe("default_limit", function()
	it("needs a list", function()
		assert.equal(5, normal({ list = true, default_limit = 5 }).default_limit)
		local found = problem({ default_limit = 5 })
		assert.truthy(found:find("default_limit needs list = true", 1, true), found)
	end)
end)

describe("rows", function()
	it("is true or a member, and agrees with output_schema", function()
		local list, object = { type = "array" }, { type = "object", properties = { a = { type = "array" }, b = { type = "string" } } }
		assert.equal("a", normal({ rows = "a" }).rows)
		assert.is_true(normal({ rows = true, output_schema = list }).rows)
		assert.equal("a", normal({ rows = "a", output_schema = object }).rows)
		for wrong, expected in pairs {
			["'b', which output_schema"] = { rows = "b", output_schema = object },
			["'c', which output_schema"] = { rows = "c", output_schema = object },
			["describes no array"] = { rows = true, output_schema = object }, ["rows is 3"] = { rows = 3 },
			["rows can't be used with list = true"] = { rows = true, list = true },
			["can't be used with streams = true"] = { rows = "a", streams = true },
		} do
			local found = problem(expected)
			assert.truthy(found:find(wrong, 1, true), found)
		end
	end)
end)

describe("a conditional flag", function()
	it("is a flag only where it is switched on", function()
		assert.equal("http://p", parse({ has_network_io = true }, { "--proxy", "http://p" }).framework.proxy)
		assert.equal("UNKNOWN_FLAG", parse({}, { "--proxy=x" }).problems[1].code)
		assert.equal("UNKNOWN_FLAG", parse({ has_network_io = false }, { "--proxy=x" }).problems[1].code)
	end)

	it("takes its name from arguments only there", function()
		assert.equal("x", parse({ args = { { "proxy", "string" } } }, { "--proxy", "x" }).values.proxy)
		local found = problem({ has_network_io = true, args = { { "proxy", "string" } } })
		assert.truthy(found:find("can't be named proxy: runner has a flag --proxy", 1, true), found)
		assert.is_nil(normal({ has_network_io = true, args = { { "proxy", "boolean" } } }))
	end)

	it("with a danger level as its condition belongs to the commands of that level", function()
		local levels = { mutating = { safe = false, mutating = true, destructive = true },
			destructive = { safe = false, mutating = false, destructive = true } }
		for when, expected in pairs(levels) do
			for level, holds in pairs(expected) do
				assert.equal(holds, contract.holds({ when = when }, { danger_level = level }), when .. " " .. level)
			end
		end
	end)
end)

describe("an argument with the name of a flag that yields", function()
	local FORMAT = { args = { { "format", "enum", values = { "png", "webp" } }, { "version", "string", short = "V" } } }

	it("wins, and --runner-NAME is runner's own", function()
		local r = parse(FORMAT, { "--format", "png", "-V", "2", "--runner-format=json", "--runner-version" })
		assert.same({}, r.problems)
		assert.same({ format = "png", version = "2" }, r.values)
		assert.same({ format = "json", version = true }, r.framework)
		assert.same({ "flag", "flag" }, { r.given.format, r.framework_given.format })
	end)

	it("does not win in front of the command's name", function()
		local r = parse(FORMAT, { "--format", "json", "--format", "png" }, 2)
		assert.same({ "json", "png" }, { r.framework.format, r.values.format })
		assert.is_true(parse(FORMAT, { "-V" }, 1).framework.version)
	end)

	it("does not take the variable of the flag", function()
		local n = normal(FORMAT)
		local r = args.parse(n.args, {}, { command = n, getenv = function(name)
			return name == "RUNNER_FORMAT" and "tsv" or nil
		end })
		assert.same({ nil, "tsv" }, { r.values.format, r.framework.format })
	end)

	it("says so when a value was probably meant for runner", function()
		local found = parse(FORMAT, { "--format", "json" }).problems[1]
		assert.truthy(found.suggestion:find("runner's own flag is --runner-format", 1, true), found.suggestion)
	end)

	it("is refused for every flag that does not yield", function()
		for _, row in ipairs(flags.rows) do
			assert.equal(row.yields == true, normal({ args = { { row.name, "string" } } }) ~= nil, row.name)
		end
	end)
end)

describe("built-in commands", function()
	local fs, folders = require "runner.fs", require "runner.project.folders"
	local real_list = folders.list
	local rows = require("runner.project.builtins").rows
	local dir

	before_each(function()
		dir = os.tmpname()
		os.remove(dir)
		assert(fs.mkdir(dir))
		folders.list = function() return { dir } end
		rows.newer, rows["group.one"], rows["group.two"] = {}, {}, {}
	end)
	after_each(function()
		folders.list = real_list
		rows.newer, rows["group.one"], rows["group.two"] = nil, nil, nil
		assert(fs.remove_tree(dir))
	end)

	local function file(name)
		assert(fs.write(dir .. "/" .. name .. ".lua", "return {}"))
	end

	it("give way to a file of their name, but for those that shells and people call everywhere", function()
		assert.same({ name = "newer", words = 1 }, locate.find { "newer", "x" })
		assert.same({ name = "group.one", words = 2 }, locate.find { "group", "one" })
		file "newer"
		file "lint"
		file "help"
		assert.equal(dir .. "/newer.lua", locate.find({ "newer" }).path)
		assert.equal(dir .. "/lint.lua", locate.find({ "lint" }).path)
		assert.is_nil(locate.find({ "help" }).path)
	end)

	it("are always reached by self", function()
		file "newer"
		file "self"
		assert.same({ name = "newer", words = 2 }, locate.find { "self", "newer" })
		assert.same({ name = "group.two", words = 3 }, locate.find { "self", "group", "two", "x" })
		assert.same({ name = "lint", words = 2 }, locate.find { "self", "lint" })
		assert.is_nil(locate.find { "self" })
		assert.is_nil(locate.find { "self", "nothing" })
	end)

	it("that gave way are listed below self", function()
		file "newer"
		local names = {}
		for _, entry in ipairs(require("runner.project.catalog").list({})) do
			names[entry.name] = entry.builtin or false
		end
		assert.same({ false, true, true }, { names.newer, names["self.newer"], names.lint })
	end)
end)
