-- coverage: which lines of the command files ran in the calls of tests, of those that can. Which can is read from the
-- precompiled form of a chunk (string.dump of Lua 5.4; lundump.c and ldebug.c of Lua define it): Lua says so only of
-- functions that exist, and those inside of others exist once these have run.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

-- --- the lines that can run ------------------------------------------------------------

local HEADER = 4 + 1 + 1 + 6 + 3 -- signature, version, format, data, sizes
local NUMBERS = 8 + 8 -- a lua_Integer and a lua_Number to try
local ABSOLUTE = -128 -- of a delta: the line is in the other list

-- A reader of the bytes, from `at` on.
local function reader(bytes, at)
	local r = {}

	function r.byte()
		at = at + 1
		return bytes:byte(at - 1)
	end

	function r.skip(n)
		at = at + n
	end

	-- seven bits a byte, the highest first; the last byte has the eighth bit set
	function r.size()
		local n = 0
		repeat
			local b = r.byte()
			n = n << 7 | b & 127
		until b & 128 ~= 0
		return n
	end

	function r.text()
		local n = r.size()
		r.skip(n > 0 and n - 1 or 0)
	end

	return r
end

local INTEGER, FLOAT, SHORT, LONG = 3, 19, 4, 20

local function skip_constants(r)
	for _ = 1, r.size() do
		local kind = r.byte()
		if kind == INTEGER or kind == FLOAT then
			r.skip(8)
		elseif kind == SHORT or kind == LONG then
			r.text()
		end
	end
end

-- Deltas from instruction to instruction.
local function read_lines(r, first, vararg, lines)
	local deltas, absolute = {}, {}
	for i = 1, r.size() do
		local b = r.byte()
		deltas[i] = b < 128 and b or b - 256
	end
	for _ = 1, r.size() do
		local at = r.size()
		absolute[at + 1] = r.size()
	end
	local line = first
	for i, delta in ipairs(deltas) do
		line = delta == ABSOLUTE and absolute[i] or line + delta
		-- the first instruction of a vararg function adjusts its arguments
		if not (vararg and i == 1) then
			lines[line] = true
		end
	end
end

local function skip_names(r)
	for _ = 1, r.size() do -- local variables
		r.text()
		r.size()
		r.size()
	end
	for _ = 1, r.size() do -- upvalues
		r.text()
	end
end

local function read_function(r, lines)
	r.text() -- source
	local first = r.size()
	r.size() -- its last line
	r.byte() -- parameters
	local vararg = r.byte() ~= 0
	r.byte() -- stack
	r.skip(4 * r.size()) -- code
	skip_constants(r)
	r.skip(3 * r.size()) -- upvalues
	for _ = 1, r.size() do
		read_function(r, lines)
	end
	read_lines(r, first, vararg, lines)
	skip_names(r)
end

---@param chunk function of a file, not stripped
---@return table<integer, true>
function M.lines_of(chunk)
	local bytes, lines = string.dump(chunk), {}
	read_function(reader(bytes, HEADER + NUMBERS + 1 + 1), lines) -- after the count of upvalues
	lines[0] = nil
	return lines
end

-- --- the report ------------------------------------------------------------------------

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
	local can, lines, ran, last = M.lines_of(chunk), 0, 0, 0
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
