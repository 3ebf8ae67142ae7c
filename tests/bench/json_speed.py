"""json_speed: runner's JSON beside cjson in lua5.4: each process times itself, in turns."""

import json
import os
import random
import statistics
import subprocess
import time

import peers
from builds import NAMES, NONE
from measure import clean_environment, quick

PROJECT = os.path.join(peers.HERE, "project")
ROUNDS, SECONDS = 9, 25
TIMES = 3
SCALE = quick(100, 1)  # in per cent of the full texts

CJSON = """\
local cjson = require "cjson"
cjson.encode_max_depth(1000)
cjson.decode_max_depth(1000)
local measure = dofile(os.getenv "BENCH" .. "/json_speed.lua")
io.write(cjson.encode(measure(cjson, arg[1], arg[2], tonumber(arg[3]))))
"""


def nested(depth, around):
    value = 1
    for _ in range(depth):
        value = around(value)
    return value


def texts():
    """What is read and written, by name: about 1 MB each."""
    numbers = random.Random(1)

    def many(count, make):
        return [make(i) for i in range(count * SCALE // 100)]

    return {
        "floats": many(50000, lambda i: numbers.random() * 1000),
        "integers": many(100000, lambda i: numbers.randrange(1 << 40)),
        "long strings": many(300, lambda i: "lorem ipsum dolor sit amet " * 150 + str(i)),
        "rows": many(10000, lambda i: {"id": i, "name": f"row number {i}", "ok": i % 2 == 0, "value": i / 8, "tags": ["first", "second"]}),
        "short strings": many(60000, lambda i: f"value {i}"),
        "deep objects": many(500, lambda i: nested(60, lambda value: {"child": value, "name": "x"})),
        "deep arrays": many(4000, lambda i: nested(60, lambda value: [value])),
    }


def write(folder):
    """{name: bytes}"""
    os.makedirs(folder)
    sizes = {}
    for name, value in texts().items():
        text = json.dumps(value, separators=(",", ":"))
        sizes[name] = len(text)
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
            file.write(text)
    return sizes


def one(argv, folder, data):
    """{name: {decode, encode}} of one process, in µs."""
    env = {**clean_environment(), "BENCH": PROJECT}
    said = subprocess.run(argv, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, timeout=120)
    return data(json.loads(said.stdout))


def measure(builds, folder, place, names):
    """{who: {name: {way: [µs]}}} of the builds and cjson."""
    words = [place, ",".join(names), str(TIMES)]
    script = os.path.join(place, "cjson.lua")
    with open(script, "w", encoding="utf-8") as file:
        file.write(CJSON)
    ways = {build: ([path, "json", "--format", "json", "--folder", words[0], "--names", words[1], "--times", words[2]],
                    lambda envelope: envelope["data"]) for build, path in builds.path.items()}
    ways["cjson"] = ["lua5.4", script, *words], lambda found: found
    times = {who: {name: {"decode": [], "encode": []} for name in names} for who in ways}
    until, order = time.monotonic() + SECONDS, random.Random(1)
    for _ in range(quick(ROUNDS, 1)):
        for who in order.sample(list(ways), len(ways)):
            for name, ms in one(ways[who][0], folder, ways[who][1]).items():
                for way, took in ms.items():
                    times[who][name][way].append(took)
        if time.monotonic() > until:
            break
    return times


def table(builds, folder):
    place = os.path.join(folder, "json")
    sizes = write(place)
    times = measure(builds, folder, place, list(sizes))
    yield (f"Megabytes a second of processor time, and how many times as fast as cjson in lua5.4: more is better. The collector "
           "stands still meanwhile. cjson writes floats with 14 digits, runner so that they are read back as the same.")
    yield ""
    yield f"| what | {' | '.join(NAMES)} | cjson | {' | '.join(f'{name} against cjson' for name in NAMES)} |"
    yield "|---" * (2 + 2 * len(NAMES)) + "|"
    for way in "decode", "encode":
        for name, size in sizes.items():
            speed = {who: size / max(statistics.median(found[name][way]), 1) for who, found in times.items()}
            cells = [f"{speed[who]:.0f} MB/s" if who in speed else NONE for who in (*NAMES, "cjson")]
            cells += [f"{speed[who] / speed['cjson']:.2f} ×" if who in speed else NONE for who in NAMES]
            yield f"| {way} {name} | {' | '.join(cells)} |"
