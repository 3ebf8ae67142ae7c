-- tab_rows: tables that people and scripts write: a line a row, tabs between its cells, and comments that begin with #.

local M = {}

---The cells of a line.
---@param line string
---@return string[]
function M.cells(line)
	local cells = {}
	for cell in (line .. "\t"):gmatch "(.-)\t" do
		cells[#cells + 1] = cell
	end
	return cells
end

---The rows of a file; none where there is no such file.
---@param path string
---@return string[][]
function M.read(path)
	local rows = {}
	local file <close> = io.open(path, "rb")
	for line in (file and file:lines() or string.gmatch("", "x")) do
		rows[#rows + 1] = line ~= "" and line:sub(1, 1) ~= "#" and M.cells(line) or nil
	end
	return rows
end

return M
