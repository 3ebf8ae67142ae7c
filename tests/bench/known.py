"""known: what it costs to know a project: bytes of all answers (both streams, envelopes included) on each way that a model may go
until it can call one command, with 30 and with 307 commands (tests/search). As a program it checks them:

    known.py RUNNER     exit status 1 where a figure is above its limit; never raise one without a reason in the commit
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli", "lib"))
import peers  # noqa: E402
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
    ("MCP: `tools/list`", [], [], (14000, 119000)),
    ("MCP with `--progressive`: `tools/list`, `search`, `describe`, `call`", ["--progressive"],
     [("search", {"query": "mute an alert for two hours"}), ("describe", {"name": "alert_silence"}),
      ("call", {"name": "alert_silence", "arguments": {"id": "7"}})], (3600, 3600)),
]


def environment(folder):
    return {"PATH": os.environ["PATH"], "HOME": folder, "RUNNER_TRUST": folder}


def size(text, folder):
    """Its bytes, were the folder where it usually is, and were all that it tells of done in 10 ms."""
    usual = text.replace(folder.encode(), b"/tmp/runner-known-12345678/" + os.path.basename(folder).encode())
    return len(re.sub(rb'("duration_ms": ?)\d+', rb"\g<1>10", usual))


def printed(runner, folder, words):
    result = subprocess.run([runner, *words], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=120, check=True)
    json.loads(result.stdout.splitlines()[-1])
    return size(result.stdout + result.stderr, folder)


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
        return sum(size(json.dumps(answer, separators=(",", ":"), ensure_ascii=False).encode(), folder) for answer in answers)


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


# --- others ---------------------------------------------------------------------------------

def justfile(runner, folder, to):
    """The commands of a project as recipes: their names, descriptions, arguments and defaults; what they do is of no matter here."""
    answer = subprocess.run([runner, "manifest"], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, timeout=120, check=True).stdout
    lines = []
    for path, command in sorted(json.loads(answer)["data"]["commands"].items()):
        if command.get("builtin") or command.get("subcommands"):
            continue
        words = []
        for name, flag in command.get("flags", {}).items():
            default = flag.get("default")
            words.append(name if default is None else f"{name}={json.dumps(str(default))}")
        words.sort(key=lambda word: "=" in word)
        lines.append(f"# {command['description']}\n{' '.join([path.replace('.', '-'), *words])}:\n\t@echo done\n")
    os.makedirs(to, exist_ok=True)
    with open(os.path.join(to, "justfile"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    return len(lines)


def said(words, **more):
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=True, **more)
    return len(result.stdout) + len(result.stderr)


def listed(words):
    """How many tools an MCP server has, and the bytes of the answer that lists them."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "known", "version": "1"}}
    asked = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}, {"jsonrpc": "2.0", "method": "notifications/initialized"},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            server.stdin.write("".join(json.dumps(one) + "\n" for one in asked))
            server.stdin.flush()
            while True:
                line = server.stdout.readline()
                if json.loads(line).get("id") == 2:
                    return len(json.loads(line)["result"]["tools"]), len(line.encode())
        finally:
            server.kill()


def of_others(runner):
    """What, of how many commands, bytes; or why there is no figure."""
    just, gh, github = peers.just(), shutil.which("gh"), peers.module("@modelcontextprotocol", "server-github", "dist", "index.js")
    with tempfile.TemporaryDirectory(prefix="runner-known-") as place:
        for size in SIZES if just else ():
            folder, recipes = os.path.join(place, f"of{size}"), os.path.join(place, f"just{size}")
            subprocess.run(["lua5.4", os.path.join(HERE, "..", "search", "commands.lua"), folder, str(size)], check=True)
            count = justfile(runner, folder, recipes)
            yield "just: `--list`", count, said([just, "--list"], cwd=recipes)
            yield "just: `--dump`, which has all arguments", count, said([just, "--dump"], cwd=recipes)
            yield "just: `--dump --dump-format json`", count, said([just, "--dump", "--dump-format", "json"], cwd=recipes)
        if gh:
            env = {"PATH": os.environ["PATH"], "HOME": place}
            text = subprocess.run([gh, "help", "reference"], stdout=subprocess.PIPE, env=env, check=True).stdout.decode()
            count = sum(line.startswith(("## ", "### ", "#### ")) for line in text.splitlines())
            yield "gh: `--help`, `issue --help`, `issue create --help`", count, sum(
                said([gh, *words, "--help"], env=env) for words in ([], ["issue"], ["issue", "create"]))
            yield "gh: `help reference`", count, len(text.encode())
        if github and shutil.which("node"):
            count, size = listed(["node", github])
            yield "MCP's own server for GitHub: `tools/list`", count, size
    for name, path in ("just", just), ("gh", gh), ("MCP's own server for GitHub", github):
        if not path:
            yield f"{name}: not here", None, None


def table(builds, _):
    """Rows of two Markdown tables; a token is taken as 4 bytes."""
    yield f"| way | bytes, {SIZES[0]} commands | tokens | bytes, {SIZES[1]} commands | tokens |"
    yield "|---|---|---|---|---|"
    for what, (few, many), _ in figures(builds.first):
        yield f"| {what} | {few:,} | {few // 4:,} | {many:,} | {many // 4:,} |"
    yield ""
    yield "The same asked of others; just has the same commands as recipes:"
    yield ""
    yield "| way | commands | bytes | tokens |"
    yield "|---|---|---|---|"
    for what, count, size in of_others(builds.first):
        yield f"| {what} | {count} | {size:,} | {size // 4:,} |" if size else f"| {what} | - | - | - |"


def main(runner):
    status = 0
    for what, found, limits in figures(runner):
        over = any(one > most for one, most in zip(found, limits))
        print(f"{'above its limit: ' if over else ''}{what}: {found[0]} of {limits[0]}, {found[1]} of {limits[1]}")
        status = 1 if over else status
    return status


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
