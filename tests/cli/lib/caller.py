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
SANITIZED = "ASAN_OPTIONS" in os.environ
PATIENCE_S = 150  # for what a machine that does much else does in a moment


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


def started(*argv, **options):
    """A run that has made its file `began`."""
    if os.path.exists("began"):
        os.remove("began")
    p = start(*argv, **options)
    until = time.monotonic() + PATIENCE_S
    while not os.path.exists("began"):
        assert time.monotonic() < until and p.poll() is None, "it never began"
        time.sleep(0.01)
    return p


BEGAN = "io.open('began', 'w'):close() "


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
    command("hang", BEGAN + "while true do end")

    def block():
        signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))

    done = subprocess.run([RUNNER, "hang", "--timeout", "300ms"], capture_output=True, check=False, preexec_fn=block)
    assert done.returncode == 10 and envelope(done.stdout)["error"]["code"] == "TIMEOUT", done
    p = started("hang", "--timeout", "none", preexec_fn=block)
    p.send_signal(signal.SIGTERM)
    out, _ = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 143 and envelope(out)["error"]["signal"] == "SIGTERM", (p.returncode, out)


def inherited_children():
    """A shell that execs us after starting jobs leaves us its children."""
    script = 'sleep 100 >/dev/null 2>&1 & echo $! >job.txt; sh -c "exit 3" & exec "$0" hello'
    t = time.monotonic()
    done = subprocess.run(["sh", "-c", script, RUNNER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    with open("job.txt", encoding="utf-8") as f:
        job = int(f.read())
    os.kill(job, 0)  # it lives
    os.kill(job, signal.SIGKILL)
    assert time.monotonic() - t < 80, "the caller's job was waited for"
    e = envelope(done.stdout)
    assert done.returncode == 0 and e["ok"] and e["warnings"] == [], e


def ignored_int():
    command("short", BEGAN + "ctx:sleep(0.6) return { done = true }")
    p = started("short", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    p.send_signal(signal.SIGINT)
    out, _ = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 0 and envelope(out)["ok"], out


def cancelling_signals():
    command("steps", f"ctx:step 'one' ctx:step 'two' {BEGAN} ctx:sleep(100)", "steps = { 'one', 'two', 'three' },")
    for sig, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143), (signal.SIGQUIT, 143)):
        p = started("steps", "--timeout", "none")
        p.send_signal(sig)
        out, _ = p.communicate(timeout=PATIENCE_S)
        e = envelope(out)
        assert p.returncode == status == e["meta"]["exit_code"], (p.returncode, e)
        assert e["error"]["code"] == "CANCELLED" and e["error"]["signal"] == sig.name, e
        assert e["error"]["retryable"] is False and e["data"]["partial"] is True, e
        assert e["data"]["completed_steps"] == ["one"] and e["data"]["failed_step"] == "two", e


def cancel_in_backoff():
    command("down", "ctx:fail('UNAVAILABLE', '503')", "retry = { retries = 3, delay = '20s', jitter = 'none' },")
    latencies = []
    # the best of several: a loaded machine may delay any one of them; a leak check takes its time
    while not latencies or min(latencies) >= (0.5 if SANITIZED else 0.05):
        assert len(latencies) < 25, latencies
        p = start("down")
        p.stderr.readline()
        line = p.stderr.readline()
        assert b"retry.wait" in line, line
        t = time.monotonic()
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=PATIENCE_S)
        latencies.append(time.monotonic() - t)
        e = envelope(out)
        assert p.returncode == 130 and e["error"]["code"] == "CANCELLED", e
        assert len(e["meta"]["retry_history"]) == 1 if "retry_history" in e["meta"] else True


def second_int():
    command("deaf", "os.execute([[trap '' TERM INT; sleep 61 & touch began; while :; do sleep 0.1; done]])", "grace = '60s',")
    p = started("deaf")
    t = time.monotonic()
    while p.poll() is None:  # a starved runner may see two as one
        assert time.monotonic() - t < 30, "a second INT must kill at once"
        p.send_signal(signal.SIGINT)
        time.sleep(0.5)
    out, _ = p.communicate(timeout=100)
    assert p.returncode == 130 and envelope(out)["error"]["code"] == "CANCELLED", out


def flags_untouched():
    pipes = [os.pipe() for _ in range(3)]
    fds = (pipes[0][0], pipes[1][1], pipes[2][1])
    before = [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds]
    p = subprocess.Popen([RUNNER, "hello"], stdin=fds[0], stdout=fds[1], stderr=fds[2])
    assert p.wait(timeout=PATIENCE_S) == 0
    assert [fcntl.fcntl(fd, fcntl.F_GETFL) for fd in fds] == before


def socket_stdio():
    ours, theirs = socket.socketpair()
    p = subprocess.Popen([RUNNER, "hello"], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs)
    theirs.close()
    raw = b""
    while chunk := ours.recv(65536):
        raw += chunk
    assert p.wait(timeout=PATIENCE_S) == 0 and envelope(raw)["ok"], raw


def slow_reader():
    p = start("rows")
    raw = b""
    while chunk := os.read(p.stdout.fileno(), 100_000):
        raw += chunk
        time.sleep(0.01)
    assert p.wait(timeout=PATIENCE_S) == 0 and len(envelope(raw)["data"]) == 50000


def many_runs():
    os.mkdir("tmp")
    for _ in range(200 if SANITIZED else 1000):
        done = subprocess.run([RUNNER, "hello"], capture_output=True, check=False,
                              env={**os.environ, "TMPDIR": os.path.abspath("tmp")})
        assert done.returncode == 0 and done.stderr == b"", done
    assert not os.listdir("tmp")
    token = b"TOKEN=" + os.environ["TOKEN"].encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f, open(f"/proc/{pid}/comm", "rb") as g:
                assert not (token in f.read() and g.read().strip() == b"runner"), pid
        except OSError:
            continue


if __name__ == "__main__":
    globals()[sys.argv[1]]()
