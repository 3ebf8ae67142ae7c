local command = require "runner.declare.command"
local errors = require "runner.core.errors"

-- The normal form, or the error that names every problem.
local function check(declared, where)
	local normal, raised = command.normal(declared, where)
	return normal, not normal and require("runner.declare.declaration").error(declared, where, raised) or nil
end

local WHERE = { path = "commands/db/x.lua", name = "db.x" }

-- A valid declaration with some keys changed.
local function declaration(changes)
	local d = { description = "Do it", danger_level = "safe", run = function() end }
	for key, v in pairs(changes or {}) do
		d[key] = v
	end
	return d
end

local function normal(changes)
	local n, e = check(declaration(changes), WHERE)
	assert(n, e and e.detail or e and e.message)
	return n
end

local function refused(changes, text)
	local n, e = check(declaration(changes), WHERE)
	assert.is_nil(n)
	assert.equal("COMMAND_INVALID", e.code)
	assert.truthy(((e.detail or "") .. e.message):find(text, 1, true), e.detail or e.message)
end

describe("command.check: the normal form", function()
	it("of the smallest command", function()
		local d = declaration()
		assert.same({
			name = "db.x", description = "Do it", danger_level = "safe", run = d.run, args = {}, exit_codes = {},
			limits = {}, stdin = false, interactive = false, hidden = false, schema_version = "1.0",
		}, check(d, WHERE))
	end)

	it("has limits in ms, nil where none is declared and 0 for none", function()
		local n = normal({ timeout = "5m", attempt_timeout = 60, idle_timeout = "none", limits = { memory = "256MiB" } })
		assert.same({ 300000, 60000, 0 }, { n.timeout_ms, n.attempt_timeout_ms, n.idle_timeout_ms })
		assert.is_nil(n.grace_ms)
		assert.is_nil(n.timeout)
		assert.equal(268435456, n.limits.memory_bytes)
	end)

	it("reads sizes", function()
		for _, case in ipairs({ { "1MiB", 2 ^ 20 }, { "1 GB", 1e9 }, { 2 ^ 21 | 0, 2 ^ 21 }, { "2g", 2 ^ 31 },
			{ "none", 0 }, { 0, 0 } }) do
			assert.equal(case[2], normal({ limits = { memory = case[1] } }).limits.memory_bytes)
		end
	end)

	it("has the limits of the machine as numbers, nil where there is none", function()
		local limits = normal({ limits = { memory = "64MB", cpu = "1500ms", processes = 64, open_files = 256 } }).limits
		assert.same({ memory_bytes = 64000000, cpu_ms = 1500, processes = 64, open_files = 256 }, limits)
		assert.equal(10000, normal({ limits = { cpu = 10 } }).limits.cpu_ms)
		assert.same({}, normal({ limits = { cpu = "none" } }).limits)
	end)

	it("has exit codes as a list by name, retryable as text", function()
		local n = normal({ exit_codes = {
			RATE_LIMITED = { retry_after_ms = 30000, retry_strategy = "exponential_backoff" },
			LOCKED = { code = 79, description = "Busy", retryable = true, side_effects = "none" },
			SUCCESS = { side_effects = "complete", retryable = false },
		} })
		assert.same({
			{ name = "LOCKED", exit_code = 79, description = "Busy", retryable = "true", side_effects = "none" },
			{ name = "RATE_LIMITED", retry_after_ms = 30000, retry_strategy = "exponential_backoff" },
			{ name = "SUCCESS", side_effects = "complete", retryable = "false" },
		}, n.exit_codes)
	end)

	it("has exit codes that the engine takes", function()
		local n = normal({ exit_codes = { LOCKED = { code = 79, retryable = "maybe", side_effects = "none" } } })
		local h = require("runner.host").hints("LOCKED", nil, n.exit_codes, "standard")
		assert.same({ true, 79, "maybe" }, { h.known, h.exit_code, h.retryable })
	end)

	it("has argument rows with flag, typed bounds and typed default", function()
		local n = normal({ args = {
			{ "dry_run", "boolean", short = "n", description = "d" },
			{ name = "wait", type = "duration", min = "1s", max = 90, default = "1500ms" },
			{ "files", "path", variadic = true, min_length = 1 },
		} })
		assert.same({ name = "dry_run", flag = "dry-run", type = "boolean", short = "n", description = "d" }, n.args[1])
		assert.same({ name = "wait", flag = "wait", type = "duration", min = 1, max = 90, default = 1.5 }, n.args[2])
		assert.same({ name = "files", flag = "files", type = "array", items = "path", positional = true,
			variadic = true, min_length = 1 }, n.args[3])
	end)

	it("keeps retry as declared, and steps, examples, scopes", function()
		local retry = { retries = 3, on = { "TIMEOUT" } }
		local n = normal({ retry = retry, steps = { "a", "b" }, required_scopes = {},
			examples = { { description = "d", command = "runner x" } } })
		assert.equal(retry, n.retry)
		assert.same({ "a", "b" }, n.steps)
		assert.same({}, n.required_scopes)
		assert.equal("runner x", n.examples[1].command)
	end)

	it("takes the declaration of the design page", function()
		local n = normal({
			danger_level = "mutating", timeout = "5m", attempt_timeout = "60s", idle_timeout = "30s", grace = "2s",
			args = {
				{ "target", "enum", values = { "prod", "staging", "dev" }, required = true, description = "Where" },
				{ "release", "string", pattern = "semver", positional = true, description = "Release" },
				{ "keep", "integer", min = 1, max = 50, default = 5, description = "Kept" },
			},
			retry = { retries = 3, delay = "1s", strategy = "exponential", max_delay = "30s", jitter = 0.25,
				on = { "RATE_LIMITED", "UNAVAILABLE", "TIMEOUT" } },
			exit_codes = {
				TIMEOUT = { retryable = true, side_effects = "partial", retry_after_ms = 0, retry_strategy = "immediate" },
				RATE_LIMITED = { retry_after_ms = 30000, retry_strategy = "exponential_backoff" },
				LOCKED = { code = 79, description = "Another deploy holds the lock", retryable = true,
					side_effects = "none", retry_after_ms = 5000, retry_strategy = "linear_backoff" },
			},
			steps = { "validate", "upload", "activate", "verify" },
			validate = function() end, cleanup = function() end,
		})
		assert.equal(3, #n.args)
		assert.equal("TIMEOUT", n.exit_codes[3].name)
	end)

	it("does not call functions of a declaration", function()
		local function never() error "called" end
		normal({ validate = never, args = { { "t", "enum", values = never, default = never } } })
		normal({ args = { { "t", "enum", values = never, default = "later" } } })
	end)
end)

describe("command.check: a command that may leave half its work", function()
	local LINE = 'TIMEOUT = { retryable = false, side_effects = "partial" }'

	it("must declare what a timeout means, and is shown the line to add", function()
		for _, level in ipairs({ "mutating", "destructive" }) do
			refused({ danger_level = level }, LINE)
			refused({ danger_level = level, exit_codes = { TIMEOUT = { retryable = true } } },
				"must set both retryable and side_effects")
			refused({ danger_level = level, timeout = "none", attempt_timeout = "5s" }, LINE)
			normal({ danger_level = level, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } } })
		end
	end)

	it("needs not where no time limit applies, nor does a safe command", function()
		normal({ danger_level = "mutating", timeout = "none" })
		normal({ danger_level = "mutating", timeout = 0, idle_timeout = "none" })
		normal({ danger_level = "safe" })
	end)
