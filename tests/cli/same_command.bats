#!/usr/bin/env bats
# A command is the same, however it is called: its warnings, retries, lines on stderr, secrets and
# errors through every door. What a door adds stands in docs/reference/together.md.

load lib/helper
load lib/mcp

SECRET=s3cr3t-4711

# `inner` fails once with UNAVAILABLE, then is done; with `bad` it fails for good.
prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	echo 'return {}' >runner.lua
	command_file inner <<-LUA
		return { description = "x", danger_level = "safe", retry = { retries = 2, delay = 0 },
			args = { { "token", "string", secret = true, default = "$SECRET" } },
			run = function(args, ctx)
				local f = io.open("runs", "a") f:write(ctx.attempt, " ") f:close()
				ctx:warn("CAREFUL", "beware of " .. args.token, { n = 1 })
				ctx:log("warn", "logged " .. args.token)
				if ctx.attempt < 2 then ctx:fail("UNAVAILABLE", "busy") end
				if io.open("bad") then ctx:fail("CONFLICT", "no " .. args.token, { context = { a = 1 } }) end
				return { token = args.token, attempt = ctx.attempt }
			end }
	LUA
	body call <<<'return ctx:call("inner")'
	body needs 'needs = { "inner" },' <<<'return {}'
	body parallel <<<'return ctx:parallel { function() return ctx:call("inner") end }[1]'
	body above 'needs = { "needs" },' <<<'return {}'
	printf '%s\n' 'name: w' 'steps:' '  - { runner: inner, id: one }' >w.yaml
}

# through DOOR [FLAG…]: the envelope, or the answer, in out.txt
through() {
	local door=$1 id
	shift
	rm -f runs
	case $door in
	direct) call inner "$@" ;;
	watch) call watch --runs 1 -- inner "$@" ;;
	workflow) call workflow run w.yaml "$@" ;;
	exec)
		env -i "${CLEAN_ENV[@]}" "$RUNNER" exec "$@" <<<'{"_cmd":"inner"}' >out.txt 2>err.txt || true
		;;
	mcp)
		session >out.txt 2>err.txt <<-PY
			with Server() as s:
			    print(json.dumps(s.call("inner")["structuredContent"]))
		PY
		;;
	job)
		call inner --detach --format json "$@"
		id=$(sed 's/.*"job_id":"\([^"]*\)".*/\1/' out.txt)
		call job wait "$id"
		;;
	*) call "$door" "$@" ;;
	esac
}

# has PYTHON: holds for the first object `e` of out.txt that is an envelope, wherever it stands in it; a row of watch is made one
has() {
	python3 - "$1" <<-'PY'
		import json, sys
		text = open("out.txt").read()
		def envelopes(v):
		    if isinstance(v, dict):
		        if {"exit_code", "restarted"} <= v.keys():
		            error = {"code": v["code"], "message": v["message"]} if "code" in v else None
		            yield {"ok": error is None, "error": error, "warnings": v.get("warnings", []),
		                   "meta": {k: v[k] for k in ("retries",) if k in v}}
		        if {"ok", "error", "warnings"} <= v.keys() and v["meta"].get("command") != "watch": yield v
		        for m in v.values(): yield from envelopes(m)
		    elif isinstance(v, list):
		        for m in v: yield from envelopes(m)
		found = [e for line in text.splitlines() if line.startswith("{") for e in envelopes(json.loads(line))]
		assert found, text
		e = found[0]
		assert eval(sys.argv[1]), (sys.argv[1], e)
	PY
}

DOORS=(direct call needs above parallel watch workflow exec mcp job)
OURS=(call needs above parallel) # the answer is another command's

@test "its warnings are in the answer, once for each attempt, through every door" {
	local door
	for door in "${DOORS[@]}"; do
		echo "$door"
		through "$door"
		has 'e["ok"] and [w["message"] for w in e["warnings"] if w["code"] == "CAREFUL"] == ["beware of ***"] * 2'
		has 'all(w["context"]["n"] == 1 for w in e["warnings"])'
		[ "$(<runs)" = '1 2 ' ]
	done
	for door in "${OURS[@]}"; do
		through "$door"
		has 'e["warnings"][0]["context"] == {"n": 1, "command": "inner"}'
	done
	through workflow
	has 'e["warnings"][0]["context"] == {"n": 1, "command": "inner", "step": "one"}'
}

