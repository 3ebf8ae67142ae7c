#!/usr/bin/env bats
# runner mcp validate: is a list of tools still what the commands are? (REQ-O-035)

load lib/helper

# hello ARGS: the command with these arguments
hello() {
	command_file hello <<LUA
return { description = "Greet", danger_level = "safe", args = { $1 }, run = function() return {} end }
LUA
}

prepare() {
	hello '{ "name", "string", required = true }, { "times", "integer" }, { "tags", "array", items = "string" }'
	call mcp tools --only hello
	cp out.txt tools.json
}

check() {
	call mcp validate --only hello --mcp-schema-file tools.json "$@"
}

@test "REQ-O-035 without drift it is 0" {
	check
	[ "$status" -eq 0 ]
	assert_envelope
	expect 'e.data == {"drift": {"added": [], "removed": [], "changed": [], "missing_from_mcp": []}, "tools": 1}'
	python3 -c '
import json
tools = [row["tool"] for row in json.load(open("tools.json"))["data"]]
json.dump({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}, open("answer.json", "w"))
json.dump(tools, open("list.json", "w"))'
	for file in answer list; do
		call mcp validate --only hello --mcp-schema-file "$file.json"
		[ "$status" -eq 0 ]
	done
}

@test "REQ-O-035 a new, a dropped and a changed argument, a new and a dropped command are named" {
	hello '{ "name", "integer" }, { "tags", "array", items = "integer" }, { "loud", "boolean" }'
	check
	[ "$status" -eq 1 ]
	assert_envelope
	expect 'e.error["code"] == "MCP_DRIFT" and e.error["retryable"] is False'
	expect 'e.data["drift"] == {"added": ["hello.loud"], "removed": ["hello.times"], "missing_from_mcp": [], "changed": [
		{"command": "hello", "field": "name", "cli_type": "integer", "mcp_type": "string, required"},
		{"command": "hello", "field": "tags", "cli_type": "array of integer", "mcp_type": "array of string"}]}'
	prepare
	body more <<<''
	check --only more
	expect 'e.data["drift"]["missing_from_mcp"] == ["more"]'
	rm commands/hello.lua
	call mcp validate --only more --mcp-schema-file tools.json
	expect 'e.data["drift"]["removed"] == ["hello"] and e.data["drift"]["missing_from_mcp"] == ["more"]'
}

@test "REQ-O-035 a server is asked, in both eras" {
	cat >server.py <<'PY'
import http.server, json, sys, os
modern = sys.argv[1] == "modern"
tools = [row["tool"] for row in json.load(open("tools.json"))["data"]]
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        m = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        meta = (m.get("params") or {}).get("_meta") or {}
        result = error = None
        if modern and m["method"] == "tools/list" and self.headers["MCP-Protocol-Version"] == "2026-07-28":
            result = {"resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private"}
        elif not modern and m["method"] == "initialize":
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
        elif not modern and self.headers["Mcp-Session-Id"] == "s1" and not meta:
            result = {"tools": tools}
        text = json.dumps({"jsonrpc": "2.0", "id": m.get("id"), **({"result": result} if result else {"error": {"code": -32600, "message": "no"}})})
        body = (f"event: message\ndata: {text}\n\n" if not modern else text).encode()
        self.send_response(200 if result else 400)
        self.send_header("Content-Type", "application/json" if modern else "text/event-stream")
        self.send_header("Mcp-Session-Id", "s1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
open("port.part", "w").write(str(server.server_port))
os.rename("port.part", "port")
server.serve_forever()
PY
	for era in modern legacy; do
		rm -f port
		python3 server.py "$era" 3>&- &
		server=$!
		until_true test -s port
		call mcp validate --only hello --mcp-server-url "http://127.0.0.1:$(<port)/mcp"
		kill "$server"
		[ "$status" -eq 0 ]
	done
	call mcp validate --only hello --mcp-server-url "http://127.0.0.1:1/mcp"
	expect 'e.error["code"] in ("UNAVAILABLE", "NETWORK_ERROR")'
}

@test "REQ-O-035 what is no list of tools is a failure, and so is none or both" {
	for text in '' '{' '1' '{}' '[]x' '{"tools":1}' '[{"title":"x"}]' '[1]' '{"result":{"tools":[{}]}}' '{"data":[{"tool":1}]}'; do
		printf %s "$text" >tools.json
		check
		assert_envelope
		expect 'e.error["code"] == "PRECONDITION"'
	done
	call mcp validate
	[ "$status" -eq 2 ]
	call mcp validate --mcp-schema-file tools.json --mcp-server-url http://localhost/
	[ "$status" -eq 2 ]
	call mcp validate --mcp-schema-file no-such.json
	expect 'e.error["code"] == "NOT_FOUND"'
}
