"""Faults from below: for every call of every libc function that a run makes, in the
supervisor, in the worker, in its children before exec and in a zygote with its calls, that
call fails with each errno it can have (or does less than it was asked for): once, and where
a lack can last, from there on always.

sweep.py SCENARIO…       hello flaky native command library workflow warm profile deploy (default: all)

The run never hangs, dies by a signal or lies: one valid envelope while stdout works,
else a message on stderr and a status that is not 0; a success is a whole success.

RUNNER names the binary (of a static one, harness.FAULTY is swept); SWEEP_STRIDE=1 takes every call site (default: as many as
fit into the scenario's budget of runs, by SWEEP_SEED); SWEEP_ONLY=CALL[:ROLE] narrows it.
"""
import ctypes
import errno
import itertools
import multiprocessing
import multiprocessing.util
import os
import random
import shutil
import sys
import time

import harness
from calls import ERRNO_OF, LASTING, SHORT
from harness import ROOT, Run, Stage

ROLES = ("supervisor", "worker", "child", "zygote")
BOUND_S = 40
LIMIT = "2s"
STATIC_SHARE = 4  # of the budget: the dynamic build, with the same sources, has the whole
PATIENCE = "60s"  # a run that nobody disturbs takes no time, but the machine may
STATE_BYTES = 8192
# faults of the supervisor's own writing: then stdout doesn't work
WRITES = ("write", "send", "pwritev2")


# --- scenarios -----------------------------------------------------------------------

def prepare_hello(stage):
    stage.command("hello", "return { greeting = 'Hello, ' .. args.name }",
                  "args = { { 'name', 'string', positional = true, default = 'world' } },")


def whole_hello(_, e):
    assert e.data == {"greeting": "Hello, world"}, e.data


def prepare_flaky(stage):
    stage.command("flaky", "if ctx.attempt == 1 then ctx:fail('UNAVAILABLE', 'try again') end\n"
                  "return { attempt = ctx.attempt }",
                  "retry = { retries = 1, delay = '1ms', jitter = 'none', on = { 'UNAVAILABLE' } },")


def whole_flaky(_, e):
    assert e.data == {"attempt": 2} and e.meta["retries"] == 1 and e.meta["attempt"] == 2, e


def prepare_native(stage):
    stage.command("native", "local lpeg = require 'lpeg' return { at = lpeg.match(lpeg.P 'ab', 'abc') }")


def whole_native(_, e):
    assert e.data == {"at": 3}, e.data


def prepare_command(stage):
    # the names keep the session directory in the sweep as well
    stage.command("command", """
        local f = assert(io.open(ctx.tempdir .. "/note", "w"))
        assert(f:write(("n"):rep(3000)))
        assert(f:close())
        local r = ctx:run { "sh", "-c", "cat; echo told >&2; printf end", stdin = ("x"):rep(5000), check = true }
        if r.incomplete or r.truncated then ctx:fail("GENERAL_ERROR", "output is missing") end
        local lines = 0
        local s = ctx:run { "printf", "a\\nb\\nc\\n", check = true, on_line = function() lines = lines + 1 end }
        if s.incomplete or s.truncated then ctx:fail("GENERAL_ERROR", "lines are missing") end
        return { out = #r.stdout, err = r.stderr, lines = lines }""")


def whole_command(_, e):
    assert e.data == {"out": 5003, "err": "told\n", "lines": 3}, e.data


def prepare_library(stage):
    """What Lua's own library does, and what runner put into it."""
    stage.command("library", """
        assert(os.execute("true"))
        local pipe = assert(io.popen("echo piped"))
        local piped = assert(pipe:read("l"))
        assert(pipe:close())
        local name = ctx.tempdir .. "/note"
        local f = assert(io.open(name, "w"))
        assert(f:write(("n"):rep(3000), "\\n", 12))
        assert(f:close())
        local g = assert(io.open(name))
        local text = assert(g:read("a"))
        assert(g:seek("set", 3001))
        local number = assert(g:read("n"))
        assert(g:close())
        local other = os.tmpname()
        assert(os.rename(name, other))
        assert(os.remove(other))
        return { piped = piped, size = #text, number = number }""")


