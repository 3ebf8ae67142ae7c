"""A workflow on a terminal. Each function is a test, as in terminal.py."""
import fcntl
import glob
import json
import os
import re
import signal
import struct
import sys
import termios
import time

from terminal import Terminal, wait_until

SERVER_ERROR = "complain '500 Internal Server Error'; exit 1"


def terminal(*argv, **env):
    here = os.getcwd()
    return Terminal("workflow", *argv, PATH=f"{here}/bin:{os.environ['PATH']}", XDG_STATE_HOME=f"{here}/state", **env)


def workflow(text, *turns):
    with open("live.yaml", "w", encoding="utf-8") as f:
        f.write("name: live\ncommands:\n" + text)
    for taken in glob.glob("claude/turns/default.*"):  # by the calls of a run before
        os.rmdir(taken)
    with open("claude/turns/default", "w", encoding="utf-8") as f:
        f.write("".join(turn + "\n" for turn in turns or ["echo done"]))


def finished(t, status):
    assert t.end() == status, t.seen


def progress_shows_step_attempt_and_countdown():
    # a machine that stands still for a second misses a second
    for _ in range(4):
        left = countdown()
        assert left == sorted(left, reverse=True), left
        if set(left) - {0} == {3, 2, 1}:
            return
    raise AssertionError(left)


def shown(step):
    """A line of shell that waits until go_on(step), so that what is shown meanwhile is."""
    if os.path.exists("shown." + step):
        os.remove("shown." + step)
    return f"until [ -e shown.{step} ]; do sleep 0.02; done"


def go_on(step):
    open("shown." + step, "w", encoding="utf-8").close()


def countdown():
    """The seconds that were shown while it waited."""
    workflow(f'  - {{ shell: ": one; {shown("one")}", id: first }}\n'
             "  - { claude: /process-data, id: second, retry: { strategy: custom, delays: [2500ms], jitter: 0 } }\n",
             f"{shown('two')}; {SERVER_ERROR}", f"{shown('three')}; echo fine")
    t = terminal("run", "live.yaml")
    t.expect(rb"\xe2\x96\xb8\x1b\[0m first   \x1b\[2m\d+s *\x1b\[0m  : one")
    go_on("one")
    t.expect(rb"\xe2\x9c\x93\x1b\[0m first ")
    t.expect(rb"\xe2\x96\xb8\x1b\[0m second  \x1b\[2m\d+s *\x1b\[0m  /process-data")
    go_on("two")
    t.expect(rb"Claude command failed \(attempt 1/1\): 500 Internal Server Error\r\n")
    t.expect(rb"Retrying in 2\.5 seconds\.\.\.\r\n")
    t.expect(rb"\xe2\x96\xb8\x1b\[0m second .*retry 1/1 \xc2\xb7 /process-data")
    go_on("three")
    t.expect(rb"Claude command succeeded on attempt 2\r\n")
    finished(t, 0)
    assert not re.search(rb'\{"level"', t.seen), t.seen
    return [int(n) for n in re.findall(rb"second  \x1b\[2min (\d)s", t.seen)]


def no_color_is_respected():
    for env, argv in (({"NO_COLOR": "1"}, []), ({"TERM": "dumb"}, []), ({}, ["--no-color"])):
        workflow('  - { claude: /a, retry: { strategy: custom, delays: [30ms], jitter: 0 } }\n', SERVER_ERROR)
        t = terminal("run", "live.yaml", *argv, **env)
        finished(t, 12)
        assert b"\x1b" not in t.seen and b"Retrying in 0.0 seconds..." in t.seen, t.seen
        assert b"workflow resume run_" in t.seen, t.seen


def quiet_hides_all_but_the_error():
    workflow('  - { claude: /a, retry: { strategy: custom, delays: [30ms], jitter: 0 } }\n', SERVER_ERROR)
    t = terminal("run", "live.yaml", "--quiet", NO_COLOR="1")
    finished(t, 12)
    assert b"Retrying" not in t.seen and b"HTTP 500" in t.seen, t.seen


