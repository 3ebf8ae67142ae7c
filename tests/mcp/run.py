"""run: the official clients of MCP against `runner mcp serve`. Prints TAP.

The clients are the packages that package.json pins: installed by npm where they are missing.
Without npm, or with a Node.js that is too old for them, the tests are skipped. RUNNER names the program.
"""
import os
import subprocess
import sys

import packages

HERE = packages.HERE
ROOT = os.path.dirname(os.path.dirname(HERE))
LEAST_NODE = 20
LIMIT_S = 300

COMMANDS = {
    "greet": """return { description = "Greet", danger_level = "safe", args = { { "name", "string", default = "world" } },
	output_schema = { type = "object", properties = { greeting = { type = "string" } }, required = { "greeting" } },
	run = function(args) return { greeting = "Hello, " .. args.name } end }""",
    "slow": """return { description = "Never ends", danger_level = "safe", timeout = "60s",
	run = function(_, ctx)
		io.open("began", "w"):write((io.open("/proc/self/stat"):read("n"))):close()
		ctx:log("info", "it has begun")
		ctx:sleep(60)
	end }""",
    "later": """return { description = "Takes its time", danger_level = "safe", timeout = "10m",
	run = function(_, ctx)
		ctx:sleep(0.3)
		return { done = true }
	end }""",
    "db/drop": """return { description = "Drop", danger_level = "destructive", dry_run = true,
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, args = { { "name", "string", required = true } },
	run = function(args, ctx)
		if ctx.dry_run then return { effect = "would_run", tables = 3 } end
		io.open("dropped", "a"):write(args.name, "\\n"):close()
		return { effect = "deleted" }
	end }""",
}


def node_version():
    try:
        return int(subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout[1:].split(".")[0])
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def main():
    if node_version() < LEAST_NODE:
        packages.skip(f"they need Node.js {LEAST_NODE}")
    packages.need(packages.CLIENT)
    with packages.home() as folder:
        for name, text in COMMANDS.items():
            path = os.path.join(folder, "commands", name + ".lua")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        runner = os.path.abspath(os.environ.get("RUNNER", os.path.join(ROOT, "build/runner")))
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8", "RUNNER": runner, "XDG_STATE_HOME": folder + "/state"}
        env.update({name: v for name, v in os.environ.items() if name == "ASAN_OPTIONS"})
        done = subprocess.run(["node", os.path.join(HERE, "clients.mjs")], cwd=folder, env=env, timeout=LIMIT_S, check=False)
    sys.exit(done.returncode)


main()
