#!/usr/bin/env bats
# ctx:attach: files beside the result, for a caller of the command line and for a client of MCP.

load lib/helper
load lib/mcp

prepare() {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME")
	body draw 'args = { { "n", "integer", default = 5 } },' <<-'LUA'
		ctx:attach { name = "a.png", data = ("\x89PNG\0\xff"):rep(args.n) }
		ctx.fs.write(ctx.tempdir .. "/notes.md", "# Notes\n")
		ctx:attach(ctx.tempdir .. "/notes.md")
		return { drawn = args.n }
	LUA
}

# How many files of answers there are.
kept() {
	find state/runner/answers -type f 2>/dev/null | wc -l
}

@test "the envelope names each file, which is the caller's alone and holds what was attached" {
	answers 0 draw
	expect '[(a["name"], a["mime_type"], a["bytes"]) for a in e["meta"]["attachments"]] == [("a.png", "image/png", 30), ("notes.md", "text/markdown", 8)]'
	expect 'open(e["meta"]["attachments"][0]["path"], "rb").read() == b"\x89PNG\0\xff" * 5'
	expect 'open(e["meta"]["attachments"][1]["path"]).read() == "# Notes\n" and e["meta"]["attachments"][1]["path"].endswith(".2.md")'
	[ "$(stat -c %a state/runner/answers/* | sort -u)" = 600 ]
	expect 'e["data"] == {"drawn": 5} and e["meta"]["attachments"][0]["expires_at"] > e["meta"]["timestamp"]'
	call draw --stable-output
	expect '"attachments" not in e["meta"]'
	call draw --format table
	[ "$(grep -c 'attached .*state/runner/answers/req_' err.txt)" = 2 ]
	! grep -q answers out.txt || false
}

@test "nothing stays of an attempt that fails, and of a call that fails nothing at all" {
	body flaky 'retry = { retries = 2, delay = 0 },' <<-'LUA'
		ctx:attach { name = ("of-%d.txt"):format(ctx.attempt), data = "x" }
		if ctx.attempt < 3 then ctx:fail("UNAVAILABLE", "not yet", { retryable = true }) end
	LUA
	answers 0 flaky
	expect '[a["name"] for a in e["meta"]["attachments"]] == ["of-3.txt"]'
	[ "$(kept)" = 1 ]
	for body in 'ctx:fail("CONFLICT", "no")' 'error "no"' 'os.exit(3)' 'ctx:sleep(9)' 'return function() end'; do
		body fails 'timeout = "300ms",' <<<"ctx:attach { name = 'x.txt', data = 'x' } $body"
		call fails
		[ "$status" -ne 0 ]
		assert_envelope
		expect '"attachments" not in e["meta"]'
		[ "$(kept)" = 1 ]
	done
}

@test "a name that is attached again replaces the file, and cleanup may attach one, too" {
	body again 'cleanup = function(ctx) ctx:attach { name = "late.txt", data = "x" } end,' <<-'LUA'
		ctx:attach { name = "a.txt", data = "first" }
		ctx:attach { name = "b.txt", data = "b" }
		return ctx:attach { name = "a.txt", data = "second" }
	LUA
	answers 0 again
	expect '[(a["name"], a["bytes"]) for a in e["meta"]["attachments"]] == [("a.txt", 6), ("b.txt", 1), ("late.txt", 1)]'
	expect 'e["data"] == {"name": "a.txt", "mime_type": "text/plain", "bytes": 6}'
	[ "$(kept)" = 3 ]
}

