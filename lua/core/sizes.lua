-- sizes: the sizes in bytes that a declaration, a flag or a variable gives. Loaded where there is one.

local M = {}

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
