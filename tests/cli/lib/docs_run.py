"""Run the examples of a page as its reader would: in a terminal, in a directory of
their own, each command after the one before; what it prints is what stands there.

docs_run.py PAGE…    RUNNER names the binary

Compared is what the page promises, not what differs from run to run:
- JSON by value, also when the page breaks it over lines. The values of VOLATILE
  keys count as equal when they are of one kind; "…" is any text, and an object
  that ends with … may have further keys.
- Dates, ids of requests, runs and jobs, numbers of processes and ports, seconds that something took, and the directory
  (/home/ada on the page). The id of a run or job in a command stands for the run that was named last.
- A line that is only … stands for any lines.

A page begins in an empty folder. `<!-- uses: PAGE.md -->` puts the files that another page shows there.
"""
import errno
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the checkout stays as it is
from docs_pages import ROOT, blocks, used_pages

LIMIT_S = 200  # one command
HOME = "/home/ada"
VOLATILE = {"duration_ms", "request_id", "timestamp", "retry_seed", "elapsed_ms", "pid", "tool_version",
            "holder_pid", "holder_age_ms", "cwd", "effective_config_hash", "seed", "total_duration", "mean_ms", "max_ms",
            "started_ms"}
VOLATILE_TEXT = [
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "DATE"),
    (r"[\d.]+m?s in the queue, [\d.]+m?s running", "QUEUED AND RAN"),
    (r"[\d.]+m?s of a processor, at most \d+M", "USED"),
    (r"req_[0-9A-Z]{26}", "REQUEST"),
    (r"run_[0-9A-Z]{26}", "RUN"),
    (r"job_[0-9A-Z]{26}", "JOB"),
    (r"\bprocess \d+", "process N"),
    (r"(duration_ms:\s+)\d+", r"\1N"),
    (r"\battempts over \d+\.\ds", "attempts over N"),
    (r"\bafter \d+ ms\b", "after N ms"),
    (r"\bfailed in \d+\.\d s\b", "failed in N s"),
    (r"  \(\d+(\.\d+)?[sm]( \d+s)?\)$", ""),  # a step, or a run, that took a second or more
    (r"127\.0\.0\.1:\d{4,5}\b", "127.0.0.1:PORT"),
]
RUN_ID = re.compile(r"\b(?:run|job)_[0-9A-Z]{26}\b")

# Where a page begins, below the copy of the checkout; others begin in an empty folder.
START = {ROOT / "README.md": ".", ROOT / "docs/commands.md": "docs/demo"}
# These show what a program gets: no terminal, stdout and stderr in one pipe.
PIPED = {ROOT / "docs/commands.md"}


# --- running ---------------------------------------------------------------------------

def become(argv, cwd, env):
    os.chdir(cwd)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a server in the background outlives its line, as it would yours
    os.execve(argv[0], argv, env)


def read_some(master, patience_s):
    """What the terminal shows within that time; nothing when its last process has gone."""
    if not select.select([master], [], [], patience_s)[0]:
        return b""
    try:
        return os.read(master, 65536)
    except OSError as e:
        if e.errno != errno.EIO:
            raise
        return b""


def in_terminal(argv, cwd, env):
    """(output, status) of a process whose stdin, stdout and stderr are one terminal."""
    pid, master = pty.fork()
    if pid == 0:
        become(argv, cwd, env)
    output, ended, deadline = b"", 0, time.monotonic() + LIMIT_S
    while not ended:
        output += read_some(master, 0.05)
        ended, status = os.waitpid(pid, os.WNOHANG)
        if not ended and time.monotonic() > deadline:
            os.killpg(pid, signal.SIGKILL)
    while some := read_some(master, 0):
        output += some
    os.close(master)
    return output.decode("utf-8").replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


def in_pipe(argv, cwd, env):
    """The same with one pipe for stdout and stderr, and nothing to read."""
    done = subprocess.run(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=LIMIT_S, check=False)
    return done.stdout.decode("utf-8"), done.returncode


