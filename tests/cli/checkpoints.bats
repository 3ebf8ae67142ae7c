#!/usr/bin/env bats
# Checkpoints: a command that can resume saves how far it is, and the same call goes on from there.

load lib/helper

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	KEPT=$XDG_STATE_HOME/runner/checkpoints
	echo 'return {}' >runner.lua
	touch units
}

# resuming NAME [KEYS…] <<<body: work of four units, each a line of `units`; the body runs after each
resuming() {
	local name=$1
	shift
	{
		cat <<'LUA'
		local from = ctx:restore(args.etag)
		local state = from or { done = 0, total = 4, unit = "units" }
		for i = state.done + 1, state.total do
			local f = io.open("units", "a") f:write(i, "\n") f:close()
			state.done = i
			ctx:checkpoint(state)
LUA
		cat
		printf '\nend return { units = state.done, from = from and "checkpoint" or "start" }\n'
	} | body "$name" 'interruption = { resume = true }, args = { { "etag", "string" }, { "token", "string", secret = true } },' "$@"
}

changes() {
	sed -i 's/"safe"/"mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }/' "commands/$1.lua"
}

saved() {
	find "$KEPT" -name '*.json' | wc -l
}

units() {
	tr '\n' ' ' <units
}

no_process_left() {
	[ -z "$(processes_left)" ]
}

@test "REQ-C-035 a call that is killed goes on from its checkpoint when it is made again, and no unit is done twice" {
	resuming work <<<'if i == 2 and not from then os.execute("kill -9 $PPID") ctx:sleep(60) end'
	call work
	[ "$status" -ne 0 ]
	[ "$(saved)" -eq 1 ]
	[ -z "$(find "$KEPT" -perm /077)" ]
	answers 0 work
	expect 'e.data == { "units": 4, "from": "checkpoint" }'
	[ "$(units)" = '1 2 3 4 ' ]
	[ "$(saved)" -eq 0 ]
	call work # complete work begins again at the beginning
	[ "$(units)" = '1 2 3 4 1 2 ' ]
}

@test "REQ-C-035 another attempt of the same call goes on from the checkpoint" {
	resuming work 'retry = { retries = 1, delay = 0 },' <<<'if i == 3 and ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "gone") end'
	answers 0 work
	expect 'e.data == { "units": 4, "from": "checkpoint" } and e.meta.attempt == 2 and e.warnings == []'
	[ "$(units)" = '1 2 3 4 ' ]
}

@test "REQ-C-035 another argument, directory or idempotency key is another call" {
	resuming work <<<'if i == 2 then ctx:fail("UNAVAILABLE", "gone") end'
	answers 12 work
	mkdir elsewhere
	touch elsewhere/units
	answers 12 work --etag a
	answers 12 --cwd elsewhere work
	[ "$(saved)" -eq 3 ]
	[ "$(units)" = '1 2 1 2 ' ]
}

@test "REQ-C-035 a checkpoint of another input, file or form is discarded with a warning, and the work starts over" {
	body work 'interruption = { resume = true },' <<'LUA'
		local from = ctx:restore(io.open("etag"):read "a")
		ctx:checkpoint{ done = from and from.done + 1 or 1 }
		ctx:fail("UNAVAILABLE", "gone", { data = { from = from or false } })
LUA
	discarded() {
		answers 12 work
		expect "[(w['code'], w['context']) for w in e.warnings] == [('CHECKPOINT_DISCARDED', { 'reason': '$1' })]"
		expect 'e.data["from"] is False'
	}
	echo one >etag
	answers 12 work
	answers 12 work
	expect 'e.data["from"] == { "done": 1 } and e.warnings == []'
	echo two >etag
	discarded fingerprint
	echo '-- changed' >>commands/work.lua
	discarded command
	local broken
	for broken in '' '{' '[]' '{"state":{}}' '{"state":3}'; do
		printf '%s' "$broken" >"$(echo "$KEPT"/*/*.json)"
		discarded unreadable
	done
}

