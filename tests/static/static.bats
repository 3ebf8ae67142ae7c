#!/usr/bin/env bats
# What the static build alone can do, can't do, or does in another way. `make check-static` runs it, and the
# suite of the command line on the same program.
# shellcheck disable=SC2034 # what stdout holds is for assert_envelope

RUNNER=${RUNNER:-$BATS_TEST_DIRNAME/../../build/static/runner}
load ../cli/lib/helper

setup_file() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,DNS:far.test \
		-keyout "$BATS_FILE_TMPDIR/key.pem" -out "$BATS_FILE_TMPDIR/cert.pem" 2>/dev/null
}

prepare() {
	command_file hello <<<'return { description = "x", danger_level = "safe", run = function() return { hello = "world" } end }'
	command_file get <<'LUA'
return { description = "x", danger_level = "safe", args = { { "url", "string", positional = true, required = true } },
	run = function(args, ctx) return { status = ctx:http({ url = args.url }).status } end }
LUA
	server=
}

clean_up() {
	[ -z "$server" ] || exec {server}<&-
}

# serve: $https is the port of a server with our own certificate.
serve() {
	local name port
	exec {server}< <(exec python3 "$ROOT/tests/lua/lib/http_server.py" "$BATS_FILE_TMPDIR/cert.pem" \
		"$BATS_FILE_TMPDIR/key.pem" 2>/dev/null 3>&-)
	while read -r -u "$server" name port; do
		case $name in
		https) https=$port ;;
		ready) return 0 ;;
		esac
	done
	return 1
}

# elsewhere SCRIPT: a shell with mounts and a network of its own; what it calls writes out.txt.
elsewhere() {
	unshare -r true 2>/dev/null || skip "no user namespaces"
	status=0
	env -i "${CLEAN_ENV[@]}" RUNNER="$RUNNER" CERT="$BATS_FILE_TMPDIR/cert.pem" \
		unshare -rm "${OWN_NET[@]}" sh -euc "$1" >out.txt 2>err.txt </dev/null || status=$?
	stdout=$(<out.txt)
}

@test "the program needs no loader and no library, and says so" {
	[ "$(readelf -lW "$RUNNER" | grep -c 'INTERP\|DYNAMIC')" -eq 0 ]
	call --version --verbose --format json
	expect 'e.data["build"]["linkage"] == "static"'
	expect 'e.data["build"]["libc"] == "musl"'
	expect 'all(l["linked"] == "built-in" and "missing" not in l for l in e.data["libraries"]) and len(e.data["libraries"]) == 8'
	call doctor --format json
	expect 'e.data["machine"]["summary"].endswith(", static build")'
}

@test "frames need no new memory each time: musl gives every freed page back" {
	command_file frames <<'LUA'
return { description = "x", danger_level = "safe", run = function(_, ctx)
	local data = { note = ("x"):rep(56 * 1024) }
	for _ = 1, 400 do ctx:progress(data) end
end }
LUA
	run python3 -c 'import os, resource, subprocess, sys
subprocess.run([os.environ["RUNNER"], "frames"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt)'
	[ "$status" -eq 0 ]
	[ "$output" -lt 8000 ] # a page of each copy of each frame: 28,000
}

@test "memory is copied by src/libc, not by the slow loop of musl" {
	nm "$RUNNER" >symbols.txt 2>err.txt
	[ "$(grep -cwE 'T (memcpy|memmove|memcmp)' symbols.txt)" -eq 3 ]
	[ "$(grep -cw '__memcpy_fwd_alias_1' symbols.txt)" -eq 0 ]
}

@test "a command runs in a root directory that has nothing else" {
	unshare -r true 2>/dev/null || skip "no user namespaces"
	mkdir root
	mv commands root/
	cp "$RUNNER" root/runner
	unshare -r chroot root /runner hello >out.txt 2>err.txt </dev/null
	status=0 stdout=$(<out.txt)
	assert_envelope
	expect 'e.data == {"hello": "world"}'
}

@test "a server is trusted when SSL_CERT_FILE or SSL_CERT_DIR has its CA, and not otherwise" {
	serve
	call SSL_CERT_FILE="$BATS_FILE_TMPDIR/cert.pem" get "https://localhost:$https/echo"
	assert_envelope
	expect 'e.data["status"] == 200'
	mkdir store
	cp "$BATS_FILE_TMPDIR/cert.pem" store/own.pem
	openssl rehash store
	call SSL_CERT_DIR="$PWD/store" get "https://localhost:$https/echo"
	expect 'e.data["status"] == 200'
	call SSL_CERT_FILE="$PWD/none.pem" get "https://localhost:$https/echo"
	expect 'e.error.code == "PRECONDITION" and "SSL_CERT_FILE" in e.error.suggestion'
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=other -keyout other.key -out other.pem 2>/dev/null
	call SSL_CERT_FILE="$PWD/other.pem" get "https://localhost:$https/echo"
	expect 'e.error.code == "PRECONDITION" and "not trusted" in e.error.message'
}

@test "without a variable, the CA certificates are where a distribution keeps them" {
	serve
	local place
	for place in ssl/certs/ca-certificates.crt pki/ca-trust/extracted/pem/tls-ca-bundle.pem ssl/ca-bundle.pem ssl/cert.pem; do
		elsewhere "
			mount -t tmpfs none /etc
			echo '127.0.0.1 localhost' >/etc/hosts
			mkdir -p \$(dirname /etc/$place)
			cp \"\$CERT\" /etc/$place
			exec \"\$RUNNER\" get https://localhost:$https/echo"
		assert_envelope
		expect 'e.data["status"] == 200'
	done
}

@test "without any CA certificates, https is a named error and http goes on" {
	serve
	local hide='mount -t tmpfs none /etc; echo "127.0.0.1 localhost" >/etc/hosts; exec "$RUNNER" get '
	elsewhere "$hide https://localhost:$https/echo"
	assert_envelope
	expect 'e.error.code == "PRECONDITION" and e.error.message.startswith("No CA certificates are here")'
	expect '"ca-certificates" in e.error.suggestion and e.error.retryable is False'
	elsewhere "$hide http://localhost:9/"
	expect 'e.error.code == "NETWORK_ERROR"'
}

@test "names come from /etc/hosts and from the server of /etc/resolv.conf" {
	local OWN_NET=(-n)
	cat >dns.py <<'PY'
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 53))
open("ready", "w").write("yes")
while True:
    q, to = s.recvfrom(512)
    end = q.index(b"\0", 12) + 5
    name, kind = q[12:end - 4], q[end - 4:end - 2]
    known = name == b"\3far\4test\0"
    answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x7f\0\0\1" if known and kind == b"\0\1" else b""
    flags = b"\x81\x80" if known else b"\x81\x83"
    s.sendto(q[:2] + flags + b"\0\1" + (b"\0\1" if answer else b"\0\0") + b"\0\0\0\0" + q[12:end] + answer, to)
