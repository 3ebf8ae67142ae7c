"""Another user, who may write to a folder on the way to a path that runner removes or writes: every door × every part of
the way × what that user may have put there; and one who exchanges it without a pause, while runner removes.

neighbour.py matrix [DOOR…]     each cell has a victim, which has to be whole afterwards, and an answer that says why
neighbour.py entries            what is to be removed is that user's own, in a folder for all
neighbour.py race EXCHANGES     how many exchanges there have to be, at least, of each kind

RUNNER names the binary; UNDER is a command that runs it, such as strace. As root only: it becomes two other users.
"""
import contextlib
import ctypes
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
US, THEM = 65534, 65533
PARTS = ("one", "two", "three")
REFUSAL = re.compile("owned by neither you nor root|it is world-writable|a link in a folder that others|a mount in a folder that others|"
                     "another user's link|is a link")
LIBC = ctypes.CDLL(None, use_errno=True)
RENAME_EXCHANGE, MS_BIND, MS_REC, MS_PRIVATE, CLONE_NEWNS, MNT_DETACH = 2, 4096, 16384, 1 << 18, 0x20000, 2


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def give(path, user):
    for base, folders, files in os.walk(path):
        for name in [".", *folders, *files]:
            os.lchown(os.path.join(base, name), user, user)


# --- a project of ours, and its paths in the shared folder ------------------------------------

