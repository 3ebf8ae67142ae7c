-- scalar: what a scalar of YAML means: the core schema of YAML 1.2 (§10.3).
-- yes, no, on and off are strings there, octal is 0o17, hexadecimal 0xff. Pure.

local M = {}

local WORDS = {
	["~"] = "null", null = "null", Null = "null", NULL = "null", [""] = "null",
	["true"] = "boolean", True = "boolean", TRUE = "boolean",
	["false"] = "boolean", False = "boolean", FALSE = "boolean",
	[".inf"] = "number", [".Inf"] = "number", [".INF"] = "number", ["+.inf"] = "number", ["+.Inf"] = "number",
	["+.INF"] = "number", ["-.inf"] = "number", ["-.Inf"] = "number", ["-.INF"] = "number",
	[".nan"] = "number", [".NaN"] = "number", [".NAN"] = "number",
}

local VALUES = {
	null = function() return nil end,
	boolean = function(text) return text:lower() == "true" end,
	number = function(text)
		local infinite = text:lower():find("inf", 1, true)
		return infinite and (text:sub(1, 1) == "-" and -math.huge or math.huge) or 0 / 0
	end,
}

-- An integer beyond 64 bits stays a string: no digit is lost.
local function integer(text)
	local digits = text:match("^0o([0-7]+)$")
	if digits then
		digits = digits:gsub("^0+", "")
		return #digits <= 20 and tonumber(digits == "" and "0" or digits, 8) or nil
	end
	digits = text:match("^0x(%x+)$")
	if digits then
		return #digits:gsub("^0+", "") <= 15 and tonumber(text) or nil
	end
	local n = text:find("^[-+]?%d+$") and tonumber((text:gsub("^%+", "")))
	return math.type(n) == "integer" and n or nil
end

local function float(text)
	local body, exponent = text:match("^[-+]?([%d.]+)(.*)$")
	if not body or not (body:find("^%d+%.?%d*$") or body:find("^%.%d+$")) then
		return nil
	elseif exponent == "" and not body:find(".", 1, true) then
		return nil
	elseif exponent ~= "" and not exponent:find("^[eE][-+]?%d+$") then
		return nil
	end
	return tonumber((text:gsub("^%+", "")))
end

---The kind and the value of a plain scalar.
---@param text string as written
---@return "text"|"integer"|"number"|"boolean"|"null" kind, any value
function M.plain(text)
	local kind = WORDS[text]
	if kind then
		return kind, VALUES[kind](text)
	elseif not text:find("^[-+.%d]") then
		return "text", text
	end
	local n = integer(text)
	if n then
		return "integer", n
	end
	n = float(text)
	if n then
		return "number", n
	end
	return "text", text
end

-- What YAML 1.1 took for something else (§10.3.2 there), still read that way by many programs.
local OLD_WORDS = { y = true, n = true, yes = true, no = true, on = true, off = true, ["<<"] = true, ["="] = true }

---Is a plain scalar text for every reader?
---@param text string
---@return boolean
function M.is_text(text)
	return M.plain(text) == "text" and not OLD_WORDS[text:lower()] and not text:find "^[%d+.-][%d_:.,xobeE+-]*$"
end

local CORE = "tag:yaml.org,2002:"

-- Tag → the kinds that its text may have by the core schema.
local TAGS = {
	[CORE .. "null"] = { null = true }, [CORE .. "bool"] = { boolean = true }, [CORE .. "int"] = { integer = true },
	[CORE .. "float"] = { number = true, integer = true },
}

---The kind and the value of any scalar; nil where its tag doesn't match.
---@param text string
---@param plain boolean was it written without quotes?
---@param tag? string
---@return string? kind, any value
function M.resolve(text, plain, tag)
	if tag == "!" or tag == CORE .. "str" or not tag and not plain then
		return "text", text
	end
	local kind, value = M.plain(text)
	if not tag then
		return kind, value
	elseif TAGS[tag] and TAGS[tag][kind] then
		return tag == CORE .. "float" and "number" or kind, value
	end
end

return M
