#!/usr/bin/env bats
# Several commands in one call: runner + build + test (docs/reference/tasks.md#several-in-one-call).

bats_require_minimum_version 1.5.0

load lib/helper
load lib/tasks

@test "one envelope has an answer for each, in order, and the first failure ends it with its exit code" {
	tasks <<<'one = { "One", shell = "echo [1, 2]", output = "data" }, say = { "Say", args = { { "words", "string", variadic = true } }, shell = "echo \"$@\"" },
		fails = { "Fails", exit_codes = { QUOTA = { code = 93, retryable = false, side_effects = "none" } }, run = function(args, ctx) error { code = "QUOTA", message = "no more" } end }'
	call + one + say a b
	assert_envelope
	expect 'e.ok and [(c.command, c.state, c.exit_code) for c in e.data.calls] == [("one", "succeeded", 0), ("say", "succeeded", 0)]'
	expect 'e.data.calls[0].data == {"value": [1, 2]} or e.data.calls[0].data == [1, 2]'
	[ "$stderr" = "a b" ]
	call + say before + fails + say never
	assert_envelope
	[ "$status" -eq 93 ]
	[ "$stderr" = before ]
	expect 'e.error.code == "QUOTA" and e.error.message == "fails: no more; not run: say" and e.error.side_effects == "partial"'
	expect '[c.state for c in e.data.calls] == ["succeeded", "failed", "not_run"] and e.data.calls[1].error.code == "QUOTA"'
	call + --keep-going fails + say after
	[ "$status" -eq 93 ]
	[ "$stderr" = after ]
	expect '[c.state for c in e.data.calls] == ["failed", "succeeded"]'
}

@test "the words of each arrive as they are; a longer marker lets a plus sign be one of them" {
	tasks <<<'say = { "Say", args = { { "words", "string", variadic = true } }, shell = "printf \"<%s>\" \"$@\"; echo" }, n = { "N", args = { { "n", "string" } }, shell = "echo \"$n\"" }'
	call + say -- --x '' 'a b' '"; touch hacked' $'new\nline' -- + n --n=+
	[ "$stderr" = $'<--x><><a b><"; touch hacked><new\nline><-->\n+' ]
	call ++ say 1 + 2 ++ n --n 3
	[ "$stderr" = $'<1><+><2>\n3' ]
	[ ! -e hacked ]
	call say +
	[ "$stderr" = "<+>" ]
	call + + + n
	[ "$status" -eq 2 ]
	assert_envelope
}

@test "what is no call stops all before the first has run" {
	local words
	tasks <<<'a = { "A", shell = "touch ran" }'
	for words in "" "+" "+ a +" "+ a + + a" "+ a + b" "+ a + --x" "+ several a" "--detach + a"; do
		[ -n "$words" ] || continue
		# shellcheck disable=SC2086
		call $words
		assert_envelope
		[ "$status" -eq 2 ]
		[ ! -e ran ]
	done
	call + a + aa
	expect "\"'a'\" in (e.error.get('suggestion') or e.error.fix_required)"
}

@test "a destructive one among them is confirmed as ever: by its own flag, by a person, by nothing else" {
	tasks <<<'a = { "A", shell = "echo a" }, drop = { "Drop", confirm = "Really?", shell = "touch dropped" }'
	call + a + drop
	[ "$status" -eq 2 ]
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	[ ! -e dropped ]
	call --yes + a + drop
	[ "$status" -eq 2 ]
	[ ! -e dropped ]
	call --confirm-destructive + drop
	[ "$status" -eq 2 ]
	[ ! -e dropped ]
	at_terminal n + a + drop + a
	[ ! -e dropped ]
	[ "$(cat shown)" = "$(printf "a\nReally? [y/N] n\n'drop' was not confirmed, and nothing was done\ndrop: exit 2; not run: a\nstatus 2")" ]
	call + a + drop --confirm-destructive
	[ "$status" -eq 0 ]
	rm dropped
	at_terminal y + a + drop + a
	[ -e dropped ]
	[ "$(cat shown)" = "$(printf 'a\nReally? [y/N] y\na\nstatus 0')" ]
}

