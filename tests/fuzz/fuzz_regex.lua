-- The regex binding takes any pattern and any text: true, false or a reason, in
-- bounded time. The input: pattern, NUL, text.

local rare_arguments = require "runner.declare.rare_arguments"
local regex = require "runner.regex"

local function is_reason(v)
	return type(v) == "string" and v ~= ""
end

return function(input)
	local pattern, text = input:match("^([^%z]*)%z?(.*)$")
	local good, why = regex.check(pattern)
	assert(good == true or good == nil and is_reason(why))
	local hit, reason = regex.match(pattern, text)
	assert(hit == true or hit == false or hit == nil and is_reason(reason))
	if not good then
		assert(hit == nil and reason == why)
	end
	local refused = rare_arguments.pattern_refuses(pattern, text)
	assert(rare_arguments.presets[pattern] or (refused == nil) == (hit == true))
	for name in pairs(rare_arguments.presets) do
		rare_arguments.pattern_refuses(name, text)
	end
end
