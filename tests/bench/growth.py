"""growth: what grows with what a command is given: attempts, files beside it, a large script, many arguments, a
large environment; and what a look at where its time goes adds.
"""

import os
import shutil

import peers
from builds import More, Row, measured_table
from measure import Case, quick
from throughput import environment

PROJECT = os.path.join(peers.HERE, "project", "commands")
RETRIES = 10
FILES = quick((10, 1000), (2, 20))
ARGUMENTS = quick(10000, 100)
SCRIPT = quick(4 << 20, 64 << 10)  # at most, as a command file may be
VARIABLES = quick(18000, 100)  # of 105 bytes: 2 MiB with their pointers, the kernel's limit for a stack of 8 MiB
LARGE_RESULT = 10 << 20


# --- one more ------------------------------------------------------------------------


def among(folder, count):
    """A project of so many command files."""
    os.makedirs(os.path.join(folder, "commands"))
    for name in ["hello"] + [f"c{i}" for i in range(count - 1)]:
        shutil.copy(os.path.join(PROJECT, "hello.lua"), os.path.join(folder, "commands", f"{name}.lua"))
    return folder


def scaling(builds, folder):
    one = builds.run(["stubborn"], folder)
    many = builds.run(["stubborn", "--until", str(RETRIES + 1)], folder)
    attempt = {name: More(one[name], many[name], RETRIES) for name in one}
    lua = {"`lua5.4 -e ''`": Case("lua5.4", ["lua5.4", "-e", ""], folder)}
    yield from measured_table([Row("one more attempt (a new process that loads and parses the file again)", attempt, lua)], 60, 10)
    few, more = (builds.run(["hello"], among(os.path.join(folder, "files", str(count)), count)) for count in FILES)
    yield ""
    yield from measured_table([Row(f"one command among {FILES[1]:,} files", more, {f"the same among {FILES[0]}": few})], 150, 8)


# --- big things ------------------------------------------------------------------------


def big_script(folder):
    """A command file of that size, of functions that are never called; without its end it is a chunk for lua5.4."""
    lines, size, number = ["local M = {}\n"], 0, 0
    while size < SCRIPT - 1024:
        number += 1
        lines.append(f"function M.f{number}(a, b) return a * {number} + #tostring(b) end\n")
        size += len(lines[-1])
    lines.append('return { description = "A large script", danger_level = "safe", run = function() return { one = M.f1(1, 2) } end }\n')
    with open(os.path.join(folder, "commands", "big.lua"), "w", encoding="utf-8") as file:
        file.write("".join(lines))


def big_rows(builds, folder, env):
    numbers = list(map(str, range(ARGUMENTS)))
    variables = {**env, **{f"BIG_{i:05}": "x" * 87 for i in range(VARIABLES)}}
    big_script(folder)
    encode = "local rows = dofile(os.getenv 'BENCH' .. '/rows.lua') io.write(require 'cjson'.encode(rows))"

    def lua(name, *words, of=env):
        return {name: Case(name, ["lua5.4", *words], folder, of)}

    yield Row(f"a script of {SCRIPT >> 20 or SCRIPT / (1 << 20)} MiB", builds.run(["big"], folder, env),
              lua("`lua5.4` with it", "commands/big.lua"))
    yield Row(f"{ARGUMENTS:,} arguments", builds.run(["many", *numbers], folder, env), lua("`lua5.4 /dev/null` with them", "/dev/null", *numbers))
    yield Row("one argument", builds.run(["many", "1"], folder, env), lua("`lua5.4 /dev/null` with it", "/dev/null", "1"))
    yield Row(f"an environment of {VARIABLES:,} variables, {VARIABLES * 105 / (1 << 20):.1f} MiB", builds.run(["hello"], folder, variables),
              lua("`lua5.4 -e ''` with it", "-e", "", of=variables))
    yield Row("a result of 10 MB, built, encoded and written", builds.run(["large"], folder, env),
              lua("the same with lua5.4 and cjson", "-e", encode), rate=lambda seconds: f"{LARGE_RESULT / seconds / 1e6:.0f} MB/s")


def big_starts(builds, folder):
    env = environment()
    *quickly, result = big_rows(builds, folder, env)
    yield from measured_table(quickly, 60, 25)
    yield ""
    yield from measured_table([result], 9, 20)


# --- where time goes ---------------------------------------------------------------------


def flame(builds, folder):
    def seen(path, *words):
        return [path, "flame", "--svg", "seen.svg", *words]

    rows = []
    for words, text in ((["hello"], "`runner flame hello`"), (["count"], "`runner flame` of a command that computes")):
        plain = builds.run(words, folder)
        rows.append(Row(text, builds.cases(lambda path, words=words: seen(path, *words), folder), {"the same without flame": plain}))
    yield from measured_table(rows, 40, 20)
