"""The loop of a calling program as §19 of the CLI Agent Spec describes it: act on
`retryable`, wait `retry_after_ms`, stop at a permanent failure. Written from its
description and run against real commands in the current directory."""
import json
import os
import subprocess
import time

RUNNER = os.environ["RUNNER"]


class Permanent(Exception):
    pass


def call(argv, most=3):
    """(answer, calls made). Raises Permanent for what must not be repeated."""
    for made in range(1, most + 1):
        done = subprocess.run([RUNNER, *argv], capture_output=True, text=True, check=False)
        answer = json.loads(done.stdout)
        if answer.get("ok"):
            return answer, made
        error = answer.get("error", {})
        if error.get("retryable") is False:
            raise Permanent(f"[{error['code']}] {error['message']} (fix: {error.get('fix_required', 'see error')})", made)
        if error.get("retryable") is True and made < most:
            time.sleep(error.get("retry_after_ms", 1000 * 2**made) / 1000)
            continue
        raise RuntimeError(f"failed after {made} calls", made)
    raise AssertionError("unreachable")


def write(name, body):
    with open(f"commands/{name}.lua", "w", encoding="utf-8") as f:
        f.write(f"return {{ description = 'x', danger_level = 'safe', run = function(_, ctx) {body} end }}")


def counted(code, hints):
    """A command that fails twice, counting its calls in a file."""
    return f"""
        local fs = require "fs"
        local n = tonumber(fs.read("calls.txt") or "0") + 1
        fs.write("calls.txt", tostring(n))
        if n < 3 then ctx:fail("{code}", "call " .. n, {hints}) end
        return {{ calls = n }}"""


def main():
    write("transient", counted("SERVICE_UNAVAILABLE", "{ retry_after_ms = 20 }"))
    answer, made = call(["transient"])
    assert made == 3 and answer["data"]["calls"] == 3, answer

    write("permanent", 'ctx:fail("NOT_FOUND", "no such release")')
    try:
        call(["permanent"])
        raise AssertionError("a permanent failure was repeated")
    except Permanent as e:
        assert e.args[1] == 1, e.args

    # runner has used up its retries: the outer loop must not retry again (REQ-F-078,
    # docs/design.md#exhausted-retries)
    write("down", 'ctx:fail("NETWORK_ERROR", "refused")')
    try:
        call(["down", "--retries", "2", "--retry-delay", "1ms"])
        raise AssertionError("an exhausted failure was repeated")
    except Permanent as e:
        assert e.args[1] == 1, e.args

    # a bad argument says what to fix, and is not repeated
    try:
        call(["down", "--bogus"])
        raise AssertionError("a bad argument was repeated")
    except Permanent as e:
        assert "fix: " in e.args[0] and "see error" not in e.args[0], e.args


main()
