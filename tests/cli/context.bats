#!/usr/bin/env bats
# How the methods of ctx handle odd arguments: a slip of the script is reported with its
# line and what to write; nothing gets lost in silence.

load lib/helper

# raises NEEDLE [CODE] <<<BODY: the body ends as INTERNAL_ERROR, or this code, at its own line: a bug, which
# the same call meets again, with a fix
raises() {
	body odd
	call odd
	assert_envelope
	[ "$status" -eq 1 ]
	expect 'e.error.retryable is False and len(e.error.fix_required) > 10 and e.error.side_effects == "none"'
	expect "e.error.code == '${2:-INTERNAL_ERROR}' and 'odd.lua:3: ' in e.error.message and '''$1''' in e.error.message"
}

@test "ctx:sleep takes no NaN" {
	raises "must be a duration" INVALID_ARGUMENT <<<'ctx:sleep(0 / 0)'
}

@test "ctx:progress takes a number or data that a frame can hold" {
	raises "ctx:progress: it needs a fraction" <<<'ctx:progress(0 / 0)'
	raises "ctx:progress: it needs a fraction" <<<'ctx:progress()'
	raises "ctx:progress: data is larger than" <<<'ctx:progress({ text = ("x"):rep(70000) })'
	body odd <<<'ctx:progress(1e300) ctx:progress(-5) ctx:progress(math.huge) ctx:progress("half") return 1'
	answers 0 odd
}

@test "ctx:step takes a name, no text of any size" {
	raises "at most 200 bytes" <<<'ctx:step(("x"):rep(70000))'
	raises "ctx:step: it needs the name of a step" <<<'ctx:step(5)'
}

@test "ctx:warn: a context that is not a table is an error; a message of any size arrives, cut" {
	raises "ctx:warn: the context is a table of facts" <<<'ctx:warn("SLOW_DISK", "m", 5)'
	body odd <<<'ctx:warn("SLOW_DISK") ctx:warn("SLOW_DISK", "m", { text = ("x"):rep(70000) }) ctx:warn("SLOW_DISK", ("y"):rep(70000))'
	answers 0 odd
	expect '[(w["code"], len(w["message"])) for w in e.warnings] == [("SLOW_DISK", 9), ("SLOW_DISK", 1), ("SLOW_DISK", 8192)]'
}

@test "ctx:lock: invalid options are reported at the script's line" {
	raises "ctx:lock: the options are a table" <<<'ctx:lock("x", 5)'
	raises "ctx:lock: 'wait' must be a duration" INVALID_ARGUMENT <<<'ctx:lock("x", { wait = math.abs(0 / 0) })'
	raises "ctx:lock: code = lower is invalid" <<<'ctx:lock("x", { code = "lower" })'
	raises "ctx:lock: shared = y is invalid" <<<'ctx:lock("x", { shared = "y" })'
	raises "ctx:lock: path = 5 is invalid" <<<'ctx:lock("x", { path = 5 })'
}

@test "ctx:retry: an invalid policy is reported at the script's line" {
	raises "ctx:retry: the policy is a table" <<<'local x = ctx:retry(print, 5)'
	raises "ctx:retry: retry has no bound" <<<'local x = ctx:retry(print, {})'
	raises 'ctx:retry: retry.retries is "x": write a whole number' <<<'local x = ctx:retry(print, { retries = "x" })'
	raises "ctx:retry: on_retry is a function(event)" <<<'local x = ctx:retry(print, { retries = 1, on_retry = 5 })'
	raises "ctx:retry: needs a function to retry" <<<'local x = ctx:retry({ retries = 1 })'
}

@test "what a deferred function defers runs as well, next" {
	body odd <<-'LUA'
		local function note(text) return function() ctx:warn("DEFERRED", text) end end
		ctx:defer(note("last"))
		ctx:defer(function() ctx:defer(note("second")) error("first fails") end)
	LUA
	answers 0 odd
	expect '[w["message"].split(": ")[-1] for w in e.warnings] == ["first fails", "second", "last"]'
}

@test "ctx:log, ctx:fail and ctx:defer say what to write" {
	raises "the level is debug, info, warn or error" <<<'ctx:log("loud", "x")'
	raises "it needs a function" <<<'ctx:defer("x")'
	raises "it needs an error code first" <<<'ctx:fail("plain message")'
	expect '"plain message" in e.error.fix_required and e.error.fix_required.startswith("Write ctx:fail(")'
	raises "the fields are a table" <<<'ctx:fail("CONFLICT", "x", "y")'
}

