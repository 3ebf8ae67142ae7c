#!/usr/bin/env python3
"""The other side of http_spec.lua: servers on random loopback ports.

Two plain origins, a proxy, a port where nobody listens, and, when CERT and KEY
are given, TLS. Prints "NAME PORT" lines, then "ready". Lives until the reading
end of its stdout is closed.

    http_server.py [CERT KEY]
"""
import http.client
import json
import os
import select
import socket
import ssl
import struct
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

counts = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send_date(self):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(body)

    def json(self, value):
        self.answer(200, json.dumps(value).encode(), [("Content-Type", "application/json")])

    def cut(self, reset=False):
        if reset:
            self.connection.setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.wfile.flush()
        if not isinstance(self.connection, ssl.SSLSocket) and not reset:
            self.connection.shutdown(socket.SHUT_RDWR)

    # --- what can be asked for ---

    def get_status(self, url):
        status = int(url.path.split("/")[2])
        self.answer(status, b"body of %d" % status, [("Content-Type", "text/plain")])

    def get_echo(self, url):
        length = int(self.headers.get("Content-Length") or 0)
        self.json({"method": self.command, "path": self.path, "port": self.server.server_port,
                   "headers": {k.lower(): v for k, v in self.headers.items()},
                   "hex": self.rfile.read(length).hex()})

    def get_leak(self, url):
        self.answer(500, str(self.headers).encode(), [("Content-Type", "text/plain")])

    def get_redirect(self, url):
        left = int(url.path.split("/")[2])
        self.answer(302, b"", [("Location", f"/redirect/{left - 1}" if left > 0 else "/echo")])

    def get_to(self, url):
        query = dict(parse_qsl(url.query))
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        self.answer(int(query["status"]), b"", [("Location", query["url"])])

    def get_answer(self, url):
        query = parse_qsl(url.query, keep_blank_values=True)
        status = int(dict(query).get("status", "200"))
        body = dict(query).get("body", "").encode()
        self.answer(status, body, [(k, v) for k, v in query if k not in ("status", "body")])

    def get_slow(self, url):
        self.send_response_only(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b".")
            self.wfile.flush()
            time.sleep(0.05)

    def get_hang(self, url):
        time.sleep(30)

    def get_midbody(self, url):
        self.answer(200, b"0123456789", [("Content-Length", "1000")])
        self.cut()

    def get_close(self, url):
        self.cut()

    def get_reset(self, url):
        self.cut(reset=True)

    def get_garbage(self, url):
        self.wfile.write(b"220 mail.example ESMTP\r\n")
        self.cut()

    def get_big(self, url):
        size = int(float(url.path.split("/")[2]) * (1 << 20))
        self.answer(200, b"", [("Content-Length", str(size))])
        if self.command != "HEAD":
            self.wfile.write(b"x" * size)

    def get_chunked(self, url):
        self.send_response_only(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for _ in range(17):
            self.wfile.write(b"100000\r\n" + b"x" * (1 << 20) + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")

    def get_headers(self, url):
        self.answer(200, b"", [("X-Pad", "x" * 60000)] * 20)

    def get_interim(self, url):
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
        self.answer(200, b"done", [("X-Late", "1")])

    def get_flaky(self, url):
        _, _, name, failures = url.path.split("/")
        counts[name] = counts.get(name, 0) + 1
        self.answer(503 if counts[name] <= int(failures) else 200)

    def get_count(self, url):
        self.json({"count": counts.get(url.path.split("/")[2], 0)})

    def handle_any(self):
        url = urlsplit(self.path)
        handler = getattr(self, "get_" + url.path.split("/")[1], None)
        try:
            if handler:
                handler(url)
            else:
                self.answer(404)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any


class Proxy(Handler):
    def allowed(self):
        seen = self.headers.get("Proxy-Authorization")
        if os.environ.get("PROXY_AUTH") and seen != os.environ["PROXY_AUTH"]:
            self.answer(407, b"", [("Proxy-Authenticate", "Basic")])
            return False
        return True

    def forward(self):
        if not self.allowed():
            return
        url = urlsplit(self.path)
        upstream = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        upstream.request(self.command, url.path or "/",
                         headers={k: v for k, v in self.headers.items()
                                  if not k.lower().startswith("proxy-")})
        reply = upstream.getresponse()
        body = reply.read()
        self.answer(reply.status, body, [("Via", "test-proxy"),
                                         ("Content-Type", reply.getheader("Content-Type") or "text/plain")])

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = forward

    def do_CONNECT(self):
        if not self.allowed():
            return
        host, port = self.path.rsplit(":", 1)
        upstream = socket.create_connection((host, int(port)), timeout=10)
        counts["tunnels"] = counts.get("tunnels", 0) + 1
        self.send_response_only(200)
        self.end_headers()
        ends = [self.connection, upstream]
        while True:
            for end in select.select(ends, [], [], 10)[0]:
                data = end.recv(65536)
                if not data:
                    upstream.close()
                    self.close_connection = True
                    return
                ends[1 - ends.index(end)].sendall(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def serve(name, handler, context=None):
    server = Server(("127.0.0.1", 0), handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(name, server.server_port, flush=True)


def closed_port():
    """A port that is bound, so that nobody else gets it, but not listened on."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    print("closed", sock.getsockname()[1], flush=True)
    return sock


def main():
    serve("http", Handler)
    serve("other", Handler)
    serve("proxy", Proxy)
    kept = closed_port()
    if len(sys.argv) == 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        serve("https", Handler, context)
    print("ready", 0, flush=True)
    reader = select.poll()
    reader.register(sys.stdout, 0)  # POLLERR alone
    reader.poll()
    kept.close()


if __name__ == "__main__":
    main()
