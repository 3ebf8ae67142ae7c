"""Hostile commands × what happens to them. Each row of the table below says the exit
status, the error code, retryable and the bound; checked besides: exactly one valid
envelope, nothing left alive, no temporary file left, nobody holds the caller's pipes.

hostile.py [ROW…]    TAP; rows are COMMAND or COMMAND/EVENT; default: all

RUNNER names the binary, JOBS how many rows run at a time.
"""
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import Run, Stage

LIMIT = "400ms"
GRACE = "300ms"
SLACK = 25.0  # seconds that a busy machine may add to a bound; what hangs does so for longer


# --- events: what happens to the run, and what it must answer ------------------------------

class Event:
    """`flags` for the run; `act` is called once the command has said that it is ready."""

    def __init__(self, status, code, retryable, bound, flags=(), act=None, stdout=None):
        self.status, self.code, self.retryable, self.bound = status, code, retryable, bound
        self.flags, self.act, self.stdout = flags, act, stdout


def send(*signals):
    def act(run):
        for n, sig in enumerate(signals):
            if n:
                harness.await_taken(run.pid, signals[n - 1])
                time.sleep(0.45)  # a second INT counts from 300 ms on
            os.kill(run.pid, sig)
    return act


def kill_worker(run):
    for pid in harness.children_of(run.pid)[:1]:
        os.kill(pid, signal.SIGKILL)


EVENTS = {
    "timeout": Event(10, "TIMEOUT", True, 0.4, ["--timeout", LIMIT]),
    "attempt timeout": Event(10, "TIMEOUT", True, 0.4, ["--attempt-timeout", LIMIT]),
    "idle timeout": Event(10, "TIMEOUT", True, 0.4, ["--idle-timeout", LIMIT]),
    "INT": Event(130, "CANCELLED", False, 0, act=send(signal.SIGINT)),
    "TERM": Event(143, "CANCELLED", False, 0, act=send(signal.SIGTERM)),
    "HUP": Event(143, "CANCELLED", False, 0, act=send(signal.SIGHUP)),
    "second INT": Event(130, "CANCELLED", False, 0.5, ["--grace", "40s"], act=send(signal.SIGINT, signal.SIGINT)),
    "closed stdout": Event(10, None, None, 0.4, ["--timeout", LIMIT], stdout="closed"),
    "full stdout": Event(10, None, None, 0.4, ["--timeout", LIMIT], stdout="full"),
    "KILL of the worker": Event(1, "COMMAND_CRASHED", "maybe", 0, act=kill_worker),
    "KILL of the supervisor": Event(-9, None, None, 0, act=send(signal.SIGKILL)),
    "nothing": Event(0, None, None, 0, ["--timeout", "10m"]),
}
ALL = [name for name in EVENTS if name != "nothing"]
SOME = ["timeout", "INT", "second INT", "KILL of the worker", "KILL of the supervisor"]
LOUD = [name for name in ALL if name != "idle timeout"]


# --- commands -------------------------------------------------------------------------------

class Command:
    """`body` calls ready() when it is where it is to be hit. `events`: a list, or what differs: {event: (status, code, retryable)}."""

    def __init__(self, body, events, keys="", bound=0.0, stdin=None, check=None, stderr=None):
        self.body, self.keys, self.bound, self.stdin, self.check, self.stderr = body, keys, bound, stdin, check, stderr
        self.events = events if isinstance(events, dict) else {name: None for name in events}


def ends(status, code, retryable):
    """A command that ends by itself."""
    return {"nothing": (status, code, retryable)}


CRASH = ends(1, "COMMAND_CRASHED", "maybe")
INTERNAL = ends(1, "INTERNAL_ERROR", "maybe")
LOOP = "while true do end"
HALF_A_FRAME = r"RF\14\1\200\0\0\0half"

