"""What the tests of placed steps share: the tasks that run below a folder, their ends, and the only run in its store."""
import contextlib
import os
import signal
import sqlite3


def tasks_of(directory):
    """pid → pid of its parent, of each task that runs below the directory"""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % name, "rb") as line, open("/proc/%s/status" % name, encoding="utf-8") as status:
                argv = line.read().split(b"\0")
                if b"chunk" in argv and any(word.startswith(directory.encode() + b"/") for word in argv):
                    found[int(name)] = int(status.read().split("\nPPid:")[1].split()[0])
        except OSError:
            pass
    return found


def kill(pids, number=signal.SIGKILL):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def run_of(directory, column="id"):
    """A column of the only run in the store; None: there is none yet. (Who was killed at once has not always said its name.)"""
    try:
        with contextlib.closing(sqlite3.connect("file:%s/state/runner/runs.db?mode=rw" % directory, uri=True, timeout=10)) as db:
            found = db.execute("SELECT %s FROM runs" % column).fetchall()
    except sqlite3.OperationalError as problem:  # there is no store yet, or no table
        assert "locked" not in str(problem), problem
        return None
    assert len(found) <= 1, "%s: two runs: %s" % (directory, found)
    return found[0][0] if found else None
