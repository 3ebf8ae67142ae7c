"""workflows: what a step of a workflow costs beside make and just, how the database of
runs grows, and how fast it is read. For tests/bench/run and workflows.bats.

  workflows.py VERB FOLDER   the figures of one function below that is in VERBS, as a number
                             or a list of them; RUNNER names the binary
"""
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import peers
from builds import Builds, Each, Row, measured_table, not_installed
from builds import table as result_table
from measure import Case, clean_environment, interleaved, once, peak, quick

STEPS = int(os.environ.get("STEPS", quick("500", "5")))
ROUNDS, SECONDS = 3, 30
SAMPLES = quick(200, 5)
GROWTH = quick((10, 100, 1000, 10000), (2, 4))
LOOKS = 20
MEMORY = "/dev/shm"

# Runs in the store as three steps leave them, one of which was tried twice. Without waiting
# for the disk: how many they are matters here, not how safe.
FILL = """\
local store = require "runner.workflow.store.store"

local function step(db, id, key, state, code)
	local number = db:start_attempt(id, { key = key, kind = "shell", label = "echo " .. key }, { log = "/nowhere/" .. id })
	db:end_attempt(id, key, number, { status = code and 1 or 0, code = code, message = code and "Process failed" },
		{ state = state, output = ("output of %s "):format(key):rep(8), spent_ms = 20 })
end

local function run(db, n, i)
	local id = ("run_%026d"):format(n)
	db:create { id = id, workflow = "w" .. i % 7, file = "/w.yaml", digest = "d", source = ("steps "):rep(300), cwd = "/",
		variables = { release = tostring(i) }, env_names = {}, seed = i, request_id = id, owner = 1 }
	step(db, id, "1", "completed")
	step(db, id, "2", "waiting", "UNAVAILABLE")
	step(db, id, "2", "completed")
	local failed = i % 5 == 0
	step(db, id, "3", failed and "failed" or "completed", failed and "SUBPROCESS_FAILED" or nil)
	db:set_run(id, { state = failed and "failed" or "completed", code = failed and "SUBPROCESS_FAILED" or nil })
end

return {
	description = "Fill the store of runs", danger_level = "mutating", timeout = "none",
	args = { { "from", "integer", default = 1 }, { "to", "integer", default = 1 } },
	run = function(args)
		local db <close> = store.open {}
		db._database:exec "PRAGMA synchronous = OFF"
		for i = args.from, args.to do
			run(db, i, i)
		end
		db._database:exec "PRAGMA wal_checkpoint(TRUNCATE)"
		return {}
	end,
}
"""


def environment(folder):
    return {**clean_environment(), "XDG_STATE_HOME": os.path.join(folder, "state")}


# --- a step --------------------------------------------------------------------------------


def sources(folder):
    """So many times `true`, for each of them; make and just get their shell, as a step does."""
    names = " ".join(f"t{i}" for i in range(STEPS))
    texts = {
        "steps.yaml": "name: steps\ncommands:\n" + '  - shell: "true"\n' * STEPS,
        "Makefile": f".PHONY: all {names}\nall: {names}\n{names}:\n\t@sh -c true\n",
        "justfile": f"all: {names}\n" + "".join(f"t{i}:\n\t@true\n" for i in range(STEPS)),
    }
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def step_case(runner, folder):
    return Case("`runner workflow run`", [runner, "workflow", "run", "steps.yaml"], folder, environment(folder))


def step_peers(folder):
    """{name: Case}, and the names of those that are not here."""
    just = peers.just()
    found = {"`make` (keeps no record)": [shutil.which("make"), "-s"], "`just` (keeps no record)": [just, "--justfile", "justfile", "all"]}
    there = {name: Case(name, argv, folder, environment(folder)) for name, argv in found.items() if argv[0]}
    return there, [name for name in found if name not in there]


def unavoidable(folder):
    """Milliseconds of two commits and two processes: two syncs of a grown file, two
    processes (the shell and who answers for its tree). Medians, added up."""
    syncs, starts = [], []
    shell = Case("sh", ["/bin/sh", "-c", "true"], folder)
    path = os.path.join(folder, "synced")
    with open(path, "wb") as file:
        for _ in range(SAMPLES):
            file.write(bytes(6 * 4096))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            syncs.append(time.perf_counter() - began)
            starts.append(once(shell)[0])
    os.unlink(path)
    return 2000 * (statistics.median(syncs) + statistics.median(starts))


