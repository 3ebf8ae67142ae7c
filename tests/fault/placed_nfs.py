"""Loops on an executor whose shared directory is like NFS (nfs_like.py), on three machines: the coordinator's and two nodes, each of which has a
mount, and a cache, of its own. Whatever is seen late, is stale, slow, cut short or lost, and whoever is killed meanwhile: every item is
done once.

  placed_nfs.py RUNNER DIR TIMES [SEED]      exit code 77: nothing can be mounted here

A placement's tasks run on one node, those of the next placement on the other one. The items' `verify` says whether an item was done.
"""
import json
import os
import random
import subprocess
import sys
import time

from harness import children_of
from placed import kill, run_of, tasks_of

RUNNER, TOP, TIMES = sys.argv[1], sys.argv[2], int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
HERE = os.path.dirname(os.path.abspath(__file__))
QUEUE = os.path.join(HERE, "../cli/lib/batch_queue.py")

FLOW = """
name: nfs
executors:
  there:
    kind: command
    directory: '{top}/shared'
    runner: '{top}/node'
    poll: 200ms
    submit_rate: 100
    submit: [python3, '{queue}', submit, '{top}/queue']
    states: [python3, '{queue}', states, '{top}/queue']
    cancel: [python3, '{queue}', cancel, '{top}/queue']
commands:
  - id: each
    foreach: [{items}]
    on: there
    chunk: {chunk}
    do:
      - shell: {shell}
        verify: grep -qx ${{item}} '{top}/effects'
        idempotent: false
  - shell: "echo ${{steps.each.ok}}"
    idempotent: true
"""

# runner on the nodes: workflow chunk DIR TOKEN TASK, where the number of the placement is the token's last one
NODE = """#!/bin/sh
n=${{4##*.}}
exec nsenter --mount="/proc/$(cat "{top}/node.$((n % 2))")/ns/mnt" sh -c 'cd / && exec "$@"' sh '{runner}' "$@"
"""


