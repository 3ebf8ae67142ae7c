-- The JSON Schema of workflow files and `runner workflow check` judge alike: for every key, every
-- kind of value is given to both. The schema never refuses what check accepts; what it accepts and
-- check refuses is listed here, by what check says.

local confinement = require "runner.workflow.file.confinement"
local file = require "runner.workflow.file.reader"
local json = require "runner.json"
local json_schema = require "runner.core.json_schema"
local keys = require "runner.workflow.file.keys"
local layout = require "runner.output.layout"
local retry = require "runner.workflow.file.retry"
local schema = require "runner.workflow.file.schema"
local yaml = require "runner.core.yaml.parser"

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local NULL, LIST = json.null, json.array

-- As a file has it: lists are lists.
local SCHEMA = json.decode(json.encode(schema.schema()))

-- What only check can say, by its messages.
local ONLY_CHECK = { "unknown variable", "^there is no executor", "there is no executor", "^when: ", "no step has the id", "is missing",
	"only %${env%.NAME} has a value", "needs delays", "chunk: the items run here", "^schema: ", "^workflow: ",
	" options: '[^']*' is no option: ", " has no variable ",
	"is not a value by itself", "only available inside a foreach", "^[%w_]+ is %d+%.0: " } -- 1.0 is an integer to JSON

-- Only empty ones: a Lua table doesn't tell a list from a map.
local TOLERATED = { ["environment: must be object, is array"] = true, ["options: must be array, is object"] = true }

local function is_only_check(problems)
	for _, problem in ipairs(problems) do
		for _, pattern in ipairs(ONLY_CHECK) do
			if problem.message:find(pattern) then
				return true
			end
		end
	end
	return false
end

-- "both", "neither", "schema" or "check": who accepts a workflow; and what they say. With a definition, the schema judges
-- only a part of it by that.
local function judges(value, part, definition)
	local text = assert(json.encode(value))
	local workflow, problems = file.parse(text, "x.yaml")
	local by = definition and { ["$ref"] = "#/definitions/" .. definition, definitions = SCHEMA.definitions } or SCHEMA
	local refused = json_schema.problems(by, json.decode(definition and json.encode(part) or text))
	if workflow and (not refused[1] or TOLERATED[json_schema.text(refused[1])]) then
		return "both"
	elseif workflow then
		return "check", json_schema.text(refused[1]) .. "\n" .. text
	elseif refused[1] then
		return "neither"
	end
	return is_only_check(problems) and "neither" or "schema", problems[1].message .. "\n" .. text
end

-- --- the values --------------------------------------------------------------------------------

local STEP = { shell = "true" }

local VALUES = { NULL, true, false, 0, 1, 5, -1, 1.5, 0.5, 70000, 10000000, 1e12, 4e8, "", " ", "\t", "text", "a b", "5", "5s", "1.5m",
	"5 s", "1w", "0", "0s", "none", "1G", "10 MiB", "1.5G", "G", "${x}", "$${x", "UNAVAILABLE", "unavailable", "timeout", "X", "constant",
	"custom", "fixed", "full", "factor", "continue", "fail", "bash", "sh", "zsh", "json", "stream-json", "plan", "id-1", "9x", "steps", "item",
	"verify", "deploy", "db migrate", "db.migrate", "--flag", "db ${x} y", "/tmp/x", "~/x", "x/../y", "/x/../y", "~", "/", "1/s", "0/s",
	"10/m", "1/d",
	"a100:2", "2", "4K", "04K", "slurm", "local", "-J", "-Jx", "--wrap=x", "--wrapper", "--constraint=x", "line\nline", "yes", "true",
	("x"):rep(300), "ü", "\u{a0}", LIST {}, LIST { "a" }, LIST { 5 }, LIST { true }, LIST { NULL }, LIST { "" }, LIST { "1s", 2 },
	LIST { "1G", "2G" }, LIST { "TIMEOUT", "network" }, LIST { LIST {} }, LIST { { a = 1 } }, LIST { STEP }, LIST { { exit = 75 } },
	LIST { { exit = 75 }, "timeout" }, LIST { "--array=1" }, {}, { a = 1 }, { a = NULL }, { a = "x" }, { ["a-b"] = "x" },
	{ ["9"] = "x" }, { a = LIST { "x", 1 } }, { a = { b = 1 } }, { a = true }, { steps = "x" }, STEP, { shell = "" }, { shell = "x",
	nokey = 1 },
	{ shell = "true", interpreter = "bash" }, { claude = "x", shell = "y" }, { file = "x" }, { file = "" }, { file = "x", more = 1 },
	{ steps = LIST { STEP } }, { commands = STEP }, { steps = LIST {} }, { ["then"] = "continue" }, { ["then"] = "stop" },
	{ steps = LIST { STEP }, commands = LIST { STEP } }, { max_attempts = 3 }, { max_attempts = 3, attempts = 2 }, { exit = 75 },
	{ exit = LIST { 1, 256 } }, { stderr = "x", code = "X1" }, { code = "UNAVAILABLE" }, { pattern = "x" }, { strategy = "linear" },
	{ delays = LIST { "1s" }, strategy = "linear" }, { delays = LIST { "1s" }, backoff = "linear" },
	{ delays = LIST { "1s" }, strategy = "custom" }, { jitter = "full", jitter_factor = 0.5 }, { jitter = true, jitter_factor = 0.5 },
	{ jitter = 0.1, jitter_factor = 0.5 }, { A = { env = "X" } }, { A = { env = "X", file = "y" } }, { A = { file = "y" } }, { A = {} },
	{ x = { kind = "slurm", directory = "/x" } }, { none = { kind = "local" } }, { ["9"] = { kind = "local" } },
	{ write = LIST {} }, { write = LIST { "a", "../b" } }, { read = "${x}" }, { network = false }, { network = true },
	{ network = { ports = LIST { 443 }, udp = true } }, { network = { udp = true } }, { network = { hosts = LIST { "a" } } },
	{ required = false },
	{ capabilities = LIST { "chown" } }, { ports = LIST { 443, 0 } }, "chown", "..", "a/..", "..a", LIST { "chown", "sys_admin" },
	{ message = "x" }, { message = "x", default = "approve" }, { message = "x", default = "reject", timeout = "7d" },
	{ message = "x", show = LIST { "diff" }, notify = STEP },
	{ x = { kind = "local", submit = LIST { "x" } } }, { x = { kind = "command", directory = "/x" } }, { x = NULL } }

