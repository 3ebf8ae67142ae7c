"""What the fault tests about workflows share: a workflow of six steps with retries, whose
steps tell what they did, in a state directory of its own; kills; and what is right
afterwards, read from the database, the effects and /proc.

Every step appends its name to `audit` when it begins, and a line to `effects`, which is
what it is there for. RUNNER names the binary.
"""
import collections
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

import harness

SECONDS = 200  # no run takes as long, however busy the machine is
IN_DOUBT = 81

WORKFLOW = """\
name: crash
commands:
  - id: first
    idempotent: true
    shell: echo first >>audit; grep -qx first effects || echo first >>effects; echo one
  - id: second
    verify: grep -qx second effects
    shell: echo second >>audit; echo second >>effects; echo two
  - id: third
    idempotent: true
    retry: { strategy: constant, initial_delay: 5ms, jitter: false, max_attempts: 3 }
    shell: |
      echo third >>audit
      [ "$(grep -cx third audit)" -gt 2 ] || exit 7
      grep -qx third effects || echo third >>effects
  - id: fourth
    foreach: [x, y, z]
    do:
      - idempotent: true
        shell: echo fourth.${item} >>audit; grep -qx fourth.${item} effects || echo fourth.${item} >>effects
  - id: fifth
    shell: echo fifth >>audit; echo fifth >>effects
  - id: sixth
    verify: grep -qx 'sixth after one' effects
    retry: { strategy: constant, initial_delay: 5ms, jitter: false, max_attempts: 2 }
    shell: |
      echo sixth >>audit
      [ "$(grep -cx sixth audit)" -gt 1 ] || exit 7
      echo "sixth after ${steps.first.output}" >>effects
"""
EFFECTS = ["first", "second", "third", "fourth.x", "fourth.y", "fourth.z", "fifth", "sixth after one"]
# the key of each step that runs something, and what it says in `audit`
SAID = {"first": "first", "second": "second", "third": "third", "fourth[1].1": "fourth.x", "fourth[2].1": "fourth.y",
        "fourth[3].1": "fourth.z", "fifth": "fifth", "sixth": "sixth"}
