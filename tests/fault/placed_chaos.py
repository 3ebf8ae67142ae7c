"""Loops on Slurm while everything around them goes wrong at random instants: the coordinator, tasks, the programs that
started them, nodes and the controller are killed, stopped or cut off; squeue lies, is empty, cut, slow or silent; sbatch submits and
says that it failed; scancel does nothing; people hold, suspend, requeue and cancel parts; two resume at once; clocks jump.
Every item is done once, a job beside it is untouched, and at the end nothing is left in the queue or among the processes.

  placed_chaos.py RUNNER DIR SECONDS [SEED]      rounds are begun for so many seconds; CLUSTER is the cluster's folder

CLOCK names the library of clock.c, if there is one. The items' `verify` says whether an item was done, so nothing may be left in doubt.
"""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

from harness import children_of
from placed import kill, run_of, tasks_of

RUNNER, TOP, SECONDS = sys.argv[1], sys.argv[2], float(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
CLUSTER = os.environ["CLUSTER"]
TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../cli/lib/slurm")
ROUND_S = 300  # within which a round whose faults are over completes

FLOW = """
name: chaos
executors: {{ there: {{ kind: slurm, directory: '{top}/shared', poll: 200ms, submit_rate: 100{keys} }} }}
commands:
  - id: each
    foreach: [{items}]
    on: there
    chunk: {chunk}
    do:
      - shell: "echo ${{item}} >>'{top}/effects'; sleep {seconds}"
        verify: grep -qx ${{item}} '{top}/effects'
        idempotent: false
  - shell: "echo ${{steps.each.ok}}"
    idempotent: true
"""

# Before the real program: each mode does something else; without one, nothing is different.
WRAPPERS = {
    "squeue": """
fail) echo 'slurm_load_jobs error: Unable to contact slurm controller (connect failure)' >&2; exit 1 ;;
empty) exit 0 ;;
slow) sleep 1.5 ;;
silent) exec sleep 4 ;;
cut) "$real" "$@" | head -c 70; exit 0 ;;
half) "$real" "$@" | sed -n '1~2p'; exit 0 ;;
noise) "$real" "$@" | sed '2s/|/:/g'; echo 'squeue: something || new'; exit 0 ;;
ended) "$real" "$@" | sed -E 's/[|](PENDING|RUNNING|COMPLETING)[|]/|COMPLETED|/'; exit 0 ;;
lost) "$real" "$@" | sed -E 's/[|](PENDING|RUNNING|COMPLETING)[|]/|NODE_FAIL|/'; exit 0 ;;
cancelled) "$real" "$@" | sed -E 's/[|](PENDING|RUNNING)[|]/|CANCELLED|/'; exit 0 ;;
""",
    "sbatch": """
late) sleep 1 ;;
fail) echo 'sbatch: error: Batch job submission failed: Unexpected message received' >&2; exit 1 ;;
busy) echo 'sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying' >&2; exit 1 ;;
twice) "$real" "$@" >/dev/null ;;
unsaid) "$real" "$@" >/dev/null; echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1 ;;
killed) "$real" "$@" >/dev/null; kill -KILL $$ ;;
""",
    "scancel": """
fail) echo 'scancel: error: Kill job error on job id 1: Unable to contact slurm controller' >&2; exit 1 ;;
nothing) exit 0 ;;
slow) sleep 1.5 ;;
""",
}
MODES = {program: [line.split(")")[0] for line in text.split("\n") if ")" in line] for program, text in WRAPPERS.items()}
counts = collections.Counter()


def quiet(*argv, timeout=60):
    """What a program prints; who is interrupted or late has printed nothing."""
    try:
        return subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=timeout,
                              check=False).stdout
    except subprocess.TimeoutExpired:
        return ""


