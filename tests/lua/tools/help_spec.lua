-- The words of help: everything that a declaration says is in them, within the width.

local command = require "runner.declare.command"
local environment = require "runner.declare.environment"
local flags = require "runner.declare.flags"
local help = require "runner.tools.help"
local settings = require "runner.project.settings"
local layout = require "runner.output.layout"

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")

local FULL = {
	description = "Deploy a release to a target",
	danger_level = "mutating",
	args = {
		{ "target", "enum", values = { "prod", "dev" }, required = true, description = "Where to deploy", short = "t" },
		{ "keep", "integer", min = 1, max = 50, default = 5, env = "DEPLOY_KEEP", description = "Old releases kept" },
		{ "wait", "duration", default = "90s", description = "How long" },
		{ "dry_run", "boolean", description = "Change nothing" },
		{ "verify", "boolean", default = true, description = "Look afterwards" },
		{ "release", "string", pattern = "semver", positional = true, required = true, description = "What" },
		{ "files", "path", variadic = true, min_length = 1, description = "Which" },
	},
	timeout = "5m",
	retry = { retries = 3, delay = "2s", on = { "UNAVAILABLE", "TIMEOUT" } },
	exit_codes = {
		TIMEOUT = { retryable = true, side_effects = "partial", retry_after_ms = 0, retry_strategy = "immediate" },
		LOCKED = { code = 79, description = "Another deploy holds it", retryable = true, side_effects = "none",
			retry_after_ms = 5000, retry_strategy = "linear_backoff" },
	},
	steps = { "validate", "upload" },
	required_scopes = { "deploy:write" },
	examples = { { description = "To production", command = "runner db deploy --target prod 1.2.3" } },
	run = function() end,
}

local function text_of(declaration, about)
	local normal = assert(command.normal(declaration, { path = "x.lua", name = "db.deploy" }))
	about = about or {}
	about.settled = settings.settle(normal, { given = {}, framework = {} }, about.project or {}, "1")
	about.config, about.width, about.below = about.config or {}, about.width or 80, about.below or {}
	return help.command(normal, about)
end

-- Blanks and line breaks are all the same.
local function has(text, wanted)
	assert.truthy(text:gsub("%s+", " "):find(wanted, 1, true), ("%q is not in:\n%s"):format(wanted, text))
end

local function has_not(text, unwanted)
	assert.falsy(text:gsub("%s+", " "):find(unwanted, 1, true), ("%q is in:\n%s"):format(unwanted, text))
end

describe("help of a command", function()
	it("shows how to call it, required options first and places last", function()
		has(text_of(FULL), "Usage: runner db deploy --target <enum> [options] <release> [files...]")
	end)

	it("shows the type, values, bounds, default and variable of each argument", function()
		local text = text_of(FULL)
		has(text, "-t, --target <enum> Where to deploy (one of prod, dev; required)")
		has(text, "--keep <integer> Old releases kept (a whole number from 1 to 50; default 5; from $DEPLOY_KEEP)")
		has(text, "--wait <duration> How long (default 90s)")
		has(text, "release What (a value such as 1.2.3 (semver); required)")
		has(text, "files Which (a path; 1 or more)")
	end)

	it("shows a switch by the spelling that changes something", function()
		local text = text_of(FULL)
		has(text, "--dry-run Change nothing")
		has(text, "--no-verify Look afterwards")
		has_not(text, "default false")
		has_not(text, "default true")
	end)

	it("shows the limits and where they come from", function()
		has(text_of(FULL), "timeout 5m, from this command")
		has(text_of({ description = "x", danger_level = "safe", run = print }, { project = { timeout = 7000 } }),
			"timeout 7s, from runner.lua")
	end)

	it("shows which failures are retried, how often and after which delays", function()
		has(text_of(FULL), "Up to 3 retries, exponential delay from 2s up to 30s, jitter ±25%, on UNAVAILABLE, TIMEOUT")
		has(text_of({ description = "x", danger_level = "safe", run = print }), "Retries: None")
	end)

	it("shows its own exit codes, those it retries on and the common ones, by number", function()
		local text = text_of(FULL)
		has(text, "79 LOCKED Another deploy holds it (retry after 5s, linear backoff)")
		has(text, "10 TIMEOUT A time limit was reached (retry immediately; part of the work may be done)")
		has(text, "12 UNAVAILABLE")
		has_not(text, "PAYMENT_REQUIRED")
		assert.is_true(text:find("0  SUCCESS") < text:find("2  ARG_ERROR") and text:find("79  LOCKED")
			< text:find("130  CANCELLED"))
	end)

	it("shows the numbers of the classic table where that is chosen", function()
		has(text_of(FULL, { exit_table = "classic" }), " 7 TIMEOUT")
	end)

	it("shows danger, steps, scopes, examples and runner's own flags", function()
		local text = text_of(FULL)
		has(text, "Mutating: changes things.")
		has(text, "Steps: validate → upload")
		has(text, "Scopes: deploy:write")
		has(text, "# To production runner db deploy --target prod 1.2.3")
		for _, row in ipairs(flags.rows) do
			has(text, "--" .. row.flag)
		end
	end)

	it("survives values and defaults that raise an error", function()
		local function fail()
			error("no config")
		end
		local text = text_of { description = "x", danger_level = "safe", run = print,
			args = { { "a", "enum", values = fail, description = "A" }, { "b", "string", default = fail } } }
		has(text, "one of the values the project configures")
		has(text, "default computed")
	end)

	it("calls functions for values and defaults with the project's config", function()
		local text = text_of({ description = "x", danger_level = "safe", run = print, args = {
			{ "a", "enum", values = function(c) return { c.name } end, default = function(c) return c.name end } } },
			{ config = { name = "blue" } })
		has(text, "one of blue; default blue")
	end)

	it("shows how many items an array takes", function()
		local function items(row)
			row[1], row[2], row.items, row.description = "a", "array", "path", "A"
			return text_of { description = "x", danger_level = "safe", run = print, args = { row } }
		end
		has(items {}, "(a path; repeatable)")
		has(items { min_length = 2, max_length = 3 }, "(a path; repeatable, 2 to 3)")
		has(items { variadic = true }, "(a path; any number)")
		has(items { variadic = true, max_length = 3 }, "(a path; up to 3)")
	end)

	it("stays within the width, but for command lines to copy", function()
		for _, width in ipairs { 40, 60, 80, 120 } do
			for line in text_of(FULL, { width = width }):gmatch("[^\n]+") do
				assert.is_true(utf8.len(line) <= width or line:find("^  runner ") ~= nil, line)
			end
		end
	end)
end)

