"""Deploys that are killed: whatever the instant, a whole release is live, and the next run cleans up.

deploy_kill.py MODE    one of the functions below whose names begin with "mode_"

RUNNER names the binary. DEPLOY_KILLS is the number of random instants (default
200); DEPLOY_STRIDE kills at every n-th system call only (default 1: at each).
"""
import hashlib
import http.server
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
RUNNER = os.environ.get("RUNNER", os.path.join(ROOT, "build", "runner"))
KILLS = int(os.environ.get("DEPLOY_KILLS", "200"))
STRIDE = int(os.environ.get("DEPLOY_STRIDE", "1"))
MOST_CALLS = 2000
# whatever changes the file system; a kill before one is a kill behind the one before it
CHANGES = ("rename renameat renameat2 symlink symlinkat unlink unlinkat rmdir mkdir mkdirat link linkat fsync fdatasync "
           "ftruncate pwrite64 fchmod fchmodat chmod utimensat flock").split()
OTHERS = "openat close write read fork vfork clone clone3 execve wait4 exit_group".split()


def digest(tree):
    """What a visitor can see of a tree: names, kinds and bytes."""
    rows = []
    for folder, names, files in os.walk(tree):
        for name in sorted(names + files):
            path = os.path.join(folder, name)
            body = b"/" if os.path.isdir(path) else open(path, "rb").read()
            rows.append((os.path.relpath(path, tree), hashlib.sha256(body).hexdigest()))
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()


