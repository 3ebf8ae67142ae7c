-- Whatever runner says to a client of MCP speaks of tools and their arguments, or is said to be for a person: each hint of the registry
-- of codes, and each text of the sources that a call over MCP may meet, is said once as a hint.

local contract = require "runner.declare.contract"
local flags = require "runner.declare.flags"
local json = require "runner.json"
local speech = require "runner.mcp.speech"

local function row(command, properties, places, more)
	local out = { command = command, danger_level = "safe", places = places or {}, tool = { name = command:gsub("%.", "_"), title = command,
		inputSchema = { type = "object", properties = properties or {} } } }
	for key, v in pairs(more or {}) do
		out[key] = v
	end
	return out
end

local TEXT, WHOLE, FLAG = { type = "string" }, { type = "integer" }, { type = "boolean" }
local ID = { id = TEXT }
local ROWS = { row("alert.list", { severity = TEXT, limit = WHOLE, cursor = TEXT, all = FLAG, tags = { type = "array", items = TEXT } },
	nil, { path = "x" }), row("alert.silence", { id = WHOLE, dry_run = FLAG, ["max-wait"] = TEXT }, { "id" },
	{ path = "x" }),
	row("job.list", { limit = WHOLE }), row("job.wait", { id = TEXT, ["for"] = TEXT }, { "id" }), row("job.logs", ID, { "id" }),
	row("job.status", ID, { "id" }), row("workflow.show", ID, { "id" }), row("workflow.list", {}), row("workflow.logs", ID, { "id" }) }
local OTHERS = { "lint", "approvals", "approve", "workflow.resume", "workflow.run", "workflow.cancel", "workflow.retry", "workflow.check",
	"workflow.prune", "workflow.unit", "workflow.worktrees", "workflow.wait", "library.update", "doctor", "status", "new", "completion",
	"watch", "job.cancel", "help" }

