"""mcp_bound.py: whatever a server says, to whichever method and in which era, has at most 32 KiB; lists of tools, prompts and
resources have as much as there are. It prints how many messages it looked at for each method."""

import json
import os
import re
import sys
from collections import Counter

from mcp import Server

MOST = 32768
LONG = '\\"\u00e9\u0001' * 9000
UNBOUNDED = {"tools/list", "prompts/list", "resources/list"}
with open(os.environ["METHODS"], encoding="utf-8") as source:
    METHODS = sorted(re.findall(r'^\t\[?"?([a-z]+(?:/[a-zA-Z]+)*)"?\]? = \{ (?:modern|legacy) = true', source.read(), re.M))
seen = Counter()


class Bounded(Server):
    method = None

    def read(self, limit_s=200):
        message = super().read(limit_s)
        size = len(json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()) + 1
        name = message.get("method", self.method)
        seen[name] += 1
        assert size <= MOST or "result" in message and self.method in UNBOUNDED, (name, size, str(message)[:300])
        return message

    def ask(self, method, params=None, **more):
        self.method = method
        return super().ask(method, params, **more)

    def ended(self, task, modern):
        while self.ask("tasks/get", {"taskId": task}, modern=modern)["result"]["status"] == "working":
            pass
        return self.ask("tasks/get", {"taskId": task}, modern=modern)["result"]


def kept():
    return len(os.listdir(os.environ["XDG_STATE_HOME"] + "/runner/answers"))


def odd(server, modern):
    """Every method with what is too long, in every place."""
    for method in METHODS:
        if method == "subscriptions/listen":
            server.line({"jsonrpc": "2.0", "id": LONG, "method": method, "params": {"notifications": {"toolsListChanged": True}}})
            server.answer(None)
        for params in ({}, {"name": LONG, "uri": LONG, "taskId": LONG, "cursor": LONG, "level": LONG, "notifications": LONG},
                       {"name": "talk", "arguments": {LONG: LONG}}, {"name": "talk", "arguments": {"name": LONG, LONG: 1}},
                       {"uri": "runner://docs/" + "d" * 40000}, {"uri": "runner://answers/" + LONG}, {"notifications": {}}):
            if not (method == "subscriptions/listen" and params.get("notifications") == {}):
                server.ask(method, params, modern=modern)
        server.line({"jsonrpc": "2.0", "id": LONG, "method": method})
        server.answer(None)
    for line in ('{"%s":1,"%s":2}' % ("k" * 90000, "k" * 90000), "[" * 90000, LONG, json.dumps({"jsonrpc": LONG, "id": LONG}),
                 json.dumps({"jsonrpc": "2.0", "id": "x", "method": LONG})):
        server.line(line)
        server.method = "line"
        server.read()


def modern(server):
    for name, args, ok in (("build", {}, True), ("breaks", {}, False)):
        task = server.ask("tools/call", {"name": name, "arguments": args})["result"]["taskId"]
        server.ended(task, True)
        before = kept()
        for _ in range(4):
            result = server.ended(task, True)
        assert kept() == before, "a poll wrote a file"
        content = json.loads(result["result"]["content"][0]["text"])
        assert content["ok"] is ok, content
        if ok:
            text, uri = "", content["meta"]["rest"]["uri"]
            while uri:
                part = server.ask("resources/read", {"uri": uri})["result"]["contents"][0]
                text, uri = text + part["text"], part.get("_meta", {}).get("runner/next")
            assert len(json.loads(text)["data"]["text"]) == 300000
    server.ask("tools/call", {"name": "talk", "arguments": {"name": "x"}}, meta={"progressToken": LONG,
                                                                                "io.modelcontextprotocol/logLevel": "debug"})
    server.ask("tools/call", {"name": "talk", "arguments": {"name": "x"}}, meta={"progressToken": "t"})
    assert seen["notifications/progress"] and seen["notifications/message"], seen
    for many in ({"name": LONG}, {"name": "x", **{f"more{i}": "\\" * 900 for i in range(60)}}):
        asked = server.ask("tools/call", {"name": "wipe", "arguments": many})
        assert ("inputRequests" in asked["result"]) == (len(many) == 1), str(asked)[:300]


def legacy(server):
    server.initialize()
    for _ in range(3):
        server.ask("tools/call", {"name": "build", "arguments": {}, "task": {}}, modern=False)
    ids = []
    for _ in range(20):
        ids.append(server.ask("tools/call", {"name": "breaks", "arguments": {"x": LONG}, "task": {}}, modern=False)["result"]["task"]["taskId"])
    for task in ids[:2]:
        server.ask("tasks/result", {"taskId": task}, modern=False)
    cursor, found = {}, []
    while cursor is not None:
        page = server.ask("tasks/list", cursor, modern=False)["result"]
        found += [task["taskId"] for task in page["tasks"]]
        cursor = {"cursor": page["nextCursor"]} if "nextCursor" in page else None
    assert set(ids) <= set(found) and len(found) == len(set(found)), (len(ids), len(found))
    for task in found[-3:]:
        server.ask("tasks/result", {"taskId": task}, modern=False)
        server.ask("tasks/cancel", {"taskId": task}, modern=False)


with Bounded("--allow", "wipe", elicits=True, tasks=True) as one:
    modern(one)
    odd(one, True)
with Bounded("--allow", "wipe", elicits=True, tasks=True) as one:
    legacy(one)
    odd(one, False)
assert set(METHODS) <= set(seen), set(METHODS) - set(seen)
assert len(METHODS) == 18, METHODS
print(dict(seen), file=sys.stderr)