@test "no policy is got round: not by the marker, by one in another, by exec, nor by the order" {
	local words
	tasks <<<'a = { "A", shell = "touch ran" }, b = { "B", shell = "touch hacked" }'
	for policy in '{"allow": ["a"]}' '{"deny": ["b"]}'; do
		echo "$policy" >policy.json
		for words in "+ b" "+ a + b" "++ a ++ + b" "++ + a + b" "several b" "self several b" "+ --parallel a + b"; do
			rm -f ran
			# shellcheck disable=SC2086
			call --policy policy.json $words
			[ "$status" -ne 0 ]
			[ ! -e hacked ]
		done
		call --policy policy.json + a + b
		expect 'e.error.code == "POLICY_DENIED"'
		[ ! -e ran ]
		call --policy policy.json + a
		expect 'e.ok'
	done
	echo '{"max_danger": "safe"}' >policy.json
	call --policy policy.json + a
	expect 'e.error.code == "POLICY_DENIED"'
	echo '{"deny": ["several"]}' >policy.json
	call --policy policy.json + a
	expect 'e.error.code == "POLICY_DENIED"'
	for words in several + '+ b'; do
		printf '{"_cmd": "%s", "calls": ["b"]}\n' "$words" | env -i "${CLEAN_ENV[@]}" "$RUNNER" exec --allow several >out.txt 2>err.txt || true
		[ ! -e hacked ]
		run -0 grep -c '"ok":false' out.txt
	done
}

@test "each has its own limits and retries; a limit in front is that of all" {
	tasks <<<'flaky = { "Flaky", retry = { retries = 2, delay = "10ms" }, shell = "echo x >>tries; [ $(wc -l <tries) -ge 3 ]" },
		slow = { "Slow", timeout = "200ms", shell = "sleep 7001" }, hang = { "Hang", shell = "touch marker; sleep 7002" }, after = { "After", shell = "touch after" }'
	call + flaky + slow + after
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$(wc -l <tries)" -eq 3 ]
	[ ! -e after ]
	expect '[c.state for c in e.data.calls] == ["succeeded", "failed", "not_run"]'
	call --timeout 1s + after + hang + after
	assert_envelope
	[ "$status" -eq 10 ]
	assert_no_process_left
}

@test "side by side, each line has its name, colours only at a terminal, and the failed one's are last" {
	mkfifo one two
	tasks <<<'left = { "L", shell = "echo x >one; cat two; echo left done" }, right = { "R", shell = "cat one; echo y >two; echo right done" },
		bad = { "Bad", shell = "echo broken; until [ -e up ]; do sleep 0.05; done; exit 5" },
		server = { "Server", shell = "echo up; trap \"echo ended; exit 0\" TERM; touch up; sleep 7001 & wait" }'
	call + --parallel left + right
	assert_envelope
	expect 'e.ok and [c.command for c in e.data.calls] == ["left", "right"]'
	[ "$(sort <<<"$stderr")" = "$(printf 'left | left done\nleft | y\nright | right done\nright | x')" ]
	call + -j2 server + bad + server
	assert_envelope
	[ "$status" -eq 1 ]
	expect '[c.state for c in e.data.calls] == ["cancelled", "failed", "not_run"] and e.error.message.startswith("bad: ")'
	assert_no_process_left
	rm up
	at_terminal "" + --parallel bad + server
	grep -q $'\e\[3.mserver |' shown
	[ "$(grep -c 'broken' shown)" -ge 1 ]
	sed -n '/bad failed:/,$p' shown | grep -q broken
	CLEAN_ENV+=(NO_COLOR=1)
	rm up
	at_terminal "" + --parallel bad + server
	run -1 grep -q $'\e\[3' shown
	grep -q '^server | up' shown
}

