"""A loop on Slurm that is cancelled at random instants, while parts of it are about to be submitted, pending, limited,
held, suspended or running: `workflow cancel` exits with 0, soon after the queue has nothing of it, and nothing is left.

  placed_cancel.py RUNNER DIR TIMES [SEED]

SLURM_CONF names the cluster, LATE the seconds within which cancel ends once the queue is empty.
"""
import json
import os
import random
import subprocess
import sys
import threading
import time

RUNNER, TOP, TIMES = sys.argv[1], sys.argv[2], int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
LATE = float(os.environ.get("LATE", "3"))

FLOW = """
name: placed
executors: {{ there: {{ kind: slurm, directory: '{top}/shared', poll: 200ms, submit_rate: 100{keys} }} }}
commands:
  - id: each
    foreach: [{items}]
    on: there
    chunk: {chunk}
    do:
      - shell: "sleep {seconds}"
"""

# sbatch that is late, before or after it has submitted
SBATCH = """#!/bin/sh
sleep {before}
{sbatch} "$@" || exit
sleep {after}
"""


def which(program):
    return next(path for path in (os.path.join(d, program) for d in os.environ["PATH"].split(":")) if os.access(path, os.X_OK))


def lines(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=60).stdout.split()


def live(name, states="pending,running,completing,suspended,configuring"):
    """The tasks of the submissions that begin so."""
    found = [line.split("|") for line in lines("squeue", "-h", "-r", "-t", states, "-o", "%i|%j")]
    return [job for job, of in found if of.startswith(name)]


def meddle(rng, name, done):
    """Something that a user, or the site, does to a part of it."""
    tasks = live(name)
    if not tasks:
        return
    some = rng.sample(tasks, rng.randrange(1, len(tasks) + 1))
    verb = rng.choice(["hold", "suspend", "cancel", "requeuehold"])
    done.append("%s %d of %d" % (verb, len(some), len(tasks)))
    argv = ["scancel"] + some if verb == "cancel" else ["scontrol", verb, ",".join(some)]
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)


class Watch(threading.Thread):
    """When the queue was seen to have something of it last."""

    def __init__(self, name):
        super().__init__(daemon=True)
        self.name_of, self.last, self.over = name, time.monotonic(), False

    def run(self):
        while not self.over:
            if live(self.name_of):
                self.last = time.monotonic()
            time.sleep(0.1)


def one(number, rng):
    directory = os.path.join(TOP, str(number))
    os.makedirs(directory + "/shared")
    os.makedirs(directory + "/bin")
    count, at_once = rng.randrange(1, 20), rng.choice([0, 1, 2, 3])
    with open(directory + "/flow.yaml", "w") as f:
        f.write(FLOW.format(top=directory, items=", ".join(map(str, range(count))), chunk=rng.choice([1, 1, 1, 4]),
                            keys=", at_once: %d" % at_once if at_once else "", seconds=rng.choice([0.2, 1, 60, 60])))
    done = ["%d items, at once %d" % (count, at_once)]
    if rng.random() < 0.4:
        before, after = rng.choice([(1, 0), (0, 1), (0.5, 0.5)])
        with open(directory + "/bin/sbatch", "w") as f:
            f.write(SBATCH.format(before=before, after=after, sbatch=which("sbatch")))
        os.chmod(directory + "/bin/sbatch", 0o755)
        done.append("sbatch late by %s, %s s" % (before, after))
    env = {"PATH": directory + "/bin:" + os.environ["PATH"], "HOME": directory, "XDG_STATE_HOME": directory + "/state", "LC_ALL": "C.UTF-8",
           "SLURM_CONF": os.environ["SLURM_CONF"]}

    def runner(*words, **more):
        return subprocess.Popen([RUNNER, *words], cwd=directory, env=env, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)

    with open(directory + "/out", "w") as out:
        run = runner("workflow", "run", "flow.yaml", stdout=out)
    name, until = None, time.monotonic() + 60
    while not name:
        assert time.monotonic() < until and run.poll() is None, directory
        runs = json.loads(runner("workflow", "list", "--format", "json", stdout=subprocess.PIPE).communicate()[0])["data"]
        name = runs and runs[0]["id"]
    # Half of them early, while it is submitted.
    time.sleep(rng.random() * rng.choice([0.6, 3]))
    token = "rn-%s-" % name[-10:]
    for _ in range(rng.randrange(3)):
        meddle(rng, token, done)
        time.sleep(rng.random() * rng.choice([0.1, 1]))
    watch = Watch(token)
    watch.start()
    cancel = runner("workflow", "cancel", name, stdout=subprocess.PIPE)
    answer = cancel.communicate()[0].decode()
    ended = time.monotonic()
    watch.over = True
    watch.join()
    run.communicate()
    late = ended - watch.last
    what = "seed %d, round %d (%s): " % (SEED, number, "; ".join(done))
    state = json.loads(answer)
    if cancel.returncode != 0 and not (cancel.returncode == 6 and "completed" in answer):
        raise SystemExit(what + "cancel exits with %d: %s" % (cancel.returncode, answer))
    if late > LATE:
        raise SystemExit(what + "cancel ended %.1f s after the queue was empty" % late)
    until = time.monotonic() + 20
    while live(token):
        if time.monotonic() > until:
            raise SystemExit(what + "left in the queue: %s" % live(token))
        time.sleep(0.2)
    return late, state["data"] and state["data"]["state"]


def main():
    rng, latest, states, number = random.Random(SEED), 0.0, {}, 0
    while states.get("cancelled", 0) < TIMES:  # a run that has completed before that counts for nothing
        late, state = one(number, rng)
        latest, number = max(latest, late), number + 1
        states[state or "over before"] = states.get(state or "over before", 0) + 1
    print("seed %d: %s, at most %.1f s after the queue was empty" % (
        SEED, ", ".join("%s %d" % pair for pair in sorted(states.items())), latest))


main()
