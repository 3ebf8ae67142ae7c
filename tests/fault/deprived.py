"""What is taken away from a run that waits, and from one that must end: rows of rows.py. A
run that waits sleeps, whatever has become of its surroundings.

RUNNER names the binary.
"""
import functools
import itertools
import json
import multiprocessing
import os
import pty
import resource
import shutil
import socket
import subprocess
import time

import harness
import rows
from harness import Run, Stage
from rows import Skip, bad, command, finish, row

WAKEUPS = 5       # in a second, of any process of a run that waits
CPU_MS = 50       # … a spinning one has few switches on an idle machine
AT_ONCE = 8


@row
def small_stack():
    """a stack of 32 KiB is enough to end a tree"""
    with Stage() as stage:
        command(stage, "os.execute('sleep 30')")
        run = Run(stage, ["c", "--timeout", "300ms"],
                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (32768, 32768)))
        finish(run, 10, "TIMEOUT")


STEP = "name: w\nsteps:\n  - id: a\n    shell: touch ready; trap '' TERM; sleep 60\n"


def limited(which, value, argv, body, cancel=False):
    """A run under a limit that its caller has set: its envelope."""
    with Stage() as stage:
        stage.write("w.yaml", STEP)
        command(stage, body, "timeout = '20s',")
        run = Run(stage, argv, preexec_fn=lambda: resource.setrlimit(which, value))
        if cancel:
            rows.await_file(stage)
            os.kill(run.pid, 15)
        run.finish(40)
        assert run.status is not None and run.status >= 0, f"hung, or died: {run.status}"
        left = harness.await_empty(0, token=run.env["TOKEN"])
        assert not left and not stage.leftovers(), (left, stage.leftovers())
        return harness.one_envelope(run.out, run.status)


@row
def limits_inherited():
    """resource limits that the caller set before exec leave one answer, and nothing behind"""
    program = "ctx:run { 'true' } local d = ctx.tempdir"
    e = limited(resource.RLIMIT_CPU, (1, 9), ["c"], "while true do end")
    assert e.error["code"] == "COMMAND_CRASHED" and "SIGXCPU" in json.dumps(e.error), e.error
    e = limited(resource.RLIMIT_FSIZE, (0, 0), ["c"], program + " assert(io.open(d .. '/f', 'w')):write(('x'):rep(9999))")
    assert not e.ok, "a file that may not be written was written"
    e = limited(resource.RLIMIT_FSIZE, (0, 0), ["c"], program + " return { fine = true }")
    assert e.data == {"fine": True}, e
    for which in (resource.RLIMIT_SIGPENDING, resource.RLIMIT_MEMLOCK, resource.RLIMIT_MSGQUEUE, resource.RLIMIT_CORE):
        e = limited(which, (0, 0), ["c"], program + " return { fine = true }")
        assert e.data == {"fine": True}, (which, e)
    if not lacking("a workflow's step"):
        e = limited(resource.RLIMIT_SIGPENDING, (0, 0), ["workflow", "run", "w.yaml"], "", cancel=True)
        assert e.error["code"] == "CANCELLED", e.error
    if not harness.SANITIZED:
        e = limited(resource.RLIMIT_DATA, (1 << 24, 1 << 24), ["c"], "local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end")
        assert e.error["code"] == "MEMORY_LIMIT", e.error


def lacking(wait):
    """The library without which nothing can wait in this way; None: it is there."""
    if wait == "a request" and not harness.has_library("libcurl.so.4", "libcurl-gnutls.so.4"):
        return "libcurl"
    return "libsqlite3" if wait.startswith("a workflow") and not harness.has_library("libsqlite3.so.0") else None


# --- who waits ------------------------------------------------------------------------------

READY = "io.open('ready', 'w'):close()"
LOUD = f"for i = 1, 3000 do ctx:log('warn', ('x'):rep(i % 97)) end {READY}"
WORKFLOW = "name: w\nsteps:\n"

