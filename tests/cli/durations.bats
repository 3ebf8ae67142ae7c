#!/usr/bin/env bats
# A duration is the same one to whoever takes it: what one accepts, all accept, and what one refuses, all refuse alike.

load lib/helper

# Each user of a duration, as a function of it that waits for nothing.
prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	cat >users.lua <<'LUA'
return {
	sleep = function(ctx, v) return ctx.attempt > 9 and ctx:sleep(v) or ctx:defer(function() end) end,
	lock = function(ctx, v) ctx:lock("x", { wait = v }):release() end,
	["http timeout"] = function(ctx, v) ctx:http { url = "http://127.0.0.1:1", timeout = v, check = false } end,
	["http connect_timeout"] = function(ctx, v) ctx:http { url = "http://127.0.0.1:1", connect_timeout = v, check = false } end,
	["run timeout"] = function(ctx, v) ctx:run { "true", timeout = v } end,
	["run grace"] = function(ctx, v) ctx:run { "true", grace = v } end,
	["pipeline timeout"] = function(ctx, v) ctx:pipeline { { "true" }, { "true" }, timeout = v } end,
	["spawn grace"] = function(ctx, v) ctx:spawn({ "true", grace = v }):close() end,
	["wait"] = function(ctx, v) ctx:spawn({ "true" }):wait(v) end,
	["lines"] = function(ctx, v) ctx:spawn({ "true" }):lines(v) end,
	["retry delay"] = function(ctx, v) ctx:retry(function() end, { retries = 1, delay = v }) end,
	["retry max_delay"] = function(ctx, v) ctx:retry(function() end, { retries = 1, max_delay = v }) end,
	["http retry"] = function(ctx, v) ctx:http { url = "http://127.0.0.1:1", retry = { retries = 0, delay = v }, check = false } end,
}
LUA
	body every <<'LUA'
		local huge, nan = math.huge, 0 / 0
		local good = { 0, 1, 0.25, 4e5, 315360000, "0", "none", "500ms", "2s", "1.5s", "5m", "1h", "30", "1d", "87600h" }
		local bad = { huge, -huge, nan, -1, -0.001, 315360000.001, 4e8, 1e300, "", "soon", "-1s", "1 fortnight", "1e3", "1s ", " 1s", "3651d", "315360001", "PT1H", true, {} }
		local problems = {}
		local function note(...) problems[#problems + 1] = string.format(...) end
		for name, user in pairs(dofile "users.lua") do
			for _, v in ipairs(name ~= "sleep" and good or {}) do
				local ok, why = pcall(user, ctx, v)
				if not ok then note("%s refuses %s: %s", name, tostring(v), tostring(why.message)) end
			end
			for _, v in ipairs(bad) do
				if name == "sleep" then user = function(c, w) c:sleep(w) end end
				local ok, why = pcall(user, ctx, v)
				if ok then
					note("%s takes %s", name, tostring(v))
				elseif why.code ~= "INVALID_ARGUMENT" or why.retryable ~= false or not why.message:find(
					'must be a duration such as "500ms", "2s" or "5m", or a number of seconds, not ', 1, true) then
					note("%s, %s: %s: %s", name, tostring(v), why.code, why.message)
				end
			end
		end
		return { problems = require("json").array(problems) }
LUA
}

@test "every method that takes a duration takes the same ones, and refuses the others with one code and one message" {
	answers 0 every --timeout 5m
	expect 'e.data.problems == []'
}

@test "a flag, an argument, a variable, a declaration and a request take the same durations" {
	body takes 'args = { { "d", "duration" } },' <<<'return { d = args.d, v = os.getenv("D") and ctx.env:duration "D" }'
	local text
	for text in 0 500ms 2s 1.5s 5m 1h 30 1d 87600h; do
		answers 0 D="$text" takes --d "$text"
		expect 'e.data.d == e.data.v'
		answers 0 takes --retry-delay "$text"
		body declares "timeout = '$text'," <<<'return {}'
		answers 0 declares
	done
	for text in soon -1s '1 fortnight' 1e3 ' 1s' 3651d 315360001 PT1H inf nan; do
		answers 2 takes "--d=$text"
		expect 'e.error.errors[0]["code"] == "INVALID_ARGUMENT"'
		answers 2 takes "--retry-delay=$text"
		expect 'e.error.errors[0]["code"] == "INVALID_ARGUMENT"'
		call D="$text" takes
		[ "$status" -ne 0 ]
		body declares "timeout = '$text'," <<<'return {}'
		call declares
		[ "$status" -ne 0 ]
		expect 'e.error.code == "COMMAND_INVALID"'
		printf '{"_cmd":"takes","_opts":{"timeout":"%s"}}\n' "$text" | env -i "${CLEAN_ENV[@]}" "$RUNNER" exec >out.txt 2>err.txt || true
		grep -q DISPATCH_PARSE_ERROR out.txt
	done
}
