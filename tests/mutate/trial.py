"""One mutant against the test files that may find it, until one does."""
import collections
import hashlib
import json
import os
import re
import threading
import time

import suites
from tree import BuildFailed, read

# A test file may take six times what it takes without a mutant, and this many seconds.
PATIENCE = float(os.environ.get("PATIENCE") or 30)
Base = collections.namedtuple("Base", "seconds status failed complete")
FAILED = re.compile(r"^not ok \d+ (?:- )?(.*)")


def failed_test(line):
    """The name of the test that a line of TAP reports as failed, or None."""
    match = FAILED.match(line)
    return match.group(1).strip() if match and not re.search(r"# *(skip|todo)", line, re.I) else None


def complete(lines):
    """Does the output hold every result that its plans announce? (A test that exits early fails.)"""
    plans = [int(match.group(1)) for match in map(re.compile(r"1\.\.(\d+)").match, lines) if match]
    return bool(plans) and sum(plans) == sum(bool(re.match("(not )?ok ", line)) for line in lines)


class Bench:
    """What a test file says of the original: how long it takes and what fails anyway, measured
    when first asked for and kept in a file for the next time, while no source has changed."""

    def __init__(self, tree, jail, file):
        self.tree, self.jail, self.file = tree, jail, file
        self.lock = threading.Lock()
        self.suites = suites.Suites(tree.root)
        self.known, self.sources = {}, tree.digest()
        kept = json.loads(read(file)) if os.path.exists(file) else {}
        if kept.pop("sources", None) == self.sources:
            self.known = {key: Base(*value) for key, value in kept.items()}
        for suite in self.suites.all:
            if self.key(suite) in self.known:
                self.suites.seconds[suite] = self.known[self.key(suite)].seconds

    def key(self, suite):
        return suite + " " + hashlib.sha1(read(self.tree.path(suite)).encode()).hexdigest()[:12]

    def base(self, suite):
        with self.lock:
            key = self.key(suite)
            if key not in self.known:
                self.known[key] = self.measure(suite)
                self.suites.seconds[suite] = self.known[key].seconds
                with open(self.file, "w", encoding="utf-8") as f:
                    json.dump({"sources": self.sources, **self.known}, f, indent=0)
            return self.known[key]

    def measure(self, suite):
        """What fails but once fails by chance: the second time counts, and both are shown."""
        for _ in range(2):
            began = time.monotonic()
            lines, status, ended = run_suite(self.jail, self.tree, suite, 900)
            failed = sorted({name for name in map(failed_test, lines) if name})
            base = Base(round(time.monotonic() - began, 2), status, failed, complete(lines))
            if not (failed or status or ended):
                break
            said = [line for line in lines if not re.match(r"ok \d|1\.\.", line)]
            print("\n# ".join([f"# {suite} without a mutant: {ended or 'status %d' % status}", *said[:40]]), flush=True)
        return base

    def still_passes(self, suite, limit_s):
        """Is the machine quick enough that the original ends in that time?"""
        with self.lock:
            return run_suite(self.jail, self.tree, suite, limit_s)[2] is None


def run_suite(jail, tree, suite, limit_s, stop=lambda line: False, only=(), program="build/runner"):
    """only: names of tests of a bats file; all others are run whole."""
    env = {"RUNNER": tree.path(program), "RUNNER_HOST_SO": tree.path("build/runner_host.so"),
           "CMOCKA_MESSAGE_OUTPUT": "TAP"}
    kind = suite.split("/")[1]
    if kind == "unit":
        words = ["build/unit/" + os.path.basename(suite)[:-2]]
    elif kind == "lua":
        words = ["busted", "--lua=/usr/bin/lua5.4", "--helper=tests/lua/init.lua", "-o", "TAP", suite]
    else:  # (a filter is a regular expression)
        names = "|".join(re.sub(r"[^\w ]", ".", name) for name in only)
        words = ["bats", "--tap", *(["-f", f"^({names})$"] if only else []), suite]
    return jail.run(tree.root, words, env, limit_s, stop)


class Trial:
    """One worker: its own tree and jail, one mutant after the other."""

    def __init__(self, tree, jail, bench):
        self.tree, self.jail, self.bench = tree, jail, bench

    def failure(self, suite, only=()):
        """What fails here and not in the original: a test's name, a status, "no end …"; None."""
        base = self.bench.base(suite)
        limit_s = 6 * base.seconds + PATIENCE

        def new(line):
            name = failed_test(line)
            return name and name not in base.failed

        lines, status, ended = run_suite(self.jail, self.tree, suite, limit_s, new, only)
        if ended == "line":
            return failed_test(lines[-1])
        if ended == "time":
            return f"no end within {limit_s:.0f} s" if self.bench.still_passes(suite, limit_s) else None
        if ended is None and status not in (0, base.status):
            return f"status {status}: {' '.join(lines[-3:])[-200:]}"
        if ended is None and base.complete and not complete(lines):
            return "it ended early"
        return None

    def verdict(self, suite):
        """(what fails, is it certain): a failure that doesn't come twice proves nothing."""
        self.tree.make_for(suite)
        first = self.failure(suite)
        if not first or first.startswith("no end"):
            return first, True
        named = not first.startswith(("status", "it ended early"))
        again = self.failure(suite, only=[first] if suite.endswith(".bats") and named else ())
        return first, bool(again)

    def run(self, mutant, budget_s, survived=()):
        """{ result = dead | survived | useless, by, why, ran, seconds }; ran and survived: keys
        of the test files, as they were when the mutant survived them."""
        passed = [suite for suite in self.bench.suites.all if self.bench.key(suite) in survived]
        began, once = time.monotonic(), []
        done = {"result": "survived", "ran": [self.bench.key(suite) for suite in passed]}
        with self.tree.with_mutant(mutant):
            useless = self.tree.useless(mutant)
            if useless:
                return {"result": "useless", "why": useless}
            for suite in self.bench.suites.order(mutant.path, budget_s, passed):
                try:
                    failed, certain = self.verdict(suite)
                except BuildFailed as problem:
                    failed, certain = f"build: {problem}", True
                done["ran"].append(self.bench.key(suite))
                if failed and not certain:
                    once.append(f"{suite}: {failed}")
                elif failed:
                    done.update(result="dead", by=suite, why=failed)
                    break
        return {**done, "once": once, "seconds": round(time.monotonic() - began, 1)}