@test "a wrong use says what is wrong, and waits for nothing" {
	mkfifo trap.txt
	truncate -s 17M large.bin
	while IFS='|' read -r spec code said; do
		body wrong 'timeout = "10s",' <<<"ctx:attach$spec"
		call wrong
		[ "$status" -ne 0 ]
		CODE=$code SAID=$said ask_envelope expect "(e['error']['code'], '$said' in e['error']['message']) == ('$code', True)"
	done <<-'EOF2'
		()|INTERNAL_ERROR|it needs a path or a table
		{}|INTERNAL_ERROR|one of path and data
		{ path = "x", data = "y" }|INTERNAL_ERROR|one of path and data
		{ data = 7 }|INTERNAL_ERROR|data must be a string
		{ dat = "x" }|INTERNAL_ERROR|dat
		{ data = "x", name = "../x" }|INTERNAL_ERROR|a name is a file
		{ data = "x", name = "a\nb" }|INTERNAL_ERROR|a name is a file
		{ data = "x", name = "\xff" }|INTERNAL_ERROR|a name is a file
		{ data = "x", name = "a\u{9b}31m" }|INTERNAL_ERROR|a name is a file
		{ data = "x", name = "a\u{202e}gpj.exe" }|INTERNAL_ERROR|a name is a file
		{ data = "x", name = ("x"):rep(129) }|INTERNAL_ERROR|a name is a file
		{ data = "x", mime_type = "image" }|INTERNAL_ERROR|mime_type is a type
		{ data = "x", mime_type = "a/b\r\nc" }|INTERNAL_ERROR|mime_type is a type
		"trap.txt"|INTERNAL_ERROR|no regular file
		"commands"|INTERNAL_ERROR|no regular file
		"/dev/zero"|INTERNAL_ERROR|no regular file
		"absent"|NOT_FOUND|absent
		"large.bin"|OUTPUT_TOO_LARGE|16 MiB
	EOF2
	body many <<<'for i = 1, 17 do ctx:attach { name = i .. ".txt", data = "x" } end'
	call many
	expect 'e["error"]["code"] == "OUTPUT_TOO_LARGE"'
	body much <<<'for i = 1, 3 do ctx:attach { name = i .. ".txt", data = ("x"):rep(6 << 20) } end'
	call much
	expect 'e["error"]["code"] == "OUTPUT_TOO_LARGE"'
	[ "$(kept)" = 0 ]
}

@test "a secret is hidden in a text and its name, and refused in bytes" {
	body tell 'args = { { "token", "string", secret = true, env = "PAT" }, { "raw", "boolean" } },' <<-'LUA'
		ctx:attach { name = "is-" .. args.token .. ".txt", data = (args.raw and "\0\xff" or "") .. "it is " .. args.token }
	LUA
	answers 0 PAT=hunter2-secret tell
	expect 'e["meta"]["attachments"][0]["name"] == "is-***.txt"'
	[ "$(cat state/runner/answers/*)" = "it is ***" ]
	call PAT=hunter2-secret tell --raw
	expect 'e["error"]["code"] == "INTERNAL_ERROR" and "secret" in e["error"]["message"]'
	[ "$(kept)" = 1 ]
	answers 0 PAT=hunter2-secret tell --runner-unmask
	expect 'open(e["meta"]["attachments"][0]["path"]).read() == "it is ***" and e["warnings"] == []'
	[ "$(kept)" = 2 ]
	body typed 'args = { { "token", "string", secret = true, env = "PAT" } },' <<<'ctx:attach { name = "a.txt", mime_type = "text/" .. args.token, data = "x" }'
	answers 0 PAT=hunter2-secret typed
	expect 'e["meta"]["attachments"][0]["mime_type"] == "text/***"'
}

@test "a folder that can't be written is a warning, and the row says why" {
	mkdir -p state/runner elsewhere
	ln -s "$PWD/elsewhere" state/runner/answers
	answers 0 draw
	expect '["not_kept" in a and "path" not in a for a in e["meta"]["attachments"]] == [True, True] and len(e["warnings"]) == 2'
	[ -z "$(ls elsewhere)" ]
}

