-- dumped: which lines of a chunk can run at all, read from its precompiled form (string.dump of
-- Lua 5.4; lundump.c and ldebug.c of Lua define it). Lua says so only of functions that exist, and
-- those inside of others exist once these have run.

local M = {}

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
function M.lines(chunk)
	local bytes, lines = string.dump(chunk), {}
	read_function(reader(bytes, HEADER + NUMBERS + 1 + 1), lines) -- behind the count of upvalues
	lines[0] = nil
	return lines
end

return M