# how a run waits → its body, or its workflow
WAITS = {
    "a sleep": f"{READY} ctx:sleep(60)",
    "a sleep after much output": f"{LOUD} ctx:sleep(60)",
    "a backoff": f"{READY} ctx:fail('UNAVAILABLE', 'x', {{ retry_after_ms = 60000 }})",
    "a backoff after much output": f"{LOUD} ctx:fail('UNAVAILABLE', 'x', {{ retry_after_ms = 60000 }})",
    "ctx:run": "ctx:run { 'sh', '-c', 'touch ready; sleep 60' }",
    "ctx:run of what reads no input": "ctx:run { 'sh', '-c', 'exec <&-; touch ready; sleep 60', stdin = ('x'):rep(1000000) }",
    "ctx:run of what leaves its input": "ctx:run { 'sh', '-c', 'touch ready; sleep 60', stdin = ('x'):rep(1000000) }",
    "ctx:run of what closes its output": "ctx:run { 'sh', '-c', 'exec >&- 2>&-; touch ready; sleep 60' }",
    "ctx:run with lines": "ctx:run { 'sh', '-c', 'echo; touch ready; exec >&-; sleep 60', on_line = print }",
    "os.execute": "os.execute('touch ready; sleep 60')",
    "a closed stdout": f"io.stdout:close() io.stderr:close() {READY} ctx:sleep(60)",
    "a request": "local f = io.open('port') local port = f:read() f:close() os.execute('touch ready') "
                 "ctx:http { url = 'http://127.0.0.1:' .. port .. '/' }",
    "a worker without descriptors": "closing",
    "a workflow's step": [WORKFLOW + "  - id: a\n    shell: touch ready; sleep 60\n"],
    "a workflow's step without output": [WORKFLOW + "  - id: a\n    shell: exec <&- >&- 2>&-; touch ready; sleep 60\n"],
    "a workflow's loud step": [WORKFLOW + "  - id: a\n    shell: seq 300000; touch ready; sleep 60\n"],
    "a workflow's backoff": [WORKFLOW + "  - id: a\n    shell: touch ready; echo 503 Service Unavailable >&2; exit 1\n"
                             "    retry: { strategy: custom, delays: [60s], jitter: 0 }\n"],
}


def argv_of(stage, wait):
    what = WAITS[wait]
    if isinstance(what, list):
        stage.write("w.yaml", what[0])
        return ["workflow", "run", "w.yaml"]
    if what == "closing":
        what = bad(f"{READY} bad.close_all() ctx:sleep(60)")
    command(stage, what, "timeout = '120s', retry = { retries = 1, max_delay = '2m' },")
    return ["c"]


# --- what is taken away ---------------------------------------------------------------------

class Surroundings:
    """The ends of the run's descriptors that we hold, and how each thing goes."""

    def __init__(self, stage, terminal):
        self.stage = stage
        self.ours = {}
        if terminal:
            master, end = pty.openpty()
            self.theirs = {0: end, 1: end, 2: end}
            self.ours["terminal"] = master
        else:
            pipes = [os.pipe() for _ in range(3)]
            self.theirs = {0: pipes[0][0], 1: pipes[1][1], 2: pipes[2][1]}
            self.ours.update(stdin=pipes[0][1], stdout=pipes[1][0], stderr=pipes[2][0])

    def hand_over(self):
        for fd in set(self.theirs.values()):
            os.close(fd)

    def lose(self, *names):
        for name in names:
            os.close(self.ours.pop(name))

    def files(self):
        """Its working directory's content, its database, its temporary files. A run that is still
        writing can make a file in a directory that is being removed: its name goes first, then
        what is in it, until nothing comes any more.
        """
        until = time.monotonic() + 60
        for name in ("commands", "home", "tmp"):
            gone = self.stage.path(name + ".gone")
            os.rename(self.stage.path(name), gone)
            while os.path.exists(gone):
                assert time.monotonic() < until, f"{name} is still being written: {os.listdir(gone)}"
                shutil.rmtree(gone, ignore_errors=True)

    def mounts(self):
        self.stage.write("take", "")

    def close(self):
        self.lose(*list(self.ours))


LOSSES = {
    "nothing": lambda s: None,
    "the reader of stdout": lambda s: s.lose("stdout"),
    "the reader of stderr": lambda s: s.lose("stderr"),
    "the writer of stdin": lambda s: s.lose("stdin"),
    "all three": lambda s: s.lose("stdin", "stdout", "stderr"),
    "the terminal": lambda s: s.lose("terminal"),
    "files and database": Surroundings.files,
    "/proc, /dev, /sys and the temporary directory": Surroundings.mounts,
    "mounts, files and readers": lambda s: (s.mounts(), s.files(), s.lose("stdout", "stderr")),
}
# A run that is not a workflow leaves TMPDIR alone; a file system of its own can be taken away.
SHELL = """mount -t tmpfs none tmp || exit 99
"$0" "$@" & p=$!
while ! [ -e take ]; do sleep 0.02; done
umount -l tmp /sys /dev/pts /dev /proc
wait $p"""


