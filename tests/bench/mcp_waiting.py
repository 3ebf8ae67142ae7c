"""mcp_waiting: how long a call over MCP takes while other clients wait for a job: each has a server of its own, as over ssh.

  mcp_waiting.py RUNNER CALLS CLIENTS…       one line for each number of CLIENTS: it, and the 50th and 99th percentile of CALLS calls in ms
  mcp_waiting.py RUNNER CALLS p99 CLIENTS    the 99th percentile alone

It makes a project of its own in a folder that it removes.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

COMMANDS = {
    "hello": "return { greeting = \"Hello\" }",
    "long": "ctx:run { \"sh\", \"-c\", \"until [ -e go ]; do sleep 0.2; done\" }",
}


class Client:
    def __init__(self, runner):
        self.server = subprocess.Popen([runner, "mcp", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}, id=0)
        self.read()
        self.send("notifications/initialized", {})

    def send(self, method, params, **more):
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode() + b"\n")
        self.server.stdin.flush()

    def read(self):
        return json.loads(self.server.stdout.readline())

    def call(self, name, **arguments):
        self.send("tools/call", {"name": name, "arguments": arguments}, id=name)

    def close(self):
        self.server.stdin.close()
        self.server.wait(60)


def took(client):
    before = time.monotonic()
    client.call("hello")
    answer = client.read()
    assert answer["result"]["structuredContent"]["ok"], answer
    return 1000 * (time.monotonic() - before)


def measure(runner, calls, clients):
    out = subprocess.run([runner, "long", "--detach", "--format", "json"], stdout=subprocess.PIPE, check=True)
    job = json.loads(out.stdout)["data"]["job_id"]
    waiting = [Client(runner) for _ in range(clients)]
    for client in waiting:
        client.call("job_wait", id=job)
    caller = Client(runner)
    took(caller)
    times = sorted(took(caller) for _ in range(calls))
    assert not any(client.server.poll() for client in waiting)
    open("go", "w", encoding="ascii").close()
    for client in waiting:
        answer = client.read()
        assert answer["result"]["structuredContent"]["ok"], answer
        client.close()
    caller.close()
    os.unlink("go")
    return times[len(times) // 2], times[len(times) * 99 // 100]


def main():
    runner, calls = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ.update(XDG_STATE_HOME=folder + "/state", HOME=folder)
        os.mkdir("commands")
        for name, body in COMMANDS.items():
            with open(f"commands/{name}.lua", "w", encoding="ascii") as file:
                file.write(f'return {{ description = "x", danger_level = "safe", timeout = "10m", run = function(_, ctx) {body} end }}\n')
        if sys.argv[3] == "p99":
            print("%.1f" % measure(runner, calls, int(sys.argv[4]))[1])
        for clients in sys.argv[3:] if sys.argv[3] != "p99" else ():
            print(clients, *("%.1f" % ms for ms in measure(runner, calls, int(clients))), flush=True)
        os.chdir("/")


main()
