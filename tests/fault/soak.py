"""Many runs, and runs in a machine that has too little of something.

soak.py TEST    one of the functions below whose names begin with "test_"; exit status 77
                and a line on stderr: this machine can't make the condition

RUNNER names the binary; SOAK=full makes 10,000 sequential runs of 3,000.
"""
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import harness
from harness import ROOT, Run, Stage, one_envelope

RUNS = 10000 if os.environ.get("SOAK") == "full" else 3000
NOBODY = 20000 + os.getpid() % 40000  # nobody else's: its processes are counted
SKIPPED = 77

HELLO = "return { greeting = 'Hello, ' .. args.name }"
HELLO_KEYS = "args = { { 'name', 'string', positional = true, default = 'world' } },"


def skip(why):
    print(why, file=sys.stderr)
    sys.exit(SKIPPED)


def answer(run, seconds=90):
    """The envelope of a run that ends by itself, and leaves nothing."""
    run.finish(seconds)
    assert run.status is not None and run.status >= 0, (run.status, run.out[:300], run.err[:300])
    assert not run.held, "somebody still holds the caller's pipe"
    return one_envelope(run.out, run.status)


def hello_stage():
    stage = Stage()
    stage.command("hello", HELLO, HELLO_KEYS)
    return stage


# --- many -----------------------------------------------------------------------------

def test_at_once():
    """200 runners on this machine at one moment."""
    with hello_stage() as stage:
        stage.command("work", """
            local r = ctx:run { "sh", "-c", "sleep 0.2; echo done", check = true }
            return { out = r.stdout, dir = ctx.tempdir ~= nil and require("fs").stat(ctx.tempdir) ~= nil }""")
        runs = [Run(stage, ["work", "--timeout", "120s"]) for _ in range(200)]
        ids = set()
        for run in runs:
            e = answer(run, 150)
            assert e.ok and e.data["out"] == "done\n", e
            ids.add(e.meta["request_id"])
        assert len(ids) == 200, "request ids are shared"
        assert not harness.await_empty(0) and not stage.leftovers()
        print(f"200 at once in {max(r.seconds for r in runs):.1f} s")


