"""workflows: what a step of a workflow costs beside make and just, how the database of
runs grows, and how fast it is read. For tests/bench/run and workflows.bats.

  workflows.py VERB FOLDER   the figures of one function below that is in VERBS, as a number
                             or a list of them; RUNNER names the binary
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

from measure import Case, clean_environment, interleaved, once, peak

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = int(os.environ.get("STEPS", "1000"))
ROUNDS = 3
SAMPLES = 200
GROWTH = (10, 100, 1000, 10000)
LOOKS = 20

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


def find_just():
    native = glob.glob(os.path.join(HERE, "node_modules", "rust-just-*", "bin", "just"))
    return native[0] if native else shutil.which("just")


def step_cases(runner, folder):
    sources(folder)
    rows = [
        ("`runner workflow run`", [runner, "workflow", "run", "steps.yaml"], True),
        ("`make` (keeps no record)", ["make", "-s"], shutil.which("make")),
        ("`just` (keeps no record)", [find_just(), "--justfile", "justfile", "all"], find_just()),
    ]
    return [Case(name, argv, folder, environment(folder)) for name, argv, here in rows if here]


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


def steps(runner, folder):
    rows = step_cases(runner, folder)
    floor = unavoidable(folder)
    interleaved(rows, ROUNDS, 90)
    floor = (floor + unavoidable(folder)) / 2
    yield f"| {STEPS:,} times `true` | per step | processor time per step |"
    yield "|---|---|---|"
    for case in rows:
        yield f"| {case.name} | {case.median() / STEPS * 1000:.2f} ms | {case.median_cpu() / STEPS * 1000:.2f} ms |"
    yield f"| two `fdatasync` and two `sh -c true`, nothing else | {floor:.2f} ms | |"
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


def loop(runner, folder):
    """What an item of a loop costs where 16 run at once."""
    with open(os.path.join(folder, "loop.yaml"), "w", encoding="utf-8") as file:
        file.write(LOOP.format(items=", ".join(map(str, range(STEPS)))))
    case = Case("loop", [runner, "workflow", "run", "loop.yaml"], folder, environment(folder))
    interleaved([case], ROUNDS, 60)
    yield f"| a loop of {STEPS:,} items of `true`, 16 at once | items per second | processor time per item |"
    yield "|---|---|---|"
    yield f"| `runner workflow run` | {STEPS / case.median():.0f} | {case.median_cpu() / STEPS * 1000:.2f} ms |"


def step_ratio(runner, folder):
    """A step against what it can't do without."""
    case = step_cases(runner, folder)[0]
    floors = [unavoidable(folder)]
    took = once(case)[0]
    floors.append(unavoidable(folder))
    return took / STEPS * 1000 / statistics.mean(floors)


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

FEW_ITEMS, MANY_ITEMS = 500, 2500
EVENTS_OF_ITEM = 40  # of its processes
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
        peaks.append(max(peak(case, events=count * EVENTS_OF_ITEM)))
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


def look_cases(runner, folder):
    one = f"run_{GROWTH[-1] // 2:026d}"
    ways = ("list", "list --state failed", "list --workflow w3", f"show {one}", "stats")
    return [Case(words.split(" run_")[0], [runner, "workflow", *words.split()], folder, environment(folder))
            for words in ways]


def looks(runner, folder):
    """Milliseconds of each way to look at 10,000 runs."""
    rows = look_cases(runner, folder)
    interleaved(rows, LOOKS, 30)
    return {case.name: case.median() * 1000 for case in rows}


def table(runner, folder):
    folder = os.path.join(folder, "workflows")
    os.makedirs(folder)
    yield from steps(runner, folder)
    yield ""
    yield from loop(runner, folder)
    yield ""
    yield (f"One more item of a loop adds {loop_memory(runner, folder):.0f} bytes to the peak memory of its worker (from "
           f"{FEW_ITEMS:,} to {MANY_ITEMS:,} items, while the page cache of SQLite fills).")
    shutil.rmtree(os.path.join(folder, "state"))
    found = sizes(runner, folder)
    yield ""
    yield "| runs of three steps | database | per additional run |"
    yield "|---|---|---|"
    for count, size, more in zip(GROWTH, found, [None, *per_run(found)]):
        yield f"| {count:,} | {size / 1024:,.0f} KiB | {f'{more:,.0f} bytes' if more else '–'} |"
    yield ""
    yield f"| with {GROWTH[-1]:,} runs | time of the command |"
    yield "|---|---|"
    for name, took in looks(runner, folder).items():
        yield f"| `workflow {name}` | {took:.1f} ms |"


def growth_and_looks(runner, folder):
    """The largest growth of one run against the smallest, and the slowest of `list` and `show`."""
    more = per_run(sizes(runner, folder))
    took = looks(runner, folder)
    return max(more) / min(more), max(ms for name, ms in took.items() if name != "stats")


VERBS = {"step": step_ratio, "calls": step_calls, "loop-calls": loop_calls, "loop-memory": loop_memory,
         "store": growth_and_looks}

if __name__ == "__main__":
    answer = VERBS[sys.argv[1]](os.path.abspath(os.environ["RUNNER"]), sys.argv[2])
    print(*[f"{value:.2f}" for value in (answer if isinstance(answer, tuple) else (answer,))])
