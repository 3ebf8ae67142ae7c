local file = require "runner.workflow.file.reader"
local json = require "runner.json"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local parse, step, told = help.parse, help.step, help.told

local SEED = [[
name: example-with-retry

commands:
  - claude: "/process-data"
    retry:
      strategy: exponential  # constant, linear, or exponential
      initial_delay_secs: 5
      max_attempts: 5
      jitter: 0.25          # 25% jitter
      max_delay_secs: 120   # cap at 2 minutes
    timeout_secs: 600       # 10 minute timeout

  - claude: "/critical-command"
    retry:
      max_attempts: 10      # More retries for critical commands
      initial_delay_secs: 2

  - shell: "echo done"      # Shell commands don't retry by default
]]

describe("the workflow of Spec 185", function()
	local workflow = parse(SEED)

	it("loads as it is written there", function()
		local first, second, third = table.unpack(workflow.steps)
		assert.equal("example-with-retry", workflow.name)
		assert.same({ "claude", "/process-data", "1", 600000, 5 },
			{ first.kind, first.text, first.key, first.timeout_ms, first.retry.policy.retries })
		assert.same({ retries = 5, strategy = "exponential", delay_ms = 5000, max_delay_ms = 120000, jitter = "factor",
			jitter_ppm = 250000, delays = {}, maybe = false }, first.retry.policy)
		assert.same({ "/critical-command", 10, 2000, 120000 },
			{ second.text, second.retry.policy.retries, second.retry.policy.delay_ms, second.retry.policy.max_delay_ms })
		assert.same({ "shell", "echo done" }, { third.kind, third.text })
		assert.is_nil(third.retry)
	end)

	it("gives a claude step 10 minutes by default, and a shell step no limit (FR4)", function()
		assert.equal(600000, workflow.steps[2].timeout_ms)
		assert.is_nil(workflow.steps[3].timeout_ms)
	end)

	it("loads with the map of AC7", function()
		local retry = step("claude: x, retry: { max_attempts: 3, initial_delay: 2s }").retry
		assert.same({ 3, 2000 }, { retry.policy.retries, retry.policy.delay_ms })
	end)

	it("keeps its text and its path", function()
		assert.same({ SEED, "dir/flow.yaml" }, { workflow.text, workflow.path })
	end)
end)

describe("the digest of a workflow", function()
	local digest = parse("name: w\nvars: { a: x, b: y }\ncommands:\n  - shell: echo ${a}\n    timeout: 10s\n").digest

	it("ignores comments, layout, quotes and the order of keys", function()
		for _, text in ipairs {
			"# why\nname: w\nvars: { a: x, b: y }\ncommands:\n  - shell: echo ${a} # why\n    timeout: 10s\n",
			"name: 'w'\n\nvars:\n    b: y\n    a: \"x\"\ncommands: [ { timeout: 10s, shell: 'echo ${a}' } ]\n",
			"name: w\nvars: { a: x, b: y }\ncommands:\n  - shell: |-\n      echo ${a}\n    timeout: 10s\n",
		} do
			assert.equal(digest, parse(text).digest)
		end
	end)

	it("changes with any key, value, type, and order of steps", function()
		local seen = { [digest] = "the first" }
		for _, text in ipairs {
			"name: w\nvars: { a: x, b: z }\ncommands:\n  - shell: echo ${a}\n    timeout: 10s\n",
			"name: w\nvars: { a: x, c: y }\ncommands:\n  - shell: echo ${a}\n    timeout: 10s\n",
			"name: w\nvars: { a: x, b: 'true' }\ncommands:\n  - shell: echo ${a}\n    timeout: 10s\n",
			"name: w\nvars: { a: x, b: true }\ncommands:\n  - shell: echo ${a}\n    timeout: 10s\n",
			"name: w\nvars: { a: x, b: y }\ncommands: [ { shell: a }, { shell: b } ]\n",
			"name: w\nvars: { a: x, b: y }\ncommands: [ { shell: b }, { shell: a } ]\n",
			"name: w\nvars: { a: x, b: y }\ncommands: [ { shell: a }, { shell: 'b # not a comment' } ]\n",
		} do
			local d = parse(text).digest
			assert.is_nil(seen[d], text)
			seen[d] = text
		end
	end)
end)

