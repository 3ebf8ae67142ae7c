"""SIGKILL of the supervisor at random moments × the shapes that a tree can have: nothing of the run
is left, and what isn't the run's lives: rows of rows.py.

Each row is one phase of a run. KILLS says how often each of its cells is tried (default 2), BOUND within
how many seconds the tree has to be gone (default 20: other work on the machine is no fault of ours).

RUNNER names the binary.
"""
import concurrent.futures
import os
import random
import signal
import subprocess
import time

import harness
import rows
from harness import RUNNER, Run, Stage
from rows import await_file, row

KILLS = int(os.environ.get("KILLS", 2))
BOUND = float(os.environ.get("BOUND", 20))
GRACE = 0.4

# Nothing but KILL ends it; its children ignore what it ignores.
DEAF = "trap '' TERM INT HUP\n: >ready\n(sleep 60 & sleep 60) &\nsleep 60 &\nwait\nsleep 60\n"
# Each process of it lives 10 ms.
CHAIN = "trap '' TERM INT HUP\n: >ready\nsleep 0.01\nsh chain.sh &\n"

SHAPES = {
    "os.execute": "os.execute('sh deaf.sh &')",
    "io.popen": "kept = io.popen('sh deaf.sh')",
    "daemon": "os.execute('(setsid sh -c \"sh deaf.sh & sh deaf.sh\" </dev/null >/dev/null 2>&1 &)')",
    "spawn": "for i = 1, 4 do ctx:spawn { 'sh', 'deaf.sh', check = false } end",
    "crowd": "os.execute('for i in 1 2 3 4 5 6 7 8 9 10; do (sh deaf.sh &) ; done')",
    "stopped": "os.execute('sh -c \"sh deaf.sh & kill -STOP $$; sh deaf.sh\" &')",
    "chains": "for i = 1, 3 do os.execute('setsid sh chain.sh &') end",
    "nested": f"ctx:spawn {{ '{RUNNER}', 'inner', check = false }}",
}

# What has a process that isn't to be ended says its number; a later attempt has no further one.
COMMAND = """local tree = function(ctx) {shape} end
    if ctx.attempt == 1 then
        local victim = ctx:spawn {{ "sleep", "61", detach = true }}
        io.open("victim", "w"):write(victim.pid):close()
    end
    tree(ctx)
    while not io.open("ready") do ctx:sleep("5ms") end
    {then_}"""

started = set()  # runs that are waited for

GO_ON = "ctx:sleep(60)"
SECONDS = 1.0  # how long a run that goes on is let alone at most


def write(stage, shape, then, keys=""):
    stage.write("deaf.sh", DEAF)
    stage.write("chain.sh", CHAIN)
    stage.command("inner", "os.execute('(setsid sh deaf.sh </dev/null >/dev/null 2>&1 &)') os.execute('sh deaf.sh')", "grace = '200ms',")
    stage.command("c", COMMAND.format(shape=SHAPES[shape], then_=then), f"grace = '{int(GRACE * 1000)}ms', timeout = '5m', {keys}")


def is_victim(stage, pid):
    try:
        with open(stage.path("victim"), encoding="ascii") as f:
            return f.read() == str(pid)
    except OSError:
        return False


def await_gone(stage, token, since):
    """Only the victim is left, and it lives. How long that took. What comes to us is reaped, as init would."""
    while True:
        harness.reap(started)
        left = [pid for pid in harness.wearing(token) if not is_victim(stage, pid)]
        took = time.monotonic() - since
        if not left:
            break
        if took > BOUND:
            names = [harness.name_of(pid) for pid in left]
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"alive {took:.1f} s after: {names}")
        time.sleep(0.005)
    with open(stage.path("victim"), encoding="ascii") as f:
        os.kill(int(f.read()), signal.SIGKILL)  # ProcessLookupError: it was ended
    return took


def kill_at(moment, pid):
    time.sleep(moment)
    os.kill(pid, signal.SIGKILL)
    return time.monotonic()


def once(shape, then, keys, act, within, program=(RUNNER,)):
    """One kill within so many seconds of the act. How long the tree outlived it."""
    with Stage() as stage:
        write(stage, shape, then, keys)
        run = Run(stage, [*program[1:], "c"], program=program[0])
        started.add(run.pid)
        await_file(stage)
        await_file(stage, "victim")
        act(stage, run)
        since = kill_at(random.uniform(0, within), run.pid)
        took = await_gone(stage, run.env["TOKEN"], since)
        run.finish(20)
        return took


