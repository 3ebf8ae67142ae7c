"""mcp_parts.py TOOL…: call each tool of `runner mcp serve`, and read what its answer had no room for, part by part. A line each:
the bytes of the largest message, the code of the error, "structured" or "text", the bytes of the answer and of the parts."""

import json
import os
import subprocess
import sys

MOST = int(os.environ.get("MOST", "32768"))


def main(tools):
    server = subprocess.Popen([os.environ["RUNNER"], "mcp", "serve"] + os.environ.get("SERVE", "").split(), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    sizes = []

    def send(message):
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    def ask(method, params):
        send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        line = server.stdout.readline()
        sizes.append(len(line))
        assert len(line) <= MOST, (method, len(line))
        return json.loads(line)

    ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for tool in tools:
        sizes.clear()
        answer = ask("tools/call", {"name": tool, "arguments": {}})
        if "error" in answer:
            print(max(sizes), answer["error"]["code"])
            continue
        result = answer["result"]
        content = json.loads(result["content"][0]["text"])
        uri, parts = content["meta"].get("rest", {}).get("uri"), []
        while uri:
            part = ask("resources/read", {"uri": uri})["result"]["contents"][0]
            parts.append(part["text"])
            uri = part.get("_meta", {}).get("runner/next")
        whole = "".join(parts)
        if whole:
            json.loads(whole)
        print(max(sizes), (content["error"] or {}).get("code"), "structured" if "structuredContent" in result else "text",
              content["meta"].get("rest", {}).get("bytes"), len(whole.encode()))
    server.stdin.close()
    server.wait(30)


main(sys.argv[1:])