describe("the keys of a workflow", function()
	it("are all read", function()
		local workflow = parse [[
name: all
description: every key
vars: { release: 1.4.0, keep: 5, list: [a, 2], map: { x: null }, target: , other: ~, no: false }
env: { PORT: 8080, DEBUG: true, URL: "http://${release}/", EMPTY: "" }
env_files: [.env, "${target}.env"]
secrets: { A: { env: TOKEN }, B: { file: b.txt }, C: literal, D: 42 }
retry: { max_attempts: 2 }
timeout: 5m
claude: { program: /opt/claude, args: [--model, opus, 3], output: stream-json }
commands: [{ shell: a }, { claude: b }]
]]
		assert.same({ "all", "every key" }, { workflow.name, workflow.description })
		assert.same({ release = "1.4.0", keep = 5, list = { "a", 2 }, map = { x = json.null }, no = false }, workflow.vars)
		assert.same({ "target", "other" }, workflow.required)
		assert.same({ PORT = "8080", DEBUG = "true", URL = "http://${release}/", EMPTY = "" }, workflow.env)
		assert.same({ ".env", "${target}.env" }, workflow.env_files)
		assert.same({ { name = "A", env = "TOKEN" }, { name = "B", file = "b.txt" }, { name = "C", value = "literal" },
			{ name = "D", value = "42" } }, workflow.secrets)
		assert.same({ program = "/opt/claude", args = { "--model", "opus", "3" }, output = "stream-json" }, workflow.claude)
		assert.same({ 300000, 300000 }, { workflow.steps[1].timeout_ms, workflow.steps[2].timeout_ms })
		assert.is_nil(workflow.steps[1].retry)
		assert.equal(2, workflow.steps[2].retry.policy.retries)
		assert.same({}, workflow.warnings)
	end)

	it("have defaults, and a name from the file's", function()
		local workflow = parse "commands: [{ shell: a }]"
		assert.same({ "flow", {}, {}, {}, {}, {}, { program = "claude", args = {}, output = "text" } }, { workflow.name,
			workflow.vars, workflow.required, workflow.env, workflow.env_files, workflow.secrets, workflow.claude })
	end)

	it("hold no control characters and no secret of the file in the name and the labels that are shown", function()
		local workflow = parse 'name: "evil\\e[31m s3cretvalue\\nline"\nsecrets: { T: s3cretvalue }\ncommands: [ { shell: "echo \\e[31mred" } ]\n'
		assert.equal("evil *** line", workflow.name)
		assert.equal("echo red", workflow.steps[1].label)
		assert.equal("workflow", parse('name: "\\e[0m"\ncommands: [ { shell: a } ]\n').name)
	end)

	it("have other spellings", function()
		local workflow = parse [[
variables: { a: 1 }
env_files: one.env
secrets: [TOKEN, KEY]
retry_config: { attempts: 3 }
timeout_secs: 90
steps: [{ claude: b }]
]]
		assert.same({ { a = 1 }, { "one.env" }, { { name = "TOKEN", env = "TOKEN" }, { name = "KEY", env = "KEY" } }, 3, 90000 },
			{ workflow.vars, workflow.env_files, workflow.secrets, workflow.steps[1].retry.policy.retries,
				workflow.steps[1].timeout_ms })
	end)

	it("take no limit as none", function()
		assert.is_nil(step("claude: a", "timeout: none\n").timeout_ms)
		assert.is_nil(step("claude: a", "timeout_secs: 0\n").timeout_ms)
	end)

	local WRONG = {
		{ "", "1:1 the file is empty: write name: and commands:" },
		{ "# only this", "1:1 the file is empty" },
		{ "- shell: a", "1:1 a workflow is a map: put commands: above the steps" },
		{ "commands", "1:1 a workflow must be a map, not 'commands'" },
		{ "name: x", "1:1 a workflow needs commands: the list of its steps" },
		{ "commands:", "1:10 commands has no steps" }, { "steps: []", "1:8 steps has no steps" },
		{ "commands: x", "1:11 commands is 'x': write a list of steps, such as - shell: make" },
		{ "commands: { shell: a }", "1:11 commands is a map: write a list of steps" },
		{ "commands: [{ shell: a }]\nsteps: [{ shell: a }]", "2:1 'steps' and 'commands' (line 1) mean the same" },
		{ "nmae: x", "1:1 unknown key 'nmae' in a workflow [Did you mean 'name'?]" },
		{ "on: push", "1:5 on: there is no executor 'push' [Describe it under executors, here or in runner.lua]" },
		{ "name: [x]", "1:7 name is a list: write a string" }, { "name:", "1:6 name is empty: write a string" },
		{ "name: ' '", "1:7 name is ' ': write a string" },
		{ "vars: [a]", "1:7 vars is a list: write a map of names and default values" },
		{ "vars: { a b: 1 }", "1:9 a key of vars is 'a b': write a variable name: letters, digits, _ and -" },
		{ "vars: { a.b: 1 }", "1:9 a key of vars is 'a.b'" },
		{ "vars: { steps: 1 }", "1:9 a key of vars is 'steps': write another name: this one is reserved" },
		{ "vars: { item: 1 }", "1:9 a key of vars is 'item': write another name" },
		{ "vars: { a: 1 }\nvariables: { b: 1 }", "2:1 'variables' and 'vars' (line 1) mean the same: remove one of them" },
		{ "env: [A]", "1:6 env is a list: write a map of names and values" },
		{ "env: { 1A: x }", "1:8 '1A' is not a valid name in env: use letters, digits and _, not starting with a digit" },
		{ "env: { A: [x] }", "1:11 env.A is a list: write a string" },
		{ "env: { A: }", "1:11 env.A is empty: write a string ('' for an empty one)" },
		{ "env_files: { a: b }", "1:12 env_files is a map: write a string" }, { "env_files:", "1:11 env_files is empty: write a list" },
		{ "env_files: [a, [b]]", "1:16 env_files[2] is a list: write a string" },
		{ "secrets: [A B]", "1:11 secrets is 'A B': write names of environment variables" },
		{ "secrets: { 'A B': x }", "1:12 'A B' is not a valid name in secrets" },
		{ "secrets: { A: { evn: X } }", "1:17 unknown key 'evn' in secrets.A [Did you mean 'env'?]" },
		{ "secrets: { A: {} }", "1:15 secrets.A needs either env or file: where its value comes from" },
		{ "secrets: { A: { env: X, file: y } }", "1:15 secrets.A needs either env or file" },
		{ "secrets: { A: }", "1:15 secrets.A is empty: write a string" },
		{ "timeout: soon", "1:10 timeout is 'soon': write a duration such as 500ms, 2s, 5m or 1h, or a number of seconds" },
		{ "timeout: -1", "1:10 timeout is -1: write a duration" }, { "timeout: [5]", "1:10 timeout is a list: write a duration" },
		{ "timeout: true", "1:10 timeout is true: write a duration" }, { "timeout: .inf", "1:10 timeout is .inf: write a duration" },
		{ "timeout_secs: 10m", "1:15 timeout_secs is '10m': write a number of seconds [Write timeout: 10m]" },
		{ "timeout_secs: x", "1:15 timeout_secs is 'x': write a number of seconds" },
		{ "claude: opus", "1:9 claude must be a map, not 'opus'" },
		{ "claude: { output: jsonl }", "1:19 output is 'jsonl': write text, json or stream-json [Did you mean 'json'?]" },
		{ "claude: { progam: x }", "1:11 unknown key 'progam' in claude" },
		{ "claude: { args: { a: b } }", "1:17 args is a map: write a string" },
		{ "retry: 3", "1:8 retry is 3: write true, false, or a map such as { max_attempts: 3, initial_delay: 2s }" },
	}
	for _, case in ipairs(WRONG) do
		it(("are refused where they are wrong: %q"):format(case[1]), function()
			local text = case[1]
			if not text:find("commands") and not text:find("steps: %[%]") and text:find("^%a") and text ~= "name: x" then
				text = text .. "\ncommands: [{ shell: a }]"
			end
			assert.equal(case[2], told(text):sub(1, #case[2]))
		end)
	end
end)

describe("the names in a workflow", function()
	local function uses(text)
		return told("commands:\n" .. text .. "\nvars: { release: 1, v: 2 }\nenv: { X: '${v} ${env.Y} ${run.id}' }\n")
	end

	it("may be variables, results, the loop's, the run's and the environment's", function()
		assert.equal("", uses([[
  - { shell: a, id: one, capture_output: got }
  - claude: "${v} ${v.deep.er} ${got} ${shell.output} ${steps.one.output} ${steps.one.data.x.0} ${steps.one.status}"
    when: steps.one.ok and ${v} == "${got}"
    env: { A: "${env.HOME} ${run.id} ${run.name} ${claude.output} ${runner.data.x}" }
  - foreach: "${steps.one.data.list}"
    do: [{ claude: "${item} ${item.x} ${item_index} $${literal}" }]
    on_success: { claude: "${v}" }
  - { shell: b, id: two, on_failure: { claude: "${steps.two.status} ${steps.two.error.code}" } }
]]))
	end)

	it("may be the shell's own in a shell command, if they are plain", function()
		assert.equal("", uses "  - shell: |\n      echo ${HOME} ${x:-1} ${#x} $y\n")
	end)

	local WRONG = {
		{ '  - claude: "x ${realese}"', "2:16 ${realese}: unknown variable [Did you mean 'release'?]" },
		{ '  - claude: "x ${other}"', "2:16 ${other}: unknown variable [Declare it: vars: { other: }]" },
		{ "  - shell: echo ${other.x}", "2:17 ${other.x}: unknown variable" },
		{ "  - shell: echo ${release:-1}", "2:17 ${release}: a workflow variable: shell operators don't apply to it" },
		{ "  - claude: a ${shell}", "2:15 ${shell}: 'shell' is not a value by itself [Write ${shell.output}]" },
		{ "  - claude: a ${steps}", "[Write ${steps.ID.output}]" }, { "  - claude: a ${run}", "[Write ${run.id}]" },
		{ "  - claude: a ${env}", "[Write ${env.NAME}]" },
		{ "  - claude: a ${steps.x.output}", "2:15 ${steps.x.output}: no step has the id 'x' [Add id: x to the step" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.oen.output}", "no step has the id 'oen' [Did you mean 'one'?]" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.zzz.output}", "no step has the id 'zzz' [Ids: one]" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.one.outptu}", "unknown field 'outptu' [Did you mean 'output'?]" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.one.q}",
			"unknown field 'q' [Valid fields: data, error, ok, output, output_path, status]" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.one.total}", "unknown field 'total'" },
		{ "  - { foreach: [1], id: one, do: [{ shell: a }] }\n  - claude: ${steps.one.total} ${steps.one.failed.x}",
			"'failed' is a single value: nothing may follow it" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.one}", "a name is missing after the dot [Valid fields: data" },
		{ "  - { shell: a, id: one }\n  - claude: ${steps.one.output.x}", "'output' is a single value: nothing may follow it" },
		{ "  - claude: ${steps.one.output}\n  - { shell: a, id: one }", "2:13 ${steps.one.output}: step 'one' (line 3) has not run yet" },
		{ "  - { foreach: [1], do: [{ shell: a, id: one }] }\n  - shell: echo ${steps.one.output}",
			"3:17 ${steps.one.output}: step 'one' (line 2) is inside a foreach, and this is not" },
		{ "  - { foreach: [1], do: [{ shell: a, capture_output: one }] }\n  - shell: rm -r /${one}",
			"3:19 ${one}: captured once per item of a foreach, and has no value outside it" },
		{ "  - { claude: '${steps.one.output}', id: one }", "step 'one' (line 2) has not run yet at this point" },
		{ "  - claude: ${shell.outptu}", "unknown field 'outptu' [Did you mean 'output'?]" },
		{ "  - claude: ${run.nmae}", "unknown field 'nmae' [Did you mean 'name'?]" },
		{ "  - shell: a ${item}", "${item}: only available inside a foreach" },
		{ "  - claude: a\n    when: itme == 3", "3:11 ${itme}: unknown variable" },
		{ "  - claude: a\n    when: steps.no.ok", "3:11 ${steps.no.ok}: no step has the id 'no'" },
		{ "  - foreach: '${nope}'\n    do: { shell: a }", "2:15 ${nope}: unknown variable" },
		{ "  - foreach: [a, '${nope}']\n    do: { shell: a }", "2:19 ${nope}: unknown variable" },
		{ "  - runner: deploy\n    args: { a: ['${nope}'] }", "3:18 ${nope}: unknown variable" },
		{ "  - runner: deploy\n    args: [x, '${nope}']", "3:16 ${nope}: unknown variable" },
		{ "  - runner: ${nope}", "2:13 ${nope}: unknown variable" },
		{ "  - { shell: a, on_failure: { claude: '${nope}' } }", "2:40 ${nope}: unknown variable" },
		{ "  - { shell: a, verify: 'x ${steps.no.ok}' }", "2:28 ${steps.no.ok}: no step has the id 'no'" },
		{ "  - claude: a ${b c}", "2:15 '${b c}' is not a variable" },
		{ "  - shell: |\n      a\n        ${a.b} x", "4:9 ${a.b}: unknown variable" },
		{ "  - { shell: a, id: one }\n  - { parallel: [{ shell: b, id: one }] }", "3:34 duplicate id 'one': the step on line 2 has it" },
	}
	for _, case in ipairs(WRONG) do
		it(("are refused where they mean nothing: %q"):format(case[1]), function()
			local text = uses(case[1])
			assert.truthy(text:find(case[2], 1, true), text)
		end)
	end

	it("can't be results in the workflow's own environment, which is made first", function()
		local text = told "env: { A: '${shell.output}', B: '${steps.x.output}' }\ncommands: [{ shell: a, id: x }]"
		assert.equal("1:12 ${shell.output}: used before any step has run [Use it in a step]\n"
			.. "1:34 ${steps.x.output}: used before any step has run [Use it in a step]", text)
	end)
end)

describe("problems", function()
	it("are told all at once, by their places", function()
		assert.equal(table.concat({
			"1:6 name is empty: write a string",
			"2:1 unknown key 'timout' in a workflow [Did you mean 'timeout'?]",
			"4:14 ${x}: unknown variable [Declare it: vars: { x: }]",
			"5:28 max_attempts is 'many': write a whole number from 0 to 1000",
			"5:34 duplicate key 'max_attempts': the first is on line 5",
			"6:13 when: '=' doesn't compare: write ==",
		}, "\n"), told [[
name:
timout: 5
commands:
  - claude: "${x}"
    retry: { max_attempts: many, max_attempts: 1 }
    when: a = 1
]])
	end)

	it("are told once where an alias repeats them", function()
		assert.equal("2:19 ${x}: unknown variable [Declare it: vars: { x: }]",
			told "commands:\n  - &a { claude: '${x}' }\n  - *a\n")
	end)

	it("have a place in the text and never break the reader, whatever the values are", function()
		math.randomseed(11)
		local values = { "", "x", "3", "-1", "1.5", "true", "null", "[]", "{}", "[[]]", "[x, 3]", "{ a: b }", "[{ shell: a }]",
			"{ shell: a }", "'${'", "'${a.b}'", "'${item}'", "soon", "5s", "{ steps: x }", "{ then: }", "&a { claude: x }", "*a" }
		local keys = { "shell", "claude", "runner", "foreach", "parallel", "do", "limit", "args", "id", "when", "retry", "timeout",
			"retry_on", "delays", "strategy", "on_failure", "on_success", "verify", "capture_output", "env", "secrets", "vars",
			"commands", "steps", "max_items", "idempotent", "jitter", "env_files", "name" }
		local function key()
			return keys[math.random(#keys)] .. ": "
		end
		local function lines(n, indent)
			local out = {}
			for i = 1, n do
				local below = indent < 12 and math.random(4) == 1
				out[i] = (" "):rep(indent) .. key() .. (below and "\n" .. lines(2, indent + 2) or values[math.random(#values)])
			end
			return table.concat(out, "\n")
		end
		for _ = 1, 600 do
			local text = "commands:\n  - shell: a\n" .. lines(3, 4) .. "\n" .. lines(2, 0) .. "\n"
			local workflow, problems = file.parse(text, "x.yaml", { lenient = math.random(2) == 1 })
			assert.is_true(workflow ~= nil or #problems > 0)
			for _, p in ipairs(problems or {}) do
				assert.is_true(p.line >= 1 and p.line <= 60 and p.column >= 1 and #p.message > 0, text)
			end
		end
	end)

	it("are counted beyond a hundred", function()
		local _, problems = file.parse("commands:\n" .. ("  - shel: a\n"):rep(250), "x.yaml")
		assert.equal(101, #problems)
		assert.equal("there are 150 more problems", problems[101].message)
	end)

	it("of YAML stand among them, and end the reading where they must", function()
		assert.equal("2:1 tab in the indentation: YAML is indented with spaces", told "name: x\n\tcommands:")
		assert.equal("2:1 duplicate key 'name': the first is on line 1\n3:1 unknown key 'foo' in a workflow",
			(told "name: x\nname: y\nfoo: 1\ncommands: [{ shell: a }]":gsub(" %[.-%]", "")))
	end)
end)

describe("what a file reads of the environment", function()
	it("is each ${env.NAME}, and each variable of a script that it doesn't set itself", function()
		local reads = parse [[
vars: { who: "${env.IN_VARS}" }
commands:
  - { shell: 'echo "$A ${B:-x} ${C} ${env.D} $PWD $RUNNER_X"; E=1; echo $E; for f in 1; do echo $f; done', verify: "test $G" }
  - { claude: "${env.H}", when: "env.I == 1 and '${env.J}' != 2", env: { K: "$L ${env.D}" } }
]].reads
		assert.same({ D = "text", H = "text", I = "condition", J = "condition" }, reads.env)
		assert.same({ A = true, B = true, C = true, G = true }, reads.scripts)
	end)
end)

describe("an unknown strategy", function()
	local TEXT = "commands:\n  - claude: a\n    retry: { strategy: expo, initial_delay: 1s }\n"

	it("is refused by check", function()
		assert.equal("3:24 strategy is 'expo': write constant, linear, exponential, fibonacci or custom "
			.. "[Did you mean 'exponential'?]", told(TEXT))
	end)

	it("is a warning for run, which goes on with exponential", function()
		local workflow = parse(TEXT, { lenient = true })
		assert.same({ "Unknown retry strategy 'expo', using exponential" }, workflow.warnings)
		assert.equal("exponential", workflow.steps[1].retry.policy.strategy)
	end)

	it("is all that run is lenient about", function()
		assert.truthy(told(TEXT .. "    tmeout: 5", { lenient = true }):find("unknown key 'tmeout'", 1, true))
		assert.truthy(told("commands: [{ claude: a, retry: { strategy: 3 } }]", { lenient = true }):find("strategy is 3", 1, true))
	end)
end)

describe("a workflow file", function()
	it("is read from its path", function()
		local path = os.tmpname()
		local handle = assert(io.open(path, "w"))
		handle:write(SEED)
		handle:close()
		local workflow = file.load(path)
		os.remove(path)
		assert.same({ path, "example-with-retry", SEED }, { workflow.path, workflow.name, workflow.text })
	end)

	it("that is missing or is a directory is reported", function()
		local _, missing = file.load "/nonexistent/a: b.yaml"
		assert.same({ { code = "FILE_NOT_FOUND", message = "can't read the workflow file: No such file or directory" } }, missing)
		local _, folder = file.load "/tmp"
		assert.same({ "FILE_UNREADABLE", "can't read the workflow file: Is a directory" },
			{ folder[1].code, folder[1].message })
	end)

	it("that is empty is told to be empty", function()
		local _, problems = file.load "/dev/null"
		assert.equal("the file is empty: write name: and commands:, the list of steps", problems[1].message)
	end)

	it("of endless length is given up", function()
		local _, problems = file.load "/dev/zero"
		assert.equal("the text is larger than 4 MiB, the limit", problems[1].message)
	end)

	it("of 1,000 steps is checked in well under 100 ms of processor time", function()
		local text = "commands:\n" .. ('  - shell: "true"\n'):rep(1000)
		local best = math.huge
		for _ = 1, 5 do
			local started = os.clock()
			parse(text)
			best = math.min(best, os.clock() - started)
		end
		assert.is_true(best < 0.1, best)
	end)
end)
