"""What the fault tests share: a stage of its own for each run, the run itself, and
what is left of it. The process that uses it is a subreaper: whatever a run leaves
behind becomes its child, so "nothing is left" is one look at its own children.
"""
import ctypes
import functools
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RUNNER = os.environ.get("RUNNER", str(ROOT / "build" / "runner"))
# of a static program: the same one with shim.c linked into it (.ci/static.mk)
FAULTY = os.path.join(os.path.dirname(os.path.abspath(RUNNER)), "faulty", "runner")
JOBS = max(2, int(os.environ.get("JOBS", os.cpu_count() or 2)))
SANITIZED = "ASAN_OPTIONS" in os.environ
PR_SET_CHILD_SUBREAPER = 36

sys.path.insert(0, str(ROOT / "tests" / "cli" / "lib"))
import envelope  # noqa: E402  pylint: disable=wrong-import-position


def become_subreaper():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@functools.cache
def is_static():
    told = subprocess.run([RUNNER, "--version", "--verbose"], check=True, capture_output=True, text=True).stdout
    return "build: static" in told


@functools.cache
def has_library(*names):
    """Is one of these there, which runner opens when it needs it?"""
    for name in names:
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            continue
    return False


def why_no_faults():
    """The reason why calls of this runner can't be made to fail; None where they can."""
    if SANITIZED:
        return "a sanitizer owns malloc: nothing can be preloaded"
    if is_static() and not os.path.exists(FAULTY):
        return f"nothing can be preloaded into a static program, and there is no {FAULTY} (.ci/static.mk)"
    return None


def compiled(source, target, *flags):
    """A C file beside this one, compiled in a directory of its own: the path of what it became."""
    path = os.path.join(tempfile.mkdtemp(prefix="fault-build-"), target)
    subprocess.run([os.environ.get("CC", "cc"), "-O1", "-g", "-w", "-D_GNU_SOURCE", "-o", path, str(HERE / source), *flags],
                   check=True)
    return path


def build(source, *flags):
    """… a shared library."""
    return compiled(source, os.path.splitext(source)[0] + ".so", "-shared", "-fPIC", *flags, "-ldl")


def lua_flags(what="--cflags"):
    return subprocess.run(["pkg-config", *what.split(), "lua5.4"], check=True, capture_output=True, text=True).stdout.split()


# --- misbehave.c ---------------------------------------------------------------------------

# What only code inside the worker can do: there is none in a static build, which loads no C module.
NATIVE = "block block_raw close_all forge fork_and_sleep ignore overflow_stack read_socket thread_child wait_all".split()
NO_NATIVE = "a static build loads no C module, so nothing in its worker can do this"


def misbehave():
    """misbehave.c for this runner: a C module, or a program for the static one."""
    if is_static():
        return compiled("misbehave.c", "misbehave", "-DMISBEHAVE_PROGRAM", *lua_flags("--cflags --libs"), "-lpthread")
    return build("misbehave.c", *lua_flags())


def is_native(body):
    """Does a script use what only a C module can do?"""
    return any(f"bad.{name}" in body for name in NATIVE)


def with_bad(built, body):
    """A script that has `bad`: each function of misbehave.c, called in the worker or, by the static build, in a program that it
    starts; and then what happens to the worker is done from there."""
    if not is_static():
        return f"local bad = package.loadlib('{built}', 'luaopen_misbehave')() {body}"
    return f"""local worker = io.open('/proc/self/stat'):read('n')
        local function kill(name) return function(how) os.execute('kill -' .. (how or name) .. ' ' .. worker) end end
        local bad = setmetatable({{ crash = kill(), stop = kill 'STOP' }}, {{ __index = function(_, name) return function(...)
            local words = {{ 'exec {built}', name, ... }}
            for i, word in ipairs(words) do words[i] = tostring(word) end
            assert(os.execute(table.concat(words, ' '))) end end }})
        {body}"""


def children():
    """Our own children, dead ones included."""
    found = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/children", encoding="ascii") as f:
                found += [int(word) for word in f.read().split()]
        except OSError:
            continue  # a thread that has ended: its children are another's
    return found


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def await_taken(pid, sig, seconds=60):
    """Wait until a signal that was sent to a process is pending no longer: it has heard it, or is gone."""
    until = time.monotonic() + seconds
    while True:
        try:
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
                pending = [int(line.split()[1], 16) for line in f if line.startswith(("SigPnd:", "ShdPnd:"))]
        except OSError:
            return
        if not any(mask >> (sig - 1) & 1 for mask in pending):
            return
        assert time.monotonic() < until, f"signal {sig} was never heard"
        time.sleep(0.005)


