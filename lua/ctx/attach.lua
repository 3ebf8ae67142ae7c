-- attach: ctx:attach: an image, a report or any other file beside the result. The supervisor keeps it once the answer is a
-- success, so that nothing stays of an attempt that fails. Loaded on first use.

local attached = require "runner.core.attached"
local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.ctx.fs"
local host = require "runner.host"
local media = require "runner.core.media"
local misuse = require "runner.ctx.misuse"
local own_state = require "runner.core.own_state"
local visible = require "runner.core.visible"

local M = {}

local COUNT_MAX, BYTES_MAX, NAME_MAX = 16, 16 << 20, 128 -- as src/supervisor/attached.h has them
local KEYS = { "data", "mime_type", "name", "path" }
local TYPE = "^[%w!#$&^_.+-]+/[%w!#$&^_.+-]+$"

local sizes, count, bytes = {}, 0, 0 -- of this attempt, by name

local function misused(message, ...)
	misuse.raise("ctx:attach", message:format(...), 'Write ctx:attach{ path = "chart.png" }, or { name = "notes.txt", data = text }')
end

local function check_keys(spec)
	if type(spec) ~= "table" then
		misused("it needs a path or a table, not %s", misuse.shown(spec))
	end
	local known = require("runner.core.tables").set(table.concat(KEYS, " "))
	for key, v in next, spec do
		if not known[key] then
			misuse.unknown("ctx:attach", key, KEYS)
		elseif type(v) ~= "string" then
			misused("%s must be a string, not %s", key, misuse.shown(v))
		end
	end
	if (spec.path == nil) == (spec.data == nil) then
		misused("it needs one of path and data")
	end
end

local function too_large(name)
	errors.raise("OUTPUT_TOO_LARGE", ("'%s' can't be attached: an answer has at most %d files of %d MiB in all"):format(name, COUNT_MAX,
		BYTES_MAX >> 20), { suggestion = "Attach less, or leave the file where it is and return its path" })
end

-- What would wait for a writer, or never ends, is no file.
local function content(spec, name)
	if spec.data then
		return spec.data
	end
	local about = fs.stat(spec.path)
	if about.type ~= "file" then
		misused("'%s' is no regular file", spec.path)
	elseif about.size > BYTES_MAX then
		too_large(name)
	end
	return fs.read(spec.path, BYTES_MAX)
end

-- The texts of what leaves the run have *** for secrets; bytes that aren't text can't.
local function masked(name, data)
	local text = attempt.mask and attempt.mask(data) or data
	if text ~= data and not media.is_text(data) then
		misused("'%s' has the value of a secret, and is no text in which *** could stand for it", name)
	end
	return text
end

---What is to be attached, checked.
---@param spec string|runner.AttachSpec
---@return {name: string, mime_type: string, data: string}
function M.checked(spec)
	spec = type(spec) == "string" and { path = spec } or spec
	check_keys(spec)
	local name = spec.name or spec.path and spec.path:match "[^/]+$" or "attachment"
	if name == "" or #name > NAME_MAX or not utf8.len(name) or name:find "[/%c]" or visible.text(name) ~= name then
		misused("a name is a file's, of at most %d bytes, not %s", NAME_MAX, misuse.shown(name))
	elseif spec.mime_type and (#spec.mime_type >= NAME_MAX or not spec.mime_type:find(TYPE)) then
		misused('mime_type is a type such as "image/png", not %s', misuse.shown(spec.mime_type))
	elseif attempt.raw then
		misused "the command's stdout is another program's, so there is no answer to attach it to"
	end
	local data = masked(name, content(spec, name))
	return { name = name, mime_type = spec.mime_type or media.of(name, data), data = data }
end

---Attach a file to the answer.
---@param _ runner.Context
---@param spec string|runner.AttachSpec
---@return {name: string, mime_type: string, bytes: integer}
function M.attach(_, spec)
	local one = M.checked(spec)
	local before = sizes[one.name]
	if not before and count == COUNT_MAX or bytes - (before or 0) + #one.data > BYTES_MAX then
		too_large(one.name)
	end
	local at = before and 1 or count + 1
	while before and attached.list[at].name ~= one.name do
		at = at + 1
	end
	attached.list[at] = { name = one.name, mime_type = one.mime_type }
	sizes[one.name], count, bytes = #one.data, count + (before and 0 or 1), bytes - (before or 0) + #one.data
	host.send("ATTACH", { state = own_state.whose(), name = one.name, format = one.mime_type, text = one.data })
	if attached.is_recorded then -- by `cleanup`
		attempt.warn("ATTACHMENT_NOT_KEPT", ("A call that is repeated with this idempotency key won't have %s"):format(one.name))
	end
	return { name = one.name, mime_type = one.mime_type, bytes = #one.data }
end

-- Another name, where a file of this one is there already: "chart.png", "chart-2.png".
local function free_name(name)
	local stem, ending = name:match "^(.+)(%.[^.]*)$"
	local free, n = name, 1
	while sizes[free] do
		n = n + 1
		free = ("%s-%d%s"):format(stem or name, n, ending or "")
	end
	return free
end

---Attach what a command has attached that this one has called, since nobody else has its answer.
---@param name string the command
---@param list any meta.attachments of its answer
function M.pass_on(name, list)
	for _, one in ipairs(type(list) == "table" and not attempt.raw and list or {}) do
		local ok, raised = pcall(function()
			M.attach(nil, { name = free_name(one.name), data = fs.read(one.path, BYTES_MAX),
				mime_type = one.mime_type:find(TYPE) and one.mime_type or nil })
		end)
		if not ok and one.path then -- else a warning of its own says so
			attempt.warn("ATTACHMENT_NOT_KEPT", ("The attachment %s of '%s' is in no answer, and a day at %s: %s"):format(one.name, name,
				one.path, errors.is(raised) and raised.message or tostring(raised)), { command = name, path = one.path })
		end
	end
end

return M
