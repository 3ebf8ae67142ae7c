-- attachments: the files of an answer (ctx:attach) as blocks of a result: embedded where they have room, else as links to
-- resources, which are read in parts as long as the files are kept.

local encoding = require "runner.core.encoding"
local fs = require "runner.fs"
local media = require "runner.core.media"
local own_state = require "runner.core.own_state"
local tables = require "runner.core.tables"
local visible = require "runner.core.visible"

local M = {}

M.URI = "runner://answers/"
local COUNT_MAX, KNOWN_MAX = 16, 1024

-- What models and clients show; any other image or sound is a resource.
local SHOWN = tables.set "image/png image/jpeg image/gif image/webp"

local types, known = {}, 0 ---@type table<string, string> what commands have said that the files are

local function remember(name, kind)
	if known >= KNOWN_MAX then
		types, known = {}, 0
	end
	known = known + (types[name] and 0 or 1)
	types[name] = kind
end

---Name the resource of each file in an answer's meta.
---@param list any meta.attachments
---@return table[] list
function M.named(list)
	local out = {}
	for i, one in ipairs(list) do
		local name = type(one.path) == "string" and one.path:match "[^/]+$" or nil
		out[i] = tables.add({ uri = name and M.URI .. name or nil }, one)
		if name then
			remember(name, one.mime_type)
		end
	end
	return out
end

local function link_of(one)
	return { type = "resource_link", uri = one.uri, name = one.name, mimeType = one.mime_type, size = one.bytes }
end

local function size(value)
	return #visible.encode(value)
end

---The links of an answer's files, and the bytes that they take.
---@param content? table the answer
---@return table[] links
---@return integer bytes
function M.links(content)
	local meta = content and content.meta
	local list, bytes = {}, 0
	for _, one in ipairs(type(meta) == "table" and type(meta.attachments) == "table" and meta.attachments or {}) do
		if one.uri and #list < COUNT_MAX and own_state.kept_answer(one.uri:match "[^/]+$") then
			list[#list + 1] = link_of(one)
			bytes = bytes + size(list[#list]) + 1
		end
	end
	return list, bytes
end

---Why an answer's files aren't all here; nil: they are.
---@param content table the answer
---@return string?
function M.missing(content)
	for _, one in ipairs(content.meta.attachments or {}) do
		if not one.uri then
			return ("The attachment %s can't be kept: %s"):format(one.name, one.not_kept or "it has no path")
		elseif not own_state.kept_answer(one.uri:match "[^/]+$") then
			return ("The attachment %s is not here any more"):format(one.name)
		end
	end
end

-- A block that holds the bytes; nil: they are no longer there.
local function embedded(link)
	local bytes = fs.read(own_state.kept_answer(link.uri:match "[^/]+$") or "")
	local kind = link.mimeType
	if not bytes then
		return nil
	elseif SHOWN[kind] or kind:find "^audio/" then
		return { type = kind:match "^%a+", mimeType = kind, data = encoding.base64(bytes) }
	end
	local resource = { uri = link.uri, mimeType = kind }
	resource[media.is_text(bytes) and "text" or "blob"] = media.is_text(bytes) and bytes or encoding.base64(bytes)
	return { type = "resource", resource = resource }
end

---The files of an answer as blocks, in their order: the first ones that have room are embedded.
---@param links table[]
---@param room integer bytes for all blocks
---@return table[]
function M.blocks(links, room)
	local out = {}
	for _, link in ipairs(links) do
		room = room - size(link) - 1
	end
	for i, link in ipairs(links) do
		local more = link.size <= room + size(link) and embedded(link)
		local bytes = more and size(more) - size(link)
		out[i] = bytes and bytes <= room and more or link
		room = out[i] == more and room - bytes or room
	end
	return out
end

---What is kept under a name.
---@param uri string
---@return string? bytes nil: it is gone
---@return string? kind
function M.read(uri)
	local name = uri:sub(1, #M.URI) == M.URI and uri:sub(#M.URI + 1) or ""
	local path = own_state.kept_answer(name)
	local bytes = path and fs.read(path)
	return bytes, bytes and (types[name] or media.of(name, bytes))
end

return M
