#!/usr/bin/env python3
"""argv and environment as a whole: whatever a caller passes, the answer is one valid
envelope (or text that was asked for) that agrees with the exit status, in time, with
clean lines on stderr and no process left.

argv.py [RUNS [SEED]]     TAP; the same seed makes the same calls

Environment: RUNNER (the binary, default build/runner).
"""
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests" / "cli" / "lib"))
import docs  # noqa: E402
import envelope  # noqa: E402

RUNNER = os.path.abspath(os.environ.get("RUNNER", ROOT / "build" / "runner"))
PATIENCE_S = 1  # then TERM
LIMIT_S = 30  # an answer comes within grace + 1 s of that, on a busy machine too

COMMANDS = {
    "plain": 'run = function(args) return args end',
    "deploy": """args = {
        { "target", "enum", values = { "prod", "dev" }, required = true, short = "t", code = "BAD_TARGET" },
        { "release", "string", pattern = "semver", positional = true },
        { "keep", "integer", min = 1, max = 50, default = 5, short = "n", env = "KEEP" },
        { "dry_run", "boolean", short = "d" }, { "tag", "array", items = "string", env = "TAGS" },
        { "wait", "duration", max = "1h" } },
        run = function(args, ctx) ctx:step "one"; ctx:progress(0.5); ctx:log(args.target); return args end""",
    "files": """args = { { "files", "path", variadic = true } }, run = function(args) return args.files end""",
    "fail": """retry = { retries = 2, delay = "1ms" }, steps = { "a", "b" },
        run = function(args, ctx) ctx:step "a"; ctx:warn("CAREFUL", "x"); ctx:fail("UNAVAILABLE", "503") end""",
    "raise": "run = function() error({ 1, 2 }) end",
    "db/migrate": "run = function() return { 1, 2, 3 } end",
    "broken": "run = 5",
    "sleep": "run = function(_, ctx) ctx:sleep(20) end",
}

WORDS = ["plain", "deploy", "files", "fail", "raise", "db", "migrate", "db.migrate", "broken", "help", "lint",
         "types", "completion", "bash", "prod", "dev", "1.2.3", "7", "-7", "0", "none", "5s", "1ms", "json", "tsv",
         "jsonl", "plain", "table", "text", "", " ", "-", "--", "---", "=", "--=", "true", "no", "é€😀", "a\nb",
         "\x1b[31mred\x1b[0m", "9" * 40, "1e309", "nan", "../x", ".", "commands/plain.lua", "%s%n", "$(id)", "'\"\\"]
# Every flag of runner's own but --detach, whose job outlives the call.
FLAGS = [*(f for f in docs.flags() if f != "--detach"), "-h", "-V", "--runner-format", "--runner-quiet", "--no-detach", "--no-dry-run",
         "--target", "-t", "--keep", "-n", "-d", "--tag", "--wait", "--bogus", "--tagret", "-tprod", "-dn5", "-x"]
# calls that get as far as run, and what bends them
GOOD = [["plain"], ["deploy", "--target", "prod"],
        ["deploy", "-tdev", "1.2.3", "--tag", "a", "--wait", "5s"], ["files", "a"],
        ["fail"], ["raise"], ["db", "migrate"], ["broken"], ["sleep"], ["lint"],
        ["completion", "bash"], ["help", "fail"]]
BENT = [["--format", "tsv"], ["--format=jsonl"], ["--output", "result"], ["--output", "."], ["--quiet"], ["--verbose"],
        ["--timeout", "1ms"], ["--timeout=300ms"], ["--timeout", "none"], ["--attempt-timeout", "20ms"],
        ["--idle-timeout", "20ms"], ["--grace", "0"], ["--grace", "1ms"], ["--retries", "0"], ["--retries", "3"],
        ["--retries", "1000"], ["--retry-delay", "1h"], ["--retry-delay", "0"], ["--warnings-as-errors"], ["--plan"],
        ["--help"], ["--yes"], ["--"]]
VARIABLES = [*docs.flag_variables(), "RUNNER_EXIT_TABLE", "RUNNER_SEED", "RUNNER_LOAD_TIMEOUT",
             "RUNNER_PATH", "RUNNER_POLICY", "RUNNER_SUBJECT", "RUNNER_CONTEXT", "RUNNER_DEADLINE_MS", "RUNNER_OUTER_RETRIES", "KEEP", "TAGS", "CI", "NO_COLOR", "TERM",
             "COLUMNS", "TMPDIR", "HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "LC_ALL", "LUA_PATH",
             "LUA_INIT", "=", ""]
VALUES = WORDS + ["standard", "classic", "1:1:1", "9223372036854775807:1:1", "/proc/nonexistent", "relative", ":::",
                  "/" * 5000, "x" * 70000]


def write_commands(folder):
    for name, body in COMMANDS.items():
        path = folder / "commands" / f"{name}.lua"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('return { description = "x", danger_level = "safe",\n' + body + "}\n", encoding="utf-8")