COMMANDS = {
    "a loop in Lua": Command("ready() " + LOOP, ALL),
    "a loop that catches every error": Command("ready() while true do pcall(function() " + LOOP + " end) end", ALL),
    "a loop inside C": Command('ready() return { m = (("a"):rep(60)):find((".-"):rep(60) .. "b") }', ALL),
    "a blocking read of stdin": Command("ready() io.read('a') " + LOOP, ALL, keys="stdin = true,", stdin="open"),
    "a blocking open of a FIFO": Command("ready() io.open('fifo', 'r') " + LOOP, ALL),
    "a blocking read of a socket": Command("ready() bad.read_socket()", ALL),
    "a worker that ignores every signal": Command("bad.ignore() ready() " + LOOP, ALL),
    "a worker that blocks every signal": Command("bad.block() ready() " + LOOP, ALL),
    "a worker that blocks every signal by system call": Command("bad.block_raw() ready() " + LOOP, SOME),
    "a blind worker with blind daemons": Command("bad.block() bad.daemon 'blind' bad.daemon 'deaf' ready() " + LOOP, SOME),
    "a blind worker that respawns": Command("bad.block() bad.respawn(2000) ready() " + LOOP, SOME, bound=1),
    "a blind worker with a nested subreaper": Command("bad.subreaper() bad.block() ready() " + LOOP, SOME),
    "a worker that closes every descriptor": Command("ready() bad.close_all() " + LOOP, ALL),
    "half a frame and then silence": Command(f"bad.forge('{HALF_A_FRAME}') ready() " + LOOP, ALL),
    "a worker that stops itself": Command("ready() bad.stop() " + LOOP, ALL),
    "a child": Command("ready() os.execute('sleep 61')", ALL),
    "a child of ctx:run": Command("ready() ctx:run { 'sleep', '61', check = true }", ALL),
    "a child of ctx:run that is deaf": Command(
        "ready() ctx:run { 'sh', '-c', 'trap \"\" TERM INT HUP; while :; do sleep 0.1; done', check = true }", ALL),
    "a grandchild": Command("ready() os.execute('(sleep 61; :) & wait')", ALL),
    "a daemon": Command("bad.daemon() ready() " + LOOP, ALL),
    "a daemon that ignores every signal": Command("bad.daemon 'deaf' ready() " + LOOP, ALL),
    "a daemon that blocks every signal": Command("bad.daemon 'blind' ready() " + LOOP, ALL),
    "a crowd of 500 processes": Command("bad.crowd(500) ready() " + LOOP, SOME, bound=3),
    "children that stop themselves": Command("bad.stopped_tree() ready() " + LOOP, ALL),
    "a process that respawns every 2 ms": Command("bad.respawn(2000) ready() " + LOOP, SOME, bound=1),
    "a process that respawns as fast as it can": Command("bad.respawn(0) ready() " + LOOP, SOME, bound=1),
    "a nested subreaper with daemons": Command("bad.subreaper() ready() " + LOOP, ALL),
    "an endless flood on stdout": Command("ready() local s = ('x'):rep(65536) while true do io.write(s) end",
                                          [e for e in LOUD if e != "full stdout"], stderr="null"),
    "an endless flood on stderr": Command("ready() local s = ('x'):rep(65536) while true do io.stderr:write(s) end",
                                          [e for e in LOUD if e != "full stdout"], stderr="null"),
    "an endless flood of progress": Command("ready() while true do ctx:progress({ n = ('x'):rep(59000) }) end", LOUD),
    "an endless flood of log lines": Command("ready() while true do ctx:log('warn', ('x'):rep(60000)) end", LOUD, stderr="null"),
    "an endless flood of warnings": Command("ready() while true do ctx:warn('SLOW_DISK', ('x'):rep(300)) end", LOUD, stderr="null"),
    "a cleanup that hangs": Command("ready() " + LOOP, ALL, keys=f"cleanup = function() {LOOP} end,"),
    "a cleanup that fails": Command("ready() " + LOOP, ALL, keys="cleanup = function() error({}) end,"),
    "a cleanup that leaves": Command("ready() " + LOOP, ALL, keys="cleanup = function() os.exit(0) end,"),
    "a cleanup that hangs in a child": Command("ready() " + LOOP, ALL,
                                               keys="cleanup = function() os.execute('sleep 61') end,"),

    "a segmentation fault": Command("bad.crash 'SEGV'", CRASH),
    "an abort": Command("bad.crash 'ABRT'", CRASH),
    "a division by zero": Command("bad.crash 'FPE'", CRASH),
    "an illegal instruction": Command("bad.crash 'ILL'", CRASH),
    "a stack overflow in C": Command("bad.overflow_stack()", CRASH),
    "a stack overflow in Lua": Command("local function f() return 1 + f() end f()", INTERNAL),
    "a recursion from Lua through C": Command("local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end "
                                              "return { t.x }", INTERNAL),
    "half a frame and then death": Command(f"bad.forge('{HALF_A_FRAME}') os.exit(0)", CRASH),
    "memory exhaustion under a limit": Command("local t = {} while true do t[#t + 1] = ('x'):rep(100000) .. #t end",
                                               ends(1, "MEMORY_LIMIT", False), keys="limits = { memory = '64MB' },", bound=20),
    "an error that is a table": Command("error({ 1, { 2 } })", INTERNAL),
    "an error that is nil": Command("error(nil)", INTERNAL),
    "an error that is a userdata": Command("error(io.stdout)", INTERNAL),
    "an error that raises again in __tostring": Command(
        "error(setmetatable({}, { __tostring = function() error('again') end }))", INTERNAL),
    "an error that is a coroutine": Command("error(coroutine.create(print))", INTERNAL),
    "a survivor that holds stderr": Command("bad.daemon 'deaf' return { done = true }", ends(0, None, None),
                                            check='[w["code"] for w in e.warnings] == ["PROCESS_LEFT"]'),
    "a daemon behind a crash": Command("bad.daemon 'deaf' os.exit(0)", CRASH),
    "a respawning process behind a success": Command("bad.respawn(500) return { done = true }", ends(0, None, None),
                                                     bound=1),
    "1 GB on stdout": Command("local s = ('x'):rep(1 << 20) for i = 1, 1024 do io.write(s) end return {}",
                              ends(0, None, None), bound=30, stderr="null",
                              check='e.warnings[0]["context"]["bytes"] == 1 << 30'),
    "1 GB on stderr": Command("local s = ('x'):rep(1 << 20) for i = 1, 1024 do io.stderr:write(s) end return {}",
                              ends(0, None, None), bound=30, stderr="null"),
    "1 GB of progress": Command("local s = { n = ('x'):rep(59000) } for i = 1, 18200 do ctx:progress(s) end return {}",
                                ends(0, None, None), bound=60),
    "1 GB of log lines": Command("local s = ('x'):rep(65000) for i = 1, 16500 do ctx:log('warn', s) end return {}",
                                 ends(0, None, None), bound=60, stderr="null"),
    "1 GB as the result": Command("return { s = ('x'):rep(1 << 30) }", ends(1, "MEMORY_LIMIT", False), bound=20),
    "400 MB as the result": Command("return { s = ('x'):rep(400 << 20) }", ends(1, "OUTPUT_TOO_LARGE", False), bound=30),
    "400 MB of small results": Command("local t = {} for i = 1, 4000000 do t[i] = i * 1000003 end return t",
                                       ends(1, "OUTPUT_TOO_LARGE", False), bound=40),
    "a result a million levels deep": Command("local t = {} for i = 1, 1000000 do t = { t } end return t",
                                              ends(1, "INVALID_RESULT", False), bound=10),
    "an error that is its own cause": Command("local e = setmetatable({}, { __index = error, __tostring = error }) error(e)",
                                              INTERNAL),
    "an error as large as memory": Command("error(('x'):rep(300 << 20))", INTERNAL, bound=20),
    "a script without memory for its own error": Command(
        "local t = {} pcall(function() while true do t[#t + 1] = ('x'):rep(1000) .. #t end end) error('late')",
        {"nothing": "any failure"}, keys="limits = { memory = '32MB' },", bound=20),
}


