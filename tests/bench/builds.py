"""builds: the builds of runner that are measured side by side, and tables that compare them with a peer.

RUNNER names the dynamic build (build/runner), STATIC the static one (build/static/runner). One that is missing, or
that was made of another commit, is named on the page, and its cells stay empty.
"""

import os
import subprocess

from measure import Case, interleaved

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATHS = {"dynamic": ("RUNNER", os.path.join(ROOT, "build", "runner")),
         "static": ("STATIC", os.path.join(ROOT, "build", "static", "runner"))}
NAMES = tuple(PATHS)
NONE = "–"


def commit(path):
    """What a build says that it was made of."""
    said = subprocess.run([path, "--version", "--verbose"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=True).stdout
    return next(line for line in said.splitlines() if line.startswith("commit: "))


class Builds:
    """path: {name: binary} of those that are here; missing: {name: why it isn't measured}."""

    def __init__(self):
        self.path, self.missing = {}, {}
        for name, (variable, usual) in PATHS.items():
            path = os.path.abspath(os.environ.get(variable, usual))
            if not os.access(path, os.X_OK):
                self.missing[name] = f"the {name} build (`make {name}` makes it)"
            elif self.path and commit(path) != commit(self.first):
                self.missing[name] = f"the {name} build (it is of another commit: `make {name}`)"
            else:
                self.path[name] = path

    @property
    def first(self):
        return next(iter(self.path.values()))

    def cases(self, argv, cwd, env=None, status=0):
        """{build: Case} of a command; argv takes the binary and gives the whole command; env may take the build's name."""
        return {name: Case(f"{argv('runner')[:3]} ({name})", argv(path), cwd, env(name) if callable(env) else env, status)
                for name, path in self.path.items()}

    def run(self, words, cwd, env=None, status=0):
        return self.cases(lambda runner: [runner, *words], cwd, env, status)


class Each:
    """What one of `count` things costs that a case does."""

    def __init__(self, case, count):
        self.case, self.count, self.name = case, count, case.name

    def median(self):
        return self.case.median() / self.count

    def median_cpu(self):
        return self.case.median_cpu() / self.count


class More:
    """What one more costs, from a case that does one and a case that does `more` more of them."""

    def __init__(self, one, many, more):
        self.one, self.many, self.more = one, many, more

    def median(self):
        return (self.many.median() - self.one.median()) / self.more

    def median_cpu(self):
        return (self.many.median_cpu() - self.one.median_cpu()) / self.more


class Row:
    """A line of a table for each peer. ours: {build: measured}; peers: {name: measured, or {build: measured}};
    rate: a text of seconds, which stands behind the time."""

    def __init__(self, what, ours, peers=None, rate=None):
        self.what, self.ours, self.peers, self.rate = what, ours, peers or {NONE: None}, rate

    def time(self, measured):
        if measured is None:
            return NONE
        seconds = measured.median()
        return milliseconds(seconds) + (f" ({self.rate(seconds)})" if self.rate else "")

    def lines(self):
        for name, peer in self.peers.items():
            peer_of = peer if isinstance(peer, dict) else dict.fromkeys(NAMES, peer)
            times = " / ".join(map(self.time, peer.values())) if isinstance(peer, dict) else self.time(peer)
            cells = [self.what, *(self.time(self.ours.get(build)) for build in NAMES), name, times,
                     *(ratio(self.ours.get(build), peer_of.get(build)) for build in NAMES)]
            yield f"| {' | '.join(cells)} |"


def milliseconds(seconds):
    value = seconds * 1000
    return f"{value:.2f} ms" if value < 20 else f"{value:.1f} ms" if value < 100 else f"{value:,.0f} ms"


def ratio(ours, theirs):
    """Of the times, and in brackets of the processor times."""
    if ours is None or theirs is None:
        return NONE
    cpu = theirs.median_cpu()
    return f"{ours.median() / theirs.median():.2f} ×" + (f" ({ours.median_cpu() / cpu:.2f} ×)" if cpu else "")


def table(rows, what="what"):
    """Markdown of rows that were measured."""
    yield f"| {what} | {' | '.join(NAMES)} | compared with | its time | {' | '.join(f'{name} ÷ it' for name in NAMES)} |"
    yield "|---" * (3 + 2 * len(NAMES)) + "|"
    for row in rows:
        yield from row.lines()


def measured_table(rows, rounds, seconds):
    """Measure all cases of the rows in turn, then their Markdown."""
    cases = {}
    for row in rows:
        for measured in [*row.ours.values(), *row.peers.values()]:
            for one in measured.values() if isinstance(measured, dict) else [measured]:
                for case in cases_of(one):
                    cases[id(case)] = case
    interleaved(list(cases.values()), rounds, seconds)
    yield from table(rows)


def cases_of(measured):
    if isinstance(measured, Each):
        return [measured.case]
    if isinstance(measured, More):
        return [measured.one, measured.many]
    return [] if measured is None else [measured]


def not_installed(names):
    """The line that names peers that could not be measured."""
    if names:
        yield ""
        yield f"Not installed, so not measured: {', '.join(names)}."
