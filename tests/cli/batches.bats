#!/usr/bin/env bats
# Commands of many items and of several steps: results for each item, a later step to begin
# with, and undoing what a failure left.

load lib/helper

@test "REQ-C-009 ctx:each gives each item its result, and fails when one did" {
	body greet 'args = { { "names", "array", items = "string", positional = true, variadic = true } },' <<'LUA'
return ctx:each(args.names, function(name)
	if name == "nobody" then ctx:fail("NOT_FOUND", "There is no " .. name) end
	if name == "late" then ctx:fail("UNAVAILABLE", "Come back") end
	if name == "boom" then error "boom" end
	if name == "odd" then return nil, "too odd", "EACCES" end
	return { effect = "created", length = #name }
end)
LUA
	answers 0 greet ada grace
	expect 'e.data == {"summary": {"total": 2, "succeeded": 2, "failed": 0}, "results": [{"id": "ada", "ok": True, "effect": "created", "length": 3}, {"id": "grace", "ok": True, "effect": "created", "length": 5}]}'
	answers 3 greet ada nobody late boom odd grace
	expect 'e.error.code == "PARTIAL_FAILURE" and e.error.side_effects == "partial" and e.data.partial is True'
	expect 'e.data.summary == {"total": 6, "succeeded": 2, "failed": 4}'
	expect '[(r["id"], r["ok"], r.get("error", {}).get("code"), r.get("error", {}).get("retryable")) for r in e.data.results] == [("ada", True, None, None), ("nobody", False, "NOT_FOUND", False), ("late", False, "UNAVAILABLE", True), ("boom", False, "INTERNAL_ERROR", "maybe"), ("odd", False, "PERMISSION_DENIED", False), ("grace", True, None, None)]'
	answers 0 greet
	expect 'e.data == {"summary": {"total": 0, "succeeded": 0, "failed": 0}, "results": []}'
}

@test "REQ-C-009 a signal and a limit end a batch as they end any run" {
	body slow <<<'return ctx:each({ 1, 2, 3 }, function() io.open("marker", "w"):close() ctx:sleep "60s" end)'
	cancel TERM slow
	assert_envelope
	[ "$status" -eq 143 ]
	expect 'e.error.code == "CANCELLED"'
	answers 10 slow --timeout 200ms
	body wrong <<<'ctx:each("x", 1)'
	answers 1 wrong
	grep -q 'it needs a list and a function' out.txt
}

# stepped KEYS <<<BODY: three steps, each noted in `did`.
stepped() {
	command_file stepped <<LUA
return { description = "x", danger_level = "mutating", steps = { "fetch", "build", "publish" }, $1
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	args = { { "fail", "string" } },
	run = function(args, ctx)
		for _, step in ipairs { "fetch", "build", "publish" } do
			if ctx:step(step) then
				local f <close> = io.open("did", "a")
				f:write(step, " ")
				if args.fail == step then ctx:fail("PARTIAL_FAILURE", step .. " failed", { data = { so = "far" } }) end
			end
		end
		return { effect = "created" }
	end }
LUA
	rm -f did
}

@test "REQ-O-010 --resume-from begins with a later step and names those left out" {
	stepped 'resumable = true,'
	answers 0 stepped --resume-from build
	expect 'e.data == {"effect": "created", "skipped_steps": ["fetch"]}'
	[ "$(<did)" = 'build publish ' ]
	answers 0 stepped --resume-from fetch
	expect 'e.data == {"effect": "created"}'
	answers 3 stepped --resume-from publish --fail publish
	expect 'e.error.code == "PARTIAL_FAILURE"'
	answers 2 stepped --resume-from biuld
	expect 'e.error.errors[0]["field"] == "resume_from" and "fetch, build, publish" in e.error.errors[0]["suggestion"]'
	stepped ''
	answers 2 stepped --resume-from build
	[ ! -e did ]
	echo 'return { description = "x", danger_level = "safe", resumable = true, run = print }' | command_file x
	answers 4 x
	grep -q 'needs steps' out.txt
}

@test "REQ-O-011 --rollback-on-failure undoes what was done, and says what became of it" {
	stepped 'rollback = function(args, ctx, e) local f <close> = io.open("did", "a") f:write("undo:", e.code) end,'
	answers 3 stepped --fail build --rollback-on-failure
	expect 'e.data.rollback_status == "completed" and e.data.so == "far" and "rollback_error" not in e.data and e.error.code == "PARTIAL_FAILURE"'
	[ "$(<did)" = 'fetch build undo:PARTIAL_FAILURE' ]
	rm did
	answers 3 stepped --fail build
	expect 'e.data.rollback_status == "not_attempted"'
	[ "$(<did)" = 'fetch build ' ]
	rm did
	answers 0 stepped --rollback-on-failure
	expect 'e.data == {"effect": "created"}'
	[ "$(<did)" = 'fetch build publish ' ]
	stepped 'resumable = true, rollback = print,'
	answers 3 stepped --fail build
	expect 'e.data.resume_from == "build"'
	answers 3 stepped --fail build --rollback-on-failure
	expect 'e.data.resume_from is None and e.data.rollback_status == "completed"'
	stepped 'rollback = function() error "it is stuck" end,'
	answers 3 stepped --fail fetch --rollback-on-failure
	expect 'e.data.rollback_status == "failed" and "it is stuck" in e.data.rollback_error'
	stepped ''
	answers 2 stepped --rollback-on-failure
	echo 'return { description = "x", danger_level = "safe", rollback = print, run = print }' | command_file x
	answers 4 x
	grep -q 'needs a command that changes something' out.txt
}

@test "REQ-C-034 progress that falls is a warning, once; silence ends a command with idle_timeout" {
	body count <<<'for _, n in ipairs { 1, 2, 2, 5, 3, 1 } do ctx:progress { done = n, total = 9, unit = "files" } end return { fine = true }'
	answers 0 count
	expect '[(w["code"], w["context"]) for w in e.warnings] == [("PROGRESS_FELL", {"before": 5, "done": 3})]'
	tries 4 silence_is_ended
	body steady 'idle_timeout = "2s",' <<<'for n = 1, 6 do ctx:progress { done = n } ctx:sleep "100ms" end return { fine = true }'
	tries 4 answers 0 steady
	expect 'e.warnings == []'
}

# (a worker that stands still may be ended before it has said anything)
silence_is_ended() {
	body silent "idle_timeout = '$((300 * 4 ** (nth - 1)))ms'," <<<'ctx:progress { done = 4, total = 9 } ctx:run { "sleep", "60" }'
	answers 10 silent &&
		expect 'e.error.code == "TIMEOUT" and e.error.context["limit"] == "idle" and e.data.get("progress") == {"done": 4, "total": 9}'
}
