"""Every spelling of a command's name in a policy, in allow and in deny, at every door that a call comes in by.
Prints what went wrong; the victim is the file `dropped`, which the command writes."""
import json
import os
import subprocess
import sys

RUNNER = os.environ["RUNNER"]
UNDERSTOOD = ["db drop", "db.drop", "db_drop", "db-drop", "db  drop", "db", "db *", "db_*", "d*_dr*p"]
REFUSED = ["DB DROP", "runner db drop", "mcp__tools__db_drop", "db/drop", "db drop now", "db.drop *", "self db drop", " db drop", "db_dorp"]
META = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
TOOL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "db_drop", "arguments": {}, "_meta": META}}


def run(*argv, stdin=""):
    done = subprocess.run([RUNNER, "--policy", "p.json", *argv], input=stdin, capture_output=True, text=True, timeout=100)
    return done.stdout + done.stderr


def mcp():
    server = subprocess.Popen([RUNNER, "--policy", "p.json", "mcp", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
    try:
        server.stdin.write(json.dumps(TOOL) + "\n")
        server.stdin.flush()
    except BrokenPipeError:
        pass
    answer = server.stdout.readline()
    try:
        server.stdin.close()
    except BrokenPipeError:
        pass
    rest = server.stdout.read()
    server.wait(100)
    return answer + rest


def job():
    text = run("db", "drop", "--detach", "--format", "json")
    made = json.loads(text.splitlines()[0])
    if made["ok"]:
        subprocess.run([RUNNER, "job", "wait", made["data"]["job_id"]], capture_output=True, timeout=100, check=True)
    return text


# door → its call, and what else it needs
DOORS = {
    "command line": (lambda: run("db", "drop"), []),
    "exec": (lambda: run("exec", stdin='{"_cmd":"db.drop"}\n'), ["exec"]),
    "mcp": (mcp, ["mcp serve"]),
    "ctx:call": (lambda: run("outer"), ["outer"]),
    "workflow": (lambda: run("workflow", "run", "flow.yaml", "--format", "json"), ["workflow run"]),
    "job": (job, []),
}


def trial(door, kind, spelling):
    ask, needs = DOORS[door]
    policy = {"deny": [spelling]} if kind == "deny" else {"allow": [spelling, *needs]}
    with open("p.json", "w") as file:
        json.dump(policy, file)
    if os.path.exists("dropped"):
        os.remove("dropped")
    text, ran = ask(), os.path.exists("dropped")
    if spelling in REFUSED:
        return not ran and "POLICY_INVALID" in text, text
    elif kind == "allow":
        return ran, text
    # a server lists no such tool
    return not ran and ("POLICY_DENIED" in text or door == "mcp" and "Unknown tool" in text), text


failed = 0
for door in DOORS:
    for kind in ("allow", "deny"):
        for spelling in UNDERSTOOD + REFUSED:
            good, text = trial(door, kind, spelling)
            if not good:
                failed += 1
                print(f"{door}: {kind} {spelling!r}: {text[:300]}")
sys.exit(1 if failed else 0)
