"""Trees of processes that are hard to end, and bystanders that must not be hurt. Each
row is a function: its docstring is its name, and it raises when something is wrong. A row
with a victim looks at it at the end: alive, not stopped, its work done.

hostile_tree.py [ROW…]    TAP; default: all, one after the other: some measure time

RUNNER names the binary.
"""
import itertools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import Run, Stage

LIMIT, GRACE = 0.4, 0.3
BOUND = 0.5  # seconds over limit and grace within which the answer comes …
STARVED = 5  # … where the supervisor may not run before the processes that it ends
TRIES = 4    # … at least once: other work on the machine is no fault of ours

ROWS = []
MODULE = None


def row(function):
    ROWS.append(function)
    return function


class Skip(Exception):
    pass


# --- runs -----------------------------------------------------------------------------------

def bad(body):
    return f"local bad = package.loadlib('{MODULE}', 'luaopen_misbehave')() {body}"


def command(stage, body, keys=""):
    stage.command("c", body, f"grace = '{int(GRACE * 1000)}ms', {keys}")


def await_file(stage, name="ready", seconds=20):
    until = time.monotonic() + seconds
    while not os.path.exists(stage.path(name)):
        assert time.monotonic() < until, f"no {name}"
        time.sleep(0.005)


def finish(run, status, code, seconds=60):
    """Ends as it should, with nothing left; the envelope."""
    run.finish(seconds)
    assert run.status == status, f"status {run.status}: {run.out[:300]!r} {run.err[-300:]!r}"
    left = harness.await_empty(0, token=run.env["TOKEN"])
    assert not left, f"left alive: {left}"
    assert not run.stage.leftovers(), run.stage.leftovers()
    e = harness.one_envelope(run.out, run.status)
    assert (e.error or {}).get("code") == code, e.error
    return e


def in_time(attempt, bound=BOUND):
    """The best of some tries is within the bound; every try is right otherwise."""
    late = []
    for _ in range(TRIES):
        late.append(attempt())
        if late[-1] < bound:
            return
    raise AssertionError(f"late by {min(late):.2f} s at best")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
        return f.read().rsplit(")", 1)[1].split()[0]


# --- population: who forks faster than one can look ---------------------------------------------

def may_hurry():
    """May the supervisor give itself realtime priority?"""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return False
    return True


def storm(chains, sessions, start):
    def attempt():
        with Stage() as stage:
            stage.write("storm.lua", bad(f"bad.storm({chains}, {sessions}) bad.crowd(2) os.execute('sleep 20')"))
            command(stage, start)
            run = Run(stage, ["c", "--timeout", f"{int(LIMIT * 1000)}ms"])
            e = finish(run, 10, "TIMEOUT")
            assert not e.warnings, e.warnings
            return run.seconds - LIMIT - GRACE
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


COUNT_ZOMBIES = """
local function zombies()
	local self, n = io.open("/proc/self/stat"):read("n"), 0
	local f = io.open("/proc/" .. self .. "/task/" .. self .. "/children")
	for pid in f:read("a"):gmatch("%d+") do
		local stat = io.open("/proc/" .. pid .. "/stat")
		if stat and stat:read("a"):match("%) Z") then n = n + 1 end
	end
	return n
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
            ctx:sleep(0.6)
            r.zombies = zombies()
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
            ctx:sleep(0.6)
            ctx:sleep(0.05)
            return { zombies = zombies(), waited = bad.wait_all() }"""))
        e = finish(Run(stage, ["c", "--timeout", "60s"]), 0, None)
    assert e.data["waited"] == 5 and e.data["zombies"] == 5, e.data


def ordinary_user(stage):
    """Popen's arguments: root has no limit on its processes."""
    if os.geteuid() != 0:
        return {}
    nobody = 65534
    for path, names, files in os.walk(stage.dir):
        for name in (".", *names, *files):
            os.chown(os.path.join(path, name), nobody, nobody)
    probe = subprocess.run([harness.RUNNER, "--version"], user=nobody, group=nobody, extra_groups=[], cwd=stage.dir,
                           capture_output=True, check=False) if shutil.which(harness.RUNNER) else None
    if probe is None or probe.returncode != 0:
        raise Skip("an ordinary user can't run this runner")
    return {"user": nobody, "group": nobody, "extra_groups": []}


