-- paging: which rows of a run an answer has: the chosen ones, a page at a time, as many as it
-- has room for. What a row is, and where it comes from, the caller says.

local json = require "runner.json"

local M = {}

---Bytes of all rows of an answer, as JSON; an answer has one row whatever its length.
M.ANSWER = 8 << 20

local LIMIT = 200 -- rows
local BATCH = 20
local CHOICES = { a = "all", f = "failed", o = "outline" }

---@class runner.workflow.PageOptions
---@field steps? "failed"|"all" default: all; where there are more than `limit`, without those in loops that ended well
---@field limit? integer rows; default 200, 0: as many as an answer holds
---@field cursor? string
---@field full? boolean whole outputs and data

---@alias runner.workflow.Choice "all"|"failed"|"outline" of steps; outline: not those in loops that ended well

---@class runner.workflow.PageSource
---@field attempts? true its rows are attempts, and a page may end between two of a step
---@field rows fun(choice: runner.workflow.Choice, after: runner.workflow.PagePlace, limit: integer): table[] in order,
---  each with its `position`, and `number`
---@field make fun(row: table): table, integer as the answer has it, and its length as JSON
---@field count fun(choice: "all"|"failed"): integer

---@class runner.workflow.PagePlace the row behind which a page starts
---@field position integer of its step
---@field number integer of its attempt

-- --- cursors ---------------------------------------------------------------------------------

local function written(source, choice, place)
	local text = ("%s%x"):format(choice:sub(1, 1), place.position)
	return source.attempts and ("%s.%x"):format(text, place.number) or text
end

---Read a cursor: nil where it is none of such rows.
---@param text string
---@param attempts? boolean
---@return runner.workflow.Choice? choice, runner.workflow.PagePlace? after
function M.cursor(text, attempts)
	local letter, position, dot, number = text:match "^([afo])(%x+)(%.?)(%x*)$"
	if letter and #position <= 12 and #number <= 12 and (dot == ".") == (attempts or false) and (number ~= "") == (dot == ".") then
		return CHOICES[letter], { position = tonumber(position, 16), number = tonumber(number, 16) or 0 }
	end
end

-- Behind the outline come all rows from the first one.
local function next_cursor(source, choice, after)
	return source.rows(choice, after, 1)[1] and written(source, choice, after)
		or choice == "outline" and written(source, "all", { position = 0, number = 0 }) or nil
end

-- --- a page ------------------------------------------------------------------------------------

-- How many rows there were; nil: the answer has no room for more.
local function add(page, source, choice, limit)
	local batch = source.rows(choice, page.after, limit)
	for _, stored in ipairs(batch) do
		local row, length = source.make(stored)
		if page.bytes + length > M.ANSWER and page.rows[1] then
			return nil
		end
		page.rows[#page.rows + 1], page.bytes = row, page.bytes + length
		page.after = { position = stored.position, number = stored.number }
	end
	return #batch
end

---A page of rows, and what meta.pagination says of it.
---@param source runner.workflow.PageSource
---@param opts runner.workflow.PageOptions
---@param total integer steps of the run: many are shown in outline
---@return table[] rows, {total: integer, returned: integer, truncated: boolean, has_more: boolean, next_cursor: string}
function M.page(source, opts, total)
	local most = opts.limit == 0 and math.maxinteger or opts.limit or LIMIT
	local choice, after = M.cursor(opts.cursor or "", source.attempts)
	choice = choice or opts.steps or total > most and "outline" or "all"
	local page = { rows = json.array {}, bytes = 0, after = after or { position = 0, number = 0 } }
	repeat
		local limit = math.min(BATCH, most - #page.rows)
	until limit <= 0 or add(page, source, choice, limit) ~= limit
	if choice == "outline" and not (after or page.rows[1]) then
		return M.page(source, { steps = "all", limit = opts.limit }, total)
	end
	local cursor = next_cursor(source, choice, page.after)
	return page.rows, { total = source.count(choice == "failed" and choice or "all"), returned = #page.rows,
		truncated = cursor ~= nil, has_more = cursor ~= nil, next_cursor = cursor or json.null }
end

return M
