-- runner test [FILE …]: run the tests of a project's own commands, tests/NAME_test.lua.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local changes = require "runner.watch.changes"
local coverage = require "runner.testkit.coverage"
local display = require "runner.core.display"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local paths = require "runner.core.paths"
local reports = require "runner.testkit.reports"
local session = require "runner.testkit.session"

local function root_of()
	return attempt.project.root or paths.here()
end

-- --- which files ------------------------------------------------------------------------------

-- A file by its path, or the tests of a command by its name: "deploy" is tests/deploy_test.lua.
local function path_of(text, root)
	local direct = paths.absolute((text:gsub("^%./", "")), host.getcwd())
	if (fs.stat(direct) or {}).type == "file" then
		return direct
	end
	local named = ("%s/tests/%s_test.lua"):format(root, (text:gsub("[. ]", "_")))
	return fs.stat(named) and named or nil
end

local function given_paths(files, root)
	local out, missing = {}, {}
	for _, text in ipairs(files) do
		local path = path_of(text, root)
		out[#out + 1] = path
		missing[#missing + 1] = not path and text or nil
	end
	return out, missing
end

local function load_files(args, root)
	local list = #args.files > 0 and given_paths(args.files, root) or session.find(root)
	local files = {}
	for i, path in ipairs(list) do
		files[i] = session.load(path, root)
	end
	return files
end

-- --- what they did ------------------------------------------------------------------------------

-- The project's own command files.
local function command_paths(root)
	local list = {}
	for _, entry in ipairs(catalog.list(attempt.project)) do
		list[#list + 1] = entry.path and entry.path:sub(1, #root + 1) == root .. "/" and entry.path or nil
	end
	return list
end

local function data_of(done, started, args, root)
	local data = { tests = done.tests, passed = 0, failed = 0, duration_ms = math.floor(host.now() - started),
		snapshots_written = done.written, effect = done.written > 0 and "updated" or (args.junit or args.tap) and "created" or "noop" }
	for _, test in ipairs(done.tests) do
		local key = test.ok and "passed" or "failed"
		data[key] = data[key] + 1
	end
	if args.coverage or args.min_coverage then
		data.coverage = coverage.report(command_paths(root), done.lines, root)
	end
	return data
end

local function write_report(path, text)
	local ok, why = fs.write(path, text, nil, false)
	if not ok then
		errors.raise("OUTPUT_FAILED", "The report can't be written: " .. why, { side_effects = "complete" })
	end
end

local function write_reports(args, data)
	if args.tap then
		write_report(args.tap, reports.tap(data.tests))
	end
	if args.junit then
		write_report(args.junit, reports.junit(data.tests))
	end
end

-- --- a run --------------------------------------------------------------------------------------

local function once(args, ctx, root, dir)
	local started = host.now()
	local done = session.run(load_files(args, root), {
		root = root, dir = dir, filter = args.filter, at_once = args.parallel,
		limit_ms = require("runner.core.rules").milliseconds(args.test_timeout),
		cover = (args.coverage or args.min_coverage) and root or nil, update = args.update,
		on_end = function(test)
			local level = not test.ok and attempt.format == "json" and "error" or "debug" -- people get it below
			ctx:log(level, ("%s %s: %s"):format(test.ok and "ok" or "failed", test.file, test.name))
		end,
	})
	return data_of(done, started, args, root)
end

local function problem_of(data, args)
	if data.failed > 0 then
		local first
		for _, test in ipairs(data.tests) do
			first = first or not test.ok and test or nil
		end
		return ("%d of %d tests failed, the first: %s: %s"):format(data.failed, #data.tests, first.name, first.message:match "^[^\n]*")
	elseif #data.tests == 0 then
		return args.filter and ("No test has '%s' in its name"):format(args.filter) or "There is no test"
	elseif args.min_coverage and data.coverage.percent < args.min_coverage then
		return ("%g %% of the lines of commands ran, not %g %%"):format(data.coverage.percent, args.min_coverage)
	end
end

local function show(text)
	if attempt.format ~= "json" and not attempt.framework.quiet then
		io.stderr:write(host.clean(text))
	end
end

local function conclude(args, ctx, data)
	local problem = problem_of(data, args)
	local text = reports.text(data)
	if problem then
		show(text)
		ctx:fail("TESTS_FAILED", problem, { data = data, fix_required = #data.tests == 0 and
			"Write tests/NAME_test.lua: runner new NAME --with-test shows one" or "Mend the command or the test, and run it again" })
	end
	display.set { text = text }
	return data
end

-- Not what tests write themselves, and nothing that begins with a dot.
local function takes(_, name)
	return name:sub(1, 1) ~= "." and name ~= "snapshots"
end

local function enter()
	return true
end

local QUIET_MS = 50

local function watch_all(args, ctx, root)
	local folder = attempt.project.commands or root .. "/commands"
	local roots = { root .. "/tests", folder, root .. "/lib", root .. "/runner.lua" }
	local watched <close> = changes.new { roots = roots, enter = enter, takes = takes }
	for number = 1, math.maxinteger do
		local data = once(args, ctx, root, ("%s/%d"):format(ctx.tempdir, number))
		write_reports(args, data)
		io.stderr:write(host.clean(reports.text(data)), "Waiting for a change; Ctrl+C ends it.\n")
		if #watched:since(QUIET_MS) == 0 then -- while the tests ran
			watched:next(QUIET_MS)
		end
	end
end

return {
	timeout = "10m",
	args = {
		{ "files", "array", items = "string", variadic = true,
			description = "Test files, or names: deploy is tests/deploy_test.lua; default: all tests/*_test.lua" },
		{ "filter", "string", description = "Only tests that have this text in their names" },
		{ "parallel", "integer", default = 4, min = 1, max = 64, description = "How many files may run at once" },
		{ "test_timeout", "duration", default = "60s", description = "Limit for each test, in real time" },
		{ "update", "boolean", description = "Write the snapshots that are missing or differ" },
		{ "coverage", "boolean", description = "Say which lines of the command files ran" },
		{ "min_coverage", "number", min = 0, max = 100, description = "Fail if fewer percent of these lines ran" },
		{ "junit", "path", description = "Write the results to this file as JUnit XML" },
		{ "tap", "path", description = "Write the results to this file as TAP" },
		{ "watch", "boolean", description = "Run them again whenever a file changes; give --timeout none, too" },
	},
	exit_codes = {
		TESTS_FAILED = { retryable = false, side_effects = "complete", description = "Tests failed; data.tests says which and why" },
		OUTPUT_FAILED = { retryable = false, side_effects = "complete", description = "A report could not be written" },
		TIMEOUT = { retryable = false, side_effects = "partial" },
	},
	rows = "tests",
	examples = {
		{ description = "Run all tests", command = "runner test" },
		{ description = "Those of one command", command = "runner test deploy" },
		{ description = "For a CI system", command = "runner test --junit results.xml --min-coverage 80" },
	},
	validate = function(args)
		local problems = {}
		for _, text in ipairs(select(2, given_paths(args.files, root_of()))) do
			problems[#problems + 1] = { field = "files", code = "INVALID_ARGUMENT", value = text, message = ("There are no tests '%s'"):format(text),
				suggestion = ("Write tests/%s_test.lua, or give the path of a file"):format((text:gsub("[. ]", "_"))) }
		end
		return problems
	end,
	run = function(args, ctx)
		local root = root_of()
		if args.watch then
			watch_all(args, ctx, root)
		end
		local data = once(args, ctx, root, ctx.tempdir)
		write_reports(args, data)
		return conclude(args, ctx, data)
	end,
}
