"""Every signal × where it goes, and alarms that were set before exec: rows of rows.py.

RUNNER names the binary.
"""
import os
import signal
import time

import harness
import rows
from harness import Run, Stage
from rows import await_file, command, finish, in_time, row

NOT_FATAL = {signal.SIGKILL, signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGCONT,
             signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGPIPE, signal.SIGXFSZ}
FAULTS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL}  # a sanitizer's own
LIBCS_OWN = {32, 33, 34} if harness.is_static() else {32, 33}  # no program may block them: musl, glibc
FATAL = [s for s in range(1, signal.SIGRTMAX + 1) if s not in NOT_FATAL | LIBCS_OWN
         and not (harness.SANITIZED and s in FAULTS)]
WAITING = "local d = ctx.tempdir io.open(d .. '/file', 'w'):close() io.open('ready', 'w'):close() ctx:sleep(30)"


def cancelled(run, sig):
    e = finish(run, 130 if sig == signal.SIGINT else 143, "CANCELLED")
    assert "signal" in e.error, e.error
    return e.error["signal"]


def inherit_a_child():
    """preexec: the runner begins with a child of its caller's, so that a process stands in front of it."""
    if os.fork() == 0:
        os.setsid()
        os.closerange(0, 1024)
        time.sleep(20)
        os._exit(0)


def each_signal(preexec):
    for sig in FATAL:
        with Stage() as stage:
            command(stage, WAITING)
            run = Run(stage, ["c"], preexec_fn=preexec)
            await_file(stage)
            os.kill(run.pid, sig)
            if preexec:
                run.finish(20)
                spare = [p for p in harness.children() if p != run.pid]
                for pid in spare:
                    os.kill(pid, signal.SIGKILL)
                e = harness.one_envelope(run.out, run.status)
                assert e.error["code"] == "CANCELLED", e.error
                harness.await_empty(5, token=run.env["TOKEN"])
                assert not stage.leftovers(), stage.leftovers()
            else:
                cancelled(run, sig)


@row
def signals_to_the_supervisor():
    """every signal that would end the supervisor cancels the run"""
    each_signal(None)


@row
def signals_to_the_front():
    """every signal that would end the process in front cancels the run"""
    each_signal(inherit_a_child)


@row
def signals_to_the_worker():
    """every signal that ends the worker gets an answer, and leaves nothing"""
    for sig in FATAL:
        with Stage() as stage:
            command(stage, WAITING)
            run = Run(stage, ["c"])
            await_file(stage)
            os.kill(harness.children_of(run.pid)[0], sig)
            run.finish(20)
            e = harness.one_envelope(run.out, run.status)
            assert not e.ok and not stage.leftovers(), (sig, e.error, stage.leftovers())
            assert not harness.await_empty(0, token=run.env["TOKEN"]), sig


@row
def an_alarm_inherited():
    """an alarm that was set before exec cancels, pending and blocked or not; an ignored one does nothing"""
    def soon():
        signal.setitimer(signal.ITIMER_REAL, 1.5)  # (Python takes its time until exec)

    def blocked():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM, signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1)

    def repeated():
        signal.setitimer(signal.ITIMER_REAL, 1.5, 0.01)

    def ignored():
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.05)

    for preexec, name in ((soon, "SIGALRM"), (blocked, "SIGUSR1"), (repeated, "SIGALRM")):
        with Stage() as stage:
            command(stage, WAITING)
            told = cancelled(Run(stage, ["c"], preexec_fn=preexec), signal.SIGALRM)
            assert told == name, told
    with Stage() as stage:
        command(stage, "ctx:sleep(0.5) return {}")
        finish(Run(stage, ["c"], preexec_fn=ignored), 0, None)


@row
def kill_of_the_front():
    """SIGKILL of the process in front ends the tree at once, and nothing is written"""
    def attempt():
        with Stage() as stage:
            command(stage, "local d = ctx.tempdir io.open('ready', 'w'):close() "
                    "os.execute([[trap '' TERM; sleep 30; sleep 30]])", "timeout = '60s',")
            run = Run(stage, ["c", "--grace", "5s"], preexec_fn=inherit_a_child)
            await_file(stage)
            time.sleep(0.1)
            began = time.monotonic()
            os.kill(run.pid, signal.SIGKILL)
            run.finish(60)
            late = time.monotonic() - began
            assert run.status == -signal.SIGKILL and run.out == b"", (run.status, run.out)
            until = time.monotonic() + 60
            while stage.leftovers() and time.monotonic() < until:
                time.sleep(0.01)
            assert not stage.leftovers(), stage.leftovers()
            for pid in harness.children():
                os.kill(pid, signal.SIGKILL)  # the caller's own
            harness.await_empty(60, token=run.env["TOKEN"])
            assert b"CANCELLED" not in run.err, run.err
            return late
    in_time(attempt)


if __name__ == "__main__":
    rows.main()
