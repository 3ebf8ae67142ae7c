"""A loop on Slurm in an environment that has every variable that the manual pages of Slurm's programs name, one by one or
some at a time: the same outputs, no submission more than one, and nothing of ours is in the queue some seconds later.

  placed_environment.py RUNNER DIR one|meant|all

SLURM_CONF names the cluster. A variable that is meant for submissions (SBATCH_…) has a value that the cluster takes, and what it is
meant for is found in the job where the row says how.
"""
import json
import os
import subprocess
import sys
import time

RUNNER, TOP, HOW = sys.argv[1:4]
ITEMS = 3

# What squeue, scancel, scontrol and sinfo take from the environment, and values with which they would find nothing, or do something else:
# from the pages of 22.05, and from opts.c and opt.c of all releases up to 26.11.
ASKING = {
    "SQUEUE_ACCOUNT": "nobody", "SQUEUE_ALL": "1", "SQUEUE_ARRAY": "1", "SQUEUE_FEDERATION": "1", "SQUEUE_FORMAT": "%i", "SQUEUE_FORMAT2": "jobid",
    "SQUEUE_LICENSES": "none", "SQUEUE_LOCAL": "1", "SQUEUE_NAMES": "other", "SQUEUE_PARTITION": "other", "SQUEUE_PRIORITY": "1",
    "SQUEUE_QOS": "other", "SQUEUE_SIB": "1", "SQUEUE_SIBLING": "1", "SQUEUE_SORT": "-i", "SQUEUE_STATES": "FAILED", "SQUEUE_USERS": "daemon",
    "SCANCEL_ACCOUNT": "nobody", "SCANCEL_BATCH": "true", "SCANCEL_CRON": "true", "SCANCEL_CTLD": "true", "SCANCEL_FULL": "true",
    "SCANCEL_HURRY": "true", "SCANCEL_INTERACTIVE": "true", "SCANCEL_NAME": "other", "SCANCEL_PARTITION": "other", "SCANCEL_QOS": "other",
    "SCANCEL_STATE": "PENDING", "SCANCEL_USER": "daemon", "SCANCEL_VERBOSE": "5", "SCANCEL_WCKEY": "other",
    "SCONTROL_ALL": "1", "SCONTROL_FEDERATION": "1", "SCONTROL_FUTURE": "1", "SCONTROL_LOCAL": "1", "SCONTROL_SIBLING": "1",
    "SINFO_ALL": "1", "SINFO_FEDERATION": "1", "SINFO_FORMAT": "%i", "SINFO_FUTURE": "1", "SINFO_LOCAL": "1", "SINFO_PARTITION": "other",
    "SINFO_SORT": "-i",
    "SLURM_BITSTR_LEN": "8", "SLURM_CLUSTERS": "elsewhere", "SLURM_DEBUG_FLAGS": "Protocol", "SLURM_TIME_FORMAT": "relative",
    "SLURM_TOPO_LEN": "4", "SLURM_EXIT_ERROR": "0", "SLURM_CONF_OUT": "/nowhere", "SLURM_UMASK": "0077",
}
# What sbatch takes that runner itself says.
OURS = {
    "SBATCH_ARRAY_INX": "1-20", "SBATCH_CLUSTERS": "elsewhere", "SBATCH_DEBUG": "3", "SBATCH_ERROR": "/nowhere/e", "SBATCH_EXPORT": "ALL",
    "SBATCH_INPUT": "/nowhere/i", "SBATCH_JOB_NAME": "other", "SBATCH_NO_REQUEUE": "1", "SBATCH_OPEN_MODE": "truncate",
    "SBATCH_OUTPUT": "/nowhere/o", "SBATCH_REQUEUE": "1", "SBATCH_SIGNAL": "B:KILL@60", "SBATCH_WAIT": "1",
}
# What is meant: a value, and what `scontrol show job` has then, where it shows it.
MEANT = {
    "SBATCH_ACCOUNT": ("a1", "Account=a1"), "SBATCH_ACCTG_FREQ": ("30", None), "SBATCH_CONSTRAINT": ("", None), "SBATCH_CORE_SPEC": ("0", None),
    "SBATCH_DELAY_BOOT": ("5", "DelayBoot=00:05:00"), "SBATCH_DISTRIBUTION": ("block", None),
    "SBATCH_EXCLUSIVE": ("user", "OverSubscribe=USER"), "SBATCH_GET_USER_ENV": ("10L", None), "SBATCH_GRES_FLAGS": ("enforce-binding", None),
    "SBATCH_HINT": ("nomultithread", None), "SBATCH_IGNORE_PBS": ("1", None), "SBATCH_MEM_BIND": ("quiet", None),
    "SBATCH_MEM_PER_CPU": ("100M", "MinMemoryCPU=100M"), "SBATCH_MEM_PER_NODE": ("200M", "MinMemoryNode=200M"), "SBATCH_NETWORK": ("", None),
    "SBATCH_NO_KILL": ("set", None), "SBATCH_OVERCOMMIT": ("1", None), "SBATCH_PARTITION": ("main", "Partition=main"), "SBATCH_POWER": ("", None),
    "SBATCH_PROFILE": ("none", None), "SBATCH_QOS": ("", None), "SBATCH_REQ_SWITCH": ("1", "Switches=1"), "SBATCH_RESERVATION": ("", None),
    "SBATCH_SPREAD_JOB": ("1", None), "SBATCH_THREADS_PER_CORE": ("1", None), "SBATCH_TIMELIMIT": ("7", "TimeLimit=00:07:00"),
    "SBATCH_USE_MIN_NODES": ("1", None), "SBATCH_WAIT_ALL_NODES": ("1", None), "SBATCH_WCKEY": ("w", None),
}

