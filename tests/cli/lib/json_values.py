"""Random JSON, one value a line: `write FILE`, and `compare FILE ANSWER`, which says
whether both have the same values, of the same types, floats bit for bit."""

import json
import random
import struct
import sys

COUNT = 20000
LETTERS = "ab\"\\/\b\f\n\r\t 09ÄéЖ漢😀\u2028\ufeff"  # no escape sequence: the writer removes those


def text(rng):
    return "".join(rng.choice(LETTERS) for _ in range(rng.randrange(12)))


def number(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randrange(-(1 << 63), 1 << 63) >> rng.randrange(64)
    if kind == 1:
        return rng.randrange(-10**9, 10**9) / 10 ** rng.randrange(7)
    if kind == 2:
        return rng.random() * 10.0 ** rng.randrange(-30, 30)
    while True:
        value = struct.unpack("<d", rng.randbytes(8))[0]
        if value == value and abs(value) != float("inf"):
            return value


def value(rng, depth):
    kind = rng.randrange(6 if depth < 5 else 4)
    if kind < 2:
        return number(rng)
    if kind == 2:
        return text(rng)
    if kind == 3:
        return rng.choice([True, False, None])
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(rng.randrange(5))]
    return {text(rng): value(rng, depth + 1) for _ in range(rng.randrange(5))}


def write(path):
    rng = random.Random(20261122)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(COUNT):
            plain = rng.random() < 0.5
            blanks = rng.choice([(",", ":"), (", ", ": "), ("\t,\r", " :\t")])
            file.write(json.dumps(value(rng, 0), ensure_ascii=plain, separators=blanks) + "\n")


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("<d", a) == struct.pack("<d", b)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def compare(left, right):
    with open(left, encoding="utf-8", newline="\n") as a, open(right, encoding="utf-8", newline="\n") as b:
        count = 0
        for x, y in zip(a, b, strict=True):
            count += 1
            if not same(json.loads(x), json.loads(y)):
                sys.exit(f"line {count}: {x!r} became {y!r}")
    print(f"{count} values are the same")


if __name__ == "__main__":
    {"write": write, "compare": compare}[sys.argv[1]](*sys.argv[2:])
