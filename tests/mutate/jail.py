"""Runs a test of a mutant where it can do no harm: jail.sh has the namespaces' inside, here
are the processes' bounds (a pids and a memory cgroup, where they can be had) and the clock.

A mutant of a supervisor may kill whom it finds, fork without end, or remove the wrong tree.
Without PID and mount namespaces (root, or user namespaces) nothing is run at all.
"""
import contextlib
import os
import re
import select
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PIDS = 4000
MEMORY = 6 << 30
NICE = os.environ.get("NICE") or "19"
# group hierarchies: { file of the limit: its value }
BOUNDS = {"pids.max": PIDS, "memory.max": MEMORY, "memory.limit_in_bytes": MEMORY}
DEFAULT_SIGNALS = "--default-signal=INT,QUIT,HUP,TERM,PIPE,CHLD,TSTP"
# $@: GROUP… -- COMMAND…
JOIN = 'while [ "$1" != -- ]; do echo $$ >"$1/cgroup.procs"; shift; done; shift; exec "$@"'


def cgroup_roots():
    """Where groups can be made: the own place in cgroup v2, and in v1's pids and memory."""
    with open("/proc/self/cgroup", encoding="ascii") as f:
        places = {name: path for _, name, path in (line.strip().split(":", 2) for line in f)}
    with open("/proc/mounts", encoding="utf-8") as f:
        mounts = [line.split() for line in f]
    for _, at, kind, options, *_ in mounts:
        names = [""] if kind == "cgroup2" else [n for n in ("pids", "memory") if n in options.split(",")]
        for name in names if kind.startswith("cgroup") else []:
            if name in places:
                yield at + places[name]


class Jail:
    """One place in which one command after the other is run. stopping: an event that ends it."""

    def __init__(self, directory, name, stopping=None):
        self.stopping = stopping or threading.Event()
        self.private = tempfile.mkdtemp(prefix="jail-", dir=directory)
        self.groups = []
        for root in dict.fromkeys(cgroup_roots()):
            with contextlib.suppress(OSError):
                group = f"{root.rstrip('/')}/mutate-{os.getpid()}-{name}"
                os.mkdir(group)
                self.groups.append(group)
                for bound, value in BOUNDS.items():
                    if os.path.exists(f"{group}/{bound}"):
                        with open(f"{group}/{bound}", "w", encoding="ascii") as f:
                            f.write(str(value))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.rmdir(self.private)
        for group in self.groups:
            for directory, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(directory)

    def command(self, tree, words):
        names = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"]
        names += ["--cgroup"] if os.getuid() == 0 else ["--map-root-user"]
        return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", JOIN, "sh", *self.groups, "--", "nice", "-n", NICE,
                "env", DEFAULT_SIGNALS, "unshare", *names, "bash", f"{HERE}/jail.sh", self.private, tree, *words]

    def run(self, tree, words, env, limit_s, stop=lambda line: False):
        """(lines of output, status, ended): `ended` says why it didn't end by itself: "time"
        after limit_s seconds, "line" after a line for which stop(line) holds, "stop", None."""
        env = {"PATH": os.environ["PATH"], "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp",
               "PYTHONDONTWRITEBYTECODE": "1", **env}
        with subprocess.Popen(self.command(tree, words), cwd="/", env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as child:
            ended = "time"
            try:
                lines, ended = self.follow(child.stdout.fileno(), time.monotonic() + limit_s, stop)
                if not ended:
                    child.wait(5)
            except subprocess.TimeoutExpired:
                ended = "time"
            finally:
                if ended:
                    child.kill()  # … and with it process 1, and with that all
        return lines, child.returncode, ended

    def follow(self, fd, deadline, stop):
        """The lines of a pipe until its end, the deadline or a line that says stop."""
        lines, rest = [], b""
        while time.monotonic() < deadline:
            if self.stopping.is_set():
                return lines, "stop"
            if not select.select([fd], [], [], 0.5)[0]:
                continue
            piece = os.read(fd, 65536)
            *new, rest = (rest + piece).split(b"\n")
            for line in (line.decode(errors="replace") for line in new):
                lines.append(line)
                if stop(line):
                    return lines, "line"
            if not piece:
                return lines, None
        return lines, "time"


def usable(directory):
    """None, or why no mutant may be run here."""
    with Jail(directory, "probe") as jail:
        lines, status, _ = jail.run(HERE, ["sh", "-c", "echo pid=$$; kill -0 $PPID && [ ! -w /etc ]"], {}, 20)
    if status == 0 and any(re.fullmatch(r"pid=\d\d?", line) for line in lines):
        return None
    return f"no namespaces: {' '.join(lines)[-200:] or status}"
