#!/usr/bin/env python3
"""complexity: how what runner reads makes it slower: instructions at so many records and at four times as many; as TAP.

  tests/bench/complexity.py            each question costs at most 4.4 times as many for four times as many records, one of
                                       which a page is asked for no more at all; where it costs more, again four times as
                                       many decide
  tests/bench/complexity.py NAME       the questions whose name begins so

RUNNER names the binary (default build/runner). The count is callgrind's of all its processes, of libraries too, but for
Lua's collector, whose cycles come when they come; less that among one record. It depends neither on the load of the machine
nor on its processor.
"""

import hashlib
import importlib.machinery
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the checkout stays as it is

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RUNNER = os.path.abspath(os.environ.get("RUNNER", os.path.join(ROOT, "build", "runner")))
MORE, MOST = 4, 4.4
loader = importlib.machinery.SourceFileLoader("one", os.path.join(HERE, "instructions"))
one = importlib.util.module_from_spec(importlib.util.spec_from_loader("one", loader))
loader.exec_module(one)
FLAT = 1.25  # of a page: what a tree of an index or a larger folder may add

COMMAND = """\
return { description = "Restart the service number %d of the cluster", danger_level = "safe",
	args = { { "host", "string", required = true, description = "Where it runs" }, { "wait", "duration", default = 30 } },
	run = function() return {} end }
"""
ROWS = """\
return { description = "Rows", danger_level = "safe", streams = true, args = { { "count", "integer", default = 1 } },
	run = function(args, ctx) for i = 1, args.count do ctx:emit { id = i, name = "row " .. i } end end }
"""
LOOP = "name: loop\ncommands:\n  - foreach: [%s]\n    parallel: 1\n    do:\n      - shell: 'true'\n"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


# --- so many records -----------------------------------------------------------------------


def commands(folder, count):
    for i in range(count):
        write(f"{folder}/commands/service-{i}.lua", COMMAND % i)


def groups(folder, count):
    for i in range(count):
        write(f"{folder}/commands/group-{i}/one.lua", COMMAND % i)
        write(f"{folder}/commands/group-{i}/below/two.lua", COMMAND % i)


def jobs(folder, count):
    for i in range(count):
        home = f"{folder}/state/runner/jobs/job_{i:026d}"
        write(f"{home}/record.json", json.dumps({"command": "c", "project": folder, "started_ms": 1790000000000 + i, "timeout_ms": 0}))
        meta = {"exit_code": 0, "duration_ms": 1}
        write(f"{home}/answer.json", json.dumps({"ok": True, "data": {}, "error": None, "warnings": [], "meta": meta}))
        write(f"{home}/lock", "")


def ledger(folder, count):
    write(f"{folder}/runner.lua", 'return { audit = { path = "ledger.jsonl" } }')
    prev, place = "0" * 64, 0
    with open(f"{folder}/ledger.jsonl", "wb") as file:
        for i in range(count):
            first = max(place - 65536, 0)
            for event in ({"event": "begin", "attempt": 1, "args": {"n": i}, "args_sha256": "b" * 64},
                          {"event": "end", "exit_code": 0, "code": None, "side_effects": None, "attempts": 1, "duration_ms": 5}):
                row = {**event, "time": "2026-11-29T01:44:34.628Z", "request_id": f"req_{i:026d}", "command": "c",
                       "project": folder, "from": first}
                body = json.dumps(row)[:-1] + f',"prev":"{prev}"'
                prev = hashlib.sha256(body.encode()).hexdigest()
                place += file.write(f'{body},"hash":"{prev}"}}\n'.encode())
    os.chmod(f"{folder}/ledger.jsonl", 0o600)


def runs(folder, count):
    sys.path.insert(0, HERE)
    from workflows import FILL  # pylint: disable=import-outside-toplevel
    write(f"{folder}/commands/fill.lua", FILL)
    run(folder, ["fill", "--from", "1", "--to", str(count)])


def rows(folder, _count):
    write(f"{folder}/commands/rows.lua", ROWS)


