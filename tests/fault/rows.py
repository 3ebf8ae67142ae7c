"""Tables of rows: each row is a function whose docstring is its name, and which raises when
something is wrong. A row with a victim looks at it at the end: alive, not stopped, its work
done. A program ends with rows.main(); its bats file has a test for each row (rows.bash).

PROGRAM [ROW…]    TAP; default: all, one after the other: some measure time

RUNNER names the binary.
"""
import os
import shutil
import sys
import time

import harness

BOUND = 0.5  # seconds after its limit within which an answer comes …
TRIES = 4    # … at least once: other work on the machine is no fault of ours
MORE_S = 60  # … and then, as long as this

ROWS = []
module = None


def row(function):
    ROWS.append(function)
    return function


class Skip(Exception):
    pass


# --- runs -----------------------------------------------------------------------------------

def bad(body):
    if harness.is_static() and harness.is_native(body):
        raise Skip(harness.NO_NATIVE)
    return harness.with_bad(module, body)


def command(stage, body, keys=""):
    stage.command("c", body, f"grace = '300ms', {keys}")


def await_file(stage, name="ready", seconds=20):
    until = time.monotonic() + seconds
    while not os.path.exists(stage.path(name)):
        assert time.monotonic() < until, f"no {name}"
        time.sleep(0.005)


def finish(run, status, code, seconds=60, known=()):
    """Ends as it should, with nothing left but the `known` children of the caller; the envelope."""
    run.finish(seconds)
    assert run.status == status, f"status {run.status}: {run.out[:300]!r} {run.err[-300:]!r}"
    left = harness.await_empty(0, token=run.env["TOKEN"], known=known)
    assert not left, f"left alive: {left}"
    assert not run.stage.leftovers(), run.stage.leftovers()
    e = harness.one_envelope(run.out, run.status)
    assert (e.error or {}).get("code") == code, e.error
    return e


def in_time(attempt, bound=BOUND, tries=TRIES):
    """The best of some tries is within the bound; every try is right otherwise. A loaded machine has more of them."""
    late, began = [], time.monotonic()
    while len(late) < tries or time.monotonic() < began + MORE_S:
        late.append(attempt())
        if late[-1] < bound:
            return
    raise AssertionError(f"late by {min(late):.3f} s at best, more than {bound} s")


# --- the whole ----------------------------------------------------------------------------------------

def play(function):
    try:
        function()
        return None, None
    except Skip as reason:
        return None, str(reason)
    except Exception as problem:  # pylint: disable=broad-except
        return f"{type(problem).__name__}: {str(problem)[:900]}", None


def main():
    global module
    harness.become_subreaper()
    module = harness.misbehave()
    wanted = sys.argv[1:]
    told = []
    for function in ROWS:
        if not wanted or function.__name__ in wanted or function.__doc__ in wanted:
            began = time.monotonic()
            told.append((function.__doc__, *play(function)))
            if os.environ.get("HOSTILE_TIMES"):
                print(f"# {time.monotonic() - began:6.2f} s  {function.__doc__}", flush=True)
    shutil.rmtree(os.path.dirname(module))
    sys.exit(harness.tap(told))
