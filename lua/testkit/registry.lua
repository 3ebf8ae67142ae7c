-- registry: the test files of a project, and the tests that each declares. `require "test"` in a
-- test file is a function, test(name, fn); loading the file only notes them.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local SUFFIX = "_test.lua"
local MAX_DEPTH = 8

---@class runner.TestCase
---@field name string
---@field fn function
---@field line integer

---@class runner.TestFile
---@field path string absolute
---@field shown string as it is named to people, relative to the project
---@field name string without its folder and "_test.lua"
---@field tests runner.TestCase[] in the order of the file
---@field problem? string why it can't be loaded

-- --- which files ------------------------------------------------------------------------------

local function add_folder(dir, out, depth)
	local names = depth <= MAX_DEPTH and fs.list(dir) or {}
	for _, name in ipairs(names) do
		local path = dir .. "/" .. name
		local kind = (fs.lstat(path) or {}).type
		if kind == "directory" and name:sub(1, 1) ~= "." then
			add_folder(path, out, depth + 1)
		elseif kind == "file" and name:sub(-#SUFFIX) == SUFFIX then
			out[#out + 1] = path
		end
	end
end

---The test files below tests/ of a project, sorted.
---@param root string
---@return string[]
function M.find(root)
	local out = {}
	add_folder(root .. "/tests", out, 1)
	table.sort(out)
	return out
end

-- --- what a file declares -----------------------------------------------------------------------

local declaring -- the tests of the file that is being loaded

local function declare(name, fn)
	if not declaring then
		error("test: declare tests while the file loads, not inside of another test", 3)
	elseif type(name) ~= "string" or name == "" or type(fn) ~= "function" then
		error('test: it takes a name and a function: test("greets by name", function(t) … end)', 3)
	end
	for _, other in ipairs(declaring) do
		if other.name == name then
			error(("test: there is another test of the name '%s'"):format(name), 3)
		end
	end
	declaring[#declaring + 1] = { name = name, fn = fn, line = debug.getinfo(3, "l").currentline }
end

local function module()
	return function(name, fn)
		declare(name, fn)
	end
end

-- Each file has globals of its own, on top of those of all; code of lib/ is found as commands find it.
local function environment(root)
	local globals = load "return _G"()
	local lib = root .. "/lib/?.lua;" .. root .. "/lib/?/init.lua;"
	globals.package.preload.test = module
	if globals.package.path:sub(1, #lib) ~= lib then
		globals.package.path = lib .. globals.package.path
	end
	return setmetatable({}, { __index = globals })
end

local function run_chunk(chunk)
	local ok, raised, traceback, cancelled = host.protect(chunk)
	if cancelled then
		error("cancelled", 0)
	elseif not ok then
		return errors.normalise(raised, traceback).message
	end
end

---Load a test file. It is trusted as a command file is (docs/design.md#trusted-files): else it isn't run.
---@param path string absolute
---@param root string of the project
---@return runner.TestFile
function M.load(path, root)
	local shown = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2) or path
	local file = { path = path, shown = shown, name = path:match "([^/]+)$":gsub("_?test%.lua$", ""):gsub("%.lua$", ""), tests = {} }
	local text, why = host.source(path)
	if not text then
		file.problem = ("Can't load it: %s"):format(why)
		return file
	end
	local chunk, message = load(text:gsub("^#[^\n]*", ""), "@" .. path, "t", environment(root))
	declaring = file.tests
	file.problem = chunk and run_chunk(chunk) or message
	declaring = nil
	if not file.problem and not file.tests[1] then
		file.problem = 'It declares no test: write test("name", function(t) … end)'
	end
	return file
end

return M