describe("the overview", function()
	local ABOUT = { width = 80, project = {} }

	it("lists commands in one line each, the broken ones with what to do", function()
		local text = help.overview({ { name = "db migrate", description = "Change tables" },
			{ name = "bad", broken = true, problem = "…" } }, { { name = "help", description = "Help" } }, ABOUT)
		has(text, "Commands: db migrate Change tables bad (broken: run 'runner lint bad')")
		has(text, "Built-in commands: help Help")
	end)

	it("says how to begin where there is none", function()
		has(help.overview({}, {}, ABOUT), "runner new hello")
	end)

	it("describes every framework flag with its values, bounds, default and variable", function()
		local text = help.overview({}, {}, ABOUT)
		for _, row in ipairs(flags.rows) do
			has(text, "--" .. row.flag)
			has(text, row.description)
			has(text, row.env and "$" .. row.env or "")
		end
		has(text, "(one of json, jsonl, tsv, plain, table, id; from $RUNNER_FORMAT)")
		has(text, "a whole number from 0 to 1000")
	end)

	it("names every exit entry of the registry", function()
		local text = help.overview({}, {}, ABOUT)
		for line in io.lines(ROOT .. "src/common/codes.def") do
			local name, number, description = line:match('^EXIT%(([A-Z_]+),%s*(%d+),.*"(.*)"%)$')
			if name then
				has(text, ("%s %s %s"):format(number, name, description))
			end
		end
	end)

	it("says what is wrong with runner.lua", function()
		has(help.overview({}, {}, { width = 80, project = { problem = { message = "no such key" } } }),
			"runner.lua is invalid: no such key")
	end)

	it("names every variable that the sources read or set", function()
		local known = { REQUEST_METHOD = true } -- tells ctx:http that it runs in a CGI program
		for _, row in ipairs(environment.rows) do
			known[row.name] = true
			for name in row.description:gmatch("[A-Z][A-Z_]+") do
				known[name] = true
			end
		end
		for _, row in ipairs(flags.rows) do
			known[row.env or ""] = true
		end
		local sources = assert(io.popen(("find '%slua' '%ssrc' -name '*.lua' -o -name '*.c' | xargs cat"):format(ROOT, ROOT)))
		local found = 0
		for name in sources:read("a"):gmatch('env%w*%s*%(?"([A-Z][A-Z_]+)"') do
			found = found + 1
			assert.is_true(known[name] or false, name .. " is missing in lua/declare/environment.lua")
		end
		sources:close()
		assert.is_true(found > 10)
	end)
end)

describe("wrap", function()
	it("breaks at blanks, keeps line breaks and leaves long words whole", function()
		assert.same({ "one two", "three", "", "abcdefghij" }, layout.lines("one two three\n\nabcdefghij", 8))
	end)

	it("counts characters, not bytes", function()
		assert.same({ "äää öö" }, layout.lines("äää öö", 6))
	end)

	it("puts the meaning of a term that is too long below it", function()
		assert.equal("  a                b\n  a-very-long-term-indeed\n                   c\n",
			layout.columns({ { "a", "b" }, { "0123456789abcde", "x" }, { "a-very-long-term-indeed", "c" } }, 40)
				:gsub("  0123456789abcde  x\n", ""))
	end)
end)
