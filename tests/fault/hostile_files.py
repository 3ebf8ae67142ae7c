"""Removing files: many of them under a deadline, a FUSE file system that never answers among
them, and calls that follow a failed one. Rows of rows.py; other mounts and other users are
bystanders.bats's.

RUNNER names the binary.
"""
import ctypes
import json
import multiprocessing
import os
import select
import struct
import time

import harness
import rows
import sweep
from harness import ROOT, Run, Stage
from rows import Skip, await_file, finish, in_time, row

MANY = 100_000
LIMIT = 0.6  # seconds


# --- 100,000 files -----------------------------------------------------------------------------

def fill(directory, n=MANY):
    os.makedirs(directory, exist_ok=True)
    for i in range(n):
        os.mknod(f"{directory}/{i}")


def left_only_this(e, code):
    codes = [w["code"] for w in e.warnings]
    assert codes in ([], [code]), codes


@row
def many_in_tempdir():
    """a temporary directory of 100,000 files holds the answer to a limit for less than 0.5 s"""
    def attempt():
        with Stage() as stage:
            stage.command("c", "io.open('where.part', 'w'):write(ctx.tempdir):close() os.rename('where.part', 'where') ctx:sleep(580)",
                          "timeout = '10m',")
            run = Run(stage, ["c"])
            await_file(stage, "where")
            with open(stage.path("where"), encoding="ascii") as f:
                fill(f.read() + "/many")
            began = time.monotonic()
            os.kill(run.pid, 15)
            run.finish(60)
            e = harness.one_envelope(run.out, run.status)
            assert e.error["code"] == "CANCELLED", e.error
            left_only_this(e, "TEMPDIR_LEFT")
            return run.began + run.seconds - began
    in_time(attempt)


@row
def many_in_a_tree():
    """fs.remove_tree of 300,000 files heeds a limit within 0.5 s"""
    def attempt():
        with Stage() as stage:
            fill(stage.path("tree"), 3 * MANY)
            stage.command("c", "ctx.fs.remove_tree('tree') return {}")
            run = Run(stage, ["c", "--timeout", f"{int(LIMIT * 1000)}ms"])
            e = finish(run, 10, "TIMEOUT")
            assert not e.warnings, e.warnings
            return run.seconds - LIMIT
    in_time(attempt)


def prepare_site(stage, keep):
    stage.write("runner.lua", f'return {{ commands = "{ROOT}/commands", config = {{ source = "site", targets = {{ '
                f'prod = {{ path = "www", keep = {keep}, lock_wait = "100ms" }} }} }} }}')
    os.makedirs(stage.path("site"))
    for name in ("one", "two"):
        deploy(stage, name)


def answer(stage, argv):
    run = Run(stage, argv)
    run.finish(60)
    return harness.one_envelope(run.out, run.status)


def live(stage):
    with open(stage.path("www", "current", "index.html"), encoding="utf-8") as f:
        return f.read()


def is_live(stage, name):
    assert live(stage) == name, f"{name} is not live"


def deploy(stage, name):
    stage.write("site/index.html", name)
    e = answer(stage, ["deploy", "--target", "prod", "--release", name])
    assert e.ok, e.error
    is_live(stage, name)
    return e


@row
def many_in_a_release():
    """a deploy that prunes a release of 100,000 files heeds a limit within 0.5 s, and the next one prunes it"""
    limit = LIMIT

    def attempt():
        nonlocal limit
        with Stage() as stage:
            prepare_site(stage, 2)
            fill(stage.path("www", "releases", "one", "many"))
            stage.write("site/index.html", "three")
            run = Run(stage, ["deploy", "--target", "prod", "--release", "three", "--timeout", f"{int(limit * 1000)}ms"])
            run.finish(60)
            e = harness.one_envelope(run.out, run.status)
            assert e.ok or e.error["code"] == "TIMEOUT", e.error
            if not e.ok and live(stage) == "two":  # the limit came before there was anything to prune
                limit *= 2
                return float("inf")
            is_live(stage, "three")
            deploy(stage, "four")
            assert not os.path.exists(stage.path("www", "releases", "one")), "never pruned"
            return run.seconds - limit
    in_time(attempt)


# --- a FUSE file system that never answers -------------------------------------------------------

NEW_MOUNTS, PRIVATE, DETACH = 0x20000, (1 << 18) | 0x4000, 2
FUSE_INIT, FUSE_UNLINK, FUSE_RMDIR = 26, 10, 11
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags, options):
    if libc.mount(source, target.encode(), kind, flags, options) != 0:
        raise Skip(f"nothing can be mounted here: {target}: {os.strerror(ctypes.get_errno())}")


class SilentFuse:
    """Mounted at `path`, in a mount namespace of this process's own. It says that it is there,
    and then nothing any more: whoever enters it waits forever."""

    def __init__(self, path):
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0".encode()
        mount(b"none", path, b"fuse", 0, options)
        request = os.read(self.fd, 1 << 20)
        size, opcode, unique = struct.unpack_from("=IIQ", request)
        assert opcode == FUSE_INIT and size == len(request), opcode
        init = struct.pack("=IIIIHHI", 7, 23, 4096, 0, 0, 0, 4096) + bytes(40)
        os.write(self.fd, struct.pack("=IiQ", 16 + len(init), 0, unique) + init)

    def asked(self):
        """The operations that it was asked for."""
        poll, found = select.poll(), []
        poll.register(self.fd, select.POLLIN)
        while poll.poll(0):
            found.append(struct.unpack_from("=II", os.read(self.fd, 1 << 20))[1])
        return found

    def close(self):
        """Wherever it is now: a deploy renames what it removes."""
        with open("/proc/self/mountinfo", encoding="utf-8") as f:
            for fields in map(str.split, f):
                if fields[-3] == "fuse":
                    libc.umount2(fields[4].encode(), DETACH)
        os.close(self.fd)


