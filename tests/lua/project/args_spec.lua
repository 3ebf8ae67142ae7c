local args = require "runner.project.args"
local command = require "runner.declare.command"

-- The normal form, or the error that names every problem.
local function check(declared, where)
	local normal, raised = command.normal(declared, where)
	return normal, not normal and require("runner.declare.declaration").error(declared, where, raised) or nil
end

local function rows_of(list)
	local normal, e = check({ description = "x", danger_level = "safe", run = print, args = list },
		{ path = "commands/x.lua", name = "x" })
	assert(normal, e and e.detail or tostring(e))
	return normal.args
end

local function parse(list, tokens, opts)
	return args.parse(rows_of(list), tokens, opts)
end

-- The values, when there is no problem.
local function values(list, tokens, opts)
	local r = parse(list, tokens, opts)
	assert.same({}, r.problems)
	return r.values, r
end

-- The only problem.
local function problem(list, tokens, opts)
	local r = parse(list, tokens, opts)
	assert.equal(1, #r.problems, (r.problems[2] or {}).message)
	return r.problems[1]
end

local function env(variables)
	return { getenv = function(name) return variables[name] end }
end

local DEPLOY = {
	{ "target", "enum", values = { "prod", "staging", "dev" }, required = true, short = "t",
		code = "INVALID_ENVIRONMENT" },
	{ "release", "string", pattern = "semver", positional = true },
	{ "keep", "integer", min = 1, max = 50, default = 5, short = "n" },
	{ "force", "boolean", short = "f" },
	{ "dry_run", "boolean", short = "d" },
}

describe("args: the ways to write an argument", function()
	it("takes --flag value, --flag=value, -n5, -n 5 and -n=5", function()
		for _, tokens in ipairs({ { "--keep", "7" }, { "--keep=7" }, { "-n7" }, { "-n", "7" }, { "-n=7" } }) do
			table.insert(tokens, "--target=dev")
			assert.equal(7, values(DEPLOY, tokens).keep, tokens[1])
		end
	end)

	it("takes options anywhere, before and behind positionals", function()
		for _, tokens in ipairs({
			{ "1.2.3", "--target", "dev", "-f" }, { "-f", "1.2.3", "--target", "dev" },
			{ "--target", "dev", "-f", "1.2.3" },
		}) do
			local v = values(DEPLOY, tokens)
			assert.same({ "1.2.3", "dev", true }, { v.release, v.target, v.force })
		end
	end)

	it("takes grouped short booleans, the last one with a value", function()
		local v = values(DEPLOY, { "-fdt", "dev" })
		assert.same({ true, true, "dev" }, { v.force, v.dry_run, v.target })
		assert.equal(9, values(DEPLOY, { "-fn9", "-tdev" }).keep)
	end)

	it("takes --no-flag and --flag=false for a boolean", function()
		local list = { { "cache", "boolean", default = true } }
		assert.is_true(values(list, {}).cache)
		for _, token in ipairs({ "--no-cache", "--cache=false", "--cache=no", "--cache=0", "--cache=off" }) do
			assert.is_false(values(list, { token }).cache, token)
		end
		assert.is_true(values({ { "cache", "boolean" } }, { "--cache=yes" }).cache)
	end)

	it("writes _ in a name as - on the command line", function()
		assert.is_true(values(DEPLOY, { "--dry-run", "-tdev" }).dry_run)
	end)

	it("takes a positional by its name as well", function()
		assert.equal("1.2.3", values(DEPLOY, { "--release", "1.2.3", "-tdev" }).release)
	end)

	it("takes negative numbers as values and as positionals", function()
		local list = { { "x", "number", positional = true }, { "by", "integer", short = "b" } }
		for _, token in ipairs({ "-5", "-0.5", "-1e3", "-.5" }) do
			assert.equal(tonumber(token), values(list, { token }).x, token)
		end
		assert.equal(-3, values(list, { "--by", "-3" }).by)
		assert.equal(-3, values(list, { "-b", "-3" }).by)
		assert.equal(-3, values(list, { "-b-3" }).by)
	end)

	it("takes everything behind -- as positional", function()
		local list = { { "words", "string", variadic = true }, { "loud", "boolean" } }
		local v = values(list, { "a", "--", "--loud", "-x", "--", "--help" })
		assert.same({ "a", "--loud", "-x", "--", "--help" }, v.words)
		assert.is_false(v.loud)
	end)

	it("takes - alone as a value", function()
		assert.equal("-", values({ { "file", "path", positional = true } }, { "-" }).file)
		assert.equal("-", values({ { "file", "path" } }, { "--file", "-" }).file)
	end)

	it("keeps whatever stands behind the first = ", function()
		assert.equal("a=b\nc", values({ { "note", "string" } }, { "--note=a=b\nc" }).note)
		assert.equal("", values({ { "note", "string" } }, { "--note=" }).note)
	end)
end)

describe("args: types", function()
	local function reads(row, good, bad)
		for _, case in ipairs(good) do
			local v = values({ row }, { "--v=" .. case[1] }).v
			assert.equal(case[2], v, case[1])
			assert.equal(math.type(case[2]), math.type(v), case[1])
		end
		for _, text in ipairs(bad) do
			assert.equal("v", problem({ row }, { "--v=" .. text }).field, text)
		end
	end

	it("reads integers of 64 bits, and nothing that only looks like one", function()
		reads({ "v", "integer" }, {
			{ "0", 0 }, { "-7", -7 }, { "+7", 7 }, { "007", 7 }, { "9223372036854775807", math.maxinteger },
			{ "-9223372036854775808", math.mininteger },
		}, { "", " 1", "1 ", "1.0", "1e3", "0x10", "9223372036854775808", "-9223372036854775809", "1_000", "--1", "x" })
	end)

	it("reads finite numbers in decimal", function()
		reads({ "v", "number" }, { { "1", 1 }, { "-0.5", -0.5 }, { "1e3", 1000.0 }, { ".5", 0.5 }, { "2.", 2.0 } },
			{ "", "nan", "inf", "-inf", "0x10", "1e999", "1,5", " 1", "e", "." })
	end)

	it("reads durations as seconds, exact to the ms", function()
		reads({ "v", "duration" }, {
			{ "500ms", 0.5 }, { "1500ms", 1.5 }, { "2s", 2 }, { "5m", 300 }, { "1h", 3600 }, { "30", 30 },
			{ "none", 0 }, { "1ms", 0.001 },
		}, { "", "5x", "-5s", "s", "1 s", "999999999999h" })
	end)

	it("reads booleans from text", function()
		reads({ "v", "boolean" }, { { "true", true }, { "1", true }, { "false", false }, { "off", false } },
			{ "", "maybe", "TRUE", "2" })
	end)

	it("refuses an empty path, not an empty string", function()
		reads({ "v", "path" }, { { "a b", "a b" } }, { "" })
		reads({ "v", "string" }, { { "", "" } }, {})
	end)

	it("refuses invalid UTF-8 in every type", function()
		for _, kind in ipairs({ "string", "path", "integer" }) do
			local p = problem({ { "v", kind } }, { "--v=a\255" })
			assert.equal("INVALID_ARGUMENT", p.code)
			assert.truthy(p.message:find("not valid UTF-8", 1, true))
			assert.truthy(utf8.len(p.message .. p.value))
		end
	end)

	it("holds bounds, on both sides and at the edge", function()
		reads({ "v", "integer", min = 1, max = 50 }, { { "1", 1 }, { "50", 50 } }, { "0", "51" })
		reads({ "v", "duration", min = "1s", max = "1m" }, { { "1s", 1 }, { "60s", 60 } }, { "999ms", "61s" })
		reads({ "v", "string", min_length = 2, max_length = 3 }, { { "ab", "ab" }, { "äöü", "äöü" } }, { "a", "abcd" })
	end)

	it("holds an anchored pattern", function()
		reads({ "v", "string", pattern = "^[a-z0-9-]{3,8}$" }, { { "web-01", "web-01" } },
			{ "we", "Web-01", "web-01\n", "web 01" })
	end)

	local PRESETS = {
		uuid = { { "123e4567-e89b-12d3-a456-426614174000" }, { "123e4567", "123e4567-e89b-12d3-a456-42661417400g" } },
		semver = { { "0.0.1", "1.2.3-rc.1+build.5", "10.20.30" }, { "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01" } },
		url = { { "https://a.example/x?y=1", "http://localhost:80" }, { "example.org", "http://", "http://a b", "/x" } },
		alphanumeric_id = { { "web-01", "A_1" }, { "a/b", "a.b", "a?b", "a#b", "a%b", "-a", "" } },
		filepath = { { "/home/u/f.txt", "a..b/c", "site", "100%", "a%20b", "%7e/%2b" }, { "../x", "a/../b", "a/..", "a%2e%2e/b", "a%2Fb", "a\nb",
			"%252e%252e/x", "%25252E./x", "a%255cb", "%2%65%2%65/x", "%%32%65./x", "%25%32%65./x", "a%%34%36b" } },
	}
	for name, cases in pairs(PRESETS) do
		it("holds the preset " .. name, function()
			local good = {}
			for i, text in ipairs(cases[1]) do
				good[i] = { text, text }
			end
			reads({ "v", "string", pattern = name }, good, cases[2])
		end)
	end
end)

describe("args: arrays", function()
	it("collects a repeated option in order, same values too", function()
		local list = { { "tag", type = "array", items = "integer", short = "g" } }
		assert.same({ 3, 1, 3 }, values(list, { "--tag", "3", "-g1", "--tag=3" }).tag)
		assert.same({}, values(list, {}).tag)
	end)

	it("takes no list in JSON for an item, but by --raw-payload", function()
		local list = { { "tag", type = "array", items = "string" } }
		local problems = parse(list, { "--tag", '["a","b"]' }).problems
		assert.equal("Give --tag once for each item; one that looks so is given by --raw-payload", problems[1].suggestion)
		assert.same({ "[a]", "[1]" }, values(list, { "--tag", "[a]", "--tag=[1]" }).tag)
	end)

	it("gives the rest to a variadic positional", function()
		local list = { { "to", "path", positional = true, required = true }, { "files", "path", variadic = true } }
		local v = values(list, { "dest", "a", "b" })
		assert.equal("dest", v.to)
		assert.same({ "a", "b" }, v.files)
	end)

	it("checks every item by the rules of the row", function()
		local list = { { "n", "array", items = "integer", max = 9 } }
		assert.equal("Invalid --n '10': expected a whole number of at most 9",
			problem(list, { "--n=1", "--n=10" }).message)
		assert.equal("Unknown e 'c'",
			problem({ { "e", "array", items = "enum", values = { "a", "b" } } }, { "--e=a", "--e=c" }).message)
	end)

	it("counts items by min_length and max_length", function()
		local list = { { "n", "array", items = "integer", min_length = 2, max_length = 3 } }
		assert.same({ 1, 2 }, values(list, { "--n=1", "--n=2" }).n)
		assert.same({}, values(list, {}).n)
		assert.equal("--n was given 1 value, expected 2 to 3 values", problem(list, { "--n=1" }).message)
	end)

	it("asks for a required array", function()
		assert.equal("MISSING_ARGUMENT", problem({ { "f", "path", variadic = true, required = true } }, {}).code)
	end)

	it("takes 10,000 values in linear time", function()
		local rows = rows_of({ { "files", "path", variadic = true } })
		local function time(n)
			local tokens = {}
			for i = 1, n do
				tokens[i] = "file-" .. i
			end
			local start = os.clock()
			local r = args.parse(rows, tokens)
			assert.equal(n, #r.values.files)
			return os.clock() - start
		end
		time(1000)
		assert.is_true(time(10000) < 1)
		assert.is_true(time(40000) < 4)
	end)
end)

describe("args: what stands in for a flag", function()
	local list = { { "target", "enum", values = { "prod", "dev" }, env = "DEPLOY_TARGET", default = "dev" } }

	it("prefers flag, then environment, then default, and says which", function()
		local function where(tokens, variables)
			local v, r = values(list, tokens, env(variables))
			return { v.target, r.given.target }
		end
		assert.same({ "prod", "flag" }, where({ "--target=prod" }, { DEPLOY_TARGET = "dev" }))
		assert.same({ "prod", "env" }, where({}, { DEPLOY_TARGET = "prod" }))
		assert.same({ "dev", "default" }, where({}, {}))
		assert.same({ "dev", "default" }, where({}, { DEPLOY_TARGET = "" }))
	end)

	it("names the variable when its value is bad", function()
		local p = problem(list, {}, env({ DEPLOY_TARGET = "moon" }))
		assert.equal("Unknown target 'moon' in DEPLOY_TARGET", p.message)
		assert.equal("Correct the environment variable DEPLOY_TARGET before retrying", p.fix_required)
	end)

	it("takes the first of several variables that is set, and names that one", function()
		local rows = { { "keep", "integer", env = "MYTOOL_KEEP", env_fallbacks = { "KEEP", "OTHER" }, required = true } }
		assert.equal(1, values(rows, {}, env({ MYTOOL_KEEP = "1", KEEP = "2" })).keep)
		assert.equal(2, values(rows, {}, env({ MYTOOL_KEEP = "", KEEP = "2", OTHER = "x" })).keep)
		assert.equal(3, values(rows, { "--keep=3" }, env({ MYTOOL_KEEP = "1", KEEP = "x" })).keep)
		assert.equal("Invalid keep 'x' in OTHER: expected a whole number", problem(rows, {}, env({ OTHER = "x" })).message)
		assert.equal("Correct the environment variable OTHER before retrying", problem(rows, {}, env({ OTHER = "x" })).fix_required)
		assert.equal("Invalid keep 'y' in MYTOOL_KEEP: expected a whole number",
			problem(rows, {}, env({ MYTOOL_KEEP = "y", KEEP = "2" })).message)
		assert.equal(4, values({ { "n", "integer", env_fallbacks = { "N" } } }, {}, env({ N = "4" })).n)
		assert.equal("Give --keep (or set MYTOOL_KEEP or KEEP or OTHER)", problem(rows, {}, env({})).fix_required)
	end)

	it("does not look at a bad variable when the flag is given", function()
		assert.equal("prod", values(list, { "--target=prod" }, env({ DEPLOY_TARGET = "moon" })).target)
	end)

	it("splits the variable of an array at commas", function()
		local ports = { { "port", "array", items = "integer", env = "PORTS" } }
		assert.same({ 80, 443 }, values(ports, {}, env({ PORTS = "80,443" })).port)
	end)

	it("asks functions with the project's config", function()
		local rows = { { "target", "enum", values = function(c) return c.names end,
			default = function(c) return c.names[2] end } }
		assert.equal("b", values(rows, {}, { config = { names = { "a", "b" } } }).target)
		assert.equal("Valid values: a, b",
			problem(rows, { "--target=zzzz" }, { config = { names = { "a", "b" } } }).suggestion)
		assert.equal("No valid values are configured",
			problem({ { "t", "enum", values = function() return {} end } }, { "--t=a" }).suggestion)
	end)

	it("calls a values function that returns no list an invalid command", function()
		local ok, e = pcall(parse, { { "t", "enum", values = function() return "a" end } }, { "--t=a" })
		assert.is_false(ok)
		assert.equal("COMMAND_INVALID", e.code)
	end)

	it("checks what a default function returns, and takes nil as no default", function()
		local p = problem({ { "n", "integer", default = function() return "5" end } }, {})
		assert.equal("Invalid n '5' (its default): expected a whole number", p.message)
		local none = { { "n", "integer", required = true, default = function() end } }
		assert.equal("MISSING_ARGUMENT", problem(none, {}).code)
	end)

	it("gives false for a boolean and {} for an array that nobody gave", function()
		local v, r = values({ { "b", "boolean" }, { "a", "array", items = "string" }, { "s", "string" } }, {})
		assert.same({ b = false, a = {} }, v)
		assert.same({}, r.given)
	end)

	it("converts a default as if it had been given", function()
		assert.equal(1.5, values({ { "wait", "duration", default = "1500ms" } }, {}).wait)
		assert.equal(90, values({ { "wait", "duration", default = 90 } }, {}).wait)
	end)
end)

describe("args: problems", function()
	it("words the validation error of the wire format (REQ-C-014)", function()
		local p = problem(DEPLOY, { "--target", "prodution" })
		assert.same({
			field = "target", code = "INVALID_ENVIRONMENT", message = "Unknown target 'prodution'", value = "prodution",
			suggestion = "Valid values: prod, staging, dev",
			fix_required = "Correct the --target argument before retrying",
		}, p)
	end)

	it("adds did-you-mean where a value is near", function()
		assert.equal("Valid values: prod, staging, dev. Did you mean 'staging'?",
			problem(DEPLOY, { "--target", "stagin" }).suggestion)
	end)

	it("lets a row bring its own suggestion", function()
		local list = { { "n", "integer", suggestion = "Ask ops for a number" } }
		assert.equal("Ask ops for a number", problem(list, { "--n=x" }).suggestion)
	end)

	it("reports all problems at once, in the order of the command line", function()
		local r = parse(DEPLOY, { "1.2", "--keep=99", "--bogus", "extra", "more", "--timeout", "soon" })
		local found = {}
		for i, p in ipairs(r.problems) do
			found[i] = p.field .. " " .. p.code
			assert.truthy(p.fix_required, p.message)
		end
		assert.same({
			"release INVALID_ARGUMENT", "keep INVALID_ARGUMENT", "--bogus UNKNOWN_FLAG", "timeout INVALID_ARGUMENT",
			"target MISSING_ARGUMENT", "arguments INVALID_ARGUMENT",
		}, found)
		assert.equal("Unexpected argument 'more': this command takes only <release>",
			r.problems[6].message) -- 'extra' may be the value of --bogus
	end)

	it("says how to give a missing argument", function()
		local p = problem({ { "target", "enum", values = { "a", "b" }, required = true, env = "TARGET" } }, {}, env({}))
		assert.equal("Missing argument --target", p.message)
		assert.equal("Give --target a or b (or set TARGET)", p.fix_required)
		assert.equal("Valid values: a, b", p.suggestion)
	end)

	it("takes a misspelt flag together with its value, and not as missing", function()
		local p = problem(DEPLOY, { "--taget", "prod", "1.2.3" })
		assert.equal("UNKNOWN_FLAG", p.code)
		assert.equal("Unknown flag '--taget'", p.message)
		assert.equal("Did you mean '--target'?", p.suggestion)
		assert.equal("Rename '--taget' to '--target'", p.fix_required)
	end)

	it("says what --no- before a flag with a value gets wrong, and doesn't report it as missing", function()
		local p = problem({ { "n", "integer", min = 1, required = true } }, { "--no-n" })
		assert.same({ "UNKNOWN_FLAG", "Unknown flag '--no-n'" }, { p.code, p.message })
		assert.equal("--n takes a whole number of at least 1; only booleans have --no-", p.suggestion)
		assert.equal("Remove '--no-n'", p.fix_required)
		p = problem(DEPLOY, { "--no-timeout", "-tdev" })
		assert.truthy(p.suggestion:find("--timeout takes a duration", 1, true), p.suggestion)
	end)

	it("names a few valid values in the fix of a missing argument, many only as suggestion", function()
		local function fix(...)
			return problem({ { "env", "enum", values = { ... }, required = true } }, {}).fix_required
		end
		assert.equal("Give --env dev, staging or prod", fix("dev", "staging", "prod"))
		assert.equal("Give --env dev", fix "dev")
		assert.equal("Give --env", fix("a", "b", "c", "d", "e", "f", "g"))
	end)

	it("knows runner's own flags in did-you-mean", function()
		assert.equal("Did you mean '--retries'?", problem(DEPLOY, { "--retrys=3", "-tdev" }).suggestion)
	end)

	it("understands a long flag with one dash", function()
		local p = problem({ { "target", "string" } }, { "-target", "prod" })
		assert.equal("Unknown flag '-target'", p.message)
		assert.equal("Did you mean '--target'?", p.suggestion)
	end)

	it("looks no further than a short name allows for what was meant", function()
		local list = { { "name", "string" }, { "num", "string" }, { "tag", "string" }, { "id", "string" } }
		assert.equal("Did you mean '--name' or '--num'?", problem(list, { "--nam" }).suggestion)
	end)

	it("counts one character as one", function()
		local function words(key, n)
			return problem({ { "v", "string", [key] = n } }, { "--v", key == "min_length" and "" or "abcde" }).message
		end
		assert.equal("Invalid --v '': expected text of at least 1 character", words("min_length", 1))
		assert.equal("Invalid --v '': expected text of at least 2 characters", words("min_length", 2))
		assert.equal("Invalid --v 'abcde': expected text of at most 1 character", words("max_length", 1))
	end)

	it("takes the value of a boolean's letter", function()
		assert.is_false(values(DEPLOY, { "-f=no", "-tdev" }).force)
		assert.same({ true, true }, { values(DEPLOY, { "-df=1", "-tdev" }).force, values(DEPLOY, { "-df=1", "-tdev" }).dry_run })
		assert.equal("Invalid --force 'maybe': expected true or false", problem(DEPLOY, { "-f=maybe", "-tdev" }).message)
	end)

	it("counts every problem, also those that it does not list", function()
		local tokens = {}
		for i = 1, 250 do
			tokens[i] = "x"
		end
		local found = parse({ { "n", "integer", variadic = true } }, tokens).problems
		assert.equal(101, #found)
		assert.equal("250 problems with the arguments", require("runner.declare.arg_errors").error(found).message)
	end)

	it("names the letter of a group that nobody knows", function()
		assert.equal("Unknown flag '-z'", problem(DEPLOY, { "-fz", "--target=dev" }).message)
		assert.truthy(utf8.len(problem(DEPLOY, { "-é", "--target=dev" }).message))
	end)

	it("refuses an option given twice with different values, once, and bears the same value", function()
		assert.equal(7, values(DEPLOY, { "--keep=7", "-n07", "-tdev" }).keep)
		local p = problem(DEPLOY, { "--keep=7", "-n8", "--keep", "9", "-tdev" })
		assert.equal("CONFLICTING_VALUES", p.code)
		assert.equal("--keep was given twice with different values: '7' and '8'", p.message)
		assert.equal("CONFLICTING_VALUES", problem(DEPLOY, { "-f", "--no-force", "-tdev" }).code)
		assert.equal("CONFLICTING_VALUES", problem(DEPLOY, { "--quiet", "--no-quiet", "-tdev" }).code)
	end)

	it("does not swallow a flag as the value of another", function()
		local p = problem(DEPLOY, { "-tdev", "--keep", "--force" })
		assert.equal("Flag --keep needs a value", p.message)
		assert.truthy(p.suggestion:find("--keep=--force", 1, true))
		assert.equal("MISSING_ARGUMENT", problem(DEPLOY, { "-t" }).code)
	end)

	it("refuses a value behind --no-flag, and --no- of what is no boolean", function()
		assert.equal("Flag --no-force takes no value", problem(DEPLOY, { "-tdev", "--no-force=1" }).message)
		assert.equal("UNKNOWN_FLAG", problem(DEPLOY, { "-tdev", "--no-keep" }).code)
	end)

	it("cuts the list of problems and counts the rest", function()
		local tokens = {}
		for i = 1, 250 do
			tokens[i] = "--n=x" .. i
		end
		local r = parse({ { "n", "array", items = "integer" } }, tokens)
		assert.equal(101, #r.problems)
		assert.equal("There are 150 more problems", r.problems[101].message)
	end)

	it("shows a long value cut, at a whole character", function()
		local p = problem({ { "n", "integer" } }, { "--n=" .. ("ä"):rep(5000) })
		assert.is_true(#p.message < 1000)
		assert.truthy(utf8.len(p.message))
	end)

	it("names the file where all problems are on lines of one", function()
		local raise = require("runner.declare.arg_errors").error
		local function message(first, second)
			return raise({ first, second }).message
		end
		local a, b = { message = "x", value = "a.yaml", line = 1 }, { message = "y", value = "a.yaml", line = 2 }
		assert.equal("2 problems in a.yaml", message(a, b))
		assert.equal("Fix a.yaml", raise({ a, b }).fix_required)
		for _, other in ipairs { { value = "b.yaml", line = 2 }, { value = "a.yaml" }, { line = 2 } } do
			assert.equal("2 problems with the arguments", message(a, other))
		end
		assert.equal("2 problems with the arguments", message({ line = 1, value = {} }, { line = 1, value = {} }))
		assert.equal("2 problems with the arguments", message({ line = 1, value = 3 }, { line = 1, value = 3 }))
	end)

	it("makes a single problem the error, and several a VALIDATION_ERROR", function()
		local arg_errors = require "runner.declare.arg_errors"
		local one = arg_errors.error(parse(DEPLOY, { "--target=moon" }).problems)
		assert.equal("INVALID_ENVIRONMENT: Unknown target 'moon'", tostring(one))
		assert.equal("validation", one.phase)
		assert.is_false(one.retryable)
		local two = arg_errors.error(parse(DEPLOY, { "--keep=x" }).problems)
		assert.equal("VALIDATION_ERROR: 2 problems with the arguments", tostring(two))
		assert.equal(2, #two.errors)
		assert.truthy(two.fix_required)
	end)
end)

describe("args: the framework's flags", function()
	it("are taken anywhere before --, and kept apart from the command's values", function()
		local v, r = values(DEPLOY, { "--format=json", "1.2.3", "--timeout", "2s", "-tdev", "--retries", "0", "--quiet" })
		assert.is_nil(v.timeout)
		assert.same({ format = "json", timeout = 2, retries = 0, quiet = true }, r.framework)
		assert.equal("flag", r.framework_given.timeout)
	end)

	it("keep the spelling with - and the name with _", function()
		local _, r = values({}, { "--attempt-timeout=1500ms", "--no-color", "-h", "-V" })
		assert.same({ attempt_timeout = 1.5, no_color = true, help = true, version = true }, r.framework)
	end)

	it("come from the environment where a row says so", function()
		local _, r = values({}, { "--grace=1s" }, env({ RUNNER_TIMEOUT = "5s", RUNNER_GRACE = "9s" }))
		assert.same({ timeout = 5, grace = 1 }, r.framework)
		assert.equal("env", r.framework_given.timeout)
		assert.equal("Invalid retries 'many' in RUNNER_RETRIES: expected a whole number from 0 to 1000",
			problem({}, {}, env({ RUNNER_RETRIES = "many" })).message)
	end)

	it("refuse what they refuse", function()
		assert.equal("Unknown format 'yaml'", problem({}, { "--format=yaml" }).message)
		for _, text in ipairs({ "-1", "1001", "1.5" }) do
			assert.equal("retries", problem({}, { "--retries", text }).field)
		end
	end)
end)

describe("args.command_words", function()
	local function words(...)
		local out = {}
		local names, places = args.command_words({ ... })
		for i, name in ipairs(names) do
			out[i] = places[i] .. name
		end
		return table.concat(out, " ")
	end

	it("skips framework flags and their values before and between the words", function()
		assert.equal("1deploy", words("deploy"))
		assert.equal("3db 4migrate", words("--format", "json", "db", "migrate"))
		assert.equal("2db 4migrate", words("--timeout=2s", "db", "--quiet", "migrate"))
		assert.equal("2deploy", words("-h", "deploy"))
		assert.equal("2deploy", words("--no-quiet", "deploy"))
	end)

	it("stops at -- and at a flag it does not know", function()
		assert.equal("1deploy", words("deploy", "--", "x"))
		assert.equal("1deploy 2v1", words("deploy", "v1", "--target", "prod"))
		assert.equal("", words("--bogus", "deploy"))
		assert.equal("", words("-z", "deploy"))
		assert.equal("", words())
		assert.equal("", words("--timeout"))
	end)

	it("is bounded, however long argv is", function()
		local argv = {}
		for i = 1, 10000 do
			argv[i] = "f" .. i
		end
		assert.is_true(#args.command_words(argv) <= 16)
	end)
end)
