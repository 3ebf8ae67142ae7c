"""bridge: a server of MCP over stdio as one over HTTP, for the official conformance runner.

  bridge.py PORT_FILE COMMAND…    one process of COMMAND for each session, one for all requests without,
                                  and one for each subscriptions/listen

Each POST is one message. The answer to a request is one JSON body, or a stream of events where notices or
questions come before it. What only HTTP has (headers that repeat the message, Host and Origin) is not checked.
"""
import http.server
import json
import os
import subprocess
import sys
import threading
import uuid

NOT_FOUND, BAD = -32601, (-32600, -32602, -32021, -32022)


class Server:
    def __init__(self):
        self.process = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock = threading.Lock()

    def write(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message):
        """What the server says until it has answered the request; one request at a time."""
        with self.lock:
            self.write(message)
            for line in self.process.stdout:
                said = json.loads(line)
                yield said
                if is_answer(said):
                    return

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def is_answer(message):
    return "method" not in message


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sessions, shared = {}, []

    def answer(self, status, text="", **headers):
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, first, rest, headers):
        self.send_response(200)
        for name, value in {"Content-Type": "text/event-stream", "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        for message in [first]:
            self.event(message)
        for message in rest:
            self.event(message)

    def event(self, message):
        self.wfile.write(f"event: message\ndata: {json.dumps(message)}\n\n".encode())
        self.wfile.flush()

    def server_of(self, message, session):
        """The server of a message, and whether it is this message's alone; None: the session has ended."""
        if message.get("method") == "initialize" and "_meta" not in message.get("params", {}):
            return self.sessions.setdefault(session, Server()), False
        if session:
            return self.sessions.get(session), False
        if message.get("method") == "subscriptions/listen":
            return Server(), True
        if not self.shared:
            self.shared.append(Server())
        return self.shared[0], False

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        begins = message.get("method") == "initialize" and "_meta" not in message.get("params", {})
        session = uuid.uuid4().hex if begins else self.headers["Mcp-Session-Id"]
        server, alone = self.server_of(message, session)
        if not server:
            return self.answer(404)
        if "id" not in message or "method" not in message:
            server.write(message)
            return self.answer(202)
        said = server.ask(message)
        try:
            self.pass_on(next(said), said, {"Mcp-Session-Id": session} if begins else {})
        except OSError:
            self.shared.clear()  # its stream was given up: nobody waits for what it says
        finally:
            if alone:
                server.close()

    def pass_on(self, first, rest, headers):
        if not is_answer(first):
            return self.stream(first, rest, headers)
        list(rest)
        code = first.get("error", {}).get("code")
        modern = not headers and not self.headers["Mcp-Session-Id"]
        status = modern and (code == NOT_FOUND and 404 or code in BAD and 400) or 200
        return self.answer(status, json.dumps(first), **headers)

    def do_GET(self):
        self.answer(405)

    def do_DELETE(self):
        server = self.sessions.pop(self.headers["Mcp-Session-Id"], None)
        if server:
            server.close()
        self.answer(200 if server else 404)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    with open(sys.argv[1] + ".part", "w", encoding="ascii") as file:
        file.write(str(server.server_port))
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    server.serve_forever()


main()
