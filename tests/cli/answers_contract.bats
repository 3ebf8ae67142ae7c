#!/usr/bin/env bats
# The answer and its codes as an agent relies on them: one test for each requirement of the
# CLI Agent Spec that no other file proves. docs/design.md has what runner does differently.

load lib/helper

prepare() {
	command_file act <<'LUA'
return { description = "x", danger_level = "safe", args = { { "how", "string", positional = true, default = "well" } },
	exit_codes = { LOCKED = { code = 79, retryable = true, side_effects = "none" } },
	run = function(args, ctx)
		if args.how == "raise" then error "boom"
		elseif args.how == "fail" then ctx:fail("NOT_FOUND", "It is not there")
		elseif args.how == "own" then ctx:fail("LOCKED", "Somebody has it")
		elseif args.how == "moved" then ctx:fail("REDIRECTED", "It moved", { redirect = "act well" })
		elseif args.how == "exists" then ctx:fail("ALREADY_EXISTS", "It is there", { data = { id = 7 }, context = { conflict_id = "7" } })
		elseif args.how == "ansi" then return { text = "a\27[31mb\27[0m\27]0;t\7\r\nc\r" }
		elseif args.how == "prose" then print "hello" io.write "you" return { list = {} }
		elseif args.how == "log" then ctx:log("info", "said") return { logged = true }
		elseif args.how == "shell" then ctx:run("ls | cat")
		elseif args.how == "glob" then return { out = ctx:run{ "printf", "%s,", "*.lua", "a b", "; true" }.stdout }
		elseif args.how == "ask" then return { answer = ctx:prompt("Who?") }
		elseif args.how == "sleep" then io.open("began", "w"):close() ctx:sleep(60)
		elseif args.how == "spin" then local from = os.time() while os.time() < from + 20 do end
		elseif args.how == "late" then ctx:fail("VALIDATION_ERROR", "It is wrong, as run found")
		elseif args.how == "number" then return { pi = 1234.5, big = 1e6 }
		end
		return { how = args.how }
	end }
LUA
}

@test "REQ-F-003 without a terminal the answer is one line of JSON" {
	answers 0 act
	[ "$(wc -l <out.txt)" -eq 1 ]
	at_terminal() { env -i "${CLEAN_ENV[@]}" TERM=xterm "$@" script -qec "$RUNNER act" /dev/null </dev/null; }
	[[ $(at_terminal env NO_COLOR=1) != *'{"ok"'* ]]
	[[ $(at_terminal env CI=1) == '{"ok":true,'* ]]
}

@test "REQ-F-004 five keys whatever happens; ok, exit code and meta.exit_code agree" {
	local how
	for how in well raise fail own moved --bogus "sleep --timeout=100ms" "nothing-such"; do
		# shellcheck disable=SC2086
		call act $how
		assert_envelope
		expect 'list(e) == ["ok", "data", "error", "warnings", "meta"]'
		expect "e.meta.exit_code == $status and e.ok == ($status == 0) and (e.error is None) == e.ok"
	done
	call nothing-such
	expect 'list(e) == ["ok", "data", "error", "warnings", "meta"] and not e.ok'
}

@test "REQ-F-005 numbers are the same in every locale" {
	answers 0 LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 act number
	grep -q '"pi":1234.5' out.txt
}

@test "REQ-F-006 prose and logs never reach stdout" {
	answers 0 act prose
	[[ $stderr == *hello* ]]
	expect 'e.warnings[0].code == "THIRD_PARTY_STDOUT"'
	answers 0 act log
	answers 1 act raise
	[ -z "$(grep traceback out.txt || true)" ]
}

@test "REQ-F-007 no escape sequence and no carriage return in a value" {
	answers 0 act ansi
	expect 'e.data.text == "ab\nc"'
	[ -z "$(grep -e u001b -e '\\r' out.txt || true)" ]
}

@test "REQ-F-056 JSON is not wrapped, whatever the width" {
	local long
	long=$(printf 'x%.0s' {1..300})
	answers 0 COLUMNS=40 act "$long"
	expect "e.data.how == '$long'"
}

