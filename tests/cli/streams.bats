#!/usr/bin/env bats
# Commands that emit rows while they run: what is on stdout when, and what ends it: the
# summary, an error, a signal, a limit, or a reader that leaves or stalls.

load lib/helper

prepare() {
	command_file events <<'LUA'
return { description = "x", danger_level = "safe", streams = true, steps = { "look" },
	args = { { "n", "integer", default = 3 }, { "wait", "boolean" }, { "fail", "boolean" } },
	run = function(args, ctx)
		ctx:step "look"
		for i = 1, args.n do ctx:emit{ id = i, name = "event " .. i } end
		if args.wait then io.open("marker", "w"):close() ctx:sleep(30) end
		if args.fail then ctx:fail("UNAVAILABLE", "gone") end
		return { skipped = 1 }
	end, cleanup = function() io.open("cleaned", "w"):close() end }
LUA
}

# lines EXPR: it holds for `rows`, the lines of out.txt as JSON.
lines() {
	python3 -c 'import json, sys
rows = [json.loads(line) for line in open("out.txt", encoding="utf-8")]
assert eval(sys.argv[1]), rows' "$1"
}

# waits: it counts no further.
waits() {
	local before
	before=$(<count) && [ -n "$before" ] && sleep 0.3 && [ "$(<count)" = "$before" ]
}

# alone FILE: the command has made it, and of this test's processes only the supervisor is left.
alone() {
	[ -e "$1" ] && [ "$(processes_left | wc -l)" -eq 1 ]
}

# last_line: out.txt is its last line from now on.
last_line() {
	tail -n 1 out.txt >last.txt
	mv last.txt out.txt
}

@test "REQ-O-004 --stream and --format jsonl print rows and one summary with their number" {
	local flag
	for flag in --stream --format=jsonl; do
		call events "$flag"
		[ "$status" -eq 0 ]
		lines '[r.get("id") for r in rows] == [1, 2, 3, None]'
		lines 'rows[3]["_summary"] is True and rows[3]["_count"] == 3 and rows[3]["data"] == {"skipped": 1}'
		lines 'rows[3]["duration_ms"] >= 0 and rows[3]["meta"]["exit_code"] == 0 and "ok" not in rows[3]'
	done
	call events --stream --n 0
	lines 'len(rows) == 1 and rows[0]["_count"] == 0'
}

@test "REQ-O-004 json, and --no-stream, stay one envelope with the rows as items" {
	local flag
	for flag in --no-stream --format=json; do
		answers 0 events "$flag"
		expect 'e.data == {"items": [{"id": i, "name": "event %d" % i} for i in (1, 2, 3)], "skipped": 1}'
	done
	call events --format tsv
	[ "$stdout" = $'id\tname\n1\tevent 1\n2\tevent 2\n3\tevent 3' ]
	call events --format jsonl --output there.jsonl
	[ "$(wc -l <there.jsonl)" -eq 3 ]
}

@test "REQ-O-004 --stream against another --format exits 2; a command without streams is STREAMING_NOT_SUPPORTED" {
	answers 2 events --stream --format json
	expect 'e.error["errors"][0]["field"] == "stream"'
	call RUNNER_FORMAT=json events --stream
	lines 'rows[-1]["_summary"] is True'
	body plain <<<'return {}'
	local flag
	for flag in --stream --no-stream; do
		answers 2 plain $flag
		expect "e.error.code == 'STREAMING_NOT_SUPPORTED' and '$flag' in e.error.fix_required and e.error.phase == 'validation'"
		answers 2 status $flag
		expect 'e.error.code == "STREAMING_NOT_SUPPORTED"'
	done
	answers 2 plain --stream --bogus
	expect '[p["code"] for p in e.error["errors"]] == ["STREAMING_NOT_SUPPORTED", "UNKNOWN_FLAG"] and e.error.code == "VALIDATION_ERROR"'
}

