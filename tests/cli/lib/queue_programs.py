"""Stand-ins of the programs of queues that examples/executors call, as far as these do, and as they behave, by their manuals:
queue_programs.py NAME ARGUMENT…, NAME as in the last lines, and `serve`, which starts and ends tasks.

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
FROM_0 = "JOB_COMPLETION_INDEX", "PROCESS"


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


def start(number, job, task):
    env = os.environ | job["env"] | {job["counts_as"]: str(task - 1 if job["counts_as"] in FROM_0 else task), "QUEUE_JOB": mark(number)}
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
            running[str(task)] = start(number, job, task)
            became[str(task)] = {"started": time.time()}
    for task, process in running.items():
        if process.poll() is not None and "status" not in became[task]:
            became[task] |= {"status": process.returncode, "ended": time.time()}
    put(f"{number}.tasks", became)


def mark(number):
    return f"{WHERE}/{number}"


def of_job(number):
    """Every process that a task of it has started."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"QUEUE_JOB={mark(number)}".encode() in file.read().split(b"\0"):
                    yield int(pid)
        except OSError:
            continue


def lose(number, running):
    for process in running.values():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    while list(of_job(number)):
        time.sleep(0.02)  # they end with the one that was killed
    running.clear()  # its number may be used again
    for ending in "job", "tasks":
        taken(f"{number}.{ending}")


def serve():
    all_running = {}
    while True:
        for number, job in jobs().items():
            running = all_running.setdefault(number, {})
            if os.path.exists(path(f"{number}.lose")):
                lose(number, running)
                taken(f"{number}.lose")  # now it is
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


# --- LSF --------------------------------------------------------------------------------------------


def options(words, valued, bare=(), several=()):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for flag in valued:
        parser.add_argument(flag, dest=flag.strip("-"), action="append" if flag in several else "store")
    for flag in bare:
        parser.add_argument(flag, dest=flag.strip("-"), action="store_true")
    return parser.parse_args(words)


def submitted(name, tasks, at_once, output, argv, counts_as):
    return submit({"name": name, "tasks": int(tasks), "at_once": int(at_once or 100), "output": output, "directory": WHERE, "argv": argv,
                   "env": {}, "counts_as": counts_as})


def each_task(wanted):
    """number, job, task, what is known of it, and how it has ended: None, "status", or "removed" before it began."""
    for number, job in jobs().items():
        for task in range(1, job["tasks"] + 1):
            known = state_of(job, task)
            if wanted(job["name"]):
                yield number, job, task, known, "status" if known and "status" in known else "removed" if job["ending"] and not known else None


def end(wanted):
    found = [number for number, job in jobs().items() if wanted(job["name"])]
    for number in found:
        put(f"{number}.end", True)
    return found


def bsub(words):
    given = options(words, ("-J", "-env", "-cwd", "-o", "-q", "-P", "-n", "-R", "-W", "-M", "-gpu"), ("-rn",), ("-R",))
    name, tasks, at_once = re.fullmatch(r"([^\[\]]+)\[1-(\d+)\](?:%(\d+))?", given.J).groups()
    assert given.rn and given.env == "none" and os.path.isdir(given.cwd), given
    if taken("busy"):
        sys.exit("User <me>: the pending job limit has been reached. Job not submitted.")
    if given.q == "nosuch":
        sys.exit("nosuch: No such queue. Job not submitted.")
    asked()
    number = submitted(name, tasks, at_once, given.o, ["/bin/sh", "-c", sys.stdin.read()], "LSB_JOBINDEX")
    if taken("answer-lost"):
        sys.exit("Failed in an LSF library call: Communication time out.")
    print(f"Job <{number}> is submitted to default queue <normal>.")


def bjobs(words):
    assert words[:2] == ["-a", "-J"] and words[3:5] == ["-json", "-o"], words
    asked()
    rows = []
    for number, _, task, known, how in each_task(lambda name: name == words[2]):
        cancelled = how == "removed" or (known or {}).get("cancelled")
        rows.append({"JOBID": str(number), "JOBINDEX": str(task), "EXEC_HOST": "node1" if known else "", "PEND_REASON": "",
                     "STAT": "EXIT" if how == "removed" or how and known["status"] else "DONE" if how else "RUN" if known else "PEND",
                     "EXIT_REASON": "TERM_OWNER: job killed by owner" if how and cancelled else ""})
    if not rows:
        sys.exit(f"Job <{words[2]}> is not found")
    print(json.dumps({"COMMAND": "bjobs", "JOBS": len(rows), "RECORDS": rows}))


def bkill(words):
    assert words[0] == "-J" and words[2] == "0", words
    asked()
    if not end(lambda name: name == words[1]):
        sys.exit(f"Job <{words[1]}> is not found")


# --- PBS --------------------------------------------------------------------------------------------


def pbs_qsub(words):
    given = options(words, ("-N", "-j", "-o", "-S", "-J", "-r", "-q", "-A", "-l"), (), ("-l",))
    assert re.fullmatch(r"[A-Za-z][\w.+-]*", given.N) and given.j == "oe" and (given.J is None) == (given.r == "n"), given
    tasks, at_once = re.fullmatch(r"1-(\d+)(?:%(\d+))?", given.J).groups() if given.J else (1, None)
    assert not given.J or int(tasks) > 1, "qsub: illegal -J value"
    if taken("busy"):
        sys.exit("qsub: would exceed complex's per-user limit of jobs in 'Q' state")
    if given.q == "nosuch":
        sys.exit("qsub: Unknown queue")
    asked()
    number = submitted(given.N, tasks, at_once, os.devnull, ["/bin/sh", "-c", sys.stdin.read()], "PBS_ARRAY_INDEX")
    if taken("answer-lost"):
        sys.exit("qsub: Connection timed out")
    print(pbs_id(number, "[]" if given.J else ""))


