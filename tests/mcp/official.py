"""official: the inspector's CLI and the official conformance runner against `runner mcp serve`. Prints TAP.

Every scenario for servers runs, against the commands in fixture/, which offer what the scenarios ask for as far
as a command can. They reach the server through bridge.py. A check that fails has to be one of DEPARTURES, which
say why, and each of these has to fail. The packages are those of package.json, which has a Node.js that is new
enough, too. RUNNER names the program.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import packages

LIMIT_S = 240
ALLOW = ["confirm_delete", "test_missing_capability", "test_streaming_elicitation"] + [
    "test_input_required_result_" + name for name in ("capabilities", "elicitation", "request_state", "tampered_state")]
TASKS = ["lifecycle", "capability-negotiation", "wire-fields", "request-state-removal", "mrtr-input", "request-headers",
         "dispatch-and-envelope", "status-notifications", "required-task-error", "mrtr-composition"]

HTTP = "HTTP is the bridge's: runner serves stdio"
CONTENT = "the text of an answer is its envelope"
FORMS = "a command asks for no form: the one question is whether to run what is destructive"
SAMPLING = "a command asks no model of the client"
RESOURCES = "resources have no subscriptions: what a command returns has no moment at which it changes"
PROMPTS = "a prompt asks for no form"
NAMES = "the names of arguments are lower-case, resource_uri"
SCHEMA = "a tool's schema is made from the arguments of its command"
EARLY = "a call asks its person before it becomes a task, and a task asks nothing"
OPTIONAL = "no command has to be called as a task"
LATE = "files are looked at every 2 s, and the scenario listens for less"

# The check of a scenario that fails, and why.
DEPARTURES = {
    "dns-rebinding-protection": {"localhost-host-rebinding-rejected": HTTP},
    "http-header-validation": {"sep-2243-server-reject-invalid-headers": HTTP, "sep-2243-server-reject-error-code": HTTP},
    "http-custom-header-server-validation": {f"sep-2243-server-{what}": HTTP for what in (
        "no-xmcp-tool", "decode-base64", "validate-param-match", "reject-invalid-param-chars", "reject-param-mismatch")},
    "server-stateless": {"sep-2575-http-server-header-mismatch-400": HTTP, "sep-2575-server-rejects-undeclared-capability": SAMPLING,
                         "sep-2575-server-sends-tools-list-changed-on-subscription": LATE},
    "input-required-result-basic-elicitation": {"sep-2322-elicitation-incomplete": FORMS},
    "input-required-result-basic-list-roots": {"sep-2322-list-roots-incomplete": FORMS},
    "input-required-result-basic-sampling": {"sep-2322-sampling-incomplete": SAMPLING},
    "input-required-result-capability-check": {"sep-2322-respect-client-capabilities": SAMPLING},
    "input-required-result-ignore-extra-params": {"sep-2322-ignore-unexpected-params": FORMS},
    "input-required-result-multi-round": {"sep-2322-multi-round-r1": FORMS},
    "input-required-result-multiple-input-requests": {"sep-2322-multiple-inputs-incomplete": FORMS},
    "input-required-result-non-tool-request": {"sep-2322-non-tool-incomplete": PROMPTS},
    "tasks-mrtr-input": {"sep-2663-tasks-get-status-input-required": EARLY, "tasks-mrtr-tasks-update-resumes": EARLY,
                         "tasks-mrtr-partial-fulfillment": EARLY},
    "tasks-request-headers": {"tasks-headers-tolerate-mcp-method-on-tools-call": CONTENT,
                              "tasks-headers-reject-mismatched-method": HTTP,
                              "sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get": HTTP},
    "tasks-required-task-error": {"sep-2663-server-returns-missing-capability-when-required": OPTIONAL},
    "tasks-mrtr-composition": {"sep-2663-mrtr-synchronous-before-task-creation": FORMS},
    "tools-call-sampling": {"tools-call-sampling": SAMPLING}, "tools-call-elicitation": {"tools-call-elicitation": FORMS},
    "elicitation-sep1034-defaults": {"elicitation-sep1034-general": FORMS},
    "elicitation-sep1330-enums": {"elicitation-sep1330-general": FORMS},
    "json-schema-2020-12": {"json-schema-2020-12-tool-found": SCHEMA},
    "resources-subscribe": {"resources-subscribe": RESOURCES}, "resources-unsubscribe": {"resources-unsubscribe": RESOURCES},
    "prompts-get-embedded-resource": {"prompts-get-embedded-resource": NAMES},
}

# What passes if the look comes just then.
SOMETIMES = {"sep-2575-server-sends-tools-list-changed-on-subscription"}

count = 0


def result(passed, name, said=""):
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
            passed = json.loads(done.stdout)["structuredContent"]["data"] == {"greeting": "Hello, Ada!"}
        except (ValueError, KeyError, TypeError):
            passed = False
        result(passed, f"the inspector calls a tool, {era}", done.stdout + done.stderr)


def failed(path):
    """The checks of a scenario that did not pass: id to what was said."""
    with open(path, encoding="utf-8") as file:
        checks = json.load(file)
    return {c["id"]: c.get("errorMessage") or c["description"] for c in checks if c["status"] in ("FAILURE", "WARNING")}


def judge(version, scenario, found):
    expected = DEPARTURES.get(scenario, {})
    name = f"conformance {version}: {scenario}"
    if expected:
        name += " departs where it has to: " + "; ".join(sorted(set(expected.values())))
    result(set(found) - SOMETIMES == set(expected) - SOMETIMES, name, json.dumps({"failed": found, "expected": expected}, indent=1))


def conform(url, env, cwd, version, *more):
    out = tempfile.mkdtemp(dir=cwd)
    run([packages.NODE, packages.CONFORMANCE, "server", "--url", url, "-o", out, *more], env, cwd)
    for path in sorted(glob.glob(os.path.join(out, "*/checks.json"))):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", os.path.basename(os.path.dirname(path)).removeprefix("server-"))
        judge(version, scenario, failed(path))


def bridge(runner, env, cwd):
    port = os.path.join(cwd, "port")
    allow = [word for name in ALLOW for word in ("--allow", name)]
    process = subprocess.Popen([sys.executable, os.path.join(packages.HERE, "bridge.py"), port, runner, "mcp", "serve", *allow], env=env, cwd=cwd)
    end = time.monotonic() + LIMIT_S
    while not os.path.exists(port) and time.monotonic() < end:
        time.sleep(0.01)
    with open(port, encoding="ascii") as file:
        return process, f"http://127.0.0.1:{file.read()}/mcp"


def main():
    packages.need(packages.CONFORMANCE, packages.INSPECTOR, packages.NODE)
    runner = os.path.abspath(os.environ.get("RUNNER", os.path.join(packages.HERE, "../../build/runner")))
    with packages.home() as folder:
        shutil.copytree(os.path.join(packages.HERE, "fixture/commands"), os.path.join(folder, "commands"))
        env = {"PATH": os.environ["PATH"], "HOME": folder, "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": folder + "/state"}
        env.update({name: v for name, v in os.environ.items() if name == "ASAN_OPTIONS"})
        inspect(runner, env, folder)
        process, url = bridge(runner, env, folder)
        try:
            for version in ("2025-11-25", "2026-07-28"):
                conform(url, env, folder, version, "--suite", "all", "--spec-version", version)
            for scenario in TASKS:
                conform(url, env, folder, "extension", "--scenario", "tasks-" + scenario)
        finally:
            process.kill()
            process.wait()
    print(f"1..{count}")


main()
