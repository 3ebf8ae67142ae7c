"""What a mutant changes: places in C and Lua source, each with what stands there instead.

Sites are found by pattern in a text whose comments and strings are blanked, so that offsets
hold in the original. A replacement keeps the number of lines: what a compiler says of lines
stays as it was.

    cmp     a comparison turns round, or moves by one      const   a number, one more or less
    logic   and ↔ or                                       not     a negation is dropped
    if      a condition that never holds                   call    a call is dropped
    return  another value is returned
"""
import bisect
import dataclasses
import hashlib
import random
import re


@dataclasses.dataclass(frozen=True)
class Mutant:
    path: str
    op: str
    start: int
    end: int
    old: str
    new: str
    line: int
    text: str  # the line as it was

    @property
    def id(self):
        return hashlib.sha1(f"{self.path} {self.start} {self.new}".encode()).hexdigest()[:6]

    def apply(self, source):
        return source[:self.start] + self.new + source[self.end:]


C_BLANK = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
                     r'|^[ \t]*#[^\n]*(?:\\\n[^\n]*)*', re.S | re.M)
LUA_BLANK = re.compile(r'--\[(=*)\[.*?\]\1\]|--[^\n]*|\[(=*)\[.*?\]\2\]|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                       re.S)
FLIPS = {"!=": ["=="], "~=": ["=="], "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"]}
NUMBER = re.compile(r"(?<![\w.\]])(\d+)(?![\w.])")
C_WORDS = ("if", "while", "for", "switch", "return", "sizeof", "defined")
LUA_WORDS = ("if", "while", "for", "return", "local", "function", "and", "or", "not")


def blanked(pattern, source):
    """The same length, with spaces for what the pattern matches; a Lua string leaves one S."""
    def blank(match):
        text = re.sub(r"[^\n]", " ", match.group())
        is_string = pattern is LUA_BLANK and not match.group().startswith("--")
        return "S" + text[1:] if is_string else text
    return pattern.sub(blank, source)


def closing(text, at):
    """Where the parenthesis that opens at `at` closes; -1: nowhere."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "(") - (text[i] == ")")
        if depth == 0:
            return i
    return -1


def comparisons(text, unequal, before):
    flips = {"==": [unequal], **FLIPS}
    for m in re.finditer(rf"(?<![{before}])(==|{unequal}|<=|>=|<|>)(?![<>=])", text):
        spaced = text[m.start() - 1] == " " and text[m.end():m.end() + 1] in (" ", "\n")
        if spaced:  # (not the < of an #include, nor ->)
            yield from (("cmp", *m.span(1), new) for new in flips[m.group(1)])


def numbers(text):
    for m in NUMBER.finditer(text):
        value = int(m.group(1))
        yield "const", *m.span(), str(value + 1)
        if value > 0:
            yield "const", *m.span(), str(value - 1)


def c_calls(text):
    """Whole statements that are one call, whatever becomes of its value."""
    for m in re.finditer(r"^[ \t]+((?:\(void\))?([a-z_]\w*)\()", text, re.M):
        end = closing(text, m.end() - 1)
        before = text[:m.start()].rstrip()
        begins = before and (before[-1] in ";{}):" or before.endswith("else"))
        if m.group(2) not in C_WORDS and begins and text[end + 1:end + 2] == ";":
            yield "call", m.start(1), end + 2, ";"


def c_returns(text):
    values = {"0": ["1"], "true": ["false"], "false": ["true"], "NULL": []}
    for m in re.finditer(r"\breturn ([^;]+);", text):
        others = ["0", "1"] if re.search(r"[=<>!&|]", m.group(1)) else ["0"]
        yield from (("return", *m.span(1), new) for new in values.get(m.group(1).strip(), others))


def c_sites(source):
    text = blanked(C_BLANK, source)
    yield from comparisons(text, "!=", r"<>=!\-+*/&|^%")
    yield from numbers(text)
    yield from (("logic", *m.span(), "||" if m.group() == "&&" else "&&") for m in re.finditer(r"&&|\|\|", text))
    yield from (("not", *m.span(), "") for m in re.finditer(r"!(?=[\w(*])", text))
    yield from c_calls(text)
    yield from c_returns(text)
    for m in re.finditer(r"\bif \(", text):
        end = closing(text, m.end() - 1)
        if end > 0:
            yield "if", m.end(), end, "0"


def lua_calls(text):
    """Statements that are one call and stand on lines of their own."""
    for m in re.finditer(r"^[ \t]+(([a-zA-Z_]\w*)[\w.:]*\()", text, re.M):
        end = closing(text, m.end() - 1)
        before, after = text[:m.start()].rstrip(), text[end + 1:]
        alone = re.match(r"[ \t]*(\n|$)", after) and not re.match(r"\s*(and|or|\.\.|,|[)}])", after)
        begins = re.search(r"[\w)\]}]$", before) and not re.search(r"\b(and|or|not|return)$", before)
        if m.group(2) not in LUA_WORDS and end > 0 and alone and begins:
            yield "call", m.start(1), end + 1, ""


def lua_returns(text):
    values = {"true": "false", "false": "true", "nil": "true"}
    for m in re.finditer(r"^[ \t]+return ([^\n]+)$", text, re.M):
        value = m.group(1)
        whole = all(value.count(a) == value.count(b) for a, b in ("()", "{}")) and "function" not in value
        if whole:
            yield "return", *m.span(1), values.get(value.strip(), "nil")


def lua_sites(source):
    text = blanked(LUA_BLANK, source)
    yield from comparisons(text, "~=", "<>=~")
    yield from numbers(text)
    yield from (("logic", *m.span(), "or" if m.group() == "and" else "and") for m in re.finditer(r"\b(and|or)\b", text))
    yield from (("not", *m.span(), "") for m in re.finditer(r"\bnot ", text))
    yield from lua_calls(text)
    yield from lua_returns(text)
    for m in re.finditer(r"\bif (.+?) then\b", text, re.S):
        if m.group(1).count("\n") <= 4:
            yield "if", *m.span(1), "false"


def mutants(path, source):
    """Every mutant of a file, those of one operator together: { op: [Mutant] }."""
    starts = [m.end() for m in re.finditer("^", source, re.M)]
    lines = source.split("\n")
    # what stands before the first function of a C file are includes and sizes
    begins = source.find("\n{") if path.endswith(".c") else 0
    found = {}
    for op, start, end, new in (c_sites if path.endswith(".c") else lua_sites)(source):
        old = source[start:end]
        line = bisect.bisect_right(starts, start)
        if start >= begins:
            found.setdefault(op, []).append(Mutant(path, op, start, end, old, new + "\n" * old.count("\n"), line,
                                                   lines[line - 1].strip()))
    return found


def draw(seed, sources):
    """An endless sequence of mutants of { path: source }, the same for the same seed: a file
    by the number of its lines, one of the operators that it has places for, a place."""
    rng = random.Random(str(seed))
    paths = sorted(sources)
    weights = [sources[path].count("\n") for path in paths]
    found, drawn, misses = {}, set(), 0
    while misses < 1000:
        path = rng.choices(paths, weights)[0]
        if path not in found:
            found[path] = mutants(path, sources[path])
        if not found[path]:
            misses += 1
            continue
        mutant = rng.choice(found[path][rng.choice(sorted(found[path]))])
        misses = misses + 1 if mutant.id in drawn else 0
        if mutant.id not in drawn:
            drawn.add(mutant.id)
            yield mutant
