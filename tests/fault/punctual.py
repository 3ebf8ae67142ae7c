"""When an answer comes: on time, neither before its moment nor much after it. Each row is the
best of some tries, so that its bound can be tight: other tests only find what hangs.

RUNNER names the binary.
"""
import os
import signal
import time

import harness
import rows
from harness import Run, Stage
from rows import await_file, bad, finish, in_time, row

PROMPT = 0.5 if harness.SANITIZED else 0.1  # seconds
TRIES = 8
LIMIT, GRACE = 0.4, 0.3
READY = "io.open('ready', 'w'):close()"
DEAF_CHILD = "sh -c 'trap \"\" TERM INT; touch ready; while :; do sleep 0.02; done'"


def late(stage, argv, keys_and_body, event, due, status, code, after=0.05):
    """Seconds that the answer came after `due`, which is counted from the event: a signal, two
    of them, or None for the start of the run."""
    keys, body = keys_and_body
    stage.command("c", body, f"grace = '{int(GRACE * 1000)}ms', {keys}")
    run = Run(stage, argv)
    began = run.began
    if event:
        await_file(stage)
        time.sleep(after)  # it is where it waits
        began = time.monotonic()
        os.kill(run.pid, event)
    finish(run, status, code)
    took = run.began + run.seconds - began
    assert took >= due - 0.005, f"too early: after {took:.3f} s instead of {due} s"
    return took - due


def punctual(body, event=None, due=0.0, status=143, code="CANCELLED", keys="", argv=("c",)):
    def attempt():
        with Stage() as stage:
            return late(stage, [*argv], (keys, body), event, due, status, code)
    in_time(attempt, PROMPT, TRIES)


# --- a cancellation -----------------------------------------------------------------------

@row
def cancel_sleep():
    """a run that sleeps answers TERM at once"""
    punctual(f"{READY} ctx:sleep(30)", signal.SIGTERM)


@row
def cancel_loop():
    """a loop in Lua answers INT at once"""
    punctual(f"{READY} while true do end", signal.SIGINT, status=130)


@row
def cancel_child():
    """a run that waits for a program answers TERM as soon as the program has ended"""
    punctual("ctx:run { 'sh', '-c', 'touch ready; exec sleep 30' }", signal.SIGTERM)


@row
def cancel_execute():
    """a run that waits in os.execute answers TERM as soon as the program has ended"""
    punctual("os.execute('touch ready; exec sleep 30')", signal.SIGTERM)


@row
def cancel_backoff():
    """a run that waits before another attempt answers TERM at once"""
    punctual(f"{READY} ctx:fail('UNAVAILABLE', 'x', {{ retry_after_ms = 30000 }})", signal.SIGTERM,
             keys="retry = { retries = 1, max_delay = '1m' }, timeout = '2m',")


@row
def cancel_workflow():
    """a workflow's step answers TERM as soon as it has ended"""
    def attempt():
        with Stage() as stage:
            stage.write("w.yaml", "name: w\nsteps:\n  - id: a\n    shell: touch ready; exec sleep 30\n")
            return late(stage, ["workflow", "run", "w.yaml"], ("", ""), signal.SIGTERM, 0, 143, "CANCELLED")
    in_time(attempt, PROMPT, TRIES)


# --- TERM, and KILL after the grace --------------------------------------------------------

@row
def kill_worker():
    """a worker that ignores TERM is killed when the grace is over"""
    punctual(bad(f"bad.block() {READY} while true do end"), signal.SIGTERM, due=GRACE)


@row
def kill_child():
    """a child that ignores TERM is killed when the grace is over"""
    punctual(f"os.execute([[{DEAF_CHILD}]])", signal.SIGTERM, due=GRACE)


@row
def kill_cleanup():
    """a cleanup that doesn't end is killed when the grace is over"""
    punctual(f"{READY} ctx:sleep(30)", signal.SIGTERM, due=GRACE, keys="cleanup = function() while true do end end,")


@row
def second_interrupt():
    """a second INT kills at once what the first didn't end"""
    def attempt():
        with Stage() as stage:
            stage.command("c", bad(f"bad.block() {READY} while true do end"), "grace = '30s',")
            run = Run(stage, ["c"])
            await_file(stage)
            os.kill(run.pid, signal.SIGINT)
            harness.await_taken(run.pid, signal.SIGINT)
            time.sleep(0.4)  # the second counts 300 ms after the first
            began = time.monotonic()
            os.kill(run.pid, signal.SIGINT)
            finish(run, 130, "CANCELLED")
            return run.began + run.seconds - began
    in_time(attempt, PROMPT, TRIES)


# --- limits ------------------------------------------------------------------------------------

@row
def limit_sleep():
    """a timeout ends a sleep on time"""
    punctual("ctx:sleep(30)", due=LIMIT, status=10, code="TIMEOUT", argv=("c", "--timeout", "400ms"))


@row
def limit_loop():
    """a timeout ends a loop in Lua on time"""
    punctual("while true do end", due=LIMIT, status=10, code="TIMEOUT", argv=("c", "--timeout", "400ms"))


@row
def limit_child():
    """a timeout ends a program that ignores TERM when limit and grace are over"""
    punctual(f"os.execute([[{DEAF_CHILD}]])", due=LIMIT + GRACE, status=10, code="TIMEOUT", argv=("c", "--timeout", "400ms"))


@row
def limit_attempt():
    """an attempt's timeout ends a blocking read on time"""
    punctual("local p = io.popen('exec sleep 30') p:read('a')", due=LIMIT, status=10, code="TIMEOUT",
             keys="attempt_timeout = '400ms',")


@row
def limit_idle():
    """an idle timeout ends a silent program on time"""
    punctual("os.execute('exec sleep 30')", due=LIMIT, status=10, code="TIMEOUT", keys="idle_timeout = '400ms',")


@row
def limit_program():
    """a program's own timeout ends it on time"""
    punctual("ctx:run { 'sleep', '30', timeout = '400ms' }", due=LIMIT, status=10, code="TIMEOUT")


# --- and without either ----------------------------------------------------------------------

@row
def backoff():
    """a backoff is as long as it should be"""
    punctual("if ctx.attempt == 1 then ctx:fail('UNAVAILABLE', 'x') end ctx:fail('NOT_FOUND', 'y')", due=LIMIT,
             status=5, code="NOT_FOUND", keys="retry = { retries = 1, delay = '400ms', jitter = 'none' },")


@row
def orphan_left():
    """what a run leaves behind is ended, and the answer follows at once"""
    punctual("os.execute('sleep 30 &') return {}", due=0, status=0, code=None)


if __name__ == "__main__":
    rows.main()