@row
def orphans_and_the_process_limit():
    """dead orphans don't use up limits.processes"""
    with Stage() as stage:
        command(stage, """
            for i = 1, 40 do
                ctx:run { "sh", "-c", "for i in 1 2 3 4 5; do ( (sleep 0.02; echo >>done) & ) ; done", check = true }
                ctx:sleep(0.05)
            end
            return { fine = true }""", "limits = { processes = 40 },")
        run = Run(stage, ["c", "--timeout", "60s"], **ordinary_user(stage))
        finish(run, 0, None)
        with open(stage.path("done"), encoding="ascii") as f:
            assert len(f.readlines()) == 200, "some were refused"


@row
def thread_child_term():
    """the child of a thread gets its TERM"""
    with Stage() as stage:
        command(stage, bad("bad.thread_grandchild('termed') io.open('ready', 'w'):close() while true do end"))
        run = Run(stage, ["c", "--timeout", "1s"])
        finish(run, 10, "TIMEOUT")
        assert os.path.exists(stage.path("termed")), "it was killed without a TERM"


@row
def thread_child_kill():
    """the child of a thread ends with a supervisor that is killed, also where its worker is blind"""
    with Stage() as stage:
        command(stage, bad("bad.block() bad.thread_child('termed') io.open('ready', 'w'):close() while true do end"))
        run = Run(stage, ["c"])
        await_file(stage)
        time.sleep(0.2)
        os.kill(run.pid, signal.SIGKILL)
        run.finish(20)
        left = harness.await_empty(5, token=run.env["TOKEN"])
        assert not left, f"left alive: {left}"


# --- signals: each × where it goes ----------------------------------------------------------------

NOT_FATAL = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT,
             signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ}
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}  # a sanitizer's own
FATAL = [s for s in range(1, signal.SIGRTMAX + 1) if s not in NOT_FATAL and s not in (32, 33)  # libc's own
         and not (harness.SANITIZED and s in FAULTS)]
WAITING = "local d = ctx.tempdir io.open(d .. '/file', 'w'):close() io.open('ready', 'w'):close() ctx:sleep(30)"


def cancelled(run, sig):
    e = finish(run, 130 if sig == signal.SIGINT else 143, "CANCELLED")
    assert "signal" in e.error, e.error
    return e.error["signal"]


def inherit_a_child():
    """preexec: the runner begins with a child of its caller's, so that a process stands in front of it."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 1024)
        time.sleep(20)
        os._exit(0)


def each_signal(preexec):
    for sig in FATAL:
        with Stage() as stage:
            command(stage, WAITING)
            run = Run(stage, ["c"], preexec_fn=preexec)
            await_file(stage)
            os.kill(run.pid, sig)
            if preexec:
                run.finish(20)
                spare = [p for p in harness.children() if p != run.pid]
                for pid in spare:
                    os.kill(pid, signal.SIGKILL)
                e = harness.one_envelope(run.out, run.status)
                assert e.error["code"] == "CANCELLED", e.error
                harness.await_empty(5, token=run.env["TOKEN"])
                assert not stage.leftovers(), stage.leftovers()
            else:
                cancelled(run, sig)


@row
def signals_to_the_supervisor():
    """every signal that would end the supervisor cancels the run"""
    each_signal(None)


@row
def signals_to_the_front():
    """every signal that would end the process in front cancels the run"""
    each_signal(inherit_a_child)


@row
def signals_to_the_worker():
    """every signal that ends the worker gets an answer, and leaves nothing"""
    for sig in FATAL:
        with Stage() as stage:
            command(stage, WAITING)
            run = Run(stage, ["c"])
            await_file(stage)
            os.kill(harness.children_of(run.pid)[0], sig)
            run.finish(20)
            e = harness.one_envelope(run.out, run.status)
            assert not e.ok and not stage.leftovers(), (sig, e.error, stage.leftovers())
            assert not harness.await_empty(0, token=run.env["TOKEN"]), sig


@row
def an_alarm_inherited():
    """an alarm that was set before exec cancels, pending and blocked or not; an ignored one does nothing"""
    def soon():
        signal.setitimer(signal.ITIMER_REAL, 0.3)

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1)

    def repeated():
        signal.setitimer(signal.ITIMER_REAL, 0.3, 0.01)

    def ignored():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.05)

    for preexec, name in ((soon, "SIGALRM"), (blocked, "SIGUSR1"), (repeated, "SIGALRM")):
        with Stage() as stage:
            command(stage, WAITING)
            told = cancelled(Run(stage, ["c"], preexec_fn=preexec), signal.SIGALRM)
            assert told == name, told
    with Stage() as stage:
        command(stage, "ctx:sleep(0.5) return {}")
        finish(Run(stage, ["c"], preexec_fn=ignored), 0, None)


@row
def kill_of_the_front():
    """SIGKILL of the process in front ends the tree at once, and nothing is written"""
    def attempt():
        with Stage() as stage:
            command(stage, "local d = ctx.tempdir io.open('ready', 'w'):close() "
                    "os.execute([[trap '' TERM; sleep 30; sleep 30]])", "timeout = '60s',")
            run = Run(stage, ["c", "--grace", "5s"], preexec_fn=inherit_a_child)
            await_file(stage)
            time.sleep(0.1)
            began = time.monotonic()
            os.kill(run.pid, signal.SIGKILL)
            run.finish(20)
            late = time.monotonic() - began
            assert run.status == -signal.SIGKILL and run.out == b"", (run.status, run.out)
            until = time.monotonic() + 5
            while stage.leftovers() and time.monotonic() < until:
                time.sleep(0.01)
            assert not stage.leftovers(), stage.leftovers()
            for pid in harness.children():
                os.kill(pid, signal.SIGKILL)  # the caller's own
            harness.await_empty(5, token=run.env["TOKEN"])
            assert b"CANCELLED" not in run.err, run.err
            return late
    in_time(attempt)


# --- namespaces, with innocents beside us ---------------------------------------------------------

# In namespace A, with a /proc of its own, processes 2 to 9 have 8 children each. In B, below A
# and without a /proc of its own, 2 and the next few are the runner's, and the children's numbers
# belong to innocents.
INNOCENTS = r"""
import ctypes, json, os, signal, subprocess, sys, time
libc = ctypes.CDLL(None)
event, runner, path = sys.argv[1:]