def interrupted(t):
    asked = time.monotonic()
    t.send(b"\x03")
    finished(t, 130)
    assert time.monotonic() - asked < 20, t.seen
    assert t.seen.count(b"Cancelled by SIGINT") == t.seen.count(b"CANCELLED") == 1, t.seen
    assert b"interrupted" not in t.seen and t.seen.count(b"workflow resume run_") == 1, t.seen


def ctrl_c_ends_a_step():
    workflow('  - { shell: "touch began; sleep 60 & sleep 61" }\n')
    t = terminal("run", "live.yaml")
    wait_until(lambda: os.path.exists("began"))
    interrupted(t)


def ctrl_c_ends_a_wait():
    workflow("  - { claude: /a }\n", SERVER_ERROR)
    t = terminal("run", "live.yaml")
    t.expect(rb"in \ds\x1b\[0m  retry 1/5")
    interrupted(t)


def stderr_of_a_step_is_seen_without_its_control_sequences():
    workflow("  - shell: printf 'a line \\033[31mred\\033[0m\\n' >&2\n")
    t = terminal("run", "live.yaml", NO_COLOR="1")
    finished(t, 0)
    assert b"a line red" in t.seen and b"\x1b" not in t.seen, t.seen


EVENTS = [
    {"type": "system", "subtype": "init", "session_id": "s"},
    {"type": "assistant", "message": {"content": [
        {"type": "text", "text": "Reading\x1b[31m the\nsource"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "curl -u hidden-value " + "x" * 100}}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "content": "result of the tool"}]}},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "\u4e2d" * 60}]}},
    {"type": "result", "subtype": "success", "is_error": False, "result": "all done", "total_cost_usd": 0.25},
]


def streaming(*argv):
    """A claude step that prints EVENTS and a line of text, on a terminal of 60 columns."""
    with open("events", "w", encoding="utf-8") as f:
        f.write("".join(json.dumps(event) + "\n" for event in EVENTS[:-1]))
        f.write("plain words\n" + json.dumps(EVENTS[-1]) + "\n")
    with open("live.yaml", "w", encoding="utf-8") as f:
        f.write("name: live\nsecrets: { KEY: hidden-value }\nclaude: { output: stream-json }\n"
                "commands: [ { claude: go, id: step } ]\n")
    with open("claude/turns/default", "w", encoding="utf-8") as f:
        f.write("until [ -e sized ]; do sleep 0.02; done; cat events; until [ -e seen ]; do sleep 0.02; done\n")
    t = terminal("run", "live.yaml", *argv, NO_COLOR="1")
    fcntl.ioctl(t.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    open("sized", "w", encoding="utf-8").close()
    return t


def events_of_a_claude_step_are_shown_live():
    t = streaming()
    t.expect(b"plain words\r\n")  # the program is still there
    open("seen", "w", encoding="utf-8").close()
    finished(t, 0)
    lines = t.seen.decode().replace("\r", "").split("\n")
    live = [line for line in lines if line.startswith("step: ")]
    assert live[0] == "step: Reading the source", live
    assert live[1].startswith("step: > Bash curl -u *** xxx") and live[1].endswith("x…") and len(live[1]) in (58, 59), live
    assert live[2] == "step: " + "\u4e2d" * 25 + "…", live
    assert live[3:] == ["step: plain words"], live
    assert "\x1b" not in t.seen.decode() and "hidden-value" not in t.seen.decode() and "result of" not in t.seen.decode()
    assert any(re.fullmatch(r"  step +completed +all done", line) for line in lines), lines


def events_are_not_shown_with_quiet():
    t = streaming("--quiet")
    open("seen", "w", encoding="utf-8").close()
    finished(t, 0)
    assert b"Reading" not in t.seen and b"all done" in t.seen, t.seen


if __name__ == "__main__":
    signal.alarm(140)
    globals()[sys.argv[1]]()