def in_own_mounts(work):
    """work() in a process with mounts of its own; raises what it raised."""
    def child(pipe):
        harness.become_subreaper()
        try:
            if libc.unshare(NEW_MOUNTS) != 0:
                raise Skip("no mount namespaces here")
            mount(b"none", "/", b"none", PRIVATE, None)
            if not os.access("/dev/fuse", os.R_OK | os.W_OK):
                raise Skip("no /dev/fuse here")
            work()
            pipe.send((None, None))
        except Skip as reason:
            pipe.send((None, str(reason)))
        except Exception as problem:  # pylint: disable=broad-except
            pipe.send((f"{type(problem).__name__}: {problem}", None))

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=child, args=(theirs,))
    process.start()
    process.join(120)
    assert process.exitcode == 0 and ours.poll(), f"hung, or died: {process.exitcode}"
    problem, skip = ours.recv()
    if skip:
        raise Skip(skip)
    assert not problem, problem


def not_entered(fuse):
    asked = fuse.asked()
    assert not {FUSE_UNLINK, FUSE_RMDIR} & set(asked), f"it was asked to remove: {asked}"


@row
def fuse_in_tempdir():
    """a FUSE file system that never answers, in a run's directory, holds nobody up and stays"""
    def work():
        with Stage() as stage:
            stage.command("c", """
                local fs, dir = require "fs", ctx.tempdir
                fs.mkdirs(dir .. "/m") fs.write(dir .. "/file", "x") fs.write("where", dir)
                while not fs.stat("mounted") do ctx:sleep(0.01) end
                return {}""")
            run = Run(stage, ["c"])
            await_file(stage, "where")
            time.sleep(0.1)
            with open(stage.path("where"), encoding="ascii") as f:
                directory = f.read()
            fuse = SilentFuse(directory + "/m")
            stage.write("mounted", "")
            try:
                run.finish(20)
                e = harness.one_envelope(run.out, run.status)
                assert [w["code"] for w in e.warnings] == ["TEMPDIR_LEFT"], e.warnings
                assert not os.path.exists(directory + "/file"), "the rest stays too"
                assert run.seconds < 15, run.seconds
                not_entered(fuse)
            finally:
                fuse.close()
    in_own_mounts(work)


@row
def fuse_in_a_release():
    """a FUSE file system that never answers, in an old release, stops neither deploys nor a rollback"""
    def work():
        with Stage() as stage:
            prepare_site(stage, 2)
            os.mkdir(stage.path("www", "releases", "one", "m"))
            fuse = SilentFuse(stage.path("www", "releases", "one", "m"))
            try:
                told = [w["code"] for name in ("three", "four", "five") for w in deploy(stage, name).warnings]
                assert "LEFT_BEHIND" in told, told
                e = answer(stage, ["rollback", "--target", "prod"])
                assert e.ok, e.error
                is_live(stage, "four")
                not_entered(fuse)
            finally:
                fuse.close()
            deploy(stage, "six")
            left = [name for name in os.listdir(stage.path("www", "releases")) if name.startswith(".trash")]
            assert not left, left
    in_own_mounts(work)


# --- calls after a failed one ------------------------------------------------------------------

AFTER = "rename renameat symlink symlinkat mkdir mkdirat unlink unlinkat rmdir openat open fsync write close flock".split()


def sequence(bench):
    for name in ("three", "four", "five"):
        bench.scenario.before(bench.stage)
        e = answer(bench.stage, bench.scenario.argv)
        assert e.ok, f"deploy {name}: {e.error}"
        bench.scenario.whole(bench.stage, e)
    before = sweep.live(bench.stage)
    e = answer(bench.stage, ["rollback", "--target", "prod"])
    assert e.ok and sweep.live(bench.stage) == before - 1, f"rollback: {e.error}"


@row
def sequences():
    """after a deploy that failed at any of its calls, three deploys and a rollback succeed"""
    if harness.why_no_faults():
        raise Skip(harness.why_no_faults())
    shim = harness.build("shim.c", "-fno-builtin")
    bench, failed = sweep.Bench("deploy", shim), 0
    with bench.stage:
        bench.run(None)
        bench.run(None)
        counts = bench.numbers()[1]
        for call in AFTER:
            count = counts[1, call]
            for nth in sorted({1, count // 2, count} - {0}):
                run = bench.run(f"{call}:1:{nth}:{sweep.ERRNO_OF[call][0]}:1")
                failed += run.status != 0
                try:
                    sequence(bench)
                except AssertionError as problem:
                    raise AssertionError(f"after {call} {nth} of {count} failed: {problem}") from problem
    assert failed >= 10, f"only {failed} deploys failed"


if __name__ == "__main__":
    rows.main()
