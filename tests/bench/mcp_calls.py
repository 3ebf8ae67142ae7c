"""mcp_calls: a client of MCP that calls the tool `hello`, so many times and so many at once, and ends.

  mcp_calls.py CALLS AT_ONCE COMMAND…    COMMAND serves MCP of 2025-11-25 on stdin and stdout
"""
import json
import subprocess
import sys


def main():
    calls, at_once = int(sys.argv[1]), int(sys.argv[2])
    server = subprocess.Popen(sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(method, params, **more):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode() + b"\n")
        server.stdin.flush()

    send("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}, id="begin")
    server.stdout.readline()
    send("notifications/initialized", {})
    for i in range(calls + at_once):
        if i >= at_once:
            answer = json.loads(server.stdout.readline())
            assert answer.get("result", {}).get("isError", False) is False and "result" in answer, answer
        if i < calls:
            send("tools/call", {"name": "hello", "arguments": {}}, id=i)
    server.stdin.close()
    assert server.wait(30) == 0


main()
