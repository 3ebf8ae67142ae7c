-- env: ctx.env, the variables of the environment, as texts and as values of a type. What is missing or
-- wrong raises PRECONDITION with the variable's name and never with its value, which may be a
-- secret. Loaded on first use.

local errors = require "runner.core.errors"
local misuse = require "runner.ctx.misuse"
local rules = require "runner.core.rules"

local M = {}

local BOOLEANS = { ["1"] = true, ["true"] = true, yes = true, on = true, ["0"] = false, ["false"] = false, no = false, off = false }

-- type → the value of a text, nil where it is none; and what it should be, in words
local KINDS = {
	string = { function(text) return text end, "a text" },
	integer = { function(text) return text:find "^[+-]?%d+$" and math.tointeger(tonumber(text)) or nil end, "a whole number" },
	number = { function(text)
		local n = not text:find "[xXn]" and tonumber(text)
		return n and n == n and math.abs(n) < math.huge and n or nil
	end, "a number" },
	boolean = { function(text) return BOOLEANS[text:lower()] end, "true or false" },
	duration = { function(text)
		local ms = text ~= "none" and rules.duration(text)
		return ms and ms / 1000 or nil
	end, 'a duration such as "30s"' },
	list = { function(text)
		local out = require("runner.json").array {}
		for item in (text .. ","):gmatch "%s*([^,]-)%s*," do
			out[#out + 1] = item ~= "" and item or nil
		end
		return out
	end, "a list such as a,b" },
}

local function getter(kind)
	return function(_, name, default)
		if type(name) ~= "string" or name == "" or name:find "[=%z]" then
			misuse.raise("ctx.env:" .. kind, "it needs the name of a variable", ('Write ctx.env:%s("PORT", 80)'):format(kind))
		end
		local text = os.getenv(name)
		if text == nil or text == "" and kind ~= "string" then
			if default ~= nil then
				return default
			end
			errors.raise("PRECONDITION", ("The variable %s is not set"):format(name), { retryable = false, context = { variable = name },
				fix_required = ("Set %s to %s"):format(name, KINDS[kind][2]) })
		end
		local value = KINDS[kind][1](text)
		if value == nil then
			errors.raise("PRECONDITION", ("The variable %s is not %s"):format(name, KINDS[kind][2]), { retryable = false,
				context = { variable = name }, fix_required = ("Set %s to %s"):format(name, KINDS[kind][2]) })
		end
		return value
	end
end

for kind in next, KINDS do
	M[kind] = getter(kind)
end

return setmetatable(M, {
	__index = function(_, name) return type(name) == "string" and os.getenv(name) or nil end,
	__newindex = function(_, name)
		misuse.raise("ctx.env", ("the variable '%s' can't be set here"):format(tostring(name)),
			"Give it to the program: ctx:run { …, env = { NAME = value } }")
	end,
})