def whole_library(_, e):
    assert e.data == {"piped": "piped", "size": 3003, "number": 12}, e.data


def prepare_workflow(stage):
    stage.write("w.yaml", """
name: w
steps:
  - id: a
    shell: echo told
    capture_output: said
  - id: b
    shell: printf 'got %s' "${said}"
""")


def whole_workflow(_, e):
    assert e.data["state"] == "completed", e.data
    if "steps" not in e.data:  # nothing of them could be read: the answer still names the run, and says so
        assert e.data["id"] and [w["code"] for w in e.warnings] == ["REPORT_FAILED"], e.data
        return
    assert [s["output"] for s in e.data["steps"]] == ["told", "got told"], e.data


def prepare_warm(stage):
    """A server of calls. One of them may fail, and then it says so."""
    prepare_hello(stage)
    stage.command("serve", """
        local process, json = require "runner.process", require "runner.json"
        local program = assert(require("runner.fs").readlink "/proc/self/exe")
        for i = 1, 3 do
            local handle, why = process.start { argv = { program, "hello", "n" .. i }, warm = true, capture = true }
            if not handle then ctx:fail("GENERAL_ERROR", why) end
            assert(process.set { handle }:wait(false))
            local result = handle:result()
            local answer = json.decode(result.stdout)
            if not result.ok then
                ctx:fail("GENERAL_ERROR", result.signal or type(answer) == "table" and answer.error.code or result.stderr)
            elseif result.truncated or result.incomplete then
                ctx:fail("GENERAL_ERROR", "output is missing")
            end
            assert(answer.data.greeting == "Hello, n" .. i)
        end
        return { calls = 3 }""")


def whole_warm(_, e):
    assert e.data == {"calls": 3}, e.data


def prepare_profile(stage):
    """As `runner flame` starts it: the folder of the pages is given by the environment."""
    os.makedirs(stage.path("pages"), exist_ok=True)
    stage.command("profile", "local n = 0 for i = 1, 2000000 do n = n + i % 7 end return { n = n }")


def before_profile(stage):
    for name in os.listdir(stage.path("pages")):
        os.unlink(stage.path("pages", name))


def whole_profile(_, e):
    assert e.data == {"n": 5999997}, e.data


def prepare_deploy(stage):
    stage.write("runner.lua", f'return {{ commands = "{ROOT}/commands", config = {{ source = "site", targets = {{ '
                'prod = { path = "www", keep = 1, lock_wait = "100ms" } } } }')
    os.makedirs(stage.path("site", "css"))
    stage.version = 0


def before_deploy(stage):
    stage.version += 1
    for name in ("index.html", "css/style.css"):
        stage.write(f"site/{name}", f"{name} {stage.version}\n")


def live(stage):
    """The version that is live; None while nothing is. Half a release raises."""
    if not os.path.lexists(stage.path("www", "current")):
        return None
    versions = set()
    for name in ("index.html", "css/style.css"):
        with open(stage.path("www", "current", name), encoding="utf-8") as f:
            said, version = f.read().split()
        assert said == name
        versions.add(int(version))
    assert len(versions) == 1, f"half a release is live: {versions}"
    return versions.pop()


def whole_deploy(stage, e):
    assert live(stage) == stage.version and e.data["effect"] in ("created", "updated"), (live(stage), stage.version, e)


def after_deploy(stage):
    assert live(stage) in (None, stage.version, *range(max(0, stage.version - 50), stage.version))


class Scenario:
    """A run, how to make it ready, and what a success must be. `runs`: how many fit into the default."""

    def __init__(self, argv, prepare, whole, runs, before=None, after=None, pages=False):
        self.pages = pages
        self.argv, self.prepare, self.whole, self.runs = argv, prepare, whole, runs
        self.before, self.after = before, after