class Shell:
    """A shell whose directory and $? go on from command to command."""

    def __init__(self, home, start, runner, execute=in_terminal):
        bin_dir = home / ".bin"
        bin_dir.mkdir()
        (bin_dir / "runner").symlink_to(runner)
        self.home, self.cwd, self.status, self.execute, self.named = home, start, 0, execute, None
        self.env = {"PATH": f"{bin_dir}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "dumb", "GIT_PAGER": "cat",
                    "LANG": "C.UTF-8"}
        if "ASAN_OPTIONS" in os.environ:
            self.env["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]

    def run(self, command):
        where = self.home / ".cwd"
        command = RUN_ID.sub(lambda id: self.named or id.group(), command)
        script = f"trap 'pwd >\"{where}\"' EXIT\n(exit {self.status})\n{command}\n"
        output, self.status = self.execute(["/bin/bash", "-c", script], self.cwd, self.env)
        self.cwd = pathlib.Path(where.read_text(encoding="utf-8").strip())
        self.named = ([self.named] + RUN_ID.findall(output))[-1]
        return output.replace(str(self.home), HOME)


# --- comparing -------------------------------------------------------------------------

def steady(text):
    for pattern, stands_for in VOLATILE_TEXT:
        text = re.sub(pattern, stands_for, text)
    return text


def equal(documented, seen, key=None):
    if key in VOLATILE:
        return isinstance(documented, type(seen))
    if isinstance(documented, dict) and isinstance(seen, dict):
        open_ended = "…" in documented
        keys = [k for k in documented if k != "…"]
        return (set(keys) <= set(seen) and (open_ended or len(keys) == len(seen))
                and all(equal(documented[k], seen[k], k) for k in keys))
    if isinstance(documented, list) and isinstance(seen, list):
        return len(documented) == len(seen) and all(map(equal, documented, seen))
    if isinstance(documented, str) and isinstance(seen, str):
        return documented == "…" or steady(documented) == steady(seen)
    return documented == seen and type(documented) is type(seen)


def as_json(text, with_ellipsis=False):
    if with_ellipsis:
        text = re.sub(r"([,{])\s*…\s*}", r'\1"…":"…"}', text)
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def json_at(lines, i):
    """The JSON document that the page's lines from i on make up, and where it ends."""
    if not lines[i].startswith(("{", "[")):
        return None, i
    for end in range(i + 1, len(lines) + 1):
        value = as_json("".join(lines[i:end]), with_ellipsis=True)
        if value is not None:
            return value, end
    return None, i


def matches(documented, seen):
    """Do the page's lines say what was printed?"""
    if not documented:
        return not seen
    if documented[0].strip() == "…":
        return any(matches(documented[1:], seen[i:]) for i in range(len(seen) + 1))
    if not seen:
        return False
    value, end = json_at(documented, 0)
    if value is not None:
        printed = as_json(seen[0])
        return printed is not None and equal(value, printed) and matches(documented[end:], seen[1:])
    return steady(documented[0]) == steady(seen[0]) and matches(documented[1:], seen[1:])


# --- a page -----------------------------------------------------------------------------

def examples(block):
    """(command, lines that it prints) of a console block; "\\" continues a command."""
    out = []
    for line in block.lines:
        if line.startswith("$ "):
            out.append([line[2:], []])
        elif out and out[-1][0].endswith("\\") and not out[-1][1]:
            out[-1][0] += "\n" + line.removeprefix("> ")
        elif out:
            out[-1][1].append(line)
        else:
            raise SystemExit(f"{block.place}: output before the first '$ command'")
    return out


def checked_out(*folders):
    """The files of a checkout; all files where there is no repository, or git won't read it."""
    git = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *folders], cwd=ROOT, check=False,
                         capture_output=True, text=True)
    if git.returncode == 0:
        return git.stdout.splitlines()
    return [path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]


def copy_checkout(to):
    for name in checked_out("commands", "docs"):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, to / name)
        # as a checkout under the usual umask: modes are a part of what a release is named after
        (to / name).chmod(0o755 if os.access(ROOT / name, os.X_OK) else 0o644)


def prepare(page, home):
    start = home / "runner" / START[page] if page in START else home / "tools"
    if page in START:
        copy_checkout(home / "runner")
    start.mkdir(parents=True, exist_ok=True)
    return start


def save(block, start):
    path = start / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def run_block(block, shell):
    failures = []
    for command, documented in examples(block):
        printed = shell.run(command)
        if not matches(documented, printed.splitlines()):
            failures.append(f"{block.place}: $ {command}\n--- the page says\n" + "\n".join(documented)
                            + f"\n--- it prints\n{printed}")
    return failures


def run_page(page, runner):
    """How many commands were run, and what differed."""
    count, failures = 0, []
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        home = pathlib.Path(folder).resolve()
        start = prepare(page, home)
        shell = Shell(home, start, runner, in_pipe if page in PIPED else in_terminal)
        for block in (b for used in used_pages(page) for b in blocks(used) if b.file):
            save(block, start)
        for block in blocks(page):
            if block.file:
                save(block, start)
            elif block.language == "console":
                shell.cwd = start
                count += len(examples(block))
                failures += run_block(block, shell)
    return count, failures


def main():
    os.umask(0o022)
    total, failures = 0, []
    for name in sys.argv[1:]:
        count, differing = run_page((ROOT / name).resolve(), pathlib.Path(os.environ["RUNNER"]).resolve())
        total, failures = total + count, failures + differing
    print("\n".join(failures) or f"{total} commands print what the page says")
    sys.exit(bool(failures) or total == 0)


if __name__ == "__main__":
    main()