@test "REQ-F-001 codes have the numbers of the table; REDIRECTED says where to go" {
	answers 5 act fail
	answers 79 act own
	answers 6 act exists
	answers 2 act --bogus
	answers 13 act moved
	expect 'e.error.redirect == {"command": "act well", "permanent": False}'
}

@test "REQ-F-002 exit 2 means that nothing has run" {
	answers 2 act --bogus
	expect 'e.error.phase == "validation" and e.error.retryable is False and e.error.fix_required'
	answers 1 act late # something has run
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.phase == "execution" and e.error.side_effects == "none"'
}

@test "REQ-C-001 a code that is not declared is no way to end" {
	body undeclared <<<"error({ code = 'MADE_UP' })"
	answers 1 undeclared
	expect 'e.error.code == "UNDECLARED_EXIT_CODE"'
}

@test "REQ-C-013 every error has a code of capitals and a sentence" {
	local how
	for how in raise fail own moved exists --bogus; do
		call act $how
		expect '__import__("re").match(r"^[A-Z][A-Z0-9_]+$", e.error.code) and len(e.error.message) > 5'
	done
}

@test "REQ-C-014 every error says whether to try again" {
	local how
	for how in raise fail own moved exists --bogus; do
		call act $how
		expect 'e.error.retryable in (True, False, "maybe")'
	done
	answers 79 act own
	expect 'e.error.retryable is True and e.error.retry_after_ms >= 0 and e.error.retry_strategy'
}

@test "REQ-C-028 what exists already comes with the refusal" {
	answers 6 act exists
	expect 'e.error.code == "ALREADY_EXISTS" and e.data == {"id": 7} and e.error.context.conflict_id == "7"'
	expect 'e.error.retryable is False'
}

@test "REQ-F-011 every run has a limit, and meta tells it" {
	answers 0 act
	expect 'e.meta.timeout_ms == 30000'
	answers 0 act --timeout none
	expect 'e.meta.timeout_ms == 0'
	answers 10 act spin --timeout 300ms --grace 100ms # whatever the command does
	expect 'e.error.code == "TIMEOUT" and e.meta.timeout_ms == 300'
}

@test "REQ-F-012 a timeout is exit 10, and stdout has the answer" {
	answers 10 act sleep --timeout 100ms
	expect 'e.error.code == "TIMEOUT" and "100ms" in e.error.message and e.meta.timeout_ms == 100'
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER act sleep --timeout 100ms 2>/dev/null" /dev/null </dev/null >term.txt || true
	grep -q 'act: TIMEOUT' term.txt # nor at a terminal, where there is no envelope
}

@test "REQ-F-013 REQ-F-069 TERM and INT give one answer, 143 and 130" {
	local sig number
	rm -f began
	for sig in TERM:143 INT:130; do
		number=${sig#*:}
		env -i "${CLEAN_ENV[@]}" python3 -c '
import os, signal, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "act", "sleep"], stdout=open("out.txt", "w"), stderr=subprocess.DEVNULL)
while not os.path.exists("began"):
    time.sleep(0.01)
os.remove("began")
p.send_signal(getattr(signal, "SIG" + sys.argv[2]))
sys.exit(0 if p.wait(150) == int(sys.argv[3]) else 1)' "$RUNNER" "${sig%:*}" "$number"
		status=$number
		stdout=$(<out.txt)
		assert_envelope
		expect "e.error.code == 'CANCELLED' and e.meta.exit_code == $number"
	done
}

@test "REQ-F-015 REQ-C-006 all problems come at once, and nothing has run" {
	body strict 'args = { { "a", "integer" }, { "b", "integer" } }, validate = function(v) end,' <<<"io.open('ran', 'w'):close()"
	answers 2 strict --a x --b y --c
	expect '[p.field for p in e.error.errors] == ["a", "b", "--c"]'
	[ ! -e ran ]
	body judged 'validate = function(v) return { { field = "a", message = "one" }, { field = "b", message = "two" } } end,' \
		<<<"io.open('ran', 'w'):close()"
	answers 2 judged
	expect '[(p.field, p.message) for p in e.error.errors] == [("a", "one"), ("b", "two")]'
	[ ! -e ran ]
}

