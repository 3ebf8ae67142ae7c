#!/usr/bin/env bats
# Commands that return lists: pages, cursors, order, and the choice of fields.

load lib/helper

prepare() {
	command_file items <<'LUA'
return { description = "x", danger_level = "safe", list = true, args = { { "n", "integer", default = 57 }, { "key", "string", secret = true } },
	run = function(args)
		local out = {}
		for i = 1, args.n do out[i] = { id = i, name = "n" .. i % 3, extra = true } end
		return out
	end }
LUA
}

@test "REQ-F-019 a list has 20 items unless --limit or default_limit says otherwise; 0 is all" {
	answers 0 items
	expect 'len(e.data) == 20'
	answers 0 items --limit 3
	expect '[i["id"] for i in e.data] == [1, 2, 3]'
	answers 0 items --limit 0
	expect 'len(e.data) == 57'
	answers 2 items --limit -1
	sed -i 's/list = true,/list = true, default_limit = 5,/' commands/items.lua
	answers 0 items
	expect 'len(e.data) == 5'
}

@test "REQ-F-018 every list says how much of it this is, a whole one and an empty one too" {
	answers 0 items
	expect 'e.meta["pagination"]["next_cursor"] and {k: v for k, v in e.meta["pagination"].items() if k != "next_cursor"} == {"total": 57, "returned": 20, "truncated": True, "has_more": True}'
	answers 0 items --n 20
	expect 'e.meta["pagination"] == {"total": 20, "returned": 20, "truncated": False, "has_more": False, "next_cursor": None}'
	answers 0 items --n 0
	expect 'e.data == [] and e.meta["pagination"]["total"] == 0'
}

@test "REQ-O-003 the cursors walk through all items once, in pages of any size" {
	local cursor='' seen=''
	while :; do
		answers 0 items --sort name,-id --limit $((RANDOM % 9 + 7)) ${cursor:+--cursor "$cursor"}
		seen+="$(field '" ".join(str(i["id"]) for i in e.data)') "
		cursor=$(field 'e.meta["pagination"]["next_cursor"] or ""')
		[ -n "$cursor" ] || break
		[[ $cursor =~ ^[A-Za-z0-9_-]+$ ]]
	done
	[ "$(wc -w <<<"$seen")" -eq 57 ]
	[ "$seen" = "$(for k in 0 1 2; do seq 57 -1 1 | awk -v k=$k '$1 % 3 == k'; done | tr '\n' ' ')" ]
}

@test "REQ-O-003 a garbled cursor, and one of other arguments or another order, is INVALID_CURSOR, exit 2" {
	local cursor bad
	answers 0 items
	cursor=$(field 'e.meta["pagination"]["next_cursor"]')
	for bad in x '' "$cursor"A "${cursor:1}" "$cursor=" "é" "$(head -c 4000 /dev/zero | tr '\0' A)" "$(printf '9999999999999999999999.aa' | base64 | tr -d =)"; do
		answers 2 items "--cursor=$bad"
		expect 'e.error["code"] == "INVALID_CURSOR" and e.error["phase"] == "validation" and e.error["errors"][0]["field"] == "cursor"'
	done
	answers 2 items --n 58 --cursor "$cursor"
	answers 2 items --sort id --cursor "$cursor"
	answers 0 K=other items --key-from-env K --cursor "$cursor"
	expect 'e.data[0]["id"] == 21'
}

@test "--sort puts numbers before texts and items without the field last, and keeps the order of equals" {
	body mixed 'list = true,' <<<'return { items = { { v = "b" }, { x = 1 }, { v = 10 }, { v = 9, n = 1 }, { v = 9, n = 2 }, { v = "a" } }, more = 1 }'
	answers 0 mixed --sort v
	expect 'e.data == {"items": [{"v": 9, "n": 1}, {"v": 9, "n": 2}, {"v": 10}, {"v": "a"}, {"v": "b"}, {"x": 1}], "more": 1}'
	answers 0 mixed --sort " v , -n" --limit 2
	expect '[i["n"] for i in e.data["items"]] == [2, 1]'
}

@test "REQ-O-002 --fields keeps these fields of each item, or of the result, and ignores unknown ones" {
	answers 0 items --fields name,none --limit 1
	expect 'e.data == [{"name": "n1"}] and e.meta["pagination"]["total"] == 57'
	body one <<<'return { a = 1, b = { 2 }, items = { 3 } }'
	answers 0 one --fields "a, items"
	expect 'e.data == {"a": 1, "items": [3]}'
	answers 0 one --fields nothing
	expect 'e.data == {}'
	body rows 'streams = true,' <<<'ctx:emit{ a = 1, b = 2 } return { c = 3 }'
	answers 0 rows --fields b
	expect 'e.data == {"items": [{"b": 2}], "c": 3}'
	call rows --fields b --stream
	[ "$(head -n 1 out.txt)" = '{"b":2}' ]
}

@test "formats without meta warn that there are more items" {
	call items --format jsonl
	[ "$(wc -l <out.txt)" -eq 20 ]
	[[ $stderr = *LIST_TRUNCATED*"20 of 57"* ]]
	call items --format jsonl --limit 0
	[ "$(wc -l <out.txt)" -eq 57 ]
	[ -z "$stderr" ]
}

@test "what is no list is the author's mistake; list with streams, and an argument named limit, are refused" {
	body wrong 'list = true,' <<<'return { a = 1 }'
	answers 1 wrong
	expect 'e.error["code"] == "INVALID_RESULT"'
	body both 'list = true, streams = true,' <<<'return {}'
	answers 4 both
	expect 'e.error["code"] == "COMMAND_INVALID" and "streams" in e.error["message"]'
	body taken 'list = true, args = { { "limit", "integer" } },' <<<'return {}'
	answers 4 taken
	expect 'e.error["code"] == "COMMAND_INVALID"'
}
