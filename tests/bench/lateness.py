"""lateness: how late limits and delays are, on an idle and on a busy machine.

What is measured is what a caller sees: a timeout's answer, start and end of the process
included; a retry's next attempt, its start included.
"""

import contextlib
import os
import subprocess
import time

from measure import Case, clean_environment, once, quick

LIMIT_MS = 100  # of late.lua
DELAY_MS = 50   # of waits.lua
BUSY = 4
TIMEOUTS = quick(60, 2)
DELAYS = quick(40, 2)
TIMED_OUT = 10


@contextlib.contextmanager
def busy(count):
    """So many processes that do nothing but compute."""
    loops = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def after_timeout(runner, folder):
    """Milliseconds from the limit to the end of the process, counted from before its start."""
    case = Case("late", [runner, "late"], folder, status=TIMED_OUT)
    return [once(case)[0] * 1000 - LIMIT_MS for _ in range(TIMEOUTS)]


def arrivals(stream):
    """Each line of a pipe, with the second at which it came."""
    rest = b""
    while chunk := os.read(stream.fileno(), 65536):
        now = time.perf_counter()
        *lines, rest = (rest + chunk).split(b"\n")
        yield from ((now, line) for line in lines)


def after_delay(runner, folder):
    """Milliseconds from the end of each announced delay to the first line of the next attempt."""
    late, announced = [], None
    with subprocess.Popen([runner, "waits", "--retries", str(DELAYS)], cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        for now, line in arrivals(process.stderr):
            if b'"retry.wait"' in line:
                announced = now
            elif announced and b'"here"' in line:
                late.append((now - announced) * 1000 - DELAY_MS)
                announced = None
    if len(late) != DELAYS:
        raise RuntimeError(f"{len(late)} attempts of {DELAYS} said when they began")
    return late


def three(values):
    values = sorted(values)
    return f"{values[len(values) // 2]:.1f} ms | {values[(len(values) - 1) * 99 // 100]:.1f} ms | {values[-1]:.1f} ms"


def table(builds, folder):
    """Rows of a Markdown table."""
    rows = [
        (f"a timeout of {LIMIT_MS} ms: from the limit to the end of the process, including its start", after_timeout),
        (f"a delay of {DELAY_MS} ms: from its end to the first line of the next attempt's `run`", after_delay),
    ]
    yield f"| what | idle: median | p99 | worst | {BUSY} busy processes: median | p99 | worst |"
    yield "|---|---|---|---|---|---|---|"
    for what, measure in rows:
        for build, runner in builds.path.items():
            idle = three(measure(runner, folder))
            with busy(BUSY):
                loaded = three(measure(runner, folder))
            yield f"| {what} ({build}) | {idle} | {loaded} |"