end)

describe("command.check refuses", function()
	local CASES = {
		["an unknown key, with did-you-mean"] = { { timout = "5s" }, "Rename 'timout' to 'timeout'" },
		["a missing description"] = { { description = "" }, "description" },
		["an unknown danger level"] = { { danger_level = "dangerous" }, 'Write "safe", "mutating" or "destructive"' },
		["a run that is no function"] = { { run = "x" }, "run is" },
		["a wrong duration"] = { { timeout = "5x" }, 'timeout is "5x"' },
		["a negative duration"] = { { grace = -1 }, "grace is -1" },
		["a step named twice"] = { { steps = { "a", "b", "a" } }, 'lists step "a" twice' },
		["steps that are no list"] = { { steps = { a = 1 } }, 'steps has the key "a", which is not a list item' },
		["retry without a bound"] = { { retry = { delay = "1s" } }, "has no bound" },
		["retry bound by max_delay without a timeout"] = { { retry = { max_delay = "9s" }, timeout = "none" }, "never ends" },
		["an unknown strategy"] = { { retry = { retries = 1, strategy = "expo" } }, 'retry.strategy is "expo"' },
		["an unknown jitter"] = { { retry = { retries = 1, jitter = "x" } }, 'retry.jitter is "x"' },
		["an unknown key of retry"] = { { retry = { retrys = 1 } }, "Rename 'retrys' to 'retries'" },
		["an exit code in small letters"] = { { exit_codes = { locked = {} } }, "is not a valid code name" },
		["an own code without number"] = { { exit_codes = { LOCKED = {} } }, "is not in the registry and has no code of its own" },
		["a misspelt registry code"] = { { exit_codes = { TIMEOUTS = {} } }, "Rename it to 'TIMEOUT'" },
		["a number below 79"] = { { exit_codes = { A1 = { code = 78, retryable = true, side_effects = "none" } } }, "is 78" },
		["a number above 125"] = { { exit_codes = { A1 = { code = 126, retryable = true, side_effects = "none" } } }, "is 126" },
		["a number for a registry code"] = { { exit_codes = { TIMEOUT = { code = 80 } } }, "Remove code" },
		["an own code without retryable"] = { { exit_codes = { A1 = { code = 80, side_effects = "none" } } }, "A1.retryable is missing" },
		["an own code without side effects"] = { { exit_codes = { A1 = { code = 80, retryable = true } } }, "A1.side_effects is missing" },
		["two names for one number"] = { { exit_codes = {
			A1 = { code = 80, retryable = true, side_effects = "none" },
			B1 = { code = 80, retryable = true, side_effects = "none" } } }, "B1.code is already used by A1" },
		["an exit code that is no table"] = { { exit_codes = { TIMEOUT = 5, [1] = 2 } }, "exit_codes.TIMEOUT is 5" },
		["a memory limit that nothing fits in"] = { { limits = { memory = "5KB" } }, "limits.memory" },
		["a CPU limit that is no duration"] = { { limits = { cpu = "soon" } }, "limits.cpu" },
		["no processes at all"] = { { limits = { processes = 0 } }, "limits.processes is 0" },
		["too few open files to work with"] = { { limits = { open_files = 15 } }, "limits.open_files is 15" },
		["a limit that nobody enforces"] = { { limits = { disk = "1GB" } }, "unknown key 'limits.disk'" },
		["an example without command"] = { { examples = { { description = "d" } } }, "examples.1.command is missing" },
		["args by name"] = { { args = { target = { type = "string" } } }, 'args has the key "target"' },
		["a wrong schema version"] = { { schema_version = 1 }, "schema_version is 1" },
	}
	for name, case in pairs(CASES) do
		it(name, function()
			refused(case[1], case[2])
		end)
	end

	local ROWS = {
		["a row that is no table"] = { { "text" }, 'args.1 is "text"' },
		["a row without a name"] = { { { type = "string" } }, "args.1.name is missing" },
		["a row without a type"] = { { { "a" } }, 'argument \'a\' has no type. Write { "a", "string" }' },
		["an unknown type"] = { { { "a", "strng" } }, 'type of argument \'a\' is "strng". Write "string"' },
		["a name in capitals"] = { { { "Keep", "integer" } }, "args.Keep.name" },
		["an unknown key of a row"] = { { { "a", "string", requird = true } }, "Rename 'requird' to 'required'" },
		["the same name twice"] = { { { "a", "string" }, { "a", "string" } }, "already taken by argument 'a'" },
		["names that are spelt alike"] = { { { "a_b", "string" }, { "a-b", "string" } }, "already taken by argument 'a_b'" },
		["a name that another boolean's --no- takes"] = { { { "x", "boolean" }, { "no-x", "string" } }, "already taken by argument 'x'" },
		["the same short twice"] = { { { "a", "string", short = "a" }, { "b", "string", short = "a" } }, "args.b.short" },
		["a name of the framework"] = { { { "timeout", "duration" } }, "can't be named timeout: runner has a flag --timeout" },
		["a name of the framework with _"] = { { { "retry_delay", "duration" } }, "can't be named retry_delay: runner has a flag --retry-delay" },
		["a name that begins as --runner-NAME does"] = { { { "runner_x", "string" } }, "names that begin so are runner's own" },
		["a short of the framework"] = { { { "a", "string", short = "h" } }, "runner's own flag -h" },
		["a short of two letters"] = { { { "a", "string", short = "ab" } }, "Write one letter" },
		["an enum without values"] = { { { "a", "enum" } }, "args.a.values is missing" },
		["an enum with no values"] = { { { "a", "enum", values = {} } }, "args.a.values" },
		["values of what is no enum"] = { { { "a", "string", values = { "x" } } }, "does not apply to type 'string'" },
		["min of a string"] = { { { "a", "string", min = 1 } }, "does not apply to type 'string'" },
		["a pattern of an integer"] = { { { "a", "integer", pattern = "^x$" } }, "does not apply to type 'integer'" },
		["min above max"] = { { { "a", "integer", min = 2, max = 1 } }, "args.a.min is greater than the maximum, 1" },
		["a bound of another type"] = { { { "a", "integer", min = "1s" } }, 'args.a.min is "1s"' },
		["an array without items"] = { { { "a", "array" } }, "args.a.items is missing" },
		["an array of arrays"] = { { { "a", "array", items = "array" } }, "args.a.items" },
		["items of a scalar"] = { { { "a", "string", items = "string" } }, "args.a.items does not apply" },
		["a pattern without anchors, showing it with them"] = { { { "a", "string", pattern = "[a-z]+" } }, 'Anchor it: pattern = "^[a-z]+$"' },
		["a pattern that does not compile"] = { { { "a", "string", pattern = "^(a$" } }, "invalid regular expression" },
		["a default of another type"] = { { { "a", "integer", default = "5" } }, 'args.a.default is "5"' },
		["a default out of bounds"] = { { { "a", "integer", max = 9, default = 10 } }, "args.a.default is 10" },
		["a default that is no value"] = { { { "a", "enum", values = { "x" }, default = "y" } }, "args.a.default" },
		["a default against the pattern"] = { { { "a", "string", pattern = "semver", default = "1" } }, "args.a.default" },
		["a default list with a bad item"] = { { { "a", "array", items = "integer", default = { 1, "x" } } }, "args.a.default" },
		["a positional after a variadic one"] = { {
			{ "a", "path", variadic = true }, { "b", "path", positional = true } }, "after the variadic argument 'a'" },
		["a required positional after an optional one"] = { {
			{ "a", "path", positional = true }, { "b", "path", positional = true, required = true } }, "after the optional positional 'a'" },
		["a code in small letters"] = { { { "a", "string", code = "bad" } }, "args.a.code" },
	}
	for name, case in pairs(ROWS) do
		it(name, function()
			refused({ args = case[1] }, case[2])
		end)
	end

	it("what is no table", function()
		for _, v in ipairs({ false, 12, "text", print }) do
			local n, e = check(v, WHERE)
			assert.is_nil(n)
			assert.truthy(e.message:find("commands/db/x.lua: the file returned", 1, true), e.message)
		end
		assert.is_nil((check(nil, WHERE)))
	end)

	it("a table that can't be read, without raising", function()
		local n, e = check(setmetatable({}, { __index = function() error "no" end }), WHERE)
		assert.is_nil(n)
		assert.is_true(errors.is(e))
		assert.equal("COMMAND_INVALID", e.code)
	end)

	it("a command as validation failure in which nothing was touched", function()
		local _, e = check(declaration({ timout = 1 }), WHERE)
		assert.same({ "validation", false, "none" }, { e.phase, e.retryable, e.side_effects })
		assert.equal("Rename 'timout' to 'timeout'", e.fix_required)
		assert.equal("timout", e.errors[1].field)
	end)
end)

describe("command", function()
	it("keeps what a plain run loads small, and the words out of it", function()
		local size = 0
		for _, name in ipairs({ "core.rules", "declare.command", "declare.values", "project.args" }) do
			local path = assert(package.searchpath(name, "lua/?.lua", ".", "/"))
			size = size + #string.dump(assert(loadfile(path)), true)
		end
		assert.is_true(size < 11500, size) -- bytes of bytecode
	end)

	it("loads no words for a clean declaration", function()
		for _, name in ipairs({ "declare.declaration", "declare.arg_errors", "core.suggest" }) do
			package.loaded["runner." .. name] = nil
		end
		normal({ args = { { "a", "integer", default = 1 } }, retry = { retries = 1 }, steps = { "a" } })
		for _, name in ipairs({ "declare.declaration", "declare.arg_errors", "core.suggest" }) do
			assert.is_nil(package.loaded["runner." .. name], name)
		end
	end)
end)
