"""mcp_pages.py ARGUMENTS…: call the tool `numbers` of `runner mcp serve`, and follow its cursor, or at the last page its rest, to
the end. A line each: how many items came, each once and in order; does the rest say when it expires; is it gone two days later."""

import json
import os
import subprocess
import sys
import time


def main(calls):
    server = subprocess.Popen([os.environ["RUNNER"], "mcp", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(message):
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    def ask(method, params):
        send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        line = server.stdout.readline()
        assert len(line) <= 32768, len(line)
        return json.loads(line)

    def read(uri):
        text = ""
        while uri:
            part = ask("resources/read", {"uri": uri})["result"]["contents"][0]
            text += part["text"]
            uri = part.get("_meta", {}).get("runner/next")
        return json.loads(text)

    ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for arguments in map(json.loads, calls):
        seen, more, expires, gone = [], True, set(), set()
        while more:
            answer = json.loads(ask("tools/call", {"name": "numbers", "arguments": arguments})["result"]["content"][0]["text"])
            assert answer["ok"], answer
            page, rest = answer["meta"]["pagination"], answer["meta"].get("rest")
            assert page["returned"] == len(answer["data"]) > 0, page
            more = page["next_cursor"] is not None
            items = answer["data"] if more or not page["has_more"] else read(rest["uri"])["data"]
            assert [item["id"] for item in items] == list(range(len(seen) + 1, len(seen) + len(items) + 1))
            seen += items
            arguments["cursor"] = page["next_cursor"]
            if rest:
                expires.add("expires_at" in rest)
                os.utime(rest["path"], (time.time() - 200000,) * 2)
                gone.add("error" in ask("resources/read", {"uri": rest["uri"]}))
        print(len(seen), "expires" if expires == {True} else "no", "gone" if gone == {True} else "there")
    server.stdin.close()
    server.wait(30)


main(sys.argv[1:])
