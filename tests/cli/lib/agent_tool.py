"""A tool that keeps the CLI Agent Spec, or breaks it in one way: FLAW says which.

agent_tool.py [--format json|plain] COMMAND …    commands: show [NAME] [--upper], purge, rows, manifest
FLAW is a flaw of the table in conformance.bats; without it every check passes.
"""

import json
import os
import signal
import sys
import time

FLAW = os.environ.get("FLAW", "")


def envelope(code, data=None, error=None, **meta):
    document = {"ok": code == 0, "data": data, "error": error, "warnings": [],
                "meta": {"exit_code": code, "duration_ms": 1, **meta}}
    if FLAW == "envelope_without_meta":
        del document["meta"]
    if FLAW == "wrong_exit_in_meta" and code:
        document["meta"]["exit_code"] = 5
    return json.dumps(document)


def answer(code, data=None, error=None):
    text = envelope(code, data, error)
    if FLAW == "prose_on_stdout":
        print("Working…")
    if FLAW == "escape_on_stdout":
        print("\033[1m", end="")
    if FLAW == "colour_despite_no_color":
        print("\033[31mred\033[0m", file=sys.stderr)
    print(text, flush=True)
    sys.exit(200 if FLAW == "unknown_exit_code" else code)


def refuse(code, message):
    answer(1 if FLAW == "invalid_exits_1" else 2, None, {"code": code, "message": message, "retryable": False})


def options(arguments):
    """The global option, wherever it stands, and the rest."""
    formats, rest, i = [], [], 0
    while i < len(arguments):
        if arguments[i] == "--format" and i + 1 < len(arguments):
            formats.append(arguments[i + 1])
            i += 1
        else:
            rest.append(arguments[i])
        i += 1
    if FLAW == "option_before_ignored" and arguments[:1] == ["--format"]:
        formats = formats[1:]
    if len(set(formats)) > 1 and FLAW != "last_value_wins":
        refuse("CONFLICTING_VALUES", "--format is given twice")
    return (formats or ["json"])[-1], rest


def show(form, arguments):
    if "--nope" in arguments:
        refuse("UNKNOWN_FLAG", "There is no --nope")
    upper = "--upper" in arguments
    names = [a for a in arguments if not a.startswith("--")] or ["you"]
    if FLAW == "option_after_positional_ignored" and arguments and not arguments[0].startswith("--"):
        upper = False
    text = names[0].upper() if upper else names[0]
    if form == "plain":
        print(text, flush=True)
        sys.exit(0)
    answer(0, {"name": text})


def purge(arguments):
    if "--dry-run" in arguments:
        if FLAW == "dry_run_fails":
            refuse("UNKNOWN_FLAG", "There is no --dry-run")
        answer(0, {"effect": "would_delete", "would_affect": {"files": 2}})
    if FLAW == "purges_unconfirmed":
        answer(0, {"effect": "deleted"})
    refuse("CONFIRMATION_REQUIRED", "Say --confirm-destructive")


def end_of_rows(count):
    if FLAW == "no_last_line":
        sys.exit(0)
    print(json.dumps({"_summary": True, "_count": count + (FLAW == "wrong_count"), "duration_ms": 1}), flush=True)
    if FLAW == "line_after_last":
        print("{}", flush=True)
    sys.exit(3 if FLAW == "summary_and_exit_3" else 0)


def interrupted(count):
    code = "INTERRUPTED" if FLAW == "sigint_other_code" else "CANCELLED"
    error = {"code": code, "message": "SIGINT", "retryable": False}
    data = {} if FLAW == "sigint_without_partial" else {"partial": True}
    print(envelope(130, data, error, items_emitted=count), flush=True)
    sys.exit(1 if FLAW == "sigint_exits_1" else 130)


def rows(arguments):
    slow, count, signals = "--slow" in arguments, 0, []
    if FLAW == "sigint_ignored":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    else:
        signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
    for n in range(1, 100 if slow else 4):
        if FLAW == "blank_line" and n == 2:
            print(flush=True)
        count = n
        number = n + 1 if FLAW == "numbering_skips" and n > 1 else n
        print("row" if FLAW == "row_is_prose" else json.dumps({"_seq": number, "n": n}), flush=True)
        if slow:
            time.sleep(0.05)
        if signals:
            interrupted(count)
    end_of_rows(count)


def manifest():
    entry = {"description": "Show a name", "danger_level": "safe", "flags": {}, "required_scopes": [],
             "exit_codes": {"0": {"description": "Done", "retryable": False, "side_effects": "none"}}}
    if FLAW == "manifest_without_scopes":
        del entry["required_scopes"]
    answer(0, {"schema_version": "3.21", "framework_version": "1.0.0", "etag": "x", "commands": {"show": entry}})


def main():
    arguments = sys.argv[1:]
    if arguments == ["--help"]:
        print("usage: …", file=sys.stdout if FLAW == "help_on_stdout" else sys.stderr, flush=True)
        sys.exit(0)
    if FLAW == "hangs":
        time.sleep(60)
    if FLAW == "reads_stdin":
        sys.stdin.read()
    form, rest = options(arguments)
    command, rest = rest[0], rest[1:]
    if command == "show":
        show(form, rest)
    elif command == "purge":
        purge(rest)
    elif command == "rows":
        rows(rest)
    manifest()


main()