class Known:
    """Something measured in another way, as a peer of a row."""

    def __init__(self, seconds):
        self.seconds = seconds

    def median(self):
        return self.seconds

    def median_cpu(self):
        return 0


def steps(builds, folder):
    sources(folder)
    ours = {name: step_case(runner, folder) for name, runner in builds.path.items()}
    there, missing = step_peers(folder)
    before = unavoidable(folder)
    interleaved([*ours.values(), *there.values()], ROUNDS, SECONDS)
    least = Known((before + unavoidable(folder)) / 2 / 1000)
    each = {name: Each(case, STEPS) for name, case in there.items()}
    row = Row(f"a step, of {STEPS:,} times `true`", {name: Each(case, STEPS) for name, case in ours.items()},
              {**each, "two `fdatasync` and two `sh -c true`, nothing else": least})
    yield from result_table([row])
    yield from not_installed(missing)
    yield ""
    yield ("A workflow step consists of a commit, which ends the step before it and is on disk before the step starts, a "
           "shell, and a process that supervises everything the shell starts.")


LOOP = """\
name: loop
commands:
  - foreach: [{items}]
    parallel: 16
    do: [ {{ shell: "true" }} ]
"""


def loop(builds, folder):
    """What an item of a loop costs where 16 run at once."""
    with open(os.path.join(folder, "loop.yaml"), "w", encoding="utf-8") as file:
        file.write(LOOP.format(items=", ".join(map(str, range(STEPS)))))
    ours = builds.run(["workflow", "run", "loop.yaml"], folder, environment(folder))
    yield from measured_table([Row(f"an item of a loop of {STEPS:,} times `true`, 16 at once",
                                   {name: Each(case, STEPS) for name, case in ours.items()},
                                   rate=lambda seconds: f"{1 / seconds:,.0f}/s")], ROUNDS, SECONDS)


def step_ratio(runner, folder):
    """The processor time of a step against that of two processes, which it can't do without (the shell and who answers
    for its tree). What else runs changes a wall clock's ratio by more than any fault would; how often a step syncs is
    counted (step_calls)."""
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else folder) as own:
        sources(own)
        case, shell = step_case(runner, own), Case("sh", ["/bin/sh", "-c", "true"], own)
        floors = [once(shell)[1] for _ in range(SAMPLES)]
        took = once(case)[1]
        floors += [once(shell)[1] for _ in range(SAMPLES)]
        return took / STEPS / 2 / statistics.median(floors)


# --- its system calls ----------------------------------------------------------------------


COUNTED = {"syncs": r"fdatasync\(", "writes": r"pwrite64\(", "locks": r"fcntl\(\d+, F_SETLK",
           "forks": r"(fork|clone3?)\((?!.*CLONE_(PARENT|VM))"}
FEW, MANY = 2, 18