@test "a command that may write nowhere attaches all the same, a dry run doesn't, a job does" {
	body sealed 'confine = { write = {}, required = false },' <<<'ctx:attach { name = "a.txt", data = "x" }'
	answers 0 sealed
	expect 'e["meta"]["attachments"][0]["name"] == "a.txt"'
	[ "$(kept)" = 1 ]
	command_file change <<<'return { description = "x", danger_level = "mutating", dry_run = true, exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
		run = function(args, ctx) ctx:attach { name = "a.txt", data = "abc" } return { effect = "updated" } end }'
	answers 0 change --dry-run
	expect 'e["data"]["would"] == [{"call": "attach", "target": "a.txt", "mime_type": "text/plain", "bytes": 3}] and "attachments" not in e["meta"]'
	[ "$(kept)" = 1 ]
	answers 0 draw --detach
	call job wait "$(field 'e["meta"]["job_id"]')"
	[ "$status" -eq 0 ]
	[ "$(kept)" = 3 ]
	touch -d '2 hours ago' state/runner/answers/*
	call cleanup --min-age 1h
	[ "$(kept)" = 0 ]
}

@test "a client of MCP has them after the answer: an image, a text, and a link to what has no room, read in parts" {
	session <<'PY'
import base64
with Server() as s:
    result = s.call("draw")
    text, image, notes = result["content"]
    assert json.loads(text["text"]) == result["structuredContent"] and not result["isError"]
    assert (image["type"], image["mimeType"], base64.b64decode(image["data"])) == ("image", "image/png", b"\x89PNG\0\xff" * 5), image
    rows = result["structuredContent"]["meta"]["attachments"]
    assert notes == {"type": "resource", "resource": {"uri": rows[1]["uri"], "mimeType": "text/markdown", "text": "# Notes\n"}}, notes
    result = s.call("draw", {"n": 20000})
    _, link, notes = result["content"]
    assert (link["type"], link["name"], link["size"], notes["type"]) == ("resource_link", "a.png", 120000, "resource"), link
    uri, whole, parts = link["uri"], b"", 0
    while uri:
        content = s.ask("resources/read", {"uri": uri})["result"]["contents"][0]
        assert content["mimeType"] == "image/png" and len(json.dumps(content)) < 32 << 10
        whole += base64.b64decode(content["blob"])
        uri, parts = content.get("_meta", {}).get("runner/next"), parts + 1
    assert whole == b"\x89PNG\0\xff" * 20000 and parts > 3, (len(whole), parts)
    path = result["structuredContent"]["meta"]["attachments"][0]["path"]
    os.utime(path, (time.time() - 90000,) * 2)
    gone = s.ask("resources/read", {"uri": link["uri"]})
    assert gone["error"]["code"] == -32602, gone
    for uri in ("runner://answers/../x", "runner://answers/" + "req_" + "0" * 26 + ".1.png", link["uri"] + "?from=9999999", "runner://answers/"):
        assert s.ask("resources/read", {"uri": uri})["error"]["code"] == -32602, uri
PY
}

@test "a file of an answer is found by its own project and subject alone, and by who sees all subjects" {
	echo '{"subject":"one"}' >one.json
	echo '{"subject":"two"}' >two.json
	body long <<<'return { text = ("0123456789\n"):rep(9000) }'
	answers 0 --policy one.json draw
	cp out.txt drawn.json
	answers 0 --policy one.json long --max-bytes 4096
	cp out.txt long.json
	mkdir -p other/commands
	echo 'return {}' >other/runner.lua
	session <<'PY'
meta = json.load(open("drawn.json"))["meta"]
paths = [a["path"] for a in meta["attachments"]] + [json.load(open("long.json"))["meta"]["rest"]["path"]]
def found(policy, **popen):
    with Server(env={"RUNNER_POLICY": os.path.abspath(policy)} if policy else {}, **popen) as s:
        return ["result" in s.ask("resources/read", {"uri": "runner://answers/" + os.path.basename(path)}) for path in paths]
assert found("one.json") == [True] * 3 and found(None) == [True] * 3
assert found("two.json") == [False] * 3, "of another subject"
assert found(None, cwd="other") == [False] * 3, "of another project"
# neither is it by a name that anybody can make of an ID
plain = ["runner://answers/" + meta["request_id"] + end for end in (".1.png", ".2.md", ".json")]
with Server(env={"RUNNER_POLICY": os.path.abspath("two.json")}) as s:
    digests = set()
    for name in os.listdir("state/runner/answers"):
        digests.add(name.split("-")[1].split(".")[0])
    assert len(digests) == 1 and all("error" in s.ask("resources/read", {"uri": uri}) for uri in plain), digests
    big = s.call("long")["content"][0]["text"]
    uri = json.loads(big)["meta"]["rest"]["uri"]
    assert "result" in s.ask("resources/read", {"uri": uri}), uri
with Server(env={"RUNNER_POLICY": os.path.abspath("one.json")}) as s:
    assert "error" in s.ask("resources/read", {"uri": uri}), uri
PY
}

@test "whatever a command attaches, no message is longer than it may be, and none is lost" {
	body fill 'args = { { "n", "integer" }, { "size", "integer" }, { "rows", "integer", default = 0 } },' <<-'LUA'
		for i = 1, args.n do ctx:attach { name = ("x"):rep(100) .. i .. (i % 2 == 0 and ".wav" or ".txt"), data = ("\u{202e}x"):rep(args.size) } end
		local out = {}
		for i = 1, args.rows do out[i] = { id = i, text = ("x"):rep(60) } end
		return { rows = out }
	LUA
	session <<'PY'
with Server() as s:
    for n, size, rows in ((16, 1, 0), (16, 300, 0), (1, 2000, 0), (16, 20, 1000), (2, 5000, 10), (16, 0, 0)):
        s.line({"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": {"name": "fill", "arguments": {"n": n, "size": size, "rows": rows},
                "_meta": {VERSION: "2026-07-28", CAPABILITIES: {}}}})
        message = s.read()
        assert len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()) <= 32 << 10, (n, size, rows)
        content = message["result"]["content"]
        assert len(content) == 1 + n and content[0]["type"] == "text", (n, size, rows, len(content))
        assert "\u202e" not in json.dumps(message, ensure_ascii=False)
    s.initialize()
PY
}

@test "what a called command attaches is in its caller's answer, and that of several calls in their rows" {
	body sums 'args = { { "n", "integer", default = 1 } },' <<<'ctx:attach { name = "sum.txt", data = "n is " .. args.n } return { n = args.n }'
	body both 'needs = { { "sums", n = 7 } },' <<<'ctx:attach { name = "own.txt", data = "own" } for i = 1, 2 do ctx:call("sums", { n = i }) end'
	answers 0 both
	expect '[(a["name"], open(a["path"]).read()) for a in e["meta"]["attachments"]] == [("sum.txt", "n is 7"), ("own.txt", "own"), ("sum-2.txt", "n is 1"), ("sum-3.txt", "n is 2")]'
	expect 'e["warnings"] == []'
	body fails <<<'ctx:call("sums") error "no"'
	call fails
	expect '"attachments" not in e["meta"]'
	body many <<<'for i = 1, 18 do ctx:call("sums", { n = i }) end'
	answers 0 many
	expect 'len(e["meta"]["attachments"]) == 16 and [w["code"] for w in e["warnings"]] == ["ATTACHMENT_NOT_KEPT"] * 2'
	expect 'all(open(w["context"]["path"]).read().startswith("n is 1") and w["context"]["path"] in w["message"] for w in e["warnings"])'
	answers 0 + sums + sums --n 2
	expect '[open(r["attachments"][0]["path"]).read() for r in e["data"]["calls"]] == ["n is 1", "n is 2"] and e["warnings"] == []'
	printf 'name: w\nsteps:\n  - runner: sums\n    args: { n: 5 }\n' >w.yaml
	answers 0 workflow run w.yaml
	[ "$(cat "$(grep -o '/[^" ]*/answers/req_[^" ]*[.]1[.]txt' "$(field 'e["data"]["steps"][0]["logs"][0]')" | head -n 1)")" = "n is 5" ]
}

