-- lint: which calls are named, with their line, and which are left alone.

local lint = require "runner.declare.lint"

-- "key:line" of every finding.
local function found(text)
	local list = {}
	lint.look_at_calls(lint.code_of(text), text, function(key, line)
		list[#list + 1] = key .. ":" .. line
	end)
	return list
end

local FS = 'local fs = require "fs"\n'

describe("lint of calls", function()
	it("names a mutating fs function whose result is dropped", function()
		assert.same({ "fs.write:2", "fs.unlink:4" }, found(FS .. [[
fs.write(path, "text")
local ok = fs.mkdir(path)
fs.unlink(path)
if not fs.rename(a, b) then return fs.rmdir(a) end
assert(fs.touch(a))
x = y or fs.fsync(a)
]]))
		assert.same({ "files.unlink:2" }, found 'local files = require("fs")\nif x then files.unlink(path) end')
	end)

	it("leaves queries, ctx.fs and other tables alone", function()
		assert.same({}, found(FS .. 'fs.stat(path)\nctx.fs.write(path, "x")\nmy.fs.write(path)\n-- fs.unlink(x)\nprint "fs.unlink(x)"\n'))
		assert.same({}, found "local fs = {}\nfs.write(path)\n")
	end)

	it("names a pcall whose result is dropped", function()
		assert.same({ "pcall:1", "xpcall:3" }, found "pcall(f)\nlocal ok = pcall(f)\nxpcall(f, g)\nreturn pcall(f)\n")
	end)

	it("names check = false whose result is dropped", function()
		assert.same({ "ctx:run:1", "ctx:pipeline:2", "ctx:http:3" }, found [[
ctx:run { "ls", check = false }
self.ctx:pipeline({ { "ls" }, { "wc" }, check = false })
ctx:http { url = u, check = false }
local r = ctx:run { "ls", check = false }
return ctx:run { "ls", check = false }
]])
	end)

	it("names a test of a failure that was raised before", function()
		assert.same({ "ctx:run:1", "ctx:pipeline:3", "ctx:run:5" }, found [[
local r = ctx:run { "git", "status" }
if not r.ok then return end
local p = ctx:pipeline { { "ls" }, { "wc" } }
if p.status ~= 0 then return end
if ctx:run({ "ls" }).ok then return end
]])
	end)

	it("leaves alone who asks with check = false, for ok_statuses, or for the output", function()
		assert.same({}, found [[
local r = ctx:run { "git", "status", check = false }
if not r.ok then return end
local g = ctx:run { "grep", "x", ok_statuses = { 0, 1 } }
if g.status == 1 then return end
local out = ctx:run { "ls" }
return out.stdout
]])
	end)
end)

describe("lint of arguments", function()
	local function keys_of(args)
		local keys = {}
		for _, p in ipairs(lint.find({ description = "x", hidden = true, args = args }, { path = "x.lua" })) do
			keys[#keys + 1] = p.key
		end
		return keys
	end

	it("names what is called like a secret and says nothing of it", function()
		assert.same({ "args.api-token", "args.db_password" }, keys_of {
			{ "api-token", "string", description = "x" }, { name = "db_password", type = "string", description = "x" },
			{ "token", "string", secret = true, description = "x" }, { "token_file", "path", description = "x" },
			{ "author", "string", description = "x" }, { "max_tokens", "integer", description = "x" },
			{ "secretary", "string", secret = false, description = "x" },
		})
	end)

	it("names a secret that has a default", function()
		assert.same({ "args.key" }, keys_of { { "key", "string", secret = true, default = "abc", description = "x" } })
	end)
end)