def footprint(stage):
    """What must not grow: our descriptors and children, files where a run may leave some."""
    files = sum(len(names) for _, _, names in os.walk(stage.dir)) + sum(len(d) for _, d, _ in os.walk(stage.dir))
    shared = len(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else 0
    return len(os.listdir("/proc/self/fd")), len(harness.children()), files, shared


def grown(now, before):
    return any(a > b for a, b in zip(now, before))


def test_sequential():
    """Thousands of runs, one after another: successes, failures, retries, children, timeouts."""
    with hello_stage() as stage:
        stage.command("down", "ctx:fail('UNAVAILABLE', '503')", "retry = { retries = 1, delay = '1ms' },")
        stage.command("child", "return { out = ctx:run { 'echo', 'hi' }.stdout, dir = ctx.tempdir }")
        stage.command("crash", "os.exit(3)")
        stage.command("slow", "while true do end", "timeout = '20ms',")
        turns = (("hello", 0), ("hello", 0), ("down", 12), ("child", 0), ("hello", 0), ("crash", 1), ("slow", 10))
        for name, _ in turns:
            answer(Run(stage, [name]))
        before = footprint(stage)
        began = time.monotonic()
        for n in range(RUNS):
            name, status = turns[n % len(turns)]
            run = Run(stage, [name])
            run.finish(90)
            assert run.status == status, (n, name, run.status, run.out[:300], run.err[:300])
            if n % 100 < len(turns):
                one_envelope(run.out, status)
        left = harness.await_empty(0)
        assert not left, left
        # our own poll and pipe descriptors come and go with each run, and others' shared memory does
        until = time.monotonic() + 100
        while grown(footprint(stage), before) and time.monotonic() < until:
            time.sleep(0.1)
        assert not grown(footprint(stage), before), (footprint(stage), before)
        seconds = time.monotonic() - began
        print(f"{RUNS} runs in {seconds:.0f} s, {seconds / RUNS * 1000:.1f} ms each")


class Watcher(threading.Thread):
    """Looks at `current` all the time: it must always lead to one whole release."""

    def __init__(self, link):
        super().__init__(daemon=True)
        self.link, self.looks, self.problem, self.over = link, 0, None, False

    def look(self):
        try:
            root = os.open(self.link, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            return
        try:
            said = set()
            for name in ("index.html", "style.css"):
                fd = os.open(name, os.O_RDONLY, dir_fd=root)
                said.add(os.read(fd, 100).split()[1])
                os.close(fd)
            self.looks += 1
            assert len(said) == 1, said
        except (OSError, AssertionError, IndexError) as problem:
            # pruned while we were looking: then something else is live by now
            if os.readlink(self.link) == os.readlink(f"/proc/self/fd/{root}")[-len(os.readlink(self.link)):]:
                self.problem = self.problem or problem
        finally:
            os.close(root)

    def run(self):
        while not self.over:
            self.look()


def deploy_stage(where="www", keep=50, lock_wait="1s"):
    stage = Stage()
    stage.write("runner.lua", f'return {{ commands = "{ROOT}/commands", config = {{ source = "site0", targets = {{ '
                f'prod = {{ path = "{where}", keep = {keep}, lock_wait = "{lock_wait}" }} }} }} }}')
    for n in range(10):
        os.mkdir(stage.path(f"site{n}"))
        for name in ("index.html", "style.css"):
            stage.write(f"site{n}/{name}", f"{name} {n}\n")
    return stage


def test_deploys():
    """50 deploys on one target at once."""
    with deploy_stage() as stage:
        answer(Run(stage, ["deploy", "--target", "prod", "site0"]))
        watcher = Watcher(stage.path("www", "current"))
        watcher.start()
        runs = [Run(stage, ["deploy", "--target", "prod", f"site{n % 10}", "--retries", "1", "--timeout", "60s"])
                for n in range(50)]
        told = {}
        for run in runs:
            e = answer(run, 90)
            assert run.status in (0, 79), e
            word = e.data["effect"] if e.ok else e.error["code"]
            assert word in ("created", "updated", "noop", "LOCKED"), e
            told[word] = told.get(word, 0) + 1
        watcher.over = True
        watcher.join()
        assert watcher.problem is None, watcher.problem
        assert watcher.looks > 50, f"only {watcher.looks} looks"
        assert answer(Run(stage, ["deploy", "--target", "prod", "site0"])).ok
        assert not [n for n in os.listdir(stage.path("www", "releases")) if n.startswith(".")]
        assert not harness.await_empty(0) and not stage.leftovers()
        print(f"50 deploys: {told}, {watcher.looks} looks at current")


# --- the wall clock -------------------------------------------------------------------

def test_clock():
    """The wall clock jumps an hour while limits, waits and locks run."""
    if harness.is_static():
        print("nothing can be preloaded into a static program")
        sys.exit(SKIPPED)
    shim = harness.build("clock.c", "-fno-builtin")
    bodies = {
        "loop": ("while true do end", "", ["--timeout", "700ms"], 10, 0.7),
        "sleep": ("local b = ctx:remaining() ctx:sleep(0.7) return { took = b - ctx:remaining() }", "", [], 0, 0.7),
        "silent": ("while true do end", "idle_timeout = '700ms',", [], 10, 0.7),
        "wait": ("if ctx.attempt == 1 then ctx:fail('UNAVAILABLE', 'x') end return {}",
                 "retry = { retries = 1, delay = '700ms', jitter = 'none' },", [], 0, 0.7),
        "child": ("local r = ctx:run { 'sleep', '30', timeout = '700ms', check = false } return { late = r.timed_out }", "", [], 0, 0.7),
        "lock": ("ctx:lock('it', { path = 'lock', wait = '700ms' })", "", [], 4, 0.7),
        "date": ("local b = os.time() ctx:sleep(0.7) return { jump = os.time() - b }", "", [], 0, 0.7),
    }
    with Stage() as stage:
        for name, (body, keys, *_) in bodies.items():
            stage.command(name, body, keys)
        holder = subprocess.Popen(["flock", "-F", stage.path("lock"), "sleep", "1000"])

        def problem(name, hours, flags, status, seconds):
            env = stage.environment(LD_PRELOAD=shim, FAULT_CLOCK=f"300:{hours * 3600}")
            began = time.monotonic()
            e = answer(Run(stage, [name, *flags], env=env))
            took = time.monotonic() - began
            assert e.meta["exit_code"] == status, (name, hours, e)
            assert seconds - 0.05 < took, (name, hours, took)
            if took > seconds + 3 or abs(e.meta["duration_ms"] - took * 1000) > 500:
                return f"{took:.2f} s, and {e.meta['duration_ms']} ms by itself"
            if name == "date" and abs(e.data["jump"] - hours * 3600) > 5:  # the shim does what it says
                return str(e.data)
            return None

        for hours in (1, -1):
            for name, (_, _, flags, status, seconds) in bodies.items():
                told = []  # a machine that stands still for a moment spoils one try, an hour spoils each
                while not told or told[-1]:
                    assert len(told) < 6, (name, hours, told)
                    told.append(problem(name, hours, flags, status, seconds))
        holder.send_signal(signal.SIGTERM)
        holder.wait()
    harness.await_empty(0)
    shutil.rmtree(os.path.dirname(shim))


# --- too little of something --------------------------------------------------------------

def limited(which, count, user=None):
    def set_limits():
        resource.setrlimit(which, (count, count))
        if user:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)
    return set_limits


def test_descriptors():
    """RLIMIT_NOFILE from 3 to 20: a whole success, or an error that says what is missing."""
    told = {}
    with hello_stage() as stage:
        stage.command("work", """
            local f = assert(io.open(ctx.tempdir .. "/x", "w"))
            local r = ctx:run { "echo", "hi", check = true }
            return { out = r.stdout }""")
        for count in range(3, 21):
            for name, whole in (("hello", {"greeting": "Hello, world"}), ("work", {"out": "hi\n"})):
                run = Run(stage, [name], preexec_fn=limited(resource.RLIMIT_NOFILE, count))
                if count == 3 and not harness.is_static():  # the loader finds no descriptor for libc: main never began
                    assert run.finish(90) == 127 and b"shared libraries" in run.err, (run.status, run.err)
                    continue
                e = answer(run)
                assert not e.ok or e.data == whole, (count, e)
                told.setdefault("ok" if e.ok else e.error["code"], set()).add(f"{name}:{count}")
                assert not harness.await_empty(10) and not stage.leftovers(), (count, stage.leftovers())
    assert "hello:20" in told["ok"] and "work:20" in told["ok"], told
    print({code: len(where) for code, where in told.items()})


def test_processes():
    """RLIMIT_NPROC as another user: no process for the worker, or none for its children."""
    if os.geteuid() != 0:
        skip("needs root to become a user without processes")
    told = {}
    with hello_stage() as stage:
        stage.command("work", "return { out = ctx:run { 'echo', 'hi', check = true }.stdout }")
        stage.command("shell", "return { ok = os.execute('true') }")
        os.chmod(stage.dir, 0o755)
        for name in ("tmp", "home"):
            os.chown(stage.path(name), NOBODY, NOBODY)
        binary = stage.path("runner")  # where the other user may look
        shutil.copy(harness.RUNNER, binary)
        os.chmod(binary, 0o755)
        for count in (0, 1, 2, 3, 4):
            for name in ("hello", "work", "shell"):
                run = Run(stage, [name], executable=binary, preexec_fn=limited(resource.RLIMIT_NPROC, count, NOBODY))
                e = answer(run)
                assert e.ok or e.error["code"] in ("RESOURCE_EXHAUSTED", "SUBPROCESS_FAILED"), (count, name, e)
                assert not e.ok or name != "work" or e.data == {"out": "hi\n"}, e
                told.setdefault("ok" if e.ok else e.error["code"], set()).add(f"{name}:{count}")
    assert "hello:0" in told.get("RESOURCE_EXHAUSTED", ()) or "hello:1" in told.get("RESOURCE_EXHAUSTED", ()), told
    assert "work:4" in told["ok"], told
    print(told)


# --- another view of the file system ----------------------------------------------------------

def within(name, *argv):
    """Call inside_NAME below a mount namespace of its own."""
    probe = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    if os.geteuid() != 0 or subprocess.run(probe, check=False, capture_output=True).returncode != 0:
        skip("needs root and mount namespaces")
    done = subprocess.run(["unshare", "--mount", sys.executable, __file__, f"inside_{name}", *argv], check=False)
    assert done.returncode == 0, f"inside_{name}: {done.returncode}"


def mount(*argv):
    subprocess.run(["mount", *argv], check=True)


def fill(path, leave):
    """A file that takes all room but `leave` bytes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    size = 0
    try:
        while True:
            size += os.write(fd, b"x" * 4096)
    except OSError:
        pass
    os.ftruncate(fd, max(0, size - leave))
    os.close(fd)


def test_full_disk():
    within("full_disk")


def inside_full_disk():
    """A target on a disk that fills up: what is live stays live; with room again, the next deploy succeeds."""
    codes = {}
    with deploy_stage("disk/www", keep=2) as stage:
        os.mkdir(stage.path("disk"))
        mount("-t", "tmpfs", "-o", "size=1200k,nr_inodes=200", "tmpfs", stage.path("disk"))
        assert answer(Run(stage, ["deploy", "--target", "prod", "site0"])).ok
        for room in range(0, 700, 20):  # KiB that are left when the deploy begins
            fill(stage.path("disk", "filler"), leave=room * 1024)
            stage.write("site1/big", "y" * 200_000 + str(room))
            before = os.path.realpath(stage.path("disk/www/current"))
            e = answer(Run(stage, ["deploy", "--target", "prod", "site1", "--retries", "0"]))
            code = "ok" if e.ok else e.error["code"]
            codes[code] = codes.get(code, 0) + 1
            now = os.path.realpath(stage.path("disk/www/current"))
            assert e.ok or now == before, (room, before, now)
            with open(os.path.join(now, "index.html"), encoding="utf-8") as f:
                assert f.read().startswith("index.html"), now
            os.unlink(stage.path("disk/filler"))
            assert answer(Run(stage, ["deploy", "--target", "prod", "site0"])).ok, "with room again"
        assert codes.get("RESOURCE_EXHAUSTED", 0) > 3 and codes.get("ok", 0) > 3 and set(codes) <= {
            "ok", "RESOURCE_EXHAUSTED"}, codes
        # a full TMPDIR: the command hears of it; one that needs no room doesn't
        stage.command("scratch", "local f = assert(io.open(ctx.tempdir .. '/x', 'w'))\n"
                      "assert(f:write(('x'):rep(1 << 20))) assert(f:close()) return {}")
        stage.write("runner.lua", "return { }")
        stage.command("hello", HELLO, HELLO_KEYS)
        env = stage.environment(TMPDIR=stage.path("disk"))
        e = answer(Run(stage, ["scratch"], env=env))
        assert not e.ok and "No space left" in e.error["message"], e
        assert not [n for n in os.listdir(stage.path("disk")) if n.startswith("runner-")], os.listdir(stage.path("disk"))
        # stdout on the full disk
        fill(stage.path("disk", "out"), leave=0)
        with open(stage.path("disk", "out"), "ab") as out:
            run = Run(stage, ["hello"], stdout=out)
            assert run.finish(90) == 1 and b"OUTPUT_FAILED" in run.err, (run.status, run.err)
        subprocess.run(["umount", stage.path("disk")], check=True)
    print(f"deploys with less and less room: {codes}")


def test_read_only_home():
    within("read_only_home")


def inside_read_only_home():
    """Nothing can be written to HOME: only a lock that would live there says so."""
    with hello_stage() as stage:
        stage.command("lock", "ctx:lock 'it' return {}")
        stage.command("own", "ctx:lock('it', { path = ctx.tempdir .. '/lock' }) return {}")
        mount("-t", "tmpfs", "-o", "ro", "tmpfs", stage.path("home"))
        assert answer(Run(stage, ["hello"])).ok and answer(Run(stage, ["own"])).ok
        e = answer(Run(stage, ["lock"]))
        assert e.error["code"] in ("PRECONDITION", "PERMISSION_DENIED") and "Read-only" in e.error["message"], e
        subprocess.run(["umount", stage.path("home")], check=True)


def test_no_proc():
    within("no_proc")


def inside_no_proc():
    """Without /proc: runs work, limits hold, the worker's own session ends; what can't be ended is named."""
    with hello_stage() as stage:
        stage.command("loop", "while true do end")
        stage.command("child", "os.execute('sleep 60 & sleep 60')", "grace = '300ms',")
        # (it is in its own session before the command ends)
        stage.command("daemon", "os.execute([[setsid sh -c 'echo >daemon; exec sleep 60' >/dev/null 2>&1 &"
                      " until [ -e daemon ]; do sleep 0.01; done]]) return {}", "grace = '300ms',")
        mount("-t", "tmpfs", "tmpfs", "/proc")
        for name, flags, status, code in (("hello", [], 0, None), ("loop", ["--timeout", "400ms"], 10, "TIMEOUT"),
                                          ("child", ["--timeout", "400ms"], 10, "TIMEOUT"), ("daemon", [], 0, None)):
            began, env = time.monotonic(), stage.environment()
            done = subprocess.run([harness.RUNNER, name, *flags], cwd=stage.dir, env=env, check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=150)
            took = time.monotonic() - began
            e = one_envelope(done.stdout, done.returncode)
            assert done.returncode == status and (e.ok or e.error["code"] == code), (name, e)
            assert took < 40, (name, took)
            left = [w["code"] for w in e.warnings if w["code"] in ("SURVIVORS", "PROCESS_LEFT")]
            assert left == (["SURVIVORS"] if name == "daemon" else []), (name, e.warnings)
        subprocess.run(["umount", "/proc"], check=True)
        harness.await_empty(0, token=env["TOKEN"])  # the daemon


if __name__ == "__main__":
    harness.become_subreaper()
    globals()[sys.argv[1] if sys.argv[1].startswith("inside_") else "test_" + sys.argv[1]]()
