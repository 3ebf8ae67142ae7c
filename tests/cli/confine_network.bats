#!/usr/bin/env bats
# confine.network = { hosts, ports, udp }: a listener that may be reached and one that may not, whoever asks, and every
# form of their names.

load lib/helper

prepare() {
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 4 ] || skip "this kernel's Landlock is version $have, not 4"
	cat >server.py <<'PY'
import http.server, socketserver, sys, threading
class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 128
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.startswith("/to?"):
            self.send_response(302); self.send_header("Location", self.path[4:]); self.send_header("Content-Length", "0"); self.end_headers(); return
        body = self.headers["Host"].encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *a):
        open("asked.%d" % self.server.server_port, "a").write(self.path + "\n")
servers = [Server(("127.0.0.1", 0), Handler) for _ in range(2)]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print(*[server.server_port for server in servers], flush=True)
sys.stdin.read()
PY
	mkfifo stop
	python3 server.py <stop >ports 2>server.err 3>&- &
	server=$!
	exec {stop}>stop
	until_true [ -s ports ]
	read -r open shut <ports
	cat >tcp.py <<'PY'
import errno, socket, sys
def way(name, f):
    try:
        f(); print(name, "out")
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e.errno))
def stream(port, family=socket.AF_INET, kind=socket.SOCK_STREAM, protocol=0):
    s = socket.socket(family, kind, protocol); s.settimeout(5); s.connect(("127.0.0.1", port)); return s
def fast(port):
    socket.socket().sendto(b"x", 0x20000000, ("127.0.0.1", port))
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"x", ("127.0.0.1", 9))
def again(port, other):
    s = stream(port); s.connect_ex(("", 0)) ; s.close()
for port in sys.argv[1:]:
    way("tcp", lambda: stream(int(port)))
    way("mptcp", lambda: stream(int(port), protocol=262))
    way("fastopen", lambda: fast(int(port)))