def usage(pid):
    """(wake-ups, ms of processor time) so far; raises OSError when it is gone."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        switches = sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
        return switches, int(f.read().split()[0]) / 1e6


def runners(token):
    """The processes of a run that are runner itself: supervisor, worker, shepherds, guard. (By the file: its path is
    another one for those with mounts of their own, below a changed root.)"""
    binary = os.stat(shutil.which(harness.RUNNER))
    found = []
    for pid in harness.wearing(token):
        try:
            found += [pid] if os.path.samestat(os.stat(f"/proc/{pid}/exe"), binary) else []
        except OSError:
            continue
    return found


def all_usage(token):
    found = {}
    for pid in runners(token):
        try:
            found[pid] = usage(pid)
        except OSError:
            continue
    return found


def await_quiet(token, seconds=40):
    """What the loss itself makes it do is not what we count."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        before = all_usage(token)
        time.sleep(0.3)
        after = all_usage(token)
        if before and all(pid in after and after[pid][0] - before[pid][0] <= 2 for pid in before):
            return


def busy(token):
    """Who of the run does not sleep."""
    before = all_usage(token)
    assert before, "the run has ended"
    time.sleep(1)
    after, said = all_usage(token), []
    for pid, (switches, ms) in before.items():
        more, longer = after.get(pid, (float("inf"), 0))
        if more - switches > WAKEUPS or longer - ms > CPU_MS:
            said.append(f"{pid} of {len(before)} woke up {more - switches} times and took {longer - ms:.0f} ms")
    return said


@functools.cache
def may_mount():
    """May a process have mounts of its own? (Not below a changed root that is no mount.)"""
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True, check=False).returncode == 0


def await_ready(stage, process):
    until = time.monotonic() + 150
    while not os.path.exists(stage.path("ready")):
        if process.poll() == 99:
            raise Skip("no mount namespaces here")
        assert process.poll() is None and time.monotonic() < until, f"it never waited: {process.poll()}"
        time.sleep(0.01)


def one_case(case):
    """What is wrong with it, or None; "skip"."""
    wait, loss = case
    with Stage() as stage, socket.create_server(("127.0.0.1", 0)) as server:
        stage.write("port", str(server.getsockname()[1]))
        argv = [harness.RUNNER, *argv_of(stage, wait)]
        if "/proc" in loss or "mounts" in loss:
            if not may_mount():
                return "skip"
            argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SHELL, *argv]
        around = Surroundings(stage, loss == "the terminal")
        env = stage.environment(RUNNER=harness.RUNNER)
        process = subprocess.Popen(["env", "--ignore-signal=HUP", *argv], cwd=stage.dir, env=env, stdin=around.theirs[0],
                                   stdout=around.theirs[1], stderr=around.theirs[2], start_new_session=True)
        try:
            around.hand_over()
            await_ready(stage, process)
            time.sleep(0.1)
            LOSSES[loss](around)
            await_quiet(env["TOKEN"])
            said = busy(env["TOKEN"])
            return f"{wait} without {loss}: {'; '.join(said)}" if said else None
        except Skip:
            return "skip"
        except AssertionError as problem:
            return f"{wait} without {loss}: {problem}"
        finally:
            around.close()
            harness.await_empty(0, token=env["TOKEN"], known=[process.pid])
            process.wait()


@row
def sleeps():
    """a run that waits sleeps, whatever is taken away from it"""
    missing = {*map(lacking, WAITS)} - {None}
    cases = [*itertools.product([wait for wait in WAITS if not lacking(wait)], LOSSES)]
    with multiprocessing.Pool(AT_ONCE, harness.become_subreaper) as pool:
        told = pool.map(one_case, cases, 1)
        pool.close()
        pool.join()
    problems = [said for said in told if said and said != "skip"]
    assert not problems, f"{len(problems)} of {len(cases)}: " + "\n".join(problems)
    if missing:
        raise Skip(f"there is no {' and no '.join(sorted(missing))}; {len(cases)} of {len(WAITS) * len(LOSSES)} cases were tried")
    if "skip" in told:
        raise Skip(f"no mount namespaces here; {len(cases) - told.count('skip')} of {len(cases)} cases were tried")


if __name__ == "__main__":
    rows.main()
