"""Namespaces with innocents beside us, whose process numbers the run could mistake for its
own: rows of rows.py.

RUNNER names the binary.
"""
import json
import subprocess
import sys

import harness
import rows
from harness import Stage
from rows import Skip, bad, command, row

# In namespace A, with a /proc of its own, processes 2 to 9 have 8 children each. In B, below A
# and without a /proc of its own, 2 and the next few are the runner's, and the children's numbers
# belong to innocents.
INNOCENTS = r"""
import ctypes, json, os, signal, subprocess, sys, time
libc = ctypes.CDLL(None)
event, runner, path = sys.argv[1:]

def sleepers(n):
    pids = []
    for _ in range(n):
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            time.sleep(40)
            os._exit(0)
        pids.append(pid)
    return pids

for i in range(8):
    if os.fork() == 0:
        time.sleep(0.3 + i / 10)
        sleepers(8)
        time.sleep(40)
        os._exit(0)
time.sleep(1.5)
libc.unshare(0x20000000)  # CLONE_NEWPID
init = os.fork()
if init > 0:
    status = os.waitpid(init, 0)[1]
    os._exit(os.waitstatus_to_exitcode(status) & 255)
run = subprocess.Popen([runner, "c", "--timeout", "60s" if event != "timeout" else "5s"],
                       stdout=open("out", "wb"), stderr=open("err", "wb"), stdin=subprocess.DEVNULL)
while not os.path.exists("ready"):
    time.sleep(0.01)
innocents = sleepers(60)
if event == "stop":
    os.kill(run.pid, signal.SIGTSTP)
    time.sleep(0.3)
    stopped = sum(os.waitpid(p, os.WNOHANG | os.WUNTRACED)[0] != 0 for p in innocents)
    os.kill(run.pid, signal.SIGCONT)
    time.sleep(0.1)
    os.kill(run.pid, signal.SIGTERM)
elif event != "timeout":
    os.kill(run.pid, getattr(signal, event))
status = run.wait()
time.sleep(0.5)
hurt = [p for p in innocents if os.waitpid(p, os.WNOHANG | os.WUNTRACED)[0] != 0]
if event == "stop" and stopped:
    hurt += [stopped]
json.dump({"runner": run.pid, "status": status, "hurt": hurt}, open(path, "w"))
os._exit(0)
"""


def innocents(event, body, status, namespaces=("--pid",)):
    with Stage() as stage:
        stage.write("innocents.py", INNOCENTS)
        command(stage, body)
        env = stage.environment(RUNNER=harness.RUNNER)
        run = subprocess.run(["unshare", *namespaces, "--fork", "--mount-proc", "--kill-child", sys.executable,
                              stage.path("innocents.py"), event, harness.RUNNER, stage.path("told")],
                             cwd=stage.dir, env=env, capture_output=True, timeout=60, check=False)
        if b"unshare" in run.stderr:
            raise Skip(f"no such namespaces here: {run.stderr.decode().strip()}")
        with open(stage.path("told"), encoding="ascii") as f:
            told = json.load(f)
        assert told["runner"] == 2, told
        assert not told["hurt"], f"innocents hurt: {told}"
        assert told["status"] == status, told
        if status >= 0:
            with open(stage.path("out"), "rb") as f:
                e = harness.one_envelope(f.read(), status)
            assert all(w["code"] != "SURVIVORS" for w in e.warnings), e.warnings


FOREIGN = "io.open('ready', 'w'):close() os.execute([[trap '' TERM; sleep 30; sleep 30]])"


@row
def foreign_proc_timeout():
    """with another namespace's /proc, a limit ends our own and hurts nobody"""
    innocents("timeout", FOREIGN, 10)


@row
def foreign_proc_term():
    """with another namespace's /proc, a cancellation hurts nobody"""
    innocents("SIGTERM", FOREIGN, 143)


@row
def foreign_proc_kill():
    """with another namespace's /proc, a killed supervisor's worker and guard hurt nobody"""
    innocents("SIGKILL", bad("bad.block() " + FOREIGN), -9)


@row
def foreign_proc_stop():
    """with another namespace's /proc, Ctrl+Z stops nobody else"""
    innocents("stop", FOREIGN, 143)


@row
def foreign_proc_shepherd():
    """with another namespace's /proc, the shepherd of a workflow's step hurts nobody"""
    innocents("SIGTERM", "io.open('w.yaml', 'w'):write('name: w\\nsteps:\\n  - id: a\\n    shell: touch ready; sleep 30\\n'):close() "
              "ctx:run { os.getenv('RUNNER'), 'workflow', 'run', 'w.yaml' }", 143)


# A user namespace, in which an ordinary user is root: over innocents of that user, too.
OTHER_USER = ("--user", "--map-root-user", "--pid")


@row
def user_timeout():
    """in a user namespace of its own, a limit ends our own and hurts nobody"""
    innocents("timeout", FOREIGN, 10, OTHER_USER)


@row
def user_term():
    """in a user namespace of its own, a cancellation hurts nobody"""
    innocents("SIGTERM", FOREIGN, 143, OTHER_USER)


@row
def user_kill():
    """in a user namespace of its own, a killed supervisor's worker and guard hurt nobody"""
    innocents("SIGKILL", bad("bad.block() " + FOREIGN), -9, OTHER_USER)


@row
def user_stop():
    """in a user namespace of its own, Ctrl+Z stops nobody else"""
    innocents("stop", FOREIGN, 143, OTHER_USER)


if __name__ == "__main__":
    rows.main()
