#!/usr/bin/env bats
# Answers that are too large: what is cut, and how the answer says so.

load lib/helper

prepare() {
	body items 'list = true, args = { { "n", "integer", default = 3000 }, { "size", "integer", default = 1000 } },' <<'LUA'
local out = {}
for i = 1, args.n do out[i] = { id = i, text = ("x"):rep(args.size) } end
return out
LUA
	body page 'truncates = true, args = { { "size", "integer", default = 2000000 } },' <<'LUA'
return { title = "t", body = ("é\n"):rep(args.size // 3), tags = { "a", "b" }, deep = { log = ("y"):rep(args.size // 2), n = 1 } }
LUA
	body rows 'truncates = true,' <<<'local out = {} for i = 1, 200000 do out[i] = "row " .. i end return out'
	body plain '' <<<'return { text = ("x"):rep(2000000) }'
}

@test "REQ-F-052 a list above 1 MiB ends at an item, says so, and its hint gets the rest" {
	answers 0 items --limit 0
	[ "$(wc -c <out.txt)" -le 1048576 ]
	[ "$(wc -c <out.txt)" -gt 1000000 ]
	expect 'e.meta["truncated"] is True and e.meta["total_count"] == 3000 and e.meta["returned_count"] == len(e.data) < 3000'
	expect 'e.meta["pagination"]["has_more"] and e.meta["pagination"]["returned"] == len(e.data)'
	expect 'e.meta["truncation_hint"] == "runner items --limit 0 --cursor=" + e.meta["pagination"]["next_cursor"]'
	local seen hint
	seen=$(field 'len(e.data)')
	while :; do
		hint=$(field 'e.meta.get("truncation_hint", "")')
		[ -n "$hint" ] || break
		eval "call ${hint#runner }"
		assert_envelope
		expect "e.data[0]['id'] == $seen + 1"
		seen=$((seen + $(field 'len(e.data)')))
	done
	[ "$seen" -eq 3000 ]
}

@test "REQ-F-052 below the cap nothing is said; --max-bytes and the variable move it" {
	answers 0 items --limit 100
	expect '"truncated" not in e.meta and "truncation_hint" not in e.meta and len(e.data) == 100'
	answers 0 items --limit 100 --max-bytes 20000
	[ "$(wc -c <out.txt)" -le 20000 ]
	expect 'e.meta["truncated"] and 10 < len(e.data) < 20'
	call RUNNER_MAX_OUTPUT_BYTES=20000 items --limit 100
	expect 'e.meta["truncated"] and 10 < len(e.data) < 20'
	call RUNNER_MAX_OUTPUT_BYTES=4MiB items --limit 0
	expect 'len(e.data) == 3000'
	answers 2 items --max-bytes 100
}

@test "REQ-F-052 one item that is larger than the cap comes cut, so that the pages go on" {
	answers 0 items --n 3 --size 50000 --limit 0 --max-bytes 20000
	expect 'len(e.data) == 1 and e.data[0]["id"] == 1 and e.data[0]["text"].endswith("…[truncated]") and e.meta["returned_count"] == 1'
	expect 'e.warnings[0]["code"] == "FIELD_TRUNCATED" and e.warnings[0]["context"]["field"] == "data.0.text"'
	[ "$(wc -c <out.txt)" -le 20000 ]
}

# The file that has what the answer had no room for: its mode, and what it holds.
kept() {
	local path
	path=$(field 'e.meta["rest"]["path"]')
	[ "$(stat -c %a "$path")" = 600 ]
	[ "$(stat -c %s "$path")" -eq "$(field 'e.meta["rest"]["bytes"]')" ]
	cp "$path" kept.json
}

@test "REQ-F-052 a result that is a list is cut where the command declares it, and is kept whole" {
	answers 0 rows
	[ "$(wc -c <out.txt)" -le 1048576 ]
	expect 'e.meta["total_count"] == 200000 and e.meta["returned_count"] == len(e.data) and e.data[-1] == "row %d" % len(e.data)'
	kept
	python3 -c 'import json; assert json.load(open("kept.json"))["data"] == ["row %d" % i for i in range(1, 200001)]'
	eval "$(field 'e.meta["truncation_hint"]')" >first.txt
	cmp first.txt <(head -c 1048576 kept.json)
}

@test "REQ-F-064 the longest texts of an object are cut, with a mark, a warning and their sizes" {
	answers 0 page
	[ "$(wc -c <out.txt)" -le 1048576 ]
	expect 'e.data["title"] == "t" and e.data["tags"] == ["a", "b"] and e.data["deep"]["n"] == 1'
	expect 'e.data["body"].endswith("…[truncated]") and e.meta["truncated"] is True and "total_count" not in e.meta'
	expect '[w["code"] for w in e.warnings] == ["FIELD_TRUNCATED"] * 2'
	expect 'e.warnings[0]["context"]["field"] == "data.body" and e.warnings[1]["context"]["field"] == "data.deep.log"'
	expect 'e.warnings[0]["context"]["original_bytes"] == 3 * (2000000 // 3) and e.warnings[1]["context"]["original_bytes"] == 1000000'
	expect 'e.warnings[0]["context"]["returned_bytes"] == len(e.data["body"].encode()) - len("…[truncated]".encode())'
	kept
	python3 -c 'import json; assert len(json.load(open("kept.json"))["data"]["body"]) == 2 * (2000000 // 3)'
	answers 0 page --max-bytes 4000000
	expect 'len(e.data["body"]) == 2 * (2000000 // 3) and "truncated" not in e.meta'
	answers 0 page --max-bytes 8192
	[ "$(wc -c <out.txt)" -le 8192 ]
	[ "$(wc -c <out.txt)" -gt 7000 ]
}

@test "REQ-F-052 what nobody has bounded is not cut; --max-bytes bounds any command" {
	answers 0 plain
	expect 'len(e.data["text"]) == 2000000 and "truncated" not in e.meta'
	call items --limit 0 --format jsonl
	[ "$(wc -l <out.txt)" -eq 3000 ]
	answers 0 plain --max-bytes 20000
	[ "$(wc -c <out.txt)" -le 20000 ]
	expect 'len(e.data["text"]) > 18000 and e.meta["rest"]["of"] == "answer"'
	answers 0 page --output whole.json --max-bytes 8192
	[ "$(wc -c <whole.json)" -gt 2000000 ]
	expect '"rest" not in e.meta'
}

@test "REQ-F-052 rows as text lose whole lines, and stderr says where the rest is" {
	call items --limit 0 --format jsonl --max-bytes 8192
	[ "$status" -eq 0 ]
	[ "$(wc -c <out.txt)" -le 8192 ]
	[ "$(wc -l <out.txt)" -eq 8 ]
	python3 -c 'import json; assert [json.loads(l)["id"] for l in open("out.txt")] == list(range(1, 9))'
	local path
	path=$(grep -o '/[^"]*/answers/req_[^"]*[.]txt' err.txt | head -n 1)
	[ "$(wc -l <"$path")" -eq 3000 ]
}

@test "an error is bounded too: its context, its texts and its warnings, and keeps its code and exit code" {
	body fails 'exit_codes = { NOT_FOUND = { description = "no" } },' <<-'LUA'
		for i = 1, 90 do ctx:warn("SLOW_DISK", ("w"):rep(500)) end
		ctx:fail("NOT_FOUND", ("m"):rep(9000), { suggestion = ("s"):rep(9000), context = { big = ("x"):rep(5000000), n = 1 } })
	LUA
	answers 5 fails
	[ "$(wc -c <out.txt)" -gt 5000000 ]
	answers 5 fails --max-bytes 4096
	[ "$(wc -c <out.txt)" -le 4096 ]
	expect 'e.error["code"] == "NOT_FOUND" and e.error["context"]["n"] == 1 and e.meta["truncated"] is True'
	kept
	python3 -c 'import json; e = json.load(open("kept.json")); assert len(e["error"]["context"]["big"]) == 5000000 and len(e["warnings"]) == 90'
}

@test "a result that no cut keeps in its form is OUTPUT_TOO_LARGE, with the place where it is" {
	local schema='output_schema = { type = "object", properties = { text = { type = "string", pattern = "^x+$" } } },'
	body strict "$schema"' danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' <<<'return { effect = "created", text = ("x"):rep(9000) }'
	answers 0 strict --max-bytes 20000
	expect 'len(e.data["text"]) == 9000'
	answers 1 strict --max-bytes 4096
	[ "$(wc -c <out.txt)" -le 4096 ]
	expect 'e.data is None and e.error["code"] == "OUTPUT_TOO_LARGE" and e.error["side_effects"] == "complete" and e.error["retryable"] is False'
	expect 'e.meta["rest"]["of"] == "data" and e.meta["rest"]["first"].startswith("{\"effect\":")'
	kept
	python3 -c 'import json; assert json.load(open("kept.json")) == {"effect": "created", "text": "x" * 9000}'
	body wide '' <<<'local out = {} for i = 1, 3000 do out["name" .. i] = i end return out'
	answers 1 wide --max-bytes 4096
	expect 'e.error["code"] == "OUTPUT_TOO_LARGE"'
	body loose 'output_schema = { type = "object", properties = { state = { enum = json.array { "up" } }, text = { type = "string" } } },' <<<'return { state = "up", text = ("x"):rep(9000) }'
	sed -i '1i local json = require "json"' commands/loose.lua
	answers 0 loose --max-bytes 4096
	expect 'e.data["state"] == "up" and e.data["text"].endswith("…[truncated]")'
}

@test "the policy narrows it, exec passes it on, and what a command calls answers to it in whole" {
	body outer '' <<<'return { n = #ctx:call("plain").text }'
	echo '{"max_bytes":5000}' >policy.json
	answers 0 --policy policy.json plain --max-bytes 20000
	[ "$(wc -c <out.txt)" -le 5000 ]
	answers 0 --policy policy.json outer
	expect 'e.data["n"] == 2000000'
	call RUNNER_MAX_OUTPUT_BYTES=5000 outer
	expect 'e.data["n"] == 2000000'
	"$RUNNER" exec --max-bytes 8000 >out.txt <<-'JSON'
		{"_cmd":"plain","_opts":{"max_bytes":5000}}
		{"_cmd":"plain","_opts":{"max_bytes":50000}}
		{"_cmd":"plain"}
	JSON
	[ "$(awk '{ print (length <= 5000) (length <= 8000) }' out.txt | tr '\n' ' ')" = "11 01 01 " ]
}

@test "what is kept is masked as the answer is, expires, and cleanup removes it" {
	body secret '' <<<'return { key = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD", text = ("x"):rep(9000) .. " sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD" }'
	answers 0 secret --max-bytes 4096
	kept
	[ "$(cat out.txt kept.json | grep -c abcdefgh)" -eq 0 ]
	answers 1 secret --max-bytes 4096 --unmask
	expect 'e.error["code"] == "OUTPUT_TOO_LARGE" and "--unmask" in e.meta["rest"]["not_kept"]'
	answers 0 secret --max-bytes 4096
	[ "$(grep -rl abcdefghijkl "$(dirname "$(field 'e.meta["rest"]["path"]')")" | wc -l)" -eq 0 ]
	local path folder
	path=$(field 'e.meta["rest"]["path"]')
	folder=${path%/*}
	[ "$(stat -c %a "$folder")" = 700 ]
	touch -d '2 days ago' "$path"
	answers 0 secret --max-bytes 4096
	[ ! -e "$path" ]
	path=$(field 'e.meta["rest"]["path"]')
	answers 0 cleanup --scope temp
	[ -e "$path" ]
	touch -d '2 days ago' "$path"
	answers 0 cleanup --scope temp
	[ ! -e "$path" ]
}

@test "a text of which no line has room is a failure, and so is a success whose rest nobody could have" {
	body long '' <<<'return ("x"):rep(30000)'
	body wide 'args = { { "n", "integer", default = 1 } },' <<<'local out = {} for i = 1, args.n do out[i] = { text = ("x"):rep(30000) } end return out'
	call wide --format jsonl --max-bytes 4096
	[ "$status" -eq 1 ]
	grep -q OUTPUT_TOO_LARGE out.txt
	call wide --format tsv --max-bytes 4096
	[ "$status" -eq 1 ]
	call wide --format table --max-bytes 4096
	[ "$status" -eq 1 ]
	touch file
	call XDG_STATE_HOME="$PWD/file" page --max-bytes 8192
	[ "$status" -eq 1 ]
	assert_envelope
	expect 'e.error["code"] == "OUTPUT_TOO_LARGE" and "kept" in e.error["message"] and e.meta["rest"]["not_kept"]'
	call XDG_STATE_HOME="$PWD/file" rows --format jsonl --max-bytes 8192
	[ "$status" -eq 1 ]
	call HOME= page --max-bytes 8192
	[ "$status" -eq 1 ]
	assert_envelope
	expect '"HOME is no directory" in e.meta["rest"]["not_kept"]'
}

@test "at a terminal the data of a failure has a budget, too" {
	body refused 'list = true, exit_codes = { CONFLICT = { description = "no" } },' <<-'LUA'
		local out = {}
		for i = 1, 3000 do out[i] = { id = i, name = "row" } end
		ctx:fail("CONFLICT", "no", { data = out })
	LUA
	script -qec "$RUNNER refused --format table --max-bytes 4096" out.txt </dev/null >/dev/null || true
	[ "$(wc -c <out.txt)" -lt 6000 ]
	[ "$(grep -c row out.txt)" -gt 100 ]
	grep -q 'the result was cut to' out.txt
	script -qec "$RUNNER refused --format table" out.txt </dev/null >/dev/null || true
	[ "$(grep -c row out.txt)" -eq 3000 ]
}

@test "warnings on stderr have a budget too, where the result is text" {
	body warns '' <<<'for i = 1, 50 do ctx:warn("SLOW_DISK", ("w"):rep(300)) end return { a = 1 }'
	call warns --format jsonl --max-bytes 4096
	[ "$status" -eq 0 ]
	[ "$(wc -c <err.txt)" -lt 8192 ]
	[ "$(grep -c SLOW_DISK err.txt)" -eq 13 ]
	grep -q '37 more warnings' err.txt
}

@test "what else an answer loses is kept too: fifty warnings beside a result that can't be cut" {
	body noisy '' <<-'LUA'
		for i = 1, 50 do ctx:warn("SLOW_DISK", ("w"):rep(300)) end
		local out = {}
		for i = 1, 3000 do out["name" .. i] = i end
		return out
	LUA
	answers 1 noisy --max-bytes 4096
	[ "$(wc -c <out.txt)" -le 4096 ]
	expect 'e.error["code"] == "OUTPUT_TOO_LARGE" and e.meta["rest"]["of"] == "answer"'
	kept
	python3 -c 'import json; e = json.load(open("kept.json")); assert len(e["warnings"]) == 50 and len(e["data"]) == 3000'
}

@test "a page keeps its items where its warnings have no room, so that its cursor loses none" {
	body warned 'list = true,' <<-'LUA'
		for i = 1, 50 do ctx:warn("SLOW_DISK", ("w"):rep(300)) end
		local out = {}
		for i = 1, 300 do out[i] = { id = i } end
		return out
	LUA
	answers 0 warned --limit 0 --max-bytes 8192
	expect 'len(e.data) == e.meta["pagination"]["returned"] > 0'
}

@test "files that aren't ours stay, however old; a link in place of the folder is not followed" {
	local answers ours=req_01ARZ3NDEKTSV4RRFFQ69G5FAV
	answers 0 page --max-bytes 8192
	answers=$(dirname "$(field 'e.meta["rest"]["path"]')")
	touch "$answers/req_mine.txt" "$answers/$ours.json" "$answers/$ours.1.json" "$answers/$ours.doc" "$answers/$ours"
	touch -d '2 days ago' "$answers"/*
	answers 0 page --max-bytes 8192
	[ ! -e "$answers/$ours.json" ]
	[ ! -e "$answers/$ours.1.json" ]
	[ -e "$answers/req_mine.txt" ]
	[ -e "$answers/$ours.doc" ]
	[ -e "$answers/$ours" ]
	answers 0 cleanup --scope temp
	[ -e "$answers/req_mine.txt" ]
	rm -r "$answers"
	mkdir papers
	touch -d '2 days ago' "papers/$ours.json"
	ln -s "$PWD/papers" "$answers"
	answers 0 cleanup --scope temp
	[ -e "papers/$ours.json" ]
	answers 1 page --max-bytes 8192
	expect '"is a link" in e.meta["rest"]["not_kept"]'
	[ "$(ls papers)" = "$ours.json" ]
}

@test "a size that is none is refused, and a file of ours has its mode whatever the umask is" {
	call RUNNER_MAX_OUTPUT_BYTES=banana page
	[ "$status" -eq 2 ]
	grep -q 'expected a size of at least 4KiB' out.txt
	call RUNNER_MAX_OUTPUT_BYTES=1 page
	[ "$status" -eq 2 ]
	export XDG_STATE_HOME=$PWD/state
	mkdir state
	(
		umask 777
		"$RUNNER" page --max-bytes 8192 --format json
	) >out.txt
	kept
	[ "$(stat -c %a "$XDG_STATE_HOME/runner/answers")" = 700 ]
}

@test "a request of exec gives sizes as the variable does" {
	echo '{"_cmd":"plain","_opts":{"max_bytes":"5KiB"}}' | "$RUNNER" exec >out.txt
	[ "$(wc -c <out.txt)" -le 5120 ]
	grep -q '"truncated":true' out.txt
}

@test "REQ-F-052 an empty list, a small object and a failure are as ever" {
	answers 0 items --n 0 --max-bytes 8192
	expect 'e.data == [] and "truncated" not in e.meta'
	answers 0 page --size 9
	expect '"truncated" not in e.meta'
	body broken 'truncates = true,' <<<'return nil, "no"'
	answers 1 broken
}