def junk(rng):
    """Bytes that are no word of ours; no '/', so that --output stays here."""
    n = rng.choice([1, 2, 5, 20, 300])
    return bytes(rng.choice([b for b in range(1, 256) if b != 0x2F]) for _ in range(n))


def token(rng):
    kind = rng.randrange(10)
    if kind < 4:
        return rng.choice(WORDS).encode()
    if kind < 8:
        flag = rng.choice(FLAGS).encode()
        return flag + b"=" + rng.choice(WORDS).encode() if rng.randrange(3) == 0 else flag
    if kind == 8:
        mangled = bytearray(rng.choice(FLAGS + WORDS).encode() or b"x")
        mangled[rng.randrange(len(mangled))] = rng.choice(b"-=ax5\xff\x1b")
        return bytes(mangled)
    return junk(rng)


def make_call(rng):
    argv = [token(rng) for _ in range(rng.choice([0, 1, 2, 3, 5, 9]))]
    if rng.randrange(3) > 0:
        words = sum(rng.choices(BENT, k=rng.randrange(4)), list(rng.choice(GOOD)))
        argv = [w.encode() for w in words] + rng.choice([[], [], argv])
    if rng.randrange(40) == 0:
        argv += [token(rng) for _ in range(2000)]
    env = {b"PATH": b"/usr/bin:/bin", b"HOME": b"/proc/nonexistent"}
    for _ in range(rng.choice([0, 0, 1, 2, 4])):
        name, value = rng.choice(VARIABLES[:-2]), rng.choice(VALUES)
        env[name.encode()] = value.encode() if rng.randrange(5) else junk(rng)
    return [rng.choice([b"runner", b"", b"-runner", b"\xff", b"a" * 5000])] + argv, env


def may_be_text(argv, env):
    # scripts and candidates of completion are text wherever stdout goes
    return b"RUNNER_FORMAT" in env or b"completion" in argv or any(w in a for a in argv for w in (b"format", b"-V", b"version", b"-h", b"V"))


def check_stdout(call, status, out):
    argv, env = call
    if status == 0 and not out.startswith(b'{"ok":') and may_be_text(argv, env):
        assert b"\x1b" not in out, "ANSI in text"
        return
    assert out, "stdout is empty"
    assert b"\x1b" not in out and b"\\u001b" not in out, "ANSI in the envelope"
    text = out.decode("utf-8")
    assert text.endswith("\n") and text.count("\n") == 1, "not one line"
    envelope.check(envelope.parse(text), status)


def check_stderr(err):
    text = err.decode("utf-8")
    assert not any(ord(c) < 0x20 and c not in "\n\t" for c in text), "control characters on stderr"


def processes_of(mark):
    """Who inherited this call's environment and still lives."""
    left = []
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0"):
                left.append(path.parent.name)
        except OSError:
            pass
    return left


def await_handler(pid):
    """TERM before main's first lines would end it like any program: it must have begun."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
            caught = next((int(line.split()[1], 16) for line in f if line.startswith("SigCgt:")), 0)
        if caught >> signal.SIGTERM - 1 & 1:
            return
        time.sleep(0.01)


def run(call, folder, number):
    argv, env = call
    mark = b"FUZZ_CALL=%d-%d" % (os.getpid(), number)
    env = dict(env, FUZZ_CALL=mark.split(b"=")[1])
    env = {k if isinstance(k, bytes) else k.encode(): v for k, v in env.items()}
    if "ASAN_OPTIONS" in os.environ:
        env[b"ASAN_OPTIONS"] = os.environb[b"ASAN_OPTIONS"]
    with subprocess.Popen(argv, executable=RUNNER, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            out, err = child.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            await_handler(child.pid)
            child.terminate()
            try:
                out, err = child.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                raise AssertionError("no answer after TERM") from None
    assert child.returncode >= 0, f"killed by signal {-child.returncode}"
    check_stdout(call, child.returncode, out)
    check_stderr(err)
    assert not processes_of(mark), "processes are left"


def short(argv):
    shown = [a[:120] + (b"..." if len(a) > 120 else b"") for a in argv[:40]]
    return repr(shown) + (f" and {len(argv) - 40} more" if len(argv) > 40 else "")


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20260401
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_commands(folder)
        for number in range(runs):
            call = make_call(random.Random(f"{seed}:{number}"))
            try:
                run(call, folder, number)
            except (AssertionError, ValueError) as e:
                failures += 1
                print(f"# call {number} of seed {seed}: {str(e)[:500]}")
                print(f"#   argv {short(call[0])}\n#   env {({k: v[:200] for k, v in call[1].items()})!r}")
    print(f"{'not ok' if failures else 'ok'} 1 - {runs} calls with any argv and environment are answered "
          f"(seed {seed}, {failures} not)")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