@test "REQ-F-053 a row is there before the command ends" {
	mkfifo pipe
	env -i "${CLEAN_ENV[@]}" "$RUNNER" events --wait --stream >pipe 3>&- &
	local pid=$! first
	exec 4<pipe
	read -r -t 150 first <&4
	[ "$first" = '{"id":1,"name":"event 1"}' ]
	kill -0 "$pid"
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	exec 4<&-
	[ "$status" -eq 143 ]
}

@test "REQ-O-004 SIGINT ends a stream with CANCELLED, data.partial and the number of rows" {
	cancel INT events --wait --stream
	[ "$status" -eq 130 ]
	lines '[r.get("id") for r in rows[:3]] == [1, 2, 3]'
	last_line
	assert_envelope
	expect 'e.error["code"] == "CANCELLED" and e.data["partial"] is True and e.meta["items_emitted"] == 3'
	[ -e cleaned ]
	assert_no_process_left
}

@test "REQ-O-004 a failure and a timeout end a stream with their envelope" {
	call events --fail --stream
	[ "$status" -eq 12 ]
	lines 'len(rows) == 4'
	last_line
	assert_envelope
	expect 'e.error["code"] == "UNAVAILABLE" and e.meta["items_emitted"] == 3'
	reaching marker events --wait --stream
	[ "$status" -eq 10 ]
	last_line
	assert_envelope
	expect 'e.error["code"] == "TIMEOUT" and e.meta["items_emitted"] == 3'
	call events --n many --stream
	[ "$status" -eq 2 ]
	assert_envelope
}

@test "a reader that leaves ends a safe command well, and its cleanup runs" {
	env -i "${CLEAN_ENV[@]}" "$RUNNER" events --n 100000000 --stream 2>err.txt | head -n 2 >out.txt
	[ "${PIPESTATUS[0]}" -eq 0 ]
	lines 'len(rows) == 2'
	[ ! -s err.txt ]
	[ -e cleaned ]
	assert_no_process_left
}

@test "a command that changes something goes on to its end without its reader, and exits 1" {
	command_file change <<'LUA'
return { description = "x", danger_level = "mutating", timeout = "none", streams = true, run = function(_, ctx)
	for i = 1, 20000 do ctx:emit{ id = i } end
	io.open("finished", "w"):close()
end }
LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" change --stream 2>err.txt | head -n 2 >out.txt
	[ "${PIPESTATUS[0]}" -eq 1 ]
	grep -q OUTPUT_FAILED err.txt
	[ -e finished ]
}

@test "a reader that stalls holds the command back but not its deadline, and loses no row" {
	command_file count <<'LUA'
return { description = "x", danger_level = "safe", streams = true, run = function(_, ctx)
	local f = io.open("count", "w")
	for i = 1, 1 / 0 do
		ctx:emit{ id = i, text = ("x"):rep(1000) }
		f:seek "set" f:write(i) f:flush()
	end
end }
LUA
	mkfifo pipe
	env -i "${CLEAN_ENV[@]}" "$RUNNER" count --stream --timeout 8s >pipe 3>&- &
	local pid=$! before
	exec 4<pipe
	until_true test -s count
	until_true waits
	before=$(<count)
	[ "$before" -lt 5000 ]
	until_true alone count # the deadline is over
	[ "$(<count)" -le $((before + 5000)) ]
	cat <&4 >out.txt
	exec 4<&-
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 10 ]
	lines '[r["id"] for r in rows[:-1]] == list(range(1, len(rows)))'
	lines 'rows[-1]["error"]["code"] == "TIMEOUT" and rows[-1]["meta"]["items_emitted"] == len(rows) - 1'
}