-- --- the places --------------------------------------------------------------------------------

local BASES = { claude = { claude = "x" }, shell = { shell = "true" }, runner = { runner = "deploy" },
	foreach = { foreach = LIST { 1 }, ["do"] = STEP }, parallel = { parallel = LIST { STEP } }, steps = { steps = LIST { STEP } },
	commit = { commit = true }, workflow = { workflow = ROOT .. "tests/lua/lib/inner.yaml" },
	approve = { approve = "x" } }

local function with(base, key, value)
	local out = {}
	for name, v in pairs(base) do
		out[name] = v
	end
	out[key] = value
	return out
end

local function of_steps(step)
	return { commands = LIST { step } }
end

local function same(v) return v end
local function of_workflow(key)
	return function(v) return with(of_steps(STEP), key, v) end
end
local function of_step(key)
	return function(v) return with(STEP, key, v) end
end

-- Where keys stand: the keys, what stands there already, the definition of the schema that is judged (nil: all of it),
-- the value that it judges, and the workflow around that.
local PLACES = {
	{ "a workflow", keys.workflow, of_steps(STEP), nil, same, same },
	{ "claude of a workflow", keys.claude, {}, "claude", same, of_workflow "claude" },
	{ "concurrency", keys.concurrency, { key = "x" }, "concurrency", same, of_workflow "concurrency" },
	{ "retry", retry.keys, {}, "retry", same, of_workflow "retry" },
	{ "an executor", keys.executor, { kind = "slurm", directory = "/x" }, "executor", same,
		function(v) return of_workflow "executors" { x = v } end },
	{ "confine", confinement.keys, { write = LIST { "out" } }, "step.shell", of_step "confine", of_steps },
	{ "network of confine", confinement.network, { ports = LIST { 443 } }, "step.shell",
		function(v) return of_step "confine" { network = v } end, of_steps },
	{ "on_failure", keys.on_failure, {}, "step.shell", of_step "on_failure", of_steps },
	{ "on_success", keys.on_success, {}, "step.shell", of_step "on_success", of_steps },
	{ "repair", keys.repair, { steps = LIST { STEP } }, "step.shell", of_step "repair", of_steps },
	{ "verify", keys.own.shell, STEP, "step.shell", of_step "verify", of_steps },
	{ "a rule of retry_on", { exit = {}, stderr = {}, pattern = {}, code = {} }, { exit = 3 }, "retry",
		function(v) return { retry_on = v } end, of_workflow "retry" },
	{ "a secret", keys.secret, {}, "workflow.secrets", function(v) return { A = v } end, of_workflow "secrets" },
	{ "a loop's file", keys.items, {}, "foreach.foreach", same, function(v) return of_steps(with(BASES.foreach, "foreach", v)) end },
}
for _, kind in ipairs(keys.kinds) do
	PLACES[#PLACES + 1] = { "a step of kind " .. kind, kind == "shell" and keys.step.shell or keys.own[kind], BASES[kind], "step." .. kind,
		same, kind == "commit" and function(v) return of_steps(with(STEP, "check", v)) end or of_steps }
end

