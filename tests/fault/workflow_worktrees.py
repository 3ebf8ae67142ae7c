"""Worktrees whose runners, and the git in them, are killed at random instants: what agents committed is merged once, and
nothing of theirs is left, with a fence and without; what is the user's (a file, a branch, a worktree) is as it was.

workflow_worktrees.py    RUNNER names the binary; CRASH=full: 300 kills, and 200 with 50 agents side by side; CRASH_SEED is of the instants
"""
import collections
import os
import shutil
import subprocess

import harness
from workflow_stage import Stage, in_threads, killed_case, report, usual_time

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
FENCE
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
    fence = ""

    def start(self, *args, before=()):
        return subprocess.Popen([*before, harness.RUNNER, "workflow", *args], cwd=self.path("repo"), env=self.env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def nothing_ran(self):
        assert self.git("log", "--format=%s", "--branches") == "start", "a step ran before its run was committed"

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
        self.write("trees.yaml", WORKFLOW.replace("ITEMS", ", ".join(self.items)).replace("FENCE", self.fence))
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


class Fenced(Repository):
    fence = "confine: { write: [.], required: false }"


class Many(Repository):
    items = [f"n{i}" for i in range(SIDE_BY_SIDE - 1)] + ["a"]


def first_end(stage, envelope):
    assert envelope["ok"], envelope["error"]
    stage.check_end()


def cases(make, share, again, count):
    usual = usual_time("../trees.yaml", make.fresh, first_end, make) * share
    case = killed_case("../trees.yaml", make.fresh, make.check_end, usual, figures, again=again, resumes=MOST_RESUMES)
    in_threads(case, [f"{SEED} {i}" for i in range(count)], make)


def main():
    cases(Repository, 1, AGAIN, CASES)
    cases(Fenced, 1, AGAIN, max(CASES // 3, 1))
    few = figures.copy()
    cases(Many, 0.25, 0.97, max(CASES // 5, 1))  # early, so that each is killed often
    print(f"killed with {SIDE_BY_SIDE} side by side: {figures['killed'] - few['killed']}; in all ", end="")
    report(figures, CASES)


if __name__ == "__main__":
    main()
