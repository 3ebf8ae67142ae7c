"""A wait that ends at once, for ever: each kind of wait × what poll(2) says × process. The run costs no processor, ends
as it would have ended, and its answer says which descriptor it was.

busy.py     RUNNER names the binary
"""
import concurrent.futures
import http.server
import os
import select
import shutil
import sys
import threading
import time

import harness
import sweep
from harness import Run, Stage

WAITS = {
    "a sleep": "ctx:sleep(3)",
    "a program": "ctx:run { 'sleep', '3' }",
    "a program that prints": "ctx:run { 'sh', '-c', 'echo a; sleep 3; echo b', echo = true }",
    "several programs": "ctx:parallel { { run = { 'sleep', '3' } }, { run = { 'sleep', '3' } } }",
    "os.execute": "os.execute 'sleep 3'",
    "a request": "ctx:http { url = '%s', timeout = '60s' }",
    "a step of a workflow": None,
    "a backoff": "if ctx.attempt == 1 then ctx:fail('UNAVAILABLE', 'again') end",
}
KEYS = "retry = { retries = 1, delay = '3s', jitter = 'none', on = { 'UNAVAILABLE' } },"
FAULTS = {"POLLHUP": -select.POLLHUP, "POLLERR": -select.POLLERR, "POLLNVAL": -select.POLLNVAL, "POLLIN": -select.POLLIN, "nothing": 0}
ROLES = ("supervisor", "worker")
MOST_CALLS = 4000  # of poll in one process: who spins makes as many in a tenth of a second
MOST_S = 2.5       # of processor time in all processes, on a slow machine


class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(3)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except ConnectionError:
            pass


def counted(path, shim):
    """How often each role has called poll and ppoll (struct state of shim.c)."""
    names = sweep.call_names(shim)
    with open(path, "rb") as f:
        raw = memoryview(f.read()).cast("I")
    return [sum(raw[2 + role * len(names) + names.index(call)] for call in ("poll", "ppoll")) for role in range(len(ROLES))]


def used(pid):
    """The processor time of a process that is dead, but not reaped, and of all that it has reaped."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def one(shim, wait, fault, role, url):
    """What is wrong; None: nothing."""
    with Stage() as stage:
        argv = ["c"] if WAITS[wait] else ["workflow", "run", "w.yaml"]
        stage.command("c", (WAITS[wait] or "").replace("%s", url) + " return {}", KEYS)
        stage.write("w.yaml", "name: w\nsteps:\n  - {id: a, shell: sleep 3}\n")
        state = stage.path("state")
        with open(state, "wb") as f:
            f.truncate(sweep.STATE_BYTES)
        # from the second on: the first says when a program has started
        env = stage.environment(FAULT_STATE=state, LD_PRELOAD=shim, FAULT=f"ppoll:{role}:2:{FAULTS[fault]}:1")
        run = Run(stage, [*argv, "--timeout", "60s"], env=env)
        os.waitid(os.P_PID, run.pid, os.WEXITED | os.WNOWAIT)
        seconds = used(run.pid)
        run.finish(60)
        calls = counted(state, shim)
        try:
            e = harness.one_envelope(run.out, run.status)
            assert max(calls) < MOST_CALLS, f"{calls} calls"
            assert seconds < MOST_S, f"{seconds:.1f} s of processor time"
            if wait == "a request" and not e.ok:  # libcurl gives up
                assert e.error["code"] == "NETWORK_ERROR", e.error
                return None
            assert e.ok, e.error
            assert run.seconds > 2.5, f"only {run.seconds:.1f} s"
            told = [w["context"] for w in e.warnings if w["code"] == "BUSY_WAIT"]
            assert len(told) <= 1 and all(t["process"] == ROLES[role] for t in told), e.warnings
            if ROLES[role] == "supervisor" or (fault == "POLLIN" and wait == "a program that prints"):
                assert told and (fault == "nothing" or told[0]["events"] == fault), e.warnings
                assert e.meta["busy_wait"] == told[0], e.meta
        except Exception as problem:  # pylint: disable=broad-except
            return f"{wait} × {fault} × {ROLES[role]}: {type(problem).__name__}: {str(problem)[:300]}; {calls} calls, {seconds:.2f} s"
    return None


def main():
    if harness.why_no_faults():
        sys.exit(harness.why_no_faults())
    shim = harness.build("shim.c", "-fno-builtin")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    cases = [(shim, wait, fault, role, url) for wait in WAITS for fault in FAULTS for role in range(len(ROLES))]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        problems = [p for p in pool.map(lambda case: one(*case), cases) if p]
    shutil.rmtree(os.path.dirname(shim))
    print("\n".join(problems) or f"{len(cases)} cases")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
