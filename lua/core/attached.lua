-- attached: the files of an answer, for where it is given again: each is attached anew, so that it is kept for whoever has this answer
-- (src/supervisor/attached.c), and what is no longer there is said.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local own_state = require "runner.core.own_state"

local M = {}

M.list = {} ---@type {name: string, mime_type: string}[] what this attempt has attached; the same name once
M.is_recorded = false -- under an idempotency key: what is attached from then on isn't

local ENDING_MAX = 8 -- as src/engine/keep.h has it

---The rows of meta.attachments that an answer of this call will have, before its files are kept.
---@param request_id string
---@param list {name: string, mime_type: string}[] M.list, masked
---@return {name: string, mime_type: string, path: string}[]
function M.rows(request_id, list)
	local out = {}
	for i, one in ipairs(list) do
		local ending = one.name:match "%.([%l%d]+)$" or "bin"
		out[i] = { name = one.name, mime_type = one.mime_type,
			path = ("%s%s.%d.%s"):format(request_id, own_state.whose(), i, #ending <= ENDING_MAX and ending or "bin") }
	end
	return out
end

---Attach the files of an earlier answer to this one.
---@param list any its meta.attachments
function M.again(list)
	for _, one in ipairs(type(list) == "table" and list or {}) do
		local path = type(one.path) == "string" and own_state.kept_answer(one.path:match "[^/]+$" or "")
		local data = path and fs.read(path)
		if data then
			host.send("ATTACH", { state = own_state.whose(), name = one.name, format = one.mime_type, text = data })
		else
			attempt.warn("ATTACHMENT_NOT_KEPT", ("The attachment %s of that call is no longer there%s"):format(one.name,
				one.not_kept and ": " .. one.not_kept or ""))
		end
	end
end

return M
