"""calls: many small calls through `runner exec` and `runner mcp serve`, beside one process of runner for each,
a Node program that starts `node tool.js` for each line, and a Node server of MCP (official SDK) that does so for
each call. The SDK is that of tests/mcp; without it, and without Node.js, these rows are left out.
"""

import json
import os
import shutil

from builds import Each, Row, measured_table, not_installed
from measure import Case, quick

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
CALLS = quick(300, 3)
NODE_CALLS = quick(20, 2)
MODULES = os.path.join(HERE, "../mcp/node_modules")
SDK = os.path.join(MODULES, "@modelcontextprotocol/sdk/dist/esm/server/mcp.js")
ROUNDS, SECONDS = 3, 40


def requests(folder, count):
    path = os.path.join(folder, f"requests-{count}.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(json.dumps({"_cmd": "hello", "_id": i}) + "\n")
    return path


def mcp(calls, at_once, *server):
    return ["python3", os.path.join(HERE, "mcp_calls.py"), str(calls), str(at_once), *server]


def of_all(cases, count):
    return {build: Each(case, count) for build, case in cases.items()}


def of_node(folder):
    """What one writes with Node: a dispatcher for lines, and a server with the SDK of MCP; and which is not here."""
    lines, server, missing = {}, {}, []
    if shutil.which("node"):
        lines["a Node program that starts `node tool.js` for each line"] = Each(
            Case("dispatch.js", ["node", os.path.join(PEERS, "dispatch.js"), requests(folder, NODE_CALLS)], folder), NODE_CALLS)
    else:
        missing.append("Node.js")
    if shutil.which("node") and os.path.exists(SDK):
        server["a Node server of MCP (official SDK) that starts `node tool.js` for each call"] = Each(
            Case("mcp_server.mjs", mcp(NODE_CALLS, 1, "node", os.path.join(PEERS, "mcp_server.mjs"), os.path.abspath(MODULES)),
                 folder), NODE_CALLS)
    else:
        missing.append("the SDK of MCP for Node.js")
    return lines, server, missing


def table(builds, folder):
    path = requests(folder, CALLS)
    loop = f'i=0; while [ $i -lt {CALLS} ]; do "$1" hello --format json; i=$((i + 1)); done'
    each = {"one `runner hello` after the other, from sh": of_all(builds.cases(lambda runner: ["sh", "-c", loop, "sh", runner], folder), CALLS)}
    lines, server, missing = of_node(folder)

    def row(what, argv, beside):
        return Row(what, of_all(builds.cases(argv, folder), CALLS), beside, rate=lambda seconds: f"{1 / seconds:,.0f}/s")

    yield "What one call of a trivial command takes."
    yield ""
    yield from measured_table([
        row("`runner exec`", lambda runner: [runner, "exec", "--quiet", "--input-file", path], {**each, **lines}),
        row("`runner exec --parallel 2`", lambda runner: [runner, "exec", "--quiet", "--parallel", "2", "--input-file", path], each),
        row("`runner mcp serve`", lambda runner: mcp(CALLS, 1, runner, "mcp", "serve"), {**each, **server}),
        row("`runner mcp serve`, two calls at once", lambda runner: mcp(CALLS, 2, runner, "mcp", "serve", "--parallel", "2"), each),
    ], ROUNDS, SECONDS)
    yield from not_installed(missing)
