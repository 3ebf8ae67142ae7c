"""official: the inspector's CLI and the official conformance runner against `runner mcp serve`. Prints TAP.

Of the conformance scenarios those that need no tools of their own; they reach the server through bridge.py.
The packages are those of package.json, which has a Node.js that is new enough, too. RUNNER names the program.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import packages

LIMIT_S = 60
SESSION = ["server-initialize", "ping", "logging-set-level", "tools-list", "resources-list", "prompts-list"]
STATELESS = ["tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found", "caching"]

GREET = """return { description = "Greet", danger_level = "safe", args = { { "name", "string", default = "world" } },
	examples = { { description = "Greet Ada", command = "runner greet --name Ada" } },
	output_schema = { type = "object", properties = { greeting = { type = "string" } }, required = { "greeting" } },
	run = function(args) return { greeting = "Hello, " .. args.name } end }"""

count = 0


def result(passed, name, said):
    global count
    count += 1
    print(f"{'ok' if passed else 'not ok'} {count} - {name}")
    if not passed:
        print("\n".join("# " + line for line in said.splitlines()[-20:]))


def run(words, env, cwd):
    return subprocess.run(words, env=env, cwd=cwd, capture_output=True, text=True, timeout=LIMIT_S, check=False)


def inspect(runner, env, cwd):
    for era in ("legacy", "auto", "modern"):
        words = [packages.NODE, packages.INSPECTOR, "--cli", "--protocol-era", era, runner, "mcp", "serve"]
        done = run([*words, "--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada"], env, cwd)
        try:
            passed = json.loads(done.stdout)["structuredContent"]["data"] == {"greeting": "Hello, Ada"}
        except (ValueError, KeyError, TypeError):
            passed = False
        result(passed, f"the inspector calls a tool, {era}", done.stdout + done.stderr)


def conform(runner, env, cwd):
    port = os.path.join(cwd, "port")
    bridge = subprocess.Popen([sys.executable, os.path.join(packages.HERE, "bridge.py"), port, runner, "mcp", "serve"], env=env, cwd=cwd)
    try:
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(port) and time.monotonic() < end:
            time.sleep(0.01)
        with open(port, encoding="ascii") as file:
            url = f"http://127.0.0.1:{file.read()}/mcp"
        for version, scenarios in (("2025-11-25", SESSION), ("2026-07-28", STATELESS)):
            for scenario in scenarios:
                done = run([packages.NODE, packages.CONFORMANCE, "server", "--url", url, "--scenario", scenario, "--spec-version", version], env, cwd)
                result(done.returncode == 0, f"conformance {version}: {scenario}", done.stdout + done.stderr)
    finally:
        bridge.kill()
        bridge.wait()


def main():
    packages.need(packages.CONFORMANCE, packages.INSPECTOR, packages.NODE)
    runner = os.path.abspath(os.environ.get("RUNNER", os.path.join(packages.HERE, "../../build/runner")))
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "commands"))
        with open(os.path.join(folder, "commands/greet.lua"), "w", encoding="utf-8") as file:
            file.write(GREET)
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": folder + "/state"}
        env.update({name: v for name, v in os.environ.items() if name == "ASAN_OPTIONS"})
        inspect(runner, env, folder)
        conform(runner, env, folder)
    print(f"1..{count}")


main()