TOLD = {"first", "third", "fourth[1].1", "fourth[2].1", "fourth[3].1"}  # no look at the effects decides on them
FAILS = {"third": 2, "sixth": 1}  # how often, in an undisturbed run


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Stage:
    """A place for one run at a time."""

    def __init__(self, name="stage"):
        self.dir = tempfile.mkdtemp(prefix="workflow-crash-")
        self.token = f"{name}-{os.path.basename(self.dir)}"
        self.env = {"PATH": os.environ["PATH"], "HOME": "/proc/nonexistent", "LC_ALL": "C.UTF-8", "TOKEN": self.token,
                    "XDG_STATE_HOME": os.path.join(self.dir, "state"), "ASAN_OPTIONS": "detect_leaks=0"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_all()
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as f:
            return f.read().split("\n")[:-1]

    def fresh(self):
        """As if no run had ever been."""
        shutil.rmtree(self.path("state"), ignore_errors=True)
        self.write("crash.yaml", WORKFLOW)
        self.write("audit", "")
        self.write("effects", "")

    def nothing_ran(self):
        assert self.lines("effects") == [], "a step ran before its run was committed"

    # --- runs ---------------------------------------------------------------------------

    def start(self, *args, before=()):
        return subprocess.Popen([*before, harness.RUNNER, "workflow", *args], cwd=self.dir, env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def call(self, *args):
        """A command that nobody disturbs: its envelope."""
        process = self.start(*args)
        text = process.communicate(timeout=SECONDS)[0]
        envelope = json.loads(text)
        assert process.returncode == envelope["meta"]["exit_code"], text
        return envelope

    def living(self):
        return harness.wearing(self.token)

    def kill_all(self):
        """Everything with our token, until nothing is left: nobody has a chance to clean up."""
        while pids := self.living():
            for pid in pids:
                kill(pid)

    def await_gone(self, seconds=60):
        until = time.monotonic() + seconds
        while pids := self.living():
            assert time.monotonic() < until, f"left alive: {[harness.name_of(pid) for pid in pids]}"
            time.sleep(0.005)

    # --- what is in the database ----------------------------------------------------------

    @staticmethod
    def copy(source, copy):
        """False: what has just ended has taken a file away meanwhile."""
        try:
            for end in ("", "-wal", "-journal"):
                if os.path.exists(copy + end):
                    os.unlink(copy + end)
                if os.path.exists(source + end):
                    shutil.copy(source + end, copy + end)
        except FileNotFoundError:
            return False
        return True

    def rows(self, sql, *values):
        """From a copy: looking must not repair what a kill left. [] while there is no database."""
        source, copy = self.path("state", "runner", "runs.db"), self.path("copy.db")
        while not self.copy(source, copy):
            pass
        db = sqlite3.connect(copy)
        try:
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
                return []
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def run_id(self):
        found = self.rows("SELECT id FROM runs ORDER BY rowid DESC LIMIT 1")
        return found[0][0] if found else None

    def states(self):
        return dict(self.rows("SELECT key, state FROM steps"))

    def in_doubt(self):
        """Keys of the steps whose last attempt has no end: nobody has asked yet, or nobody knows."""
        return {key for key, in self.rows("SELECT key FROM steps WHERE attempts > 0 AND (state = 'running' "
                                          "OR state = 'interrupted' AND code = 'STEP_IN_DOUBT')")}

    def cut_off(self):
        """Keys of the steps whose last attempt ended with its run."""
        return {key for key, in self.rows("SELECT key FROM steps WHERE attempts > 0 AND state = 'interrupted' "
                                          "AND code = 'CANCELLED'")}

    def lock_files(self):
        """What should not outlive the runs of this stage."""
        found = []
        for folder in ("", "runs"):
            path = self.path("state", "runner", folder)
            if os.path.isdir(path):
                found += [name for name in os.listdir(path) if name.endswith(".lock")]
        return found


VICTIMS = {
    "worker": lambda stage, pid: [kill(child) for child in harness.children_of(pid)],
    "supervisor": lambda stage, pid: kill(pid),
    "everything": lambda stage, pid: stage.kill_all(),
}


def skip_without_strace():
    """Ends this program as skipped where nothing can be traced."""
    if subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        print("strace may not trace here")
        sys.exit(77)


def in_threads(work, items, make=Stage):
    """work(stage, item) for every item, on as many stages as there are processors."""
    left, problems = collections.deque(items), []

    def serve():
        with make() as stage:
            while left and not problems:
                item = left.popleft()
                try:
                    work(stage, item)
                except BaseException as e:  # reported by the main thread
                    problems.append((item, e))

    threads = [threading.Thread(target=serve) for _ in range(harness.JOBS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise AssertionError(f"case {problems[0][0]}") from problems[0][1]


def killed(stage, source, usual, *args, ways=VICTIMS, figures=None):
    """A command of `workflow` that is killed, in one of these ways, in the time that it usually takes. How long it took where it was
    over before, else `usual`."""
    after, way, began = source.uniform(0, usual * 1.05), ways[source.choice(list(ways))], time.monotonic()
    process = stage.start(*args)
    try:
        process.wait(after)
        usual = min(usual, time.monotonic() - began)
    except subprocess.TimeoutExpired:
        way(stage, process.pid)
    process.communicate(timeout=200)
    stage.await_gone()
    if figures is not None:
        figures["killed"] += process.returncode != 0
    return usual


class Person:
    """Who decides, at a terminal: there before whatever asks in this block, since a person is older than the question."""

    def __enter__(self):
        self.home = tempfile.TemporaryDirectory()
        self.socket = os.path.join(self.home.name, "person")
        program = [sys.executable, str(harness.HERE / "person.py"), self.socket]
        self.process = subprocess.Popen(program, stdin=subprocess.PIPE)  # gone when the other end of its stdin is, with us
        self.process.wait()
        time.sleep(0.05)  # what asks is younger, by the kernel's ticks
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.home.cleanup()

    def agree(self, stage, approval):
        """Calls `approve`; the number of the process."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.socket)
            with connection.makefile("rw", encoding="utf-8") as stream:
                what = {"argv": [os.path.abspath(harness.RUNNER), "approve", approval], "cwd": stage.dir, "env": stage.env}
                print(json.dumps(what), file=stream, flush=True)
                return int(stream.readline())


def disturbed(stage, source, usual, pid, figures, again):
    """A process is killed in the time that it usually takes, with the probability `again`, and waited for."""
    if source.random() < again:
        time.sleep(source.uniform(0, usual))
        VICTIMS[source.choice(list(VICTIMS))](stage, pid)
        figures["killed"] += 1
    over(stage, pid)


def over(stage, pid):
    """Waits for a process that may not have begun yet to be one that its stage knows. A zombie has no program."""
    until = time.monotonic() + 60
    while os.path.exists(f"/proc/{pid}/exe"):
        assert time.monotonic() < until, f"{pid} goes on"
        time.sleep(0.002)
    stage.await_gone()


def usual_time(file, begin, end, make=None):
    """How long a run takes that nobody disturbs: begin(stage), the run, end(stage, envelope)."""
    with (make or Stage)() as stage:
        begin(stage)
        began = time.monotonic()
        envelope = stage.call("run", file)
        seconds = time.monotonic() - began
        end(stage, envelope)
        return seconds


def killed_case(file, begin, end, usual, figures, *, again, resumes, ways=VICTIMS, fine=lambda envelope: envelope["ok"]):
    """case(stage, seed): a run that is killed, and so is each of its resumptions with the probability `again`, until it has
    completed. Of the rest each envelope is `fine`, or says that a step is in doubt."""

    def case(stage, seed):
        nonlocal usual
        begin(stage)
        source = random.Random(seed)
        usual = killed(stage, source, usual, "run", file, ways=ways, figures=figures)  # (a machine may be less busy than it was)
        if not stage.run_id():
            stage.nothing_ran()
            assert fine(stage.call("run", file))
        for n in range(resumes):
            if stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
                break
            figures["resumed"] += 1
            if source.random() < again and n < resumes - 1:  # the last one is left alone
                killed(stage, source, usual, "resume", stage.run_id(), ways=ways, figures=figures)
            else:
                envelope = stage.call("resume", stage.run_id())
                assert fine(envelope) or envelope["meta"]["exit_code"] == IN_DOUBT, envelope["error"] or envelope
        end(stage)

    return case


def report(figures, cases):
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))
    assert figures["killed"] >= cases // 4, "too few kills hit a run at work"


def check_end(stage):
    """The run has completed, and nothing distinguishes it from an undisturbed one."""
    assert stage.lines("effects") == EFFECTS, stage.lines("effects")
    assert stage.rows("SELECT state, code FROM runs") == [("completed", None)], stage.rows("SELECT * FROM runs")
    states = stage.states()
    assert set(states) == {*SAID, "fourth"} and set(states.values()) == {"completed"}, states
    audit = stage.lines("audit")
    for key, name in SAID.items():
        check_attempts(stage, key, audit.count(name))
    stage.await_gone(20)


def check_attempts(stage, key, executions):
    """Every execution was committed before it began, and nothing follows a success."""
    rows = stage.rows("SELECT ended_ms IS NOT NULL AND code IS NOT 'CANCELLED', code FROM attempts WHERE key = ? "
                      "ORDER BY number", key)
    over = [code for ended, code in rows if ended]
    assert len(over) <= executions <= len(rows), (key, executions, rows)
    good = [i for i, (ended, code) in enumerate(rows) if ended and code is None]
    assert good in ([], [len(rows) - 1]), f"{key} ran again after its success: {rows}"
    assert good or key not in TOLD, f"{key} was never reported as succeeded: {rows}"
    assert sum(code is not None for code in over) <= FAILS.get(key, 0), (key, rows)
