"""A copy of the checkout with a build of its own, in which one mutant at a time stands."""
import contextlib
import hashlib
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KIND_TARGETS = {"lua": ["build/runner_host.so"], "cli": ["build/runner"]}
# these run the program too
RUNS_PROGRAM = ("kinds_spec.lua",)
NICE = os.environ.get("NICE") or "19"


class BuildFailed(Exception):
    pass


def tracked(root):
    """The files of a checkout: what git knows, and what is new and not ignored."""
    out = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                         capture_output=True).stdout
    return [name for name in out.decode().split("\0") if name and os.path.lexists(os.path.join(root, name))]


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def same_file(a, b):
    with contextlib.suppress(OSError):
        if os.path.getsize(a) == os.path.getsize(b):
            with open(a, "rb") as f, open(b, "rb") as g:
                return f.read() == g.read()
    return False


class Tree:
    """root: where the copy is. `original`: another Tree, never mutated, to compare with; a new
    copy starts from its build. targets: what of it is built."""

    def __init__(self, root, original=None, targets=("all", "unit", "testhost")):
        self.root, self.original, self.targets = root, original, targets
        self.digests = {}
        if original and not os.path.isdir(root):
            shutil.copytree(original.root, root, symlinks=True, copy_function=shutil.copy2)
        self.update()

    def path(self, name):
        return os.path.join(self.root, name)

    def update(self):
        """Copy what has changed since, remove what is gone, build."""
        names = set(tracked(ROOT))
        for directory, folders, files in os.walk(self.root):
            if directory == self.root:
                folders[:] = [f for f in folders if f != "build"]
            for file in files:
                name = os.path.relpath(os.path.join(directory, file), self.root)
                if name not in names:
                    os.unlink(self.path(name))
        for name in names:
            source, target = os.path.join(ROOT, name), self.path(name)
            if not same_file(source, target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target, follow_symlinks=False)
        self.make("-j", "2", *self.targets)

    def digest(self):
        """Of all that the tests run: what they find in one state of it says nothing of another."""
        names = sorted(name for name in tracked(ROOT) if name.startswith(("src/", "lua/", "commands/", "tests/")))
        text = hashlib.sha1()
        for name in names:
            if not os.path.islink(self.path(name)):
                with open(self.path(name), "rb") as f:
                    text.update(name.encode() + b"\0" + f.read() + b"\0")
        return text.hexdigest()

    def make(self, *targets):
        done = subprocess.run(["nice", "-n", NICE, "make", "-s", "WARN=-w", *targets], cwd=self.root, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
        if done.returncode:
            raise BuildFailed(done.stdout[-800:])

    def make_for(self, suite):
        """What a test file runs, of the sources as they are now."""
        kind = suite.split("/")[1]
        targets = KIND_TARGETS.get(kind, [])
        if kind == "unit":
            targets = ["build/unit/" + os.path.basename(suite)[:-2]]
        if suite.endswith(RUNS_PROGRAM):
            targets = [*targets, "build/runner"]
        self.make(*targets)

    @contextlib.contextmanager
    def with_mutant(self, mutant):
        source = read(self.path(mutant.path))
        self.write(mutant.path, mutant.apply(source))
        try:
            yield
        finally:
            self.write(mutant.path, source)  # newer than its object: made again when needed

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)

    def code(self, name):
        """The digest of what a source compiles to, without lines and names; BuildFailed."""
        if name.endswith(".c"):
            made = self.path("build" + name[len("src"):-2] + ".o")
            self.make(os.path.relpath(made, self.root))
            command = ["objcopy", "--strip-debug", made]
        else:
            command = ["luac5.4", "-s", "-o"]
        with tempfile.NamedTemporaryFile() as out:
            command += [out.name] + ([] if name.endswith(".c") else [self.path(name)])
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            if done.returncode:
                raise BuildFailed(done.stderr)
            with open(out.name, "rb") as f:
                return hashlib.sha1(f.read()).hexdigest()

    def useless(self, mutant):
        """Why the mutant that stands here needs no test: it doesn't compile, or to the same bytes."""
        try:
            code = self.code(mutant.path)
        except BuildFailed:
            return "does not compile"
        if mutant.path not in self.original.digests:
            self.original.digests[mutant.path] = self.original.code(mutant.path)
        return "same code" if code == self.original.digests[mutant.path] else None
