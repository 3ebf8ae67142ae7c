#!/usr/bin/env bats
# Entries of the CLI Agent Spec that belong to no larger subject of their own: each test is
# named after its entry (docs/compliance.md).

load lib/helper

clean_up() {
	[ -z "${helper_pid:-}" ] || kill "$helper_pid"
}

@test "REQ-C-002 a command without a danger level is refused; every level is in the manifest" {
	echo 'return { description = "x", run = function() end }' | command_file unclear
	answers 4 unclear
	expect 'e.error.code == "COMMAND_INVALID" and e.error.errors[0]["field"] == "danger_level"'
	echo 'return { description = "x", danger_level = "risky", run = function() end }' | command_file unclear
	answers 4 unclear
	local level
	for level in safe mutating destructive; do
		echo 'return { description = "x", danger_level = "'$level'", run = function() return { effect = "noop" } end,
			exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } } }' | command_file "level-$level"
	done
	rm commands/unclear.lua
	answers 0 manifest
	expect '{ n[6:]: c.danger_level for n, c in e.data.commands.items() if n.startswith("level-") } == { n: n for n in ("safe", "mutating", "destructive") }'
	expect '"dry-run" in e.data.commands["level-destructive"].flags'
}

# serve: what it is asked for goes to the file `asked`; its port to `port`. It speaks TLS where there is a key.pem.
serve() {
	python3 - <<'PY' 3>&- &
import http.server, os, ssl
class Handler(http.server.BaseHTTPRequestHandler):
	def do_GET(self):
		with open("asked", "a") as f:
			f.write(self.path + "\n")
		self.send_response(200)
		self.send_header("Content-Length", "0")
		self.end_headers()
	def log_message(self, *args):
		pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
if os.path.exists("key.pem"):
	context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
	context.load_cert_chain("ca.pem", "key.pem")
	server.socket = context.wrap_socket(server.socket, server_side=True)
with open("port.part", "w") as f:
	f.write(str(server.server_port))
os.rename("port.part", "port")
server.serve_forever()
PY
	helper_pid=$!
	until_true [ -e port ]
}

@test "REQ-F-036 ctx:http goes through HTTP_PROXY, in capitals too, and past it for hosts of NO_PROXY" {
	serve
	local name
	body get <<<'return ctx:http{ url = "http://example.invalid/" .. os.getenv "WHICH" }.status'
	for name in HTTP_PROXY http_proxy ALL_PROXY; do
		answers 0 "$name=http://127.0.0.1:$(<port)" WHICH="$name" get
		grep -qx "http://example.invalid/$name" asked
	done
	answers 12 HTTP_PROXY="http://127.0.0.1:$(<port)" NO_PROXY=example.invalid WHICH=past get
	run grep -c past asked
	[ "$output" -eq 0 ]
}

@test "REQ-F-036 ctx:http checks a server with the certificates that the environment names" {
	command -v openssl >/dev/null || skip "no openssl"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out ca.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=DNS:localhost 2>/dev/null
	serve
	body get <<<'return ctx:http{ url = "https://localhost:" .. os.getenv "AT" .. "/", retry = { retries = 0 } }.status'
	local name
	for name in CURL_CA_BUNDLE REQUESTS_CA_BUNDLE SSL_CERT_FILE; do
		answers 0 "$name=$PWD/ca.pem" AT="$(<port)" get
	done
	call AT="$(<port)" get # which nothing vouches for
	assert_envelope
	[ "$status" -ne 0 ]
	expect '"certificate" in e.error.message.lower() or "ssl" in e.error.message.lower()'
}

@test "REQ-F-038 off a terminal and in CI ctx:log says warnings and errors only; --verbose and kept logs say all" {
	body speak 'steps = { "one" },' \
		<<<'ctx:step "one" ctx:progress(0.5) ctx:log("debug", "a") ctx:log("info", "b") ctx:log("warn", "c") ctx:log("error", "d") return {}'
	said() { python3 -c 'import json; print("".join(json.loads(l)["message"] for l in open("err.txt")))'; }
	answers 0 speak
	[ "$(said)" = cd ]
	answers 0 CI=1 speak
	[ "$(said)" = cd ]
	answers 0 speak --verbose
	[ "$(said)" = one50%abcd ]
	grep -q '"event":"step".*"message":"one"' err.txt
	grep -q '"event":"progress".*"message":"50%"' err.txt
	answers 0 RUNNER_DEBUG=1 speak
	[[ $(said) == *abcd ]]
	answers 0 speak --quiet
	[ ! -s err.txt ]
	answers 0 RUNNER_LOG_KEPT=1 speak
	[ "$(said)" = bcd ]
	terminal() { env -i "${CLEAN_ENV[@]}" TERM=xterm "$@" script -qec "$RUNNER speak" /dev/null </dev/null | sed 's/\r//g; s/\x1b\[[0-9;]*[A-Za-z]//g'; }
	terminal env >term.txt
	grep -q 'b$' term.txt
	grep -q '1/1 one' term.txt
	terminal env CI=1 >term.txt
	[ "$(grep -c 'b$\|1/1 one' term.txt)" -eq 0 ]
	grep -q 'warn: c' term.txt
	printf 'name: w\nsteps:\n  - runner: speak\n' >w.yaml
	answers 0 XDG_STATE_HOME="$PWD/state" workflow run w.yaml
	answers 0 XDG_STATE_HOME="$PWD/state" workflow logs "$(field e.data.id)"
	[[ $stdout == *'\"b\"'* ]]
}

