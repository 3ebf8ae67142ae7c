"""known: what it costs to know a project: bytes of all answers (both streams, envelopes included) on each way that a model may go
until it can call one command, with 30 and with 307 commands (tests/search). As a program it checks them:

    known.py RUNNER     exit status 1 where a figure is above its limit; never raise one without a reason in the commit
"""

import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli", "lib"))
from mcp import Server  # noqa: E402

SIZES = (30, 307)
HELP = ["help", "alert", "silence"]
CALL = ["alert", "silence", "--id", "7"]
SEARCH = ["help", "--search", "mute an alert for two hours"]

# What is called one after the other, and the most bytes that it may take with 30 and with 307 commands.
WAYS = [
    ("`runner --help`, `COMMAND --help`, the call", [["--help"], ["alert", "silence", "--help"], CALL], (3950, 4050)),
    ("`runner`, `help COMMAND`, the call", [[], HELP, CALL], (3950, 4050)),
    ("a search, `help COMMAND`, the call", [SEARCH, HELP, CALL], (2280, 2200)),
    ("`runner --help`", [["--help"]], (2430, 2500)),
    ("`COMMAND --help`", [["alert", "silence", "--help"]], (980, 980)),
    ("the compact manifest", [["manifest", "--compact"]], (20000, 173000)),
    ("the whole manifest", [["manifest"]], (164000, 490000)),
]
SKILL = [("the index of the skill of `runner generate-skills`", (1500, 1500)), ("that index, the page of a group, the call", (4200, 4500))]
SERVERS = [
    ("MCP: `tools/list`", [], [], (19800, 124000)),
    ("MCP with `--progressive`: `tools/list`, `search`, `describe`, `call`", ["--progressive"],
     [("search", {"query": "mute an alert for two hours"}), ("describe", {"name": "alert_silence"}),
      ("call", {"name": "alert_silence", "arguments": {"id": "7"}})], (3600, 3600)),
]


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": folder, "RUNNER_TRUST": folder}


def printed(runner, folder, words):
    result = subprocess.run([runner, *words], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=120, check=True)
    json.loads(result.stdout.splitlines()[-1])
    return len(result.stdout) + len(result.stderr)


def of_skill(runner, folder):
    answer = subprocess.run([runner, "generate-skills", "--output-dir", "skills"], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, timeout=120, check=True).stdout
    sizes = {os.path.basename(page["path"]): page["bytes"] for page in json.loads(answer)["data"]["skills"]}
    return sizes["SKILL.md"], sizes["SKILL.md"] + sizes["alert.md"] + printed(runner, folder, CALL)


def served(runner, folder, flags, calls):
    os.environ["RUNNER"] = runner
    with open(os.devnull, "wb") as nowhere, Server(*flags, env=environment(folder), cwd=folder, stderr=nowhere) as server:
        answers = [server.ask("tools/list")]
        for name, arguments in calls:
            answers.append(server.ask("tools/call", {"name": name, "arguments": arguments}))
            assert not answers[-1]["result"]["isError"], answers[-1]
        return sum(len(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode()) for answer in answers)


def figures(runner):
    """What, bytes with 30 and with 307 commands, and their limits."""
    with tempfile.TemporaryDirectory(prefix="runner-known-") as place:
        folders = []
        for count in SIZES:
            folders.append(os.path.join(place, str(count)))
            subprocess.run(["lua5.4", os.path.join(HERE, "..", "search", "commands.lua"), folders[-1], str(count)], check=True)
        for what, calls, limits in WAYS:
            yield what, [sum(printed(runner, folder, words) for words in calls) for folder in folders], limits
        for (what, limits), found in zip(SKILL, zip(*(of_skill(runner, folder) for folder in folders))):
            yield what, list(found), limits
        for what, flags, calls, limits in SERVERS:
            yield what, [served(runner, folder, flags, calls) for folder in folders], limits


def table(builds, _):
    """Rows of a Markdown table; a token is taken as 4 bytes."""
    yield f"| way | bytes, {SIZES[0]} commands | tokens | bytes, {SIZES[1]} commands | tokens |"
    yield "|---|---|---|---|---|"
    for what, (few, many), _ in figures(builds.first):
        yield f"| {what} | {few:,} | {few // 4:,} | {many:,} | {many // 4:,} |"


def main(runner):
    status = 0
    for what, found, limits in figures(runner):
        over = any(one > most for one, most in zip(found, limits))
        print(f"{'above its limit: ' if over else ''}{what}: {found[0]} of {limits[0]}, {found[1]} of {limits[1]}")
        status = 1 if over else status
    return status


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
