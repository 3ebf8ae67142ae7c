-- Lines of runner exec, whatever they are: request.parse never raises, a problem says what to
-- correct, and what comes out of a request can be handed to a call: no flag confirms, none chooses
-- another project, and every word is one that the call's own parser takes as runner's flag.

local host = require "runner.host"
local json = require "runner.json"
local request = require "runner.calls.request"
local rules = require "runner.core.rules"

local function check_problem(e)
	assert(e.code == "DISPATCH_PARSE_ERROR" and e.phase == "validation" and e.side_effects == "none" and e.retryable == false)
	assert(utf8.len(e.message) and #e.message < 2000 and not e.message:find "%c", e.message)
	assert(type(e.fix_required) == "string" and e.fix_required ~= "")
end

local function check_flag(word)
	local name = word:match "^%-%-([a-z-]+)"
	local plain = name and name:gsub("-", "_")
	assert(plain and (request.open_flags[plain] or request.open_flags[plain:gsub("^no_", "")]), word)
	assert(word == "--" .. name or word:sub(1, #name + 3) == "--" .. name .. "=", word)
end

local function check_request(r)
	for _, word in ipairs(r.words) do
		assert(rules.is_command_word(word), word)
	end
	for _, word in ipairs(r.flags) do
		check_flag(word)
	end
	for name in pairs(r.arguments) do
		assert(type(name) == "string" and name:sub(1, 1) ~= "_", name)
	end
	assert(#r.words > 0 and json.encode(r.arguments, { envelope = true }))
	assert(r.stdin == nil or type(r.stdin) == "string")
	assert(r.timeout_ms == nil or r.timeout_ms > 0 and host.duration(r.timeout_ms .. "ms") == r.timeout_ms)
	assert(r.dry_run == nil or type(r.dry_run) == "boolean")
	assert(r.live == false or r.live == true)
end

return function(text)
	local r, problem, partial = request.parse(text)
	assert((r == nil) == (problem ~= nil) and type(partial) == "table")
	assert(partial.id == nil or json.encode(partial.id, { envelope = true }))
	assert(partial.cmd == nil or json.encode(partial.cmd, { envelope = true }))
	if problem then
		check_problem(problem)
	else
		check_request(r)
	end
end