class Stage:
    """A project in a directory of its own, and the contents that were ever offered to it."""

    def __init__(self, health=""):
        self.dir = tempfile.mkdtemp(prefix="deploy-kill-")
        self.www = os.path.join(self.dir, "www")
        self.known = {}
        self.version = 0
        with open(os.path.join(self.dir, "runner.lua"), "w", encoding="utf-8") as f:
            f.write(f'return {{ commands = "{ROOT}/commands", config = {{ source = "site", targets = {{ '
                    f'prod = {{ path = "www", keep = 2, {health} }} }} }} }}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)

    def new_site(self, sick=False):
        """Make the source something that was never there before."""
        site = os.path.join(self.dir, "site")
        shutil.rmtree(site, ignore_errors=True)
        os.makedirs(os.path.join(site, "css"))
        self.version += 1
        for name in ("index.html", "css/style.css"):
            with open(os.path.join(site, name), "w", encoding="utf-8") as f:
                f.write(f"{name} of version {self.version}\n")
        if sick:
            open(os.path.join(site, "sick"), "w", encoding="utf-8").close()
        self.known[digest(site)] = self.version

    def archive(self):
        subprocess.run(["tar", "-czf", "site.tgz", "-C", "site", "."], cwd=self.dir, check=True)
        return "site.tgz"

    def start(self, *args, before=()):
        # a leak check needs ptrace, which strace has
        env = {"PATH": os.environ["PATH"], "HOME": "/proc/nonexistent", "ASAN_OPTIONS": "detect_leaks=0"}
        return subprocess.Popen([*before, RUNNER, "deploy", "--target", "prod", *args], cwd=self.dir, env=env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def deploy(self, *args, expect=0):
        """A run that nobody disturbs: its envelope."""
        process = self.start(*args)
        text = process.communicate(timeout=200)[0]
        envelope = json.loads(text)
        assert process.returncode == expect == envelope["meta"]["exit_code"], text
        self.check_clean()
        return envelope

    def live(self):
        """The version that is live; None while nothing is."""
        current = os.path.join(self.www, "current")
        if not os.path.lexists(current):
            return None
        found = digest(os.path.join(current, ""))
        assert os.path.isdir(current), f"current leads nowhere: {os.readlink(current)}"
        assert found in self.known, f"half a release is live: {os.listdir(current)}"
        return self.known[found]

    def check_clean(self):
        for folder, names, files in os.walk(self.www):
            for name in names + files:
                assert not name.startswith((".incoming", ".trash")) and not name.endswith(".tmp"), (folder, name)
        releases = os.listdir(os.path.join(self.www, "releases"))
        notes = [n[:-5] for n in os.listdir(os.path.join(self.www, ".deploy")) if n.endswith(".json")]
        assert set(notes) <= set(releases), (notes, releases)
        for name in releases:
            assert digest(os.path.join(self.www, "releases", name)) in self.known, f"{name} is incomplete"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def kill_worker(pid):
    for child in children(pid):
        kill(child)


def kill_tree(pid):
    below = [pid]
    for parent in below:
        below += children(parent)
    for one in below:
        kill(one)


VICTIMS = {"worker": kill_worker, "supervisor": kill, "tree": kill_tree}


def at_random_instants(victim, count):
    """Kill `count` deploys somewhere between their start and their usual end."""
    source = random.Random(os.environ.get("DEPLOY_SEED", "1"))
    hits = 0
    with Stage() as stage:
        stage.new_site()
        stage.deploy()
        times = []

        def undisturbed():
            began = time.monotonic()
            envelope = stage.deploy()
            times.append(time.monotonic() - began)
            return envelope

        for _ in range(3):
            stage.new_site()
            undisturbed()
        for _ in range(count):
            usual = sorted(times[-5:])[1]  # the machine's load changes
            before = stage.live()
            stage.new_site()
            process = stage.start()
            time.sleep(source.uniform(0, usual * 1.1))
            VICTIMS[victim](process.pid)
            text = process.communicate(timeout=200)[0]
            after = stage.live()
            assert after in (before, stage.version), (before, after, stage.version)
            if process.returncode != 0:
                hits += 1
            if victim == "worker":
                assert json.loads(text)["meta"]["exit_code"] == process.returncode, text
            envelope = undisturbed()
            assert envelope["data"]["effect"] in ("updated", "noop"), envelope
            assert stage.live() == stage.version
    print(f"{count} deploys, {hits} killed before their end")
    assert hits >= count // 4, "too few kills hit a run at work"


def mode_worker():
    at_random_instants("worker", KILLS)


def mode_supervisor():
    at_random_instants("supervisor", KILLS // 4)


def mode_tree():
    at_random_instants("tree", KILLS // 4)


def killed_at(stage, call, n, args):
    """A deploy that dies with its n-th `call`: its exit status, None when the answer is not its own."""
    process = stage.start(*args, before=(
        "strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace=?{call}",
        "-e", f"inject=?{call}:signal=SIGKILL:when={n}"))
    text = process.communicate(timeout=200)[0]
    return json.loads(text)["error"] and json.loads(text)["error"]["code"] if text else "killed"


def at_every_call(stage, calls, prepare, follow_up, args=(), stride=1, end=None):
    """For each of `calls`, kill whoever makes the n-th, n = 1, 2, … until a run ends as usual."""
    kills = 0
    for call in calls:
        for n in range(1, MOST_CALLS, stride):
            stage.new_site()
            prepare()
            before = stage.live()
            code = killed_at(stage, call, n, args)
            after = stage.live()
            assert after in (before, stage.version), (call, n, before, after, stage.version)
            follow_up(call, n)
            if code == end:
                break
            kills += 1
        else:
            raise AssertionError(f"no run survived {MOST_CALLS} times {call}")
    return kills


def survive(stage, *args):
    def again(*_):
        stage.deploy(*args)
        assert stage.live() == stage.version
    return again


def nothing():
    pass


def report(kills):
    print(f"killed {kills} times")
    assert kills > 10 // STRIDE, "strace saw too few calls"


def mode_changes():
    with Stage() as stage:
        stage.new_site()
        stage.deploy()
        stage.new_site()
        stage.deploy()
        report(at_every_call(stage, CHANGES, nothing, survive(stage), stride=STRIDE))


def mode_first():
    """The same, where nothing was live before."""
    with Stage() as stage:
        def fresh():
            shutil.rmtree(stage.www, ignore_errors=True)
        report(at_every_call(stage, CHANGES, fresh, survive(stage), stride=STRIDE))


def mode_others():
    with Stage() as stage:
        stage.new_site()
        stage.deploy()
        report(at_every_call(stage, OTHERS, nothing, survive(stage), stride=STRIDE * 3))


def mode_archive():
    """An archive: tar and sha256sum are among those who are killed."""
    with Stage() as stage:
        stage.new_site()
        stage.deploy()
        report(at_every_call(stage, CHANGES, stage.archive, survive(stage, "site.tgz"), ("site.tgz",),
                             stride=STRIDE * 2))


class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(503 if os.path.exists(os.path.join(self.server.www, "current", "sick")) else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def mode_sick():
    """A sick release that is killed while it is live: the next run still returns to the good one."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    with Stage(f'health = {{ url = "{url}", retry = {{ retries = 1, delay = "10ms" }} }}') as stage:
        server.www = stage.www
        stage.new_site()
        stage.deploy()
        good = stage.version

        def sick():
            stage.new_site(sick=True)

        def returns(*call):
            if call[1] % 2:
                stage.new_site(sick=True)
            stage.deploy(expect=80)
            assert stage.live() == good, (call, stage.live(), good)

        report(at_every_call(stage, CHANGES, sick, returns, stride=STRIDE, end="UNHEALTHY"))
    server.shutdown()


if __name__ == "__main__":
    globals()["mode_" + sys.argv[1]]()
