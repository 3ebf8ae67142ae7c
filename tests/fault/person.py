"""person.py SOCKET: a person whose terminals were there before what asks: a process that descends from nothing of it. For each
connection, {"argv", "cwd", "env"} in one line of JSON, it calls that at a terminal of its own, answers with its number, and types y
where it is asked. It is gone when its stdin ends."""
import json
import os
import pty
import select
import signal
import socket
import sys
import time


def type_yes(master):
    seen, typed = b"", False
    while True:
        ready, _, _ = select.select([master], [], [], 120)
        try:
            data = os.read(master, 4096) if ready else b""
        except OSError:  # it has ended
            data = b""
        if not data:
            return
        seen += data
        if b"[y/N]" in seen and not typed:
            typed = os.write(master, b"y\n") > 0


def serve(connection):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with connection, connection.makefile("rw", encoding="utf-8") as stream:
        what = json.loads(stream.readline())
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(what["cwd"])
            os.execve(what["argv"][0], what["argv"], what["env"])
        print(pid, file=stream, flush=True)
    type_yes(master)
    os.waitpid(pid, 0)


def main():
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen()
    parent = os.getpid()
    if os.fork():
        return
    while os.getppid() == parent:
        time.sleep(0.001)
    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([listener, 0], [], [])
        if 0 in ready:
            return
        connection, _ = listener.accept()
        if os.fork() == 0:
            serve(connection)
            os._exit(0)
        connection.close()


if __name__ == "__main__":
    main()
