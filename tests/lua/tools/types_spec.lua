-- The annotations for editors are complete: what a script may use, and what a
-- declaration may say, is in them.

local annotations = require "runner.tools.annotations"
local layout = require "runner.output.layout"

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")

local function source(path)
	local f = assert(io.open(ROOT .. path))
	local text = f:read("a")
	f:close()
	return text
end

-- The fields of a class, with those of the classes it builds on.
local function fields_of(class)
	local block = (annotations.files.runner .. "\n"):match("%-%-%-@class " .. class:gsub("%.", "%%.") .. "%f[^%w](.-)\n\n")
	assert(block, "no class " .. class)
	local fields = {}
	for name in block:gmatch("%-%-%-@field (%w[%w_]*)") do
		fields[name] = true
	end
	local base = block:match("^ : (runner%.%w+)")
	for name in pairs(base and fields_of(base) or {}) do
		fields[name] = true
	end
	return fields
end

local function keys_of(rules)
	local keys = {}
	for key, rule in pairs(rules) do
		if type(key) == "string" and type(rule) ~= "string" then
			keys[key] = true
		end
	end
	return keys
end

describe("the annotations", function()
	it("are Lua files", function()
		for name, text in pairs(annotations.files) do
			assert.truthy(load(text, "=" .. name), name)
			assert.truthy(text:find("^%-%-%-@meta"), name)
		end
	end)

	it("have every key of a declaration and no other", function()
		local command = require "runner.declare.command"
		local classes = {
			["runner.Command"] = command.rules.command, ["runner.Limits"] = require("runner.declare.throttle").rules,
			["runner.Example"] = command.rules.example, ["runner.Arg"] = require("runner.declare.arguments").rules,
			["runner.ExitCode"] = require("runner.declare.codes").rules, ["runner.Retry"] = require("runner.declare.policy").keys,
			["runner.Project"] = require("runner.project.project").keys,
		}
		for class, rules in pairs(classes) do
			local known = keys_of(rules)
			for _, key in ipairs(class == "runner.Command" and require("runner.declare.contract").keys() or {}) do
				known[key] = true
			end
			for key in pairs(class == "runner.Arg" and require("runner.declare.rare_arguments").rules or {}) do
				known[key] = true
			end
			assert.same(known, fields_of(class), class)
		end
	end)

	it("have every method and field of ctx", function()
		local text, fields = source "lua/ctx/methods.lua", fields_of "runner.Context"
		local methods = 0
		local function check(name)
			methods = methods + 1
			assert.truthy(annotations.files.runner:find("function Context:" .. name .. "(", 1, true), "ctx:" .. name)
		end
		for name in text:gmatch("function Context:(%a[%w_]*)") do
			check(name)
		end
		for name in text:match("LAZY = (%b{})"):gmatch("([%w_]+) = ") do
			check(name)
		end
		assert.is_true(methods >= 17)
		for name in text:gmatch("function FIELDS%.([%w_]+)") do
			assert.is_true(fields[name], "ctx." .. name)
		end
		for name in source("lua/ctx/context.lua"):match("setmetatable%((%b{})"):gmatch("%s(%a[%w_]*) = ") do
			assert.is_true(fields[name], "ctx." .. name)
		end
	end)

	it("have every method of the handles", function()
		for path, class in pairs { ["lua/ctx/spawn.lua"] = "Process", ["lua/ctx/lock.lua"] = "Lock" } do
			for name in source(path):gmatch("function " .. class .. ":([%w_]+)") do
				assert.truthy(annotations.files.runner:find(("function %s:%s("):format(class, name), 1, true), class .. ":" .. name)
			end
		end
	end)

	it("have every key of ctx:run, ctx:spawn and ctx:pipeline and no other", function()
		local specs = require "runner.ctx.process_spec"
		local asked = {
			RunSpec = { "run", { "ls", nokey = 1 } }, SpawnSpec = { "spawn", { "ls", nokey = 1 } },
			DelegateSpec = { "delegate", { "ls", nokey = 1 } },
			PipelineSpec = { "pipeline", { nokey = 1 } }, StageSpec = { "pipeline", { { "ls", nokey = 1 }, { "wc" } } },
		}
		for class, case in pairs(asked) do
			local _, message = pcall(case[1] == "pipeline" and specs.pipeline or function(...)
				return specs.command(case[1], ...)
			end, nil, case[2])
			local known = {}
			for name in message.message:match("the keys are (.*)"):gmatch("[%w_]+") do
				known[name] = true
			end
			assert.same(known, fields_of("runner." .. class), class)
		end
	end)

	it("have every key of ctx:http, ctx:lock, ctx:prompt and retry_on", function()
		local places = {
			RetryOn = { "lua/ctx/process_spec.lua", "local RETRY_ON = (%b{})", "\n\t([%w_]+) = " },
			HttpSpec = { "lua/ctx/http_request.lua", "local KINDS = (%b{})", "\n\t([%w_]+) = " },
			LockOptions = { "lua/ctx/lock.lua", "local KNOWN = (%b{})", "([%w_]+) = " },
			PromptOptions = { "lua/ctx/interaction.lua", "local PROMPT = (%b{})", "([%w_]+) = " },
		}
		for class, place in pairs(places) do
			local known = {}
			for name in source(place[1]):match(place[2]):gmatch(place[3]) do
				known[name] = true
			end
			assert.same(known, fields_of("runner." .. class), class)
		end
	end)

	it("have every field of an error that ctx:fail takes", function()
		local failure = fields_of "runner.Error"
		for name in source("lua/core/errors.lua"):match("local FIELDS = (%b{})"):gmatch("\n\t([%w_]+) = ") do
			assert.is_true(failure[name], name)
		end
	end)

	it("have every function of the modules json and fs", function()
		for _, name in ipairs { "json", "fs" } do
			for key, v in pairs(require(name)) do
				local wanted = type(v) == "function" and ("function %s.%s("):format(name, key) or "---@field " .. key
				assert.truthy(annotations.files[name]:find(wanted, 1, true), name .. "." .. key)
			end
		end
	end)

	it("have every function of the library, of fs's Lua half too", function()
		for _, name in ipairs { "codec", "hash", "path", "text", "time", "toml", "yaml" } do
			for key in pairs(require("runner.library." .. name)) do
				assert.truthy(annotations.files["runner/" .. name]:find(("function %s.%s("):format(name, key), 1, true), name .. "." .. key)
			end
		end
		for key in pairs(require "runner.library.files") do
			assert.truthy(annotations.files.fs:find(("function fs.%s("):format(key), 1, true), "fs." .. key)
			assert.is_function(require("runner.ctx.fs")[key])
		end
	end)

	it("have every function of ctx.fs", function()
		for key in pairs(require "runner.ctx.fs") do
			assert.truthy(annotations.files.runner:find(("function Fs.%s("):format(key), 1, true), "ctx.fs." .. key)
		end
		assert.is_function(require("runner.ctx.fs").write)
	end)
end)

