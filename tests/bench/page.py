"""page: whether a page of benchmarks is whole: each section is there with its rows, each build has its figures or is
named as missing, and nothing of the machine's folders stands in it."""

import re

from builds import NAMES, NONE

NOT_MEASURED = "Not measured: "
FOLDERS = re.compile(r"(?<![\w.])/(tmp|root|home|work|var|usr)/")
ODD = re.compile(r"\b(nan|inf|None|True|False)\b")


def tables(lines):
    """Lists of rows, each a list of cells; the first row is the head."""
    found, table = [], []
    for line in [*lines, ""]:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            table.append([cell.strip() for cell in cells])
        elif table:
            found.append([table[0], *table[2:]])
            table = []
    return found


def of_cell(head, row, title, cell, missing):
    """What is wrong with a figure of a build: it is there where the build is."""
    build = next((name for name in NAMES if title.split(", ")[-1] in (name, f"{name} ÷ it")), None)
    if build:
        expected = build in missing or ("÷" in title and row[head.index("compared with")] == NONE)
        if (cell == NONE) != expected:
            yield f"{row[0]}: {title} is {cell}, and the build is {'missing' if build in missing else 'there'}"


def of_table(table, missing):
    """What is wrong with one table."""
    head, *rows = table
    if not rows:
        yield f"a table has no rows: {' | '.join(head)}"
    for row in rows:
        if len(row) != len(head) or "" in row:
            yield f"a row doesn't fill its {len(head)} cells: {' | '.join(row)}"
        else:
            for title, cell in zip(head, row):
                yield from of_cell(head, row, title, cell, missing)


def builds_of(found):
    """The builds that have a column, or rows of their own."""
    cells = [cell for table in found for cell in table[0]] + [row[0] for table in found for row in table[1:]]
    return {name for name in NAMES if any(cell.split(", ")[-1] == name or cell.endswith(f"({name})") for cell in cells)}


def missing_of(text):
    """The builds that a page or section says it has not measured."""
    said = " ".join(line for line in text.splitlines() if line.startswith(NOT_MEASURED))
    return {name for name in NAMES if f"the {name} build" in said}


def of_section(text, missing, of_one_build):
    """What is wrong with one section."""
    found = tables(text.splitlines())
    if not found:
        yield "it has no table"
    missing = missing | missing_of(text)
    for table in found:
        yield from of_table(table, missing)
    for name in sorted(set(NAMES) - builds_of(found) - missing):
        if not of_one_build:
            yield f"nothing of the {name} build"


def problems(text, titles, of_one_build=()):
    """What is wrong with a page that should have these sections, each a line."""
    head, *parts = re.split(r"^## (.+)$", text, flags=re.M)
    sections = dict(zip(parts[::2], parts[1::2]))
    if list(sections) != list(titles):
        yield f"its sections are {', '.join(sections) or 'none'}; they should be {', '.join(titles)}"
    for title in titles:
        for problem in of_section(sections.get(title, ""), missing_of(head), title in of_one_build):
            yield f"{title}: {problem}"
    for line in text.splitlines():
        if FOLDERS.search(line) or ODD.search(line):
            yield f"odd: {line}"
