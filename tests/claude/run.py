"""run: the real Claude Code against a stub of its API, in a network namespace of its own.

  run.py --write [CASE…]    run every case and write tests/claude/records/CASE.json
  run.py --check [CASE…]    run them in text and json and compare with the records; TAP
                            --all: also in stream-json, and the slow cases

The program is the package that tests/claude/package.json pins: installed by npm where it is
missing, never run with a network. Without npm or namespaces the tests are skipped.
"""
import concurrent.futures
import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

import cases
import stub

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDS = os.path.join(HERE, "records")
BINARY = os.path.join(HERE, "node_modules/@anthropic-ai/claude-code-linux-x64/claude")
VERSION = json.load(open(os.path.join(HERE, "package.json"), encoding="utf-8"))["dependencies"]["@anthropic-ai/claude-code"]
FLAGS = {"text": (), "json": ("--output-format", "json"), "stream-json": ("--output-format", "stream-json", "--verbose")}
LIMIT_S, AT_ONCE = 200, 4
APART = "CLAUDE_TEST_APART"  # set inside the namespace
QUIET = {name: "1" for name in ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER",
                                "DISABLE_ERROR_REPORTING")}

# --- the program and its namespace -----------------------------------------------------


def install():
    """Why the program is not there, or None."""
    if not os.path.exists(BINARY) and shutil.which("npm"):
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, timeout=300, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return None if os.path.exists(BINARY) else "npm can't install Claude Code here"