-- The functions that an annotation file has of a class.
local function functions_of(name, class)
	local out = {}
	for found in annotations.files[name]:gmatch("\nfunction " .. class .. "[.:]([%w_]+)%(") do
		out[#out + 1] = found
	end
	assert(out[1], name .. " has no function of " .. class)
	return out
end

describe("the annotations name nothing that there is not", function()
	it("in the modules of the library, json, fs and ctx.fs", function()
		for _, name in ipairs { "codec", "hash", "path", "text", "time", "toml", "yaml" } do
			local module = require("runner.library." .. name)
			for _, found in ipairs(functions_of("runner/" .. name, name)) do
				assert.is_function(module[found], name .. "." .. found)
			end
		end
		local files = require "runner.library.files"
		for _, name in ipairs { "json", "fs" } do
			for _, found in ipairs(functions_of(name, name)) do
				assert.is_function(require(name)[found] or name == "fs" and files[found], name .. "." .. found)
			end
		end
		for _, found in ipairs(functions_of("runner", "Fs")) do
			assert.is_function(require("runner.ctx.fs")[found], "ctx.fs." .. found)
		end
	end)

	it("in ctx and the handles that it gives", function()
		local text, methods, fields = source "lua/ctx/methods.lua", {}, {}
		for name in text:gmatch "function Context:(%a[%w_]*)" do methods[name] = true end
		for name in text:match("LAZY = (%b{})"):gmatch "([%w_]+) = " do methods[name] = true end
		for name in text:gmatch "function FIELDS%.([%w_]+)" do fields[name] = true end
		for name in source("lua/ctx/context.lua"):match("setmetatable%((%b{})"):gmatch "%s(%a[%w_]*) = " do fields[name] = true end
		for _, found in ipairs(functions_of("runner", "Context")) do
			assert.is_true(methods[found], "ctx:" .. found)
		end
		for found in pairs(fields_of "runner.Context") do
			assert.is_true(fields[found], "ctx." .. found)
		end
		for path, class in pairs { ["lua/ctx/spawn.lua"] = "Process", ["lua/ctx/lock.lua"] = "Lock" } do
			for _, found in ipairs(functions_of("runner", class)) do
				assert.truthy(source(path):find(("function %s:%s("):format(class, found), 1, true), class .. ":" .. found)
			end
		end
	end)

	it("as a type: every class that one of them speaks of is declared", function()
		local known, spoken = {}, 0
		for _, text in pairs(annotations.files) do
			for _, tag in ipairs { "class", "alias" } do
				for name in text:gmatch("%-%-%-@" .. tag .. " ([%w_.]+)") do
					known[name] = true
				end
			end
		end
		for file, text in pairs(annotations.files) do
			for line in text:gmatch "%-%-%-@%l+ [^\n]+" do
				for name in line:gsub('%b""', ""):gmatch "%f[%w_.]%l+%.%u%w*[%w.]*" do
					spoken = spoken + 1
					assert.is_true(known[(name:gsub("%.$", ""))], ("%s: %s: %s"):format(file, name, line))
				end
			end
		end
		assert.is_true(spoken > 100)
	end)

	it("as a parameter: @param names what the function takes, in its order", function()
		for file, text in pairs(annotations.files) do
			local params = {}
			for line in text:gmatch "[^\n]*" do
				params[#params + 1] = line:match "^%-%-%-@param ([%w_.]+)"
				local taken = line:match "^function [%w_.:]+%((.*)%)"
				if taken then
					assert.equal(taken, table.concat(params, ", "), file .. ": " .. line)
				end
				params = line:find "^%-%-%-" and params or {}
			end
		end
	end)
end)

describe("pretty", function()
	local json = require "json"

	it("indents, sorts keys and keeps [], {} and large integers", function()
		local value = assert(json.decode '{"b":[1,{"x":null}],"a":{},"c":[],"n":9007199254740993}')
		assert.equal([[
{
  "a": {},
  "b": [
    1,
    {
      "x": null
    }
  ],
  "c": [],
  "n": 9007199254740993
}]], layout.json(value))
	end)

	it("writes what reads back the same", function()
		local text = '{"a":[[],{},"\\"",1.5,true]}'
		assert.equal(text, json.encode(json.decode(layout.json(json.decode(text)))))
	end)
end)
