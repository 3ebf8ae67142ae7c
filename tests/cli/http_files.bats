#!/usr/bin/env bats
# ctx:http to and from files: bodies larger than memory should hold, whole or not at all.

load lib/helper

prepare() {
	cat >server.py <<-'PY'
		import hashlib, http.server, os
		BIG = bytes(range(256)) * (80 << 10)  # 20 MiB
		class Handler(http.server.BaseHTTPRequestHandler):
		    def answer(self, status, body, headers=(), sent=None):
		        self.send_response(status)
		        for name, value in headers:
		            self.send_header(name, value)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body if sent is None else body[:sent])
		    def do_GET(self):
		        if self.path == "/redirect":
		            self.answer(302, b"not this", [("Location", "/big")])
		        elif self.path == "/fail":
		            self.answer(500, b"broken", [("Content-Type", "text/plain")])
		        elif self.path == "/cut":
		            self.answer(200, BIG, sent=1000)
		            self.close_connection = True
		        elif self.path == "/none":
		            self.answer(200, b"")
		        else:
		            self.answer(200, BIG)
		    def do_PUT(self):
		        left, digest = int(self.headers["Content-Length"]), hashlib.sha256()
		        total = left
		        while left:
		            piece = self.rfile.read(min(left, 65536))
		            left -= len(piece)
		            digest.update(piece)
		        text = '{"bytes":%d,"sha256":"%s","method":"%s"}' % (total, digest.hexdigest(), self.command)
		        self.answer(200, text.encode(), [("Content-Type", "application/json")])
		    do_POST = do_PUT
		    def log_message(self, *a): pass
		    protocol_version = "HTTP/1.1"
		    def setup(self):
		        super().setup()
		        with open("connections", "a") as f:
		            f.write("x")
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		open("port.new", "w").write(str(server.server_port))
		os.rename("port.new", "port")
		server.serve_forever()
	PY
	python3 server.py >/dev/null 2>&1 3>&- &
	server_pid=$!
	until_true [ -s port ]
	base=http://127.0.0.1:$(<port)
	mkdir work
	command_file get <<-'LUA'
		return { description = "x", danger_level = "safe",
			args = { { "url", "string", required = true }, { "to", "path" }, { "from", "path" }, { "method", "string" } },
			run = function(args, ctx)
				local r = ctx:http { url = args.url, to = args.to, from = args.from, method = args.method }
				return { path = r.path, size = r.size, body = #r.body, hash = r.path and ctx.fs.hash(r.path), json = args.from and r.json }
			end }
	LUA
	BIG=$(python3 -c 'import hashlib; print(hashlib.sha256(bytes(range(256)) * (80 << 10)).hexdigest())')
}

clean_up() {
	kill "$server_pid"
}

@test "a body of 20 MiB goes to a file, also behind a redirect, and replaces one that is there" {
	echo old >work/big
	call get --url "$base/redirect" --to work/big
	expect "e.ok and e.data == {'path': 'work/big', 'size': 20971520, 'body': 0, 'hash': '$BIG'}"
	[ "$(ls -A work)" = big ]
	call get --url "$base/none" --to work/none
	expect 'e.ok and e.data["size"] == 0'
	[ -e work/none ]
}

@test "a failure and an answer that breaks off leave what was there, and no other file" {
	echo old >work/big
	call get --url "$base/fail" --to work/big
	expect 'e.error.code == "UNAVAILABLE" and e.error.context["body"] == "broken"'
	call get --url "$base/cut" --to work/big
	expect 'e.error.code == "NETWORK_ERROR"'
	[ "$(ls -A work)" = big ]
	[ "$(<work/big)" = old ]
}

@test "a file of 20 MiB is sent, by POST or the method that is asked for" {
	truncate -s 20M work/sparse
	local hash
	hash=$(sha256sum <work/sparse)
	call get --url "$base/sum" --from work/sparse --method PUT
	expect "e.data['json'] == {'bytes': 20971520, 'sha256': '${hash%% *}', 'method': 'PUT'}"
	: >work/empty
	call get --url "$base/sum" --from work/empty
	expect 'e.data["json"]["bytes"] == 0 and e.data["json"]["method"] == "POST"'
}