@test "REQ-C-035 a state without done, with a secret or of more than 1 MiB is a bug of the command" {
	local state
	for state in '' '3' '{}' '{ done = "1" }' '{ done = 0/0 }' '{ done = 1, fn = print }' \
		'{ done = 1, text = ("x"):rep(1 << 20) }' '{ done = 1, deep = { key = "it is " .. args.token } }'; do
		body wrong 'interruption = { resume = true }, args = { { "token", "string", secret = true } },' <<<"ctx:checkpoint($state)"
		answers 1 TOKEN_VALUE=s3cretvalue wrong --token-from-env TOKEN_VALUE
		expect 'e.error.code == "INTERNAL_ERROR" and "ctx:checkpoint" in e.error.message and e.error.retryable is False'
		[ "$(saved)" -eq 0 ]
	done
	body undeclared <<<'ctx:restore()'
	answers 1 undeclared
	expect '"interruption" in e.error.fix_required'
}

@test "REQ-C-035 of two such calls at once, the second waits for the first, and then says who has the checkpoint" {
	mkfifo gate
	resuming work <<<'if i == 1 and not from then io.open("marker", "w"):close() io.open("gate"):close() end'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" work --format json >first.txt 2>/dev/null </dev/null 3>&- &
	local first=$!
	until_true [ -e marker ]
	answers 4 work --retries 0
	expect 'e.error.code == "LOCK_HELD"'
	: >gate
	wait "$first"
	[ "$(units)" = '1 2 3 4 ' ]
}

@test "REQ-C-035 without a place to keep it, a checkpoint fails before the work does" {
	resuming work <<<''
	touch "$PWD/file"
	answers 4 XDG_STATE_HOME=relative HOME=relative work
	expect 'e.error.code == "PRECONDITION" and "XDG_STATE_HOME" in e.error.suggestion'
	call XDG_STATE_HOME="$PWD/file" work
	[ "$status" -ne 0 ]
	[ "$(units)" = '' ]
}

@test "REQ-C-035 a job saves to the same checkpoint, and cancelling it drops that" {
	mkfifo gate
	resuming work <<<'if i == 2 and not from then io.open("marker", "w"):close() io.open("gate"):close() end'
	local id
	answers 0 work --detach
	id=$(field e.data.job_id)
	until_true [ -e marker ]
	[ "$(saved)" -eq 1 ]
	answers 0 job cancel "$id"
	expect 'e.data.status == "cancelled"'
	[ "$(saved)" -eq 0 ]
	rm marker
	answers 0 work --detach
	id=$(field e.data.job_id)
	until_true [ -e marker ]
	processes_left | grep -o '[0-9]*' | xargs -r kill -9 || true # one of them may end with another
	until_true no_process_left
	answers 0 work
	expect 'e.data["from"] == "checkpoint"'
}

@test "REQ-C-035 what cleanup saves after a success is not there for the next call" {
	body work 'interruption = { resume = true }, cleanup = function(ctx) ctx:checkpoint{ done = 9 } end,' <<'LUA'
		local from = ctx:restore()
		ctx:defer(function() ctx:checkpoint{ done = 8 } end)
		ctx:checkpoint{ done = 1 }
		return { from = from or false }
LUA
	answers 0 work
	[ "$(saved)" -eq 0 ]
	answers 0 work
	expect 'e.data["from"] is False and e.warnings == []'
}

@test "REQ-C-035 other data on stdin is another call, for a job as well" {
	body work 'interruption = { detach = true, resume = true }, stdin = { type = "json" },' <<'LUA'
		local from = ctx:restore()
		ctx:checkpoint{ done = 1, of = ctx.input }
		if not from then ctx:fail("UNAVAILABLE", "gone") end
		return { from = from.of, now = ctx.input }
LUA
	echo '[1]' >one
	echo '[2]' >two
	answers 12 work --input-file one --budget 1m
	answers 12 work --input-file two --budget 0
	[ "$(saved)" -eq 2 ]
	answers 0 work --input-file one --budget 1m
	expect 'e.data == { "from": [1], "now": [1] } and e.meta.job.exit_code == 0'
	[ "$(saved)" -eq 1 ]
}