@test "its retries are made, and counted once, through every door; --retries 0 wins" {
	local door
	for door in "${DOORS[@]}"; do
		echo "$door"
		through "$door"
		[ "$(<runs)" = '1 2 ' ]
		has 'e["meta"].get("job", e["meta"])["retries"] == 1'
		[ "$door" != mcp ] || continue
		through "$door" --retries 0
		[ "$(<runs)" = '1 ' ]
		has 'not e["ok"] and e["error"]["code"] == "UNAVAILABLE" and "retries" not in e["meta"].get("job", e["meta"])'
	done
}

@test "--retries of what repeats nothing itself bounds the retries of what it calls, and never ends them" {
	local door n
	sed -i 's/ctx.attempt < 2/ctx.attempt < 3/' commands/inner.lua
	for door in direct call needs watch-flag workflow exec; do
		for n in 0 1 2 5; do
			echo "$door $n"
			if [ "$door" = watch-flag ]; then
				rm -f runs
				call watch --runs 1 --retries "$n" -- inner
			else
				through "$door" --retries "$n"
			fi
			[ "$(wc -w <runs)" -eq $((n > 2 ? 3 : n + 1)) ]
		done
	done
}

@test "what a callee says of its steps, and of its limit, is not said of its caller" {
	command_file stops <<-'LUA'
		return { description = "x", danger_level = "safe", resumable = true, steps = { "build", "publish" },
			run = function(_, ctx) ctx:step "build" ctx:step "publish" ctx:fail("CONFLICT", "x", { data = { at = 3 } }) end }
	LUA
	body goes 'resumable = true, steps = { "one", "two" },' <<<'ctx:step "one" ctx:step "two" return ctx:call("stops")'
	body plain <<<'return ctx:call("stops")'
	call stops
	expect 'e.data == {"at": 3, "completed_steps": ["build"], "failed_step": "publish", "pending_steps": ["publish"], "skipped_steps": [], "resume_from": "publish"}'
	call goes
	expect 'e.data["resume_from"] == "two" and e.data["completed_steps"] == ["one"] and e.data["at"] == 3'
	call plain
	expect 'e.data == {"at": 3}'
	body slow 'timeout = "300ms",' <<<'ctx:sleep(5)'
	body waits <<<'return ctx:call("slow")'
	call waits
	expect 'e.error.code == "TIMEOUT" and e.error.suggestion.startswith("slow: ")'
}

@test "its failure is the same, and its secrets are masked, through every door" {
	local door
	: >bad
	for door in "${DOORS[@]}"; do
		echo "$door"
		through "$door"
		has 'e["error"]["code"] == "CONFLICT" and e["error"]["message"].endswith("no ***")'
		[[ $door == workflow || $door == watch ]] || has 'e["error"]["context"] == {"a": 1}'
		[ "$(grep -c "$SECRET" out.txt err.txt | grep -vc ':0$')" -eq 0 ]
		grep -q 'logged \*\*\*' err.txt || [[ $door == mcp || $door == job ]]
	done
	rm bad
	for door in direct call parallel watch exec mcp job; do
		through "$door"
		grep -q '"token": *"\*\*\*"' out.txt
		[ "$(grep -c "$SECRET" out.txt err.txt | grep -vc ':0$')" -eq 0 ]
	done
}

# on_terminal COMMAND…: what a terminal shows, in `seen`
on_terminal() {
	env -i "${CLEAN_ENV[@]}" TERM=xterm RUNNER_PLAIN="$plain" script -qec "$RUNNER $*" /dev/null </dev/null | tr -d '\r' |
		sed 's/\x1b\[[0-9;?]*[A-Za-z]//g' >seen
}