PY
	elsewhere '
		ip link set lo up
		mount -t tmpfs none /etc
		printf "127.0.0.1 localhost near.test\n" >/etc/hosts
		echo "nameserver 127.0.0.1" >/etc/resolv.conf
		python3 dns.py >/dev/null 2>&1 &
		until [ -s ready ]; do sleep 0.05; done
		for name in near.test far.test gone.test; do "$RUNNER" get http://$name:9/ >$name.txt || true; done
		kill $!'
	local name
	for name in near far; do # found: nobody listens there
		cp "$name.test.txt" out.txt
		expect 'e.error.code == "NETWORK_ERROR" and "No connection" in e.error.message'
	done
	cp gone.test.txt out.txt
	expect '"Can'"'"'t resolve" in e.error.message'
}

@test "a C module is refused by its name, with the way out; a missing module is still missing" {
	mkdir -p mods
	touch mods/native.so
	body native '' <<<"package.cpath = '$PWD/mods/?.so' return require 'native'"
	call native
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "COMMAND_INVALID" and e.error.message.startswith("'"'native' ($PWD/mods/native.so)"' is a C module")'
	expect '"dynamic build" in e.error.fix_required'
	body direct '' <<<"return { package.loadlib('$PWD/mods/native.so', '*') }"
	call direct
	expect 'e.error.code == "COMMAND_INVALID" and "native.so is a C module" in e.error.message'
	body absent '' <<<'return require "nowhere"'
	call absent
	expect 'e.error.code != "COMMAND_INVALID" and "nowhere" in e.error.message'
}

@test "YAML, SQLite and digests are inside: a workflow runs and is listed, and scripts have yaml" {
	cat >two.yaml <<'YAML'
name: two
steps:
  - id: first
    shell: echo one
  - shell: test "${steps.first.output}" = one
YAML
	call XDG_STATE_HOME="$PWD/state" workflow run two.yaml
	assert_envelope
	expect 'e.data["state"] == "completed"'
	call XDG_STATE_HOME="$PWD/state" workflow list
	expect '[r["workflow"] for r in e.data] == ["two"]'
	body inside '' <<<'return { sum = require("runner.hash").text("abc", "sha256"), kind = type(require("yaml").parser) }'
	call inside
	expect 'e.data["sum"].startswith("ba7816bf8f01cfea") and e.data["kind"] == "function"'
}

@test "a library comes from a tar file, plain or gzipped: what reads them is inside" {
	unshare -r true 2>/dev/null || skip "no user namespaces"
	known
	mkdir -p root/commands shared/tools/commands
	echo 'return { description = "x", danger_level = "safe", run = function() return { word = "one" } end }' >shared/tools/commands/greet.lua
	cp "$RUNNER" root/runner
	tar -C shared -czf root/tools.tar.gz tools
	tar -C shared -cf root/tools.tar tools
	local name
	for name in tools.tar.gz tools.tar; do
		status=0
		HOME=/ RUNNER_TRUST=/ unshare -r chroot root /runner add "$name" >out.txt 2>err.txt </dev/null || status=$?
		stdout=$(<out.txt)
		assert_envelope
		expect 'e.ok and e.data["commands"] == ["tools greet"]'
	done
}

@test "the status of a program of io.popen that failed is its own" {
	body popen '' <<<'return { select(2, io.popen("exit 3"):close()) }'
	call popen
	expect 'e.data == ["exit", 3]'
}

@test "a number is written the same in every locale" {
	body number '' <<<'os.setlocale "de_DE.UTF-8" return { text = ("%.1f"):format(1.5) }'
	call number
	expect 'e.data["text"] == "1.5"'
}
