"""Stand-ins of the programs of Grid Engine and Kubernetes that examples/executors call, as far as these do, and as
they behave: queue_programs.py qsub|qstat|qacct|qdel|kubectl ARGUMENT…, and `serve`, which starts and ends tasks.

All lies in $QUEUE: N.job is what was asked for, N.tasks what became of it (only serve writes it), N.end is to be ended.
Faults are files there: `hold` (nothing starts), `answer-lost` (the next submission arrives, its answer doesn't; then
the file is gone), `busy` (the next one is not taken), `unreachable` (nobody can ask), N.lose (job N is killed, and forgotten)."""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from xml.sax.saxutils import escape

WHERE = os.environ["QUEUE"]
ACCOUNTING_S = 0.3  # qacct knows of an end only then
LABEL = "runner-token"


def path(name):
    return os.path.join(WHERE, name)


def put(name, value):
    with open(path("." + name), "w", encoding="utf-8") as file:
        json.dump(value, file)
    os.rename(path("." + name), path(name))


def get(name, default=None):
    try:
        with open(path(name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return default


def taken(name):
    try:
        os.unlink(path(name))
        return True
    except FileNotFoundError:
        return False


def jobs():
    """number → what was asked for, and its tasks by number, oldest first."""
    found = {}
    for number in sorted(int(name[:-4]) for name in os.listdir(WHERE) if name.endswith(".job") and name[0] != "."):
        job = get(f"{number}.job")
        if job:
            found[number] = job | {"became": get(f"{number}.tasks", {}), "ending": os.path.exists(path(f"{number}.ended"))}
    return found


def state_of(job, task):
    """None: it waits; else what is known of it."""
    return job["became"].get(str(task))


def submit(job):
    number = max(jobs(), default=0) + 1
    put(f"{number}.job", job)
    return number


def asked():
    if os.path.exists(path("unreachable")):
        sys.exit("error: unable to send message to qmaster, or to reach the server")


# --- the daemon -------------------------------------------------------------------------------


def start(job, task):
    env = os.environ | job["env"] | {job["counts_as"]: str(task if job["counts_as"] == "SGE_TASK_ID" else task - 1)}
    with open(job["output"], "ab") as out:
        return subprocess.Popen(job["argv"], cwd=job["directory"], env=env, start_new_session=True, stdin=subprocess.DEVNULL,
                                stdout=out, stderr=out)


def step(number, job, running):
    became = job["became"]
    if taken(f"{number}.end"):
        put(f"{number}.ended", True)
        job["ending"] = True
        for task, process in running.items():
            if process.poll() is None:
                became[task]["cancelled"] = True
                os.kill(process.pid, signal.SIGTERM)
    for task in range(1, job["tasks"] + 1):
        at_once = sum(process.poll() is None for process in running.values())
        if str(task) not in became and not job["ending"] and not os.path.exists(path("hold")) and at_once < job["at_once"]:
            running[str(task)] = start(job, task)
            became[str(task)] = {"started": time.time()}
    for task, process in running.items():
        if process.poll() is not None and "status" not in became[task]:
            became[task] |= {"status": process.returncode, "ended": time.time()}
    put(f"{number}.tasks", became)


def lose(number, running):
    for process in running.values():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    running.clear()  # its number may be used again
    for ending in "job", "tasks":
        taken(f"{number}.{ending}")


def serve():
    all_running = {}
    while True:
        for number, job in jobs().items():
            running = all_running.setdefault(number, {})
            if taken(f"{number}.lose"):
                lose(number, running)
            elif not all("status" in state_of(job, task) if state_of(job, task) else job["ending"]
                         for task in range(1, job["tasks"] + 1)) or os.path.exists(path(f"{number}.end")):
                step(number, job, running)
        time.sleep(0.02)


# --- Grid Engine ---------------------------------------------------------------------------------


def qsub(words):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in "-S", "-r", "-N", "-t", "-j", "-o", "-q", "-P", "-tc", "-pe", "-l":
        parser.add_argument(flag, nargs=2 if flag == "-pe" else None, action="append" if flag == "-l" else "store")
    parser.add_argument("-terse", action="store_true")
    given = parser.parse_args(words)
    assert given.terse and re.fullmatch(r"[A-Za-z][\w.-]*", given.N) and (given.S, given.r, given.j) == ("/bin/sh", "n", "y"), given
    if taken("busy"):
        sys.exit("Unable to run job: job rejected: Only 10 jobs are allowed per user (current job count: 10).\nExiting.")
    if given.q == "nosuch":
        sys.exit('Unable to run job: Job was rejected because job requests unknown queue "nosuch".\nExiting.')
    asked()
    tasks = int(re.fullmatch(r"1-(\d+)", given.t)[1])
    number = submit({"name": given.N, "tasks": tasks, "at_once": int(given.tc or 100), "output": given.o, "directory": WHERE,
                     "argv": ["/bin/sh", "-c", sys.stdin.read()], "env": {}, "counts_as": "SGE_TASK_ID"})
    if taken("answer-lost"):
        sys.exit("error: got no response from qmaster: commlib error: got read error")
    print(f"{number}.1-{tasks}:1")


def qstat(words):
    assert words == ["-xml", "-r", "-g", "d"], words
    asked()
    rows = []
    for number, job in jobs().items():
        for task in range(1, job["tasks"] + 1):
            known = state_of(job, task)
            if (known and "status" in known) or (job["ending"] and not known):
                continue
            state, queue = ("r", "all.q@node1") if known else ("qw", "")
            rows.append(f'<job_list state="{"running" if known else "pending"}"><JB_job_number>{number}</JB_job_number><JB_name>'
                        f'{escape(job["name"][:10])}</JB_name><state>{state}</state><queue_name>{queue}</queue_name><slots>1</slots>'
                        f'<tasks>{task}</tasks><full_job_name>{escape(job["name"])}</full_job_name></job_list>')
    print("<?xml version='1.0'?>\n<job_info><queue_info>", *rows, "</queue_info><job_info></job_info></job_info>", sep="\n")


def qacct(words):
    name, found = words[1], False
    for number, job in jobs().items():
        for task, known in job["became"].items():
            if job["name"] == name and "status" in known and known["ended"] + ACCOUNTING_S < time.time():
                found = True
                failed = "100 : assumedly after job" if known["status"] < 0 or known.get("cancelled") else "0"
                status = known["status"] if known["status"] >= 0 else 128 - known["status"]
                print("=" * 62)
                for row in (("qname", "all.q"), ("hostname", "node1"), ("jobname", name), ("jobnumber", number), ("taskid", task),
                            ("failed", failed), ("deleted_by", "me@login" if known.get("cancelled") else "NONE"), ("exit_status", status)):
                    print(f"{row[0]:<12} {row[1]}  ")
    if not found:
        sys.exit(f"error: job name {name} not found")


def qdel(words):
    asked()
    known, missing = {job["name"]: number for number, job in jobs().items()}, False
    for name in words:
        if name in known:
            put(f"{known[name]}.end", True)
            print(f'me has registered the job {known[name]} for deletion')
        else:
            missing = True
            print(f'denied: job "{name}" does not exist')
    sys.exit(1 if missing else 0)


# --- Kubernetes -------------------------------------------------------------------------------------


def create():
    job = json.load(sys.stdin)
    name, spec, pod = job["metadata"]["name"], job["spec"], job["spec"]["template"]["spec"]
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", name), name
    assert spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never" and spec["backoffLimitPerIndex"] == 0, spec
    assert pod["securityContext"]["runAsUser"] == os.getuid() and pod["volumes"][0]["name"] == "shared", pod
    if taken("busy"):
        sys.exit('Error from server (Forbidden): error when creating "STDIN": jobs.batch is forbidden: exceeded quota: jobs')
    if any(other["name"] == name for other in jobs().values()):
        sys.exit(f'Error from server (AlreadyExists): error when creating "STDIN": jobs.batch "{name}" already exists')
    asked()
    box = pod["containers"][0]
    if box["image"] == "nosuch:":
        sys.exit(f'The Job "{name}" is invalid: spec.template.spec.containers[0].image: Invalid value')
    submit({"name": name, "label": job["metadata"]["labels"][LABEL], "tasks": spec["completions"], "at_once": spec["parallelism"],
            "argv": box["command"], "directory": box["workingDir"], "output": os.devnull,
            "env": {row["name"]: row["value"] for row in box["env"]}, "counts_as": "JOB_COMPLETION_INDEX"})
    if taken("answer-lost"):
        sys.exit("Error from server (Timeout): the server was unable to return a response in the time allotted")
    print(f"job.batch/{name} created")


def labelled(words):
    tokens = set(re.fullmatch(LABEL + r" in \((.*)\)", words[words.index("-l") + 1])[1].split(","))
    return {number: job for number, job in jobs().items() if job["label"] in tokens}


def pod_of(job, task, known):
    status = {"phase": "Running"}
    if "status" in known:
        status = {"phase": "Succeeded" if known["status"] == 0 else "Failed"}
    return {"metadata": {"name": f'{job["name"]}-{task - 1}-abcde', "labels": {LABEL: job["label"]}, "creationTimestamp": str(known["started"]),
                         "annotations": {"batch.kubernetes.io/job-completion-index": str(task - 1)}},
            "spec": {"nodeName": "node1"}, "status": status}


def of_kind(kind, found):
    for job in found.values():
        tasks = {task: state_of(job, task) for task in range(1, job["tasks"] + 1)}
        if kind == "pods":
            yield from (pod_of(job, task, known) for task, known in tasks.items() if known)
        elif not job["ending"] or any(known and "status" not in known for known in tasks.values()):
            status = {"completedIndexes": ",".join(str(t - 1) for t, known in tasks.items() if known and known.get("status") == 0)}
            yield {"metadata": {"name": job["name"], "labels": {LABEL: job["label"]}} | ({"deletionTimestamp": "now"} if job["ending"] else {}),
                   "spec": {"completions": job["tasks"]}, "status": status}


def kubectl(words):
    if words[0] == "create":
        return create()
    asked()
    if words[0] == "get":
        return print(json.dumps({"items": list(of_kind(words[1], labelled(words)))}))
    assert words[:2] == ["delete", "jobs"] and "--wait=false" in words, words
    for number in labelled(words):
        put(f"{number}.end", True)
    return None


if sys.argv[1] == "serve":
    serve()
else:
    {"qsub": qsub, "qstat": qstat, "qacct": qacct, "qdel": qdel, "kubectl": kubectl}[sys.argv[1]](sys.argv[2:])
