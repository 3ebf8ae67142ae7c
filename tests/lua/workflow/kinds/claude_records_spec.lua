-- What the real Claude Code was seen to print (tests/claude/records), and what a claude
-- step makes of it: the same in every form of output.

local claude = require "runner.workflow.kinds.claude"
local classify = require "runner.workflow.kinds.classify"
local claude_failures = require "runner.workflow.kinds.claude_failures"
local fs = require "runner.fs"
local json = require "runner.json"


local FOLDER = "tests/claude/records"
local SIGNALS = { [130] = "SIGINT", [143] = "SIGTERM" }

local function records()
	local out = {}
	for _, entry in ipairs(assert(fs.list(FOLDER))) do
		local name = type(entry) == "table" and entry.name or entry
		out[#out + 1] = assert(json.decode(assert(fs.read(FOLDER .. "/" .. name))))
	end
	return out
end

local function result_of(given)
	return { ok = given.exit == 0, status = not SIGNALS[given.exit] and given.exit or nil, signal = SIGNALS[given.exit],
		stdout = given.stdout, stderr = given.stderr, duration_ms = 1234, timed_out = false, stdout_dropped = 0 }
end

local function reply_of(more)
	local out = { type = "result", subtype = "success", is_error = false, result = "An answer", num_turns = 2 }
	for key, value in pairs(more) do
		out[key] = value
	end
	return json.encode(out)
end

local function outcome_of(record, output, given)
	local step = { kind = "claude", key = "1", text = record.how.args[#record.how.args] }
	return claude.interpret(step, result_of(given), { claude = { output = output } }, { argv = record.how.args })
end

describe("what Claude Code prints", function()
	for _, record in ipairs(records()) do
		for output, given in pairs(record.outputs) do
			local name = ("%s (%s), %s"):format(record.case, record.about, output)
			if record.means.success then
				it(name .. ": is an answer", function()
					local outcome = outcome_of(record, output, given)
					assert.is_true(outcome.ok)
					assert.equal(0, given.exit)
					assert.is_truthy(outcome.output:find "%a")
				end)
			else
				it(("%s: is %s"):format(name, record.means.code), function()
					local outcome = outcome_of(record, output, given)
					assert.is_false(outcome.ok)
					assert.equal(record.means.code, outcome.code, outcome.message)
					assert.equal(record.means.transient, outcome.transient, outcome.message)
				end)
			end
			if record.means.resets_s and record.means.resets_s > 0 then
				it(name .. ": names its reset", function()
					local verdict = classify.claude(result_of(given), { now_ms = record.made_s * 1000 })
					assert.is_true(verdict.resets)
					local early = record.means.resets_s - verdict.retry_after_ms // 1000 -- its text has no seconds
					assert.is_true(early >= 0 and early < 60, verdict.message)
				end)
			end
		end
	end

	it("has every class of failure in text, and no sentence without a class", function()
		local seen = {}
		for _, record in ipairs(records()) do
			local line = record.outputs.text and (record.outputs.text.stdout .. record.outputs.text.stderr):match "[^\n]+"
			local outcome = record.outputs.text and outcome_of(record, "text", record.outputs.text)
			if outcome and not outcome.ok and line then
				assert.is_truthy(claude_failures.of_sentence(line) or claude_failures.is_api_error(line) or outcome.code == "PRECONDITION"
					or outcome.code == "TIMEOUT" or outcome.code == "SCHEMA_NOT_MET", line)
				seen[outcome.code] = true
			end
		end
		for _, code in ipairs { "AUTH_REQUIRED", "PAYMENT_REQUIRED", "RATE_LIMITED", "UNAVAILABLE", "NETWORK_ERROR", "TIMEOUT",
			"PRECONDITION", "NOT_FOUND", "SUBPROCESS_FAILED" } do
			assert.is_true(seen[code], code)
		end
	end)
end)

describe("a permission that was denied", function()
	-- what is forbidden → the calls that it names, and others
	local BASH = function(command) return { tool_name = "Bash", tool_input = { command = command } } end
	local TOOL = function(name, path) return { tool_name = name, tool_input = { file_path = path } } end
	local RULES = {
		["Bash"] = { { BASH "rm -r x" }, { TOOL("Write", "/a/b") } },
		["Bash(rm *)"] = { { BASH "rm -r x", BASH "rm", BASH "cd x && rm y" }, { BASH "rmdir x", BASH "touch rm x" } },
		["Bash(git push:*)"] = { { BASH "git push", BASH "git push origin" }, { BASH "git pull", BASH "git pushed" } },
		["Bash(npm run *:ci)"] = { { BASH "npm run test:ci" }, { BASH "npm run test" } },
		["Edit(src/**)"] = { { TOOL("Edit", "/home/a/src/x/y.c"), TOOL("Write", "/src/y") },
			{ TOOL("Write", "/home/a/y.c"), TOOL("Read", "/src/y") } },
		["Read(//etc/*)"] = { { TOOL("Read", "/etc/passwd") }, { TOOL("Read", "/home/etc/passwd"), TOOL("Read", "/etc/x/y") } },
		["Read(./.env), Write"] = { { TOOL("Read", "/home/a/.env"), TOOL("Write", "/x") }, { TOOL("Read", "/home/a/env") } },
		["mcp__web"] = { { { tool_name = "mcp__web__get" } }, { { tool_name = "mcp__webs__get" } } },
		["mcp__web__*"] = { { { tool_name = "mcp__web__get" } }, { { tool_name = "mcp__files__get" } } },
		["WebFetch(domain:a.org)"] = { { { tool_name = "WebFetch", tool_input = { url = "https://www.a.org/x" } } },
			{ { tool_name = "WebFetch", tool_input = { url = "https://ba.org/a.org" } }, { tool_name = "WebFetch" } } },
	}

	local function outcome(denial, argv, on_denied)
		local made = reply_of { permission_denials = { denial } }
		return claude.interpret({ kind = "claude", key = "1", text = "x", on_denied = on_denied },
			{ ok = true, status = 0, stdout = made, stderr = "", duration_ms = 9, stdout_dropped = 0 },
			{ claude = { output = "json" } }, { argv = argv })
	end

	it("is a warning where the command line forbids the call, and else a failure that keeps the output", function()
		for rule, calls in pairs(RULES) do
			for _, argv in ipairs { { "--disallowedTools", rule, "--print", "x" }, { "--disallowed-tools=" .. rule, "--print", "x" } } do
				for _, denial in ipairs(calls[1]) do
					local given = outcome(denial, argv)
					assert.is_true(given.ok, rule)
					assert.equal("PERMISSION_DENIED", given.warning.code)
				end
				for _, denial in ipairs(calls[2]) do
					local given = outcome(denial, argv)
					assert.same({ false, "PERMISSION_DENIED", false, "An answer" }, { given.ok, given.code, given.transient, given.output }, rule)
					assert.is_true(outcome(denial, argv, "warn").ok)
				end
			end
		end
	end)

	it("is told apart where the command line allows the call: something else denies it", function()
		for rule, calls in pairs(RULES) do
			for i, list in ipairs(calls) do
				for _, denial in ipairs(list) do
					local line = tostring((denial.tool_input or {}).command):find("&&", 1, true) -- one part of it may not be allowed
					local given = outcome(denial, { "--allowedTools", rule, "--print", "x" })
					assert.equal("PERMISSION_DENIED", given.code)
					assert.equal(i == 1 and not line, given.fix_required:find("^allowed_tools has " .. denial.tool_name) ~= nil, rule)
				end
			end
		end
		assert.truthy(outcome(BASH "rm x", { "--allowedTools", "Edit", "Bash(git *)" }).fix_required:find "^Allow it")
	end)

	it("fails one that is not what is forbidden, whatever the report looks like", function()
		for _, denial in ipairs { {}, true, { tool_name = 3 }, { tool_name = "Write", tool_input = 7 } } do
			assert.equal("PERMISSION_DENIED", outcome(denial, { "--disallowedTools", "Bash" }).code)
		end
		local _, more = claude.of({ permission_denials = { BASH "rm x", BASH "mv x y" } }, { "--disallowedTools", "Bash(rm *)" })
		assert.is_true(more)
	end)
end)

describe("an answer that quotes an error", function()
	local QUOTES = { "API Error: 529 Overloaded", "You've hit your session limit · resets 3pm (UTC)", "Credit balance is too low",
		"Error: Reached max turns (2)", "Prompt is too long", "The rate limit is 5 requests a minute.",
		"Unknown command: /x is what it prints.", "It said:\nUnknown command: /x", "authentication failed, says the log" }

	local function ended(fields)
		local result = { ok = true, status = 0, stdout = "", stderr = "", duration_ms = 9, timed_out = false, stdout_dropped = 0 }
		for key, value in pairs(fields) do
			result[key] = value
		end
		return result
	end

	it("is a success with status 0, in text and in JSON", function()
		for _, text in ipairs(QUOTES) do
			local step = { kind = "claude", key = "1", text = "/explain the log" }
			assert.is_true(claude.interpret(step, ended { stdout = text .. "\n" }, {}).ok, text)
			local reply = json.encode { type = "result", subtype = "success", is_error = false, num_turns = 1, result = text }
			assert.is_true(claude.interpret(step, ended { stdout = reply }, { claude = { output = "json" } }).ok, text)
		end
	end)

	it("is one too where it is exactly the sentence, and no slash command was asked", function()
		local sentence = "Unknown command: /x"
		local asked = { kind = "claude", key = "1", text = "What does it print for /x?" }
		assert.is_true(claude.interpret(asked, ended { stdout = sentence .. "\n" }, {}).ok)
		local reply = json.encode { type = "result", subtype = "success", is_error = false, num_turns = 1, result = sentence }
		assert.is_true(claude.interpret(asked, ended { stdout = reply }, { claude = { output = "json" } }).ok)
	end)

	it("is not read for a class where the program failed for another reason", function()
		local verdict = classify.claude(ended { ok = false, status = 3, stdout = "I hit Overloaded: see /login\n", stderr = "boom\n" })
		assert.equal("Process failed: boom", verdict.message)
	end)
end)

describe("an error on stdout", function()
	it("counts beside warnings on stderr", function()
		local verdict = classify.claude { ok = false, status = 1, stdout = "Error: Reached max turns (2)",
			stderr = "(node:1) Warning: the request timed out once\n", duration_ms = 9 }
		assert.is_false(verdict.transient)
		assert.equal("Process failed: Error: Reached max turns (2)", verdict.message)
	end)

	it("is quickly told from an answer of a megabyte", function()
		for _, text in ipairs { " ", "Unknown command: /x ", "x\n", "API Error " } do
			local started = os.clock()
			local long = text:rep((1 << 20) // #text)
			claude.interpret({ kind = "claude", text = "/x" }, { ok = true, status = 0, stdout = long, stderr = "", duration_ms = 9,
				stdout_dropped = 0 }, { claude = { output = "stream-json" } })
			assert.is_true(os.clock() - started < 2, text)
		end
	end)
end)