@test "REQ-F-009 REQ-F-047 nobody is there to be asked: exit 4 at once" {
	body asks 'interactive = true,' <<<'return { answer = ctx:prompt("Who?") }'
	answers 4 asks
	expect 'e.error.code == "INPUT_REQUIRED" and e.error.suggestion and e.error.retryable is False'
	assert_at_once
	env -i "${CLEAN_ENV[@]}" TERM=xterm CI=1 script -qec "$RUNNER asks" /dev/null </dev/null >term.txt || true
	grep -q 'CI is set' term.txt # a terminal that nobody watches
}

@test "REQ-C-005 --yes and --non-interactive harm nobody" {
	answers 0 act --yes
	answers 0 act --non-interactive
	body sure 'interactive = true,' <<<'return { sure = ctx:confirm "Really?" }'
	answers 4 sure
	expect 'e.error.code == "INPUT_REQUIRED" and "fix_command" not in e.error'
	answers 0 sure --yes
	expect 'e.data.sure is True'
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER sure --non-interactive" /dev/null </dev/null >term.txt || true
	grep -q 'non-interactive was given' term.txt
}

@test "REQ-F-062 REQ-F-044 programs get words, never a shell" {
	touch a.lua
	answers 0 act glob
	expect 'e.data.out == "*.lua,a b,; true,"'
	call act shell
	expect 'e.error.code == "SHELL_STRING_PROHIBITED" and "takes one table" in e.error.message'
}

@test "REQ-F-022 REQ-F-023 REQ-F-024 REQ-F-039 meta names the versions, the request, the command and the time" {
	answers 0 act
	expect 'e.meta.schema_version == "1.0" and e.meta.command == "act" and e.meta.duration_ms >= 0'
	expect "e.meta.tool_version == '$("$RUNNER" --version)'"
	expect '"trace_id" not in e.meta'
	answers 0 TOOL_TRACE_ID=trace-1 act
	expect 'e.meta.trace_id == "trace-1"'
	answers 2 RUNNER_TRACE_ID=trace-2 act --bogus
	expect 'e.meta.trace_id == "trace-2"'
	answers 0 TOOL_TRACE_ID=$'a\nb' act
	expect '"trace_id" not in e.meta'
	body naps <<<'ctx:sleep "100ms"'
	answers 0 naps
	expect 'e.meta.duration_ms >= 100'
	answers 10 act sleep --timeout 100ms
	expect 'e.meta.duration_ms >= 100'
}

@test "REQ-F-027 meta.cwd is where the caller stands, for every outcome" {
	answers 0 act
	expect "e.meta.cwd == '$PWD'"
	mkdir deeper
	cd deeper
	answers 1 act raise
	expect "e.meta.cwd == '$PWD'"
	answers 2 nothing-such
	expect "e.meta.cwd == '$PWD'"
}

@test "REQ-F-028 meta names the settings that count, and their hash changes with them" {
	answers 0 act
	expect 'e.meta.config_sources == [] and len(e.meta.effective_config_hash) == 16'
	local none
	none=$(field e.meta.effective_config_hash)
	echo 'return { timeout = "5s" }' >runner.lua
	answers 0 act
	expect "e.meta.config_sources == ['$PWD/runner.lua'] and e.meta.effective_config_hash != '$none'"
	local first
	first=$(field e.meta.effective_config_hash)
	answers 0 act
	expect "e.meta.effective_config_hash == '$first'"
	echo 'return { timeout = "6s" }' >runner.lua
	answers 10 act sleep --timeout 100ms
	expect "e.meta.effective_config_hash != '$first'"
	echo 'return { contexts = { a = {}, b = {} } }' >runner.lua
	answers 0 act
	first=$(field e.meta.effective_config_hash)
	answers 0 --context a act
	none=$(field e.meta.effective_config_hash)
	[ "$none" != "$first" ]
	answers 0 RUNNER_CONTEXT=a act
	expect "e.meta.effective_config_hash == '$none'"
	answers 0 --context b act
	expect "e.meta.effective_config_hash not in ('$none', '$first')"
	answers 0 RUNNER_CONTEXT=a#/elsewhere/runner.lua act
	expect "e.meta.effective_config_hash == '$first'"
	echo 'return { nonsense = 1 }' >runner.lua
	answers 4 act
	expect "e.meta.config_sources == ['$PWD/runner.lua']"
}

