"""Trees of processes that are hard to end, by their number, by who started them, or because
they detach themselves: rows of rows.py.

RUNNER names the binary.
"""
import itertools
import os
import shutil
import signal
import subprocess
import time

import harness
import rows
from harness import Run, Stage
from rows import BOUND, Skip, await_file, bad, command, finish, in_time, row

LIMIT, GRACE = 0.4, 0.3
STARVED = 5  # bound where the supervisor may not run before the processes that it ends


# --- population: who forks faster than one can look ---------------------------------------------

def may_hurry():
    """May the supervisor give itself realtime priority?"""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return False
    return True


def storm(chains, sessions, start, known=()):
    def attempt():
        with Stage() as stage:
            stage.write("storm.lua", bad(f"bad.storm({chains}, {sessions}) bad.crowd(2) os.execute('sleep 20')"))
            command(stage, start)
            run = Run(stage, ["c", "--timeout", f"{int(LIMIT * 1000)}ms"])
            e = finish(run, 10, "TIMEOUT", known=known)
            codes = [w["code"] for w in e.warnings]
            assert "SURVIVORS" not in codes, e.warnings
            # (a worker whose supervisor gets no processor at the limit says so itself)
            return run.seconds - LIMIT - GRACE if not codes else float("inf")
    in_time(attempt, BOUND if may_hurry() else STARVED)


@row
def storm_60():
    """60 chains of processes that fork and exit end in time"""
    storm(60, "false", "ctx:run { 'lua5.4', 'storm.lua' }")


@row
def storm_200():
    """200 chains of processes that fork and exit end in time"""
    storm(200, "false", "ctx:run { 'lua5.4', 'storm.lua' }")


@row
def storm_execute():
    """chains below os.execute end in time"""
    storm(60, "false", "os.execute('exec lua5.4 storm.lua')")


@row
def storm_sessions():
    """chains with a session for each heir end in time"""
    storm(60, "true", "ctx:run { 'lua5.4', 'storm.lua' }")


@row
def storm_sessions_200():
    """200 chains with a session for each heir end in time"""
    storm(200, "true", "ctx:run { 'lua5.4', 'storm.lua' }")


@row
def storm_loaded():
    """60 chains of processes that fork and exit end in time beside eight busy loops"""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(8)]
    try:
        storm(60, "false", "ctx:run { 'lua5.4', 'storm.lua' }", [loop.pid for loop in loops])
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


COUNT_ZOMBIES = """
local function children()
	local self, n, living = io.open("/proc/self/stat"):read("n"), 0, 0
	local f = io.open("/proc/" .. self .. "/task/" .. self .. "/children")
	for pid in f:read("a"):gmatch("%d+") do
		local stat = io.open("/proc/" .. pid .. "/stat")
		local text = stat and stat:read("a")
		if text and text:match("%) Z") then n = n + 1 elseif text then living = living + 1 end
	end
	return n, living
end
-- When all that were to end have ended, and at most `most` are not collected: or after 20 s.
local function zombies(ctx, most)
	for _ = 1, 400 do
		local n, living = children()
		if living == 0 and n <= most then return n end
		ctx:sleep(0.05)
	end
	return children()
end
local ORPHANS = "for i in $(seq 200); do (sleep 0.1 &) ; done; "
"""


@row
def zombies():
    """200 orphans are reaped while the run goes on, and nobody else's children"""
    with Stage() as stage:
        command(stage, COUNT_ZOMBIES + """
            local pipe = io.popen("exit 3")
            local held = ctx:spawn { "sh", "-c", "exit 4", check = false }
            local r = { execute = table.pack(os.execute(ORPHANS .. "exit 5")).n and 0 }
            r.run = ctx:run { "sh", "-c", ORPHANS .. "exit 6", check = false }.status
            r.execute = select(3, os.execute(ORPHANS .. "sleep 0.5; exit 5"))
            r.zombies = zombies(ctx, 4)
            r.popen = select(3, pipe:close())
            r.spawn = held:wait().status
            return r""")
        e = finish(Run(stage, ["c", "--timeout", "60s"]), 0, None)
    assert e.data["zombies"] <= 4, e.data
    assert (e.data["execute"], e.data["run"], e.data["popen"], e.data["spawn"]) == (5, 6, 3, 4), e.data