local ALL = table.move(ROWS, 1, #ROWS, 1, {})
for _, name in ipairs(OTHERS) do
	ALL[#ALL + 1] = row(name)
end

local function server(progressive)
	return { settings = { progressive = progressive }, outside = { rows = function() return ALL end }, rows = function() return ROWS end }
end

local PERSON = "^For a person at a terminal: "

-- What of a text is of a command line: one of runner's flags, or one of its commands. nil: nothing.
local function command_line_in(text)
	for flag in text:gmatch "%-%-(%l[%w-]+)" do
		if flags.find(flag) or contract.find(flag) then
			return "--" .. flag
		end
	end
	for words in text:gmatch "%f[%w]runner (%l[%w%- ]*)" do
		for _, one in ipairs(ALL) do
			local name = one.command:gsub("%.", " ")
			if (words .. " "):sub(1, #name + 1) == name .. " " then
				return "runner " .. name
			end
		end
	end
end

-- The literals of a source that speak of flags or commands, with each %s filled in.
local function literals(path, out)
	for line in io.lines(path) do
		local code = line:gsub("^%s*%-%-.*", ""):gsub("description = .*", "")
		for text in code:gmatch '"([^"]*)"' do
			if text:find " " and (text:find "%-%-%l" or text:find "runner %l") then
				out[#out + 1] = text:gsub("%%%-?%d*[sd]", "x1")
			end
		end
	end
end

describe("what runner says to a client of MCP", function()
	it("has no flag and no command line in any hint of the registry of codes", function()
		local count = 0
		for line in io.lines "src/common/codes.def" do
			local code, hint = line:match '^CODE%(([%u_]+),.-"(.*)"%)'
			if hint then
				count = count + 1
				local envelope = speech.of(server(), ROWS[2], { ok = false, error = { code = code, message = "m", fix_required = hint } }, {})
				local said = envelope.error.fix_required
				assert.is_true(said:find(PERSON) ~= nil or command_line_in(said) == nil, code .. ": " .. said)
			end
		end
		assert.is_true(count > 40, count)
	end)

	it("has none in any text of the sources", function()
		local texts, persons = {}, 0
		local list = io.popen("find lua/core lua/ctx lua/declare lua/project lua/output lua/calls lua/jobs lua/state lua/mcp lua/boot.lua "
			.. "lua/commands/job lua/commands/workflow lua/workflow/run lua/workflow/store lua/workflow/kinds lua/library src/supervisor -type f "
			.. "\\( -name '*.lua' -o -name '*.c' \\)")
		for path in assert(list):lines() do
			literals(path, texts)
		end
		list:close()
		for _, text in ipairs(texts) do
			for _, one in ipairs { ROWS[1], ROWS[2], false } do
				local said = speech.hint(server(), one or nil, text)
				persons = persons + (said:find(PERSON) and 1 or 0)
				assert.is_true(said:find(PERSON) ~= nil or command_line_in(said) == nil, text .. " -> " .. said)
			end
		end
		assert.is_true(#texts > 100 and persons < #texts * 3, #texts)
	end)

	it("names tools and arguments", function()
		for typed, said in pairs {
			["runner job wait 01X"] = 'Call job_wait {"id":"01X"}',
			["runner job wait 01X --for 5s"] = 'Call job_wait {"for":"5s","id":"01X"}',
			["Give a job ID; 'runner job list' shows them"] = "Give a job ID; 'job_list' shows them",
			["runner workflow logs ID, runner job logs ID"] = 'Call workflow_logs {"id":"ID"}, job_logs {"id":"ID"}',
			["3 of 9 items; --limit 0 prints all"] = "3 of 9 items; limit 0 prints all",
			["Give --cursor the next_cursor"] = "Give cursor the next_cursor",
			["runner workflow resume 01X"] = "For a person at a terminal: runner workflow resume 01X",
			["Raise it, then: runner workflow resume 01X --force"] =
				"For a person at a terminal: Raise it, then: runner workflow resume 01X --force",
			["Read the file of meta.rest, or ask for more bytes with --max-bytes"] = "Read the resource of meta.rest",
			["runner itself ran out of memory"] = "runner itself ran out of memory",
			["kubectl get pods --all failed: try git push --force, docker ps --limit 3"] =
				"kubectl get pods --all failed: try git push --force, docker ps --limit 3",
		} do
			assert.equal(said, speech.hint(server(), ROWS[1], typed))
		end
		assert.equal("Preview it with dry_run; then only the person can confirm it", speech.hint(server(), ROWS[2],
			"Preview it with --dry-run; then pass --confirm-destructive"))
		assert.equal("Only the person can confirm it", speech.hint(server(), ROWS[1],
			"Preview it with --dry-run; then pass --confirm-destructive"))
		assert.equal("Only the person can confirm it", speech.hint(server(), ROWS[1], "Confirm with --yes"))
		assert.equal("Only the person can confirm it; call it with dry_run to see what it would do",
			speech.hint(server(), ROWS[2], "Confirm with --yes"))
		assert.equal("Pass max-wait", speech.hint(server(), ROWS[2], "Pass --max-wait"))
	end)

	-- What a command of the project has failed with: its message, and its hint.
	local function told(text, more)
		local e = { code = "NOT_FOUND", phase = "execution", message = text, suggestion = text }
		for key, v in pairs(more or {}) do
			e[key] = v
		end
		speech.of(server(), ROWS[1], { ok = false, error = e }, {})
		return e.message, e.suggestion
	end

	it("leaves what a command says of other programs, and makes no call of a sentence", function()
		for _, text in ipairs { "docker run failed: pass --name web", "See https://x.org/runner job list", "GitHub runner job list 5",
			"Pass --confirm-destructive to terraform", "Use --verbose with curl", "Add --limit 3 to the query", "Confirm with --yes",
			"First runner job wait 01X, then retry", "Use runner job wait instead", "the runner alert silence 7 failed",
			"pass --tags, --all and --severity: runner job wait 01X" } do
			local message, hint = told(text)
			assert.equal(text, message)
			assert.equal(text, hint)
		end
		for text, said in pairs {
			["runner job wait 01X"] = 'Call job_wait {"id":"01X"}',
			["runner job wait '01 X' --for \"5 s\""] = 'Call job_wait {"for":"5 s","id":"01 X"}',
			["Run 'runner job wait 01X' again"] = "Run 'job_wait {\"id\":\"01X\"}' again",
			["Run `runner job wait '01 X'` again"] = "Run `job_wait {\"id\":\"01 X\"}` again",
			["runner job wait 01X failed"] = "For a person at a terminal: runner job wait 01X failed",
			["runner job wait 01X --until x"] = "For a person at a terminal: runner job wait 01X --until x",
			["runner job wait 01X."] = "For a person at a terminal: runner job wait 01X.",
			["runner job wait 01X, please"] = "For a person at a terminal: runner job wait 01X, please",
			["runner job wait 01X --id 02X"] = "For a person at a terminal: runner job wait 01X --id 02X",
			["Run 'runner lint' first"] = "For a person at a terminal: Run 'runner lint' first",
		} do
			local message, hint = told(text)
			assert.equal(text, message, "no message has a call")
			assert.equal(said, hint)
		end
	end)

	it("speaks of tools and arguments in runner's own texts alone, and of no call in a message", function()
		local message, hint = told("runner job wait 01X needs --limit", { phase = "validation" })
		assert.equal("job_wait 01X needs limit", message)
		assert.equal("For a person at a terminal: runner job wait 01X needs --limit", hint)
		message, hint = told("'runner job wait 01X' needs --limit; see runner job logs 01X for more", { phase = "validation" })
		assert.equal("'job_wait 01X' needs limit; see job_logs 01X for more", message)
		assert.equal([['job_wait {"id":"01X"}' needs limit; see job_logs 01X for more]], hint)
		assert.equal("Only the person can confirm it", select(2, told("Confirm with --yes", { code = "INPUT_REQUIRED" })))
		local e = { code = "CONFIRMATION_REQUIRED", message = "m", fix_required = "Use a flag that --help lists" }
		speech.of(server(), ROWS[1], { ok = false, error = e, warnings = { { code = "MINE", message = "use --limit" },
			{ code = "LIST_TRUNCATED", message = "3 of 9 items; --limit 0 prints all" } } }, {})
		assert.equal("Use a name that its inputSchema has", e.fix_required)
		local shown = { ok = true, warnings = { { code = "MINE", message = "use --limit" }, { code = "LIST_TRUNCATED", message = "--limit 0" } } }
		speech.of(server(), ROWS[1], shown)
		assert.equal("use --limit", shown.warnings[1].message)
		assert.equal("limit 0", shown.warnings[2].message)
	end)

	local function fixed(line, own, progressive)
		local e = { ok = false, error = { code = "VALIDATION_ERROR", phase = "validation", message = "m", fix_command = line } }
		speech.of(server(progressive), ROWS[1], e, own or {})
		assert.is_nil(line:find "^runner " and e.error.fix_command)
		return e.error.fix_call
	end

	it("has a fix as the params of a call", function()
		assert.same({ name = "alert_silence", arguments = { id = 7 } }, fixed "runner alert silence 7")
		assert.same({ name = "alert_silence", arguments = { id = -7, ["max-wait"] = "5m" } }, fixed "runner alert.silence -7 --max-wait=5m")
		assert.same({ name = "alert_list", arguments = { all = false, tags = json.array { "a b", "c" }, severity = "--x" } },
			fixed "runner alert list --tags 'a b' --tags c --no-all --severity=--x")
		assert.same({ name = "call", arguments = { name = "alert_silence", arguments = { id = 7, dry_run = true } } },
			fixed("runner alert silence 7", { dry_run = true }, true), "a dry run stays one")
		for _, line in ipairs {
			"runner alert silence x", "runner alert silence 7 8", "runner alert list --format json", "runner lint", "runner",
			"runner nothing here", "runner alert silence 7 --confirm-destructive", "runner alert list | sh", "runner alert list --limit" } do
			assert.is_nil(fixed(line))
		end
		local resumed = { ok = false, error = { code = "X", message = "m", fix_command = "runner workflow resume 01X" } }
		assert.equal("For a person at a terminal: runner workflow resume 01X", speech.of(server(), ROWS[1], resumed, {}).error.suggestion)
		local e = { ok = false, error = { code = "X", message = "m", fix_command = "chmod +x deploy.sh" } }
		assert.equal("chmod +x deploy.sh", speech.of(server(), ROWS[1], e, {}).error.fix_command)
	end)

	it("is said soon, whatever the text is", function()
		for _, text in ipairs { ("runner job wait x "):rep(450), "runner job wait " .. ("x "):rep(4000), ("--limit "):rep(1000),
			("x"):rep(8000) .. " --limit",
			("runner job list; "):rep(200000), ("pass --yes "):rep(200000) } do
			local began = os.clock()
			assert.is_string(speech.hint(server(), ROWS[1], text))
			assert.is_true(os.clock() - began < 10)
		end
	end)

	it("goes on with calls, and has members that are none of ours as they are", function()
		local data = { wait_command = "runner job wait 01X", cancel_command = "runner job cancel 01X", check_command = "make", n = 1 }
		local envelope = speech.of(server(), ROWS[4], { ok = false, data = data, error = { code = "INCOMPLETE", message = "m" } }, {})
		assert.same({ wait_call = { name = "job_wait", arguments = { id = "01X" } }, check_command = "make", n = 1 }, envelope.data)
		data = { wait_command = "runner job wait 01X" }
		assert.same({ wait_command = "runner job wait 01X" }, speech.of(server(), ROWS[1], { ok = true, data = data }).data)
		for _, odd in ipairs { json.null, 1, true, json.array {} } do
			speech.of(server(), nil, { ok = false, data = odd, error = odd, warnings = odd, meta = odd })
			speech.of(server(), ROWS[1], { error = { message = odd, suggestion = odd, errors = { { message = odd } }, fix_command = odd } }, {})
		end
	end)
end)
