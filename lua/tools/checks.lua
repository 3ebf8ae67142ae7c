-- checks: rows of checks as text, and how many failed: for runner doctor and runner executor check.

local M = {}

local MARK = "%-4s  " -- in front of a row; a fix is below its text

---A row of a check, and its fix below it.
---@param lines string[] gets them
---@param mark string "ok", "FAIL", "weak"
---@param text string
---@param ... string? remedies; a nil has no line
function M.add(lines, mark, text, ...)
	lines[#lines + 1] = MARK:format(mark) .. text
	for i = 1, select("#", ...) do
		lines[#lines + 1] = select(i, ...) and "      " .. select(i, ...) or nil
	end
end

---"fix: …", nil where there is none.
---@param text? string
---@return string?
function M.fix(text)
	return text and "fix: " .. text
end

---@param rows { ok: boolean }[]
---@return integer
function M.failed(rows)
	local n = 0
	for _, row in ipairs(rows) do
		n = n + (row.ok and 0 or 1)
	end
	return n
end

return M