@row
def zombies_with_a_module():
    """a C module's own children wait for the module, orphans that prove their parent don't"""
    with Stage() as stage:
        command(stage, COUNT_ZOMBIES + bad("""
            for i = 1, 5 do bad.fork_and_sleep(0) end
            os.execute("for i in $(seq 50); do setsid sh -c 'sleep 0.1 & exit' ; done")
            return { zombies = zombies(ctx, 5), waited = bad.wait_all() }"""))
        e = finish(Run(stage, ["c", "--timeout", "60s"]), 0, None)
    assert e.data["waited"] == 5 and e.data["zombies"] == 5, e.data


def ordinary_user(stage):
    """Popen's arguments: root has no limit on its processes, and what lies in a home of root is for nobody else."""
    if os.geteuid() != 0:
        return {}
    nobody, own = 65534, stage.path("runner-copy")
    shutil.copy(shutil.which(harness.RUNNER), own)
    os.chmod(own, 0o755)
    for path, names, files in os.walk(stage.dir):
        for name in (".", *names, *files):
            os.chown(os.path.join(path, name), nobody, nobody)
    user = {"user": nobody, "group": nobody, "extra_groups": []}
    try:
        subprocess.run([own, "--version"], cwd=stage.dir, capture_output=True, check=True, **user)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Skip(f"an ordinary user can't run a program here: {problem}") from problem
    return {"program": own, **user}


@row
def orphans_and_the_process_limit():
    """dead orphans don't use up limits.processes"""
    with Stage() as stage:
        command(stage, """
            for i = 1, 40 do
                ctx:run { "sh", "-c", "for i in 1 2 3 4 5; do ( (sleep 0.02; echo >>done) & ) ; done", check = true }
                repeat ctx:sleep(0.05) until #(require("fs").read("done") or "") >= 5 * i
            end
            return { fine = true }""", "limits = { processes = 40 },")
        run = Run(stage, ["c", "--timeout", "60s"], **ordinary_user(stage))
        finish(run, 0, None)
        with open(stage.path("done"), encoding="ascii") as f:
            assert len(f.readlines()) == 200, "some were refused"


@row
def thread_child_term():
    """the child of a thread gets its TERM"""
    for limit in (1, 4, 16):
        with Stage() as stage:
            command(stage, bad("bad.thread_grandchild('termed') while true do end"))
            began = time.time()
            finish(Run(stage, ["c", "--timeout", f"{limit}s"]), 10, "TIMEOUT")
            if os.path.exists(stage.path("termed")):
                return
            ready = stage.path("termed.ready")
            assert not os.path.exists(ready) or os.path.getmtime(ready) >= began + limit, "it was killed without a TERM"
    raise AssertionError("it never was there before the limit")


@row
def thread_child_kill():
    """the child of a thread ends with a supervisor that is killed, also where its worker is blind"""
    with Stage() as stage:
        command(stage, bad("bad.block() bad.thread_child('termed') while true do end"))
        run = Run(stage, ["c"])
        await_file(stage, "termed.ready")
        time.sleep(0.2)
        os.kill(run.pid, signal.SIGKILL)
        run.finish(20)
        left = harness.await_empty(20, token=run.env["TOKEN"])
        assert not left, f"left alive: {left}"


# --- detach -----------------------------------------------------------------------------------------

DAEMON = """import os, sys, time
before, between = float(sys.argv[1]), float(sys.argv[2])
time.sleep(before)
if os.fork(): os._exit(0)
os.setsid()
time.sleep(between)
if os.fork(): os._exit(0)
os.closerange(0, 1024)
open("daemon.pid", "w").write(str(os.getpid()))
time.sleep(30)
"""


@row
def detach_daemon():
    """what a detached program starts outlives the run, however far it is with daemonising"""
    for before, between, run_for in itertools.product((0, 0.15), (0, 0.15), (0, 0.5)):
        with Stage() as stage:
            stage.write("daemon.py", DAEMON)
            command(stage, f"ctx:spawn {{ 'python3', 'daemon.py', '{before}', '{between}', detach = true }} "
                    f"os.execute('sleep 30 &') ctx:sleep({run_for})")
            run = Run(stage, ["c"])
            run.finish(20)
            e = harness.one_envelope(run.out, run.status)
            assert [w["code"] for w in e.warnings] == ["BACKGROUND_UNDECLARED", "PROCESS_LEFT"], e.warnings
            await_file(stage, "daemon.pid")
            time.sleep(0.3)
            until = time.monotonic() + 20
            while len(harness.reap()) > 1 and time.monotonic() < until:  # those that it came from are on their way out
                time.sleep(0.01)
            names = [harness.name_of(pid) for pid in harness.reap()]
            harness.await_empty(0, token=run.env["TOKEN"])
            assert len(names) == 1 and "daemon.py" in names[0], (before, between, run_for, names)


if __name__ == "__main__":
    rows.main()
