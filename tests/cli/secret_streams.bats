#!/usr/bin/env bats
# What a command, or a program that it starts, writes of a declared secret is *** in every channel: each way of writing it
# × each channel, and no piece of any form of it is left.

load lib/helper
load lib/mcp

SECRET='kq7/Zv+x"W ö%9\p~Lm'

# way NAME [KEYS…] <<<BODY: a command with a secret argument; its program finds the value in T, too
way() {
	local name=$1
	shift
	WAYS+=("$name")
	body "$name" 'args = { { "token", "string", secret = true, env = "TOKEN_OF_MINE" } },' "$@"
}

prepare() {
	WAYS=()
	echo 'return { audit = { path = "ledger.jsonl" }, telemetry = { file = "traces.jsonl", content = true } }' >runner.lua
	way writes <<<'io.stderr:write("a ", args.token, " b\n")'
	way pieces <<<'local n = #args.token // 2 io.stderr:write(args.token:sub(1, n)) io.stderr:flush() ctx:sleep(0.05) io.stderr:write(args.token:sub(n + 1), "\n")'
	way bytes <<<'for c in args.token:gmatch "." do io.stderr:write(c) io.stderr:flush() end io.stderr:write "\n"'
	way prints <<<'print("a", args.token, "b")'
	way logs <<<'ctx:log("token " .. args.token) ctx:log("warn", args.token) ctx:warn("ODD", args.token, { [args.token] = { args.token } })'
	way progresses <<<'ctx:progress(args.token) ctx:progress { done = 1, total = 2, unit = args.token } ctx:step("step " .. args.token) ctx:sleep(0.05) ctx:progress(2, 3, args.token)'
	way emits 'streams = true,' <<<'ctx:emit { token = args.token, [args.token] = 1 } ctx:emit { a = { args.token } }'
	way echoes <<<'ctx:run { "sh", "-c", "echo out $T; echo err $T >&2", env = { T = args.token }, echo = true }'
	way child_stderr <<<'local p = io.popen("printenv TOKEN_OF_MINE >&2; printenv TOKEN_OF_MINE") p:read "a" p:close()'
	way captured <<<'ctx:run { "sh", "-c", "echo out $T; echo err $T >&2; exit 3", env = { T = args.token } }'
	way raises <<<'local function deeper(t) error("bad " .. t) end deeper(args.token)'
	way calls <<<'return ctx:call("callee", { text = args.token })'
	way lanes <<<'ctx:parallel { a = function() ctx:log("warn", args.token) error(args.token) end, b = function() io.stderr:write(args.token, "\n") end }'
	way base64 <<<'for i = 0, 2 do ctx:run { "sh", "-c", "printf %s \"$T\" | base64 -w0 >&2; echo >&2; printf %s \"$T\" | base64 -w 5", env = { T = ("x"):rep(i) .. args.token .. "yy" }, echo = true } end'
	way url <<<'local f = args.token:gsub("[^%w]", function(c) return ("%%%02X"):format(c:byte()) end) io.stderr:write("http://h/?t=", f, "&u=", f:gsub("%%%x%x", string.lower), "&v=", (f:gsub("%%20", "+")), "\n")'
	way json <<<'local json = require "runner.json" io.stderr:write(json.encode { t = args.token, u = json.encode(args.token) }, "\n") io.stderr:write((json.encode(args.token):gsub("/", "\\/"):gsub("ö", "\\u00f6")), "\n")'
	way long <<<'io.stderr:write(("x"):rep(300000), args.token, ("y"):rep(300000), args.token, "\n")'
	way twice <<<'io.stderr:write(args.token, args.token, " ", args.token, "\n")'
	way overlaps <<<'io.stderr:write(args.token:sub(1, 5), args.token, " ", args.token:sub(1, 5), args.token:sub(1, 5), args.token, "\n")'
	way fails <<<'ctx:fail("UNAVAILABLE", "bad " .. args.token, { suggestion = args.token, cause = args.token, context = { [args.token] = args.token }, errors = { { code = "ODD", message = args.token } }, data = { args.token } })'
	body callee 'args = { { "text", "string" } },' <<<'io.stderr:write(args.text, "\n") ctx:log("warn", args.text) ctx:fail("UNAVAILABLE", args.text)'
	CLEAN_ENV+=(TOKEN_OF_MINE="$SECRET")
	known
}

# clean FILE…: nothing of it is there, and something is
clean() {
	python3 "$ROOT/tests/cli/lib/leaks.py" "$SECRET" "$@"
}

