-- question: what a person is asked before a destructive tool runs, as a form (client/elicitation.mdx),
-- and what their answer means. Pure.

local json = require "runner.json"
local rpc = require "runner.mcp.rpc"

local M = {}

-- The key of the question among inputRequests.
M.KEY = "confirm"

local SHOWN_MAX = 4000 -- bytes of each part

-- Characters that a screen hides, or that change the order of those around them.
local HIDDEN = { { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x61C, 0x61C }, { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F },
	{ 0xFE00, 0xFE0F }, { 0xFEFF, 0xFEFF }, { 0xFFF9, 0xFFFB }, { 0xE0000, 0xE0FFF } }

local function visible(character)
	local code = utf8.codepoint(character)
	for _, range in ipairs(HIDDEN) do
		if code >= range[1] and code <= range[2] then
			return ("\\u{%X}"):format(code)
		end
	end
end

-- JSON, so that line breaks and quotes in a value can't imitate the text around it.
local function shown(value)
	local text = assert(json.encode(value))
	if #text > SHOWN_MAX then
		local stop = SHOWN_MAX
		while text:byte(stop + 1) & 0xC0 == 0x80 do
			stop = stop - 1
		end
		text = ("%s … (%d more bytes are not shown)"):format(text:sub(1, stop), #text - stop)
	end
	return (text:gsub(utf8.charpattern, visible))
end

local function masked(arguments, secrets)
	local out = {}
	for name, v in next, arguments do
		out[name] = v
	end
	for _, name in ipairs(secrets) do
		if out[name] ~= nil then
			out[name] = "***"
		end
	end
	return out
end

local FORM = {
	type = "object",
	properties = { confirm = { type = "boolean", title = "Run it", description = "Tick to run the command as shown", default = false } },
	required = json.array { "confirm" },
}

---The params of an elicitation/create.
---@param row runner.mcp.Row
---@param arguments table
---@param preview any the data of a dry run
---@param mode? string "form", where the revision knows modes
---@return table
function M.form(row, arguments, preview, mode)
	local lines = {
		("Run '%s'? It is destructive."):format(row.tool.title),
		"Arguments: " .. shown(masked(arguments, row.secrets)),
		"A dry run says: " .. shown(preview == nil and json.null or preview),
	}
	return { mode = mode, message = table.concat(lines, "\n"), requestedSchema = FORM }
end

---Does the person want it? Only a form that was sent with the box ticked says yes.
---@param reply any an ElicitResult
---@return boolean yes
---@return string? why not, as the rest of a sentence
function M.is_yes(reply)
	if not rpc.is_object(reply) or type(reply.action) ~= "string" then
		return false, "the client sent no valid answer"
	elseif reply.action ~= "accept" then
		return false, reply.action == "decline" and "the person declined" or "the person gave no answer"
	elseif not rpc.is_object(reply.content) or reply.content.confirm ~= true then
		return false, "the person did not tick the box"
	end
	return true
end

return M
