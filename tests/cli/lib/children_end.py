"""Every door by which a command starts a program × every way in which the attempt ends. The program takes 1.5 s to
end, prints while it does, and counts the signals that it gets. Called by children_end.bats in a project's folder."""
import concurrent.futures
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import terminal

RUNNER = os.environ["RUNNER"]

PROGRAM = r"""
end() {
	echo "$1" >>"$TOLD"
	[ "$(wc -l <"$TOLD")" = 1 ] || return
	echo ending; sleep "$SECONDS_TO_END"; echo clean >"$TOLD.clean"; echo bye; exit 0
}
trap 'end INT' INT
trap 'end TERM' TERM
sleep 0.2; echo up >"$TOLD.up"
while :; do sleep 0.05; done
"""

# What shows its last words shows them on stderr.
DOORS = {
    "run": 'ctx:run{%s}',
    "echo": 'ctx:run{%s, echo = true}',
    "on_line": 'ctx:run{%s, on_line = function(line) io.stderr:write(line, "\\n") end}',
    "uncaptured": 'ctx:run{%s, capture = false}',
    "foreground": 'ctx:run{%s, capture = false, foreground = true}',
    "pipeline": 'ctx:pipeline{{"sleep", "100"}, {%s}, echo = true}',
    "spawn": 'local p = ctx:spawn{%s} ctx:defer(function() io.stderr:write(p:wait().stdout) end) p:wait()',
    "spawn, nobody waits": 'ctx:spawn{%s} ctx:sleep(100)',
    "spawn, closed": 'local p <close> = ctx:spawn{%s} ctx:sleep(100)',
    "parallel": 'ctx:parallel{{ run = {%s} }, { run = {"sleep", "0"} }}',
    "delegate": 'ctx:delegate{%s}',
    "os.execute": 'os.execute("exec sh program")',
}
SHOWN = ["echo", "on_line", "uncaptured", "foreground", "pipeline", "spawn", "delegate", "os.execute"]
FOREGROUND = ["foreground", "os.execute"]
WAYS = {"INT": (signal.SIGINT, 130), "TERM": (signal.SIGTERM, 143), "limit": (None, 10)}


def write(folder, door, spec, keys):
    """A project whose command `c` starts the program."""
    (folder / "commands").mkdir(parents=True)
    (folder / "program").write_text(PROGRAM)
    raw = 'arguments = "passthrough",' if door == "delegate" else ""
    call = DOORS[door] % spec if "%s" in DOORS[door] else DOORS[door]
    (folder / "commands/c.lua").write_text(
        f'return {{ description = "x", danger_level = "safe", {raw} {keys} run = function(args, ctx) {call} end }}')


def start(folder, door, way, keys, seconds, spec):
    """The process of a run whose program is up."""
    limit = 'timeout = "8s",' if way == "limit" else ""  # a limit that comes before the command has begun asks nothing
    own = ', stop_signal = "INT"' if way == "stop_signal" else ""
    write(folder, door, '"sh", "program"' + own + spec, keys + limit)
    env = {**os.environ, "TOLD": str(folder / "told"), "SECONDS_TO_END": seconds}
    run = subprocess.Popen([RUNNER, "c"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    until = time.monotonic() + 60
    while not (folder / "told.up").exists() and run.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    return run


def one(door, way, keys='grace = "20s",', seconds="1.5", spec=""):
    """What is wrong with this case; None: nothing."""
    folder = pathlib.Path(f"{door} {way}".replace(" ", "_")).resolve()
    sent, status = WAYS.get(way, WAYS["TERM"])
    run = start(folder, door, way, keys, seconds, spec)
    begun = time.monotonic()
    if sent:
        run.send_signal(sent)
    out, err = run.communicate(timeout=100)
    took = time.monotonic() - begun
    told = (folder / "told").read_text().split() if (folder / "told").exists() else []
    expected = "INT" if way == "stop_signal" or (way == "INT" and door in FOREGROUND) else "TERM"
    wrong = [what for what, is_so in {
        f"status {run.returncode}": run.returncode != status,
        f"told {told}": told != [expected],
        "not clean": not (folder / "told.clean").exists(),
        f"{took:.1f} s": took > 18,
        f"last words: {err!r}": door in SHOWN and "bye" not in out + err,
        "no answer": door != "delegate" and json.loads(out)["meta"]["exit_code"] != status,
    }.items() if is_so]
    return f"{door} × {way}: {', '.join(wrong)}" if wrong else None


def sooner_if_it_says_so():
    """A grace of its own, shorter than the command's, still holds."""
    problem = one("run", "TERM", seconds="60", spec=', grace = "300ms"')
    assert problem == "run × TERM: not clean", problem
    return 0


def asked_once():
    """What takes most of the grace is not asked a second time; but INT, which may mean something else, is followed by TERM."""
    problem = one("foreground", "INT", 'grace = "8s",', "4.5")
    assert problem == "foreground × INT: told ['INT', 'TERM']", problem
    return all_of([("run", way, 'grace = "8s",', "4.5") for way in WAYS] + [("foreground", "TERM", 'grace = "8s",', "4.5")])


def at_a_terminal():
    """Ctrl+C is one INT for what has the terminal, be it captured or not, and lets it end."""
    for door in ("foreground", "os.execute"):
        folder = pathlib.Path(f"terminal_{door}").resolve()
        write(folder, door, '"sh", "program"', 'interactive = true, grace = "20s",')
        os.chdir(folder)
        t = terminal.Terminal("c", TOLD=str(folder / "told"), SECONDS_TO_END="1.5")
        terminal.wait_until((folder / "told.up").exists)
        t.send(b"\x03")
        assert t.end() == 130, t.seen
        assert (folder / "told").read_text().split() == ["INT"], (door, (folder / "told").read_text())
        assert (folder / "told.clean").exists() and b"bye" in t.seen, t.seen
        os.chdir("..")
    return 0


def all_of(cases, at_once=12):
    """Run them side by side."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        problems = [p for p in pool.map(lambda case: one(*case), cases) if p]
    print("\n".join(problems) or f"{len(cases)} cases")
    return 1 if problems else 0


def matrix():
    return all_of([(door, way) for door in DOORS for way in WAYS])


def stop_signal():
    return all_of([(door, "stop_signal") for door in DOORS if "%s" in DOORS[door]])


if __name__ == "__main__":
    sys.exit(globals()[sys.argv[1]]())
