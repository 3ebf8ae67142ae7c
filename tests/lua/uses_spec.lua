-- What a file asks of a module is there: a module that loads on first use would else be found wanting by a user.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local borders = dofile(ROOT .. "tests/lua/lib/borders.lua")

local STATE = { ["runner.core.attempt"] = true, ["runner.core.budget"] = true } -- what it holds comes while a command runs

-- path → text of every file of the library
local function library()
	local out = {}
	local list = assert(io.popen(("cd '%s' && find lua commands -name '*.lua' ! -path 'lua/types/*'"):format(ROOT)))
	for path in list:lines() do
		out[path] = borders.read(ROOT .. path)
	end
	list:close()
	return out
end

-- Every `require "runner.x"` with the field that is asked of it: in the same expression, or in a call of the local that it
-- becomes, where the file has no other of that name. f(path, module, field)
local function each_use(path, text, f)
	for name, field in text:gmatch 'require%s*%(?%s*"(runner%.[%w_.]+)"%s*%)?%s*[.:]([%a_][%w_]*)' do
		f(path, name, field)
	end
	for variable, name in ("\n" .. text):gmatch '\nlocal ([%a_][%w_]*) = require "(runner%.[%w_.]+)"%f[\n]' do
		local word = "%f[%w_]" .. variable .. "%f[^%w_]"
		local others = text:find("local[^\n=]*" .. word .. "[^\n]*\n.*local[^\n=]*" .. word) or text:find("function[^\n(]*%([^\n)]*" .. word)
			or text:find("for [^\n]*" .. word .. "[^\n]* in ")
		for field in text:gmatch("%f[%w_.:'\"]" .. variable .. "%.([%a_][%w_]*)%f[%W]%(") do
			if not others then
				f(path, name, field)
			end
		end
	end
end

describe("what a file asks of a module", function()
	it("is there", function()
		local missing, uses = {}, 0
		for path, text in pairs(library()) do
			each_use(path, text, function(user, name, field)
				local ok, module = pcall(require, name)
				uses = uses + 1
				if ok and not STATE[name] and type(module) == "table" and module[field] == nil then
					missing[#missing + 1] = ("%s: %s of %s"):format(user, field, name)
				end
			end)
		end
		assert.is_true(uses > 1500, uses .. " uses were seen")
		table.sort(missing)
		assert.is_nil(missing[1], table.concat(missing, "\n"))
	end)

	it("would be missed", function()
		local seen = {}
		each_use("f.lua", 'local a = require "runner.a"\nlocal d = require "runner.d"\nlocal b = require "runner.b"\n'
			.. 'a.one(1)\nd.four(4)\nrequire("runner.c").two(b)\nb.three()\n'
			.. 'for _, b in ipairs(x) do end\n', function(_, name, field)
			seen[#seen + 1] = name .. "." .. field
		end)
		assert.same({ "runner.c.two", "runner.a.one", "runner.d.four" }, seen)
	end)
end)
