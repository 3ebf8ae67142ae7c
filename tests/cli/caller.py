"""Conditions that a shell can't set up for a child. Each function is a test; it
runs in a directory with commands/hello.lua and raises when something is wrong."""
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time

RUNNER = os.environ["RUNNER"]


def envelope(raw):
    assert raw.count(b"\n") == 1 and raw.endswith(b"\n"), raw
    e = json.loads(raw)
    assert list(e) == ["ok", "data", "error", "warnings", "meta"], e
    return e


def command(name, body, keys=""):
    with open(f"commands/{name}.lua", "w", encoding="utf-8") as f:
        f.write(f"return {{ description = 'x', danger_level = 'safe', {keys} run = function(args, ctx) {body} end }}")


def start(*argv, **options):
    return subprocess.Popen([RUNNER, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, **options)


def closed_descriptors():
    for closed in range(8):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.dup2(write, 1)
            for fd in range(3):
                if closed & 1 << fd:
                    os.close(fd)
            os.execv(RUNNER, [RUNNER, "hello"])
        os.close(write)
        with os.fdopen(read, "rb") as f:
            raw = f.read()
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if closed & 1 << 1:
            assert (status, raw) == (1, b""), (closed, status, raw)
        else:
            assert status == 0 and envelope(raw)["ok"], (closed, status, raw)


def ignored_sigchld():
    done = subprocess.run([RUNNER, "hello"], capture_output=True, check=False,
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == 0 and envelope(done.stdout)["ok"], done


def blocked_signals():
    command("hang", "while true do end")

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))

    done = subprocess.run([RUNNER, "hang", "--timeout", "300ms"], capture_output=True, check=False, preexec_fn=block)
    assert done.returncode == 10 and envelope(done.stdout)["error"]["code"] == "TIMEOUT", done
    p = start("hang", preexec_fn=block)
    time.sleep(0.3)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate(timeout=5)
    assert p.returncode == 143 and envelope(out)["error"]["signal"] == "SIGTERM", (p.returncode, out)


def inherited_children():
    """A shell that execs us after starting jobs leaves us its children."""
    script = 'sleep 5 >/dev/null 2>&1 & echo $! >job.txt; sh -c "exit 3" & exec "$0" hello'
    t = time.monotonic()
    done = subprocess.run(["sh", "-c", script, RUNNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    with open("job.txt", encoding="utf-8") as f:
        job = int(f.read())
    os.kill(job, 0)  # it lives
    os.kill(job, signal.SIGKILL)
    assert time.monotonic() - t < 4, "the caller's job was waited for"
    e = envelope(done.stdout)
    assert done.returncode == 0 and e["ok"] and e["warnings"] == [], e


def ignored_int():
    command("short", "ctx:sleep(0.6) return { done = true }")
    p = start("short", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    time.sleep(0.2)
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=5)
    assert p.returncode == 0 and envelope(out)["ok"], out


def cancelling_signals():
    command("steps", "ctx:step 'one' ctx:step 'two' ctx:sleep(30)", "steps = { 'one', 'two', 'three' },")
    for sig, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGQUIT, 143)):
        p = start("steps")
        time.sleep(0.3)
        t = time.monotonic()
        p.send_signal(sig)
        out, _ = p.communicate(timeout=5)
        assert time.monotonic() - t < 1.5
        e = envelope(out)
        assert p.returncode == status == e["meta"]["exit_code"], (p.returncode, e)
        assert e["error"]["code"] == "CANCELLED" and e["error"]["signal"] == sig.name, e
        assert e["error"]["retryable"] is False and e["data"]["partial"] is True, e
        assert e["data"]["completed_steps"] == ["one"] and e["data"]["failed_step"] == "two", e


def cancel_in_backoff():
    command("down", "ctx:fail('UNAVAILABLE', '503')", "retry = { retries = 3, delay = '20s', jitter = 'none' },")
    latencies = []
    for _ in range(5):
        p = start("down")
        p.stderr.readline()
        line = p.stderr.readline()
        assert b"retry.wait" in line, line
        t = time.monotonic()
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=5)
        latencies.append(time.monotonic() - t)
        e = envelope(out)
        assert p.returncode == 130 and e["error"]["code"] == "CANCELLED", e
        assert len(e["meta"]["retry_history"]) == 1 if "retry_history" in e["meta"] else True
    assert min(latencies) < 0.05, latencies


def second_int():
    command("deaf", "os.execute([[trap '' TERM INT; sleep 61 & while :; do sleep 0.1; done]])", "grace = '20s',")
    p = start("deaf")
    time.sleep(0.4)
    p.send_signal(signal.SIGINT)
    time.sleep(0.5)
    t = time.monotonic()
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=10)
    assert time.monotonic() - t < 2, "a second INT must kill at once"
    assert p.returncode == 130 and envelope(out)["error"]["code"] == "CANCELLED", out


def flags_untouched():
    pipes = [os.pipe() for _ in range(3)]
    fds = (pipes[0][0], pipes[1][1], pipes[2][1])
    before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds]
    p = subprocess.Popen([RUNNER, "hello"], stdin=fds[0], stdout=fds[1], stderr=fds[2])
    assert p.wait(timeout=10) == 0
    assert [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds] == before


def socket_stdio():
    ours, theirs = socket.socketpair()
    p = subprocess.Popen([RUNNER, "hello"], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    theirs.close()
    raw = b""
    while chunk := ours.recv(65536):
        raw += chunk
    assert p.wait(timeout=10) == 0 and envelope(raw)["ok"], raw


def slow_reader():
    p = start("rows")
    raw = b""
    while chunk := os.read(p.stdout.fileno(), 100_000):
        raw += chunk
        time.sleep(0.01)
    assert p.wait(timeout=10) == 0 and len(envelope(raw)["data"]) == 50000


def many_runs():
    before = set(os.listdir("/tmp"))
    for _ in range(1000):
        done = subprocess.run([RUNNER, "hello"], capture_output=True, check=False)
        assert done.returncode == 0 and done.stderr == b"", done
    assert not [n for n in set(os.listdir("/tmp")) - before if n.startswith("runner-")]
    token = b"TOKEN=" + os.environ["TOKEN"].encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/comm", "rb") as g:
                assert not (token in f.read() and g.read().strip() == b"runner"), pid
        except OSError:
            continue


if __name__ == "__main__":
    globals()[sys.argv[1]]()