def wearing(token):
    """Processes with TOKEN=token in their environment, whoever their parent is."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if f"TOKEN={token}\0".encode() in f.read():
                    found.append(int(pid))
        except OSError:
            continue
    return found


def name_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f"{pid} {f.read().replace(bytes(1), b' ').decode(errors='replace')}"
    except OSError:
        return f"{pid} (gone)"


def reap(known=()):
    """Collect dead children but `known`; those that live are returned."""
    left = []
    for pid in children():
        if pid in known:
            continue
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                left.append(pid)
        except ChildProcessError:
            continue
    return left


def await_empty(seconds, token=None, known=()):
    """Wait until nothing of the run is left; what is, after `seconds`, is named and killed."""
    until = time.monotonic() + seconds
    while True:
        left = set(reap(known)) | set(wearing(token) if token else ())
        if not left or time.monotonic() > until:
            break
        time.sleep(0.01)
    said = [name_of(pid) for pid in left]
    for _ in range(200 if left else 0):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        left = set(reap(known))
        if not left:
            break
        time.sleep(0.01)
    return said


class Stage:
    """A directory with commands/ and tmp/ for one run at a time."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="fault-")
        self.count = 0
        for name in ("commands", "tmp", "home"):
            os.mkdir(os.path.join(self.dir, name))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def command(self, name, body, keys=""):
        self.write(f"commands/{name}.lua", "return { description = 'x', danger_level = 'safe', "
                   f"{keys}\n\trun = function(args, ctx)\n{body}\nend }}\n")

    def environment(self, **more):
        self.count += 1
        token = f"f{os.getpid()}-{self.count}-{time.monotonic_ns()}"
        env = {"PATH": os.environ["PATH"], "HOME": self.path("home"), "TMPDIR": self.path("tmp"),
               "LC_ALL": "C.UTF-8", "TOKEN": token}
        if SANITIZED:
            env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        return {**env, **more}

    def leftovers(self):
        return os.listdir(self.path("tmp"))


class Run:
    """One runner at work; finish() says how it ended."""

    def __init__(self, stage, argv, env=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, program=RUNNER, **options):
        self.env = env or stage.environment()
        self.stage = stage
        self.began = time.monotonic()
        self.process = subprocess.Popen([program, *argv], cwd=stage.dir, env=self.env, stdin=stdin, stdout=stdout,
                                        stderr=stderr, **options)
        self.pid = self.process.pid
        self.status = None
        self.out = self.err = b""

    def finish(self, seconds):
        """The exit status, or None when it was still there after `seconds` (then it is killed)."""
        streams = {s.fileno(): s for s in (self.process.stdout, self.process.stderr) if s}
        captured = {fd: [] for fd in streams}
        until = time.monotonic() + seconds
        pidfd = os.pidfd_open(self.pid)
        poll = select.poll()
        for fd in (pidfd, *streams):
            poll.register(fd, select.POLLIN)
        waiting = {pidfd, *streams}
        while waiting and time.monotonic() < until:
            for fd, _ in poll.poll(max(0, (until - time.monotonic()) * 1000)):
                chunk = os.read(fd, 1 << 20) if fd in captured else b""
                if chunk:
                    captured[fd].append(chunk)
                else:
                    poll.unregister(fd)
                    waiting.discard(fd)
        self.held = [fd for fd in waiting if fd in captured and pidfd not in waiting]
        os.close(pidfd)
        self.status = self.process.poll() if pidfd not in waiting else None
        if self.status is None and pidfd not in waiting:
            self.status = self.process.wait(1)
        if self.status is None:
            for pid in [self.pid, *children_of(self.pid)]:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.wait()
        self.seconds = time.monotonic() - self.began
        self.out = b"".join(captured[self.process.stdout.fileno()]) if self.process.stdout else b""
        self.err = b"".join(captured[self.process.stderr.fileno()]) if self.process.stderr else b""
        for stream in streams.values():
            stream.close()
        return self.status


def one_envelope(out, status):
    """The one valid envelope on stdout, which agrees with the status; raises otherwise."""
    assert out, "stdout is empty"
    assert b"\x1b" not in out and b"\\u001b" not in out, "ANSI in the envelope"
    text = out.decode("utf-8")
    assert text.endswith("\n") and text.count("\n") == 1, f"not one line: {text[:200]!r}"
    e = envelope.parse(text)
    is_last_resort = len(e.meta) == 2 and e.error and e.error["code"] == "RESOURCE_EXHAUSTED"
    if not is_last_resort:
        envelope.check(e, status)
    assert e.meta["exit_code"] == status, (e.meta, status)
    return e


def tap(rows):
    """Print (name, problem or None, skip reason or None) rows as TAP; the exit status."""
    failed = 0
    for n, (name, problem, skip) in enumerate(rows, 1):
        failed += problem is not None
        print(f"{'not ok' if problem else 'ok'} {n} - {name}{f' # skip {skip}' if skip else ''}", flush=True)
        for line in str(problem or "").splitlines():
            print(f"# {line}", flush=True)
    print(f"1..{len(rows)}")
    return 1 if failed else 0


def short(value):
    return json.dumps(value)[:300]