# --- one row ----------------------------------------------------------------------------------

def rows():
    for name, command in COMMANDS.items():
        for event, expected in command.events.items():
            yield name, event, expected


def prepare(stage, command, module):
    os.mkfifo(stage.path("fifo"))
    stage.command("bad", harness.with_bad(module, f"""local function ready() io.open('ready', 'w'):close() end
        {command.body}"""), f"grace = '{GRACE}', {command.keys}")


def streams(command, event):
    """Popen's arguments, and what is ours to close afterwards."""
    options, ours = {}, []
    if command.stdin == "open":
        read, write = os.pipe()
        options["stdin"], ours = read, [read, write]
    if command.stderr == "null":
        options["stderr"] = subprocess.DEVNULL
    if event.stdout == "full":
        options["stdout"] = os.open("/dev/full", os.O_WRONLY)
        ours.append(options["stdout"])
    elif event.stdout == "closed":
        options["stdout"] = subprocess.DEVNULL
        options["preexec_fn"] = lambda: os.close(1)
    return options, ours


def await_ready(stage, run):
    until = time.monotonic() + 150
    while not os.path.exists(stage.path("ready")) and time.monotonic() < until:
        assert run.process.poll() is None, "it ended before it was ready"
        time.sleep(0.005)
    assert os.path.exists(stage.path("ready")), "it was never ready"
    time.sleep(0.05)


