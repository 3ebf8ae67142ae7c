"""mcp_fixed.py [OPTION…]: reads lines "TOOL ARGUMENTS", or "TOOL ARGUMENTS|ARGUMENTS OF THE FIX" ("-": it must have none), and makes
each call over `runner mcp serve OPTION…`. With --says prints what it is told; else prints for each the error's code
or OK, the fix_call as JSON or null, and what that call answers, and fails where a text of an error, warning or hint has a flag or a
command line of runner's that isn't said to be for a person."""

import json
import os
import re
import subprocess
import sys

PERSON = "For a person at a terminal: "
CLI = re.compile(r"(?<![\w-])--[a-z]|\brunner (job|workflow|lint|help|status|approvals?|library|doctor)\b")


def main(options):
    says = "--says" in options
    options = [option for option in options if option != "--says"]
    server = subprocess.Popen([os.environ["RUNNER"], "mcp", "serve", "--builtin", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def send(message):
        server.stdin.write(json.dumps(message).encode() + b"\n")
        server.stdin.flush()

    def ask(method, params):
        send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return json.loads(server.stdout.readline())

    def call(params):
        return json.loads(ask("tools/call", params)["result"]["content"][0]["text"])

    def texts(value, key=""):
        if isinstance(value, dict):
            for name, v in value.items():
                yield from texts(v, name)
        elif isinstance(value, list):
            for v in value:
                yield from texts(v, key)
        elif isinstance(value, str):
            yield key, value

    ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for line in sys.stdin:
        line, _, wanted = line.strip().partition("|")
        tool, _, arguments = line.partition(" ")
        params = {"name": tool, "arguments": json.loads(arguments or "{}")}
        if "--progressive" in options:
            params = {"name": "call", "arguments": params}
        answer, found = call(params), None
        for part in (answer["error"], answer["warnings"], answer["meta"]):
            fix = part.pop("fix_call", None) if isinstance(part, dict) else None
            found = fix or found
            for key, text in texts(part):
                is_free = key == "value" or text.startswith(PERSON)
                assert is_free or not CLI.search(text.replace("git push --all", "")), (line, key, text)
        error, fix = answer["error"] or {}, found
        if says:
            print(*(f"{one['message']} | {one.get('suggestion')}" for one in error["errors"]), sep="\n")
            continue
        assert "fix_command" not in error, line
        if wanted:
            right = None if wanted == "-" else {"name": tool, "arguments": json.loads(wanted)}
            assert answer["error"] and fix == right, (line, fix)
        again = call(fix) if fix else None
        print(error.get("code", "OK"), json.dumps(fix, sort_keys=True), again and json.dumps(again["error"] or again["data"], sort_keys=True))
    server.stdin.close()
    return server.wait(20)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