def daemon(verb, *words):
    """A daemon of the cluster: start NAME, stop NAME [SIGNAL]"""
    subprocess.run([TOOL, verb, CLUSTER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120,
                   check=False)


def nodes():
    return sorted(name for name in os.listdir(CLUSTER + "/spool") if name.startswith("n"))


def live(token, states="pending,running,completing,suspended,configuring"):
    found = [line.split("|") for line in quiet("squeue", "-h", "-r", "-t", states, "-o", "%i|%j").split()]
    return [job for job, name in found if name.startswith(token)]


def some_tasks(directory):
    """Those that run now, else those that do soon"""
    until = time.monotonic() + 3
    while not tasks_of(directory) and time.monotonic() < until:
        time.sleep(0.05)
    return tasks_of(directory)


def is_stepd(pid):
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return "slurmstepd" in f.read()
    except OSError:
        return False


class Round:
    def __init__(self, number, rng):
        self.rng, self.number = rng, number
        self.directory = os.path.join(TOP, "r%d" % number)
        os.makedirs(self.directory + "/shared")
        os.makedirs(self.directory + "/bin")
        self.items = rng.randrange(4, 40)
        at_once = rng.choice([0, 0, 1, 3])
        with open(self.directory + "/flow.yaml", "w", encoding="utf-8") as f:
            f.write(FLOW.format(top=self.directory, items=", ".join(str(i + 1) for i in range(self.items)), chunk=rng.choice([1, 2, 3, 6]),
                                keys=", at_once: %d" % at_once if at_once else "", seconds=rng.choice([0.05, 0.3, 1])))
        for program, modes in WRAPPERS.items():
            path = "%s/bin/%s" % (self.directory, program)
            with open(path, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\nreal='%s'\nmode=\nread -r mode <'%s/mode.%s'\ncase $mode in%sesac\nexec \"$real\" \"$@\"\n" % (
                    shutil.which(program), self.directory, program, modes))
            os.chmod(path, 0o755)
            self.mode(program, "")
        self.env = {"PATH": self.directory + "/bin:" + os.environ["PATH"], "HOME": self.directory, "XDG_STATE_HOME": self.directory + "/state",
                    "LC_ALL": "C.UTF-8", "SLURM_CONF": os.environ["SLURM_CONF"]}
        if os.environ.get("CLOCK") and rng.random() < 0.3:
            self.env.update(LD_PRELOAD=os.environ["CLOCK"], FAULT_CLOCK="%d:%d" % (rng.randrange(200, 3000), rng.choice([-3600, -20, 3600])))
            counts["clock jumps"] += 1
        self.done, self.process, self.unseen, self.asked = [], None, False, time.monotonic()

    def mode(self, program, mode):
        with open("%s/mode.%s.new" % (self.directory, program), "w", encoding="utf-8") as f:
            f.write(mode + "\n")
        os.rename("%s/mode.%s.new" % (self.directory, program), "%s/mode.%s" % (self.directory, program))

    def runner(self, *words):
        with open(self.directory + "/err", "ab") as err, open(self.directory + "/out", "wb") as out:
            return subprocess.Popen([RUNNER, *words], cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def token(self):
        run = run_of(self.directory)
        return run and "rn-%s-" % run[-10:]

    # --- what goes wrong -----------------------------------------------------------------------

    def program(self):
        program = self.rng.choice(["squeue", "squeue", "sbatch", "scancel"])
        mode = self.rng.choice(MODES[program])
        self.mode(program, mode)
        time.sleep(self.rng.random() * self.rng.choice([0.5, 3]))
        self.mode(program, "")
        return "%s %s" % (program, mode)

    def coordinator(self):
        workers = children_of(self.process.pid)
        if self.process.poll() is not None:
            return None
        what = self.rng.choice(["both", "worker", "supervisor"])
        kill((workers if what != "supervisor" else []) + ([self.process.pid] if what != "worker" else []))
        return "coordinators killed"

    def frozen(self):
        pids = [self.process.pid] + children_of(self.process.pid)
        if self.process.poll() is None:
            kill(pids, signal.SIGSTOP)
            time.sleep(self.rng.random() * 3)
            kill(pids, signal.SIGCONT)
        return "coordinators stopped for a while"

    def tasks(self):
        pids = list(some_tasks(self.directory))
        some = self.rng.sample(pids, self.rng.randrange(min(len(pids), 1), len(pids) + 1))
        kill(some)
        counts["tasks killed"] += len(some)
        return None

    def frozen_tasks(self):
        pids = list(some_tasks(self.directory))
        kill(pids, signal.SIGSTOP)
        time.sleep(self.rng.random() * 3)
        kill(pids, signal.SIGCONT)
        counts["tasks stopped for a while"] += len(pids)
        return None

    def stepds(self):
        pids = sorted({parent for parent in some_tasks(self.directory).values() if is_stepd(parent)})
        kill(pids[:1])
        self.unseen = True
        counts["slurmstepd killed"] += len(pids[:1])
        return None

    def controller(self):
        how = self.rng.choice(["KILL", "STOP", "TERM"])
        self.unseen = self.unseen or how == "KILL"
        daemon("stop", "ctld", how)
        time.sleep(self.rng.random() * 4)
        daemon(*(["stop", "ctld", "CONT"] if how == "STOP" else ["start", "ctld"]))
        return "controllers %s" % ("stopped for a while" if how == "STOP" else "killed" if how == "KILL" else "ended")

    def node(self):
        name = self.rng.choice(nodes())
        daemon("stop", name, "KILL")
        self.unseen = True
        if self.rng.random() < 0.5:  # the machine, not only its daemon
            kill([pid for pid in tasks_of(self.directory) if self.on_node(pid, name)])
            quiet("scontrol", "update", "NodeName=" + name, "State=down", "Reason=chaos")
        time.sleep(self.rng.random() * 3)
        daemon("start", name)
        quiet("scontrol", "update", "NodeName=" + name, "State=resume")
        return "slurmd killed"

    @staticmethod
    def on_node(pid, name):
        try:
            with open("/proc/%d/environ" % pid, "rb") as f:
                return b"SLURMD_NODENAME=" + name.encode() in f.read().split(b"\0")
        except OSError:
            return False

    def gone_node(self):
        """One that is said to be down, or drained, though its tasks live."""
        name, state = self.rng.choice(nodes()), self.rng.choice(["down", "drain"])
        if state == "down":
            daemon("stop", name, "STOP")
        quiet("scontrol", "update", "NodeName=" + name, "State=" + state, "Reason=chaos")
        time.sleep(self.rng.random() * 3)
        daemon("stop", name, "CONT")
        quiet("scontrol", "update", "NodeName=" + name, "State=resume")
        return "nodes said to be " + state

    def people(self):
        found = live(self.token() or "none")
        if not found:
            return None
        verb = self.rng.choice(["hold", "suspend", "requeuehold", "requeue", "cancel"])
        some = self.rng.sample(found, self.rng.randrange(1, len(found) + 1))
        for job in some if verb != "cancel" else []:
            quiet("scontrol", verb, job)
        if verb == "cancel":
            quiet("scancel", *some)
        counts["parts: " + verb] += len(some)
        return None

    def let_go(self):
        """What people, and Slurm itself, hold back: a node that could not start a task is drained."""
        for name in quiet("sinfo", "-h", "-N", "-o", "%N", "-t", "drain,down,fail").split():
            quiet("scontrol", "update", "NodeName=" + name, "State=resume")
        if self.unseen and time.monotonic() > self.asked + 8:  # a daemon that begins says what runs there
            for name in nodes():
                daemon("stop", name)
                daemon("start", name)
            self.asked = time.monotonic()
        for job in live(self.token() or "none", "pending,suspended"):
            quiet("scontrol", "release", job)
            quiet("scontrol", "resume", job)

    def second(self):
        """One more that would coordinate: it is refused while the other lives."""
        run = run_of(self.directory)
        if run and self.process.poll() is None:
            with open(self.directory + "/second", "wb") as out:
                subprocess.run([RUNNER, "workflow", "resume", run, "--timeout", "3s"], cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL,
                               stdout=out, stderr=subprocess.DEVNULL, timeout=120, check=False)
            return "second coordinators"
        return None

    def cancel(self):
        run = run_of(self.directory)
        if run:
            with open(self.directory + "/cancel", "wb") as out:
                subprocess.run([RUNNER, "workflow", "cancel", run], cwd=self.directory, env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=subprocess.DEVNULL, timeout=120, check=False)
            return "cancelled"
        return None

    def trouble(self):
        kinds = [self.program] * 6 + [self.coordinator] * 4 + [self.people] * 2 + [self.controller] * 2 + [
            self.frozen, self.tasks, self.tasks, self.frozen_tasks, self.stepds, self.node, self.gone_node, self.second, self.cancel]
        for _ in range(self.rng.randrange(2, 9)):
            time.sleep(self.rng.random() * self.rng.choice([0.3, 1.5]))
            what = self.rng.choice(kinds)
            self.done.append(what.__name__)
            said = what()
            if said:
                counts[said] += 1
                self.done[-1] = said

    # --- a round ---------------------------------------------------------------------------------

    def keep_going(self, until):
        """Whoever ended is resumed, until a run has completed."""
        run = run_of(self.directory)
        if self.process.poll() is None:
            return False
        if self.process.returncode == 0 and run_of(self.directory, "state") == "completed":
            return True
        assert time.monotonic() < until, "it never completes"
        counts["resumed"] += 1
        forced = ["--force"] if run_of(self.directory, "state") == "cancelled" else []
        self.process = self.runner(*(["workflow", "resume", run] + forced if run else ["workflow", "run", "flow.yaml"]))
        return False

    def play(self):
        began = time.monotonic()
        self.process = self.runner("workflow", "run", "flow.yaml")
        trouble = threading.Thread(target=self.trouble, daemon=True)
        trouble.start()
        while trouble.is_alive():
            if self.keep_going(began + 600):
                break
            time.sleep(0.1)
        trouble.join(120)
        assert not trouble.is_alive(), "the trouble itself hangs"
        until = time.monotonic() + ROUND_S
        while not self.keep_going(until):
            self.let_go()
            assert time.monotonic() < until + 60, "it hangs"
            time.sleep(0.3)
        self.check()

    def check(self):
        with open(self.directory + "/out", "rb") as f:
            answer = json.load(f)
        assert answer["ok"], answer
        began, seen = time.monotonic(), set()
        while live(self.token()) or tasks_of(self.directory):
            assert time.monotonic() < began + 90, "left: %s, processes %s" % (live(self.token()), tasks_of(self.directory))
            # Whose end was told to a controller that was killed, or by a daemon that was, Slurm believes to run, though nothing of it lives; what
            # waits behind it then starts, and finds that there is nothing to do.
            if time.monotonic() > began + 10 and self.unseen and not tasks_of(self.directory):
                ghosts = live(self.token(), "running,completing,suspended")
                counts["ended tasks that Slurm calls running"] += len(set(ghosts) - seen)
                seen.update(ghosts)
                quiet("scancel", *(ghosts or ["--name=none"]))
                self.let_go()
            time.sleep(0.5)
        with open(self.directory + "/effects", encoding="utf-8") as f:
            effects = sorted(int(line) for line in f)
        wanted = list(range(1, self.items + 1))
        assert effects == wanted, "lost %s, doubled %s" % (sorted(set(wanted) - set(effects)), [i for i in set(effects) if effects.count(i) > 1])
        counts["items"] += self.items


def bystander():
    """A job of the same user, which nobody may touch."""
    job = quiet("sbatch", "--parsable", "--hold", "--job-name=bystander", "--output=/dev/null", "--wrap=true").strip()
    assert job, "no job can be submitted"
    return job


def cluster_well():
    """Every node idle. Where a step's daemon was killed, Slurm may wait for its word for ever: a node that is down has no steps."""
    began, dropped = time.monotonic(), 0
    while quiet("sinfo", "-h", "-N", "-o", "%t").split().count("idle") != len(nodes()):
        waited = time.monotonic() - began
        if waited > 240:
            raise SystemExit("seed %d: the cluster doesn't come back: %s" % (SEED, " ".join(quiet("sinfo", "-h", "-N").split())))
        for name in quiet("sinfo", "-h", "-N", "-o", "%N", "-t", "drain,down,fail").split():
            quiet("scontrol", "update", "NodeName=" + name, "State=resume")
        if waited > 20 * (dropped + 1):
            dropped += 1
            for name in quiet("sinfo", "-h", "-N", "-o", "%N", "-t", "comp,alloc,mix").split():
                quiet("scontrol", "update", "NodeName=" + name, "State=down", "Reason=chaos")
        time.sleep(0.3)


def main():
    rng, began, number, longest = random.Random(SEED), time.monotonic(), 0, 0.0
    job = bystander()
    while time.monotonic() < began + SECONDS:
        cluster_well()
        this, at = Round(number, rng), time.monotonic()
        try:
            this.play()
            assert "bystander|PENDING" in quiet("squeue", "-h", "-j", job, "-o", "%j|%T"), "the job beside it was touched"
        except AssertionError as problem:
            raise SystemExit("seed %d, round %d of %d items (%s): %s: %s" % (
                SEED, number, this.items, ", ".join(this.done), this.directory, problem)) from problem
        finally:
            if this.process and this.process.poll() is None:
                kill(children_of(this.process.pid) + [this.process.pid])
        number, longest = number + 1, max(longest, time.monotonic() - at)
        shutil.rmtree(this.directory)
        with open(TOP + "/progress", "w", encoding="utf-8") as f:
            f.write("%d rounds, %d s, %s\n" % (number, time.monotonic() - began, dict(counts)))
    quiet("scancel", job)
    print("seed %d: %d rounds in %d s, the longest %d s: %s; every item once" % (
        SEED, number, time.monotonic() - began, longest, ", ".join("%s %d" % pair for pair in sorted(counts.items()))))


main()
