-- coverage: which lines of the command files ran in the calls of tests, of those that can.

local dumped = require "runner.testkit.dumped"
local host = require "runner.host"
local json = require "runner.json"

local M = {}

---@class runner.FileCoverage
---@field file string relative to the project
---@field lines integer that can run
---@field ran integer
---@field percent number
---@field missed string "3-5, 9"

local function percent_of(ran, lines)
	return lines == 0 and 100 or math.floor(1000 * ran / lines) / 10
end

-- "3-5, 9": lines that can run and didn't; what can't run doesn't interrupt a range.
local function ranges(can, did, last)
	local out, from, to = {}, nil, nil
	local function close()
		if from then
			out[#out + 1] = from == to and tostring(from) or ("%d-%d"):format(from, to)
		end
		from = nil
	end
	for line = 1, last do
		if can[line] and did[line] then
			close()
		elseif can[line] then
			from, to = from or line, line
		end
	end
	close()
	return table.concat(out, ", ")
end

local function row_of(path, shown, did)
	local text = host.source(path)
	local chunk = text and load((text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", "")), "@" .. path, "t")
	if not chunk then
		return nil
	end
	local can, lines, ran, last = dumped.lines(chunk), 0, 0, 0
	for line in next, can do
		lines, ran, last = lines + 1, ran + (did[line] and 1 or 0), math.max(last, line)
	end
	return { file = shown, lines = lines, ran = ran, percent = percent_of(ran, lines), missed = ranges(can, did, last) }
end

---@param paths string[] of all files that count
---@param ran table<string, table<integer, true>> by path
---@param root string of the project
---@return { files: runner.FileCoverage[], lines: integer, ran: integer, percent: number }
function M.report(paths, ran, root)
	local report = { files = json.array {}, lines = 0, ran = 0 }
	for _, path in ipairs(paths) do
		local shown = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2) or path
		local row = row_of(path, shown, ran[path] or {})
		if row then
			report.files[#report.files + 1] = row
			report.lines, report.ran = report.lines + row.lines, report.ran + row.ran
		end
	end
	report.percent = percent_of(report.ran, report.lines)
	return report
end

return M
