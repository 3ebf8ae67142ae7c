#!/usr/bin/env bats
# Results of many megabytes: they come whole, in every form, and what follows them does too.

load lib/helper

# large COUNT [MORE]: a command that returns so many rows, of about 100 bytes each
large() {
	body large "${*:2}" <<<"local rows = {} for i = 1, $1 do rows[i] = { id = i, text = ('%d é '):format(i):rep(12) } end return { rows = rows }"
}

rows_are_whole() {
	expect "[r['id'] for r in e.data['rows']] == list(range(1, $1 + 1))"
	expect "all(r['text'] == '%d é ' % r['id'] * 12 for r in e.data['rows'])"
}

@test "a large result comes whole, of any size around what is moved without a copy" {
	local count
	for count in 300 560 600 640 700 5000 90000; do
		large "$count"
		answers 0 large
		rows_are_whole "$count"
	done
}

@test "what a command reports behind a large result is in its answer" {
	large 20000 'cleanup = function(ctx) for i = 1, 20 do ctx:warn("LATE", "w" .. i) end end,'
	answers 0 large
	rows_are_whole 20000
	expect '[w["message"] for w in e.warnings] == ["w%d" % i for i in range(1, 21)]'
}

@test "a failure may have large data and a large context" {
	body fails <<<'local rows = {} for i = 1, 20000 do rows[i] = { id = i } end
		ctx:step("one") ctx:fail("NOT_FOUND", "x", { data = { rows = rows }, context = { rows = rows } })'
	answers 5 fails
	expect 'e.data["rows"] == e.error["context"]["rows"] == [{"id": i} for i in range(1, 20001)]'
	expect 'e.data["failed_step"] == "one"'
}

@test "a large result as text, in a file and of a second attempt is the same" {
	large 20000 'rows = "rows",'
	call large --format jsonl
	[ "$(wc -l <out.txt)" -eq 20000 ]
	call large --format json --output whole.json
	python3 -c 'import json; assert len(json.load(open("whole.json"))["rows"]) == 20000'
	body again <<<'local rows = {} for i = 1, 20000 do rows[i] = { id = i } end
		if not ctx.attempt or ctx.attempt < 2 then ctx:fail("UNAVAILABLE", "x", { data = { rows = rows }, retryable = true }) end
		return { rows = rows }'
	answers 0 again --retries 1 --retry-delay 0
	expect 'e.meta["attempt"] == 2 and len(e.data["rows"]) == 20000'
}

@test "a large result that is none fails as a small one does" {
	body cut <<<'local rows = {} for i = 1, 20000 do rows[i] = { id = i } end rows[20001] = { f = print } return { rows = rows }'
	answers 1 cut
	expect 'e.error["code"] == "INVALID_RESULT" and "rows[20001].f is a function" in e.error["message"]'
	body huge <<<'return { text = ("x"):rep(17 << 20) }'
	answers 1 huge
	expect 'e.error["code"] == "OUTPUT_TOO_LARGE"'
}

@test "a large result that nobody can read fails" {
	large 20000
	local status=0
	"$RUNNER" large >/dev/full 2>err.txt || status=$?
	[ "$status" -eq 1 ]
	grep -q OUTPUT_FAILED err.txt
}