@test "a signal ends all that runs and begins no more" {
	local words
	tasks <<<'hang = { "Hang", shell = "(trap \"\" TERM INT; touch marker; while :; do sleep 60; done) & sleep 7003" }, after = { "After", shell = "touch after" }'
	for words in "+ hang + after" "+ --parallel hang + hang"; do
		for signal in TERM INT HUP; do
			rm -f marker
			# shellcheck disable=SC2086
			cancel "$signal" $words
			assert_envelope
			[ "$status" -gt 128 ]
			[ ! -e after ]
			assert_no_process_left
		done
	done
}

@test "one that is killed is a failure, and whoever is killed leaves nothing" {
	tasks <<<'dies = { "Dies", shell = "kill -9 $PPID $(ps -o ppid= -p $PPID)" }, after = { "After", shell = "touch after" }, hang = { "Hang", shell = "touch marker; sleep 7004" }'
	call + dies + after
	assert_envelope
	[ "$status" -ne 0 ]
	[ ! -e after ]
	env -i "${CLEAN_ENV[@]}" "$RUNNER" + hang + after >out.txt 2>err.txt </dev/null 3>&- &
	until_true [ -e marker ]
	kill -9 $!
	wait $! || true
	until_true assert_no_process_left
	[ ! -e after ]
}

@test "a secret of one is hidden in what the others and the whole say, and in the ledger, which has a row for each" {
	CLEAN_ENV+=(THE_SECRET=S3cretS3cret)
	echo 'return { audit = { path = "audit.jsonl" } }' >runner.lua
	tasks <<<'leak = { "Leak", args = { { "token", "string", secret = true } }, shell = "echo \"it is $token\"; echo \"$token\" >&2; exit 3" }, a = { "A", shell = "true" }'
	call + a + leak --token-from-env THE_SECRET
	[ "$status" -eq 1 ]
	run -1 grep -r S3cretS3cret out.txt err.txt audit.jsonl
	[ "$(grep -c '"event":"begin"' audit.jsonl)" -eq 2 ]
	call + --parallel a + leak --token-from-env THE_SECRET
	run -1 grep -r S3cretS3cret out.txt err.txt audit.jsonl
}

@test "what several of them need runs once, and what has run among them is not run again" {
	tasks <<<'base = { "Base", shell = "echo base" }, a = { "A", needs = { "base" }, shell = "echo a" }, b = { "B", needs = { "base", "a" }, shell = "echo b" }'
	call + a + b
	[ "$stderr" = "$(printf 'base\na\nb')" ]
	call + base + b
	[ "$stderr" = "$(printf 'base\na\nb')" ]
	call a
	[ "$stderr" = "$(printf 'base\na')" ]
}

@test "their warnings are ours; flags in front hold for all" {
	mkdir -p other
	tasks <<<'w = { "W", run = function(args, ctx) ctx:warn("ODD", "it is odd") end }, where = { "Where", shell = "pwd" }'
	cp tasks.lua other/
	call + w + where
	expect '[(w.code, w.context.command) for w in e.warnings] == [("ODD", "w")]'
	call --cwd other + where
	[ "$stderr" = "$PWD/other" ]
	call --quiet + where
	[ -z "$stderr" ]
}

@test "at a terminal each has it in its turn, with colours and questions" {
	tasks <<<'tty = { "Tty", shell = "test -t 1 && test -t 2 && echo on a terminal" }, ask = { "Ask", interactive = true, shell = "printf \"name? [y/N] \"; read -r name; echo \"hello $name\"" }, bad = { "Bad", shell = "exit 3" }'
	at_terminal me + tty + ask + tty
	[ "$(cat shown)" = "$(printf 'on a terminal\nname? [y/N] me\nhello me\non a terminal\nstatus 0')" ]
	at_terminal "" + bad + tty
	grep -q 'tasks.lua:[0-9]*: .*exited with status 3' shown
	grep -q '^bad: exit 1; not run: tty' shown
	[ "$(tail -n 1 shown)" = "status 1" ]
}

# offers WORDS…: what a Tab offers there, in one line
offers() {
	call completion bash --format plain -- "$@"
	[ "$status" -eq 0 ]
	stdout=$(cut -f1 out.txt | tr '\n' ' ')
}