def sleepers(n):
    pids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(40)
            os._exit(0)
        pids.append(pid)
    return pids

for i in range(8):
    if os.fork() == 0:
        time.sleep(0.3 + i / 10)
        sleepers(8)
        time.sleep(40)
        os._exit(0)
time.sleep(1.5)
libc.unshare(0x20000000)  # CLONE_NEWPID
init = os.fork()
if init > 0:
    status = os.waitpid(init, 0)[1]
    os._exit(os.waitstatus_to_exitcode(status) & 255)
run = subprocess.Popen([runner, "c", "--timeout", "60s" if event != "timeout" else "1500ms"],
                       stdout=open("out", "wb"), stderr=open("err", "wb"), stdin=subprocess.DEVNULL)
while not os.path.exists("ready"):
    time.sleep(0.01)
innocents = sleepers(60)
if event == "stop":
    os.kill(run.pid, signal.SIGTSTP)
    time.sleep(0.3)
    stopped = sum(os.waitpid(p, os.WNOHANG | os.WUNTRACED)[0] != 0 for p in innocents)
    os.kill(run.pid, signal.SIGCONT)
    time.sleep(0.1)
    os.kill(run.pid, signal.SIGTERM)
elif event != "timeout":
    os.kill(run.pid, getattr(signal, event))
status = run.wait()
time.sleep(0.5)
hurt = [p for p in innocents if os.waitpid(p, os.WNOHANG | os.WUNTRACED)[0] != 0]
if event == "stop" and stopped:
    hurt += [stopped]
json.dump({"runner": run.pid, "status": status, "hurt": hurt}, open(path, "w"))
os._exit(0)
"""


def innocents(event, body, status):
    with Stage() as stage:
        stage.write("innocents.py", INNOCENTS)
        command(stage, body)
        env = stage.environment(RUNNER=harness.RUNNER)
        run = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable,
                              stage.path("innocents.py"), event, harness.RUNNER, stage.path("told")],
                             cwd=stage.dir, env=env, capture_output=True, timeout=60, check=False)
        if b"unshare failed" in run.stderr:
            raise Skip("no PID namespaces here")
        with open(stage.path("told"), encoding="ascii") as f:
            told = json.load(f)
        assert told["runner"] == 2, told
        assert not told["hurt"], f"innocents hurt: {told}"
        assert told["status"] == status, told
        if status >= 0:
            with open(stage.path("out"), "rb") as f:
                e = harness.one_envelope(f.read(), status)
            assert all(w["code"] != "SURVIVORS" for w in e.warnings), e.warnings


FOREIGN = "io.open('ready', 'w'):close() os.execute([[trap '' TERM; sleep 30; sleep 30]])"


@row
def foreign_proc_timeout():
    """with another namespace's /proc, a limit ends our own and hurts nobody"""
    innocents("timeout", FOREIGN, 10)


@row
def foreign_proc_term():
    """with another namespace's /proc, a cancellation hurts nobody"""
    innocents("SIGTERM", FOREIGN, 143)


@row
def foreign_proc_kill():
    """with another namespace's /proc, a killed supervisor's worker and guard hurt nobody"""
    innocents("SIGKILL", bad("bad.block() " + FOREIGN), -9)