@test "REQ-F-038 stderr = child_log passes on what programs say, line by line, and --quiet none of it" {
	body play 'stderr = "child_log", timeout = "5m",' <<-'LUA'
		ctx:run{ "sh", "-c", "echo one; echo two >&2; touch marker; while [ -e marker ]; do sleep 0.02; done; echo three" }
		ctx:pipeline{ { "echo", "unseen" }, { "cat" } }
		return ctx:run{ "echo", "kept" }.stdout
	LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" play >out.txt 2>err.txt </dev/null 3>&- &
	helper_pid=$!
	until_true grep -qx two err.txt
	grep -qx one err.txt
	until_true rm marker
	status=0
	wait "$helper_pid" || status=$?
	helper_pid=
	stdout=$(<out.txt)
	assert_envelope
	expect 'e.data.value.strip() == "kept"'
	grep -qx three err.txt
	body play 'stderr = "child_log",' <<<'ctx:run{ "sh", "-c", "echo one; echo two >&2" } ctx:run{ "echo", "three", capture = false } return {}'
	answers 0 play
	[ "$(tr '\n' ' ' <err.txt)" = "one two three " ]
	answers 0 play --quiet
	[ ! -s err.txt ]
	answers 0 manifest play
	expect 'e.data.commands["play"].stderr == "child_log"'
	body plain <<<'ctx:run{ "echo", "one" } return {}'
	answers 0 plain
	[ ! -s err.txt ]
	echo 'return { description = "x", danger_level = "safe", arguments = "passthrough", stderr = "child_log", run = function() end }' | command_file wrong
	answers 4 wrong
	expect 'e.error.code == "COMMAND_INVALID" and "passthrough" in e.error.message'
	body wrong 'stderr = "all",' <<<'return {}'
	answers 4 wrong
}

@test "REQ-F-070 a file that can't be written whole stays as it was, and nothing is left beside it" {
	mkdir files
	echo old >files/target
	body write <<<'ctx.fs.write("files/target", ("x"):rep(1 << 20)) return { done = true }'
	status=0
	(
		trap '' XFSZ
		ulimit -f 64
		exec env -i "${CLEAN_ENV[@]}" "$RUNNER" write
	) >out.txt 2>err.txt </dev/null || status=$?
	[ "$status" -ne 0 ]
	[ "$(<files/target)" = old ]
	[ "$(ls files)" = target ]
	answers 0 write
	[ "$(wc -c <files/target)" -eq 1048576 ]
	[ "$(ls files)" = target ]
}

@test "REQ-F-029 nothing looks for updates: no call opens a connection of its own" {
	command -v strace >/dev/null || skip "no strace"
	body plain <<<'return { fine = true }'
	env -i "${CLEAN_ENV[@]}" HOME="$PWD" strace -f -qq -e trace=connect,sendto -o trace.txt "$RUNNER" plain >out.txt 2>err.txt </dev/null ||
		skip "strace can't trace here"
	run grep -cE 'AF_INET|AF_UNIX' trace.txt
	[ "$output" -eq 0 ]
	env -i "${CLEAN_ENV[@]}" HOME="$PWD" TERM=xterm script -qec "strace -f -qq -e trace=connect,sendto -o trace.txt $RUNNER plain" /dev/null </dev/null >out.txt
	grep -q 'fine' out.txt
	run grep -cE 'AF_INET|AF_UNIX' trace.txt
	[ "$output" -eq 0 ]
	call plain
	expect '"update_available" not in e.meta'
}

@test "REQ-O-044 the lines that AGENTS.md installs with ask nothing, and may be run again" {
	local install=".ci/make deps </dev/null && .ci/make install PREFIX=/usr/local </dev/null"
	sed -n '/^## Installation/,/^## Canonical/p' "$ROOT/AGENTS.md" >section.txt
	grep -qx "$install" section.txt
	grep -qx 'runner --version' section.txt
	[ -x "$ROOT/.ci/make" ]
	for _ in 1 2; do
		make -s -C "$ROOT" install PREFIX="$PWD/prefix" </dev/null >out.txt
	done
	[[ $("$PWD/prefix/bin/runner" --version --format plain) =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]]
}

@test "REQ-F-015 validate can't change anything: it may only look" {
	local how
	echo text >there.txt
	for how in 'os.execute "touch made"' 'io.popen("touch made"):close()' 'io.open("made", "w")' 'os.remove "there.txt"' \
		'require("fs").write("made", "x")' 'require("fs").unlink "there.txt"' 'pcall(require("fs").mkdir, "made") return { "no" }'; do
		command_file look <<<"return { description = 'x', danger_level = 'safe', run = function() return { ran = true } end,
			validate = function() $how end }"
		call look
		assert_envelope
		[ "$status" -ne 0 ]
		expect 'e.error.code in ("COMMAND_INVALID", "VALIDATION_ERROR") and e.error.phase == "validation"'
		[ ! -e made ]
		[ -e there.txt ]
	done
	grep -q 'VALIDATION_ERROR' out.txt
	command_file look <<'LUA'
return { description = "x", danger_level = "safe",
	validate = function()
		local f = io.open("there.txt")
		return f:read() ~= "text" and { "wrong" } or not require("fs").stat("there.txt") and { "gone" } or nil
	end,
	run = function() os.execute "touch made" return { ran = true } end }
LUA
	answers 0 look
	[ -e made ]
}