SCENARIOS = {
    "hello": Scenario(["hello"], prepare_hello, whole_hello, 1600),
    "flaky": Scenario(["flaky"], prepare_flaky, whole_flaky, 1200),
    "native": Scenario(["native"], prepare_native, whole_native, 800),
    "command": Scenario(["command"], prepare_command, whole_command, 900),
    "library": Scenario(["library"], prepare_library, whole_library, 700),
    "workflow": Scenario(["workflow", "run", "w.yaml"], prepare_workflow, whole_workflow, 600),
    "warm": Scenario(["serve"], prepare_warm, whole_warm, 900),
    "profile": Scenario(["profile"], prepare_profile, whole_profile, 300, before_profile, pages=True),
    "deploy": Scenario(["deploy", "--target", "prod", "--retries", "0"], prepare_deploy, whole_deploy, 600,
                       before_deploy, after_deploy),
}


# --- one run ----------------------------------------------------------------------------

class Bench:
    """A worker process's own stage and state file."""

    def __init__(self, scenario, shim):
        harness.become_subreaper()
        self.scenario = SCENARIOS[scenario]
        self.shim = shim
        self.stage = Stage()
        self.state = self.stage.path("state")
        self.scenario.prepare(self.stage)

    def run(self, fault):
        with open(self.state, "wb") as f:
            f.truncate(STATE_BYTES)
        if self.scenario.before:
            self.scenario.before(self.stage)
        extra = {"FAULT": fault} if fault else {}
        if self.scenario.pages:
            extra["RUNNER_FLAME"] = self.stage.path("pages")
        if not harness.is_static():
            extra["LD_PRELOAD"] = self.shim
        env = self.stage.environment(FAULT_STATE=self.state, **extra)
        run = Run(self.stage, [*self.scenario.argv, "--timeout", LIMIT if fault else PATIENCE], env=env,
                  program=harness.FAULTY if harness.is_static() else harness.RUNNER)
        run.finish(BOUND_S if fault else 100)
        return run

    def numbers(self):
        """supervisor, fired, counts by role and call (struct state of shim.c)."""
        names = call_names(self.shim)
        with open(self.state, "rb") as f:
            raw = memoryview(f.read()).cast("I")
        counts = [list(raw[2 + r * len(names):2 + (r + 1) * len(names)]) for r in range(len(ROLES))]
        return raw[1], {(r, name): counts[r][i] for r in range(len(ROLES)) for i, name in enumerate(names)}


def call_names(shim):
    if not hasattr(call_names, "known"):
        library = ctypes.CDLL(shim)
        library.shim_names.restype = ctypes.POINTER(ctypes.c_char_p)
        found = [name.decode() for name in itertools.takewhile(bool, library.shim_names())]
        assert set(found) == set(ERRNO_OF), set(found) ^ set(ERRNO_OF)
        call_names.known = found
    return call_names.known


def judge(bench, run, call, role, ever):
    """Raises when the run hung, died, lied or left something; was it a success?"""
    stage = bench.stage
    assert run.status is not None, f"hung for {BOUND_S} s"
    assert run.status >= 0, f"died by signal {-run.status}"
    assert not run.held, "somebody still holds the caller's pipe"
    left = harness.await_empty(5)
    assert not left, f"left alive: {left}"
    stdout_failed = role == 0 and call in WRITES
    succeeded = run.status == 0
    if run.out or not stdout_failed:
        e = harness.one_envelope(run.out, run.status)
        if e.ok:
            bench.scenario.whole(stage, e)
    else:
        # where writing goes on failing, stderr can't say it either
        assert run.status != 0 and (run.err or ever), f"neither an envelope nor a message: {run.status} {run.err!r}"
    if bench.scenario.after:
        bench.scenario.after(stage)
    files = stage.leftovers()
    for name in files:
        shutil.rmtree(stage.path("tmp", name), ignore_errors=True)
    assert not files or b"TEMPDIR_LEFT" in run.out + run.err, f"temporary files left in silence: {files}"
    return succeeded


def follow_up(bench):
    """After a failure, a run that nobody disturbs succeeds."""
    run = bench.run(None)
    e = harness.one_envelope(run.out, run.status)
    assert e.ok, f"the next run fails: {e.error}"
    assert e.data["effect"] == "noop" or bench.scenario.whole(bench.stage, e) is None


