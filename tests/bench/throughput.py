"""throughput: bytes through runner, beside programs that do nothing else with them
in the same minute.
"""

import os
import shutil

from measure import Case, clean_environment, interleaved, peak

HERE = os.path.dirname(os.path.abspath(__file__))
BYTES = 256 << 20
ROUNDS = 7
ARGUMENTS = 10000


def environment():
    return {**clean_environment(), "BENCH": os.path.join(HERE, "project")}


def case(name, argv, folder):
    return Case(name, argv, folder, environment())


def piped(source):
    """What comes out of a program, through cat, counted."""
    return ["sh", "-c", f"{source} | cat | wc -c"]


def pairs(runner, folder):
    """What to measure: text, bytes, the command, what it is compared with."""
    size = str(BYTES)
    zeros = piped(f"head -c {size} /dev/zero")
    lines = piped(f"lua5.4 -e 'dofile(os.getenv \"BENCH\" .. \"/print.lua\")({size})'")
    encode = "local rows = dofile(os.getenv 'BENCH' .. '/rows.lua') io.write(require 'cjson'.encode(rows))"
    rows = [
        ("progress frames of 56 KiB, each checked as JSON", BYTES, [runner, "frames", "--bytes", size],
         "`head \\| cat \\| wc -c`", zeros),
        ("a script's own prints, forwarded to stderr", BYTES, [runner, "prints", "--bytes", size],
         "`lua5.4 \\| cat \\| wc -c` of the same", lines),
        ("output of a program, captured by `ctx:run`", BYTES, [runner, "captures", "--bytes", size],
         "`head \\| cat \\| wc -c`", zeros),
        ("a result of 10 MB, built, encoded and written", 10 << 20, [runner, "large"],
         "the same with lua5.4 and cjson", ["lua5.4", "-e", encode]),
    ]
    for what, count, argv, beside, other in rows:
        yield what, count, case(what, argv, folder), beside, case(beside, other, folder)


def table(runner, folder):
    """Rows of a Markdown table."""
    yield "| what | MB/s | time | compared with | time | ratio |"
    yield "|---|---|---|---|---|---|"
    for what, count, ours, beside, theirs in pairs(runner, folder):
        if not shutil.which(theirs.argv[0]):
            continue
        interleaved([ours, theirs], ROUNDS, 15)
        yield (f"| {what} | {count / ours.median() / 1e6:.0f} | {ours.median() * 1000:.0f} ms | {beside} "
               f"| {theirs.median() * 1000:.0f} ms | {ours.median() / theirs.median():.2f} × |")


def arguments(runner, folder):
    """Milliseconds of a run with one argument and of one with many."""
    few = case("one", [runner, "many", "1"], folder)
    many = case("many", [runner, "many", *map(str, range(ARGUMENTS))], folder)
    interleaved([few, many], 60, 6)
    return few.median() * 1000, many.median() * 1000


def peaks(runner, folder):
    """(what, KiB of each process) of runs that move much."""
    for what, argv in (
        ("a result of 10 MB", [runner, "large"]),
        ("256 MiB of progress frames", [runner, "frames", "--bytes", str(BYTES)]),
        ("256 MiB of prints", [runner, "prints", "--bytes", str(BYTES)]),
        ("256 MiB captured by `ctx:run`", [runner, "captures", "--bytes", str(BYTES)]),
    ):
        yield what, peak(case(what, argv, folder))
