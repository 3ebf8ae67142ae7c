"""A loop on an executor whose coordinator, or tasks, are killed at random instants: every item
is done once, whatever was killed when.

  placed_kill.py RUNNER DIR TIMES [SEED]

EXECUTOR has the keys of another executor than this machine, SPAN the seconds in which somebody
is killed; KILLS goes on until so many were killed, whatever TIMES says. Each time in a directory of its own: the run is started, killed at a random instant (its
supervisor and worker; or those of all tasks), and resumed, killed again, until nothing kills it.
The items' `verify` says whether an item was done, so nothing may be left in doubt.
"""
import json
import os
import random
import subprocess
import sys
import time

from harness import children_of
from placed import kill, run_of

RUNNER, TOP, TIMES = sys.argv[1], sys.argv[2], int(sys.argv[3])
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else random.randrange(1 << 30)
ITEMS = 8
EXECUTOR = os.environ.get("EXECUTOR", "kind: local, at_once: 2, poll: 100ms")
SPAN = float(os.environ.get("SPAN", "0.8"))
KILLS = int(os.environ.get("KILLS", "0"))

FLOW = """
name: placed
executors: { here: { %s } }
commands:
  - id: each
    foreach: [%s]
    on: here
    chunk: 2
    do:
      - shell: "echo ${item} >>effects; sleep 0.02"
        verify: grep -qx ${item} effects
        idempotent: false
  - shell: "echo ${steps.each.output} | wc -w"
    idempotent: true
""" % (EXECUTOR, ", ".join(str(i + 1) for i in range(ITEMS)))


def processes(mark, directory):
    """pid → argv of what carries the mark in its environment, or runs a chunk below the directory"""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/environ" % name, "rb") as environ, open("/proc/%s/cmdline" % name, "rb") as line:
                    argv = line.read().split(b"\0")
                    if mark in environ.read().split(b"\0") or b"chunk" in argv and any(word.startswith(directory) for word in argv):
                        found[int(name)] = argv
            except OSError:
                pass
    return found


def one(number, rng):
    directory = os.path.join(TOP, str(number))
    os.makedirs(directory + "/shared")
    with open(directory + "/flow.yaml", "w") as f:
        f.write(FLOW.replace("DIRECTORY", directory + "/shared"))
    mark = "PLACED_KILL=%d.%d" % (os.getpid(), number)
    env = {"PATH": os.environ["PATH"], "HOME": directory, "XDG_STATE_HOME": directory + "/state", "LC_ALL": "C.UTF-8",
           "PLACED_KILL": mark.split("=")[1]}
    env.update({name: os.environ[name] for name in ("SLURM_CONF",) if name in os.environ})
    words, kills, done = ["workflow", "run", "flow.yaml"], rng.randrange(1, 4), []
    for _ in range(50):
        with open(directory + "/err", "ab") as err:
            process = subprocess.Popen([RUNNER] + words, cwd=directory, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err)
        if kills > 0:
            kills -= 1
            time.sleep(rng.random() * SPAN)
            what = rng.choice(["both", "worker", "tasks", "task"])
            done.append(what)
            if what in ("both", "worker"):
                workers = children_of(process.pid)
                kill(([process.pid] if what == "both" else []) + workers)
            else:
                tasks = [pid for pid, argv in processes(mark.encode(), (directory + "/").encode()).items() if b"chunk" in argv]
                kill(tasks if what == "tasks" else tasks[:1])
        out = process.communicate()[0]
        run = run_of(directory)
        if process.returncode == 0:
            break
        words = ["workflow", "resume", run] if run else words
    else:
        raise SystemExit("%s: it never completes: %s" % (directory, out.decode()))
    with open(directory + "/effects") as f:
        effects = sorted(int(line) for line in f)
    steps = json.loads(out)["data"]["steps"]
    if effects != list(range(1, ITEMS + 1)) or steps[-1].get("output") is None:
        raise SystemExit("seed %d, %s, killed %s: effects %s" % (SEED, directory, done, effects))
    return done


def main():
    rng, number, kills = random.Random(SEED), 0, 0
    while kills < KILLS if KILLS else number < TIMES:
        kills += len(one(number, rng))
        number += 1
    print("seed %d: %d times, %d killed, every item once" % (SEED, number, kills))


main()