@test "after a row there is no retry, unless rows_may_repeat; then rows have their attempt" {
	body flaky 'streams = true, retry = { retries = 2, delay = "1ms" },' <<<'ctx:emit{ id = 1 } if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "no") end'
	call flaky --stream
	[ "$status" -eq 12 ]
	lines 'len(rows) == 2 and [w["code"] for w in rows[1]["warnings"]] == ["ROWS_WRITTEN"]'
	answers 0 flaky --format json
	expect 'e.data == {"items": [{"id": 1}]} and e.meta["attempt"] == 3'
	sed -i 's/streams = true,/streams = true, rows_may_repeat = true,/' commands/flaky.lua
	call flaky --stream
	[ "$status" -eq 0 ]
	lines 'rows[:3] == [{"id": 1, "attempt": n} for n in (1, 2, 3)] and rows[3]["_count"] == 3'
}

@test "REQ-O-038 heartbeats come in the silence of jsonl, and elsewhere when asked for" {
	body slow 'timeout = "5m", steps = { "wait" },' <<<'ctx:step "wait" while not io.open "go" do ctx:sleep "20ms" end'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" slow --heartbeat-ms 200 >out.txt 2>err.txt </dev/null 3>&- &
	until_true has_beaten
	touch go
	wait $!
	# (the first may come before the command has begun)
	lines 'all(set(r) - {"step"} == {"status", "heartbeat", "elapsed_ms"} for r in rows[:-1])'
	lines 'rows[0]["status"] == "running" and rows[0]["heartbeat"] is True and 200 <= rows[0]["elapsed_ms"] <= rows[1]["elapsed_ms"]'
	lines 'rows[-2]["step"] == "wait" and rows[-1]["ok"] is True'
	body slow 'steps = { "wait" },' <<<'ctx:step "wait" ctx:sleep(1)'
	answers 0 slow --heartbeat-ms 0
	answers 0 slow
	call slow --heartbeat-ms 200 --format tsv
	printf 'value\n\n' | cmp - out.txt
}

has_beaten() {
	[ "$(grep -c '"step":"wait"' out.txt)" -ge 2 ]
}

# It reports one thing after another, and goes on to the next when the file `marker` is removed.
reporting() {
	body report 'timeout = "5m", steps = { "wait" },' <<-'LUA'
		ctx:step "wait"
		for _, said in ipairs { false, "Connecting to\nthe \27[31mdatabase, token=hunter2", 0.5, { done = 3, total = 10, unit = "files" } } do
			if said then ctx:progress(said) end
			io.open("marker", "w"):close()
			while io.open("marker") do ctx:sleep "20ms" end
		end
	LUA
}

# beats TEXT: lines on stderr say so, and nothing else is there
beats() {
	until_true grep -qF "$1" err.txt
	rm marker
	until_true [ -e marker ] || until_true [ -s out.txt ]
}

@test "REQ-O-012 --heartbeat-interval prints a plain line on stderr with the last progress, and --quiet none" {
	reporting
	env -i "${CLEAN_ENV[@]}" "$RUNNER" report --heartbeat-interval 0.1 >out.txt 2>err.txt </dev/null 3>&- &
	helper_pid=$!
	until_true [ -e marker ]
	beats "] wait"
	beats "] Connecting to the database, token=[REDACTED]"
	beats "]  50%"
	until_true grep -qF "] 3/10 files" err.txt
	rm marker
	status=0
	wait "$helper_pid" || status=$?
	helper_pid=
	[ "$(grep -cvE '^\[[0-9]+s\] ' err.txt)" -eq 0 ]
	stdout=$(<out.txt)
	assert_envelope
	body nap <<<'ctx:sleep "500ms"'
	answers 0 nap --heartbeat-interval 0.1 --quiet
	[ ! -s err.txt ]
	body seen 'timeout = "2m",' <<<'while not io.open("err.txt"):read("a"):find "running" do ctx:sleep "20ms" end'
	answers 0 seen --heartbeat-interval 100ms
	grep -qEx '\[[0-9]+s\] running' err.txt
	answers 2 nap --heartbeat-interval 0
	answers 2 nap --heartbeat-interval x
	body own 'args = { { "heartbeat_interval", "integer" } },' <<<'return { got = args.heartbeat_interval }'
	answers 0 own --heartbeat-interval 7
	expect 'e.data == {"got": 7}'
	body again 'retry = { retries = 1, delay = "2s", jitter = "none" },' <<<'if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "x") end return {}'
	answers 0 again --heartbeat-interval 0.1
	grep -qE '^\[[0-9]+s\] running' err.txt
}

