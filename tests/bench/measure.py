"""measure: times and peak memory of short processes, for tests/bench/run and
tests/cli/speed.bats.

  measure.py ratio ROUNDS DIR_A A… -- DIR_B B…   median time of A over that of B, interleaved
  measure.py cpu ROUNDS DIR_A A… -- DIR_B B…     the same for processor time
  measure.py faults ROUNDS DIR A…                page faults of all its processes
  measure.py peak DIR A…                         KiB: resident peaks of all its processes, added up
"""

import ctypes
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# One look at everything, for tests: one round of small things.
QUICK = bool(os.environ.get("BENCH_QUICK"))


def quick(full, little):
    return little if QUICK else full


# --- time --------------------------------------------------------------------


class Case:
    """A command: its name, arguments, directory, environment and exit status."""

    def __init__(self, name, argv, cwd=".", env=None, status=0):
        self.name, self.argv, self.cwd, self.status = name, argv, cwd, status
        self.env = clean_environment() if env is None else env
        self.seconds, self.cpu = [], []

    def median(self):
        return statistics.median(self.seconds)

    def median_cpu(self):
        return statistics.median(self.cpu)

    def fastest(self):
        """The fastest tenth took no longer: what a busy machine disturbs least."""
        return sorted(self.seconds)[len(self.seconds) // 10]


def clean_environment():
    keep = ("PATH", "HOME", "LANG", "ASAN_OPTIONS")
    return {name: os.environ[name] for name in keep if name in os.environ}


def start(case):
    """Start it with its streams at /dev/null; nothing of ours runs in the child."""
    null = os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    os.chdir(case.cwd)
    try:
        return os.posix_spawnp(case.argv[0], case.argv, case.env,
                               file_actions=[(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)])
    finally:
        os.fchdir(here)
        os.close(here)
        os.close(null)


def once(case):
    """Seconds from before the start to the end; processor seconds of it and of the
    children that it waited for."""
    before = time.perf_counter()
    pid = start(case)
    _, status, used = os.wait4(pid, 0)
    took = time.perf_counter() - before
    if os.waitstatus_to_exitcode(status) != case.status:
        raise RuntimeError(f"{case.name} failed: {case.argv[:6]} ended with {os.waitstatus_to_exitcode(status)}")
    return took, used.ru_utime + used.ru_stime


def interleaved(cases, rounds, seconds):
    """All of them in each round, at most `rounds` times and about `seconds` long. What
    disturbs the machine for a while disturbs all of them; the order is another one each
    time, so that nobody always finds the caches as the same other one has left them."""
    until, order = time.monotonic() + seconds, random.Random(1)
    rounds = min(rounds, quick(rounds, 1))
    for case in cases:
        once(case)  # into the page cache
    for _ in range(rounds):
        for case in order.sample(cases, len(cases)):
            seconds, cpu = once(case)
            case.seconds.append(seconds)
            case.cpu.append(cpu)
        if time.monotonic() > until:
            break


# --- memory ------------------------------------------------------------------
#
# Each process is stopped at its exit by ptrace(2) and asked for the largest
# resident set that it ever had (VmHWM). Added up over all processes of a command:
# an upper bound of what they held together, since pages that two of them share are
# counted twice. getrusage(2) would answer with our own size where that is larger.

PTRACE_CONT, PTRACE_SEIZE = 7, 0x4206
TRACE_FORKS, TRACE_EXIT = 0x2 | 0x4 | 0x8, 0x40
EVENT_EXIT = 6
WALL = 0x40000000

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def ptrace(request, pid, data):
    if libc.ptrace(request, pid, None, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")


def resident_peak(pid):
    """The process that this thread belongs to, and its VmHWM in KiB."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
        facts = dict(line.split(":", 1) for line in status)
    return int(facts["Tgid"]), int(facts.get("VmHWM", "0 kB").split()[0])


def follow(pid, status, peaks):
    """One stop of a traced process: note what it tells, let it go on."""
    event, stopped_by = status >> 16, os.WSTOPSIG(status)
    if event == EVENT_EXIT:
        process, kib = resident_peak(pid)
        peaks[process] = max(kib, peaks.get(process, 0))
    signals = 0 if event or stopped_by in (signal.SIGTRAP, signal.SIGSTOP) else stopped_by
    ptrace(PTRACE_CONT, pid, signals)


def peak(case, events=10000):
    """KiB of each process of a command, the first one last. It starts behind a shell
    that waits to be traced; exec gives it a memory of its own. events: how many
    starts, signals and ends of processes are too many."""
    shell = Case(case.name, ["/bin/sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *case.argv], case.cwd, case.env)
    first = start(shell)
    os.waitpid(first, os.WUNTRACED)
    ptrace(PTRACE_SEIZE, first, TRACE_FORKS | TRACE_EXIT)
    os.kill(first, signal.SIGCONT)
    peaks = {}
    for _ in range(events):
        pid, status = os.waitpid(-1, WALL)
        if os.WIFSTOPPED(status):
            follow(pid, status, peaks)
        elif pid == first:
            return [kib for child, kib in peaks.items() if child != first] + [peaks[first]]
    raise RuntimeError(f"{case.name} never ended")


def faults(case, rounds):
    """Page faults of all processes of a command, those of pages that it had filled ahead too: the median of some rounds, which
    differ by where the kernel puts the stack."""
    def of_one():
        _, status, used = os.wait4(start(case), 0)
        if os.waitstatus_to_exitcode(status) != case.status:
            raise RuntimeError(f"{case.name} failed: {case.argv[:6]}")
        return used.ru_minflt + used.ru_majflt
    return statistics.median(of_one() for _ in range(rounds))


# --- what doesn't depend on the processor ----------------------------------------


def counted(case, files, *tool):
    """What a tool writes into a folder, a file for each process, about all of a case; None where it is missing or can't."""
    if not shutil.which(tool[0]):
        return None
    with tempfile.TemporaryDirectory(prefix="runner-counts-") as folder:
        argv = [word.replace("{}", folder) for word in tool] + case.argv
        try:
            done = subprocess.run(argv, cwd=case.cwd, env=case.env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode != case.status:
            return None
        texts = []
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                texts += re.findall(files, file.read(), flags=re.M)
        return texts or None


def instructions(case):
    """Those of all its processes outside of the kernel."""
    totals = counted(case, r"^totals: (\d+)", "valgrind", "-q", "--tool=callgrind", "--trace-children=yes", "--callgrind-out-file={}/%p")
    return totals and sum(map(int, totals))


def system_calls(case):
    """Those of all its processes."""
    calls = counted(case, r"^\w+\(", "strace", "-ff", "-qq", "-o", "{}/calls")
    return calls and len(calls)


# --- for shell scripts -----------------------------------------------------------


def main(verb, *rest):
    if verb == "peak":
        print(sum(peak(Case("it", list(rest[1:]), rest[0]))))
        return
    if verb == "faults":
        print(faults(Case("it", list(rest[2:]), rest[1]), int(rest[0])))
        return
    rounds, both = int(rest[0]), list(rest[1:])
    at = both.index("--")
    a, b = Case("a", both[1:at], both[0]), Case("b", both[at + 2:], both[at + 1])
    interleaved([a, b], rounds, 20)
    value = a.median_cpu() / b.median_cpu() if verb == "cpu" else a.median() / b.median()
    print(f"{value:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