class Stage:
    def __init__(self, us=US):
        self.us, self.top = us, tempfile.mkdtemp(prefix="neighbour-")
        os.chmod(self.top, 0o755)
        self.shared, self.project = self.top + "/shared", self.top + "/project"
        self.path = "/".join((self.shared, *PARTS))
        for folder in (self.path, self.project + "/commands", self.top + "/home", self.top + "/tmp", self.top + "/elsewhere"):
            os.makedirs(folder)
        shutil.copy(os.environ["RUNNER"], self.top + "/runner")
        self.env = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "HOME": self.top + "/home", "TMPDIR": self.top + "/tmp",
                    "XDG_STATE_HOME": self.top + "/home/state"}
        self.mounts = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in self.mounts:
            LIBC.umount2(path.encode(), MNT_DETACH)
        shutil.rmtree(self.top)

    def command(self, name, body, keys=""):
        write(f"{self.project}/commands/{name}.lua", f"return {{ description = 'x', danger_level = 'mutating', {keys}\n"
              "exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } },\n"
              f"run = function(args, ctx)\n{body}\nend }}\n")

    def settings(self, text):
        write(self.project + "/runner.lua", f"return {{ {text} }}\n")

    def owned(self):
        for folder in (self.shared, self.project, self.top + "/home", self.top + "/tmp"):
            give(folder, self.us)

    def call(self, *args, **env):
        done = subprocess.run([*os.environ.get("UNDER", "").split(), self.top + "/runner", *args], cwd=self.project, env={**self.env, **env}, user=self.us, group=self.us,
                              extra_groups=[], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
        return json.loads(done.stdout.splitlines()[-1] if done.stdout else "{}")


# --- doors: what removes or writes there, and how -----------------------------------------------

class Door:
    """`kept`: which of the files there are the victim's; `says`: the answer names the refusal"""
    kept, says, parts = "", True, PARTS

    def base(self, s):
        return s.shared

    def prepare(self, s):
        write(s.path + "/cache/precious", "x")
        s.owned()

    def act(self, s):
        raise NotImplementedError


class Cleanup(Door):
    def prepare(self, s):
        s.command("c", "", f"filesystem_side_effects = {{ {{ path = '{s.path}/cache', type = 'cache' }} }},")
        super().prepare(s)
        s.call("c")

    def act(self, s):
        return s.call("cleanup", "--scope", "cache")


class CleanupOfAFile(Cleanup):
    def prepare(self, s):
        super().prepare(s)
        s.command("c", "", f"filesystem_side_effects = {{ {{ path = '{s.path}/cache/precious', type = 'log' }} }},")
        s.owned()

    def act(self, s):
        return s.call("cleanup")


class RemoveTree(Door):
    def prepare(self, s):
        s.command("c", f"ctx.fs.remove_tree '{s.path}/cache'")
        super().prepare(s)

    def act(self, s):
        return s.call("c")


class Cached(Door):
    def prepare(self, s):
        s.command("c", "return { effect = 'noop', v = ctx:cached('k', function() return args.v end) }",
                  f"args = {{ {{ 'v', 'string' }} }}, filesystem_side_effects = {{ {{ path = '{s.path}/cache', type = 'cache' }} }},")
        super().prepare(s)
        assert s.call("c", "--v", "old")["data"]["v"] == "old"

    def act(self, s):
        answer = s.call("c", "--v", "new")
        assert answer["data"]["v"] == "new", "the value came from there"
        return answer


class OutputFile(Door):
    def prepare(self, s):
        write(s.project + "/w.yaml", f"name: w\ncommands: [ {{ shell: 'echo new', output_file: {s.path}/out }} ]\n")
        write(s.path + "/out", "old")
        super().prepare(s)

    def act(self, s):
        return s.call("workflow", "run", "w.yaml")


class WorkflowRm(Door):
    kept, args = "/logs/", ("workflow", "rm", "@last", "--force", "--confirm-destructive")

    def prepare(self, s):
        s.env["XDG_STATE_HOME"] = s.path
        write(s.project + "/w.yaml", "name: w\ncommands: [ { shell: 'echo x' } ]\n")
        super().prepare(s)
        assert s.call("workflow", "run", "w.yaml")["ok"]

    def act(self, s):
        return s.call(*self.args)


class WorkflowPrune(WorkflowRm):
    args = ("workflow", "prune", "--keep", "0", "--confirm-destructive")


class OldJob(Door):
    def prepare(self, s):
        s.env["XDG_STATE_HOME"] = s.path
        s.command("c", "return { effect = 'noop' }")
        super().prepare(s)
        job = s.call("c", "--detach")["data"]["job_id"]
        assert s.call("job", "wait", job)["ok"]
        self.kept = job
        for name in os.listdir(f"{s.path}/runner/jobs/{job}"):
            os.utime(f"{s.path}/runner/jobs/{job}/{name}", (1, 1))

    def act(self, s):
        answer = s.call("c", "--detach")
        s.call("job", "wait", answer["data"]["job_id"])
        return answer


class Deploy(Door):
    def prepare(self, s):
        shutil.copytree(ROOT + "/commands", s.project + "/commands", dirs_exist_ok=True)
        s.settings(f"config = {{ source = 'site', targets = {{ prod = {{ path = '{s.path}/www', keep = 1 }} }} }}")
        write(s.project + "/site/index.html", "x")
        super().prepare(s)
        for name in ("a", "b"):
            assert s.call("deploy", "--target", "prod", "--release", name)["ok"]

    def act(self, s):
        return s.call("deploy", "--target", "prod", "--release", "c")


class Sweep(Door):
    says = False  # as before: what no run of ours can have left there is nobody's concern

    def prepare(self, s):
        s.env["TMPDIR"] = s.path
        s.command("c", "return { effect = 'noop' }")
        write(s.path + "/runner-tmp-01ARZ3NDEKTSV4RRFFQ69G5FAV/precious", "x")
        super().prepare(s)
        os.chmod(s.path + "/runner-tmp-01ARZ3NDEKTSV4RRFFQ69G5FAV", 0o700)

    def act(self, s):
        return s.call("cleanup")


class Tempdir(Door):
    kept = "/precious"

    def prepare(self, s):
        s.env["TMPDIR"] = s.path
        s.command("c", "ctx.fs.write(ctx.tempdir .. '/f', 'x') return { effect = 'noop' }")
        super().prepare(s)

    def act(self, s):
        return s.call("c")


class Audit(Door):
    def prepare(self, s):
        s.settings(f"audit = {{ path = '{s.path}/audit.jsonl' }}")
        s.command("c", "return { effect = 'noop' }")
        super().prepare(s)
        assert not s.call("c")["warnings"]

    def act(self, s):
        return s.call("c")


class Telemetry(Door):
    def prepare(self, s):
        s.settings(f"telemetry = {{ file = '{s.path}/traces.jsonl' }}")
        s.command("c", "return { effect = 'noop' }")
        super().prepare(s)
        assert not s.call("c")["warnings"]

    def act(self, s):
        return s.call("c")


class Executor(Door):
    def prepare(self, s):
        s.settings(f"executors = {{ near = {{ kind = 'local', directory = '{s.path}' }} }}")
        super().prepare(s)

    def act(self, s):
        return s.call("executor", "check", "near")


class LibraryRemove(Door):
    parts = ("good",)

    def base(self, s):
        return s.project + "/vendor"

    def prepare(self, s):
        write(s.top + "/good/commands/greet.lua", "return { description = 'x', danger_level = 'safe', run = function() end }")
        s.settings("")
        give(s.top + "/good", s.us)
        super().prepare(s)
        assert s.call("add", s.top + "/good")["ok"]

    def act(self, s):
        return s.call("library", "remove", "good")


DOORS = {cls.__name__: cls for cls in (Cleanup, CleanupOfAFile, RemoveTree, Cached, OutputFile, WorkflowRm, WorkflowPrune, OldJob,
                                       Deploy, LibraryRemove, Sweep, Tempdir, Audit, Telemetry, Executor)}


# --- what that user may have put there -----------------------------------------------------------

def link(s, at, real):
    os.symlink(real, at)
    os.lchown(at, THEM, THEM)


def folder(s, at, real):
    os.rename(real, at)
    os.chown(at, THEM, THEM)
    os.chmod(at, 0o777)


def exchangeable(s, at, real):
    os.rename(real, at)
    os.chmod(os.path.dirname(at), 0o777)


def mount(s, at, real):
    os.mkdir(at)
    os.chown(at, s.us, s.us)
    if LIBC.mount(real.encode(), at.encode(), None, MS_BIND, None) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    s.mounts.append(at)


KINDS = (link, folder, exchangeable, mount)


def lead_elsewhere(s, door, depth, kind):
    """That part of the way is in a folder in which others may make entries: a sticky one, unless they need more."""
    at = "/".join((door.base(s), *door.parts[:depth + 1]))
    real = s.top + "/elsewhere/" + door.parts[depth]
    os.rename(at, real)
    os.chmod(os.path.dirname(at), 0o1777)
    kind(s, at, real)
    return real if os.path.lexists(real) else at


def listing(top, kept):
    found = {}
    for base, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(base, name)
            if kept in path:
                is_file = os.path.isfile(path) and not os.path.islink(path)
                with open(path if is_file else "/dev/null", "rb") as f:
                    found[path] = hashlib.sha256(f.read()).hexdigest()
    return found


def cell(door, depth, kind, us):
    with Stage(us) as s:
        door.prepare(s)
        victim = lead_elsewhere(s, door, depth, kind)
        before = listing(victim, door.kept)
        assert before, "there is no victim"
        answer = door.act(s)
        after = listing(victim, door.kept)
        assert after == before, f"changed: {sorted(set(before.items()) ^ set(after.items()))[:3]}"
        assert not door.says or REFUSAL.search(json.dumps(answer)), json.dumps(answer)[:600]


def matrix(names):
    cells = [(name, depth, kind, us) for name in names or DOORS for depth in range(len(DOORS[name].parts)) for kind in KINDS
             for us in ((US, 0) if depth == 0 else (US,))]
    with multiprocessing.Pool(2) as pool:
        failed = [text for text in pool.imap_unordered(try_cell, cells) if text]
    for text in sorted(failed):
        print("not ok", text)
    print(f"{len(cells)} cells, {len(failed)} failed")
    return not failed


def try_cell(about):
    name, depth, kind, us = about
    try:
        cell(DOORS[name](), depth, kind, us)
    except (AssertionError, OSError, KeyError, TypeError, ValueError) as e:
        return f"{name} {PARTS[depth]} {kind.__name__} uid {us}: {e!r}"
    return None


def entries():
    """Root could remove them, and any user what is in a folder that is open to all."""
    for door in (RemoveTree(), Cleanup(), CleanupOfAFile()):
        for us in (US, 0):
            with Stage(us) as s:
                door.prepare(s)
                give(s.path + "/cache", THEM)
                os.chmod(s.path + "/cache", 0o777)
                os.chmod(s.path, 0o1777)
                before = listing(s.path, "")
                answer = door.act(s)
                about = f"{type(door).__name__} uid {us}: {json.dumps(answer)[:600]}"
                assert listing(s.path, "") == before, about
                assert REFUSAL.search(json.dumps(answer)), about


# --- one who exchanges without a pause ------------------------------------------------------------

MANY = 40  # paths to remove, in each round


def fill(top):
    for i in range(MANY):
        write(f"{top}/cache{i}/d/f", "x")


class Exchanger:
    """Exchanges pairs of names in a folder, as that user, until it is stopped."""

    def __init__(self, folder_path, pairs):
        self.count, self.over = multiprocessing.Value("q", 0), multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.run, args=(folder_path, pairs))
        self.process.start()

    def run(self, folder_path, pairs):
        os.setgroups([])
        os.setresgid(THEM, THEM, THEM)
        os.setresuid(THEM, THEM, THEM)
        while not self.over.is_set():
            try:
                at = os.open(folder_path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            for a, b in pairs * 20:
                self.count.value += LIBC.renameat2(at, a, at, b, RENAME_EXCHANGE) == 0
            os.close(at)

    def stop(self):
        self.over.set()
        self.process.join()


def prepare_race(s, mode):
    """The first part of the way is exchanged with a link to the victim: in a folder of everybody's, or of a group's."""
    s.command("c", "", "filesystem_side_effects = {" + ", ".join(
        f"{{ path = '{s.path}/cache{i}', type = 'cache' }}" for i in range(MANY)) + "},")
    s.command("t", f"for i = 0, {MANY - 1} do pcall(ctx.fs.remove_tree, '{s.path}/cache' .. i) end return {{ effect = 'deleted' }}")
    s.owned()
    s.call("c")
    os.symlink(s.top + "/elsewhere/one", s.shared + "/evil")
    os.lchown(s.shared + "/evil", THEM, THEM)
    os.chown(s.shared, s.us, THEM)
    os.chmod(s.shared, mode)
    fd = os.open(s.path, os.O_RDONLY)  # while it has that name: this is where files are put, and counted
    return Exchanger(s.shared, [(b"one", b"evil")]), fd


def prepare_race_below(s, _):
    """In what is removed, folders are exchanged with links to the victim."""
    s.command("c", "", f"filesystem_side_effects = {{ {{ path = '{s.path}/tree', type = 'cache' }} }},")
    s.command("t", f"pcall(ctx.fs.remove_tree, '{s.path}/tree') return {{ effect = 'deleted' }}")
    s.owned()
    s.call("c")
    pairs = [(b"cache%d" % i, b"evil%d" % i) for i in range(MANY)]
    fd = os.open(s.path, os.O_RDONLY)
    return Exchanger(s.path + "/tree", pairs), fd


def refill(s, fd, below):
    """By a descriptor, and beside: names on the way are being exchanged."""
    top = f"/proc/self/fd/{fd}"
    if not below:
        fill(top)
        return give(top, s.us)
    fill(top + "/new")
    for i in range(MANY):
        os.symlink(s.top + "/elsewhere/one/two/three", f"{top}/new/evil{i}")
    give(top + "/new", s.us)
    os.chmod(top + "/new", 0o777)
    # What is left of the last one is still being exchanged, and can't be removed for sure: it goes aside.
    with contextlib.suppress(FileNotFoundError):
        os.rename(top + "/tree", f"{top}/left{time.monotonic_ns()}")
    os.rename(top + "/new", top + "/tree")


def race(name, least, prepare, mode, expected):
    with Stage() as s:
        fill(s.top + "/elsewhere/one/two/three")
        give(s.top + "/elsewhere", s.us)
        victim = listing(s.top + "/elsewhere", "")
        exchanger, fd = prepare(s, mode)
        removed, rounds, end = 0, 0, time.monotonic() + 300
        try:
            while (exchanger.count.value < least or rounds < 6 or expected and not removed) and time.monotonic() < end:
                refill(s, fd, mode is None)
                args = ("cleanup", "--scope", "cache") if rounds % 2 else ("t",)
                s.call(*args)
                removed += MANY - sum(os.path.exists(f"/proc/self/fd/{fd}/{'tree/' if mode is None else ''}cache{i}") for i in range(MANY))
                rounds += 1
                assert listing(s.top + "/elsewhere", "") == victim, f"{name}: the victim has lost files"
        finally:
            exchanger.stop()
            os.close(fd)
        print(f"{name}: {exchanger.count.value} exchanges, {rounds} rounds, {removed} removed")
        assert exchanger.count.value >= least, "too few exchanges"
        assert (removed > 0) == expected, removed


def main():
    LIBC.unshare(CLONE_NEWNS)
    LIBC.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None)
    if sys.argv[1] == "matrix":
        sys.exit(0 if matrix(sys.argv[2:]) else 1)
    if sys.argv[1] == "entries":
        sys.exit(entries())
    least = int(sys.argv[2])
    race("a folder of everybody's", least, prepare_race, 0o777, False)
    race("a folder of a group's", least, prepare_race, 0o775, True)
    race("below", least, prepare_race_below, None, True)


if __name__ == "__main__":
    main()