def attempt(bench, call, role, nth, err, ever):
    fault = f"{call}:{role}:{nth}:{err}:{ever}"
    run = bench.run(fault)
    fired = bench.numbers()[0] > 0
    try:
        succeeded = judge(bench, run, call, role, ever)
        if not succeeded and bench.scenario.after:
            follow_up(bench)
    except Exception as problem:  # pylint: disable=broad-except
        said = f"{type(problem).__name__}: {problem}"
        shutil.rmtree(bench.stage.path("tmp"))
        os.mkdir(bench.stage.path("tmp"))
        return f"{' '.join(bench.scenario.argv)}: FAULT={fault} ({ROLES[role]}, {os.strerror(err) if err else 'short'}): " \
               f"{said[:600]}\n  out={run.out[:500]!r}\n  err={run.err[:300]!r}", fired
    return None, fired


# --- the sweep ------------------------------------------------------------------------------

bench_here = None  # of a pool's process


def enter(scenario, shim):
    global bench_here
    bench_here = Bench(scenario, shim)
    multiprocessing.util.Finalize(None, shutil.rmtree, (bench_here.stage.dir, True), exitpriority=1)


def work(site):
    problem, fired = attempt(bench_here, *site)
    return site, problem, fired


def sites_of(scenario, shim):
    """Every (call, role, n, errno, ever) of an undisturbed run."""
    bench = Bench(scenario, shim)
    run = bench.run(None)
    e = harness.one_envelope(run.out, run.status)
    assert e.ok, e
    bench.scenario.whole(bench.stage, e)
    run = bench.run(None)  # the second is the usual case: what must be there is there
    _, counts = bench.numbers()
    bench.stage.__exit__(None, None, None)
    only = os.environ.get("SWEEP_ONLY", "").split(":")
    return [(call, role, n, err, ever) for (role, call), count in sorted(counts.items()) if count
            for n in range(1, count + 1) for err in ERRNO_OF[call]
            for ever in ((0, 1) if call in LASTING and err not in (errno.EINTR, SHORT) else (0,))
            if not only[0] or (call == only[0] and (len(only) < 2 or role == int(only[1])))]


def choose(sites, budget):
    """All sites, or a choice that has each (call, role, errno, ever) at its first and last place, where these fit."""
    stride = os.environ.get("SWEEP_STRIDE")
    if stride:
        return sites[::int(stride)]
    if len(sites) <= budget:
        return sites
    groups = {}
    for site in sites:
        groups.setdefault((site[0], site[1], *site[3:]), []).append(site)
    ends = [s for group in groups.values() for s in {group[0]: 0, group[-1]: 0}]
    rest = sorted(set(sites) - set(ends))
    source = random.Random(int(os.environ.get("SWEEP_SEED", "1")))
    if len(ends) > budget:
        return source.sample(ends, budget)
    return ends + source.sample(rest, min(len(rest), budget - len(ends)))


def sweep(scenario, shim):
    began = time.monotonic()
    sites = sites_of(scenario, shim)
    chosen = choose(sites, SCENARIOS[scenario].runs // (STATIC_SHARE if harness.is_static() else 1))
    problems, fired = [], 0
    with multiprocessing.Pool(harness.JOBS, enter, (scenario, shim)) as pool:
        for _, problem, hit in pool.imap_unordered(work, chosen, 8):
            fired += hit
            if problem:
                problems.append(problem)
        pool.close()
        pool.join()
    print(f"# {scenario}: {len(chosen)} of {len(sites)} faults, {fired} took effect, {len(problems)} problems, "
          f"{time.monotonic() - began:.0f} s", flush=True)
    return problems, fired


def main():
    if harness.why_no_faults():
        sys.exit(harness.why_no_faults())
    shim = harness.build("shim.c", "-fno-builtin")
    failed = False
    for scenario in sys.argv[1:] or SCENARIOS:
        problems, fired = sweep(scenario, shim)
        for problem in problems[:int(os.environ.get("SWEEP_SHOW", "12"))]:
            print(problem, flush=True)
        if fired < 20 and not os.environ.get("SWEEP_ONLY"):
            print(f"{scenario}: only {fired} faults took effect: is the shim there?")
            failed = True
        failed = failed or bool(problems)
    shutil.rmtree(os.path.dirname(shim))
    sys.exit(failed)


if __name__ == "__main__":
    main()
