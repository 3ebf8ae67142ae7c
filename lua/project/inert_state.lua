-- inert_state: what a Lua file declares, as bytes, without doing what it says. Runs alone in a state of its own
-- (src/worker/inert.c): no io, os or debug, no C module, no bytecode. The modules of runner are stubs, those of the
-- project load in the same way. lua/project/inert.lua reads the bytes. It trusts no library after the file has run.

local text, name, paths, source = ...

local error, load, next, pcall, rawequal, rawget, select, setmetatable, tostring, type =
	error, load, next, pcall, rawequal, rawget, select, setmetatable, tostring, type
local find, gmatch, gsub, pack, sub, concat = string.find, string.gmatch, string.gsub, string.pack, string.sub, table.concat
local math_type, globals = math.type, _G

local MAX_DEPTH = 100
local MARK = "\0what a module of runner gives\0"

-- --- stubs --------------------------------------------------------------------------------------

-- What any module of runner is here, and whatever comes of it.
local STUB, stub = {}, {}

local depends -- the reason, once the file has asked a stub for what isn't known

local function asked()
	depends = "what it declares depends on what a module gives that is not loaded for that"
	error(depends, 0)
end

for event in gmatch("add sub mul div mod pow unm idiv band bor bxor bnot shl shr concat call", "%a+") do
	stub["__" .. event] = function()
		return STUB
	end
end
for event in gmatch("eq lt le len pairs", "%a+") do
	stub["__" .. event] = asked
end

function stub.__index(_, key)
	return type(key) ~= "number" and STUB or asked()
end

function stub.__newindex() end

function stub.__tostring()
	return MARK
end

setmetatable(STUB, stub)

local refusals = setmetatable({}, { __mode = "k" }) -- functions and tables that stand for what isn't here

local STREAMS = { stdin = true, stdout = true, stderr = true }

-- It may be looked up, and kept in a local; who calls it ends the reading.
local function refused(what)
	local function f()
		error(("it calls %s while it loads"):format(what), 0)
	end
	refusals[f] = true
	return f
end

local function refused_library(what)
	local made = {}
	refusals[made] = true
	return setmetatable(made, { __index = function(_, key)
		local full = what .. "." .. tostring(key)
		return STREAMS[key] and refused_library(full) or refused(full)
	end, __newindex = function() end })
end

-- --- require ------------------------------------------------------------------------------------

local OURS = { fs = true, json = true, cjson = true, ["cjson.safe"] = true, yaml = true }

local path, cpath = string.match(paths, "^([^\n]*)\n(.*)$")
local package = { path = path, cpath = cpath, loaded = { _G = globals }, preload = {}, config = "/\n;\n?\n!\n-\n",
	loadlib = refused "package.loadlib", searchpath = refused "package.searchpath", searchers = {} }

local function run_text(code, file, ...)
	local chunk, message = load(gsub(gsub(code, "^\xEF\xBB\xBF", ""), "^#[^\n]*", "") .. "", "@" .. file, "t", globals)
	if not chunk then
		error(message, 0)
	end
	return chunk(...)
end

-- The text of the first file that there is, and its path; one that can't be loaded is an error.
local function file_of(module, templates)
	local part = gsub(gsub(module, "%%", "%%%%"), "%.", "/")
	for template in gmatch(templates, "[^;]+") do
		local file = gsub(template, "?", part)
		local code, why, errno = source(file)
		if errno ~= "ENOENT" then
			return code, file, why
		end
	end
end

local function load_module(module)
	local code, file, why = file_of(module, package.path)
	if code then
		return run_text(code, file, module, file)
	elseif file then
		error(("can't load %s: %s"):format(file, why), 0)
	elseif select(2, file_of(module, package.cpath)) then
		return STUB -- a C module
	end
	error(("it needs the module '%s', which isn't found"):format(module), 0)
end

local function require(module)
	if type(module) ~= "string" then
		error("require takes the name of a module", 0)
	end
	local loaded = package.loaded
	if loaded[module] ~= nil then
		return loaded[module]
	end
	local value
	if sub(module, 1, 7) == "runner." or OURS[module] then
		value = STUB
	elseif package.preload[module] then
		value = package.preload[module](module, ":preload:")
	else
		value = load_module(module)
	end
	if value ~= nil then
		loaded[module] = value
	elseif loaded[module] == nil then
		loaded[module] = true
	end
	return loaded[module]
end

-- --- what a file finds ------------------------------------------------------------------------------

for library in gmatch("io os debug", "%a+") do
	globals[library] = refused_library(library)
	package.loaded[library] = globals[library]
end
for library in gmatch("coroutine math string table utf8", "%a+") do
	package.loaded[library] = globals[library]
end
globals.dofile, globals.loadfile, globals.require, globals.package = refused "dofile", refused "loadfile", require, package
globals.string.dump = refused "string.dump"

function globals.load(chunk, chunk_name, _, ...)
	if select("#", ...) > 0 then
		return load(chunk, chunk_name, "t", (...))
	end
	return load(chunk, chunk_name, "t")
end

function globals.next(t, key)
	return next(rawequal(t, STUB) and asked() or t, key)
end

function globals.print() end

function globals.warn() end

function globals.collectgarbage()
	return 0
end

-- --- the value as bytes -------------------------------------------------------------------------------

local function number(v)
	if math_type(v) == "integer" then
		return pack("<c1j", "i", v)
	end
	return pack("<c1n", "n", v)
end

local write

local function write_table(v, out, seen, depth)
	if rawequal(v, STUB) then
		out[#out + 1] = "X"
	elseif refusals[v] then
		out[#out + 1] = "F"
	elseif seen[v] then
		out[#out + 1] = pack("<c1I4", "r", seen[v])
	else
		seen.count = seen.count + 1
		seen[v] = seen.count
		out[#out + 1] = "{"
		for key, value in next, v do
			write(key, out, seen, depth + 1)
			write(value, out, seen, depth + 1)
		end
		out[#out + 1] = "}"
	end
end

function write(v, out, seen, depth)
	local kind = type(v)
	if depth > MAX_DEPTH then
		error("its tables are nested too deeply", 0)
	elseif kind == "table" then
		write_table(v, out, seen, depth)
	elseif kind == "string" then
		out[#out + 1] = find(v, MARK, 1, true) and "X" or pack("<c1s4", "s", v)
	elseif kind == "number" then
		out[#out + 1] = number(v)
	elseif kind == "boolean" then
		out[#out + 1] = v and "t" or "f"
	else
		out[#out + 1] = kind == "nil" and "z" or "F"
	end
end

local function message_of(raised)
	if type(raised) == "table" and not rawequal(raised, STUB) then
		raised = rawget(raised, "message")
	end
	return type(raised) == "string" and raised or "it raises an error while it loads"
end

local function read()
	local value, out = run_text(text, name), { "V" }
	if depends then -- though the file has caught the error
		error(depends, 0)
	end
	write(value, out, { count = 0 }, 0)
	return concat(out)
end

local ok, result = pcall(read)
return ok and result or "E" .. (depends or message_of(result))