class Machines:
    """The coordinator's and two nodes, each with the same folder behind its own cache."""

    def __init__(self, directory, ours, theirs):
        self.directory, self.servers = directory, []
        for folder in ("shared", "server", "queue"):
            os.makedirs(os.path.join(directory, folder))
        os.chmod(directory + "/server", 0o700)
        try:
            for how in (ours, theirs, theirs):
                self.servers.append(subprocess.Popen([sys.executable, HERE + "/nfs_like.py", directory + "/server", directory + "/shared",
                                                      "SEED=%d" % SEED] + how, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
                if self.servers[-1].stdout.readline() != "ready\n":
                    sys.exit(self.servers[-1].wait())
        except BaseException:
            self.end()
            raise
        for number, server in enumerate(self.servers[1:]):
            with open("%s/node.%d" % (directory, number), "w", encoding="utf-8") as f:
                f.write("%d\n" % server.pid)
        with open(directory + "/node", "w", encoding="utf-8") as f:
            f.write(NODE.format(top=directory, runner=RUNNER))
        os.chmod(directory + "/node", 0o755)
        self.env = {"PATH": os.environ["PATH"], "HOME": directory, "XDG_STATE_HOME": directory + "/state", "LC_ALL": "C.UTF-8"}
        self.queue = self.on(1, [sys.executable, QUEUE, "serve", directory + "/queue"], stdout=subprocess.DEVNULL)

    def on(self, number, argv, **more):
        with open(self.directory + "/err", "ab") as err:
            return subprocess.Popen(["nsenter", "--mount=/proc/%d/ns/mnt" % self.servers[number].pid, "sh", "-c", 'cd "$0" && exec "$@"',
                                     self.directory, *argv], env=self.env, stdin=subprocess.DEVNULL, stderr=err, **more)

    def runner(self, *words):
        with open(self.directory + "/out", "wb") as out:
            return self.on(0, [RUNNER, *words], stdout=out)

    def answer(self):
        with open(self.directory + "/out", "rb") as f:
            return json.load(f)

    def end(self):
        for process in [getattr(self, "queue", None)] + self.servers:
            if process:
                process.kill()
                process.wait()


def every_item_once(directory, count):
    with open(directory + "/effects", encoding="utf-8") as f:
        effects = sorted(int(line) for line in f)
    assert effects == list(range(1, count + 1)), "effects %s" % effects


def until_completed(machines, trouble):
    """Run, and resume, until a run has completed."""
    words = ["workflow", "run", "flow.yaml"]
    for times in range(25):
        process = machines.runner(*words)
        trouble(process, times)
        process.wait(240)
        if process.returncode == 0:
            return times
        run = run_of(machines.directory)
        words = ["workflow", "resume", run] if run else words
    raise AssertionError("it never completes: %s" % machines.answer())


def write_flow(directory, count, chunk, shell):
    with open(directory + "/flow.yaml", "w", encoding="utf-8") as f:
        f.write(FLOW.format(top=directory, queue=QUEUE, items=", ".join(str(i + 1) for i in range(count)), chunk=chunk,
                            shell=json.dumps(shell.replace("TOP", directory))))


def old_attributes():
    """A part goes from a node to the other one and back, within the time that the first one remembers how long its journal was"""
    directory = TOP + "/attributes"
    machines = Machines(directory, ["see=0.3"], ["see=600"])
    try:
        # the tasks of two placements are killed in the middle
        write_flow(directory, 6, 6, "echo ${item} >>'TOP/effects'; case ${item} in 2 | 4) [ -e 'TOP/killed.'${item} ] || { touch 'TOP/killed.'${item}; "
                   "kill -KILL $(pgrep -f 'workflow chunk TOP/'); } ;; esac")
        until_completed(machines, lambda process, times: None)
        every_item_once(directory, 6)
    finally:
        machines.end()
        kill(tasks_of(directory))


def removed_whole(machines, see):
    """Its run is removed. What the other machine wrote last may not be seen yet: that is said, and removed when it tries again."""
    there = machines.directory + "/server/runner-%d" % os.getuid()

    def remove(*words):
        process = machines.runner("workflow", *words, "--confirm-destructive")
        assert process.wait(60) == 0, machines.answer()

    remove("rm", run_of(machines.directory))
    if os.listdir(there):
        assert [w["code"] for w in machines.answer()["warnings"]] == ["FILES_LEFT"], machines.answer()
        time.sleep(see + 1)
        remove("prune", "--keep", "0")
    assert not os.listdir(there), machines.answer()


def one(number, rng):
    directory = "%s/%d" % (TOP, number)
    see, lose = rng.choice([0.3, 1, 3]), rng.choice([0, 3, 10])
    how = ["see=%s" % see, "sync=%s" % rng.choice([0, 0.05, 0.3]), "short=%d" % rng.choice([0, 30])]
    machines, count = Machines(directory, how + ["lose=%d" % (lose // 3)], how + ["lose=%d" % lose]), rng.randrange(4, 14)
    killed = []

    def trouble(process, times):
        if times < 2 and rng.random() < 0.7:
            time.sleep(rng.random() * 3)
            what = rng.choice(["tasks", "coordinator"])
            kill(tasks_of(directory) if what == "tasks" else children_of(process.pid) + [process.pid])
            killed.append(what)

    try:
        write_flow(directory, count, rng.choice([1, 2, 5]), "echo ${item} >>'TOP/effects'; sleep 0.05")
        resumed = until_completed(machines, trouble)
        every_item_once(directory, count)
        removed_whole(machines, see)
        return resumed
    except AssertionError as problem:
        raise SystemExit("seed %d, round %d (%s, lose %d, killed %s), %s: %s" % (SEED, number, " ".join(how), lose, killed, directory,
                                                                             problem)) from problem
    finally:
        machines.end()
        kill(tasks_of(directory))


def main():
    rng, resumed = random.Random(SEED), 0
    old_attributes()
    for number in range(TIMES):
        resumed += one(number, rng)
    print("seed %d: %d times over something like NFS, resumed %d times, every item once" % (SEED, TIMES, resumed))


main()