way("udp", udp)
way("bind", lambda: socket.socket().bind(("127.0.0.1", 0)))
way("listen", lambda: socket.socket().listen())
way("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
way("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
way("unix", lambda: socket.socketpair())
PY
}

clean_up() {
	[ -z "${stop:-}" ] || exec {stop}>&-
	[ -z "${server:-}" ] || wait "$server" || true
}

# asking KEYS: `get URL` asks by ctx:http, and runs tcp.py
asking() {
	body get "confine = { network = { $1 } }, exit_codes = {}, args = { { \"url\", \"string\", positional = true, required = true },
		{ \"method\", \"string\", default = \"GET\" } }, ${2:-}" <<-LUA
		local r = ctx:http{ url = args.url, method = args.method, check = false, timeout = "20s" }
		local tcp = ctx:run{ "python3", "tcp.py", "$open", "$shut" }
		return { status = r.status, body = r.body, code = r.error and r.error.code, message = r.error and r.error.message,
			side_effects = r.error and r.error.side_effects, retryable = r.error and r.error.retryable, tcp = tcp.stdout }
	LUA
}

tcp() {
	expect "e.data['tcp'].split('\n')[:-1] == $1"
}

@test "ports: what isn't among them is connected to by nobody, in no way" {
	asking "ports = { $open }"
	answers 0 get "http://127.0.0.1:$open/"
	expect 'e.data["status"] == 200'
	tcp '["tcp out", "mptcp EACCES", "fastopen EACCES", "tcp EACCES", "mptcp EACCES", "fastopen EACCES", "udp EACCES", "bind EACCES", "listen EACCES", "raw EACCES", "packet EACCES", "unix out"]'
	expect 'e.meta["confined"]["holds"][:3] == ["sockets", "ports", "abstract_sockets"] and e.meta["confined"]["lacks"] == []'
	answers 0 get "http://127.0.0.1:$shut/"
	expect 'e.data["code"] == "NETWORK_ERROR"'
	answers 0 get "http://127.0.0.1:$open/to?http://127.0.0.1:$shut/"
	expect 'e.data["code"] == "NETWORK_ERROR"'
	[ ! -e "asked.$shut" ]
}

@test "udp: beside ports it can be used, and nothing else can" {
	asking "ports = { $open, $shut }, udp = true"
	answers 0 get "http://localhost:$shut/"
	expect 'e.data["status"] == 200'
	tcp '["tcp out", "mptcp EACCES", "fastopen EACCES", "tcp out", "mptcp EACCES", "fastopen EACCES", "udp out", "bind EACCES", "listen EACCES", "raw EACCES", "packet EACCES", "unix out"]'
}

NONE='["tcp EACCES", "mptcp EACCES", "fastopen EACCES", "tcp EACCES", "mptcp EACCES", "fastopen EACCES", "udp EACCES", "bind EACCES", "listen EACCES", "raw EACCES", "packet EACCES", "unix out"]'

@test "hosts: ctx:http reaches them, no program reaches anything, and no other name or number is a way" {
	local url
	asking "hosts = { \"localhost\", \"127.0.0.1:$open\" }"
	for url in "http://127.0.0.1:$open/" "http://localhost:$open/" "http://LOCALHOST.:$shut/" "http://user:word@localhost:$shut/x" \
		"http://localhost:$open/to?http://127.0.0.1:$open/y" "http://%6cocalhost:$open/"; do
		echo "$url"
		answers 0 get "$url"
		expect 'e.data["status"] == 200'
		tcp "$NONE"
	done
	expect 'e.meta["confined"]["holds"][:3] == ["sockets", "hosts", "abstract_sockets"]'
	rm -f asked.*
	for url in "http://127.0.0.1:$shut/" "http://127.0.0.2:$open/" "http://[::1]:$open/" "http://[::ffff:127.0.0.1]:$open/" "http://127.1:$shut/" \
		"http://2130706433:$shut/" "http://0x7f000001:$shut/" "http://0177.0.0.1:$shut/" "http://0:$open/" "http://localhost.localdomain:$open/" \
		"http://localhost@127.0.0.1:$shut/" "http://ip6-localhost:$open/" "http://localhost:$open@127.0.0.1:$shut/" "http://example.org/" \
		"http://127.0.0.1/" "http://127.0.0.1:0/"; do
		echo "$url"
		answers 0 get "$url"
		expect 'e.data["code"] in ("PERMISSION_DENIED", "INVALID_ARGUMENT") and e.data["side_effects"] == "none" and e.data["retryable"] is False'
	done
	[ ! -e "asked.$open" ]
	[ ! -e "asked.$shut" ]
}

@test "hosts: a redirect to another one is not followed, and says what was sent" {
	asking "hosts = { \"127.0.0.1:$open\" }"
	answers 0 get "http://127.0.0.1:$open/to?http://127.0.0.1:$shut/x"
	expect 'e.data["code"] == "PERMISSION_DENIED" and e.data["side_effects"] == "none"'
	expect "'127.0.0.1:$shut' in e.data['message']"
	answers 0 get "http://127.0.0.1:$open/to?http://localhost:$open/x"
	expect 'e.data["code"] == "PERMISSION_DENIED"'
	answers 0 get "http://127.0.0.1:$open/to?http://localhost:$open/x" --method POST
	expect 'e.data["code"] == "PERMISSION_DENIED" and e.data["side_effects"] == "partial"'
	[ ! -e "asked.$shut" ]
	[ "$(sort -u "asked.$open" | wc -l)" -eq 2 ]
}

@test "hosts with ports: both have to fit" {
	asking "hosts = { \"127.0.0.1\" }, ports = { $open }"
	answers 0 get "http://127.0.0.1:$open/"
	expect 'e.data["status"] == 200'
	tcp "$NONE"
	answers 0 get "http://127.0.0.1:$shut/"
	expect 'e.data["code"] == "PERMISSION_DENIED"'
}

@test "hosts: requests at once, of tasks, each have a connection of their own" {
	body many "confine = { network = { hosts = { \"127.0.0.1:$open\" } } }, timeout = \"60s\"," <<-LUA
		local tasks = {}
		for i = 1, 80 do
			tasks[i] = function() return ctx:http{ url = "http://127.0.0.1:$open/" .. i, timeout = "30s" }.status end
		end
		tasks[81] = function() return ctx:http{ url = "http://127.0.0.1:$shut/", check = false }.error.code end
		local out = ctx:parallel(tasks)
		return { first = out[1], eightieth = out[80], refused = out[81] }
	LUA
	answers 0 many
	expect 'e.data["first"] == e.data["eightieth"] == 200 and e.data["refused"] == "PERMISSION_DENIED" and e.warnings == []'
	[ "$(sort -u "asked.$open" | wc -l)" -eq 80 ]
}

@test "hosts: an attempt and a job ask again, and no process is left" {
	asking "hosts = { \"127.0.0.1:$open\" }" 'retry = { retries = 1, delay = 0 },'
	answers 0 get "http://127.0.0.1:$open/"
	assert_no_process_left
	CLEAN_ENV+=(XDG_STATE_HOME="$PWD/state")
	answers 0 get "http://127.0.0.1:$open/" --detach
	call job wait "$(field 'e.data["job_id"]')"
	expect 'e.data["status"] == 200'
	assert_no_process_left
}

@test "hosts: what hangs ends with its limit, and a killed command leaves no gate" {
	# its queue is full, so that the next connection waits
	python3 - 3>&- <<-'PY' &
		import os, socket, time
		s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(0)
		waiting = [socket.socket() for _ in range(8)]
		for w in waiting: w.setblocking(False); w.connect_ex(s.getsockname())
		time.sleep(0.2)
		open("full.new", "w").write(str(s.getsockname()[1])); os.rename("full.new", "full")
		while not os.path.exists("over"): time.sleep(0.05)
	PY
	local busy=$! full
	until_true [ -s full ]
	full=$(<full)
	body slow "confine = { network = { hosts = { \"127.0.0.1\" } } }, timeout = \"60s\"," <<-LUA
		local r = ctx:http{ url = "http://127.0.0.1:$full/", check = false, connect_timeout = "300ms" }
		return { code = r.error.code, limit = r.error.context.limit }
	LUA
	answers 0 slow
	touch over
	wait "$busy"
	expect 'e.data == { "code": "TIMEOUT", "limit": "connect_timeout" }'
	body hangs "confine = { network = { hosts = { \"127.0.0.1\" } } }, timeout = \"10m\"," <<<'io.open("marker", "w"):close() ctx:sleep(600)'
	rm -f marker
	env -i "${CLEAN_ENV[@]}" "$RUNNER" hangs >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	kill -9 "$pid"
	wait "$pid" || true
	until_true assert_no_process_left
}

@test "hosts: no proxy is used, which could reach any host" {
	asking "hosts = { \"127.0.0.1:$open\" }"
	answers 0 http_proxy="http://127.0.0.1:$shut" get "http://127.0.0.1:$open/"
	expect 'e.data["status"] == 200'
	[ ! -e "asked.$shut" ]
}

@test "where the kernel can't hold ports or hosts, the command is refused" {
	local keys
	needs_strace
	for keys in "ports = { $open }" "hosts = { \"127.0.0.1\" }"; do
		asking "$keys"
		status=0
		env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e trace=landlock_create_ruleset \
			-e "inject=landlock_create_ruleset:retval=3:when=1..9" "$RUNNER" get "http://127.0.0.1:$open/" >out.txt 2>err.txt </dev/null || status=$?
		stdout=$(<out.txt)
		assert_envelope
		expect 'e.error.code == "CONFINEMENT_UNAVAILABLE" and len(e.error.context["lacks"]) >= 2'
	done
	[ ! -e "asked.$open" ]
}

@test "what can't be held together is refused when the file is loaded" {
	local wrong
	for wrong in '{}' 'true' '{ udp = true }' '{ hosts = {} }' '{ ports = {} }' '{ ports = { 0 } }' '{ ports = { 65536 } }' '{ ports = { "443" } }' \
		'{ hosts = { "a" }, udp = true }' '{ hosts = { "*.example.org" } }' '{ hosts = { "http://a" } }' '{ hosts = { "a:0" } }' '{ host = { "a" } }' \
		'{ hosts = "a" }' '{ ports = { 443 }, udp = 1 }'; do
		body bad "confine = { network = $wrong }," <<<'return {}'
		echo "$wrong"
		answers 4 bad
		expect 'e.error.code == "COMMAND_INVALID" and e.error.errors[0]["field"] == "confine"'
	done
	asking 'hosts = { "API.example.org.", "b:8443" }, ports = { 443, 8443 }'
	answers 0 get --schema
	expect 'e.data["confine"]["network"] == { "hosts": ["api.example.org", "b:8443"], "ports": [443, 8443] }'
	call help get --format plain
	[[ $stdout == *"connects by ctx:http only, to api.example.org, b:8443 on ports 443, 8443."* ]]
	asking 'ports = { 443 }, udp = true'
	call help get --format plain
	[[ $stdout == *"connects only to port 443, and by UDP."* ]]
}