@test "a Tab offers the project's own first, in the order of the file, and the flags of the task before those of all" {
	tasks <<<'test = { "Test", args = { { "filter", "enum", values = { "fast", "slow" } } }, shell = "true" }, build = { "Build", shell = "true" }, db = { up = { "Up", shell = "true" } }'
	call build
	offers ""
	[[ $stdout == "test build db add approvals "* ]]
	offers test -
	[ "$stdout" = "--filter --dry-run --idempotency-key " ]
	offers test --
	[ "$stdout" = "--filter --dry-run --idempotency-key " ]
	offers test --f
	[ "$stdout" = "--filter --format --fields " ]
	offers --
	[[ $stdout == *--format*--cwd* ]]
	offers + ""
	[[ $stdout == "test build db "* ]]
	offers + -
	[ "$stdout" = "--keep-going --parallel --dry-run --jobs " ]
	offers + --parallel build + d
	[ "$stdout" = "db doctor " ]
	offers + build + db ""
	[ "$stdout" = "up " ]
	offers ++ build ++ test --filter ""
	[ "$stdout" = "fast slow " ]
	offers + build x + test --f
	[ "$stdout" = "--filter --format --fields " ]
	offers build + ""
	[[ $stdout != *test* ]]
}

@test "-C DIR and -n are what they are elsewhere, where a command has no letter of its own" {
	mkdir sub
	tasks <<<'build = { "Build", shell = "touch ran; pwd" }, own = { "Own", args = { { "count", "integer", short = "n", default = 0 } }, shell = "echo $count" },
		safe = { "Safe", danger_level = "safe", shell = "pwd" }'
	cd sub
	call -C .. build
	[ "$stderr" = "${PWD%/sub}" ]
	rm ../ran
	call -n build
	expect 'e.data.effect == "would_run" and e.meta.dry_run'
	call build -n
	expect 'e.data.effect == "would_run"'
	[ ! -e ../ran ]
	call own -n 3
	[ "$stderr" = 3 ]
	call -n own -n 3
	expect 'e.data.effect == "would_run"'
	call + -n build + own
	expect '[c.data.effect for c in e.data.calls] == ["would_run", "would_run"]'
	call -n + build + own
	expect '[c.data.effect for c in e.data.calls] == ["would_run", "would_run"]'
	[ ! -e ../ran ]
	for words in "-n safe" "safe -n" "--n build" "--C .. build" "build -C .." "-C"; do
		# shellcheck disable=SC2086
		call $words
		assert_envelope
		[ "$status" -eq 2 ]
	done
	[ ! -e ../ran ]
	echo '{"relocate": false}' >policy.json
	call --policy policy.json -C .. build
	expect 'e.error.code == "POLICY_DENIED"'
}

@test "--choose lists the project's own for a person, through fzf or with numbers, and runs the one" {
	tasks <<<'say = { "Say it", shell = "echo said" }, fails = { "Fail", shell = "exit 3" }, db = { up = { "Up", shell = "echo up" } }, _p = { "P", shell = "true" }'
	call --choose
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "INPUT_REQUIRED"'
	call --choose say
	[ "$status" -eq 2 ]
	mkdir none bin
	for name in sh env cat; do
		ln -s "$(command -v "$name")" none/
	done
	QUESTION="Number or name: " PATH_OF=$PWD/none at_terminal 3 --choose
	grep -q '1) say.*Say it' shown
	run -1 grep -q _p shown
	[ "$(tail -n 2 shown)" = "$(printf 'up\nstatus 0')" ]
	QUESTION="Number or name: " PATH_OF=$PWD/none at_terminal $'\x04' --choose
	grep -q "fix: Name the command: run 'runner' to list them" shown
	QUESTION="Number or name: " PATH_OF=$PWD/none at_terminal fa --choose
	[ "$(tail -n 1 shown)" = "status 1" ]
	printf '#!/bin/sh\ntest -t 2 || exit 9\ncat >"%s/offered"\ngrep ^say "%s/offered"\n' "$PWD" "$PWD" >bin/fzf
	chmod +x bin/fzf
	PATH_OF=$PWD/bin:$PATH at_terminal "" --choose
	[ "$(cat shown)" = "$(printf 'said\nstatus 0')" ]
	[ "$(cut -f1 offered)" = "$(printf 'say\nfails\ndb up')" ]
	printf '#!/bin/sh\necho "rm -rf /"\n' >bin/fzf
	PATH_OF=$PWD/bin:$PATH at_terminal "" --choose
	grep -q 'No command was chosen' shown
	printf '#!/bin/sh\nexit 130\n' >bin/fzf
	PATH_OF=$PWD/bin:$PATH at_terminal "" --choose
	[ "$(tail -n 1 shown)" = "status 4" ]
}

