-- policy.normalise takes any retry table: the flat form that the engine takes
-- as it is, or one message about one key. The input: the table as JSON; behind a
-- NUL the overrides of the command line.

local host = require "runner.host"
local policy = require "runner.declare.policy"
local values = dofile "tests/fuzz/values.lua"

local function whole(v, least, most)
	return math.type(v) == "integer" and v >= least and v <= most
end

-- From the command line: they have passed the rules of their flags.
local function overrides_of(text)
	local known, v = values.read(text)
	if not known or type(v) ~= "table" then
		return nil
	end
	return { retries = whole(v.retries, 0, 1000) and v.retries or nil,
		retry_delay_ms = whole(v.retry_delay_ms, 0, 2 ^ 38) and v.retry_delay_ms or nil,
		seed = math.type(v.seed) == "integer" and v.seed or nil }
end

local function check_flat(flat)
	assert(whole(flat.retries, -1, 1000) and whole(flat.delay_ms, 0, 2 ^ 40) and whole(flat.max_delay_ms, 0, 2 ^ 40))
	assert(whole(flat.jitter_ppm, 0, 1000000) and #flat.delays <= 64)
	assert(flat.seed == nil or math.type(flat.seed) == "integer")
	flat.seed = flat.seed or 1
	for n = 0, 5 do
		local ms = host.policy_delay(flat, n)
		assert(whole(ms, 0, 2 ^ 41) and (flat.max_delay_ms == 0 or ms <= flat.max_delay_ms))
		assert(ms == host.policy_delay(flat, n))
	end
end

return function(text)
	local declared, flags = text:match("^([^%z]*)%z?(.*)$")
	local known, retry = values.read(declared)
	if not known then
		return
	end
	local flat, message, key = policy.normalise(retry, overrides_of(flags))
	if flat then
		check_flat(flat)
	else
		assert(type(message) == "string" and message:find("retry", 1, true), message)
		assert(key == nil or retry[key] ~= nil)
	end
end
