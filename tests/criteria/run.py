"""run: each criterion of criteria.txt, tried: TAP, a line for each that has a probe.

  run.py [ID…]      RUNNER names the binary; of these entries only

Each has a copy of project/ and a home of its own, and an empty environment. A line with $ is a call, for bash; the lines with ? behind
it are Python, and hold of its answer: `e` the envelope (the last line of stdout), `out`, `err`, `status`, `ms`, `lines` (each line of
stdout as JSON), `before` (the envelope of the call before), `there(path)`, `text(path)`. compliance.lua reads the same file.
"""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.path.abspath(os.environ.get("RUNNER", os.path.join(HERE, "../../build/runner")))
LIMIT_S, AT_ONCE = 120, 3


class Criterion:
    def __init__(self, entry, says):
        self.entry, self.says, self.calls = entry, says, []


def read():
    """Those that have a probe."""
    out, entry = [], None
    for line in open(os.path.join(HERE, "criteria.txt"), encoding="utf-8"):
        mark, _, rest = line.strip().partition(" ")
        if re.fullmatch(r"REQ-[FCO]-\d{3}", mark):
            entry = mark
        elif mark == "-":
            out.append(Criterion(entry, rest))
        elif mark == "$":
            out[-1].calls.append((rest, []))
        elif mark == "?":
            out[-1].calls[-1][1].append(rest)
    return [criterion for criterion in out if criterion.calls]


def envelope(text):
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def made(call, place, before):
    env = {"PATH": place + "/bin:/usr/local/bin:/usr/bin:/bin", "HOME": place + "/home", "LC_ALL": "C.UTF-8", "RUNNER_TRUST": place + "/project",
           **{name: os.environ[name] for name in ("ASAN_OPTIONS",) if name in os.environ}}
    began = time.monotonic()
    done = subprocess.run(["bash", "-c", call], cwd=place + "/project", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                          check=False)
    out, err = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    lines = [envelope(line) for line in out.splitlines()]

    def there(path):
        return os.path.exists(os.path.join(place, "project", os.path.expanduser(path.replace("~", place + "/home"))))

    def text(path):
        with open(os.path.join(place, "project", path.replace("~", place + "/home")), encoding="utf-8") as file:
            return file.read()

    return {"e": lines[-1] if lines else None, "out": out, "err": err, "status": done.returncode, "lines": lines, "before": before, "there": there,
            "text": text, "ms": (time.monotonic() - began) * 1000, "json": json, "re": re, "os": os, "place": place}


def tried(criterion):
    """What is wrong, or None."""
    with tempfile.TemporaryDirectory(prefix="criteria-", ignore_cleanup_errors=True) as place:
        place = os.path.realpath(place)
        shutil.copytree(os.path.join(HERE, "project"), place + "/project")
        os.mkdir(place + "/bin")
        os.mkdir(place + "/home")
        os.symlink(RUNNER, place + "/bin/runner")
        before = None
        for call, holds in criterion.calls:
            try:
                names = made(call, place, before)
            except subprocess.TimeoutExpired:
                return f"{call}: not done after {LIMIT_S} s"
            for expression in holds:
                try:
                    good = eval(expression, names)  # pylint: disable=eval-used
                except Exception as wrong:  # pylint: disable=broad-except
                    good = None
                    expression += f" raises {wrong!r}"
                if not good:
                    return f"{call}\n# not so: {expression}\n# status {names['status']}, {names['out'][-1500:]}\n# {names['err'][-500:]}"
            before = names["e"]
    return None


def main(ids):
    criteria = [criterion for criterion in read() if not ids or criterion.entry in ids]
    print(f"1..{len(criteria)}", flush=True)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for n, (criterion, wrong) in enumerate(zip(criteria, pool.map(tried, criteria)), 1):
            bad += wrong is not None
            print(f"{'not ok' if wrong else 'ok'} {n} {criterion.entry}: {criterion.says}", flush=True)
            if wrong:
                print("# " + wrong.replace("\r", "?"), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