FLOW = """
name: placed
executors: {{ there: {{ kind: slurm, directory: '{top}/shared', poll: 200ms, submit_rate: 100 }} }}
commands:
  - id: each
    foreach: [{items}]
    on: there
    chunk: 1
    do:
      - shell: 'scontrol show job "$SLURM_JOB_ID" >"{top}/job"; echo "${{item}}"'
"""


def lines(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=60, check=True).stdout.split()


def attempt(number, values):
    directory = os.path.join(TOP, str(number))
    os.makedirs(directory + "/shared")
    with open(directory + "/flow.yaml", "w") as f:
        f.write(FLOW.format(top=directory, items=", ".join(map(str, range(ITEMS)))))
    env = {"PATH": os.environ["PATH"], "HOME": directory, "XDG_STATE_HOME": directory + "/state", "LC_ALL": "C.UTF-8",
           "SLURM_CONF": os.environ["SLURM_CONF"]} | values
    done = subprocess.run([RUNNER, "workflow", "run", "flow.yaml", "--timeout", "60s"], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    what = "%s: " % ", ".join("%s=%s" % pair for pair in values.items())
    answer = json.loads(done.stdout)
    if done.returncode != 0:
        raise SystemExit(what + done.stdout.decode())
    outputs = [int(item["output"]) for item in answer["data"]["steps"][0]["data"]]
    assert outputs == list(range(ITEMS)), what + str(outputs)
    shown = json.loads(subprocess.run([RUNNER, "workflow", "show", answer["data"]["id"] if "id" in answer["data"] else "@last", "--format",
                                       "json"], cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      stdin=subprocess.DEVNULL, check=False).stdout)
    placed = shown["data"]["placed"][0]
    assert placed["placements"] == 1, what + str(placed)
    until = time.monotonic() + 10
    while lines("squeue", "-h", "-r", "-t", "pending,running,completing,suspended", "-o", "%i"):
        assert time.monotonic() < until, what + "left in the queue"
        time.sleep(0.1)
    with open(directory + "/job") as f:
        return f.read()


def main():
    number = 0
    if HOW == "all":
        attempt(0, ASKING | OURS)
        job = attempt(1, {name: value for name, (value, found) in MEANT.items() if found and "MEM_PER_CPU" not in name})
        missing = [found for name, (_, found) in MEANT.items() if found and "MEM_PER_CPU" not in name and found not in job]
        assert not missing, (missing, job)
    else:
        for name, value in (ASKING | OURS if HOW == "one" else {}).items():
            attempt(number, {name: value})
            number += 1
        for name, (value, found) in MEANT.items():
            job = attempt(number, {name: value})
            number += 1
            assert not found or found in job, (name, job)
    print("the same with each of %d variables of the environment" % (len(ASKING) + len(OURS) + len(MEANT)))


main()
