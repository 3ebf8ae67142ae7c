"""throughput: bytes through runner, beside programs that do nothing else with them
in the same minute.
"""

import os

from builds import NAMES, NONE, Row, measured_table
from measure import Case, clean_environment, quick
from startup import memory_text

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES = quick(256, 1) << 20
ROUNDS, SECONDS = 7, 25


def environment():
    # (a busy machine may take longer than the limit of 5 s to load what is large)
    return {**clean_environment(), "BENCH": os.path.join(HERE, "project"), "BENCH_ROWS": str(quick(100000, 100)),
            "RUNNER_LOAD_TIMEOUT": "60s"}


def case(name, argv, folder):
    return Case(name, argv, folder, environment())


def piped(source):
    """What comes out of a program, through cat, counted."""
    return ["sh", "-c", f"{source} | cat | wc -c"]


def rows(builds, folder):
    """Text through runner, and through programs that only pass it on."""
    size = str(BYTES)
    zeros = {"`head \\| cat \\| wc -c`": case("head", piped(f"head -c {size} /dev/zero"), folder)}
    lines = {"`lua5.4 \\| cat \\| wc -c` of the same":
             case("lua5.4", piped(f"lua5.4 -e 'dofile(os.getenv \"BENCH\" .. \"/print.lua\")({size})'"), folder)}
    for what, words, beside in (
        ("progress frames of 56 KiB, each checked as JSON", ["frames"], zeros),
        ("a script's own prints, forwarded to stderr", ["prints"], lines),
        ("output of a program, captured by `ctx:run`", ["captures"], zeros),
    ):
        yield Row(what, builds.run([*words, "--bytes", size], folder, environment()), beside,
                  rate=lambda seconds: f"{BYTES / seconds / 1e6:,.0f} MB/s")


def table(builds, folder):
    yield f"{BYTES >> 20} MiB each."
    yield ""
    yield from measured_table(list(rows(builds, folder)), ROUNDS, SECONDS)


def memory(builds, folder):
    """Peaks of runs that move much."""
    yield f"| what | {' | '.join(f'peak of all processes, {name}' for name in NAMES)} |"
    yield "|---" * (1 + len(NAMES)) + "|"
    for what, words in (
        ("a result of 10 MB", ["large"]),
        (f"{BYTES >> 20} MiB of progress frames", ["frames", "--bytes", str(BYTES)]),
        (f"{BYTES >> 20} MiB of prints", ["prints", "--bytes", str(BYTES)]),
        (f"{BYTES >> 20} MiB captured by `ctx:run`", ["captures", "--bytes", str(BYTES)]),
    ):
        ours = builds.run(words, folder, environment())
        yield f"| {what} | {' | '.join(memory_text(ours[name]) if name in ours else NONE for name in NAMES)} |"