@test "the result of a task has them, too" {
	body slow 'timeout = "10m",' <<<'ctx:attach { name = "a.txt", data = "abc" }'
	session <<'PY'
with Server(tasks=True) as s:
    task = s.call("slow")
    until(lambda: s.ask("tasks/get", {"taskId": task["taskId"]})["result"]["status"] == "completed")
    content = s.ask("tasks/get", {"taskId": task["taskId"]})["result"]["result"]["content"]
    assert content[1]["resource"]["text"] == "abc", content
PY
}

@test "a call that is repeated with its idempotency key has the files of the first, as its own; what is gone is said" {
	command_file pack <<-'LUA'
		return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
			args = { { "token", "string", secret = true, env = "PAT" } },
			run = function(args, ctx)
				ctx:attach { name = "a.txt", data = "first" }
				ctx:attach { name = "b.tar.gz2longending", data = "\0\xff" }
				ctx:attach { name = "is-" .. (args.token or "") .. ".md", data = "it is " .. (args.token or "") }
				ctx:attach { name = "a.txt", data = "second", mime_type = "text/x-a" }
				return { effect = "created" }
			end }
	LUA
	answers 0 PAT=hunter2-secret pack --idempotency-key k
	expect '"idempotency_hit" not in e["meta"] and len(e["meta"]["attachments"]) == 3'
	cp out.txt first.txt
	answers 0 PAT=hunter2-secret pack --idempotency-key k
	expect 'e["meta"]["idempotency_hit"] and e["data"] == {"effect": "noop"} and e["warnings"] == []'
	expect '[(a["name"], a["mime_type"], open(a["path"], "rb").read()) for a in e["meta"]["attachments"]] == [("a.txt", "text/x-a", b"second"), ("b.tar.gz2longending", "application/octet-stream", b"\0\xff"), ("is-***.md", "text/markdown", b"it is ***")]'
	expect '{e["meta"]["request_id"] in a["path"] for a in e["meta"]["attachments"]} == {True}'
	rm "$(python3 -c 'import json; print(json.load(open("first.txt"))["meta"]["attachments"][0]["path"])')"
	answers 0 PAT=hunter2-secret pack --idempotency-key k
	expect '[a["name"] for a in e["meta"]["attachments"]] == ["b.tar.gz2longending", "is-***.md"]'
	expect '[(w["code"], "a.txt" in w["message"]) for w in e["warnings"]] == [("ATTACHMENT_NOT_KEPT", True)]'
	command_file late <<-'LUA'
		return { description = "x", danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
			cleanup = function(ctx) ctx:attach { name = "late.txt", data = "x" } end, run = function() return { effect = "created" } end }
	LUA
	answers 0 late --idempotency-key k
	expect 'e["meta"]["attachments"][0]["name"] == "late.txt" and "won'"'"'t have late.txt" in e["warnings"][0]["message"]'
	! grep -rq hunter2 state || false
}