@test "called with a dot instead of a colon is named, for every method" {
	local call_
	for call_ in 'fail("NOT_FOUND")' 'run { "ls" }' 'log("x")' 'sleep(1)' 'http { url = "http://localhost/" }'; do
		raises "called with a dot instead of a colon" <<<"ctx.$call_"
	done
	expect 'e.error.fix_required == "Write ctx:http { url = \"http://localhost/\" }"'
}

# Every method of lua/types/runner.lua with its arguments, and one more.
@test "an argument too many is an error that says what to write, for every method, in a dry run too" {
	local rows flag
	rows=$(sed -n 's/^function Context:\([a-z_]*\)(\(.*\)) end$/{ "\1", "\2" },/p' "$ROOT/lua/types/runner.lua")
	[ "$(wc -l <<<"$rows")" -ge 33 ]
	rows=${rows//$'\n'/ }
	command_file odd <<-LUA
		return { description = "x", danger_level = "mutating", dry_run = true, timeout = "none", retry = { retries = 0 }, run = function(_, ctx)
			local out = {}
			for i, row in ipairs { $rows } do
				local given = { ctx }
				for _ in row[2]:gmatch "%a+" do given[#given + 1] = "x" end
				local most = #given - 1
				given[#given + 1] = { key = 1 }
				local ok, e = pcall(ctx[row[1]], table.unpack(given))
				out[i] = { name = row[1], takes = row[2], ok = ok, message = e.message, fix = e.fix_required, code = e.code, most = most }
			end
			return { rows = out }
		end }
	LUA
	for flag in --dry-run --quiet; do
		answers 0 odd $flag
		expect 'len(e.data["rows"]) >= 33 and [r for r in e.data["rows"] if r["ok"] or r["code"] != "INTERNAL_ERROR"
			or not r["message"].startswith("%s/commands/odd.lua:8: ctx:%s: takes " % (e.meta["cwd"], r["name"]))
			or not r["message"].endswith(["no argument, not 1", "one argument, not 2", "at most 2 arguments, not 3", "at most 3 arguments, not 4"][r["most"]])
			or not r["fix"].startswith("Write ctx:%s%s" % (r["name"], "{ " if r["takes"] == "spec" else "(%s)" % r["takes"]))] == []'
	done
}

@test "an argument too many: the keys of a second table belong into the first; nil is none" {
	raises "ctx:run: takes one argument, not 2" <<<'ctx:run({ "seq", "3" }, { on_line = print, timeout = 1 })'
	expect "e.error.fix_required == 'Write ctx:run{ \"seq\", \"3\", on_line = …, timeout = … }, with all in the one table'"
	raises "ctx:http: takes one argument, not 2" <<<'ctx:http("https://a.example", { method = "POST" })'
	expect "e.error.fix_required == 'Write ctx:http{ url = \"https://a.example\", method = … }, with all in the one table'"
	raises "ctx:log: takes at most 2 arguments, not 3" <<<'ctx:log("info", ("a"):gsub("a", "b"))'
	expect "e.error.fix_required.endswith('parentheses around a call keep its first value alone')"
	body odd <<<'ctx:sleep(0, nil, nil) ctx:log("info", "x", nil) return 1'
	answers 0 odd
}

@test "a misspelt name of ctx is named; what inherits from ctx is one" {
	raises "did you mean 'pipeline'?" <<<'ctx:pipline { { "ls" } }'
	raises "did you mean 'tempdir'?" <<<'return ctx.tempdri'
	body odd <<<'local mine = setmetatable({}, { __index = ctx }) mine:log("x") ctx.own = 1 return { own = ctx.own, other = ctx.something }'
	answers 0 odd
	expect 'e.data == {"own": 1}'
}

@test "a misspelt step is named with what was probably meant" {
	body odd 'steps = { "build", "publish" },' <<<'ctx:step "publsh"'
	answers 1 odd
	expect "e.error.retryable is False and e.error.fix_required == \"Rename it to 'publish', or add 'publsh' to steps\""
}

@test "a wrong use in a tail call names the file" {
	body odd <<<'return ctx:run { "ls", timout = 1 }'
	answers 1 odd
	expect "'commands/odd.lua: ctx:run: unknown key' in e.error.message"
	expect "e.error.fix_required == \"Rename 'timout' to 'timeout'\" and e.error.retryable is False"
}

@test "a raised table without a message says what to raise" {
	body odd <<<'error({ 1, 2 })'
	answers 1 odd
	expect "e.error.code == 'INTERNAL_ERROR' and 'a table without a message' in e.error.message and 'ctx:fail' in e.error.fix_required"
}
