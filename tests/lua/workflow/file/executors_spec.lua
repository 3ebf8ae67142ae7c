local declared = require "runner.declare.executors"
local json = require "runner.json"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local parse, told = help.parse, help.told

local SITE = assert(declared.accept { cluster = { kind = "slurm", directory = "/shared/runner", memory = "4G", time = "30m" },
	half = { kind = "slurm" } })

local HEAD = "executors:\n  c: { kind: slurm, directory: /s }\n"

local function steps_of(text, opts)
	return parse(text, opts).steps
end

describe("executors", function()
	it("have a normal form with every key", function()
		local e = parse([[
executors:
  big: { kind: slurm, partition: main, account: a1, qos: high, cpus: 4, gpus: 2, memory: [4G, 8G], time: 30m, at_once: 200,
    poll: 2s, submit_rate: 30/m, directory: /shared//runner/, options: [--constraint=ssd], prologue: module load x,
    environment: { A: b, N: 4 }, runner: /opt/runner }
  own: { kind: command, directory: /s, submit: [a, b], states: [c], cancel: [d] }
  here: { kind: local }
commands: [ shell: a ]
]]).executors
		assert.same({ name = "big", kind = "slurm", partition = "main", account = "a1", qos = "high", cpus = 4, gpus = "2",
			memory = { "4G", "8G" }, time_ms = 1800000, at_once = 200, poll_ms = 2000, submit_rate = 0.5, directory = "/shared/runner",
			options = { "--constraint=ssd" }, prologue = "module load x", environment = { A = "b", N = "4" }, runner = "/opt/runner" },
			e.big)
		assert.same({ name = "own", kind = "command", directory = "/s", submit = { "a", "b" }, states = { "c" }, cancel = { "d" },
			poll_ms = 5000, submit_rate = 1, options = {}, environment = {} }, e.own)
		assert.same({ name = "here", kind = "local", poll_ms = 200, submit_rate = 1000, options = {}, environment = {} }, e.here)
	end)

	it("of a file replace those of the site key by key", function()
		local e = parse("executors:\n  cluster: { time: 1h }\ncommands: [ shell: a ]\n", { executors = SITE }).executors
		assert.same({ "slurm", "/shared/runner", 3600000, "4G" },
			{ e.cluster.kind, e.cluster.directory, e.cluster.time_ms, e.cluster.memory[1] })
		assert.is_nil(e.half) -- incomplete, and nobody uses it
	end)

	it("of a file may complete one of the site", function()
		local e = parse("executors:\n  half: { directory: /x }\ncommands: [ shell: a ]\n", { executors = SITE }).executors
		assert.equal("/x", e.half.directory)
	end)

	for what, case in pairs {
		["a wrong name"] = { "9: { kind: local }", "2:3 '9' is not a valid name in executors: use " .. declared.NAME_WORDS },
		["the name none"] = { "none: { kind: local }", "2:3 'none' is not a valid name in executors: use " .. declared.NAME_WORDS },
		["no kind"] = { "c: { directory: /s }", "2:3 the executor 'c': kind is missing [Write kind: slurm, command or local]" },
		["an unknown kind"] = { "c: { kind: slrum }", "2:14 kind is 'slrum': write slurm, command or local" },
		["an unknown key"] = { "c: { kind: local, memroy: 4G }", "2:21 unknown key 'memroy' in an executor [Did you mean 'memory'?]" },
		["no directory"] = { "c: { kind: slurm }", "2:3 the executor 'c': directory is missing: a folder that every node sees under the"
			.. " same path [Write directory: ~/runner, if HOME is shared]" },
		["a program that is missing"] = { "c: { kind: command, directory: /s, submit: [a], cancel: [a] }",
			"2:3 the executor 'c': states is missing [kind: command has the three programs submit, states and cancel]" },
		["a program that nobody calls"] = { "c: { kind: local, states: [a] }",
			"2:3 the executor 'c': states belongs to kind: command [kind: command has the three programs submit, states and cancel]" },
		["a relative directory"] = { "c: { kind: local, directory: a/b }",
			"2:32 directory is 'a/b': write an absolute path, or one that starts with ~/" },
		["a directory with .."] = { "c: { kind: local, directory: /a/../b }",
			"2:32 directory is '/a/../b': write an absolute path, or one that starts with ~/" },
		["an empty variable"] = { "c: { kind: local, environment: { A: x, B: } }",
			"2:45 environment.B is empty: write a string ('' for an empty one)" },
		["an empty word"] = { "c: { kind: local, options: [ x, ~ ] }", "2:35 options[2] is empty: write a string ('' for an empty one)" },
		["an empty map of variables"] = { "c: { kind: local, environment: }", "2:34 environment is empty: write a map of names and values" },
		["a map of nothing"] = { "c: ", "2:5 an executor must be a map, not empty" },
	} do
		it("with " .. what .. " are a problem with its place", function()
			local text = told("executors:\n  " .. case[1] .. "\ncommands: [ shell: a ]\n")
			assert.equal(case[2], text)
		end)
	end

	it("take no value that is none of theirs", function()
		for key, values in pairs {
			partition = { "a b", "-x", "", 5, ("x"):rep(201) }, cpus = { 0, -1, 1.5, "x" }, gpus = { 0, "a:b", "2;x", true },
			memory = { "4", "0G", "4g", "4G; x", {}, { "4G", "x" } }, time = { 0, -1, "soon" }, at_once = { 0 }, poll = { "99ms" },
			submit_rate = { "0/s", "-1/s", "1/d", 0, -1, "1/s\n" }, directory = { "", "/", "/a\nb", "/a\0b" },
			options = { { "a\nb" }, { 5 }, "text" },
			environment = { { ["a-b"] = "x" }, { A = {} }, { A = "\0" }, { A = json.null } },
			runner = { "runner" }, submit = { {}, "text", { "" }, { 5 } }, kind = { "fake", "Slurm" },
		} do
			for _, v in ipairs(values) do
				assert.is_nil(declared.keys[key].accept(v), key .. " takes " .. tostring(v))
			end
		end
	end)

	it("of a runner.lua are refused as a whole when one of them is wrong", function()
		for _, v in ipairs { true, "x", { c = true }, { c = { kind = "x" } }, { c = { knid = "slurm" } }, { ["a b"] = {} },
			{ none = {} }, { {} } } do
			assert.is_nil(declared.accept(v))
		end
		assert.same({ c = { time_ms = 5000 } }, declared.accept { c = { time = "5s" } })
	end)
end)