@test "the search for leaks finds each form" {
	local form
	for form in "$SECRET" "$(base64 <<<"$SECRET")" 'kq7%2FZv%2Bx%22W' 'W+%c3%b6%25' 'x\"W ö' 'W \u00f6%9' 'x"W ö'; do
		echo "x $form y" >it
		run clean it
		[ "$status" -eq 1 ]
	done
	echo 'kq7/Z Zv+x" W-ö' >it
	clean it
}

@test "no way of writing a secret shows it: the answer, stderr, the ledger and the trace" {
	local name
	for name in "${WAYS[@]}"; do
		call "$name" --verbose
		assert_envelope_or_rows "$name"
		grep -qF '***' out.txt err.txt
		clean out.txt err.txt || { echo "$name"; return 1; }
		call "$name" --debug --format table
		clean out.txt err.txt || { echo "$name, as a table"; return 1; }
	done
	[ -s ledger.jsonl ]
	[ -s traces.jsonl ]
	clean ledger.jsonl traces.jsonl "$BATS_TEST_TMPDIR.home"
}

# assert_envelope_or_rows NAME: rows come in front of it
assert_envelope_or_rows() {
	if [ "$1" = emits ]; then
		[ "$status" -eq 0 ]
	else
		assert_envelope
	fi
}

@test "no way of writing a secret shows it on a terminal" {
	local name
	for name in "${WAYS[@]}"; do
		env -i "${CLEAN_ENV[@]}" TERM=xterm python3 -c '
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$RUNNER" "$name" --verbose </dev/null >screen || true
		[ -s screen ]
		clean screen || { echo "$name"; return 1; }
		grep -qF '***' screen || { echo "$name shows nothing"; return 1; }
	done
}

@test "no way of writing a secret shows it to a client of MCP, or on the server's stderr" {
	session >said.txt <<'PY'
import glob
META = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}
with Server() as s:
    for name in sorted(os.path.basename(p)[:-4] for p in glob.glob("commands/*.lua") if "callee" not in p):
        print(json.dumps(s.answer(s.request("tools/call", {"name": name, "arguments": {}}, meta=META))))
    print(json.dumps(s.others))
    s.close()
PY
	[ "$(grep -oF '***' said.txt | wc -l)" -gt 20 ]
	clean said.txt err.txt
}

@test "no way of writing a secret shows it in a job: its log, its progress, its record, its answer" {
	local name id
	for name in "${WAYS[@]}"; do
		call "$name" --detach
		id=$(field 'e.data.job_id')
		call job wait "$id"
		clean out.txt err.txt || { echo "$name waits"; return 1; }
		call job logs "$id"
		clean out.txt err.txt || { echo "$name logs"; return 1; }
		call job status "$id"
		clean out.txt err.txt || { echo "$name status"; return 1; }
	done
	clean ledger.jsonl traces.jsonl "$BATS_TEST_TMPDIR.home"
}

@test "no way of writing a secret shows it in a workflow: its log lines, files, pages and traces" {
	cat >w.yaml <<'YAML'
name: w
secrets: [ TOKEN_OF_MINE ]
continue_on_error: true
commands:
  - shell: echo "out $TOKEN_OF_MINE"; echo "err $TOKEN_OF_MINE" >&2
  - shell: printf %s "$TOKEN_OF_MINE" | head -c 9; sleep 0.05; printf %s "$TOKEN_OF_MINE" | tail -c +10
  - shell: for i in 1 2; do printf %s "$TOKEN_OF_MINE" | base64 >&2; done; printf "x%s" "$TOKEN_OF_MINE" | base64 -w0
  - shell: echo "$TOKEN_OF_MINE$TOKEN_OF_MINE" >&2; exit 3
    on_error: continue
  - runner: fails
    on_error: continue
YAML
	sed -i '/continue_on_error/d' w.yaml
	sed -i '/on_error: continue/d' w.yaml
	call workflow run w.yaml --verbose
	clean out.txt err.txt
	grep -qF '***' err.txt
	local id
	id=$(field 'e.error.context.run if e.error else e.data.run')
	call workflow logs "$id"
	clean out.txt err.txt
	call workflow show "$id" --html page.html
	clean out.txt err.txt page.html traces.jsonl ledger.jsonl "$BATS_TEST_TMPDIR.home"
	env -i "${CLEAN_ENV[@]}" TERM=xterm python3 -c '
import os, pty, sys
sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$RUNNER" workflow run w.yaml </dev/null >screen || true
	grep -qF '***' screen
	clean screen
}
