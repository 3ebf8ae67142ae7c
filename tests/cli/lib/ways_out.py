"""Judges what lib/ways_out.c has tried.

ways_out.py control TRIED                  rings out of which a way led without confinement, one a line
ways_out.py confined TRIED ENVELOPE        each way that led out is of a ring that meta.confined lacks, and each ring that it holds was tried
ways_out.py victim FILE                    what is to stay as it is, of the process that FILE tells of
"""
import json
import os
import subprocess
import sys

ELSEWHERE = {"read", "terminal", "channel"}  # tests of their own


def ways(path):
    rows = [line.split() for line in open(path)]
    assert len(rows) > 100, rows
    return [(row[0], row[1], row[2] == "out") for row in rows]


def control(tried):
    out = [(ring, name) for ring, name, led in ways(tried) if led]
    print(*sorted({ring for ring, _ in out}), sep="\n")


def confined(tried, envelope):
    meta = json.load(open(envelope))["meta"]["confined"]
    out = [(ring, name) for ring, name, led in ways(tried) if led]
    free = {"write", "truncate"} - set(meta["holds"])  # a command need not declare these
    wrong = [way for way in out if way[0] not in free.union(meta["lacks"])]
    assert not wrong, (wrong, meta)
    untried = set(meta["holds"]) - {ring for ring, _, _ in ways(tried)} - ELSEWHERE
    assert not untried, untried


def victim(path):
    pid, _, _, shm, msg, sem, name, _ = open(path).read().split()
    pid = int(pid)
    ipc = [f"{kind} {number}" for kind, number in (("shm", shm), ("msg", msg), ("sem", sem))
           if any(line.split()[1] == number for line in open(f"/proc/sysvipc/{kind}").read().splitlines()[1:])]
    waiting = next(line.split()[5] for line in open("/proc/sysvipc/msg").read().splitlines()[1:] if line.split()[1] == msg) if len(ipc) == 3 else None
    print([line for line in open(f"/proc/{pid}/limits") if "core" in line], os.getpriority(os.PRIO_PROCESS, pid), os.sched_getscheduler(pid),
          sorted(os.sched_getaffinity(pid)), subprocess.run(["ionice", "-p", str(pid)], capture_output=True, text=True).stdout, ipc, waiting, name)


globals()[sys.argv[1]](*sys.argv[2:])