describe("on", function()
	it("places a step with all that is inside it", function()
		local s = steps_of(HEAD .. [[
commands:
  - { foreach: [a], on: c, chunk: 5, do: [ { shell: x } ] }
  - parallel: [ { shell: a, on: c }, { shell: b } ]
]])
		assert.same({ "c", 5 }, { s[1].on, s[1].chunk })
		assert.is_nil(s[1].steps[1].on)
		assert.same({ "c" }, { s[2].steps[1].on, s[2].on, s[2].steps[2].on })
	end)

	it("of the workflow is meant for the outermost steps that name none", function()
		local text = HEAD .. [[
  d: { kind: local }
on: c
commands:
  - { foreach: [a], do: [ { shell: x } ] }
  - { shell: a, on: d, on_failure: { shell: b } }
  - { shell: a, on: none }
]]
		local workflow = parse(text)
		local s = workflow.steps
		assert.same({ "c", "c", "d", "c" }, { workflow.on, s[1].on, s[2].on, s[2].on_failure.steps[1].on })
		assert.is_nil(s[1].steps[1].on or s[3].on)
		s = steps_of(text, { on = "d" })
		assert.same({ "d", "d" }, { s[1].on, s[2].on })
		workflow = parse(text, { on = "none" })
		assert.is_nil(workflow.on or workflow.steps[1].on)
		assert.equal("d", workflow.steps[2].on)
	end)

	it("inside a placed step is a problem", function()
		assert.equal("4:40 on: this step is inside one that runs elsewhere, and runs where that does [Remove one of the two]",
			told(HEAD .. "commands:\n  - { foreach: [a], on: c, do: [ { on: c, shell: x } ] }\n"))
	end)

	it("with an unknown name says which is near, or which are known", function()
		local text = told(HEAD .. "commands:\n  - { shell: x, on: cc }\n")
		assert.equal("4:21 on: there is no executor 'cc' [Did you mean 'c'?]", text)
		assert.truthy(told("commands:\n  - { shell: x, on: far }\n"):find("Describe it under executors, here or in runner.lua", 1, true))
		assert.truthy(told("on: far\n" .. HEAD .. "commands:\n  - { shell: x }\n"):find("[Known: c]", 1, true))
	end)

	it("with an executor of the site that is incomplete says what it lacks", function()
		assert.truthy(told("commands:\n  - { shell: x, on: half }\n", { executors = SITE }):find("'half': directory is missing", 1, true))
	end)

	it("that the caller asks for is a problem of the call", function()
		local file = require "runner.workflow.file.reader"
		local _, problems = file.parse(HEAD .. "commands:\n  - { shell: x }\n", "f.yaml", { on = "cd" })
		assert.same({ { field = "on", code = "INVALID_ARGUMENT", message = "there is no executor 'cd'", suggestion = "Did you mean 'c'?" } },
			problems)
	end)

	it("is what chunk needs", function()
		assert.equal("CHUNK_UNUSED", parse("commands:\n  - { foreach: [a], chunk: 5, do: [ { shell: x } ] }\n").hints[1].code)
		assert.equal("", told("on: none\ncommands:\n  - { foreach: [a], chunk: 5, do: [ { shell: x } ] }\n"))
		assert.equal("", told(HEAD .. "on: c\ncommands:\n  - { foreach: [a], chunk: 5, do: [ { shell: x } ] }\n", { on = "none" }))
		assert.truthy(told(HEAD .. "commands:\n  - { foreach: [a], on: c, do: [ { foreach: [b], chunk: 5, do: [ { shell: x } ] } ] }\n")
			:find("chunk: the items run here", 1, true))
		assert.truthy(told("commands:\n  - { shell: a, chunk: 5 }\n"):find("it belongs on a foreach step", 1, true))
	end)

	it("places no claude step that shares a budget", function()
		local text = HEAD .. "max_cost: 1\nclaude: { output: json }\ncommands:\n  - { foreach: [a], on: c, do: [ { claude: x } ] }\n"
		assert.truthy(told(text):find("machines don't share a budget", 1, true))
		assert.equal("", told((text:gsub("on: c, ", ""))))
		assert.is_true(parse((text:gsub("max_cost: 1\n", ""))).placed_claude)
	end)
end)