def enter_namespace():
    """Start again without a network; returns why that can't be done, or doesn't return."""
    # (in a user namespace as itself: where it is root there, Claude Code answers nothing)
    for apart in (["unshare", "--net"], ["unshare", "--net", "--map-current-user", "--keep-caps"]):
        if subprocess.run([*apart, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
            os.execvpe("unshare", [*apart, sys.executable, *sys.argv], {**os.environ, APART: "1"})
    return "no network namespaces here"


def raise_loopback():
    """ip link set lo up: SIOCSIFFLAGS with IFF_UP and IFF_RUNNING."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 0x41))


# --- one call ---------------------------------------------------------------------------


def environment(case, home, server):
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "CLAUDE_CODE_MAX_RETRIES": "2",
           "ANTHROPIC_BASE_URL": server.url(case.answer), **QUIET, **case.env}
    if "CLAUDE_CODE_OAUTH_TOKEN" not in env:
        env.setdefault("ANTHROPIC_API_KEY", "sk-ant-fake")
    return {name: value for name, value in env.items() if value != ""}


def arrived(server, answer, before, process):
    end = time.monotonic() + LIMIT_S
    while len(server.requests[answer]) <= before and process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)


def send(process, number):
    """Until it ends: the program may be between two handlers, and miss one."""
    end = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < end:
        process.send_signal(number)
        time.sleep(2)


def prompt_of(case):
    """As arguments, and what stdin is."""
    if not case.stdin:
        return [case.prompt], subprocess.DEVNULL
    file = tempfile.TemporaryFile()
    file.write(b"x" * case.stdin)
    file.seek(0)
    return [], file


def run_once(case, output, server, home):
    before = len(server.requests[case.answer])
    prompt, stdin = prompt_of(case)
    process = subprocess.Popen([BINARY, "--print", *case.args, *FLAGS[output], *prompt], cwd=home + "/work",
                               env=environment(case, home, server), stdin=stdin,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    if case.signal:
        arrived(server, case.answer, before, process)
        time.sleep(0.3)  # the answer is being waited for
        send(process, case.signal)
    try:
        out, err = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    return {"exit": status, "stdout": tidy(out, home), "stderr": tidy(err, home)}


def call(case, output, server):
    """The exit status (128 + N for a signal, as a shell has it), stdout and stderr."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.mkdir(os.path.join(home, "work"))
        if case.twice:
            run_once(case, output, server, home)
        return run_once(case, output, server, home)


# --- a record -----------------------------------------------------------------------------


def shortened(message):
    """Without the lists of what is installed, and without our directories."""
    if message.get("type") == "system" and message.get("subtype") == "init":
        keep = ("type", "subtype", "session_id", "model", "permissionMode", "claude_code_version", "uuid")
        return {key: message[key] for key in keep if key in message}
    return message


def tidy(data, home):
    text = data.decode(errors="replace").replace(home, "/home/ada")
    text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8080", text)
    lines = []
    for line in text.splitlines(keepends=True):
        whole = line.startswith('{"type":"system"') and line.endswith("}\n")
        lines.append(json.dumps(shortened(json.loads(line)), separators=(",", ":")) + "\n" if whole else line)
    return "".join(lines)


def how(case):
    env = {name: value for name, value in case.env.items() if "TOKEN" not in name}
    prompt = [] if case.stdin else [case.prompt]
    more = {"stdin_bytes": case.stdin} if case.stdin else {}
    return {"args": ["--print", *case.args, *prompt], **more, "stub": case.answer, "env": env,
            "subscription": case.env == cases.SUBSCRIBED, "signal": case.signal or None}


def record(name, server, made, wanted):
    case = cases.CASES[name]
    outputs = {output: call(case, output, server) for output in case.outputs if output in wanted}
    means = {"code": case.code, "transient": case.transient, "resets_s": case.resets_s} if case.code else {"success": True}
    return {"case": name, "about": case.about, "version": VERSION, "made_s": made, "how": how(case), "means": means,
            "outputs": outputs}


def record_all(names, wanted=cases.EVERY):
    """name → record, in order as they are done, AT_ONCE at a time."""
    made = int(time.time())
    with stub.Stub({name: made + s for name, s in cases.RESETS.items()}) as server, \
            concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for name, future in [(name, pool.submit(record, name, server, made, wanted)) for name in names if is_possible(name)]:
            yield name, future.result()


def is_possible(name):
    return os.getuid() == 0 or not cases.CASES[name].root


# --- write, or compare ------------------------------------------------------------------------

VOLATILE = ((r"\d\d?(:\d\d)?[ap]m", "TIME"), (r"[A-Z][a-z]{2} \d\d?(, 20\d\d)?, TIME", "DATE"), (r"~\d+ tokens", "~N tokens"))
SAME = ("type", "subtype", "is_error", "api_error_status", "num_turns", "stop_reason", "terminal_reason", "result", "errors")


def comparable(line):
    """What must be as recorded of a line; None where nothing must."""
    if line.startswith("{"):
        message = json.loads(line)
        if message.get("type") != "result":
            return None
        line = json.dumps({key: message.get(key) for key in SAME})
    for pattern, instead in VOLATILE:
        line = re.sub(pattern, instead, line)
    return line


def essence(output):
    # INT: the program exits 0 from its own handler, or dies of it a moment earlier
    return [0 if output["exit"] == 130 else output["exit"], *([line for line in map(comparable, output[stream].splitlines()) if line]
                              for stream in ("stdout", "stderr"))]


def path_of(name):
    return os.path.join(RECORDS, name + ".json")


def write(names):
    os.makedirs(RECORDS, exist_ok=True)
    for name, made in record_all(names):
        with open(path_of(name), "w", encoding="utf-8") as file:
            json.dump(made, file, indent="\t", ensure_ascii=False)
            file.write("\n")
        print(name, {output: given["exit"] for output, given in made["outputs"].items()}, flush=True)


def differences(name, now):
    with open(path_of(name), encoding="utf-8") as file:
        then = json.load(file)
    for output, given in now["outputs"].items():
        if essence(given) != essence(then["outputs"][output]):
            yield f"{output}: recorded {essence(then['outputs'][output])}, now {essence(given)}"
    for key in ("version", "how", "means", "about"):
        if now[key] != then[key]:
            yield f"{key}: recorded {then[key]}, now {now[key]}"


def check(names, wanted):
    print(f"1..{len(names)}", flush=True)
    bad, n = 0, 0
    for name in names:
        if not is_possible(name):
            n += 1
            print(f"ok {n} - Claude Code {VERSION}: {name} # SKIP needs root", flush=True)
    for n, (name, now) in enumerate(record_all(names, wanted), n + 1):
        different = list(differences(name, now))
        bad += bool(different)
        print(f"{'not ok' if different else 'ok'} {n} - Claude Code {VERSION}: {name}", *different, sep="\n# ", flush=True)
    return 1 if bad else 0


def main(argv):
    names = [name for name in argv[1:] if not name.startswith("-")]
    names = names or [name for name, case in cases.CASES.items() if argv[0] == "--write" or "--all" in argv or not case.slow]
    if APART not in os.environ:
        why = install() or enter_namespace()
        print(f"1..1\nok 1 - Claude Code {VERSION} # SKIP {why}")
        return 0
    raise_loopback()
    return write(names) if argv[0] == "--write" else check(names, cases.EVERY if "--all" in argv else cases.EVERY[:2])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
