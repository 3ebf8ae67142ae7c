-- compose: the events of libyaml → nodes (lua/core/yaml/parser.lua has their shape). It
-- limits depth and the expansion of aliases, merges <<, and reports duplicate keys.
-- What a scalar means is lua/core/yaml/scalar.lua's. Pure.

local scalar = require "runner.core.yaml.scalar"
local messages = require "runner.core.yaml.messages"

local M = {}

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
function M.compose(next_event, problems, text)
	local composer = { next = next_event, anchors = {}, problems = problems, repeated = 0,
		escapes = text:find "\\[0xuU]" and text or nil }
	return setmetatable(composer, Composer):document()
end

return M