def pbs_id(number, index=""):
    return f"{number}{index}.head"


def is_over(job):
    return job["ending"] or all("status" in (state_of(job, task) or {}) for task in range(1, job["tasks"] + 1))


def qselect(words):
    asked()
    name, ended_too = words[words.index("-N") + 1], "-x" in words
    for number, job in jobs().items():
        if job["name"] == name and (ended_too or not is_over(job)):
            print(pbs_id(number, "[]" if job["tasks"] > 1 else ""))


def pbs_qstat(words):
    assert words[:5] == ["-x", "-t", "-f", "-F", "json"], words
    asked()
    wanted, found = {int(re.match(r"\d+", word)[0]) for word in words[5:]}, {}
    for number, job, task, known, how in each_task(lambda name: True):
        if number in wanted:
            array = job["tasks"] > 1
            if array:
                found[pbs_id(number, "[]")] = {"Job_Name": job["name"], "job_state": "B"}
            row = {"Job_Name": job["name"], "job_state": ("X" if array else "F") if how else "R" if known else "Q"}
            if how:
                row["Exit_status"] = 271 if how == "removed" or known.get("cancelled") else known["status"]
            found[pbs_id(number, f"[{task}]" if array else "")] = row
    print(json.dumps({"timestamp": 0, "Jobs": found}))


def pbs_qdel(words):
    asked()
    for word in words:
        put(f"{int(re.match(r'[0-9]+', word)[0])}.end", True)


# --- HTCondor -----------------------------------------------------------------------------------------


def condor_submit(words):
    assert words == ["-terse", "-"], words
    lines = sys.stdin.read().splitlines()
    rows = dict(line.split(" = ", 1) for line in lines if " = " in line)
    tasks = int(re.fullmatch(r"queue (\d+)", lines[-1])[1])
    if taken("busy"):
        sys.exit("ERROR: Failed to create cluster: Number of submitted jobs would exceed MAX_JOBS_PER_OWNER")
    asked()
    token = rows["My.RunnerToken"].strip('"')
    assert rows["arguments"] == "$(Process)" and rows["should_transfer_files"] == "NO" and os.access(rows["executable"], os.X_OK), rows
    number = submitted(token, tasks, rows.get("max_materialize"), os.devnull, ["/bin/sh", "-c", 'exec "$0" "$PROCESS"', rows["executable"]],
                       "PROCESS")
    if taken("answer-lost"):
        sys.exit("ERROR: Failed to commit job submission into the queue. ERROR: Failed to get a reply")
    print(f"{number}.0 - {number}.{tasks - 1}")


def tokens_of(words):
    assert words[0] == "-constraint", words
    return set(re.findall(r'RunnerToken == "([^"]*)"', words[1]))


def ads(words, ended):
    assert words[2:4] == ["-json", "-attributes"], words
    asked()
    tokens, rows = tokens_of(words), []
    for number, job, task, known, how in each_task(lambda name: name in tokens):
        if bool(how) == ended:
            removed = how == "removed" or how and known.get("cancelled")
            rows.append({"ClusterId": number, "ProcId": task - 1, "RunnerToken": job["name"], "JobStatus": 3 if removed else 4 if how else 2 if known else 1}
                        | ({"ExitCode": known["status"]} if how == "status" and not removed else {}))
    print(json.dumps(rows) if rows else "")


def condor_rm(words):
    asked()
    tokens = tokens_of(words)
    if not end(lambda name: name in tokens):
        sys.exit(f"Couldn't find/remove all jobs matching constraint ({words[1]})")


# --- Flux ---------------------------------------------------------------------------------------------


def flux(words):
    if words[0] == "submit":
        at = next(i for i, word in enumerate(words) if i and word[0] != "-")
        given = dict(word.lstrip("-").split("=", 1) for word in words[1:at] if "=" in word)
        if taken("busy"):
            sys.exit("flux-submit: ERROR: [Errno 11] Resource temporarily unavailable")
        asked()
        token = given["job-name"].removesuffix("/{cc}")
        submitted(token, re.fullmatch(r"1-(\d+)", given["cc"])[1], None, os.devnull, words[at:], "FLUX_JOB_CC")
        return sys.exit("flux-submit: ERROR: [Errno 110] Connection timed out") if taken("answer-lost") else None
    asked()
    if words[0] == "cancel":
        wanted = {int(word) // 10000 for word in words[1:]}
        return [put(f"{number}.end", True) for number in wanted]
    assert words[0] == "jobs" and words[-3:] == ["-c", "0", "--json"], words
    rows = []
    for number, job, task, known, how in each_task(lambda name: True):
        cancelled = how == "removed" or how and known.get("cancelled")
        if "-a" in words or not how:
            rows.append({"id": number * 10000 + task, "name": f'{job["name"]}/{task}', "state": "INACTIVE" if how else "RUN" if known else "SCHED"}
                        | ({"result": "CANCELED" if cancelled else "FAILED" if known["status"] else "COMPLETED"} if how else {}))
    return print(json.dumps({"jobs": rows}))


PROGRAMS = {"qsub": qsub, "qstat": qstat, "qacct": qacct, "qdel": qdel, "kubectl": kubectl, "bsub": bsub, "bjobs": bjobs, "bkill": bkill,
            "pbs_qsub": pbs_qsub, "qselect": qselect, "pbs_qstat": pbs_qstat, "pbs_qdel": pbs_qdel, "condor_submit": condor_submit,
            "condor_q": lambda words: ads(words, False), "condor_history": lambda words: ads(words, True), "condor_rm": condor_rm, "flux": flux}

if sys.argv[1] == "serve":
    serve()
else:
    PROGRAMS[sys.argv[1]](sys.argv[2:])