@test "on a terminal rows are a table that grows, and what later rows add stands at their end" {
	body grow 'streams = true, columns = { "name" },' <<'LUA'
ctx:emit{ id = 1, name = "a" } ctx:emit{ id = 22, name = "b\27[31m", more = "new" } return { skipped = 4 }
LUA
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER grow" /dev/null </dev/null | tr -d '\r' >out.txt
	grep -q 'grow: warning: Invalid UTF-8, NUL or ANSI sequences were removed' out.txt
	diff <(grep -v warning: out.txt) - <<'TEXT'
name            id
a                1
b               22  more: new
skipped: 4
TEXT
}

@test "what is no row, and ctx:emit without streams, is the author's mistake and says so" {
	local row
	for row in 1 '{ 1, 2 }' '{ _summary = true }' '{ heartbeat = true }' '{ ok = true, error = 1 }' '{ f = print }'; do
		body wrong 'streams = true,' <<<"ctx:emit($row)"
		call wrong --stream
		[ "$status" -eq 1 ]
		assert_envelope
		expect 'e.error["code"] == "INTERNAL_ERROR" and "ctx:emit" in e.error["message"]'
	done
	body undeclared <<<'ctx:emit{ a = 1 }'
	answers 1 undeclared
	expect 'e.error["fix_required"] == "Declare streams = true"'
	body listed 'streams = true,' <<<'return { 1, 2 }'
	call listed --stream
	expect 'e.error["code"] == "INVALID_RESULT"'
}

