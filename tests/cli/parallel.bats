#!/usr/bin/env bats
# ctx:parallel: programs, requests, functions and waits at once in one process. That things run
# at once is shown by items that can't end without each other.

load lib/helper

prepare() {
	mkfifo there back
}

clean_up() {
	[ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
}

# meeting: a server on loopback that answers two requests together, or none; $base is its address
meeting() {
	cat >meeting.py <<-'PY'
		import http.server, threading
		barrier = threading.Barrier(2)
		class Handler(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        if self.path != "/fail":
		            barrier.wait(150)
		        self.send_response(500 if self.path == "/fail" else 200)
		        self.end_headers()
		        self.wfile.write(self.path.encode())
		    def log_message(self, *a): pass
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
		open("port.new", "w").write(str(server.server_port))
		import os; os.rename("port.new", "port")
		server.serve_forever()
	PY
	python3 meeting.py >/dev/null 2>&1 3>&- &
	server_pid=$!
	until_true [ -s port ]
	base=http://127.0.0.1:$(<port)
}

@test "programs run at once: each waits for the other" {
	body both <<-'LUA'
		local r = ctx:parallel {
			{ run = { "sh", "-c", "echo one >there; cat back" } },
			function() return ctx:run { "sh", "-c", "cat there; echo two >back" }.stdout end,
		}
		return { first = r[1].stdout, second = r[2] }
	LUA
	call both --timeout 60s
	expect 'e.ok and e.data == {"first": "two\n", "second": "one\n"}'
}

@test "requests run at once with each other and with a program, and keep their keys" {
	meeting
	command_file ask <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "base", "string", required = true } }, run = function(args, ctx)
			local r = ctx:parallel {
				a = { http = { url = args.base .. "/a" } }, b = { http = { url = args.base .. "/b" } },
				c = { run = { "echo", "hi" } }, d = function(_, key) ctx:sleep(0.01) return key end,
			}
			return { r.a.body, r.b.body, r.c.stdout, r.d }
		end }
	LUA
	call ask --base "$base" --timeout 60s
	expect 'e.ok and e.data == ["/a", "/b", "hi\n", "d"]'
}

@test "the first failure ends what still runs and is the error" {
	body first <<-'LUA'
		ctx:parallel {
			{ run = { "sh", "-c", "echo $$ >pid; sleep 1000" } },
			function()
				while not ctx.fs.exists "pid" or ctx.fs.read "pid" == "" do
					ctx:sleep(0.01)
				end
				ctx:fail("CONFLICT", "no")
			end,
		}
	LUA
	call first --timeout 60s
	expect 'not e.ok and e.error.code == "CONFLICT" and e.error.message == "no"'
	[ "$elapsed_ms" -lt 60000 ]
	! kill -0 "$(<pid)" 2>/dev/null || false
}

@test "with collect all go on, and each key has its result or error" {
	meeting
	command_file all <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "base", "string", required = true } }, run = function(args, ctx)
			return ctx:parallel({
				{ run = { "false" } }, { http = { url = args.base .. "/fail" } }, function() error "boom" end, function() return 7 end,
				{ http = { url = "http://127.0.0.1:1/" } },
			}, { collect = true, limit = 2 })
		end }
	LUA
	call all --base "$base"
	expect 'e.ok and [row["ok"] for row in e.data] == [False, False, False, True, False]'
	expect '[row.get("error", {}).get("code") for row in e.data] == ["SUBPROCESS_FAILED", "UNAVAILABLE", "INTERNAL_ERROR", None, "NETWORK_ERROR"]'
	expect 'e.data[3]["value"] == 7'
}

@test "the limit is kept" {
	body limit <<-'LUA'
		local now, most, work = 0, 0, {}
		for i = 1, 12 do
			work[i] = function()
				now = now + 1
				most = math.max(most, now)
				ctx:run { "true" }
				now = now - 1
				return i
			end
		end
		local r = ctx:parallel(work, { limit = 3 })
		return { most = most, results = r }
	LUA
	call limit
	expect 'e.data == {"most": 3, "results": list(range(1, 13))}'
}

@test "limits of a program and of a request hold inside, and a pipeline runs" {
	meeting
	command_file limits <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "base", "string", required = true } }, run = function(args, ctx)
			return ctx:parallel({
				{ run = { "sleep", "1000", timeout = "100ms", grace = "100ms" } }, { http = { url = args.base .. "/lonely", timeout = "100ms" } },
				function() return ctx:pipeline { { "printf", "b\\na\\n" }, { "sort" } }.stdout end,
				function() local lines = {} ctx:run { "printf", "x\\ny\\n", on_line = function(line) lines[#lines + 1] = line end } return lines end,
			}, { collect = true })
		end }
	LUA
	call limits --base "$base"
	expect 'e.ok and [row["ok"] for row in e.data] == [False, False, True, True]'
	expect 'e.data[0]["error"]["code"] == "TIMEOUT" and e.data[1]["error"]["code"] == "TIMEOUT"'
	expect 'e.data[2]["value"] == "a\nb\n" and e.data[3]["value"] == ["x", "y"]'
}

@test "the command's limit ends everything inside, in bounded time" {
	body hang <<-'LUA'
		ctx:parallel { { run = { "sh", "-c", "echo $$ >pid; sleep 1000" } }, function() ctx:sleep(1000) end }
	LUA
	reaching pid hang
	expect 'e.error.code == "TIMEOUT"'
	[ "$elapsed_ms" -lt $((limit_ms + 8000)) ]
	! kill -0 "$(<pid)" 2>/dev/null || false
}

@test "a wrong use is told with the script's line" {
	body wrong <<-'LUA'
		local function try(...)
			local _, e = pcall(ctx.parallel, ctx, ...)
			return tostring(e.message)
		end
		return { try(), try { 7 }, try { { run = {}, http = {} } }, try({}, { limit = 0 }), try({}, { limt = 1 }), #ctx:parallel {} }
	LUA
	call wrong
	expect 'e.ok and "wrong.lua:" in e.data[0] and "needs a table" in e.data[0] and e.data[5] == 0'
	expect '"item 1" in e.data[1] and "item 1" in e.data[2] and "1 to 256" in e.data[3] and "did you mean" in e.data[4]'
}

@test "one inside another works, and raises its failure" {
	body nested <<-'LUA'
		return ctx:parallel({
			function() return ctx:parallel { function() ctx:sleep(0.001) return 1 end, { run = { "echo", "x" } } }[1] end,
			function() return ctx:parallel { { run = { "false" } } } end,
		}, { collect = true })
	LUA
	call nested
	expect 'e.data[0] == {"ok": True, "value": 1} and e.data[1]["error"]["code"] == "SUBPROCESS_FAILED"'
}
