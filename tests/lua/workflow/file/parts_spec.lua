-- Variables with types, files that others run, and last steps, as a file says them.

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local parse, told = help.parse, help.told

local STEP = "commands: [{ shell: a }]\n"

describe("a variable", function()
	it("has a type where its map is a declaration, and is a map where it isn't", function()
		local workflow = parse("vars:\n  n: { type: integer, min: 1, default: 2 }\n  m: { type: postgres, port: 1 }\n" .. STEP)
		assert.equal(2, workflow.vars.n)
		assert.equal("integer", workflow.typed.n.type)
		assert.same({ type = "postgres", port = 1 }, workflow.vars.m)
		assert.is_nil(workflow.typed.m)
	end)

	it("is required where it has no default, and false is one", function()
		local workflow = parse("vars: { a: { type: boolean, default: false }, b: { type: boolean } }\n" .. STEP)
		assert.is_false(workflow.vars.a)
		assert.same({ "b" }, workflow.required)
	end)

	it("is told of as an argument of a command is", function()
		for declaration, expected in pairs {
			["{ type: integer, min: 3, max: 2 }"] = "vars.x.min is greater than the maximum, 2",
			["{ type: string, min: 1 }"] = "vars.x.min does not apply to type 'string'",
			["{ type: enum, values: [1, 2] }"] = "vars.x.values is",
			["{ type: array }"] = "vars.x.items is missing",
			["{ type: integer, default: 1.5 }"] = "vars.x.default is 1.5",
			["{ type: string, pattern: 'a(' }"] = "vars.x.pattern",
			["{ type: string, positional: true }"] = "unknown key 'vars.x.positional'",
			["{ type: string, default: '${steps.a.output}' }"] = "only ${env.NAME} has a value in vars",
		} do
			local text = told("vars: { x: " .. declaration .. " }\n" .. STEP)
			assert.truthy(text:find(expected, 1, true), text)
		end
	end)

	it("may have any name that a variable may have, of a flag too", function()
		assert.equal("string", parse("vars: { timeout: { type: string }, Big: { type: string, default: a } }\n" .. STEP).typed.timeout.type)
	end)
end)

describe("last steps", function()
	it("are a block behind the steps, with keys of their own", function()
		local workflow = parse(STEP .. "finally: { shell: b, id: x }\n")
		assert.equal(2, #workflow.all)
		assert.equal("finally", workflow.finally.key)
		assert.equal("finally.x", workflow.finally.steps[1].key)
		assert.equal(1, #workflow.steps)
	end)

	it("alone know how the run has ended", function()
		assert.truthy(told("commands: [{ shell: 'echo ${run.code}' }]\n"):find("unknown field 'code'", 1, true))
		assert.truthy(parse(STEP .. "finally: [{ shell: 'echo ${run.code} ${run.state} ${run.error}' }]\n"))
	end)
end)

describe("a name", function()
	it("is the label of its step, on one line", function()
		assert.equal("Do it", parse("commands: [{ shell: a, name: \"Do it\\nnow\" }]\n").steps[1].label)
	end)
end)