@test "a row that is refused says so in the same words wherever it comes, and leaves nothing of itself" {
	command_file odd <<'LUA'
local tried = { 1, "x", {}, { 1, 2 }, { nil, 2 }, { nil, 2, x = 1 }, json.array {}, { [1.5] = 1 }, { _summary = true }, { _seq = 1 },
	{ heartbeat = true }, { ok = true, error = 1 }, { f = print }, { a = { b = { print } } }, { ["\xff"] = 1, ["\xfe"] = 2 },
	{ a = ("x"):rep(2 ^ 20) }, { a = ("x"):rep(2 ^ 20 - 20) }, { a = "sk-0123456789012345678901234567" }, { ok = true }, { heartbeat = 1 },
	setmetatable({ a = 1 }, { __index = { _seq = 1 } }), setmetatable({ a = 1 }, { __len = function() return 3 end }) }
tried[#tried + 1] = { own = tried }
tried[#tried].own = tried[#tried]
local function said(ctx, ...)
	local ok, why = pcall(function(...) ctx:emit(...) end, ...)
	return ok or (type(why) == "table" and why.message or why):gsub("^.-: ", "")
end
return { description = "x", danger_level = "safe", streams = true, args = { { "which", "integer" } }, run = function(args, ctx)
	if args.which then return { said = said(ctx, tried[args.which]) } end
	local all = json.array {}
	for i, row in ipairs(tried) do ctx:emit { before = i } all[i] = said(ctx, row) end
	all[#all + 1] = said(ctx, { a = 1 }, 2)
	local mine = setmetatable({}, { __index = ctx })
	mine:emit { from = "what inherits from ctx" }
	local given = ctx.emit
	function ctx.emit(c, row) row.more = true given(c, row) end
	ctx:emit { own = true }
	return { said = all }
end }
LUA
	sed -i '1i local json = require "json"' commands/odd.lua
	call odd --stream
	[ "$status" -eq 0 ]
	cp out.txt all.txt
	for ((which = 1; which <= 23; which++)); do
		call odd --which "$which" --stream
		[ "$status" -eq 0 ]
		tail -n 1 out.txt >>single.txt
		sed -n '$!p' out.txt >>rows.txt
	done
	python3 - <<'PY'
import json
lines = [json.loads(line) for line in open("all.txt")]
said, single = lines[-1]["data"]["said"], [json.loads(line)["data"]["said"] for line in open("single.txt")]
assert said[:23] == single, [pair for pair in zip(said, single) if pair[0] != pair[1]]
assert [i + 1 for i, text in enumerate(single) if text is True] == [3, 17, 18, 19, 20, 22], single
assert "argument" in said[23] or "arguments" in said[23], said[23]
rows = [json.loads(line) for line in open("rows.txt")]
assert [row for row in lines[:-3] if "before" not in row] == rows and len(rows) == 6, rows
assert rows[2] == {"a": "[KEY: sk-01234...]"}, rows[2]
assert [row["before"] for row in lines[:-3] if "before" in row] == list(range(1, 24))
assert lines[-3:-1] == [{"from": "what inherits from ctx"}, {"own": True, "more": True}], lines[-3:-1]
assert lines[-1]["_count"] == len(lines) - 1
PY
}

@test "a worker that is killed loses no row that ctx:emit has returned from" {
	body killed 'streams = true,' <<<'for i = 1, 5000 do ctx:emit{ id = i } end os.execute "kill -9 $PPID" ctx:sleep(30)'
	call killed --stream
	[ "$status" -ne 0 ]
	lines '[r.get("id") for r in rows[:-1]] == list(range(1, 5001))'
	lines 'rows[-1]["ok"] is False and rows[-1]["meta"]["items_emitted"] == 5000'
}

@test "secret arguments stay secret in rows" {
	body hide 'streams = true, args = { { "token", "string", secret = true } },' <<<'ctx:emit{ t = "x" .. args.token }'
	call T=s3cr3t-value hide --token-from-env T --stream
	lines 'rows[0] == {"t": "x***"}'
}

@test "REQ-O-004 the stream checks of runner conformance pass" {
	cat >profile.json <<JSON
{"schema_version": "1.0", "tool": "runner", "command": ["$RUNNER"], "timeout_seconds": 20, "probes": [
	{"name": "events", "argv": ["events", "--stream"], "kind": "stream"},
	{"name": "interrupted", "argv": ["events", "--stream", "--wait"], "kind": "stream",
		"signal": "INT", "after_lines": 2, "deadline_seconds": 20}]}
JSON
	call conformance profile.json
	expect '[(c["id"], c["status"]) for c in e.data["checks"] if c["id"].startswith("stream")] == [("stream_contract", "pass"), ("stream_sigint", "pass")]'
}

changing_rows() {
	command_file change <<LUA
return { description = "x", danger_level = "mutating", timeout = "none", streams = true, run = function(_, ctx)
	ctx:emit{ id = 1, effect = "created" } ctx:emit{ id = 2, effect = "noop" } ctx:emit{ id = 3, effect = "created" }
	local f = io.open("runs", "a") if f then f:write("x") f:close() end
	return { done = 3 }
end }
LUA
}

@test "REQ-C-003 rows of a change have effects, and meta.effects counts them, streamed or not" {
	changing_rows
	call change --stream
	[ "$status" -eq 0 ]
	lines 'rows[-1]["meta"]["effects"] == {"created": 2, "noop": 1} and rows[-1]["warnings"] == []'
	answers 0 change --format json
	expect 'e.meta["effects"] == {"created": 2, "noop": 1} and e.warnings == [] and e.data["items"][0]["effect"] == "created"'
	sed -i 's/effect = "noop"/other = 1/' commands/change.lua
	call change --stream
	lines '[w["code"] for w in rows[-1]["warnings"]] == ["EFFECT_MISSING"] and "1 of its rows" in rows[-1]["warnings"][0]["message"]'
	body safe 'streams = true,' <<<'ctx:emit{ id = 1 }'
	call safe --stream
	lines '"effects" not in rows[-1]["meta"]'
}

@test "REQ-C-004 rows of a dry run say what they would do" {
	command_file change <<'LUA'
return { description = "x", danger_level = "mutating", timeout = "none", streams = true, dry_run = true, run = function(_, ctx)
	ctx:emit{ id = 1, effect = ctx.dry_run and "updated" or "created" } return { n = 1 } end }
LUA
	call change --stream --dry-run
	[ "$status" -eq 0 ]
	lines 'rows[0] == {"id": 1, "effect": "would_update", "dry_run": True} and rows[-1]["meta"]["effects"] == {"would_update": 1}'
}

@test "REQ-C-007 a key works where rows are kept, and is refused while they are streamed" {
	changing_rows
	mkdir state
	call XDG_STATE_HOME="$PWD/state" change --stream --idempotency-key k
	[ "$status" -eq 2 ]
	assert_envelope
	expect 'e.error["errors"][0]["field"] == "idempotency_key" and e.error["fix_required"]'
	[ ! -e runs ]
	answers 0 XDG_STATE_HOME="$PWD/state" change --format json --idempotency-key k
	answers 0 XDG_STATE_HOME="$PWD/state" change --format json --idempotency-key k
	expect 'e.meta["idempotency_hit"] is True and [r["id"] for r in e.data["items"]] == [1, 2, 3]'
	[ "$(<runs)" = x ]
}

@test "a reader that leaves in the middle of a row ends a safe command" {
	body wide 'streams = true,' <<<'for i = 1, 1 / 0 do ctx:emit{ id = i, text = ("x"):rep(200000) } end'
	env -i "${CLEAN_ENV[@]}" "$RUNNER" wide --stream --timeout 60s 2>err.txt | head -c 100000 >out.txt
	[ "${PIPESTATUS[0]}" -eq 0 ]
	[ "$(wc -c <out.txt)" -eq 100000 ]
	[ ! -s err.txt ]
	assert_no_process_left
}

# ends_unread CONDITION…: nobody reads what `wide` streams; a TERM that comes when the condition holds ends the wait for a
# reader, and the limit that has ended the command stays the verdict
ends_unread() {
	mkfifo never
	exec 4<>never
	env -i "${CLEAN_ENV[@]}" "$RUNNER" wide --stream >never 2>err.txt 3>&- 4<&- &
	local pid=$!
	until_true "$@"
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	exec 4<&-
	[ "$status" -eq 10 ]
	grep -q OUTPUT_FAILED err.txt
	assert_no_process_left
}

@test "where nobody ever reads, the limit ends the command, and a signal the wait for the reader" {
	body wide 'streams = true, timeout = "5s",' <<<'io.open("marker", "w"):close() for i = 1, 1 / 0 do ctx:emit{ id = i, text = ("x"):rep(200000) } end'
	ends_unread alone marker
}

@test "where nobody ever reads, a signal that comes while the limit ends the command ends the wait, too" {
	body wide 'streams = true, timeout = "5s", grace = "5s",' <<'LUA'
		ctx:emit{ text = ("x"):rep(200000) }
		ctx:run{ "sh", "-c", "trap 'touch asked' TERM; while :; do sleep 0.05; done" }
LUA
	ends_unread [ -e asked ]
}

@test "a command streams in calls that give the argument which switches that on, and returns its result in others" {
	command_file watch <<'LUA'
return { description = "x", danger_level = "safe", streams = "follow", rows = true, args = { { "follow", "boolean" } },
	run = function(args, ctx)
		if not args.follow then return { { id = 1 } } end
		ctx:emit { id = 2 }
		return { over = true }
	end }
LUA
	answers 0 watch
	expect 'e.data == [{"id": 1}]'
	call watch --stream
	lines 'rows == [{"id": 1}]'
	answers 0 watch --follow
	expect 'e.data == {"items": [{"id": 2}], "over": True}'
	call watch --follow --stream
	lines 'rows[0] == {"id": 2} and rows[1]["_count"] == 1 and len(rows) == 2'
	echo 'return { description = "x", danger_level = "safe", streams = "follow", args = { { "follow", "string" } }, run = print }' \
		| command_file wrong
	call wrong
	expect 'e.error.code == "COMMAND_INVALID" and "boolean argument" in e.error.message'
}

# described: rows that output_schema says more of than their values do.
described() {
	command_file described <<'LUA'
return { description = "x", danger_level = "safe", streams = true,
	output_schema = { type = "object", properties = { items = { type = "array", items = { type = "object", properties = {
		bytes = { format = "binary" }, list = { type = "array" }, where = { format = "path" },
		key = { type = "string", high_entropy = true }, names = { type = "array", ordered = false } } } } } },
	run = function(_, ctx)
		local row = { bytes = "\255\216\0\1", list = {}, where = "a", key = "abcdefghijklmnopqrstuvwxyz", names = { "b", "a" } }
		for i = 1, 3 do row.id = i ctx:emit(row) end
		return { untouched = row.bytes == "\255\216\0\1" and row.names[1] == "b" and getmetatable(row.list) == nil }
	end }
LUA
}

# as_described EXPR: of the rows that it gives
as_described() {
	[ "$status" -eq 0 ]
	lines "[(r['id'], r['bytes']['value'], r['bytes']['size_bytes'], r['list'], r['where'].endswith('/a'), r['names']) for r in $1] == [
		(i, '/9gAAQ==', 4, [], True, ['a', 'b']) for i in (1, 2, 3)]"
}

@test "a row is what output_schema means by it, streamed or kept: bytes are base64, and the author's table stays" {
	described
	call described --stream
	as_described 'rows[:3]'
	lines 'rows[3]["data"] == {"untouched": True} and rows[3]["warnings"] == []'
	call described --format json
	as_described 'rows[0]["data"]["items"]'
	lines 'rows[0]["data"]["untouched"] is True and rows[0]["warnings"] == []'
	call described --format jsonl --output kept.jsonl
	mv kept.jsonl out.txt
	as_described rows
	call described --stream --fields bytes,key
	lines '[sorted(r) for r in rows[:3]] == [["bytes", "key"]] * 3 and rows[2]["bytes"]["value"] == "/9gAAQ=="'
}

@test "a field of a row that is declared high_entropy is a mark wherever the row goes" {
	described
	local flag
	for flag in --stream --no-stream --format=json --format=tsv --format=plain --fields=key "--stream --fields=key"; do
		# shellcheck disable=SC2086
		call described $flag
		[ "$status" -eq 0 ]
		[ "$(grep -o 'KEY: abcdefgh\.\.\.' out.txt | wc -l)" -eq 3 ]
		! grep -q abcdefghi out.txt || return 1
	done
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER described" /dev/null </dev/null >out.txt
	[ "$(grep -o 'KEY: abcdefgh\.\.\.' out.txt | wc -l)" -eq 3 ]
	! grep -q abcdefghi out.txt || return 1
	call described --stream --unmask
	lines '[r["key"] for r in rows[:3]] == ["abcdefghijklmnopqrstuvwxyz"] * 3'
}

@test "what JSON can't hold of rows is repaired and told once, streamed or kept, of a failure too" {
	body odd 'streams = true, args = { { "fail", "boolean" } },' <<'LUA'
		for i = 1, 3 do ctx:emit{ id = i, ratio = 0 / 0, name = "a\255", token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz" } end
		if args.fail then ctx:fail("UNAVAILABLE", "gone") end
LUA
	local flag told='[(w["code"], w["context"]["count"]) for w in rows[-1]["warnings"]] == [("NONFINITE_NUMBER", 3), ("STRING_REPAIRED", 3)]'
	for flag in --stream "--stream --unmask" "--stream --fields id,ratio,name" --format=json "--stream --fail"; do
		# shellcheck disable=SC2086
		call odd $flag
		lines "$told"
	done
	call odd --format=json --fail
	lines 'rows[-1]["warnings"] == []'
}
