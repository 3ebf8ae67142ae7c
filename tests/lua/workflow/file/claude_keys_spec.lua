-- The keys of claude steps that become flags: what a file may say, and the command line.

local claude = require "runner.workflow.kinds.claude"
local claude_keys = require "runner.workflow.expr.claude_keys"
local kinds = require "runner.workflow.kinds.kinds"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local parse, step, told = help.parse, help.step, help.told

-- The command line of a step between the program and --print, without values.
local function flags(body, head)
	local workflow = parse((head or "") .. "commands:\n  - { claude: hi, " .. body .. " }\n")
	local argv = kinds.claude.plan(workflow.steps[1], workflow)
	assert.same({ "claude", "--print", "hi" }, { argv[1], argv[#argv - 1], argv[#argv] })
	return table.concat(argv, " ", 2, #argv - 2)
end

local EVERY = {
	model = "opus", allowed_tools = { "Read", "Bash(git *)" }, disallowed_tools = { "WebFetch" }, permission_mode = "plan",
	max_turns = 3, system_prompt = "be short", append_system_prompt = "no emoji", mcp_config = { "a.json", "b.json" },
}
local WRITTEN = [[model: opus, allowed_tools: [Read, "Bash(git *)"], disallowed_tools: WebFetch, permission_mode: plan, max_turns: 3,
    system_prompt: be short, append_system_prompt: no emoji, mcp_config: [a.json, b.json] ]]

describe("a key of a claude step", function()
	it("becomes a flag, in the order of the table", function()
		assert.same(EVERY, step("claude: a, " .. WRITTEN).options)
		assert.equal("--model opus --allowedTools Read Bash(git *) --disallowedTools WebFetch --permission-mode plan --max-turns 3"
			.. " --system-prompt be short --append-system-prompt no emoji --mcp-config a.json b.json", flags(WRITTEN))
	end)

	it("is written in the test above, whichever there is", function()
		for _, row in ipairs(claude_keys.rows) do
			assert.is_not_nil(EVERY[row.key], row.key)
		end
	end)

	it("goes after the flags of the workflow and those of the step's args", function()
		assert.equal("--one --two x --model opus", flags('model: opus, args: [--two, x]', "claude: { args: [--one] }\n"))
	end)

	it("has the workflow's value as its default; an empty list takes a list back", function()
		local head = "claude: { model: opus, allowed_tools: [Read], max_turns: 9, resume_session: true }\n"
		assert.equal("--model sonnet --max-turns 9", flags("model: sonnet, allowed_tools: [], resume_session: false", head))
		assert.equal("--model opus --allowedTools Read --max-turns 9 --session-id UUID", flags("id: a", head))
	end)

	it("reaches the steps inside loops and hooks", function()
		local outer = parse([[
claude: { model: opus }
commands:
  - foreach: [1]
    do: [ { parallel: [ { claude: a, on_failure: { claude: b } } ] } ]
]]).steps[1]
		local inner = outer.steps[1].steps[1]
		assert.same({ "opus", "opus" }, { inner.options.model, inner.on_failure.steps[1].options.model })
	end)

	it("may start with a dash without being read as a flag", function()
		assert.equal("--model=-x --allowedTools=-a --allowedTools=-b c", flags 'model: "-x", allowed_tools: ["-a", "-b", c]')
	end)

	it("is expanded with the values of the run", function()
		local argv = {}
		claude_keys.append(argv, { model = "${m}", allowed_tools = { "Bash(${c})" } }, function(text)
			return (text:gsub("%${(%w)}", { m = "opus", c = "git log" }))
		end)
		assert.same({ "--model", "opus", "--allowedTools", "Bash(git log)" }, argv)
	end)

	it("is checked, with a suggestion for what is misspelt", function()
		for body, expected in pairs {
			["modell: opus"] = "unknown key 'modell' in a claude step [Did you mean 'model'?]",
			["permission_mode: acceptEdit"] = "permission_mode is 'acceptEdit': write one of acceptEdits, auto, bypassPermissions,"
				.. " default, dontAsk, plan [Did you mean 'acceptEdits'?]",
			["max_turns: 0"] = "max_turns is 0: write a whole number from 1 to 1000000",
			["model: [a]"] = "model is a list: write a string",
			["allowed_tools: { a: b }"] = "allowed_tools is a map: write a string",
			["resume_session: yes"] = "resume_session is 'yes': write true or false [Write resume_session: true]",
			["system_prompt: ${nobody}"] = "${nobody}: unknown variable [Declare it: vars: { nobody: }]",
		} do
			assert.matches(expected, told("commands:\n  - claude: a\n    " .. body .. "\n"), 1, true)
			if not body:find "nobody" then
				assert.matches((expected:gsub("in a claude step", "in claude")),
					told("claude:\n  " .. body .. "\ncommands: [ { shell: a } ]\n"), 1, true)
			end
		end
		assert.matches("'model' is not a key of a shell step: it belongs on a claude step",
			told "commands: [ { shell: a, model: opus } ]", 1, true)
	end)
end)

describe("max_cost", function()
	it("is an amount in dollars, of a step and of a run", function()
		local workflow = parse "max_cost: 5\ncommands: [ { claude: a, max_cost: 0.1 }, { claude: b } ]"
		assert.same({ 5000000, 100000 }, { workflow.max_cost, workflow.steps[1].max_cost })
		assert.is_nil(workflow.steps[2].max_cost)
		assert.equal("--max-budget-usd 0.1", flags("max_cost: 0.1", "max_cost: 5\n"))
		assert.equal("--max-budget-usd 5", flags("max_cost: 7", "max_cost: 5\n"))
	end)

	it("is checked", function()
		for body, expected in pairs {
			["max_cost: 0"] = "max_cost is 0: write an amount in US dollars above 0, such as 0.50",
			["max_cost: -1"] = "max_cost is -1: write an amount", ["max_cost: .inf"] = "max_cost is .inf: write an amount",
			["max_cost: $2.50"] = "max_cost is '$2.50': write an amount in US dollars above 0, such as 0.50 [Write max_cost: 2.50]",
			["max_cost: 1e-9"] = "max_cost is 1e-9: write an amount",
		} do
			assert.matches(expected, told("commands:\n  - claude: a\n    " .. body .. "\n"), 1, true)
			assert.matches(expected, told(body .. "\ncommands: [ { shell: a } ]\n"), 1, true)
		end
	end)

	it("comes with a hint where the program doesn't report what it cost", function()
		local function hints(output)
			local list = {}
			local workflow = parse(("max_cost: 5\nclaude: { output: %s }\ncommands:\n  - { claude: a, max_cost: 1 }\n"):format(output))
			for i, hint in ipairs(workflow.hints) do
				list[i] = ("%d:%d %s"):format(hint.line, hint.column, hint.code)
			end
			return list
		end
		assert.same({ "1:11 COST_UNKNOWN", "4:28 COST_UNKNOWN" }, hints "text")
		assert.same({}, hints "stream-json")
	end)
end)

describe("session", function()
	it("names an earlier claude step, which keeps its session then", function()
		local steps = parse("commands: [ { claude: a, id: one }, { claude: b, session: one } ]").steps
		assert.same({ true, "one" }, { steps[1].keeps_session, steps[2].session })
		assert.is_nil(steps[2].keeps_session)
		assert.is_true(parse('commands: [ { claude: a, id: one }, { shell: "echo ${steps.one.session_id}" } ]').steps[1].keeps_session)
	end)

	it("is checked", function()
		for body, expected in pairs {
			["{ claude: b, session: oen }"] = "session: no step has the id 'oen' [Did you mean 'one'?]",
			["{ claude: b, session: late }, { claude: c, id: late }"] = "session: step 'late' (line 4) has not run yet at this point",
			["{ claude: b, session: sh }"] = "session: step 'sh' (line 3) is not a claude step, so it has no session",
			['{ shell: "${steps.sh.session_id}" }'] = "${steps.sh.session_id}: step 'sh' (line 3) is not a claude step",
		} do
			assert.matches(expected, told("commands: [\n  { claude: a, id: one },\n  { shell: a, id: sh },\n  " .. body .. " ]\n"), 1, true)
		end
	end)

	it("of an attempt is new, the named step's, or with resume_session the one before", function()
		local scope = { steps = { one = { session_id = "s-1" }, none = {} } }
		assert.is_nil(claude.session({}, scope))
		assert.same({ id = "s-1", continues = true }, claude.session({ session = "one" }, scope, "s-2"))
		assert.same({ id = "s-2", continues = true }, claude.session({ session = "one", resume_session = true }, scope, "s-2"))
		local first, second = claude.session({ keeps_session = true }, scope, "s-2"), claude.session({ resume_session = true }, scope)
		assert.is_false(first.continues)
		assert.matches("^%x%x%x%x%x%x%x%x%-%x%x%x%x%-4%x%x%x%-[89ab]%x%x%x%-%x%x%x%x%x%x%x%x%x%x%x%x$", first.id)
		assert.are_not.equal(first.id, second.id)
	end)

	it("that isn't there is a precondition that names both steps", function()
		for name, expected in pairs { none = "reported no session", gone = "was skipped" } do
			local ok, e = pcall(claude.session, { key = "two", session = name }, { steps = { none = {} } })
			assert.is_false(ok)
			assert.same({ "PRECONDITION", ("Step two continues the session of step %s, which has none"):format(name) }, { e.code, e.message })
			assert.matches(expected, e.suggestion)
		end
	end)
end)
