-- parser: YAML text → nodes that know their line and column. Over the event parser
-- of Debian's lua-yaml (libyaml), which is loaded on first use. Values are YAML
-- 1.2's. It limits size, depth, and the expansion of aliases. It knows nothing of
-- workflows.

local errors = require "runner.core.errors"
local messages = require "runner.core.yaml.messages"
local scalar = require "runner.core.yaml.scalar"

local M = {}

-- The events of libyaml → nodes. It limits depth and the expansion of aliases, merges <<, and reports duplicate keys.
-- What a scalar means is lua/core/yaml/scalar.lua's.

local MAX_DEPTH = 64
local MAX_REPEATED = 100000 -- nodes that aliases stand for, all together

local Composer = {}
Composer.__index = Composer

local function place(event)
	local mark = event.start_mark
	return mark.line + 1, mark.column + 1
end

-- Parsing can't continue.
local function refuse(event, message, ...)
	local line, column = place(event)
	error({ yaml = { line = line, column = column, message = message:format(...) } }, 0)
end

-- Parsing continues.
function Composer:report(at, message, ...)
	self.problems[#self.problems + 1] = { line = at.line, column = at.column, message = message:format(...) }
end

local function new_node(event, kind)
	local line, column = place(event)
	return { kind = kind, line = line, column = column, size = 1, height = 0 }
end

-- A child's size and height count for its parent, however often it is repeated.
local function count(node, child)
	node.size = node.size + child.size
	node.height = math.max(node.height, child.height + 1)
end

-- Called for every scalar: what follows a NUL would be lost silently.
function Composer:refuse_nul(event)
	if self.escapes and event.style == "DOUBLE_QUOTED" and messages.holds_nul(self.escapes, event) then
		local line, column = place(event)
		self:report({ line = line, column = column }, "an escape for the NUL byte, which no string can contain: remove it")
	end
end

-- Is the text on its line exactly as written, so that an offset in it is a column?
local function is_exact(event)
	local from, to = event.start_mark, event.end_mark
	local quotes = event.style == "PLAIN" and 0 or 2
	return from.line == to.line and to.column - from.column - quotes == utf8.len(event.value)
end

function Composer:scalar(event)
	local node = new_node(event)
	self:refuse_nul(event)
	node.text, node.style, node.exact = event.value, event.style, is_exact(event)
	node.kind, node.value = scalar.resolve(event.value, event.style == "PLAIN", event.tag)
	if not node.kind then
		self:report(node, "tag %s does not match %q: remove it", event.tag:gsub("^tag:yaml.org,2002:", "!!"), node.text)
		node.kind, node.value = "text", node.text
	end
	return node
end

function Composer:alias(event, depth)
	local name = event.anchor
	local node = self.anchors[name]
	if node == nil then
		refuse(event, "alias *%s: no anchor &%s comes before it", name, name)
	elseif node == false then
		refuse(event, "alias *%s is inside its own anchor", name)
	elseif depth + node.height > MAX_DEPTH then
		refuse(event, "nested more than %d levels deep", MAX_DEPTH)
	end
	self.repeated = self.repeated + node.size
	if self.repeated > MAX_REPEATED then
		refuse(event, "aliases expand to more than %d values", MAX_REPEATED)
	end
	return node
end

function Composer:list(event, depth)
	local node, items = new_node(event, "list"), {}
	node.items = items
	while true do
		local next_event = self.next()
		if next_event.type == "SEQUENCE_END" then
			return node
		end
		local item = self:node(next_event, depth)
		items[#items + 1] = item
		count(node, item)
	end
end

-- Merge the keys of <<; the map's own keys win, then those of earlier merges.
function Composer:merge(node, from, at)
	if from.kind == "list" then
		for _, item in ipairs(from.items) do
			self:merge(node, item, at)
		end
	elseif from.kind ~= "map" then
		self:report(at, "<< merges maps: write <<: *anchor, or a list of such aliases")
	else
		for _, entry in ipairs(from.entries) do
			if not node.keys[entry.key] then
				local copy = { key = entry.key, line = entry.line, column = entry.column, node = entry.node, merged = true }
				node.entries[#node.entries + 1] = copy
				node.keys[entry.key] = copy
			end
		end
	end
end

-- The key itself: any scalar, as written.
function Composer:key(event, depth)
	if event.type == "SCALAR" then
		local line, column = place(event)
		self:refuse_nul(event)
		return { key = event.value, line = line, column = column, merges = event.value == "<<" and event.style == "PLAIN" }
	end
	local node = self:node(event, depth)
	local line, column = place(event)
	if not node.text then
		self:report({ line = line, column = column }, "a key must be a string, not a %s", node.kind)
	end
	return { key = node.text or "", line = line, column = column }
end

function Composer:entry(node, entry, merged)
	local before = node.keys[entry.key]
	if entry.merges then
		entry.merges = nil
		merged[#merged + 1] = entry
	elseif before then
		self:report(entry, "duplicate key '%s': the first is on line %d", entry.key, before.line)
	else
		node.entries[#node.entries + 1] = entry
		node.keys[entry.key] = entry
	end
end

function Composer:map(event, depth)
	local node, merged = new_node(event, "map"), {}
	node.entries, node.keys = {}, {}
	while true do
		local next_event = self.next()
		if next_event.type == "MAPPING_END" then
			break
		end
		local entry = self:key(next_event, depth)
		if next_event.anchor and next_event.type == "SCALAR" then
			self.anchors[next_event.anchor] = self:scalar(next_event)
		end
		entry.node = self:node(self.next(), depth)
		count(node, entry.node)
		self:entry(node, entry, merged)
	end
	for _, entry in ipairs(merged) do
		self:merge(node, entry.node, entry)
	end
	return node
end

local COMPOSE = {
	SCALAR = Composer.scalar, ALIAS = Composer.alias, SEQUENCE_START = Composer.list, MAPPING_START = Composer.map,
}
local PLAIN_TAGS = { ["tag:yaml.org,2002:map"] = "MAPPING_START", ["tag:yaml.org,2002:seq"] = "SEQUENCE_START", ["!"] = true }

function Composer:node(event, depth)
	depth = depth + 1
	if depth > MAX_DEPTH then
		refuse(event, "nested more than %d levels deep", MAX_DEPTH)
	elseif event.tag and event.type ~= "SCALAR" and PLAIN_TAGS[event.tag] ~= event.type and event.tag ~= "!" then
		local line, column = place(event)
		self:report({ line = line, column = column }, "unknown tag %s: remove it", event.tag)
	end
	local anchor = event.type ~= "ALIAS" and event.anchor
	if anchor then
		self.anchors[anchor] = false
	end
	local node = COMPOSE[event.type](self, event, depth)
	if anchor then
		self.anchors[anchor] = node
	end
	return node
end

-- STREAM_START, then at most one document, then STREAM_END.
function Composer:document()
	self.next()
	local event = self.next()
	if event.type == "STREAM_END" then
		return { kind = "null", line = 1, column = 1, size = 1, height = 0, text = "", style = "PLAIN" }
	end
	local root = self:node(self.next(), 0)
	self.next()
	event = self.next()
	if event.type ~= "STREAM_END" then
		refuse(event, "a second document starts here: keep one document per file, and remove this '---'")
	end
	return root
end

---Read the one document of a stream. Raises { yaml = problem } where it can't
---continue; libyaml raises a string.
---@param next_event fun(): table
---@param problems runner.yaml.Problem[] problems that don't stop the parser are added
---@param text string that is read
---@return runner.yaml.Node
local function compose(next_event, problems, text)
	local composer = { next = next_event, anchors = {}, problems = problems, repeated = 0,
		escapes = text:find "\\[0xuU]" and text or nil }
	return setmetatable(composer, Composer):document()
end

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
---starts when lines were folded or escapes read, so that it can't be told.
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
