-- parser: YAML text → nodes that know their line and column. Over the event parser
-- of Debian's lua-yaml (libyaml), which is loaded on first use. Values are YAML
-- 1.2's. It limits size, depth, and the expansion of aliases. It knows nothing of
-- workflows.

local compose = require("runner.core.yaml.compose").compose
local errors = require "runner.core.errors"

local M = {}

local MAX_BYTES = 4 << 20

---@class runner.yaml.Problem
---@field line integer
---@field column integer in characters
---@field message string

---@class runner.yaml.Node
---@field kind "map"|"list"|"text"|"integer"|"number"|"boolean"|"null"
---@field line integer
---@field column integer in characters
---@field size integer nodes in it, itself included
---@field height integer levels below it
---@field entries? runner.yaml.Entry[] of a map, as written; merged ones last
---@field keys? table<string, runner.yaml.Entry> of a map
---@field items? runner.yaml.Node[] of a list
---@field text? string of a scalar, whatever it means: as written, without quotes
---@field value? any of a scalar; nil for null
---@field style? "PLAIN"|"SINGLE_QUOTED"|"DOUBLE_QUOTED"|"LITERAL"|"FOLDED"
---@field exact? boolean does its text stand in one line as it is?

---@class runner.yaml.Entry
---@field key string
---@field line integer of the key
---@field column integer of the key
---@field node runner.yaml.Node the value
---@field merged? boolean << brought it

-- --- the binding ---------------------------------------------------------------------------

local loaded

-- What is linked, else only the C module, and only from an absolute path: a script's package.path and a
-- yaml.so in the working directory don't count.
local function open()
	local linked = require "runner.yaml_events"
	if linked then
		return linked
	end
	local folders = {}
	for template in package.cpath:gmatch("[^;]+") do
		folders[#folders + 1] = template:sub(1, 1) == "/" and template or nil
	end
	local path = package.searchpath("yaml", table.concat(folders, ";"))
	local init = path and require("runner.host").loadlib(path, "luaopen_yaml")
	if not init then
		errors.raise("PRECONDITION", "YAML needs the Lua module 'yaml', which is not installed", {
			suggestion = "apt-get install lua-yaml", fix_required = "Install lua-yaml for Lua 5.4",
		})
	end
	return init()
end

-- --- the module ------------------------------------------------------------------------

-- The problem that stopped the parser; anything else is raised again.
local function fatal_problem(raised, text)
	local problem = type(raised) == "table" and raised.yaml or require("runner.core.yaml.messages").explain(raised, text)
	if not problem then
		error(raised, 0)
	end
	return problem
end

---Read one document. If the text can't be parsed to its end, there is no node;
---otherwise the problems are those that didn't stop the parser.
---@param text string
---@return runner.yaml.Node? root, runner.yaml.Problem[] problems
function M.parse(text)
	if #text > MAX_BYTES then
		return nil, { { line = 1, column = 1, message = "the text is larger than 4 MiB, the limit" } }
	end
	local bad = require("runner.core.yaml.messages").bytes(text)
	if bad then
		return nil, { bad }
	end
	loaded = loaded or open()
	local problems = {}
	local ok, root = pcall(compose, loaded.parser(text), problems, text)
	if not ok then
		problems[#problems + 1] = fatal_problem(root, text)
		return nil, problems
	end
	return root, problems
end

---The version of lua-yaml, such as "6.2.8".
---@return string
function M.version()
	loaded = loaded or open()
	return loaded.version:match "[%d.]+$" or loaded.version
end

---A new emitter of libyaml: its function `emit` takes events; that of the end returns true and the text.
---@return { emit: fun(event: table): boolean, string? }
function M.emitter()
	loaded = loaded or open()
	return loaded.emitter()
end

---The Lua value of a node: lists marked as JSON arrays, null as json.null.
---@param node runner.yaml.Node
---@return any
function M.value(node)
	local json, out = require "runner.json", {}
	if node.kind == "null" then
		return json.null
	elseif node.kind == "list" then
		for i, item in ipairs(node.items) do
			out[i] = M.value(item)
		end
		return json.array(out)
	elseif node.kind == "map" then
		for _, entry in ipairs(node.entries) do
			out[entry.key] = M.value(entry.node)
		end
		return out
	end
	return node.value
end

---The lines of a text, for yaml.place.
---@param text string
---@return string[]
function M.lines(text)
	local out = {}
	for line in (text .. "\n"):gmatch("([^\n]*)\n") do
		out[#out + 1] = line
	end
	return out
end

-- A literal block is indented as its first line that is not blank.
local function literal_place(node, offset, lines)
	local before = node.text:sub(1, offset - 1)
	local _, newlines = before:gsub("\n", "")
	local first = node.line + 1
	while lines[first] and not lines[first]:find("%S") do
		first = first + 1
	end
	local indent = lines[first] and #lines[first]:match("^ *") or 0
	return node.line + 1 + newlines, indent + utf8.len(before:match("[^\n]*$")) + 1
end

---Where byte `offset` (from 1) of a scalar's text is in the source; where the scalar
---starts when lines were folded or escapes read, so that nobody can tell.
---@param node runner.yaml.Node
---@param offset integer
---@param lines string[] of the source
---@return integer line, integer column
function M.place(node, offset, lines)
	if node.style == "LITERAL" then
		return literal_place(node, offset, lines)
	elseif not node.exact then
		return node.line, node.column
	end
	local quote = node.style == "PLAIN" and 0 or 1
	return node.line, node.column + quote + (utf8.len(node.text, 1, offset - 1) or 0)
end

return M
