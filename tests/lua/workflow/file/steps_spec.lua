local json = require "runner.json"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local parse, step, told = help.parse, help.step, help.told

-- What the problems of one step say, its keys below `shell: a` in lines of their own.
local function told_of(keys)
	return told("commands:\n  - shell: a\n    " .. keys:gsub("\n", "\n    ") .. "\n")
end

describe("a mistake that many make", function()
	it("is answered with what to write", function()
		local function said(steps)
			return told("commands:\n  - " .. steps .. "\n")
		end
		for steps, expected in pairs {
			["{ shell: a, repair: { claude: /fix, max: 3 } }"] = "Write repair: { steps: [{ claude: … }], max: 3 }",
			["{ shell: a, on_failure: { shell: b, then: continue } }"] = "Write on_failure: { steps: [{ shell: … }], then: continue }",
			["{ foreach: [a], where: score >= 5, do: { shell: b } }"] = "Write item.score if it is a member of the item",
			["{ shell: a, when: score >= 5 }"] = "variable [Declare it: vars: { score: }]",
			["{ claude: a, commit_required: true }"] = "write check: [{ commit: true }]. 'runner workflow import FILE'",
		} do
			assert.truthy(said(steps):find(expected, 1, true), said(steps))
		end
	end)
end)

describe("commit: true", function()
	it("comes with a hint where others may commit at the same time", function()
		local inside = "[{ claude: x, check: { commit: true } }]"
		for outside, expected in pairs { ["foreach: [a], parallel: 2, do"] = 1, ["foreach: [a], do"] = 0, parallel = 0,
			["limit: 2, parallel"] = 1 } do
			local hints = help.parse(("claude: { output: stream-json }\ncommands:\n  - { %s: %s }\n"):format(outside, inside)).hints
			assert.equal(expected, #hints, outside)
			assert.equal(expected == 1 and "COMMIT_SHARED" or nil, (hints[1] or {}).code)
		end
	end)
end)

describe("the keys of a step", function()
	it("are all read", function()
		local s = step([[shell: "make ${target}", id: build, when: "${target} == 'prod'", env: { CC: clang, N: 4 }, working_dir: src,
    output_file: out.txt, capture_output: log, timeout: 30s, total_timeout: 5m, grace: 500ms, idempotent: true,
    side_effects: none, verify: test -f out, on_retry: { shell: echo again }, retry: true]], "vars: { target: }\n")
		assert.same({ "shell", "make ${target}", "build", "build", "src", "out.txt", "log" },
			{ s.kind, s.text, s.id, s.key, s.working_dir, s.output_file, s.capture })
		assert.same({ CC = "clang", N = "4" }, s.env)
		assert.same({ 30000, 300000, 500 }, { s.timeout_ms, s.total_timeout_ms, s.grace_ms })
		assert.same({ true, "none", 5 }, { s.idempotent, s.side_effects, s.retry.policy.retries })
		assert.same({ text = "test -f out", env = s.env, working_dir = "src", interpreter = "sh" }, s.verify)
		assert.same({ text = "echo again", env = s.env, working_dir = "src", interpreter = "sh" }, s.on_retry)
		assert.same({ "${target} == 'prod'", "compare" }, { s.when.text, s.when.ast.kind })
		assert.same({ 3, 5, "make ${target}" }, { s.line, s.column, s.label })
	end)

	it("have defaults", function()
		local s = step "shell: a"
		assert.same({ kind = "shell", text = "a", key = "1", label = "a", line = 2, column = 5, env = {}, grace_ms = 2000,
			capture = true, interpreter = "sh" }, s)
	end)

	it("say how a shell runs a step's text and its hooks; the nearest key wins", function()
		local s = step("shell: a, verify: b, on_retry: { shell: c, errexit: true }, errexit: false", "interpreter: bash\n")
		assert.same({ "bash", false }, { s.interpreter, s.errexit })
		assert.same({ "bash", false }, { s.verify.interpreter, s.verify.errexit })
		assert.same({ "bash", true }, { s.on_retry.interpreter, s.on_retry.errexit })
		s = step("claude: a, verify: { shell: b, interpreter: sh }", "interpreter: bash\nerrexit: false\n")
		assert.same({ "sh", false }, { s.verify.interpreter, s.verify.errexit })
		assert.same({}, { s.interpreter, s.errexit })
	end)

	it("have other spellings", function()
		local s = step "shell: a, timeout_secs: 2.5, total_timeout_secs: 9, grace_secs: 1, retry_config: { attempts: 2 }"
		assert.same({ 2500, 9000, 1000, 2 }, { s.timeout_ms, s.total_timeout_ms, s.grace_ms, s.retry.policy.retries })
		assert.is_false(step("shell: a, capture_output: false").capture)
		assert.equal(600000, step("shell: a, timeout: 600").timeout_ms)
	end)

	it("take what looks like a number or a boolean as text where a text is wanted", function()
		assert.equal("true", step("shell: true").text)
		assert.equal("0x10", step("claude: 0x10").text)
		assert.equal("1", step("shell: a, working_dir: 1").working_dir)
		assert.equal("false", step("shell: a, when: false").when.text)
	end)

	it("set a step's own limit over the workflow's, also to none", function()
		assert.equal(1000, step("shell: a, timeout: 1s", "timeout: 5m\n").timeout_ms)
		assert.is_nil(step("claude: a, timeout: none", "timeout: 5m\n").timeout_ms)
	end)

	it("come from an anchor by <<, under the step's own", function()
		local steps = parse([[
commands:
  - &slow
    claude: a
    timeout_secs: 9
    retry: { max_attempts: 7 }
  - <<: *slow
    claude: b
    timeout: 1s
]]).steps
		assert.same({ "b", 1000, 7 }, { steps[2].text, steps[2].timeout_ms, steps[2].retry.policy.retries })
	end)

	it("of a runner step take words, and arguments as a list or by name", function()
		local steps = parse([[
vars: { target: prod }
commands:
  - runner: deploy
    args: [--keep, 3, "${target}"]
  - runner: " db  migrate "
    args: { keep: 3, force: true, tags: [a, "${target}"], name: "" }
  - runner: [db, migrate]
  - runner: "${target} up"
]]).steps
		assert.same({ "deploy", { "--keep", "3", "${target}" } }, { steps[1].text, steps[1].args })
		assert.same({ "db migrate", { keep = "3", force = true, tags = { "a", "${target}" }, name = "" } },
			{ steps[2].text, steps[2].args })
		assert.same({ "db migrate", "${target} up" }, { steps[3].text, steps[4].text })
		assert.is_nil(steps[3].args)
	end)

	it("of a foreach take a list or a variable, and steps", function()
		local steps = parse([[
vars: { files: [a, b], x: 1 }
commands:
  - foreach: [a, 2, null, { k: v }, "${x}"]
    do: [{ shell: "echo ${item} ${item.k} ${item_index}" }]
  - foreach: "${files}"
    parallel: 3
    max_items: 10
    continue_on_error: true
    do:
      - shell: a
      - { shell: b, id: inner }
  - { foreach: [], parallel: true, do: { shell: a } }
  - { foreach: [1], parallel: false, do: { shell: a } }
]]).steps
		assert.same({ "a", 2, json.null, { k = "v" }, "${x}" }, steps[1].items)
		assert.same({ 1, "foreach over 5 items", "1" }, { steps[1].parallel, steps[1].label, steps[1].steps[1].key })
		assert.same({ "${files}", 3, 10, true, "foreach ${files}" }, { steps[2].items, steps[2].parallel, steps[2].max_items,
			steps[2].continue_on_error, steps[2].label })
		assert.same({ "1", "inner" }, { steps[2].steps[1].key, steps[2].steps[2].key })
		assert.same({ 16, 1 }, { steps[3].parallel, steps[4].parallel })
		assert.is_true(json.is_array(steps[3].items))
		assert.is_nil(steps[1].timeout_ms)
	end)

	it("of a parallel step take steps and a limit", function()
		local steps = parse([[
commands:
  - parallel: [{ shell: a }, { shell: b, id: bee }]
  - { id: par, limit: 2, continue_on_error: true, parallel: [{ shell: a }, { parallel: [{ shell: b }] }, { shell: c }] }
]]).steps
		assert.same({ 2, "2 steps in parallel", "1.1", "1.bee" },
			{ steps[1].limit, steps[1].label, steps[1].steps[1].key, steps[1].steps[2].key })
		assert.same({ 2, true, "par.1", "par.2.1", "1 step in parallel" }, { steps[2].limit, steps[2].continue_on_error,
			steps[2].steps[1].key, steps[2].steps[2].steps[1].key, steps[2].steps[2].label })
		assert.equal(16, step("parallel: [" .. ("{ shell: a }, "):rep(20) .. "]").limit)
	end)

	it("of hooks take every form", function()
		local function on_failure(text)
			return step("shell: a, id: s, on_failure: " .. text).on_failure
		end
		assert.is_nil(on_failure "fail")
		assert.same({ steps = {}, go = "continue" }, on_failure "continue")
		local one = on_failure "{ shell: b }"
		assert.same({ "fail", "s.on_failure.1", "b" }, { one.go, one.steps[1].key, one.steps[1].text })
		local list = on_failure "[{ shell: b }, { claude: c, id: cc }]"
		assert.same({ "fail", "s.on_failure.1", "s.on_failure.cc" }, { list.go, list.steps[1].key, list.steps[2].key })
		local block = on_failure "{ steps: [{ shell: b }], then: continue }"
		assert.same({ "continue", "s.on_failure.1" }, { block.go, block.steps[1].key })
		assert.same({ "fail", 1 }, { on_failure("{ commands: { shell: b } }").go, #on_failure("{ steps: [{ shell: b }] }").steps })
		assert.same({ go = "continue", steps = {} }, on_failure "{ then: continue }")
		local success = step("shell: a, on_success: [{ shell: b }]").on_success
		assert.same({ "1.on_success.1" }, { success.steps[1].key })
		assert.equal(1, #step("parallel: [{ shell: a }], on_success: { steps: { shell: b } }").on_success.steps)
	end)

	it("make a label of one short line", function()
		local s = parse("commands:\n  - claude: |\n\n      " .. ("é"):rep(70) .. "\n      more\n").steps[1]
		assert.equal(("é"):rep(60) .. "…", s.label)
	end)

	local WRONG = {
		{ "timeuot: 5", "3:5 unknown key 'timeuot' in a shell step [Did you mean 'timeout'?]" },
		{ "args: [a]", "3:5 'args' is not a key of a shell step: it belongs on a claude step or a runner step" },
		{ "limit: 3", "3:5 'limit' is not a key of a shell step: it belongs on a foreach step or a parallel step" },
		{ "claude: b", "3:5 a step is either shell or claude, not both" },
		{ "id: 5", "3:9 id is 5: write an id: letters, digits, _ and -, starting with a letter or _" },
		{ "id: a b", "3:9 id is 'a b': write an id" }, { "id: [a]", "3:9 id is a list: write a string" },
		{ "id: on_failure", "3:9 id is 'on_failure': write another id: this one is the name of a hook" },
		{ "when: ", "3:10 when is empty: write a string" }, { "when: a ==", "3:15 when: " },
		{ "when: (true", "3:11 when: unclosed '('" },
		{ "capture_output: 3", "3:21 capture_output is 3: write a variable name" },
		{ "capture_output: shell", "3:21 capture_output is 'shell': write another name" },
		{ "timeout: 5 m m", "3:14 timeout is '5 m m': write a duration" },
		{ "total_timeout: x", "3:20 total_timeout is 'x': write a duration" },
		{ "total_timeout_secs: 1h", "3:25 total_timeout_secs is '1h': write a number of seconds [Write total_timeout: 1h]" },
		{ "grace: x", "3:12 grace is 'x': write a duration" },
		{ "idempotent: yes", "3:17 idempotent is 'yes': write true or false [Write idempotent: true]" },
		{ "idempotent: Off", "3:17 idempotent is 'Off': write true or false [Write idempotent: false]" },
		{ "idempotent: 'true'", "3:17 idempotent is 'true': write true or false [Write idempotent: true]" },
		{ "idempotent: 1", "3:17 idempotent is 1: write true or false" },
		{ "side_effects: some", "3:19 side_effects is 'some': write none, or leave it out" },
		{ "verify: [a]", "3:13 verify is a list: write a string" }, { "verify: {}", "3:13 verify is an empty map: write a shell command" },
		{ "verify: { sh: a }", "3:15 unknown key 'sh' in verify" }, { "on_retry: ", "3:14 on_retry is empty" },
		{ "on_retry: { shell: [a] }", "3:24 shell is a list: write a string" },
		{ "retry: x", "3:12 retry is 'x': write true, false, or a map" },
		{ "retry: 3", "3:12 retry is 3: write true, false, or a map such as { max_attempts: 3, initial_delay: 2s } "
			.. "[Write retry: { max_attempts: 3 }]" },
		{ "retry: {}\nretry_config: {}", "4:5 'retry_config' and 'retry' (line 3) mean the same" },
		{ "on_failure: stop", "3:17 on_failure is 'stop': write continue, fail, a step, or a list of steps "
			.. "[Write on_failure: { shell: stop }]" },
		{ "on_failure: cntinue", "3:17 on_failure is 'cntinue': write continue, fail, a step, or a list of steps [Did you mean 'continue'?]" },
		{ "on_failure: []", "3:17 on_failure has no steps" },
		{ "on_failure: { steps: [{ shell: b }], then: stop }", "3:48 then is 'stop': write continue or fail" },
		{ "on_failure: { step: [{ shell: b }] }", "3:19 unknown key 'step' in on_failure [Did you mean 'steps'?]" },
		{ "on_success: { stepz: [{ shell: b }] }", "3:19 unknown key 'stepz' in on_success [Did you mean 'steps'?]" },
		{ "on_failure: { shel: b }", "3:19 unknown key 'shel' in a step [Did you mean 'shell'?]" },
		{ "on_failure: [~]", "3:18 a step is a map such as shell: make, not empty" },
		{ "on_failure: { steps: [{ shell: b }], than: fail }", "3:42 unknown key 'than' in on_failure [Did you mean 'then'?]" },
		{ "on_success: go", "3:17 on_success is 'go': write a step, or a list of steps" },
		{ "on_success: { steps: [{ shell: b }], then: fail }", "3:42 unknown key 'then' in on_success" },
		{ "env: { A: '${nope}' }", "3:16 ${nope}: unknown variable [Declare it: vars: { nope: }]" },
		{ "working_dir: '${a'", "3:19 unclosed '${'" },
		{ "output_file: {}", "3:18 output_file is an empty map: write a string" },
	}
	for _, case in ipairs(WRONG) do
		it(("are refused where they are wrong: %q"):format(case[1]), function()
			assert.equal(case[2], told_of(case[1]):sub(1, #case[2]))
		end)
	end

	local WRONG_STEPS = {
		{ "shell:", "2:11 shell is empty: write a string" }, { "shell: [a]", "2:12 shell is a list: write a string" },
		{ "claude: ''", "2:13 claude is '': write a string" },
		{ "make", "2:5 a step is a map such as shell: make, not 'make' [Write - shell: make]" },
		{ "[a]", "2:5 a step is a map such as shell: make, not a list" },
		{ "{}", "2:5 a step needs one of the keys claude, shell, runner, foreach, parallel" },
		{ "id: x", "2:5 a step needs one of the keys claude, shell, runner, foreach, parallel" },
		{ "shel: x", "2:5 unknown key 'shel' in a step [Did you mean 'shell'?]" },
		{ "uses: x", "2:5 unknown key 'uses' in a step [A step needs one of the keys" },
		{ "runner: db.migrate", "2:13 runner is 'db.migrate': write a command such as deploy or db migrate "
			.. "[Write db migrate]" },
		{ "runner: deploy --now", "2:13 runner is 'deploy --now': write a command such as deploy or db migrate "
			.. "[Put its arguments under args]" },
		{ "{ runner: a, errexit: false }", "'errexit' is not a key of a runner step: it belongs on a shell step" },
		{ "{ shell: a, interpreter: fish }", "2:30 interpreter is 'fish': write sh or bash" },
		{ "{ shell: a, interpreter: bassh }", "2:30 interpreter is 'bassh': write sh or bash [Did you mean 'bash'?]" },
		{ "{ shell: a, errexit: off }", "2:26 errexit is 'off': write true or false [Write errexit: false]" },
		{ "{ shell: a, verify: { errexit: false } }", "2:25 verify is a map: write a shell command" },
		{ "runner: { name: x }", "2:13 runner is a map: write a string" },
		{ "{ runner: a, args: 3 }", "2:24 args is 3: write a map of names and values" },
		{ "{ runner: a, args: { --x: 3 } }", "2:26 '--x' is not a valid name in args: use the argument's name" },
		{ "{ runner: a, args: { x: { y: 1 } } }", "2:29 args.x is a map: write a string" },
		{ "{ runner: a, args: { x: } }", "args.x is empty: write a string ('' for an empty one)" },
		{ "{ foreach: [a] }", "2:5 a foreach step needs do: the steps for each item" },
		{ "{ foreach: a, do: [{ shell: a }] }",
			"2:16 foreach is 'a': write a list such as [a, b], a variable such as \"${files}\", or { file: PATH } [Write foreach: [a]]" },
		{ "{ foreach: { a: b }, do: [{ shell: a }] }", "2:18 unknown key 'a' in foreach [Valid keys: file, path]" },
		{ "{ foreach: { fiel: b }, do: [{ shell: a }] }", "Did you mean 'file'?" },
		{ "{ foreach: {}, do: [{ shell: a }] }", "foreach needs file: the file whose lines are the items" },
		{ "{ foreach: [a], do: [] }", "2:25 do has no steps" },
		{ "{ foreach: [a], do: x }", "2:25 a step is a map such as shell: make, not 'x'" },
		{ "{ foreach: [a], do: [{ shell: a }], parallel: 0 }", "parallel is 0: write a whole number from 1 to 64" },
		{ "{ foreach: [a], do: [{ shell: a }], max_items: 1.5 }", "max_items is 1.5: write a whole number from 1 to 1000000" },
		{ "{ foreach: [a], do: [{ shell: a }], retry: {} }", "'retry' is not a key of a foreach step: put it on the steps inside" },
		{ "{ foreach: [a], do: [{ shell: a }], limit: 3, max_items: 3 }", "max_items" },
		{ "{ foreach: [a], dò: [{ shell: a }] }", "unknown key 'dò' in a foreach step" },
		{ "{ foreach: [a], shell: b }", "a step is either foreach or shell, not both" },
		{ "{ parallel: { shell: a } }", "2:17 parallel is a map: write a list of steps" },
		{ "{ parallel: [] }", "2:17 parallel has no steps" },
		{ "{ parallel: [{ shell: a }], limit: 65 }", "limit is 65: write a whole number from 1 to 64" },
		{ "{ parallel: [{ shell: a }], timeout: 1 }", "'timeout' is not a key of a parallel step: put it on the steps inside" },
		{ "{ parallel: [{ shell: a, continue_on_error: maybe }] }", "'continue_on_error' is not a key of a shell step" },
		{ "{ parallel: [{ shell: a }], continue_on_error: maybe }", "continue_on_error is 'maybe': write true or false" },
	}
	for _, case in ipairs(WRONG_STEPS) do
		it(("are refused with the step: %q"):format(case[1]), function()
			local text = told("commands:\n  - " .. case[1] .. "\n")
			assert.truthy(text:find(case[2], 1, true), text)
		end)
	end
end)
