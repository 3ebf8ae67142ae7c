-- The regex binding takes any pattern and any text: true, false or a reason, in
-- bounded time. The input: pattern, NUL, text.

local patterns = require "runner.declare.patterns"
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
	local refused = patterns.refuses(pattern, text)
	assert(patterns.presets[pattern] or (refused == nil) == (hit == true))
	for name in pairs(patterns.presets) do
		patterns.refuses(name, text)
	end
end
