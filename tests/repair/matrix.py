"""matrix.py: makes each call of matrix.txt in the project of matrix.lua, with victims watched. A line is "a wrong call|the right one", or
"-" where no call is sure. The wrong call must do nothing, and its fix_command what the right one does, and nothing else: what destroys
something is refused, and would be done to the same. Prints what is otherwise, and fails then."""

import os
import re
import shlex
import sys

from run import HERE, call, essence

CONFIRMS = ("--yes", "--confirm", "--live", "--force", " -y", " -f")


def done():
    """The commands that have changed something since this was asked last."""
    try:
        with open("victims", encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        os.unlink("victims")
        return lines
    except FileNotFoundError:
        return []


def contradicts(error):
    """A hint of an error that names what is in none of its calls; None: there is none."""
    calls = error.get("fix_command") or error.get("suggestion") or ""
    if "runner " not in calls:
        return None
    for one in [error, *error.get("errors", [])]:
        hint, way = one.get("suggestion") or "", one.get("fix_required") or ""
        for text in re.findall("'(.*?)'", hint.partition("Did you mean")[2]) + re.findall("^Rename .* to '(.*)'$", way):
            if not re.search(rf"(^|[ ='-]){re.escape(text)}($|[ ='])", calls):
                return text
    return None


def outcome(wrong, right):
    done()
    answer = call(shlex.split(wrong))
    did = done()
    if right != "-" and answer["ok"]:
        return None if essence(answer) == essence(call(shlex.split(right))) else f"succeeds as {answer['meta'].get('command')}"
    fix = (answer.get("error") or {}).get("fix_command")
    other = contradicts(answer.get("error") or {})
    if other:
        return f"hints at {other}"
    refused = not answer["ok"] and answer["error"]["code"] == "CONFIRMATION_REQUIRED"
    if did:
        return f"has done {did}"
    if right == "-" or refused:
        return None if not fix and (not answer["ok"] or right == "-") else f"has a fix: {fix}"
    words = shlex.split(fix or "")
    while words and "=" in words[0]:  # as a shell sets it
        del words[0]
    if words[:1] != ["runner"]:
        return "has no fix"
    if any(word in fix for word in CONFIRMS):
        return f"confirms: {fix}"
    again = essence(call(words[1:]))
    effect = done()
    wanted = essence(call(shlex.split(right)))
    assert wanted[0], right
    return None if again == wanted and effect == done() else f"{fix} does {effect}"


def main():
    failed = 0
    with open(os.path.join(HERE, "matrix.txt"), encoding="utf-8") as file:
        lines = file.read().split("\n")[:-1]
    for number, line in enumerate(lines, 1):
        wrong, right = line.split("|")
        why = outcome(wrong, right)
        failed += why is not None
        if why:
            print(f"{number}: {wrong} -> {why} (wanted: {right})")
    print(f"{len(lines) - failed} of {len(lines)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
