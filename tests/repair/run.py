"""run FILE [LEAST LEAST] [--all]: makes each call of calls.txt, or later.txt, in the project of project.lua, runs its fix_command
once, and counts.

A line is "a wrong call|the right one", or "-" where there must be no fix_command: it would confirm something, repeat a secret, or
guess. A right call that destroys something is one that is then refused until it is confirmed. The lines of calls.txt were written before the code, and while that was, only those with odd numbers were
looked at: of the others 89 of 95 succeeded then. Those of later.txt were written when that was done: 54 of 66 succeeded.
The 100 of latest.txt were written after that: 90 had the fix that stood there when they were first called, and one was made right. Six lines
then were given what the rules say (three good fixes of calls that only read; none for three-letter flags and for "max" of what changes
something); 26, 37 and 57 are as they were.
Lines of all three whose command changes something had "-" while such commands were repaired in little more than their spelling.
The 120 of others.txt are of the 307 commands of tests/search, written when all that was done: 84 had the right fix then.
Seven of them that had one then have "-" since no word without a flag changes what an optional text is.
Prints the figures of both halves, and the failures of the odd lines (all of them with --all).
"""

import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RUNNER = os.environ["RUNNER"]


def call(words):
    """What a call answers: its document, if it has one, else its text."""
    result = subprocess.run([RUNNER, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            timeout=60, check=False)
    text = result.stdout.decode()
    try:
        document = json.loads(text)
    except ValueError:
        return {"ok": result.returncode == 0, "text": text}
    if isinstance(document, dict) and "meta" in document:
        return document
    return {"ok": result.returncode == 0, "text": text}


def essence(answer):
    """What two calls that mean the same have in common."""
    meta = answer.get("meta", {})
    error = answer.get("error") or {}
    if error.get("code") == "CONFIRMATION_REQUIRED":  # nothing was done, and this is what would be
        return True, error["context"]["would_affect"]
    return answer["ok"], answer.get("text"), answer.get("data"), meta.get("command"), meta.get("dry_run")


def outcome(wrong, right):
    """Why a line fails; None: it doesn't."""
    answer = call(shlex.split(wrong))
    fix = None if answer["ok"] else answer["error"].get("fix_command")
    if right == "-":
        return None if not answer["ok"] and not fix else f"must have no fix: {fix or 'it succeeds'}"
    if answer["ok"]:
        again = answer
    elif not fix:
        return "no fix"
    elif "--yes" in fix or "--confirm" in fix or not fix.startswith("runner "):
        return fix
    else:
        again = call(shlex.split(fix)[1:])
    wanted = essence(call(shlex.split(right)))
    assert wanted[0], right
    return None if essence(again) == wanted else f"{fix}"


def main():
    counts = {1: [0, 0], 0: [0, 0]}
    with open(os.path.join(HERE, sys.argv[1]), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            wrong, right = line.rstrip("\n").split("|")
            why = outcome(wrong, right)
            counts[number % 2][0] += 1
            counts[number % 2][1] += why is None
            if why and (number % 2 or "--all" in sys.argv):
                print(f"{number}: {wrong} -> {why} (wanted: {right})")
    print(f"looked at: {counts[1][1]} of {counts[1][0]}, held out: {counts[0][1]} of {counts[0][0]}")
    least = [int(word) for word in sys.argv[2:] if word.isdigit()]
    return 0 if not least or counts[1][1] >= least[0] and counts[0][1] >= least[1] else 1


if __name__ == "__main__":
    sys.exit(main())