@test "a command that has stdout to itself is none of several, and has not run" {
	tasks <<<'a = { "A", shell = "touch ran" }, raw = { "Raw", arguments = "passthrough", run = function(args, ctx) return ctx:delegate { "touch", "raw" } end }'
	for words in "+ a + raw" "+ a + exec" "+ a + mcp serve"; do
		# shellcheck disable=SC2086
		call $words
		assert_envelope
		[ "$status" -eq 2 ]
		[ ! -e ran ]
		[ ! -e raw ]
	done
}

@test "side by side, one that another needs runs once, and the other waits for it" {
	tasks <<<'build = { "Build", shell = "echo x >>built; sleep 0.2" }, test = { "Test", needs = { "build" }, shell = "cat built" }, n = { "N", args = { { "n", "integer" } }, shell = "true" }'
	call + --parallel build + test
	expect 'e.ok and [c.state for c in e.data.calls] == ["succeeded", "succeeded"]'
	[ "$stderr" = "test | x" ]
	rm built
	call + -j2 n --n 1 + test + build
	expect 'e.ok'
	[ "$(wc -l <built)" -eq 1 ]
}

@test "warnings are errors of each, at a terminal too; a flag in front is passed on" {
	tasks <<<'w = { "W", run = function(args, ctx) ctx:warn("ODD", "it is odd") end }, a = { "A", shell = "touch ran" }, argv = { "V", shell = "tr \"\\0\" \" \" </proc/$PPID/cmdline; env" }'
	at_terminal "" --warnings-as-errors + w + a
	[ "$(tail -n 1 shown)" = "status 1" ]
	call --warnings-as-errors + w + a
	[ "$status" -eq 1 ]
	[ ! -e ran ]
	call --attempt-timeout 9m --idle-timeout 8m --grace 2s --retries 1 --retry-delay 5ms --yes --non-interactive --debug --no-color --no-config + argv
	for wanted in RUNNER_ATTEMPT_TIMEOUT=540000ms RUNNER_IDLE_TIMEOUT=480000ms RUNNER_GRACE=2000ms RUNNER_RETRIES=1 RUNNER_RETRY_DELAY=5ms NO_COLOR=1 \
		--yes --non-interactive --debug --no-config; do
		grep -q -e "$wanted" err.txt
	done
	call --raw-payload '{}' + a
	[ "$status" -eq 2 ]
}

@test "the whole is never made again, and what has run is said when it is ended" {
	tasks <<<'a = { "A", shell = "echo x >>ran" }, hang = { "Hang", shell = "touch marker; sleep 7005" }, never = { "N", shell = "true" }'
	local limit
	for limit in 1 4 16; do # as short as this machine allows for the second to have begun
		rm -f ran marker
		call --retries 1 --attempt-timeout "${limit}s" + a + hang
		[ ! -e marker ] || break
	done
	[ "$status" -eq 10 ]
	[ "$(wc -l <ran)" -eq 1 ]
	expect 'e.error.side_effects == "partial" and e.error.retryable is False and e.data.calls[0].state == "succeeded"'
	for limit in 1 4 16; do
		rm -f marker
		call --timeout "${limit}s" + a + hang
		[ ! -e marker ] || break
	done
	expect "e.error.message == 'hang: Command exceeded timeout of ${limit}000ms' and e.error.side_effects == 'partial'"
	rm marker
	cancel TERM + a + hang + never
	assert_envelope
	expect 'e.error.side_effects == "partial" and e.error.retryable is False'
	expect '[c.state for c in e.data.calls] == ["succeeded", "cancelled", "not_run"]'
}