@test "REQ-F-057 meta.headless is true where nothing can open a window" {
	answers 0 act
	expect 'e.meta.headless is True'
	answers 0 DISPLAY=:0 act
	expect 'e.meta.headless is True'
}

@test "REQ-F-065 a pipeline fails with the stage that fails" {
	body pipe <<<'return ctx:pipeline{ { "sh", "-c", "exit 3" }, { "cat" } }'
	answers 1 pipe
	expect 'e.error.code == "SUBPROCESS_FAILED"'
}

@test "REQ-F-068 help and version need nothing: no HOME, a broken project, no files written" {
	echo 'return {' >runner.lua
	answers 0 act --help
	call --version
	[ "$status" -eq 0 ]
	[[ $stdout =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
	[ "$(find . -newer runner.lua -type f ! -name out.txt ! -name err.txt | wc -l)" -eq 0 ]
}

@test "REQ-F-048 help off a terminal is an envelope on stdout, once, and stderr is silent" {
	answers 0 act --help
	expect 'e.data["usage"].startswith("runner act") and e.meta.help is True'
	[ -z "$stderr" ]
}

@test "REQ-F-045 what a model invents for a name or a path is refused, and why" {
	body take 'args = { { "id", "string", pattern = "alphanumeric_id" }, { "file", "path", pattern = "filepath" }, { "any", "path" } },' \
		<<<'return { id = args.id or "", file = args.file or "", any = args.any or "" }'
	local row
	for row in --id=a%2e%2e=path_traversal --id=../x=path_traversal --id=x?foo=query_string --id=x#y=fragment \
		--id=a%40b=percent_encoded_separator --id=a%3Bls=percent_encoded_shell --file=../etc/passwd=path_traversal \
		--file=a/..=path_traversal --file=a%2Fb=percent_encoded_separator \
		--file=%252e%252e/x=percent_encoded_separator --file=%2%65./x=percent_encoded_separator; do
		answers 2 take "${row%=*}"
		expect "e.error.code == 'INVALID_AGENT_INPUT' and e.error.rejected_pattern == '${row##*=}' and e.error.phase == 'validation'"
		expect "'--' + e.error.errors[0].field + '=' + e.error.input_value == '${row%=*}'"
	done
	answers 0 take --id web-01 --file /home/u/f.txt --any ../x
	expect 'e.data == {"id": "web-01", "file": "/home/u/f.txt", "any": "../x"}'
	answers 2 take --id 'two words'
	expect 'e.error.code == "VALIDATION_ERROR" and "rejected_pattern" not in e.error'
}

@test "REQ-C-013 REQ-F-063 an author may say more: cause, docs_url, expires_at, refresh_command, required_permission" {
	body more <<-'LUA'
		ctx:fail("PERMISSION_DENIED", "You may not", { cause = "no role", docs_url = "https://example.org/x", expires_at = "2026-01-01T00:00:00Z",
			refresh_command = "more --login", required_permission = "admin" })
	LUA
	answers 7 more
	expect '[e.error[k] for k in ("cause", "docs_url", "expires_at", "refresh_command", "required_permission")] == ["no role", "https://example.org/x", "2026-01-01T00:00:00Z", "more --login", "admin"]'
	body wrong <<<'ctx:fail("NOT_FOUND", "m", { cause = 5, docs_url = {} })'
	answers 5 wrong
	expect '[w.code for w in e.warnings] == ["FIELD_IGNORED", "FIELD_IGNORED"] and "cause" not in e.error'
}

@test "what one attempt says of its error is not said of the next" {
	body twice 'retry = { retries = 1, delay = 0 },' <<-'LUA'
		ctx:fail("UNAVAILABLE", "m", ctx.attempt == 1 and { cause = "first" } or { docs_url = "second" })
	LUA
	answers 12 twice
	expect '"cause" not in e.error and e.error.docs_url == "second"'
}

@test "REQ-F-037 a network failure says how the server was to be reached" {
	body get <<<'return ctx:http{ url = "http://127.0.0.1:1/x?token=secret", retry = { retries = 0 } }'
	answers 12 get
	expect 'list(e.error.network_context) == ["no_proxy", "proxy_source", "proxy_used", "ssl_verify", "status_code", "suggestion", "url"]'
	expect 'e.error.network_context.proxy_used is None and e.error.network_context.proxy_source is None'
	answers 12 http_proxy=http://joe:pw@127.0.0.1:1 get
	expect 'e.error.network_context.proxy_source == "http_proxy" and e.error.network_context.proxy_used == "http://***@127.0.0.1:1"'
	[ -z "$(grep -e secret -e pw out.txt || true)" ]
}

@test "REQ-C-030 a fix_command is complete: nothing in it is to be filled in" {
	local command
	for command in 'runner make <id>' 'runner make $ID' 'rm $(ls)'; do
		body fix <<<"ctx:fail('NOT_FOUND', 'm', { fix_command = '$command' })"
		answers 5 fix
		expect '"fix_command" not in e.error and e.warnings[0].code == "FIELD_IGNORED"'
	done
	body fix <<<"ctx:fail('NOT_FOUND', 'm', { fix_command = 'runner make --id 7' })"
	answers 5 fix
	expect 'e.error.fix_command == "runner make --id 7"'
}

@test "REQ-O-008 --quiet and --verbose exclude each other" {
	answers 2 act --quiet --verbose
	expect 'e.error.errors[0].code == "CONFLICTING_VALUES"'
	answers 0 act --verbose
}

@test "REQ-F-056 --width wraps prose, and 0 doesn't" {
	command_file long <<-LUA
		return { description = "$(printf 'word %.0s' {1..60})end", danger_level = "safe", run = function() end }
	LUA
	call long --help --format plain --width 50
	[ -z "$(head -3 out.txt | awk 'length > 50')" ]
	call long --help --format plain --width 0
	[ "$(head -1 out.txt | wc -c)" -gt 300 ]
}

@test "REQ-F-032 the directory of a run is named in meta and for children, and gone afterwards" {
	body dir <<<'return { dir = ctx.tempdir, child = ctx:run{ "sh", "-c", "printf %s $RUNNER_TEMPDIR" }.stdout }'
	answers 0 dir
	expect 'e.data.dir == e.data.child == e.meta.session_tmp_dir'
	[ ! -e "$(field e.data.dir)" ]
	answers 0 act
	expect '"session_tmp_dir" not in e.meta'
}

@test "REQ-O-017 --cwd works elsewhere, and meta says so" {
	mkdir -p other/commands
	echo 'return { description = "x", danger_level = "safe", run = function(_, ctx) return { there = io.open("here.txt") ~= nil } end }' >other/commands/look.lua
	touch other/here.txt
	answers 0 --cwd other look
	expect "e.data.there and e.meta.cwd == '$PWD/other'"
	answers 2 --cwd nowhere look
	expect 'e.error.code == "VALIDATION_ERROR" and e.error.errors[0].field == "cwd"'
	answers 2 act --cwd other
	expect '"in front" in e.error.fix_required and e.error.suggestion == "runner --cwd other act" and len(e.error.errors) == 1'
	command_file own <<<'return { description = "x", danger_level = "safe", args = { { "cwd", "string" } }, run = function(a) return a end }'
	answers 0 own --cwd mine
	expect 'e.data.cwd == "mine"'
}

@test "REQ-O-016 REQ-O-024 --no-config reads no settings, --config reads others" {
	echo 'return { timeout = "7s" }' >runner.lua
	echo 'return { timeout = "8s" }' >other.lua
	answers 0 act
	expect 'e.meta.timeout_ms == 7000'
	answers 0 --no-config act
	expect 'e.meta.timeout_ms == 30000 and e.meta.config_sources == []'
	answers 0 --config other.lua act
	expect "e.meta.timeout_ms == 8000 and e.meta.config_sources == ['$PWD/other.lua']"
	answers 2 --config missing.lua act
	expect 'e.error.errors[0].field == "config"'
	echo 'return {' >runner.lua
	answers 4 act
	answers 0 --no-config act
}