@test "at a terminal its lines are text through every door, and no envelope is printed" {
	local how bad plain
	for bad in '' bad; do
		for plain in 0 1; do
			for how in inner call needs above parallel 'watch --runs 1 -- inner' 'workflow run w.yaml'; do
				echo "$how $plain $bad"
				rm -f bad
				[ -z "$bad" ] || : >bad
				on_terminal "$how"
				[[ $how$plain == 'workflow run w.yaml0' ]] || grep -q 'warn: logged \*\*\*' seen # its tree shows the last line
				[[ $how$plain == 'workflow run w.yaml0' ]] || grep -q 'inner failed (attempt 1/3): UNAVAILABLE: busy' seen
				grep -q 'beware of \*\*\*' seen
				[ "$(grep -cE '\{"(level|ok|event)"' seen)" -eq 0 ]
				[ "$(grep -c "$SECRET" seen)" -eq 0 ]
			done
		done
	done
}

# --- one budget ------------------------------------------------------------------------------

# tries OUTER_RETRIES INNER_RETRIES FLAGS…: how often the innermost command ran
tries() {
	rm -f runs
	body always "retry = { retries = $2, delay = 0 }," <<-'LUA'
		local f = io.open("runs", "a") f:write("x") f:close()
		ctx:fail("UNAVAILABLE", "busy")
	LUA
	body middle <<<'return ctx:call("always")'
	body outer "retry = { retries = $1, delay = 0 }," <<<'return ctx:call("middle")'
	call outer "${@:3}"
	expect 'e.error.code == "UNAVAILABLE"'
	expect "e.meta['retries'] == $(($(wc -c <runs) - 1)) if $(wc -c <runs) > 1 else 'retries' not in e.meta"
	wc -c <runs
}

@test "a call and all that it calls have one budget: levels don't multiply, and what is left over is used" {
	[ "$(tries 0 2)" -eq 3 ]
	[ "$(tries 2 5)" -eq 3 ]
	[ "$(tries 3 1)" -eq 4 ]
	[ "$(tries 2 0)" -eq 3 ]
	[ "$(tries 5 5 --retries 0)" -eq 1 ]
	[ "$(tries 0 5 --retries 2)" -eq 3 ]
	[ "$(tries 1 1 --retries 4)" -eq 5 ]
}

@test "needs share the retries that are left, whichever of them ends first" {
	local name
	for name in a b c; do
		body "$name" 'retry = { retries = 9, delay = 0 },' <<-LUA
			local f = io.open("runs", "a") f:write("$name") f:close()
			if ctx.attempt <= #ctx:settings() + 1 then ctx:fail("UNAVAILABLE", "busy") end
		LUA
	done
	body all 'needs = { "a", "b", "c" },' <<<'return {}'
	call all --retries 3
	expect 'e.ok and e.meta["retries"] == 3'
	[ "$(fold -w1 <runs | sort | tr -d '\n')" = aabbcc ]
	rm runs
	call all --retries 1
	expect 'e.error.code == "UNAVAILABLE" and e.meta.get("retries", 0) <= 1'
}

@test "loops inside a callee are bounded by --retries of the caller, and not by its declared retries" {
	body loops <<-'LUA'
		local n = 0
		ctx:retry(function() n = n + 1 if n < 4 then ctx:fail("UNAVAILABLE", "busy") end end, { retries = 5, delay = 0 })
		return { n = n }
	LUA
	body outer 'retry = { retries = 1, delay = 0 },' <<<'return ctx:call("loops")'
	call outer
	expect 'e.data == {"n": 4} and e.meta["retries"] == 3'
	call outer --retries 1
	expect 'e.error.code == "UNAVAILABLE" and e.meta["retries"] == 1'
}

@test "each attempt of a callee is a fresh one, with its arguments and its stdin" {
	body again 'retry = { retries = 2, delay = 0 }, args = { { "word", "string", secret = true } },' <<-'LUA'
		seen = (seen or 0) + 1
		if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "busy") end
		return { seen = seen, word = #args.word, attempt = ctx.attempt }
	LUA
	body outer <<<'return ctx:call("again", { word = "abc" })'
	call outer
	expect 'e.data == {"seen": 1, "word": 3, "attempt": 3}'
}