@test "dot paths, aliases and arguments are looked at before the first runs" {
	local words
	mkdir -p commands
	echo 'return { aliases = { rr = "raw", aa = "a" } }' >runner.lua
	tasks <<<'a = { "A", shell = "touch ran" }, site = { build = { "B", shell = "echo site" } }, several = { "Own", shell = "echo own" },
		raw = { "Raw", arguments = "passthrough", run = function(args, ctx) return ctx:delegate { "touch", "raw" } end }'
	for words in "+ a + site.nope" "+ a + rr" "--validate-only + a --zz"; do
		# shellcheck disable=SC2086
		call $words
		[ "$status" -eq 2 ]
		[ ! -e ran ]
		[ ! -e raw ]
	done
	echo '{"deny": ["site build"]}' >policy.json
	call --policy policy.json + a + site.build
	expect 'e.error.code == "POLICY_DENIED"'
	[ ! -e ran ]
	call + site.build + aa + several
	expect 'e.ok and [c.command for c in e.data.calls] == ["site build", "a", "several"]'
}

@test "a needed command tells its script nothing of needs; a secret of one is hidden in another; stdin is refused" {
	CLEAN_ENV+=(THE_SECRET=S3cretS3cret)
	tasks <<<'needed = { "N", shell = "echo \"[$RUNNER_NEEDS]\"" }, top = { "T", needs = { "needed" }, shell = "true" }, a = { "A", shell = "touch ran" },
		say = { "S", args = { { "w", "string" } }, shell = "echo \"$w\"" }, sec = { "S", args = { { "token", "string", secret = true } }, shell = "true" },
		reads = { "R", stdin = true, run = function() return { n = #io.read "a" } end }'
	call + top
	[ "$stderr" = "[]" ]
	call + say --w S3cretS3cret + sec --token-from-env THE_SECRET
	expect 'e.ok'
	run -1 grep -r S3cretS3cret out.txt err.txt
	run -2 env -i "${CLEAN_ENV[@]}" "$RUNNER" + a + reads < <(echo hi)
	[[ $output == *"'reads' reads stdin"* ]]
	[ ! -e ran ]
}

@test "-j as make has it says how several run at once" {
	local words
	tasks <<<'a = { "A", shell = "true" }'
	for words in "-j 4 a" "-j4 a" "a -j 4" "a -j4"; do
		# shellcheck disable=SC2086
		call $words
		[ "$status" -eq 2 ]
		expect '"runner + -j 4 NAME + NAME" in str(e.error)'
	done
	call a -j8
	expect '"runner + -j 8 NAME + NAME" in str(e.error)'
	call -j a
	expect '"--format json" in str(e.error)'
	call a --show
	expect '"runner help NAME --show" in str(e.error)'
}

@test "each of runner's own flags in front is taken for the whole, handed to each, or refused with a sentence" {
	tasks <<-EOF
		a = { "A", shell = [[{ tr '\\0' '\\n' <"/proc/\$PPID/cmdline"; env; } >>"$PWD/said"; echo '"$(printf 'x%.0s' {1..5000})"']], output = "data" }
	EOF
	mkdir sub
	echo 'return { contexts = { prod = { timeout = "30s" } } }' >runner.lua
	cp runner.lua other.lua
	cp tasks.lua runner.lua sub
	echo '{}' >given.json
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" ROOT="$ROOT" python3 - <<-'PY'
		import glob, json, os, re, subprocess
		here, runner, root = os.getcwd(), os.environ.pop("RUNNER"), os.environ.pop("ROOT") + "/lua/declare"
		# A line of the argv, or of the environment, of each.
		EACH = {"quiet": "--quiet", "verbose": "--verbose", "debug": "--debug", "no-color": "NO_COLOR=1", "instance-id=x1": "RUNNER_INSTANCE_ID=x1",
		        "attempt-timeout=9m": "RUNNER_ATTEMPT_TIMEOUT=540000ms", "idle-timeout=8m": "RUNNER_IDLE_TIMEOUT=480000ms",
		        "grace=2s": "RUNNER_GRACE=2000ms", "retries=1": "RUNNER_RETRIES=1", "retry-delay=5ms": "RUNNER_RETRY_DELAY=5ms",
		        "warnings-as-errors": "--warnings-as-errors", "yes": "--yes", "non-interactive": "--non-interactive", "cwd=sub": f"PWD={here}/sub",
		        "config=other.lua": f"--config={here}/other.lua", "context=prod": f"RUNNER_CONTEXT=prod#{here}/runner.lua", "no-config": "--no-config",
		        "policy=given.json": f"RUNNER_POLICY={here}/given.json", "subject=agent-7": "RUNNER_SUBJECT=agent-7",
		        "plain": "RUNNER_PLAIN=1", "width=50": "--width=50",
		        "no-injection-protection": "--no-injection-protection"}
		rows = lambda e: e["data"]["calls"]
		# What the answer then is.
		WHOLE = {"format=plain": lambda e, out: type(e) == list, "output=o.json": lambda e, out: e["data"]["path"] == "o.json",
		         "timeout=9m": lambda e, out: e["meta"]["timeout_ms"] == 540000, "max-bytes=4096": lambda e, out: len(out) <= 4096,
		         "fields=calls": lambda e, out: len(rows(e)) == 2, "heartbeat-ms=1": lambda e, out: out.count(b"heartbeat") > 0,
		         "heartbeat-interval=9s": lambda e, out: len(rows(e)) == 2, "unmask": lambda e, out: len(rows(e)) == 2,
		         "meta=short": lambda e, out: "timestamp" not in e["meta"], "stable-output": lambda e, out: "timestamp" not in e["meta"],
		         "token-limit=50": lambda e, out: len(out) < 2000, "token-offset=1": lambda e, out: len(rows(e)) == 1,
		         "token-count": lambda e, out: e["data"] is None, "tokenizer=bytes4": lambda e, out: len(rows(e)) == 2}
		SHOWN = ("help", "version", "plan", "schema", "show-config", "output-schema", "validate-only")
		REFUSED = ("choose", "limit=3", "cursor=x", "sort=x", "stream", "schema-version=1", "headless", "token-env-var=X", "connect-timeout=1s", "proxy=http://x.y:1",
		           "no-proxy", "confirm-destructive", "live", "idempotency-key=k", "global", "no-cache", "cache-ttl=5s", "raw-payload={}", "input-file=given.json",
		           "detach", "budget=5s", "resume-from=x", "rollback-on-failure", "rebuild")
		name = lambda flag: "--" + flag.split("=")[0]
		known = [name(flag) for kind in (EACH, WHOLE, SHOWN, REFUSED) for flag in kind] + ["--dry-run"]
		there = ["--" + one.replace("_", "-") for path in [root + "/flags.lua", *glob.glob(root + "/contract/*.lua")]
		         for one in re.findall(r'^\t+\{ name = "(\w+)", type = ', open(path).read(), re.M)]
		assert sorted(known) == sorted(there), set(known) ^ set(there)

		def call(flag):
		    for file in ("said", "o.json"):
		        if os.path.exists(file):
		            os.unlink(file)
		    more = ["--yes"] if flag == "no-injection-protection" else []
		    got = subprocess.run([runner, "--" + flag, *more, "+", "a", "+", "a"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
		    said = open("said").read().split("\n") if os.path.exists("said") else []
		    return got, said

		for flag, line in EACH.items():
		    got, said = call(flag)
		    assert got.returncode == 0 and sum(one == line or one.startswith(line + "#") for one in said) == 2, (flag, got, said)
		for flag, holds in WHOLE.items():
		    got, said = call(flag)
		    assert got.returncode == 0 and len([line for line in said if line.startswith("PATH=")]) == 2, (flag, got, said)
		    assert holds(json.loads(got.stdout.splitlines()[-1] or got.stdout), got.stdout), (flag, got)
		for flag in SHOWN:
		    got, said = call(flag)
		    assert got.returncode == 0 and not said, (flag, got, said)
		for flag in REFUSED:
		    got, said = call(flag)
		    e = json.loads(got.stdout)["error"]
		    assert got.returncode == 2 and not said and name(flag) in e["message"] + e["fix_required"], (flag, got, said)
		got, said = call("dry-run")
		assert not said and [one["data"]["effect"] for one in rows(json.loads(got.stdout))] == ["would_run"] * 2, got
	PY
}

@test "a policy's limit of danger, a dry run and a confirmation hold for each of several, in whatever order" {
	local side
	tasks <<<'look = { "Look", danger_level = "safe", shell = "echo x >>looked" }, change = { "Change", shell = "echo x >>changed" },
		drop = { "Drop", confirm = "Really?", shell = "echo x >>dropped" }'
	call several --plan
	expect 'e.data.danger_level == "safe"'
	for side in "" --parallel; do
		echo '{"max_danger": "safe"}' >policy.json
		for words in "look + change" "change + look" "look + drop --confirm-destructive" "-n look + change"; do
			# shellcheck disable=SC2086
			call --policy policy.json + $side $words
			expect 'e.error.code == "POLICY_DENIED" and e.error.context.rule == "max_danger"'
		done
		echo '{"max_danger": "mutating"}' >policy.json
		for words in "change + drop --confirm-destructive" "drop --dry-run + change" "-n change + drop"; do
			# shellcheck disable=SC2086
			call --policy policy.json + $side $words
			expect 'e.error.code == "POLICY_DENIED" and "drop" in e.error.message'
			# shellcheck disable=SC2086
			call --validate-only --policy policy.json + $side $words
			expect 'e.error.code == "POLICY_DENIED" and "drop" in e.error.message'
		done
		[ ! -e looked ]
		[ ! -e changed ]
		[ ! -e dropped ]
	done
	call --policy policy.json + look + change
	expect 'e.ok'
	[ "$(wc -l <looked)" -eq 1 ]
	[ "$(wc -l <changed)" -eq 1 ]
	call + -n change + drop
	expect '[c.data.effect for c in e.data.calls] == ["would_run", "would_run"]'
	call + drop --dry-run + change
	expect 'e.ok and e.data.calls[0].data.effect == "would_run"'
	[ "$(wc -l <changed)" -eq 2 ]
	[ ! -e dropped ]
	call + drop --confirm-destructive + drop + change
	[ "$status" -eq 2 ]
	expect '[c.state for c in e.data.calls] == ["succeeded", "failed", "not_run"] and e.error.code == "CONFIRMATION_REQUIRED"'
	[ "$(wc -l <dropped)" -eq 1 ]
	[ "$(wc -l <changed)" -eq 2 ]
	call + -n drop --confirm-destructive
	[ "$(wc -l <dropped)" -eq 1 ]
}

@test "advice on a call among several has the flags that were typed, and no others; a script's own is as it said it" {
	tasks <<<'a = { "A", args = { { "count", "integer" } }, shell = "true" }, f = { "F", run = function(args, ctx)
		ctx:fail("PRECONDITION", "no", { suggestion = "Use --format json for that", fix_required = "Run it with --unmask", fix_command = "other --format=json --unmask" }) end }'
	call + a --cout 3
	expect 'e.data.calls[0].error.fix_command == "runner a --count 3"'
	call --quiet + a --unmask --format=json --cout 3
	expect 'e.data.calls[0].error.fix_command == "runner --quiet a --unmask --format json --count 3"'
	call + a --config x
	expect 'e.data.calls[0].error.errors[0].suggestion == "runner --config x a"'
	call + a 3
	expect 'not "--runner-unmask" in str(e) and e.data.calls[0].error.errors[0].suggestion == "Write --count \x273\x27"'
	call + f
	expect '(lambda r: (r.suggestion, r.fix_required, r.fix_command))(e.data.calls[0].error) == ("Use --format json for that", "Run it with --unmask", "other --format=json --unmask")'
}
