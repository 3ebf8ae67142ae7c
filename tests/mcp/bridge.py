"""bridge: a server of MCP over stdio as one over HTTP, for the official conformance runner.

  bridge.py PORT_FILE COMMAND…    one process of COMMAND for each session, and one for each request without

Each POST is one message; its answer, if it is a request, is one JSON body, with the notices that came
before it as events of a stream where there are any.
"""
import http.server
import json
import os
import subprocess
import sys
import threading
import uuid


class Server:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()

    def send(self, message):
        """The messages that it answers with; the last has the id."""
        with self.lock:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
            out = []
            while "id" in message and "method" in message:
                line = self.process.stdout.readline()
                if not line:
                    break
                out.append(json.loads(line))
                if "method" not in out[-1] and out[-1].get("id", message["id"]) == message["id"]:
                    break
            return out


def answers_of_its_own(message):
    """Its stdin stays open until then: at its end a server waits only for a moment."""
    server = Server(sys.argv[2:])
    try:
        return server.send(message)
    finally:
        server.process.stdin.close()
        server.process.wait()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    servers = {}

    def answer(self, status, text="", kind="application/json", **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        begins = message.get("method") == "initialize"
        session = uuid.uuid4().hex if begins else self.headers["Mcp-Session-Id"]
        if session and session not in self.servers:
            self.servers[session] = Server(sys.argv[2:])
        out = self.servers[session].send(message) if session else answers_of_its_own(message)
        headers = {"Mcp_Session_Id": session} if begins else {}
        if not out:
            return self.answer(202)
        modern = "_meta" in (message.get("params") or {})
        status = 400 if modern and out[-1].get("error", {}).get("code") in (-32602, -32021, -32022) else 200
        status = 404 if modern and out[-1].get("error", {}).get("code") == -32601 else status
        if len(out) == 1:
            return self.answer(status, json.dumps(out[0]), **headers)
        text = "".join(f"event: message\ndata: {json.dumps(m)}\n\n" for m in out)
        return self.answer(200, text, "text/event-stream", **headers)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        server = self.servers.pop(self.headers["Mcp-Session-Id"], None)
        if server:
            server.process.stdin.close()
            server.process.wait()
        self.answer(200)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + ".part", "w", encoding="ascii") as file:
        file.write(str(server.server_port))
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    server.serve_forever()


main()
