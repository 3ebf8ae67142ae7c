-- amounts: amounts in US dollars, and sizes in bytes, as texts and as numbers. Inside, an amount of money is a whole number of
-- micro-dollars, so that sums are exact; people and JSON see dollars. Pure.

local M = {}

M.MOST = 1000000000 * 1000000 -- micro-dollars: more is not an amount

---An amount as a number of dollars, for JSON.
---@param micros integer
---@return number
function M.dollars(micros)
	return micros / 1000000
end

---An amount in dollars as text, exact: "0.525", "2".
---@param micros integer
---@return string
function M.text(micros)
	local text = ("%d.%06d"):format(micros // 1000000, micros % 1000000)
	return (text:gsub("%.?0+$", "", 1))
end

---An amount as people read it: "$0.53", and "$0.000012" where cents would hide it.
---@param micros integer
---@return string
function M.shown(micros)
	if micros ~= 0 and micros < 10000 then
		return "$" .. M.text(micros)
	end
	local cents = (micros + 5000) // 10000
	return ("$%d.%02d"):format(cents // 100, cents % 100)
end

---Micro-dollars from a number of dollars; nil unless it is an amount.
---@param dollars any
---@return integer?
function M.micros(dollars)
	if type(dollars) ~= "number" or not (dollars >= 0 and dollars * 1000000 <= M.MOST) then
		return nil
	end
	return math.tointeger(dollars * 1000000 // 1 + (dollars * 1000000 % 1 >= 0.5 and 1 or 0))
end

local UNITS = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30, KB = 1e3, MB = 1e6, GB = 1e9,
	KIB = 2 ^ 10, MIB = 2 ^ 20, GIB = 2 ^ 30 }

---A size in bytes: "256MiB", or a number of bytes; 0 and "none" mean no limit.
---@param v any
---@param least? integer bytes; default 1 MiB
---@return integer? bytes nil: no size, or a smaller one
function M.size(v, least)
	local n, unit = tostring(v):upper():match("^(%d+)%s*(%a*)$")
	local bytes = v == "none" and 0 or n and UNITS[unit] and math.tointeger(tonumber(n) * UNITS[unit])
	return bytes and (bytes == 0 or bytes >= (least or 2 ^ 20)) and bytes or nil
end

return M
