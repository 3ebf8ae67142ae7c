-- What of a run travels to another machine: the step means the same there, its texts find the
-- values that they name, and nothing that holds a secret is where others might read it.

local HERE = debug.getinfo(1, "S").source:match "^@(.*tests/lua/)"
local help = dofile(HERE .. "lib/workflow_help.lua")
local codec = require "runner.workflow.store.codec"
local fs = require "runner.fs"
local large_value = require "runner.workflow.expr.large_value"
local masks = require "runner.core.mask"
local payload = require "runner.workflow.executors.payload"
local variables = require "runner.workflow.expr.variables"

local dir

help.in_a_place(before_each, after_each, function(d)
	dir = d
end)

local function run_of(workflow, scope, opts)
	opts = opts or {}
	return { id = "run_1", workflow = workflow, seed = 1 << 62, mask = masks.masker(opts.secrets or {}), secrets = opts.secrets, scope = scope,
		settings = { cwd = "/w", errexit = true, claude = workflow.claude, env = opts.env or {} } }
end

local function over_the_wire(document)
	return codec.decode({ data = codec.encode("data", document) }).data
end

-- The payload of a workflow's last step on the other side, and the two documents.
local function sent(text, scope, opts)
	local workflow = help.parse(text)
	scope = scope or {}
	scope.vars, scope.steps = scope.vars or workflow.vars, scope.steps or {}
	local step = workflow.steps[#workflow.steps]
	local about, private = payload.pack(run_of(workflow, scope, opts), step, step.key, { prefix = "", suffix = "", scope = scope }, dir)
	return payload.unpack(over_the_wire(about), over_the_wire(private), dir), step, about, private
end

-- What the run decides itself doesn't travel.
local function without(step, ...)
	for _, name in ipairs { ... } do
		step[name] = nil
	end
	return step
end

describe("a step", function()
	it("means the same on the other side", function()
		for _, text in ipairs {
			[[shell: "a ${x:-1} $((1+2))", capture_limit: none, env: { A: "${word}" }, idempotent: false]],
			[[shell: a, retry: { max_attempts: 3, retry_on: [{ exit: [75, 1, 255] }, { pattern: "x|y", code: UNAVAILABLE }] }, verify: test -e x]],
			[[shell: a, retry: { delays: [1s, 250ms], retry_on: [timeout, network], jitter: full, retry_budget: 1h }, total_timeout: 1m]],
			[[foreach: [1], parallel: 3,
				do: [{ shell: a, when: "item > 1 and not (word == 'b ${word}' or true != null)" }, { shell: b, on_failure: continue }] ]],
			[[foreach: [1], do: { foreach: ["${item}", 2.5, null, { a: [] }],
				do: { shell: a, capture_limit: none, retry: { retry_on: { exit: 3 } } } }]],
			[[parallel: [{ shell: a, on_success: { shell: b, when: "1 == 1" } },
				{ runner: "deploy x", args: { target: "${word}", n: [1, true], e: [] } }] ]],
			[[claude: "do ${word}", allowed_tools: [Read, "Bash(ls:*)"], max_turns: 3, resume_session: true, on_retry: echo again]],
		} do
			local there, step = sent("vars: { word: w }\ncommands:\n  - { " .. text .. " }\n")
			assert.same(without(step, "items", "items_file", "when", "on_failure", "on_success"), there.step)
		end
	end)

	it("leaves to the run whether it runs, over what it loops, and what follows it", function()
		local there = sent [[
commands:
  - { foreach: [1, 2], when: "1 == 1", do: { shell: a, when: "2 == 2" }, on_failure: continue, on_success: { shell: b } }
]]
		assert.same({}, { there.step.items, there.step.when, there.step.on_failure, there.step.on_success })
		assert.equal("2 == 2", there.step.steps[1].when.text)
	end)
end)

describe("values", function()
	local LONG = ("0123456789\n"):rep(20000)

	local function result(fields)
		fields.ok, fields.status = true, 0
		return fields
	end

	it("are found by every text that names them, and no others travel", function()
		local scope = { vars = { a = { list = { 1, { b = "deep" } } }, other = "unused", bytes = "\0\255" }, item = { k = "item's" },
			item_index = 7, steps = { s = result { output = "out", data = { n = 5 } }, t = result { output = "unused" } }, env = function(name)
				return name == "FROM_HERE" and "here" or nil
			end, shell = result { output = "last" } }
		local there, _, about = sent([[
vars: { a: 1, bytes: x, other: y }
commands:
  - { id: s, shell: a }
  - foreach: [1]
    do:
      - { shell: "${a.list.1.b} ${steps.s.output} ${bytes}", env: { E: "${env.FROM_HERE}" }, working_dir: "${shell.output}" }
      - { shell: x, when: "steps.s.data.n == 5 and '${item.k}' != ''" }
]], scope)
		local here = there.place.scope
		for text, value in pairs { ["${a.list.1.b}"] = "deep", ["${steps.s.output}"] = "out", ["${bytes}"] = "\0\255",
			["${env.FROM_HERE}"] = "here",
			["${shell.output}"] = "last", ["${steps.s.data.n}"] = "5", ["${run.id}"] = "run_1" } do
			assert.equal(value, variables.expand(text, here))
		end
		assert.same({}, { here.vars.other, here.steps.t })
		assert.is_nil(codec.encode("data", about):find("unused", 1, true))
		assert.equal(1 << 62, there.seed)
	end)

	it("of the environment that aren't set where the run is aren't taken from here", function()
		local there = sent([[
commands:
  - foreach: [1]
    do: [{ shell: "${env.HERE}", when: "env.HOME == 'x'" }]
]], { env = function(name)
			return name == "HERE" and "here" or nil
		end })
		assert.is_string(os.getenv "HOME")
		assert.same({ "here" }, { there.place.scope.env "HERE", there.place.scope.env "HOME" })
	end)

	it("that are long, in files, or cut, stay so", function()
		local file = dir .. "/kept"
		assert(fs.write(file, LONG))
		local scope = { vars = { long = LONG, list = { LONG } }, steps = {
			f = result { output = large_value.new { step = "f", bytes = #LONG, file = file } },
			c = result { output = large_value.new { step = "c", bytes = 9, cut = 4 } },
			d = result { output = "", data = { { ok = true, output = large_value.new { step = "d[1].x", bytes = 8, cut = 3 } },
				{ ok = true, output = "fine" } } },
			p = result { output = "text" },
		} }
		local there = sent([[
vars: { long: x, list: [] }
commands:
  - parallel: [{ id: f, shell: a }, { id: c, shell: a }, { id: d, shell: a }, { id: p, shell: a }]
  - shell: "${long} ${list} ${steps.f.output} ${steps.c.output} ${steps.d.data} ${steps.p.output_path} ${steps.f.output_path}"
]], scope)
		local here = there.place.scope
		assert.equal(LONG, variables.value("${long}", here))
		assert.equal(LONG, variables.value("${list.0}", here))
		assert.equal(LONG, variables.value("${steps.f.output}", here))
		assert.equal("fine", variables.value("${steps.d.data.1.output}", here))
		assert.equal("text", fs.read(variables.value("${steps.p.output_path}", here)))
		assert.equal(LONG, fs.read(variables.value("${steps.f.output_path}", here)))
		assert.equal(dir .. "/", variables.value("${steps.f.output_path}", here):match "^.*/")
		for text, words in pairs { ["${steps.c.output}"] = "output of step c was cut", ["${steps.d.data.0.output}"] = "step d[1].x was cut" } do
			local ok, e = pcall(variables.value, text, here)
			assert.is_false(ok)
			assert.truthy(e.message:find(words, 1, true), e.message)
		end
	end)

	it("of variables that don't exist are missing there, too", function()
		local there = sent [[
commands:
  - shell: "$HOME ${HOME} ${UNKNOWN:-1}"
]]
		assert.same({}, there.place.scope.vars)
		assert.is_false(pcall(variables.expand, "${UNKNOWN}", there.place.scope))
	end)
end)

describe("a secret", function()
	it("is in the private document alone, wherever it was", function()
		local there, _, about, private = sent([[
vars: { v: "say hunter2hunter2" }
commands:
  - { shell: "curl -H hunter2hunter2 ${v}", env: { B: "aHVudGVyMmh1bnRlcjI=" } }
]], nil, { secrets = { "hunter2hunter2" }, env = { TOKEN = "hunter2hunter2" } })
		local text = codec.encode("data", about)
		assert.is_nil(text:find("hunter2", 1, true) or text:find("aHVudGVy", 1, true))
		assert.same({ "TOKEN" }, about.env_names)
		assert.equal("hunter2hunter2", private.env.TOKEN)
		assert.equal("say hunter2hunter2", variables.value("${v}", there.place.scope))
		assert.equal("curl -H hunter2hunter2 ${v}", there.step.text)
		assert.same({ "hunter2hunter2" }, there.secrets)
	end)
end)
