"""calls: many small calls through `runner exec` and `runner mcp serve`, beside one process of runner for each,
a Node program that starts `node tool.js` for each line, and a Node server of MCP (official SDK) that does so for
each call. The SDK is that of tests/mcp; without it, and without Node.js, these rows are left out.
"""

import json
import os
import shutil

from measure import Case, interleaved

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
CALLS = 300
NODE_CALLS = 20
MODULES = os.path.join(HERE, "../mcp/node_modules")
SDK = os.path.join(MODULES, "@modelcontextprotocol/sdk/dist/esm/server/mcp.js")
ROUNDS = 9


def requests(folder, count):
    path = os.path.join(folder, f"requests-{count}.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for i in range(count):
            file.write(json.dumps({"_cmd": "hello", "_id": i}) + "\n")
    return path


def mcp(calls, at_once, *server):
    return ["python3", os.path.join(HERE, "mcp_calls.py"), str(calls), str(at_once), *server]


def cases(runner, folder):
    """(case, calls that it makes)"""
    path = requests(folder, CALLS)
    loop = f'i=0; while [ $i -lt {CALLS} ]; do "$1" hello --format json; i=$((i + 1)); done'
    yield Case("one `runner hello` after the other, from sh", ["sh", "-c", loop, "sh", runner], folder), CALLS
    yield Case("`runner exec`", [runner, "exec", "--quiet", "--input-file", path], folder), CALLS
    yield Case("`runner exec --parallel 2`", [runner, "exec", "--quiet", "--parallel", "2", "--input-file", path], folder), CALLS
    for at_once in 1, 2:
        name = "`runner mcp serve`" + (", two calls at once" if at_once > 1 else "")
        yield Case(name, mcp(CALLS, at_once, runner, "mcp", "serve", "--parallel", str(at_once)), folder), CALLS
    if shutil.which("node") and os.path.exists(SDK):
        yield Case("a Node server of MCP (official SDK) that starts `node tool.js` for each call",
                   mcp(NODE_CALLS, 1, "node", os.path.join(PEERS, "mcp_server.mjs"), os.path.abspath(MODULES)), folder), NODE_CALLS
    if shutil.which("node"):
        yield Case("a Node program that starts `node tool.js` for each line",
                   ["node", os.path.join(PEERS, "dispatch.js"), requests(folder, NODE_CALLS)], folder), NODE_CALLS


def table(runner, folder):
    """Rows of a Markdown table."""
    rows = list(cases(runner, folder))
    interleaved([case for case, _ in rows], ROUNDS, 60)
    base = rows[0][0].median() / rows[0][1]
    base_cpu = rows[0][0].median_cpu() / rows[0][1]
    yield ("| calls of a trivial command | per call | calls per second | processor time per call "
           "| time, processor time against one process each |")
    yield "|---|---|---|---|---|"
    for case, count in rows:
        each, cpu = case.median() / count, case.median_cpu() / count
        yield (f"| {case.name} | {each * 1000:.2f} ms | {1 / each:,.0f} | {cpu * 1000:.2f} ms "
               f"| {each / base:.2f} ×, {cpu / base_cpu:.2f} × |")
