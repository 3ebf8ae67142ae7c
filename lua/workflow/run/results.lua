-- results: the data of a loop, or of parallel steps: a list with { ok, output, data } for each
-- item. Of an output that was cut the database has { ok, cut = { step, bytes, missing, why } }
-- instead, and steps find a held value there: using that one is refused, and using the whole
-- list is, but no other element. Pure.

local held = require "runner.workflow.expr.held"

local M = {}

local function is_cut(value)
	return held.is(value) and value.cut ~= nil
end

---The data of one item as it is stored.
---@param ok boolean
---@param given {output: any, data: any} what its last step gave, or a row of M.read
---@return table row
function M.row(ok, given)
	local output, data = given.output, given.data
	if not is_cut(output) then
		return { ok = ok, output = held.value(output), data = held.value(data) }
	end
	local row = { ok = ok, cut = { step = output.step, bytes = output.bytes, missing = output.cut, why = output.why } }
	if not is_cut(data) then -- a loop inside: its other elements stay
		row.data = {}
		for i, inner in ipairs(held.value(data)) do
			row.data[i] = M.row(inner.ok, inner)
		end
	end
	return row
end

---A stored list as steps see it.
---@param rows table[] decoded; changed
---@return table[] rows
function M.read(rows)
	for _, row in ipairs(rows) do
		local cut = row.cut
		if cut then
			row.output = held.new { step = cut.step, bytes = cut.bytes, cut = cut.missing, why = cut.why }
			row.data = row.data and M.read(row.data) or row.output
			row.cut = nil
		end
	end
	return rows
end

return M