def each_shape(then, act, within, keys=""):
    """Every shape KILLS times, beside a run that has nothing to do with it."""
    with Stage() as stage:
        stage.command("c", "os.execute(': >ready; sleep 62') return { done = true }", "timeout = '5m',")
        neighbour = Run(stage, ["c"])
        started.add(neighbour.pid)
        await_file(stage)
        wrong, took = [], []
        with concurrent.futures.ThreadPoolExecutor(harness.JOBS) as pool:
            tries = {pool.submit(once, shape, then, keys, act, within): shape for shape in SHAPES for _ in range(KILLS)}
            for each in concurrent.futures.as_completed(tries):
                try:
                    took.append(each.result())
                except Exception as problem:  # pylint: disable=broad-except
                    wrong.append(f"{tries[each]}: {problem}")
        survivors = harness.wearing(neighbour.env["TOKEN"])
        neighbour.process.send_signal(signal.SIGINT)
        neighbour.finish(20)
        print(f"# {len(took)} of {len(tries)} gone, at the latest after {max(took, default=0):.2f} s", flush=True)
        assert not wrong, "\n".join(wrong)
        assert len(survivors) >= 3, f"of another run only {survivors} are left"


def nothing(stage, run):
    pass


def term(stage, run):
    os.kill(run.pid, signal.SIGTERM)


def interrupt_twice(stage, run):
    os.kill(run.pid, signal.SIGINT)
    time.sleep(0.3)
    os.kill(run.pid, signal.SIGINT)


def kill_worker(stage, run):
    os.kill(harness.children_of(run.pid)[0], signal.SIGKILL)


@row
def waits():
    """while its worker waits"""
    each_shape(GO_ON, nothing, SECONDS / 4)


@row
def grace():
    """in the grace after a TERM"""
    each_shape(GO_ON, term, GRACE + 0.2)


@row
def insisted():
    """while it kills, after a second INT"""
    each_shape(GO_ON, interrupt_twice, 0.05)


@row
def clean_up():
    """while it ends what a success has left"""
    each_shape("return {}", nothing, GRACE + 0.2)


@row
def crash():
    """while it ends what a crash has left"""
    each_shape(GO_ON, kill_worker, GRACE + 0.2)


@row
def at_once():
    """at once with its worker"""
    each_shape(GO_ON, kill_worker, 0)


@row
def retries():
    """between attempts and in them"""
    each_shape("ctx:fail('UNAVAILABLE', 'no')", nothing, 4 * GRACE,
               "retry = { strategy = 'constant', delay = '20ms', retries = 9, jitter = 'none' },")


@row
def without_proc():
    """at once with its worker, where there is no /proc"""
    bare = ("unshare", "--mount", "--propagation", "private", "sh", "-c", "mount -t tmpfs tmpfs /proc && exec \"$0\" \"$@\"")
    if subprocess.run([*bare, "true"], capture_output=True, check=False).returncode != 0:
        raise rows.Skip("nothing may be mounted here")
    for shape in ("os.execute", "daemon", "crowd", "chains"):
        print(f"# {shape}: after {once(shape, GO_ON, '', kill_worker, 0, (*bare, RUNNER)):.2f} s", flush=True)


def job_call(stage, env, *words):
    return subprocess.run([RUNNER, "job", *words], cwd=stage.dir, env=env, capture_output=True, text=True, check=False)


def job_supervisor(stage):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if any(name.startswith(stage.dir) and name.endswith("/control") for name in names):
            return int(pid)
    raise AssertionError("the job has no supervisor")


def cancelled_job(shape, lost):
    with Stage() as stage:
        write(stage, shape, GO_ON)
        env = stage.environment(XDG_STATE_HOME=stage.path("state"))
        asking = {**env, "TOKEN": "another"}
        out = subprocess.run([RUNNER, "c", "--detach"], cwd=stage.dir, env=env, capture_output=True, text=True, check=True).stdout
        await_file(stage)
        await_file(stage, "victim")
        name = harness.envelope.parse(out).data["job_id"]
        pid = job_supervisor(stage)
        cancelling = subprocess.Popen([RUNNER, "job", "cancel", name], cwd=stage.dir, env=asking, stdout=subprocess.DEVNULL)
        since = kill_at(random.uniform(0, GRACE), pid)
        waited = harness.envelope.parse(job_call(stage, asking, "wait", name).stdout)
        assert waited.error["code"] in ("JOB_LOST", "CANCELLED"), waited.error
        lost.append(waited.error["code"] == "JOB_LOST")
        left = [each for each in harness.wearing(env["TOKEN"]) if not is_victim(stage, each)]
        left = [name for name in map(harness.name_of, left) if "deaf" in name or "sleep" in name or "chain" in name]
        await_gone(stage, env["TOKEN"], since)
        assert not left, f"`job wait` says that they are gone: {left}"
        cancelling.wait(150)
        return time.monotonic() - since


@row
def jobs():
    """of a job that is being cancelled, and job wait answers when its processes are gone"""
    wrong, took, lost = [], [], []
    for shape in list(SHAPES) * KILLS:
        try:
            took.append(cancelled_job(shape, lost))
        except Exception as problem:  # pylint: disable=broad-except
            wrong.append(f"{shape}: {problem}")
    print(f"# {len(took)} of {len(SHAPES) * KILLS} gone, at the latest after {max(took, default=0):.2f} s", flush=True)
    assert not wrong, "\n".join(wrong)
    assert any(lost), "each had ended before it was killed"


if __name__ == "__main__":
    rows.main()
