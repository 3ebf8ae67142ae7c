"""startup: a trivial command beside other programs' least, and beside C programs that do only what can't be left out."""

import os
import shlex
import shutil
import subprocess

import peers
from builds import NAMES, NONE, ROOT, not_installed, ratio
from measure import Case, clean_environment, faults, instructions, interleaved, peak, quick, system_calls
from page import NOT_MEASURED

ROUNDS, SECONDS = 300, 45
FLOORS = os.path.join(peers.HERE, "floor")
WARNINGS = ["-O2", "-Wall", "-Wextra", "-Werror"]

FLOOR_ROWS = {
    "exec": "nothing: it is started, and ends",
    "processes": "a socket pair, a fork, a wait",
    "lua": "the same, with a Lua state and its libraries in the child",
}


# --- the floors --------------------------------------------------------------------


def lua_of(build):
    """What a program needs to be compiled and linked with Lua as a build is, or None where it is missing."""
    if build == "static":
        library = os.path.join(ROOT, "build", "static", "libraries")
        return ["-I", f"{library}/include"], [f"{library}/lib/liblua5.4.a", "-lm"]
    flags = subprocess.run(["pkg-config", "--cflags", "lua5.4"], capture_output=True, text=True, check=False)
    archive = subprocess.run(["cc", "-print-file-name=liblua5.4.a"], capture_output=True, text=True, check=False).stdout.strip()
    return shlex.split(flags.stdout), [archive if os.path.isabs(archive) else "-llua5.4", "-lm", "-ldl"]


def compiler(build):
    """The command that compiles and links a program as a build is made, or None where it is missing."""
    if build == "dynamic":
        return ["cc"] if shutil.which("cc") else None
    cc = os.path.join(ROOT, "build", "static", "libraries", "cc")
    return [cc, "-static", "-no-pie"] if os.access(cc, os.X_OK) else None


def floors(builds, folder):
    """{name: {build: Case}}"""
    cases = {name: {} for name in FLOOR_ROWS}
    for build in builds.path:
        cc = compiler(build)
        for name in FLOOR_ROWS if cc else ():
            flags, libraries = lua_of(build) if name == "lua" else ([], [])
            path = os.path.join(folder, f"{name}-{build}")
            subprocess.run([*cc, *WARNINGS, *flags, "-o", path, os.path.join(FLOORS, f"{name}.c"), *libraries], check=True)
            cases[name][build] = Case(f"{name} ({build})", [path], folder)
    return cases


def floor_table(cases, lua):
    yield ("What it could cost at the least: programs in C (`tests/bench/floor`), compiled and linked as the two builds are, "
           "measured in the same rounds.")
    yield ""
    yield f"| it does | {' | '.join(f'{name} | against lua5.4' for name in NAMES)} |"
    yield "|---" * (1 + 2 * len(NAMES)) + "|"
    for name, text in FLOOR_ROWS.items():
        cells = []
        for build in NAMES:
            case = cases[name].get(build)
            cells += [f"{case.median() * 1000:.2f} ms" if case else NONE, ratio(case, lua)]
        yield f"| {text} | {' | '.join(cells)} |"


# --- the peers ---------------------------------------------------------------------


def beside(folder):
    """Cases of other programs, and the names of those that are not here."""
    just, mise, node = peers.just(), peers.mise(), shutil.which("node")
    rows = [
        ("`lua5.4 -e ''`", ["lua5.4", "-e", ""], shutil.which("lua5.4")),
        ("`bash -c :`", ["bash", "-c", ":"], shutil.which("bash")),
        ("`make -s hello` (a recipe that echoes)", ["make", "-s", "hello"], shutil.which("make")),
        ("`just hello` (a recipe, run by sh)", [just, "--justfile", "justfile", "hello"], just),
        ("`just --summary` (reads the justfile, runs nothing)", [just, "--justfile", "justfile", "--summary"], just),
        ("`mise run hello` (a task, run by sh)", [mise, "run", "--quiet", "hello"], mise),
        ("`node hello.js hello` (commander)", [node, "hello.js", "hello"], node and peers.module("commander")),
    ]
    env = clean_environment()
    there = [Case(name, argv, folder, peers.of_mise(folder, env) if argv[0] == mise else env) for name, argv, here in rows if here]
    return there, [name for name, _, here in rows if not here]


def mib(each):
    total = f"{sum(each) / 1024:.1f} MiB"
    return total if len(each) == 1 else total + " (" + " + ".join(f"{kib / 1024:.1f}" for kib in each) + ")"


def memory_text(case):
    try:
        return mib(peak(case))
    except OSError as problem:
        return f"{NONE} ({problem.strerror})"


def peer_table(rows, lua):
    yield "| command | median | against lua5.4 | fastest tenth | against lua5.4 | processor time | against lua5.4 | peak memory |"
    yield "|---|---|---|---|---|---|---|---|"
    for case in rows:
        def against(value, base):
            return f"{value / base:.2f} ×" if base else NONE
        yield (f"| {case.name} | {case.median() * 1000:.2f} ms | {against(case.median(), lua and lua.median())} "
               f"| {case.fastest() * 1000:.2f} ms | {against(case.fastest(), lua and lua.fastest())} "
               f"| {case.median_cpu() * 1000:.2f} ms | {against(case.median_cpu(), lua and lua.median_cpu())} | {memory_text(case)} |")


def count_table(rows):
    yield "What depends on no processor, of all processes of each: instructions outside of the kernel (valgrind), page faults, system calls (strace)."
    yield ""
    yield "| command | instructions | page faults | system calls |"
    yield "|---|---|---|---|"
    for case in rows:
        counts = instructions(case), int(faults(case, quick(30, 1))), system_calls(case)
        yield f"| {case.name} | {' | '.join(NONE if count is None else f'{count:,}' for count in counts)} |"


def table(builds, folder):
    place = os.path.join(folder, "peers")
    shutil.copytree(peers.FOLDER, place)
    if peers.module():
        os.symlink(peers.module(), os.path.join(place, "node_modules"))
    ours = builds.run(["hello"], folder)
    for build, case in ours.items():
        case.name = f"`runner hello` ({build})"
    others, missing = beside(place)
    least = floors(builds, folder)
    rows = [*ours.values(), *others]
    interleaved([*rows, *(case for cases in least.values() for case in cases.values())], ROUNDS, SECONDS)
    lua = next((case for case in others if case.argv[0] == "lua5.4"), None)
    yield f"{len(rows[0].seconds)} rounds. Each round runs the commands in a different order."
    yield ""
    yield from peer_table(rows, lua)
    yield ""
    yield ("Time runs from before the start to the end of the process, with its streams at /dev/null. Processor time "
           "is the sum over all its processes. It is the better measure when the load exceeds the number of cores, "
           "since processes then wait for a core at every hand-over. Memory is the sum of each process's largest "
           "resident set (VmHWM at exit); pages that processes share count once for each.")
    yield from not_installed(missing)
    yield ""
    yield from count_table(rows)
    yield ""
    yield from floor_table(least, lua)
    for build in builds.path:
        if not least["exec"].get(build):
            yield ""
            yield f"{NOT_MEASURED}programs that are made as the {build} build is: its compiler is missing."
