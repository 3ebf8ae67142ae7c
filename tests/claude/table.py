"""table: the table of docs/workflows/claude_errors.md, made from tests/claude/records.

  table.py --write    renew it
  table.py --check    TAP: is it what the records say?
"""
import json
import os
import re
import sys

import cases

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "../../docs/workflows/claude_errors.md")
PART = re.compile(r"(<!-- recorded: claude -->\n).*?(<!-- end -->)", re.S)
WIDTH = 100  # characters of a sentence


def record(name):
    with open(os.path.join(HERE, "records", name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def sentence(given):
    """The first line, of stdout or else of stderr."""
    line = next((line for line in (given["stdout"] + "\n" + given["stderr"]).splitlines() if line), "")
    if line.startswith("{"):
        line = json.loads(line).get("result", line)
    line = line if len(line) <= WIDTH else line[:WIDTH - 1].rstrip() + "…"
    return f"`{line.replace('|', chr(92) + '|')}`" if line else "nothing"


def row(made):
    output = next(iter(made["outputs"].values()))
    means = made["means"]
    kind = "success" if "success" in means else "transient" if means["transient"] else "**permanent**"
    code = f"`{means['code']}`" if "code" in means else ""
    return f"| {made['about']} | {sentence(output)} | {output['exit']} | {code} | {kind} |"


def table():
    lines = ["| what happened | what it prints | exit | code | kind |", "|---|---|---|---|---|"]
    return "\n".join(lines + [row(record(name)) for name in cases.CASES]) + "\n"


def main(argv):
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    made = PART.sub(lambda part: part[1] + table() + part[2], page)
    if argv == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(made)
        return 0
    known = {name + ".json" for name in cases.CASES} == set(os.listdir(os.path.join(HERE, "records")))
    right = made == page and "<!-- recorded" in page and known
    print(f"1..1\n{'ok' if right else 'not ok'} 1 - the documented table is what was recorded of Claude Code")
    if not right:
        print("# run tests/claude/table.py --write" if known else "# tests/claude/records and cases.py name different cases")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