@row
def foreign_proc_stop():
    """with another namespace's /proc, Ctrl+Z stops nobody else"""
    innocents("stop", FOREIGN, 143)


@row
def foreign_proc_shepherd():
    """with another namespace's /proc, the shepherd of a workflow's step hurts nobody"""
    innocents("SIGTERM", "io.open('w.yaml', 'w'):write('name: w\\nsteps:\\n  - id: a\\n    shell: touch ready; sleep 30\\n'):close() "
              "ctx:run { os.getenv('RUNNER'), 'workflow', 'run', 'w.yaml' }", 143)


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
            assert [w["code"] for w in e.warnings] == ["PROCESS_LEFT"], e.warnings
            await_file(stage, "daemon.pid")
            time.sleep(0.3)
            names = [harness.name_of(pid) for pid in harness.reap()]
            harness.await_empty(0, token=run.env["TOKEN"])
            assert len(names) == 1 and "daemon.py" in names[0], (before, between, run_for, names)


# --- what a run may be deprived of --------------------------------------------------------------------

@row
def small_stack():
    """a stack of 32 KiB is enough to end a tree"""
    with Stage() as stage:
        command(stage, "os.execute('sleep 30')")
        run = Run(stage, ["c", "--timeout", "300ms"],
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (32768, 32768)))
        finish(run, 10, "TIMEOUT")


def usage(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        return sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)


@row
def wakeups():
    """a run that waits sleeps, whatever is taken away from it"""
    take = "; ".join(f"umount -l {path}" for path in ("/sys", "/dev/pts", "/dev", "/proc"))
    bodies = {"quiet": "io.open('ready', 'w'):close() ctx:sleep(20)",
              "loud": "for i = 1, 3000 do ctx:log(('x'):rep(i % 97)) end io.open('ready', 'w'):close() ctx:sleep(20)",
              "retrying": "for i = 1, 3000 do ctx:log(('x'):rep(i % 97)) end io.open('ready', 'w'):close() "
                          "ctx:fail('UNAVAILABLE', 'x', { retry_after_ms = 20000 })"}
    for body, closed in itertools.product(bodies, (False, True)):
        with Stage() as stage:
            command(stage, bodies[body], "retry = { retries = 1, max_delay = '1m' },")
            read, write = os.pipe()
            shell = f'"$0" c & p=$!; while ! [ -e ready ]; do sleep 0.01; done; sleep 0.2; {take}; wait $p'
            process = subprocess.Popen(["unshare", "--mount", "sh", "-c", shell, harness.RUNNER], cwd=stage.dir,
                                       env=stage.environment(), stdin=subprocess.DEVNULL, stdout=write, stderr=write)
            try:
                os.close(write)
                time.sleep(0.1)
                if process.poll() is not None:
                    raise Skip("no mount namespaces here")
                await_file(stage)
                time.sleep(1.2)
                if closed:
                    os.close(read)
                    time.sleep(0.2)
                pids = [p for p in harness.children_of(process.pid) if "runner" in harness.name_of(p)]
                pids += [p for parent in list(pids) for p in harness.children_of(parent)]
                assert pids, "no run"
                before = {pid: usage(pid) for pid in pids}
                time.sleep(1)
                for pid in pids:
                    assert usage(pid) - before[pid] <= 5, f"{body}: {pid} woke up {usage(pid) - before[pid]} times in 1 s"
            finally:
                process.kill()
                process.wait()
                if not closed:
                    os.close(read)
                for _ in range(3):
                    for pid in harness.children():
                        os.kill(pid, signal.SIGKILL)
                    harness.await_empty(1)


# --- the whole ----------------------------------------------------------------------------------------

def play(function):
    try:
        function()
        return None, None
    except Skip as reason:
        return None, str(reason)
    except Exception as problem:  # pylint: disable=broad-except
        return f"{type(problem).__name__}: {str(problem)[:900]}", None


def main():
    global MODULE
    harness.become_subreaper()
    MODULE = harness.build("misbehave.c", *harness.lua_flags())
    wanted = sys.argv[1:]
    told = []
    for function in ROWS:
        if not wanted or function.__name__ in wanted or function.__doc__ in wanted:
            began = time.monotonic()
            told.append((function.__doc__, *play(function)))
            if os.environ.get("HOSTILE_TIMES"):
                print(f"# {time.monotonic() - began:6.2f} s  {function.__doc__}", flush=True)
    shutil.rmtree(os.path.dirname(MODULE))
    sys.exit(harness.tap(told))


if __name__ == "__main__":
    main()
