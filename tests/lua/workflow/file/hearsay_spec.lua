local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")

-- The names that `check` hints at, of a file whose steps are these.
local function hinted(steps, more)
	local out, workflow = {}, help.parse((more or "claude: { output: json, allowed_tools: [Read, Edit] }\n") .. "commands:\n" .. steps)
	for _, hint in ipairs(workflow.hints) do
		out[#out + 1] = hint.code == "MODEL_FEEDS_MODEL" and hint.message:match "^%${(.-)}" or nil
	end
	return table.concat(out, " ")
end

local ASK = "  - { id: ask, claude: /ask, allowed_tools: [] }\n"
local SCHEMA = "schema: { type: object, properties: { n: { type: number }, ok: { type: boolean }, k: { enum: [a, b] },"
	.. " why: { type: string }, all: { type: array, items: { type: object, properties: { at: { type: integer },"
	.. " what: { type: string } } } } } }"
local ALL = "  - { id: all, foreach: [a], do: [ { claude: /ask, allowed_tools: Read } ] }\n"
local BOTH = "  - { id: both, parallel: [ { claude: /ask, allowed_tools: Read }, { shell: a } ] }\n"
local JUDGES = "  - { shell: a, check: [ { claude: /judge, allowed_tools: Read, " .. SCHEMA .. " }, { shell: b } ],"
local JUDGE = "  - { id: ask, claude: /ask, allowed_tools: [], " .. SCHEMA .. " }\n"

describe("what a model said, in the prompt of another that may change something", function()
	it("is hinted at, however it comes there", function()
		for steps, expected in pairs {
			[ASK .. "  - claude: /do ${steps.ask.output}"] = "steps.ask.output",
			[ASK .. "  - claude: /do ${steps.ask.data.x}"] = "steps.ask.data.x",
			[ASK .. "  - claude: /do ${claude.output}"] = "claude.output",
			[ASK .. "  - { claude: /do, append_system_prompt: 'and ${steps.ask.output}' }"] = "steps.ask.output",
			["  - { claude: /ask, allowed_tools: [], capture_output: said }\n  - claude: /do ${said}"] = "said",
			[ASK .. "  - { foreach: '${steps.ask.data}', do: [ { claude: '/do ${item}' } ] }"] = "item",
			[ASK .. "  - { foreach: '${steps.ask.data}', do: [ { foreach: [a, b], do: [ { claude: '/do ${item}' } ] } ] }"] = "",
			[ASK .. "  - { foreach: '${steps.ask.data}', do: [ { parallel: [ { claude: '/do ${item.x}' } ] } ] }"] = "item.x",
			[ALL .. "  - claude: /do ${steps.all.output}"] = "steps.all.output",
			[BOTH .. "  - claude: /do ${steps.both.data}"] = "steps.both.data",
			["  - { claude: /work, check: { shell: a }, repair: { claude: '/fix ${attempt.output}' } }"] = "attempt.output",
			["  - { steps: [ { shell: a }, { claude: /work } ], repair: { claude: '/fix ${attempt.output}' } }"] = "attempt.output",
			["  - { shell: a, check: { claude: /judge, allowed_tools: Read }, repair: { claude: '/fix ${check.output}' } }"] = "check.output",
			[JUDGES .. " repair: { claude: '/fix ${check.data.n} ${check.data.why}' } }"] = "check.data.why",
			[JUDGE .. "  - claude: /do ${steps.ask.data.why}"] = "steps.ask.data.why",
			[JUDGE .. "  - claude: /do ${steps.ask.data.all.0.what}"] = "steps.ask.data.all.0.what",
			[JUDGE .. "  - claude: /do ${steps.ask.data}"] = "steps.ask.data",
			["  - { id: ask, claude: /ask, check: { shell: a } }\n  - claude: /do ${steps.ask.output}"] = "steps.ask.output",
		} do
			assert.equal(expected, hinted(steps), steps)
		end
	end)

	it("is none where it is no sentence, or comes from no model, or goes to who only reads", function()
		for _, steps in ipairs {
			JUDGE .. "  - claude: /do ${steps.ask.data.n} ${steps.ask.data.ok} ${steps.ask.data.k} ${steps.ask.data.all.0.at}",
			ASK .. "  - { claude: '/do ${steps.ask.output}', allowed_tools: [Read, 'Grep', WebFetch(domain:a.org)] }",
			ASK .. "  - { claude: '/do ${steps.ask.output}', allowed_tools: [] }",
			ASK .. "  - { claude: '/do ${steps.ask.output}', confine: { write: [src] } }",
			ASK .. "  - claude: /do ${steps.ask.status} ${steps.ask.session_id}",
			ASK .. "  - { id: sh, shell: 'echo ${steps.ask.output}' }\n  - claude: /do ${steps.sh.output} ${shell.output}",
			"  - { foreach: [a, b], do: [ { claude: '/do ${item}' } ] }",
			"  - { claude: /work, check: { shell: a }, repair: { claude: '/fix ${check.output} ${check.error} ${attempt.error}' } }",
			"  - { steps: [ { claude: /work }, { shell: a } ], repair: { claude: '/fix ${attempt.output}' } }",
		} do
			assert.equal("", hinted(steps), steps)
		end
	end)

	it("counts what lets a step change something, wherever it is said", function()
		local step = ASK .. "  - claude: /do ${claude.output}"
		for claude, expected in pairs {
			["permission_mode: acceptEdits"] = 1, ["permission_mode: bypassPermissions"] = 1, ["permission_mode: plan"] = 0,
			["allowed_tools: 'Read Bash(git *)'"] = 1, ["allowed_tools: mcp__files__write"] = 1, ["allowed_tools: [Read, Grep]"] = 0,
			["args: [--dangerously-skip-permissions]"] = 1, ["model: opus"] = 0,
		} do
			assert.equal(expected == 1 and "claude.output" or "", hinted(step, "claude: { output: json, " .. claude .. " }\n"), claude)
		end
		assert.equal("", hinted(step, "claude: { output: json, allowed_tools: Edit }\nconfine: { write: [src] }\n"))
		assert.equal("claude.output", hinted(ASK .. "  - { claude: '/do ${claude.output}', args: [--dangerously-skip-permissions] }",
			"claude: { output: json }\n"))
	end)

	it("has the place of its step, and says what lets it", function()
		local text = "claude: { output: json, allowed_tools: [Read, Edit] }\ncommands:\n" .. ASK .. "  - claude: /do ${claude.output}\n"
		local hint = help.parse(text).hints[1]
		assert.same({ 4, 5 }, { hint.line, hint.column })
		assert.truthy(hint.message:find("(allowed_tools: Edit)", 1, true))
	end)
end)
