#!/usr/bin/env bats
# Hundreds of words on a command line: the worker reads them where the kernel has put them
# (src/worker/words.h), and everything that looks at a command line finds them all, in their order.

load lib/helper

prepare() {
	mapfile -t WORDS < <(seq -f 'w%.0f' 300)
	body take 'retry = { retries = 1, delay = 0 },
		exit_codes = { BUSY = { code = 80, retryable = true, side_effects = "none" } },
		args = { { "fail", "boolean" }, { "keep", "integer" }, { "items", "string", variadic = true } },' <<-'LUA'
		if args.fail and ctx.attempt == 1 then ctx:fail("BUSY", "not yet") end
		return { items = args.items, keep = args.keep, attempt = ctx.attempt }
	LUA
}

@test "a command line that is read in place is the same as a shorter one" {
	for n in 98 99 100 101; do
		answers 0 take "${WORDS[@]:0:n}"
		expect "e.data['items'] == ['w%d' % (i + 1) for i in range($n)]"
	done
}

@test "options stand anywhere among hundreds of words, and behind -- there are none" {
	answers 0 take "${WORDS[@]:0:150}" --keep 3 "${WORDS[@]:150}" -- --keep -5
	expect 'e.data["items"] == ["w%d" % (i + 1) for i in range(300)] + ["--keep", "-5"] and e.data.keep == 3'
	answers 0 --quiet take "${WORDS[@]}"
	expect 'e.data["items"] == ["w%d" % (i + 1) for i in range(300)]'
	answers 0 take --fail "${WORDS[@]}"
	expect 'e.data.attempt == 2 and e.data["items"][299] == "w300"'
}

@test "what is wrong with one of hundreds of words is said of that one" {
	answers 2 take "${WORDS[@]}" --nosuch
	expect 'len(e.error.errors) == 1 and "--nosuch" in e.error.errors[0]["message"]'
	answers 2 take "${WORDS[@]}" $'\xff' "${WORDS[@]}"
	expect 'len(e.error.errors) == 1 and e.error.errors[0]["field"] == "items"'
	body none <<<'return 1'
	answers 2 none "${WORDS[@]}"
	expect 'e.error.code == "VALIDATION_ERROR" and "w1" in e.error.errors[0]["message"]'
	answers 2 nobody "${WORDS[@]}"
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
}

@test "integers are those that Lua reads, up to the largest" {
	body add 'args = { { "n", "array", items = "integer", positional = true } },' <<<'return { args.n[1], args.n[301], #args.n, math.type(args.n[300]) }'
	mapfile -t NUMBERS < <(seq 299)
	answers 0 add 9223372036854775807 "${NUMBERS[@]}" 0007
	expect 'e.data == [9223372036854775807, 7, 301, "integer"]'
	answers 2 add "${NUMBERS[@]}" 9223372036854775808
	expect 'len(e.error.errors) == 1 and "9223372036854775808" in e.error.errors[0]["message"]'
	answers 2 add "${NUMBERS[@]}" 1x
	expect 'len(e.error.errors) == 1'
}

@test "hundreds of words stand behind an alias, behind the words that a caller hands over, and in a job" {
	echo 'return { aliases = { al = "take --keep 4" } }' >runner.lua
	answers 0 al "${WORDS[@]}"
	expect 'e.data["items"] == ["w%d" % (i + 1) for i in range(300)] and e.data.keep == 4'
	echo '["last", "--keep", "5"]' | env -i "${CLEAN_ENV[@]}" RUNNER_ARGUMENTS=stdin "$RUNNER" take "${WORDS[@]}" >out.txt
	expect 'e.data["items"] == ["w%d" % (i + 1) for i in range(300)] + ["last"] and e.data.keep == 5'
	call XDG_STATE_HOME="$PWD/state" take --detach "${WORDS[@]}"
	[ "$status" -eq 0 ]
	answers 0 XDG_STATE_HOME="$PWD/state" job wait "$(field e.data.job_id)"
	expect 'e.data["items"] == ["w%d" % (i + 1) for i in range(300)]'
}

@test "hundreds of words are passed on" {
	body pass 'arguments = "passthrough",' <<<'return ctx:delegate(table.move(args.argv, 1, #args.argv, 2, { "echo" }))'
	call pass "${WORDS[@]}" --help
	[ "$stdout" = "${WORDS[*]} --help" ]
}