describe("the schema of workflow files and check", function()
	for _, place in ipairs(PLACES) do
		local name, rows, base, definition, inner, around = table.unpack(place, 1, 6)
		local function judge(key, value)
			local part = inner(with(base, key, value))
			return judges(around(part), part, definition)
		end

		it("judge every key of " .. name .. " alike, whatever its value", function()
			local differ, accepted = {}, 0
			for key in pairs(rows) do
				for _, value in ipairs(VALUES) do
					local verdict, why = judge(key, value)
					accepted = accepted + (verdict == "both" and 1 or 0)
					differ[#differ + 1] = (verdict == "schema" or verdict == "check") and verdict .. " accepts: " .. why or nil
				end
			end
			assert.same({}, differ)
			assert.is_true(accepted > 0)
		end)

		it("refuse a key that " .. name .. " doesn't have", function()
			for _, key in ipairs { "nokey", "Shell", "" } do
				assert.equal("neither", (judge(key, "x")))
			end
		end)
	end

	it("judge all keys of all steps alike, where a file is given whole", function()
		for _, kind in ipairs(keys.kinds) do
			for key in pairs(keys.step[kind]) do
				for _, value in ipairs { true, 5, "5s", LIST {}, { a = 1 } } do
					local verdict, why = judges(of_steps(with(BASES[kind], key, value)))
					assert.is_true(verdict == "both" or verdict == "neither", why)
				end
			end
		end
	end)

	it("refuse what is no workflow", function()
		for _, value in ipairs { LIST {}, {}, 5, "x", true, { name = "x" }, { commands = NULL } } do
			assert.equal("neither", (judges(value)))
		end
	end)

	it("judge a repair by what it needs: its steps, and a check where that is what runs again", function()
		for repair, expected in pairs { [{ max = 3 }] = "neither", [{ again = "check", commands = STEP }] = "neither",
			[{ again = "step", commands = STEP }] = "both", [STEP] = "both" } do
			local verdict, why = judges(of_steps(with(STEP, "repair", repair)))
			assert.equal(expected, verdict, why)
			verdict, why = judges(of_steps(with(with(STEP, "repair", repair), "check", STEP)))
			assert.equal(repair.again and "both" or expected, verdict, why)
		end
	end)

	it("judge steps within steps", function()
		local deep = STEP
		for _ = 1, 10 do
			deep = { foreach = LIST { 1 }, ["do"] = LIST { { parallel = LIST { deep } } } }
		end
		assert.equal("both", (judges(of_steps(deep))))
		assert.equal("neither", (judges(of_steps { foreach = LIST { 1 }, ["do"] = LIST { { parallel = LIST { { shell = 1, nokey = 1 } } } } })))
	end)
end)

describe("the schema of workflow files", function()
	it("describes every key, with its default where that is a value", function()
		for name, definition in pairs(SCHEMA.definitions) do
			local key = name:match "%.([%w_]+)$"
			if key and not name:find "^step%." then
				assert.truthy(definition.description, name)
				assert.falsy(definition.description:find("](", 1, true), name .. " has a link")
			end
		end
		assert.equal("exponential", SCHEMA.definitions["retry.strategy"].default)
		assert.equal(5, SCHEMA.definitions["retry.max_attempts"].default)
		assert.is_true(SCHEMA.definitions["workflow.errexit"].default)
		assert.equal("2s", SCHEMA.definitions["process.grace"].default)
		assert.truthy(SCHEMA.definitions["process.timeout"].description:find("500ms", 1, true))
	end)

	it("accepts every workflow of the examples and the pages that check accepts", function()
		local list = assert(io.popen(("cd '%s' && find docs examples -name '*.yaml' -o -name '*.md'"):format(ROOT == "" and "." or ROOT)))
		local seen = 0
		local function try(text, path)
			local root = yaml.parse(text)
			if root and root.kind == "map" and root.keys and (root.keys.commands or root.keys.steps) and file.parse(text, path) then
				seen = seen + 1
				local value = json.decode(assert(json.encode(yaml.value(root))))
				assert.same({}, json_schema.problems(SCHEMA, value), path)
			end
		end
		for path in list:lines() do
			local handle = assert(io.open(ROOT .. path, "rb"))
			local text = handle:read "a"
			handle:close()
			if path:find "%.md$" then
				for block in text:gmatch "\n```yaml\n(.-\n)```" do
					try(block, path)
				end
			else
				try(text, path)
			end
		end
		list:close()
		assert.is_true(seen >= 20, tostring(seen))
	end)

	it("is what docs/schema/workflow.json publishes", function()
		local handle = assert(io.open(ROOT .. "docs/schema/workflow.json", "rb"))
		local published = handle:read "a"
		handle:close()
		assert.is_true(published == layout.json(schema.schema()) .. "\n", "docs/schema/workflow.json is out of date: run make docs")
	end)
end)