@test "a file that can't be used is told by what is wrong with it, before anything is sent" {
	call get --url "$base/sum" --from work/none
	expect 'e.error.code == "NOT_FOUND" and "No such file" in e.error.message'
	call get --url "$base/sum" --from work
	expect 'e.error.code == "GENERAL_ERROR" and "directory" in e.error.message'
	call get --url "$base/big" --to nowhere/big
	expect 'e.error.code == "NOT_FOUND"'
	[ "$(ls -A work)" = "" ]
}

@test "a file that is replaced keeps its permissions; a link is replaced, and its target stays" {
	echo old >work/private
	chmod 600 work/private
	call get --url "$base/none" --to work/private
	expect 'e.ok'
	[ "$(stat -c '%a %s' work/private)" = "600 0" ]
	ln -s private work/link
	echo old >work/private
	call get --url "$base/none" --to work/link
	expect 'e.ok'
	[ ! -L work/link ]
	[ "$(<work/private)" = old ]
}

@test "what is no file is neither replaced nor asked for" {
	mkfifo work/pipe
	mkdir work/dir
	ln -s /dev/null work/null
	for name in pipe dir null new/; do
		call get --url "$base/big" --to "work/$name"
		expect 'e.error.code == "PRECONDITION" and "not a file" in e.error.message and e.error.side_effects == "none"'
	done
	[ -p work/pipe ]
	[ -L work/null ]
	[ ! -e connections ]
	[ "$(find work -type f)" = "" ]
}

@test "a full disk is RESOURCE_EXHAUSTED, and leaves nothing" {
	unshare -rm true 2>/dev/null || skip "no namespaces here"
	status=0
	unshare -rm sh -c "mount -t tmpfs -o size=1m none work && env -i ${CLEAN_ENV[*]@Q} '$RUNNER' get --url $base/big --to work/big --format json; ls -A work" >out.txt 2>err.txt || status=$?
	grep -q '"code":"RESOURCE_EXHAUSTED"' out.txt
	[ "$(wc -l <out.txt)" -eq 1 ]
}

@test "two downloads run at once" {
	body both <<-LUA
		local r = ctx:parallel { { http = { url = "$base/a", to = "work/a" } }, { http = { url = "$base/b", to = "work/b" } } }
		return { r[1].size, r[2].size }
	LUA
	call both
	expect 'e.data == [20971520, 20971520]'
	[ "$(find work -type f | sort | tr '\n' ' ')" = "work/a work/b " ]
}

@test "wrong specs are refused" {
	body wrong <<-'LUA'
		local function why(spec)
			spec.url = "http://127.0.0.1:1/"
			local ok, e = pcall(ctx.http, ctx, spec)
			return not ok and e.code .. ": " .. e.message
		end
		return { why { from = "a", body = "b" }, why { from = "a", json = {} }, why { to = "a", method = "HEAD" }, why { to = "" }, why { from = "a\0b" } }
	LUA
	call wrong
	expect 'all(w.startswith("INVALID_ARGUMENT") for w in e.data)'
}

@test "requests to the same server use one connection, but a POST has its own, and none is used again behind a body" {
	body many <<-LUA
		local function ask(method) return ctx:http { url = "$base/none", method = method, from = method and "server.py" }.status end
		local a = { ask(), ask(), ask(), ask "PUT" }
		local f = io.open("connections") a[5] = #f:read "a" f:close()
		a[6] = ask "POST"
		a[7] = ask()
		f = io.open("connections") a[8] = #f:read "a" f:close()
		return a
	LUA
	call many
	expect 'e.data[:7] == [200, 200, 200, 200, 1, 200, 200] and e.data[7] == 3'
}
