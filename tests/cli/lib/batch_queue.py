"""A queue of one machine behind the three programs of `kind: command` (docs/scale.md): batch_queue.py submit|states|cancel
DIR, and batch_queue.py serve DIR, the daemon that starts the tasks: what a program starts itself ends with it. What is known
lies in DIR: TOKEN.new is asked for, TOKEN has the pids of its tasks, a line each, TOKEN.end is to be ended."""
import json
import os
import signal
import subprocess
import sys
import time

verb, where = sys.argv[1:3]


def path(token):
    return os.path.join(where, token)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def pids(token):
    try:
        with open(path(token), encoding="utf-8") as file:
            return [int(line) for line in file]
    except FileNotFoundError:
        return None


def asked(token):
    try:
        with open(path(token + ".new"), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def put(name, text):
    with open(path("." + name), "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path("." + name), path(name))


def start(token):
    request = asked(token)
    tasks = [subprocess.Popen(request["argv"] + [str(number)], cwd=request["directory"], start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
             for number in range(1, request["tasks"] + 1)]
    put(token, "".join(f"{task.pid}\n" for task in tasks))
    os.unlink(path(token + ".new"))
    return tasks


def serve():
    started = []
    while True:
        for name in os.listdir(where):
            token, _, kind = name.rpartition(".")
            if name[:1] == ".":
                continue  # it is being written
            if kind == "new":
                started += start(token)
            elif kind == "end" and not os.path.exists(path(token + ".new")):
                os.unlink(path(name))
                for pid in pids(token) or []:
                    if alive(pid):
                        os.kill(pid, signal.SIGTERM)
        started = [task for task in started if task.poll() is None]
        time.sleep(0.02)


def states(tokens):
    found = {}
    for token in tokens:
        waiting, started = asked(token), pids(token)  # in this order: a token is never in neither
        if started is not None:
            found[token] = {"job": token, "tasks": {
                str(i + 1): {"state": "running"} if alive(pid) else {"state": "ended", "ended": "completed"}
                for i, pid in enumerate(started)}}
        elif waiting:
            found[token] = {"job": token, "tasks": {str(i + 1): {"state": "pending"} for i in range(waiting["tasks"])}}
    return {"placements": found}


def answer(request):
    assert request["version"] == 1
    if verb == "submit":
        put(request["token"] + ".new", json.dumps(request))
        return {"job": request["token"]}
    if verb == "states":
        return states(request["tokens"])
    for token in request["tokens"]:
        put(token + ".end", "")
    return {}


if verb == "serve":
    serve()
else:
    print(json.dumps(answer(json.load(sys.stdin))))