def items(folder, count):  # what one more of them costs while it runs, tests/bench/instructions says
    write(f"{folder}/loop.yaml", LOOP % ", ".join(map(str, range(count))))
    run(folder, ["workflow", "run", "loop.yaml", "--timeout", "none"])


# What makes the records: of how many a list is asked for, and what looks at them. "{n}" is their number.
QUESTIONS = {
    commands: (40, ["manifest", "help --format json", "lint", "mcp tools", "completion bash -- serv", "service-0 --host a"]),
    groups: (20, ["manifest", "completion bash -- gro"]),
    jobs: (300, ["job list --limit 0", "job list --limit 5", "job status @last", "job list --status complete"]),
    ledger: (500, ["audit verify", "audit list --limit 0", "audit list --limit 5", "audit list --state open"]),
    runs: (300, ["workflow list --limit 0 --all", "workflow list --limit 5 --all", "workflow stats --all", "approvals --all",
                 "workflow prune --keep 5 --dry-run --all", "workflow list --workflow w3 --limit 5 --all"]),
    rows: (500, ["rows --count {n} --format jsonl", "rows --count {n}", "rows --count {n} --format tsv"]),
    items: (40, ["workflow show @last", "workflow logs @last --limit 0"]),
}


# --- instructions ----------------------------------------------------------------------------


def environment(folder):
    return {"PATH": "/usr/bin:/bin", "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": f"{folder}/state",
            "RUNNER_LOAD_TIMEOUT": "10m", "RUNNER_TIMEOUT": "10m"}


def run(folder, words):
    done = subprocess.run([RUNNER, *words], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        raise SystemExit(f"runner {' '.join(words)}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")


def instructions(folder, words):
    counts = f"{folder}.counts"
    shutil.rmtree(counts, ignore_errors=True)
    os.mkdir(counts)
    done = subprocess.run(["setarch", "-R", "valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}/%p", "--trace-children=yes",
                    "--trace-children-skip=*/sh,*/true,*/dash", RUNNER, *words],
                   cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    if done.returncode != 0:
        raise SystemExit(f"runner {' '.join(words)}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}")
    paths, until = [os.path.join(counts, name) for name in os.listdir(counts)], time.monotonic() + 60
    while not all(map(one.is_whole, paths)) and time.monotonic() < until:
        time.sleep(0.05)  # a process that nobody waits for may still write its own
    return sum(map(one.inside, paths))


def costs_of(make, count, words):
    """What each question costs among so many records."""
    with tempfile.TemporaryDirectory(prefix="complexity-", dir="/tmp") as home:
        folder = f"{home}/{count:06d}"
        os.makedirs(f"{folder}/commands")
        make(folder, count)
        return {text: instructions(folder, text.replace("{n}", str(count)).split()) for text in words}


def judge(text, first, few, many):
    """Is it well? And the figure: how many times as much, less what one record costs; of a page, with that."""
    grows = many[text] / few[text]
    if grows <= FLAT:
        return True, grows
    if "--limit 5" not in text:
        grows = (many[text] - first[text]) / max(few[text] - first[text], 1)
    return "--limit 5" not in text and grows <= MOST, grows


def main():
    wanted, number, failed = (sys.argv[1:] + [""])[0], 0, False
    if not shutil.which("valgrind"):
        print("1..0 # SKIP valgrind is not installed")
        return False
    for make, (count, words) in QUESTIONS.items():
        words = [text for text in words if make.__name__.startswith(wanted)]
        if not words:
            continue
        first, few, many = (costs_of(make, size, words) for size in (1, count, count * MORE))
        for text in words:
            number, size, less, more = number + 1, count, few, many
            is_well, grows = judge(text, first, less, more)
            if not is_well:  # tables grow in steps: what is more than linear is it among more records, too
                size, less, more = size * MORE, many, costs_of(make, size * MORE * MORE, [text])
                is_well, grows = judge(text, first, less, more)
            failed = failed or not is_well
            print("ok" if is_well else "not ok", f"{number} - runner {text} among {size} and {size * MORE} {make.__name__}", flush=True)
            print(f"# {less[text]:,} and {more[text]:,} instructions: {grows:.2f} times", flush=True)
    print(f"1..{number}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
