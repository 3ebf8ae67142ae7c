"""Worktrees whose runners, and the git in them, are killed at random instants: what agents committed is merged once, and
nothing of theirs is left; what is the user's (a file, a branch, a worktree) is as it was.

workflow_worktrees.py    RUNNER names the binary; CRASH=full: 300 kills, and 200 with 50 agents side by side; CRASH_SEED is of the instants
"""
import collections
import os
import random
import shutil
import subprocess
import time

import harness
from workflow_stage import IN_DOUBT, VICTIMS, Stage, in_threads

FULL = os.environ.get("CRASH") == "full"
CASES = int(os.environ.get("CRASH_CASES", 120 if FULL else 12))
SIDE_BY_SIDE = 50 if FULL else 8
SEED = os.environ.get("CRASH_SEED", "1")
MOST_RESUMES = 40
AGAIN = 0.6  # how many of the resumed runs are killed, too

COMMIT = "git add -A; git diff --cached --quiet || git commit -qm"

# `fix` is merged as it is; each item is, also those into a worktree around them, `nest`; `clash` conflicts with what the items
# have left, and its repair merges that.
WORKFLOW = f"""\
name: trees
commands:
  - id: fix
    worktree: {{ branch: agent/fix, merge: true }}
    shell: echo fix >fix; mkdir -p deep/er; seq 3000 >deep/er/long; {COMMIT} fix
    check: [{{ commit: true }}]
  - foreach: [ITEMS]
    parallel: 64
    worktree: {{ branch: "agent/${{item}}", merge: true }}
    do:
      - idempotent: true
        shell: echo ${{item}} >"of ${{item}}"; [ ${{item}} != a ] || echo a >shared; {COMMIT} ${{item}}
  - id: nest
    worktree: {{ branch: agent/nest, merge: true }}
    steps:
      - foreach: [p, q]
        parallel: 2
        worktree: {{ branch: "agent/${{item}}", merge: true }}
        do:
          - idempotent: true
            shell: echo ${{item}} >"of ${{item}}"; {COMMIT} ${{item}}
  - id: clash
    worktree: {{ base: start, branch: agent/clash, merge: true }}
    idempotent: true
    shell: grep -q clash shared || echo clash >shared; {COMMIT} clash
    repair:
      - idempotent: true
        shell: git reset -q --hard; git clean -qfd; git merge -q main || {{ echo both >shared; git commit -qam both; }}
"""

figures = collections.Counter()


class Repository(Stage):
    items = ["a", "b", "c"]

    def start(self, *args, before=()):
        return subprocess.Popen([*before, harness.RUNNER, "workflow", *args], cwd=self.path("repo"), env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def git(self, *args, where="repo"):
        return subprocess.run(["git", *args], cwd=self.path(where), env={**self.env, "TOKEN": ""}, check=True, capture_output=True,
                              text=True).stdout.strip()

    def fresh(self):
        for name in ("state", "repo", "theirs"):
            shutil.rmtree(self.path(name), ignore_errors=True)
        os.mkdir(self.path("repo"))
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.write("repo/shared", "at first\n")
        self.git("add", "-A")
        self.git("commit", "-qm", "start")
        self.git("tag", "start")
        self.git("worktree", "add", "-q", "-b", "other", self.path("theirs"))
        self.write("theirs/shared", "mine\n")
        self.write("repo/mine", "mine\n")
        self.write("trees.yaml", WORKFLOW.replace("ITEMS", ", ".join(self.items)))
        self.before = self.git("rev-parse", "other"), self.git("status", "--porcelain", where="theirs")

    def check_end(self):
        assert self.rows("SELECT state FROM runs") == [("completed",)], self.rows("SELECT state, message FROM runs")
        subjects = collections.Counter(self.git("log", "--format=%s", "main").split("\n"))
        for name in ("fix", "clash", "p", "q", *self.items):
            assert subjects[name] == 1, (name, subjects)
        assert all(count == 1 for subject, count in subjects.items() if subject.startswith("Merge branch")), subjects
        for name in ("p", "q", *self.items):
            assert self.lines(f"repo/of {name}") == [name]
        assert self.lines("repo/shared") == ["both"] and self.lines("repo/fix") == ["fix"]
        assert self.git("status", "--porcelain") == "?? mine", self.git("status", "--porcelain")
        assert self.lines("repo/mine") == self.lines("theirs/shared") == ["mine"]
        assert self.git("branch", "--format=%(refname:short)").split() == ["main", "other"], self.git("branch")
        assert os.listdir(self.path("repo/.git/worktrees")) == ["theirs"], os.listdir(self.path("repo/.git/worktrees"))
        assert (self.git("rev-parse", "other"), self.git("status", "--porcelain", where="theirs")) == self.before
        left = [name for name in os.listdir(self.path("repo/.git")) if "lock" in name or "runner" in name]
        assert not left, left
        trees = [name for name in os.listdir(self.path("state/runner/worktrees")) if not name.endswith(".lock")]
        assert not trees, trees
        self.git("fsck", "--strict")
        self.await_gone(20)


class Many(Repository):
    items = [f"n{i}" for i in range(SIDE_BY_SIDE - 1)] + ["a"]


def killed(stage, source, usual, *args):
    process = stage.start(*args)
    time.sleep(source.uniform(0, usual * 1.05))
    VICTIMS[source.choice(list(VICTIMS))](stage, process.pid)
    process.communicate(timeout=200)
    stage.await_gone()
    figures["killed"] += process.returncode != 0


def resumed_to_the_end(stage, source, usual, again):
    for _ in range(MOST_RESUMES):
        if stage.rows("SELECT 1 FROM runs WHERE state = 'completed'"):
            break
        figures["resumed"] += 1
        if source.random() < again:
            killed(stage, source, usual, "resume", stage.run_id())
        else:
            envelope = stage.call("resume", stage.run_id())
            assert envelope["ok"] or envelope["meta"]["exit_code"] == IN_DOUBT, envelope["error"]
    stage.check_end()


def usual_time(make):
    with make() as stage:
        stage.fresh()
        began = time.monotonic()
        envelope = stage.call("run", "../trees.yaml")
        assert envelope["ok"], envelope["error"]
        stage.check_end()
        return time.monotonic() - began


def one(usual, again):
    def case(stage, i):
        stage.fresh()
        source = random.Random(f"{SEED} {i}")
        killed(stage, source, usual, "run", "../trees.yaml")
        if not stage.run_id():
            assert stage.call("run", "../trees.yaml")["ok"]
        resumed_to_the_end(stage, source, usual, again)
    return case


def main():
    in_threads(one(usual_time(Repository), AGAIN), range(CASES), Repository)
    assert figures["killed"] >= CASES // 4, "too few kills hit a run at work"
    few = figures.copy()
    in_threads(one(usual_time(Many) / 4, 0.97), range(max(CASES // 5, 1)), Many)  # early, so that each is killed often
    print(f"killed with {SIDE_BY_SIDE} side by side: {figures['killed'] - few['killed']}; in all ", end="")
    print(", ".join(f"{name}: {count}" for name, count in sorted(figures.items())))


if __name__ == "__main__":
    main()
