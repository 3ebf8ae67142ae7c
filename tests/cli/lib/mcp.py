"""mcp: a client of `runner mcp serve` for the black-box tests.

    with Server("--allow", "drop") as s:
        s.ask("tools/list")["result"]["tools"]

The environment is that of the test (CLEAN_ENV); RUNNER names the program.
"""
import json
import os
import select
import subprocess
import time

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LIMIT_S = 200
YES = {"confirm": {"action": "accept", "content": {"confirm": True}}}


class Server:
    """A server, and one client of it. `elicits`: the client can ask its person; `tasks`: it knows tasks."""

    def __init__(self, *args, elicits=False, tasks=False, env=None, **popen):
        self.capabilities = {"elicitation": {"form": {}}} if elicits else {}
        if tasks:
            self.capabilities["extensions"] = {"io.modelcontextprotocol/tasks": {}}
        self.count, self.buffer, self.others = 0, b"", []
        if "stderr" not in popen:
            popen["stderr"] = open("err.txt", "ab")
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stdin", subprocess.PIPE)
        self.process = subprocess.Popen([os.environ["RUNNER"], "mcp", "serve", *args],
                                        env={**os.environ, **(env or {})}, **popen)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def line(self, message):
        self.write((message if isinstance(message, str) else json.dumps(message)).encode() + b"\n")

    def request(self, method, params=None, modern=True, request_id=None, meta=None):
        """Send a request; its id."""
        self.count += 1
        request_id = self.count if request_id is None else request_id
        params = dict(params or {})
        if modern:
            params["_meta"] = {VERSION: "2026-07-28", CAPABILITIES: self.capabilities, **(meta or {})}
        self.line({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def tell(self, method, params=None):
        self.line({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def read(self, limit_s=LIMIT_S):
        """The next message; None: the server has closed its stdout."""
        end = time.monotonic() + limit_s
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.process.stdout], [], [], left)[0], "the server says nothing"
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                assert not self.buffer, self.buffer
                return None
            self.buffer += piece
        text, self.buffer = self.buffer.split(b"\n", 1)
        try:
            message = json.loads(text)
        except ValueError as why:
            raise AssertionError((why, text[:2000], self.buffer[:2000])) from None
        assert message["jsonrpc"] == "2.0", message
        return message

    def answer(self, request_id):
        """The answer to a request; what comes before it is in `others`."""
        for message in self.others:
            if message.get("id") == request_id and "method" not in message:
                self.others.remove(message)
                return message
        while True:
            message = self.read()
            assert message is not None, "the server has gone"
            if message.get("id") == request_id and "method" not in message:
                return message
            self.others.append(message)

    def ask(self, method, params=None, **more):
        return self.answer(self.request(method, params, **more))

    def call(self, name, arguments=None, **params):
        """tools/call: its result, or its error."""
        answer = self.ask("tools/call", {"name": name, "arguments": arguments or {}, **params})
        return answer.get("result") or answer["error"]

    def initialize(self, version="2025-11-25"):
        result = self.ask("initialize", {"protocolVersion": version, "capabilities": self.capabilities,
                                         "clientInfo": {"name": "test", "version": "1"}}, modern=False)["result"]
        self.tell("notifications/initialized")
        return result

    def close(self, limit_s=LIMIT_S):
        """End of stdin: the status of the server, and how many seconds it took."""
        began = time.monotonic()
        self.process.stdin.close()
        status = self.process.wait(limit_s)
        return status, time.monotonic() - began


def until(condition, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "never"
        time.sleep(0.01)


def processes():
    """The processes of this test (TOKEN), without this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if int(pid) not in (os.getpid(), os.getppid()) and f"TOKEN={os.environ['TOKEN']}".encode() in file.read():
                    with open(f"/proc/{pid}/stat") as stat:
                        if stat.read().rsplit(")", 1)[1].split()[0] != "Z":
                            found.append(int(pid))
        except OSError:
            pass
    return found


def arguments(pid):
    """Those of a process, each with a NUL behind it; none where it has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    except OSError:
        return b""


def children(pid):
    """Those of a process, oldest first; none where it has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def kib(pid, name):
    """A figure of /proc/PID/status in KiB; 0 where the process has ended meanwhile."""
    try:
        with open(f"/proc/{pid}/status") as file:
            return sum(int(line.split()[1]) for line in file if line.startswith(name + ":"))
    except OSError:
        return 0
