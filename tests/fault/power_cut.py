"""Writers that promise durability, and a power cut at any moment: in each state of the disk that replay.py makes of a
recording, what was promised is there, what is there can be read and is true, and the next run goes on.

power_cut.py WRITER…    those of the functions below whose names begin with "writer_"; all where none is named

RUNNER names the binary; POWER_CUTS is how many states are drawn for each moment; POWER_SEED is of that choice.
"""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import harness
import replay
from workflow_stage import skip_without_strace

CUTS = int(os.environ.get("POWER_CUTS", "9"))
SEED = os.environ.get("POWER_SEED", "1")
SECONDS = 60
LONG = (1 << 20) + 1000  # more than a step's output may take of the memory


class Stage:
    """A project whose whole world is one directory: its files, and runner's state. What is `kept` no power cut touches."""

    def __init__(self, files, kept=()):
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.dir = tempfile.mkdtemp(prefix="power-cut-", dir=memory)
        self.top = os.path.join(self.dir, "top")
        self.elsewhere = os.path.join(self.dir, "elsewhere")
        self.kept = set(kept)
        for folder in ("commands", "state"):
            os.makedirs(os.path.join(self.top, folder))
        os.mkdir(self.elsewhere)
        for name, text in {"runner.lua": "return {}", **files}.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(self.path(name), 0o644)
        self.env = {"PATH": os.environ["PATH"], "HOME": self.elsewhere, "LC_ALL": "C.UTF-8", "TMPDIR": self.elsewhere,
                    "XDG_STATE_HOME": self.path("state"), "XDG_CACHE_HOME": self.elsewhere, "ASAN_OPTIONS": "detect_leaks=0"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.top, *names)

    def is_kept(self, path):
        return path.split("/")[0] in self.kept

    def lines(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as f:
                return f.read().split()
        except FileNotFoundError:
            return []

    def call(self, *args, fine=(0,)):
        """The envelope of a call, which ends as it should."""
        process = subprocess.run([harness.RUNNER, *args, "--format", "json"], cwd=self.top, env=self.env, stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=SECONDS, check=False)
        envelope = harness.one_envelope(process.stdout, process.returncode)
        assert process.returncode in fine, f"{args}: {process.stdout.decode()[:700]}"
        return envelope

    def record(self, *calls):
        """A recording of these calls, or lines of shell, which all end well."""
        recording = replay.Recording(replay.Disk(self.top, self.is_kept), self.env, self.elsewhere)
        for args in calls:
            argv = ["sh", "-c", args] if isinstance(args, str) else [harness.RUNNER, *args, "--format", "json"]
            out, status, err = recording.run(argv)
            assert status == 0, (args, out, err)
        return recording


def told(said):
    """The answers that have left whole."""
    return [json.loads(line) for line in b"".join(said).split(b"\n")[:-1]]


COMMAND = "return {{ description = 'x', danger_level = 'safe', {keys} run = function(args, ctx)\n{body}\nend }}"


def command(body, keys=""):
    return COMMAND.format(body=body, keys=keys)


# --- the writers: each returns its recording and what holds in each state -----------------------------------

def writer_workflow(stage_of):
    """A run: what began was committed, what is completed stays so and doesn't run again, and `resume` goes on."""
    stage = stage_of({"flow.yaml": """\
name: flow
commands:
  - { id: first, idempotent: true, shell: echo first >>began; echo one }
  - id: each
    foreach: [x, y]
    do:
      - { idempotent: true, shell: "echo ${item} >>began; echo did ${item}" }
  - id: bad
    idempotent: true
    retry: { strategy: constant, initial_delay: 1ms, max_attempts: 2 }
    shell: echo bad >>began; echo no good >&2; [ $(grep -c bad began) -gt 1 ]
  - { id: long, idempotent: true, output_file: long.txt, capture_limit: 1K, shell: "echo long >>began; printf %6000d 7" }
  - { id: last, idempotent: true, shell: "echo last >>began; echo ${steps.first.output} and ${steps.each.output}" }
"""}, kept=["began"])
    order = ["first", "x", "y", "bad", "bad", "long", "last"]
    keys = {"first": "first", "each[1].1": "x", "each[2].1": "y", "bad": "bad", "long": "long", "last": "last"}
    known = set()

    def look():
        path = stage.path("state/runner/runs.db")
        if not os.path.exists(path):
            return None
        db = sqlite3.connect(path)
        try:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone():
                return None
            run = db.execute("SELECT id, state FROM runs").fetchone()
            steps = dict(db.execute("SELECT key, state FROM steps"))
            return run and (*run, steps, db.execute("SELECT key, number, ended_ms IS NULL, code FROM attempts ORDER BY 1, 2").fetchall())
        finally:
            db.close()

    def check(said):
        began, found = stage.lines("began"), look()
        assert found or not began, f"{began} began, and there is no run"
        done = {keys[key] for key, state in (found[2] if found else {}).items() if state == "completed" and key in keys}
        wanted = {name for name in began if name != began[-1]}
        assert wanted <= done, f"{began} began, and only {done} are completed"
        for key, name in keys.items():
            attempts = sum(row[0] == key for row in found[3]) if found else 0
            assert attempts >= began.count(name), f"{began} began, and {key} has {attempts} attempts"
        assert not told(said) or found[1] == "completed", "the run was said to have completed"
        if "long" in done:
            with open(stage.path("long.txt"), "rb") as f:
                assert len(f.read()) == 6000, "a completed step's output_file is not whole"
        failed = [row for row in found[3] if row[0] == "bad" and row[3]] if found else []
        logs = [open(os.path.join(folder, name), "rb").read() for folder, _, names in os.walk(stage.path("state/runner/logs")) for name in names]
        assert not failed or any(b"no good" in log for log in logs), "the log of a failure is gone"
        key = repr((found, began, bool(told(said))))
        if key in known:
            return
        known.add(key)
        if not found:
            assert stage.call("workflow", "run", "flow.yaml").ok
        elif found[1] != "completed":
            stage.call("workflow", "show", found[0])
            assert stage.call("workflow", "resume", found[0]).ok
        now = stage.lines("began")
        for name in done:
            assert now.count(name) == began.count(name), f"{name} was completed, and ran again: {now}"
        assert set(now) == set(order)
        run = look()
        shown = stage.call("workflow", "show", run[0]).data
        assert shown["state"] == "completed", shown
        last = [step for step in shown["steps"] if step["key"] == "last"]
        assert last and last[0]["output"] == "one and did x\ndid y", last
        stage.call("workflow", "logs", run[0])

    return stage.record(("workflow", "run", "flow.yaml")), check


def writer_output(stage_of):
    """Outputs too long for memory, of a step and of a loop's items: once it is completed, the files that keep it are whole."""
    stage = stage_of({"flow.yaml": f"""\
name: flow
commands:
  - {{ id: big, idempotent: true, output_file: big.txt, capture_limit: 4M, shell: printf %{LONG}d 7 }}
  - {{ id: each, foreach: [x, y], do: [{{ idempotent: true, shell: printf %{LONG // 2}d 7 }}] }}
"""})
    item = b"7".rjust(LONG // 2)
    right = {"big": b"7".rjust(LONG), "each": item + b"\n" + item}

    def completed():
        path = stage.path("state/runner/runs.db")
        if not os.path.exists(path):
            return set()
        db = sqlite3.connect(path)
        try:
            has = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'steps'").fetchone()
            return {row[0] for row in db.execute("SELECT key FROM steps WHERE state = 'completed'")} if has else set()
        finally:
            db.close()

    def content(path):
        with open(path, "rb") as f:
            return f.read()

    def check(said):
        done = completed() & set(right)
        assert len(done) == 2 or not told(said), "the run was said to have completed"
        kept = {name: content(os.path.join(folder, name)) for folder, _, names in os.walk(stage.path("state/runner/outputs")) for name in names}
        for key in done:
            assert kept.get(key) == right[key], f"what {key} said is {'not whole' if key in kept else 'gone'}"
        assert "each" not in done or len(json.loads(kept["each~data"])) == 2, "the rows of the items are gone"
        assert "big" not in done or content(stage.path("big.txt")) == right["big"], "big.txt is not whole"

    return stage.record(("workflow", "run", "flow.yaml")), check


def writer_ledger(stage_of):
    """The ledger with `sync`: the rows of each call are there, nothing that is there was changed, and it goes on."""
    stage = stage_of({"runner.lua": "return { audit = { path = 'log/audit.jsonl', sync = true, required = true } }", "log/keep": "",
                      "commands/note.lua": command("io.open('began', 'a'):write('x\\n'):close() return {}")}, kept=["began"])

    def rows():
        try:
            with open(stage.path("log/audit.jsonl"), "rb") as f:
                return [json.loads(line) for line in f.read().split(b"\n")[:-1] if line.endswith(b'"}') and b"\0" not in line]
        except FileNotFoundError:
            return []

    def check(said):
        events = [row["event"] for row in rows()]
        assert events.count("begin") >= len(stage.lines("began")), f"{stage.lines('began')} began, and the ledger has {events}"
        assert events.count("end") >= len(told(said)), f"{len(told(said))} answers left, and the ledger has {events}"
        stage.call("note")
        assert [row["event"] for row in rows()][-2:] == ["begin", "end"], rows()
        stage.call("audit", "list")
        whole = stage.call("audit", "verify", fine=(0, 4))
        assert whole.ok or all(problem["problem"] == "it is no whole row" or "rows before" in problem["problem"]
                              for problem in whole.data["problems"]), whole.data

    return stage.record(("note",), ("note",)), check


def writer_checkpoint(stage_of):
    """A checkpoint: work that it covers isn't done twice; a success removes it, and the same call begins anew."""
    stage = stage_of({"commands/work.lua": command("""
        local state = ctx:restore() or { done = 0 }
        local from = state.done
        for i = from + 1, 3 do
            io.open('began', 'a'):write(i .. '\\n'):close()
            ctx:checkpoint { done = i }
        end
        io.open('began', 'a'):write('end\\n'):close()
        return { from = from }""", "interruption = { resume = true },")}, kept=["began"])

    def check(said):
        began, over = stage.lines("began"), len(told(said))
        envelope = stage.call("work")
        start = envelope.data["from"]
        assert not envelope.warnings, envelope.warnings
        since = began[4 * over:]  # of the call that had no answer yet
        if not since:
            assert start == 0, f"a call had ended, and the next one went on from {start}"
        elif len(since) < 4:
            assert len(since) - 1 <= start <= len(since), f"{began} began, and it went on from {start}"

    return stage.record(("work",), ("work",)), check


def job_of(stage_of, keys, call):
    """A job that a call starts: once its ID was told, it is known; once its answer was told, that is there; no other passes for it."""
    stage = stage_of({"commands/work.lua": command("io.open('began', 'a'):write('x\\n'):close() return { made = ('x'):rep(3000) }",
                                                   "side_effects = nil," + keys)}, kept=["began"])
    right = {"made": "x" * 3000}

    def check(said):
        answers = told(said)
        jobs = {job["job_id"]: job["status"] for job in stage.call("job", "list").data}
        assert set(jobs.values()) <= {"complete", "lost"}, jobs
        if answers:
            job = answers[0]["data"].get("job_id")  # none: it has waited to the end
            assert not job or job in jobs, f"{job} was told, and there is {jobs}"
            assert job or answers[0]["data"] == right, answers
            assert len(answers) < 2 or list(jobs.values()) == ["complete"], jobs
        for job, status in jobs.items():
            envelope = stage.call("job", "wait", job, fine=range(0, 100))
            assert not envelope.ok or envelope.data == right, envelope
            assert envelope.ok == (status == "complete"), (status, envelope)
            stage.call("job", "logs", job)
        assert stage.call("work").data == right

    return stage.record(call, ("job", "wait", "@last")), check


def writer_job(stage_of):
    """A job that a flag asks for."""
    return job_of(stage_of, "", ("work", "--detach"))


def writer_budget(stage_of):
    """A job that goes on where its caller's budget ends."""
    return job_of(stage_of, "interruption = { detach = true },", f"{harness.RUNNER} work --budget 1ms --format json || [ $? -eq 14 ]")


def writer_deploy(stage_of):
    """A release: what is live is whole, and once that was said, it is live; the next deploy goes on."""
    stage = stage_of({"runner.lua": f"return {{ commands = '{harness.ROOT}/commands', config = {{ source = 'site', targets = {{ prod = {{ path = 'www', "
                                    "keep = 2 } } } }", "site/index.html": "version 1", "site/css/style.css": "1" * 1500}, kept=["site"])

    def live(path):
        found = {}
        for name in ("index.html", "css/style.css"):
            try:
                with open(stage.path(path, name), encoding="utf-8") as f:
                    found[name] = f.read()
            except FileNotFoundError:
                found[name] = None
        return found

    first, second = live("site"), {"index.html": "version 2", "css/style.css": "1" * 1500}

    def check(said):
        over, now = len(told(said)), live("www/current")
        assert now in (first, second) or not over and not os.path.lexists(stage.path("www/current")), now
        assert over < 2 or now == second, f"version 2 was said to be live, and {now} is"
        assert stage.call("deploy", "--target", "prod").ok
        assert live("www/current") == live("site")

    call = ("deploy", "--target", "prod")
    return stage.record(call, "printf 'version 2' >site/index.html", call), check


def writer_library(stage_of):
    """runner.lock and vendor/: a library that was said to be there is, whole; one that the lock names runs."""
    stage = stage_of({"from/commands/hello.lua": command("return { hello = 'world' }"), "from/lib/words.lua": "return { word = 'x' }"}, kept=["from"])

    def check(said):
        named = os.path.exists(stage.path("runner.lock")) and os.path.getsize(stage.path("runner.lock")) > 3
        assert named or not told(said), "it was said to be there, and runner.lock is not"
        if named:
            assert stage.call("tools", "hello").data == {"hello": "world"}
        stage.call("add", "from", "--as", "tools")
        assert stage.call("tools", "hello").data == {"hello": "world"}

    return stage.record(("add", "from", "--as", "tools")), check


def writer_policy(stage_of):
    """The calls that a policy counts: however often the power is cut, no more are made than it allows."""
    stage = stage_of({"p.json": '{ "allow": { "note": { "max_calls": 3 } } }',
                      "commands/note.lua": command("io.open('began', 'a'):write('x\\n'):close() return {}")}, kept=["began"])

    def check(said):
        for _ in range(4):
            if not stage.call("--policy", "p.json", "note", fine=range(0, 100)).ok:
                break
        began = len(stage.lines("began"))
        assert began <= 3, f"{began} calls were made"
        assert began >= 2, f"only {began} calls could be made"  # one that was cut off may have been counted

    return stage.record(("--policy", "p.json", "note"), ("--policy", "p.json", "note")), check


def writer_key(stage_of):
    """A call with an idempotency key: once it was answered, the same call has that answer; one that began doesn't run again."""
    stage = stage_of({"commands/pay.lua": command("io.open('began', 'a'):write('x\\n'):close() return { paid = 7 }",
                                                  "exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } },").replace("'safe'", "'mutating'")},
                     kept=["began"])

    def check(said):
        began = len(stage.lines("began"))
        envelope = stage.call("pay", "--idempotency-key", "k1", fine=range(0, 100))
        now = len(stage.lines("began"))
        assert now == 1 or not envelope.ok, envelope
        assert now <= 1, f"it ran {now} times: {envelope}"
        assert envelope.ok or not told(said), envelope
        assert not envelope.ok or envelope.data["paid"] == 7, envelope

    return stage.record(("pay", "--idempotency-key", "k1")), check


def writer_files(stage_of):
    """What runner.fs says is on the disk, for scripts and for runner itself: it is, and what appears whole is never half there."""
    stage = stage_of({"commands/files.lua": command("""
        local fs = require 'runner.fs'
        local text = ('x'):rep(1500)
        local function plain(path) local f <close> = io.open(path, 'w') f:write(text) return path end
        local function did(name, ...) assert(...) local f <close> = io.open('began', 'a') f:write(name, '\\n') end
        did('folder', fs.mkdirs('data/deep', 448, true))
        did('write', fs.write('data/deep/write', text))
        did('create', fs.create('data/deep/create', text))
        did('replace', fs.replace(plain 'data/part', 'data/deep/replace'))
        did('over', fs.replace(plain 'data/part', 'data/deep/write'))
        did('copy', fs.copy('from/a/copied', 'data/deep/copy'))
        did('copied', fs.copy_tree('from/a', 'data/deep/a'))
        did('link', fs.swap_symlink('../../from/a/copied', 'data/deep/link'))
        plain 'data/deep/synced'
        did('synced', fs.fsync 'data/deep/synced' and fs.fsync 'data/deep')
        did('tree', fs.mkdirs('data/deep/tree/in', 448) and plain 'data/deep/tree/in/tree' and fs.fsync_tree 'data/deep/tree'
            and fs.fsync 'data/deep')
        return {}"""), "from/a/copied": "x" * 1500}, kept=["began", "from"])
    places = {"over": "write", "copied": "a/copied", "tree": "tree/in/tree", "folder": ""}

    def check(said):
        for name in {*stage.lines("began"), "write", "replace", "copy"}:
            path = stage.path("data/deep", places.get(name, name))
            there = os.path.exists(path)
            assert there or name not in stage.lines("began"), f"{name} is not there"
            if there and not os.path.isdir(path):
                with open(path, "rb") as f:
                    assert f.read() == b"x" * 1500, f"{name} is not whole"

    return stage.record(("files",)), check


WRITERS = {name[len("writer_"):]: made for name, made in list(globals().items()) if name.startswith("writer_")}


def main(names):
    skip_without_strace()
    for name in names or WRITERS:
        with contextlib.ExitStack() as stages:
            recording, check = WRITERS[name](lambda *args, stages=stages, **options: stages.enter_context(Stage(*args, **options)))
            moments, states = replay.explore(recording, CUTS, f"{SEED} {name}", check)
            print(f"{name}: {moments} moments, {states} states", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
