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
	expect 'e.warnings[0]["code"] == "FIELD_TRUNCATED" and e.warnings[0]["context"]["field"] == "1.text"'
	[ "$(wc -c <out.txt)" -le 20000 ]
}

@test "REQ-F-052 a result that is a list is cut where the command declares it" {
	answers 0 rows
	[ "$(wc -c <out.txt)" -le 1048576 ]
	expect 'e.meta["total_count"] == 200000 and e.meta["returned_count"] == len(e.data) and e.data[-1] == "row %d" % len(e.data)'
	eval "call $(field 'e.meta["truncation_hint"].removeprefix("runner ")')"
	expect 'len(e.data) == 200000 and "truncated" not in e.meta'
}

@test "REQ-F-064 the longest texts of an object are cut, with a mark, a warning and their sizes" {
	answers 0 page
	[ "$(wc -c <out.txt)" -le 1048576 ]
	expect 'e.data["title"] == "t" and e.data["tags"] == ["a", "b"] and e.data["deep"]["n"] == 1'
	expect 'e.data["body"].endswith("…[truncated]") and e.meta["truncated"] is True and "total_count" not in e.meta'
	expect 'e.warnings[0]["code"] == "FIELD_TRUNCATED" and e.warnings[0]["context"]["field"] == "body"'
	expect 'e.warnings[0]["context"]["original_bytes"] > e.warnings[0]["context"]["returned_bytes"]'
	eval "call $(field 'e.meta["truncation_hint"].removeprefix("runner ")')"
	assert_envelope
	expect 'len(e.data["body"]) == 2 * (2000000 // 3) and "truncated" not in e.meta'
	answers 0 page --max-bytes 8192
	[ "$(wc -c <out.txt)" -le 8192 ]
	expect '[w["context"]["field"] for w in e.warnings] == ["body", "deep.log"]'
}

@test "REQ-F-052 what does not declare it, other formats, and files are not cut" {
	answers 0 plain
	expect 'len(e.data["text"]) == 2000000 and "truncated" not in e.meta'
	answers 2 plain --max-bytes 20000
	answers 0 page --output whole.json --max-bytes 8192
	[ "$(wc -c <whole.json)" -gt 2000000 ]
	call items --limit 0 --format jsonl --max-bytes 8192
	[ "$(wc -l <out.txt)" -eq 3000 ]
}

@test "REQ-F-052 an empty list, a small object and a failure are as ever" {
	answers 0 items --n 0 --max-bytes 8192
	expect 'e.data == [] and "truncated" not in e.meta'
	answers 0 page --size 9
	expect '"truncated" not in e.meta'
	body broken 'truncates = true,' <<<'return nil, "no"'
	answers 1 broken
}