def calls(runner, folder, text):
    """How often each of COUNTED happens in a run of a workflow, in all its processes."""
    with open(os.path.join(folder, "calls.yaml"), "w", encoding="utf-8") as file:
        file.write(text)
    trace = os.path.join(folder, "calls.txt")
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=fdatasync,pwrite64,fcntl,fork,clone,clone3", "-o", trace, runner, "workflow", "run",
                    "calls.yaml"], cwd=folder, env=environment(folder), stdin=subprocess.DEVNULL, capture_output=True,
                   check=True, timeout=120)
    with open(trace, encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    return [sum(re.search(pattern, line) is not None for line in lines) for pattern in COUNTED.values()]


def step_calls(runner, folder):
    """The system calls of COUNTED that one more step makes."""
    def steps_of(count):
        return "name: calls\ncommands:\n" + "  - shell: 'true'\n" * count

    calls(runner, folder, steps_of(1))  # makes the database
    few, many = (calls(runner, folder, steps_of(count)) for count in (FEW, MANY))
    return tuple((b - a) / (MANY - FEW) for a, b in zip(few, many))


def loop_calls(runner, folder):
    """Those of a loop whose 16 items run at once, beyond those of a loop of one."""
    def loop_of(count):
        items = ", ".join(map(str, range(count)))
        return f"name: loop\ncommands:\n  - foreach: [{items}]\n    parallel: 16\n    do: [ {{ shell: sleep 1 }} ]\n"

    calls(runner, folder, loop_of(1))
    one, all_at_once = (calls(runner, folder, loop_of(count)) for count in (1, 16))
    return tuple(b - a for a, b in zip(one, all_at_once))


# --- its memory ----------------------------------------------------------------------------

FEW_ITEMS, MANY_ITEMS = quick((500, 2500), (5, 10))
EVENTS, EVENTS_OF_ITEM = 1000, 40  # of the run, and of the processes of an item
LINES = """\
name: lines
commands:
  - {{ shell: seq {count}, id: seq }}
  - {{ foreach: "${{steps.seq.output}}", parallel: 16, do: [ {{ shell: "true" }} ] }}
"""


def loop_memory(runner, folder):
    """Bytes that one more item of a loop adds to the peak of the largest process."""
    peaks = []
    for count in (FEW_ITEMS, MANY_ITEMS):
        with open(os.path.join(folder, "lines.yaml"), "w", encoding="utf-8") as file:
            file.write(LINES.format(count=count))
        case = Case("lines", [runner, "workflow", "run", "lines.yaml"], folder, environment(folder))
        peaks.append(max(peak(case, events=EVENTS + count * EVENTS_OF_ITEM)))
    return (peaks[1] - peaks[0]) * 1024 / (MANY_ITEMS - FEW_ITEMS)


# --- the database --------------------------------------------------------------------------


def fill(runner, folder, first, last):
    os.makedirs(os.path.join(folder, "commands"), exist_ok=True)
    with open(os.path.join(folder, "commands", "fill.lua"), "w", encoding="utf-8") as file:
        file.write(FILL)
    once(Case("fill", [runner, "fill", "--from", str(first), "--to", str(last)], folder, environment(folder)))


def sizes(runner, folder):
    """Bytes of the database for each of GROWTH."""
    found, last = [], 0
    for count in GROWTH:
        fill(runner, folder, last + 1, count)
        last = count
        found.append(os.stat(os.path.join(folder, "state", "runner", "runs.db")).st_size)
    return found


def per_run(found):
    """Bytes that one more run takes, between the sizes."""
    return [(b - a) / (m - n) for a, b, n, m in zip(found, found[1:], GROWTH, GROWTH[1:])]


def looks_at(builds, folder):
    """{command: {build: Case}} of the ways to look at runs."""
    one = f"run_{GROWTH[-1] // 2:026d}"
    ways = ("list", "list --state failed", "list --workflow w3", f"show {one}", "stats")
    return {words.split(" run_")[0]: builds.run(["workflow", *words.split()], folder, environment(folder)) for words in ways}


def table(builds, folder):
    folder = os.path.join(folder, "workflows")
    os.makedirs(folder)
    yield from steps(builds, folder)
    yield ""
    yield from loop(builds, folder)
    yield ""
    yield (f"One more item of a loop adds {loop_memory(builds.first, folder):.0f} bytes to the peak memory of its worker (from "
           f"{FEW_ITEMS:,} to {MANY_ITEMS:,} items, while the page cache of SQLite fills).")
    shutil.rmtree(os.path.join(folder, "state"))
    found = sizes(builds.first, folder)
    yield ""
    yield "| runs of three steps | database | per additional run |"
    yield "|---|---|---|"
    for count, size, more in zip(GROWTH, found, [None, *per_run(found)]):
        yield f"| {count:,} | {size / 1024:,.0f} KiB | {f'{more:,.0f} bytes' if more else '–'} |"
    yield ""
    yield f"With {GROWTH[-1]:,} runs:"
    yield ""
    yield from measured_table([Row(f"`runner workflow {name}`", ours) for name, ours in looks_at(builds, folder).items()], LOOKS, 20)


def growth_and_looks(runner, folder):
    """The largest growth of one run against the smallest, and the slowest of `list` and `show`."""
    more = per_run(sizes(runner, folder))
    cases = {name: ours["dynamic"] for name, ours in looks_at(Builds(), folder).items()}
    interleaved(list(cases.values()), LOOKS, 30)
    return max(more) / min(more), max(case.median() * 1000 for name, case in cases.items() if name != "stats")


VERBS = {"step": step_ratio, "calls": step_calls, "loop-calls": loop_calls, "loop-memory": loop_memory,
         "store": growth_and_looks}

if __name__ == "__main__":
    answer = VERBS[sys.argv[1]](os.path.abspath(os.environ["RUNNER"]), sys.argv[2])
    print(*[f"{value:.2f}" for value in (answer if isinstance(answer, tuple) else (answer,))])