@test "REQ-C-035 a dry run saves nothing and restores nothing" {
	body work 'interruption = { resume = true }, dry_run = true,' <<<'ctx:checkpoint{ done = 1 } return { effect = "noop", found = ctx:restore() or false }'
	changes work
	answers 0 work --dry-run
	expect 'e.data.found is False'
	[ ! -e "$KEPT" ]
}

@test "REQ-F-082 work that is over its budget is paused at a checkpoint, and continue_command ends in the answer" {
	resuming work 'retry = { retries = 3, delay = 0 },' <<<''
	answers 14 work --budget 1ms
	expect 'e.error.code == "INCOMPLETE" and e.error.retryable is True and e.error.side_effects == "none" and e.meta.budget_ms == 1'
	expect 'e.data.state == "paused" and e.data.progress == { "done": 1, "total": 4, "unit": "units" } and e.meta.attempt == 1'
	expect 'e.data.continue_command == "runner work --budget 1ms" and e.data.job_id.startswith("work_")'
	local before=0 now id
	id=$(field e.data.job_id)
	while [ "$status" -eq 14 ]; do
		expect "e.data.job_id == '$id'"
		now=$(field e.data.progress.done)
		[ "$now" -gt "$before" ]
		before=$now
		# shellcheck disable=SC2046 # it is a command line
		call $(field 'e.data.continue_command[7:]')
	done
	[ "$status" -eq 0 ]
	expect 'e.data.units == 4'
	[ "$(units)" = '1 2 3 4 ' ]
	answers 0 AGENT_CALL_BUDGET_MS=1 work --budget 0
	expect 'e.meta.budget_ms == 0 and e.data["from"] == "start"'
}

@test "REQ-F-082 the progress of paused work keeps the total and the unit that ctx:progress said, in later calls, too" {
	body work 'interruption = { resume = true },' <<'LUA'
		local state = ctx:restore()
		if not state then ctx:progress { done = 0, total = 3, unit = "files" } end
		for i = (state and state.done or 0) + 1, 3 do ctx:sleep(0.01) ctx:checkpoint { done = i } end
LUA
	local n
	for n in 1 2; do
		answers 14 work --budget 1ms
		expect "e.data.progress == { 'done': $n, 'total': 3, 'unit': 'files' }"
	done
}

@test "REQ-F-082 a writer goes on under its idempotency key, which has the answer once it is complete" {
	resuming write <<<''
	changes write
	sed -i 's/return { units/return { effect = "created", units/' commands/write.lua
	answers 14 write --idempotency-key k --budget 1ms
	expect 'e.error.retryable is False and e.error.side_effects == "partial" and "--idempotency-key k" in e.data.continue_command'
	answers 0 write --idempotency-key k --budget 0
	expect 'e.data.effect == "created"'
	answers 0 write --idempotency-key k --budget 0
	expect 'e.data.effect == "noop" and e.meta.idempotency_hit is True'
	[ "$(units)" = '1 2 3 4 ' ]
}

@test "REQ-C-033 what can resume declares it, and its stdin makes another call" {
	local keys
	for keys in 'interruption = { resume = false }' 'interruption = { resume = 1 }' 'interruption = { resume = true, detach = 3 }' \
		'interruption = { resume = true }, stdin = true' 'interruption = { resume = true }, async = true'; do
		body wrong "$keys," <<<'return {}'
		answers 4 wrong
		expect 'e.error.code == "COMMAND_INVALID"'
	done
	rm commands/wrong.lua
	body right 'interruption = { resume = true },' <<<'return {}'
	answers 0 manifest right
	expect 'e.data.commands.right.interruption.resume is True and e.data.commands.right.interruption.detach is False'
}