def judge(command, event, expected, run):
    status, code, retryable = expected or (event.status, event.code, event.retryable)
    assert run.status is not None, "it hung"
    assert run.status == status, f"status {run.status}, not {status}: {run.out[:400]!r} {run.err[-200:]!r}"
    assert not run.held, "somebody still holds the caller's pipe"
    if event.stdout:
        assert command.stderr or b"OUTPUT_FAILED" in run.err, run.err[-200:]
    elif status >= 0:
        e = harness.one_envelope(run.out, run.status)
        assert status == 0 or (e.error["code"], e.error["retryable"]) == (code, retryable), e.error
        assert not command.check or eval(command.check, {"e": e}), e  # pylint: disable=eval-used


def run_row(row):
    name, event_name, expected = row
    command, event = COMMANDS[name], EVENTS[event_name]
    with Stage() as stage:
        prepare(stage, command, module_here)
        options, ours = streams(command, event)
        run = Run(stage, ["bad", *event.flags], **options)
        try:
            began = time.monotonic()
            if event.act:
                await_ready(stage, run)
                began = time.monotonic()
                event.act(run)
            bound = event.bound + command.bound * 12 + 0.3 + SLACK
            run.finish(bound + 60)
            if expected == "any failure":
                e = harness.one_envelope(run.out, run.status)
                assert not e.ok, e
            else:
                judge(command, event, expected, run)
            assert time.monotonic() - began < bound, f"{time.monotonic() - began:.1f} s, more than {bound:.1f} s"
            # what dies with a killed supervisor may take a moment; else nothing is left at all
            # (hundreds that are killed may take the kernel longer than runner waits: it names them)
            patience = 30 if run.status < 0 or b'"SURVIVORS"' in run.out else 0
            left = harness.await_empty(patience, token=run.env["TOKEN"])
            assert not left, f"left alive: {left}"
            assert run.status < 0 or not stage.leftovers(), f"left behind: {stage.leftovers()}"
        except Exception as problem:  # pylint: disable=broad-except
            run.process.poll() is None and run.finish(0)
            harness.await_empty(0, token=run.env["TOKEN"])
            return row, f"{type(problem).__name__}: {str(problem)[:900]}", time.monotonic() - run.began
        finally:
            for fd in ours:
                os.close(fd)
    return row, None, time.monotonic() - run.began


module_here = None  # of a pool's process


def enter(module):
    global module_here
    module_here = module
    harness.become_subreaper()


def reason_to_skip(row):
    if harness.SANITIZED and COMMANDS[row[0]].bound >= 10:
        return "takes memory that a sanitizer needs"
    if harness.is_static() and harness.is_native(COMMANDS[row[0]].body):
        return harness.NO_NATIVE
    return None


def main():
    wanted = sys.argv[1:]
    module = harness.misbehave()
    chosen = [r for r in rows() if not wanted or r[0] in wanted or f"{r[0]}/{r[1]}" in wanted]
    told = {f"{r[0]}, {r[1]}": (None, reason_to_skip(r)) for r in chosen if reason_to_skip(r)}
    with multiprocessing.Pool(harness.JOBS + 2, enter, (module,)) as pool:
        for row, problem, seconds in pool.imap_unordered(run_row, [r for r in chosen if not reason_to_skip(r)]):
            told[f"{row[0]}, {row[1]}"] = (problem, None)
            if os.environ.get("HOSTILE_TIMES"):
                print(f"# {seconds:6.2f} s  {row[0]}, {row[1]}", flush=True)
    shutil.rmtree(os.path.dirname(module))
    sys.exit(harness.tap([(name, *told[name]) for name in told]))


if __name__ == "__main__":
    main()
