"""A terminal in front of runner. Each function is a test; it runs in a directory
of its own and raises when something is wrong."""
import os
import pty
import re
import select
import signal
import sys
import termios
import time

RUNNER = os.environ["RUNNER"]


class Terminal:
    """runner as the session leader of a new terminal; `stdout` may be a file instead."""

    def __init__(self, *argv, stdout=None, **env):
        clean = {"PATH": os.environ["PATH"], "HOME": os.environ["BATS_TEST_TMPDIR"] + ".home", "LC_ALL": "C.UTF-8", "TERM": "xterm"}
        clean["TOKEN"] = os.environ.get("TOKEN", "")
        self.seen = b""
        self.at = 0
        self.started = time.monotonic()
        waits, goes = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.close(goes)
            os.read(waits, 1)
            if stdout:
                os.dup2(os.open(stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), 1)
            os.execve(RUNNER, [RUNNER, *argv], {**clean, **env})
        self.fresh = self.attributes()  # before it can change them
        os.close(goes)
        os.close(waits)

    def read(self, seconds):
        """What comes within `seconds`; b"" at the end of the terminal or in silence."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return b""
        try:
            got = os.read(self.fd, 65536)
        except OSError:
            return b""
        self.seen += got
        return got

    def expect(self, pattern, seconds=30):
        """Wait until what came since the last expect matches."""
        end = time.monotonic() + seconds
        while not (match := re.search(pattern, self.seen[self.at:])):
            assert time.monotonic() < end, (pattern, self.seen)
            self.read(0.05)
        self.at += match.end()
        return match

    def send(self, text):
        os.write(self.fd, text)

    def end(self, seconds=60):
        """The exit status; everything that was written is in `seen`."""
        limit = time.monotonic() + seconds
        while True:
            self.read(0.02)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.02):
                    pass
                return os.waitstatus_to_exitcode(status)
            assert time.monotonic() < limit, ("still running", self.seen)

    def attributes(self):
        return termios.tcgetattr(self.fd)

    def echoes(self):
        return bool(self.attributes()[3] & termios.ECHO)


def command(name, body, keys="", level="safe"):
    with open(f"commands/{name}.lua", "w", encoding="utf-8") as f:
        f.write(f"return {{ description = 'x', danger_level = '{level}', {keys} run = function(args, ctx) {body} end }}")


def wait_until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.01)


def reaching(*argv, **options):
    """A run with a limit as short as this machine allows for it to make `began`; the limit in ms."""
    for ms in (300, 2000, 10000):
        if os.path.exists("began"):
            os.remove("began")
        t = Terminal(*argv, "--timeout", f"{ms}ms", **options)
        end = time.monotonic() + ms / 1000
        while not os.path.exists("began") and time.monotonic() < end:
            time.sleep(0.01)
        if os.path.exists("began"):
            return t, ms
        t.end()
    raise AssertionError("it never began")


HELLO = "return { greeting = 'Hello', list = { 1, 2 } }"
BUSY = "ctx:fail('UNAVAILABLE', 'the \\27[31mserver\\27[0m is down', { suggestion = 'Look at the server' })"
SLOW_STEPS = "ctx:step 'one' ctx:step 'two' io.open('began', 'w'):close() ctx:sleep(60)"
STEPS = "steps = { 'one', 'two', 'three' },"


def result_is_text():
    command("hello", HELLO)
    t = Terminal("hello")
    assert t.end() == 0
    assert b"greeting" in t.seen and b"Hello" in t.seen and b"{" not in t.seen, t.seen


def error_is_text_on_stderr():
    command("busy", BUSY)
    t = Terminal("busy", stdout="out.txt")
    assert t.end() == 12  # stdout is a file: the envelope is there, stderr stays quiet
    with open("out.txt", "rb") as f:
        assert f.read().startswith(b'{"ok":false')
    assert t.seen == b"", t.seen
    t = Terminal("busy")
    assert t.end() == 12
    for part in (rb"busy: error: ", rb"the server is down", rb"code: UNAVAILABLE \(exit 12\)", rb"retryable: yes, after \d",
                 rb"hint: Look at the server"):
        assert re.search(part, t.seen.replace(b"\x1b[1;31m", b"").replace(b"\x1b[0m", b"")), (part, t.seen)


def error_shows_the_last_lines_of_the_program():
    command("make", "ctx:run { 'sh', '-c', 'echo built; for i in 1 2 3; do echo step $i; done >&2; exit 2' }")
    t = Terminal("make")
    assert t.end() == 1
    t.at = 0
    t.expect(rb"make: .*error: .*sh exited with status 2: step 3\r\n")
    t.expect(rb"  output: \r\n    step 1\r\n    step 2\r\n")
    assert b"    step 3" not in t.seen, t.seen  # the first line has it
    assert b"    built" not in t.seen, t.seen
    command("make", "ctx:run { 'sh', '-c', 'echo a; echo b; exit 2' }")
    t = Terminal("make")
    assert t.end() == 1
    t.at = 0
    t.expect(rb"sh exited with status 2: b\r\n")
    t.expect(rb"  output: \r\n    a\r\n")


def error_shows_the_place_in_the_script():
    command("make", "local t = nil\nreturn t.x")
    t = Terminal("make")
    assert t.end() == 1
    t.at = 0
    t.expect(rb"  code: INTERNAL_ERROR \(exit 1\), an error of the script\r\n  line: return t.x")
    command("make", "ctx:run {\n'sh', '-c', 'exit 2' }")
    t = Terminal("make")
    assert t.end() == 1
    t.at = 0
    t.expect(rb"  at: commands/make.lua:\d+\r\n    .*ctx:run")
    os.makedirs("lib", exist_ok=True)
    with open("lib/deep.lua", "w", encoding="utf-8") as f:
        f.write("return function(ctx)\n  error { code = 'CONFLICT', message = 'x' }\nend\n")
    command("make", "require('deep')(ctx)")
    t = Terminal("make")
    assert t.end() == 6
    t.at = 0
    t.expect(rb"  at: lib/deep.lua:2\r\n    error { code")
    command("make", "ctx:fail('CONFLICT', 'on purpose')")
    t = Terminal("make")
    assert t.end() == 6 and b"  at: " not in t.seen, t.seen
    command("make", "return t.x", "args = { { 'key', 'string', secret = true, default = 'hidden-value' } },")
    with open("commands/make.lua", "a", encoding="utf-8") as f:
        f.write("-- " + "x" * 70000)
    t = Terminal("make", "--quiet")
    assert t.end() == 1, t.seen


def data_of_a_failure_is_shown():
    command("move", "ctx:fail('CONFLICT', 'x', { data = { { n = 1, name = 'a' }, { n = 2, name = 'b' } } })", "rows = true,")
    t = Terminal("move", "--format", "tsv")
    assert t.end() == 6
    t.at = 0
    t.expect(rb"code: CONFLICT")
    t.expect(rb"n\tname\r\n1\ta\r\n2\tb\r\n")


def steps_of_a_failure_are_shown():
    command("build", "ctx:step 'one' ctx:step 'two' error('boom')", STEPS)
    t = Terminal("build")
    assert t.end() == 1
    t.at = 0
    t.expect("(?s)✓\x1b\\[0m 1/3 one .*✗\x1b\\[0m 2/3 two .*boom.*·\x1b\\[0m 3/3 three".encode())
    assert b"completed" not in t.seen, t.seen
    t = Terminal("build", NO_COLOR="1")
    assert t.end() == 1
    t.at = 0
    t.expect(rb"completed  one\r\nfailed     two\r\npending    three")


def fix_of_the_registry_is_shown():
    command("token", "ctx:fail('TOKEN_EXPIRED', 'too old')")
    t = Terminal("token")
    assert t.end() == 8
    t.at = 0
    t.expect(rb"  fix: Renew the token\r\n")


def error_lists_every_problem():
    command("two", HELLO, "args = { { 'size', 'integer', max = 9 }, { 'kind', 'enum', values = { 'a', 'b' } } },")
    wrong = ("two", "--size", "10", "--kind", "c")
    t = Terminal(*wrong)
    assert t.end() == 2
    t.at = 0
    t.expect(rb"  Invalid --size '10': [^\r\n]+")
    t.expect(rb"  Unknown kind 'c'\. Valid values: a, b")
    t.expect(rb"2 problems with the arguments")
    t = Terminal(*wrong, "--quiet")
    assert t.end() == 2 and b"Unknown kind" not in t.seen, t.seen


def error_says_that_retries_are_used_up():
    command("busy", BUSY)
    t = Terminal("busy", "--retries", "1", "--retry-delay", "10ms")
    assert t.end() == 12
    t.at = 0
    t.expect(rb"busy failed \(attempt 1/2\): UNAVAILABLE: the server is down")
    t.expect(rb"Retrying in 0.0 seconds\.\.\.")
    t.expect(rb"retryable: no, retries exhausted")


def error_in_colour_only_where_it_is_wanted():
    command("busy", BUSY)
    for argv, env, colour in ((["busy"], {}, True), (["busy"], {"NO_COLOR": "1"}, False),
                              (["busy"], {"TERM": "dumb"}, False), (["busy", "--no-color"], {}, False),
                              (["nothing"], {}, True), (["nothing", "--no-color"], {}, False)):
        t = Terminal(*argv, **env)
        assert t.end() != 0
        assert (b"\x1b[" in t.seen) is colour, (argv, env, t.seen)


def json_where_it_is_asked_for():
    command("hello", HELLO)
    command("busy", BUSY)
    for argv, env in (([], {"CI": "true"}), (["--format", "json"], {}), ([], {"RUNNER_FORMAT": "json"})):
        for name, status in (("hello", 0), ("busy", 12), ("nothing", 2)):
            t = Terminal(name, *argv, **env)
            assert t.end() == status
            assert t.seen.startswith(b'{"ok":') and t.seen.count(b"\n") == 1, (name, argv, env, t.seen)
    t = Terminal("hello", CI="")
    assert t.end() == 0 and not t.seen.startswith(b"{"), t.seen


def timeout_shows_the_steps():
    command("slow", SLOW_STEPS, STEPS)
    t, ms = reaching("slow")
    assert t.end() == 10
    t.at = 0
    t.expect(rb"slow: error: .*Command exceeded timeout of %dms" % ms, 1)
    for row in (rb"completed +one", rb"failed +two", rb"pending +three"):
        t.expect(row, 1)
    t, _ = reaching("slow", stdout="out.txt")
    assert t.end() == 10
    with open("out.txt", "rb") as f:
        assert b'"failed_step":"two"' in f.read()


def group_is_written_in_words():
    os.mkdir("commands/db")
    command("db/busy", "ctx:step 'one' ctx:warn('SLOW_DISK', 'slow') " + BUSY, STEPS + "retry = { retries = 1, delay = 0 },")
    t = Terminal("db", "busy", NO_COLOR="1")
    assert t.end() == 12
    for part in (b"db busy: one", b"db busy failed (attempt 1/2)", b"db busy: warning: slow", b"db busy: error: "):
        assert part in re.sub(rb"\x1b\[[\d;]*m", b"", t.seen), (part, t.seen)
    command("db/slow", "ctx:sleep(60)")
    t = Terminal("db", "slow", "--timeout", "200ms")
    assert t.end() == 10
    assert t.seen.rstrip().endswith(b"db slow: TIMEOUT"), t.seen


def timeout_without_steps_leaves_stdout_not_empty():
    command("slow", "ctx:sleep(60)")
    t = Terminal("slow", "--timeout", "200ms")
    assert t.end() == 10
    assert t.seen.rstrip().endswith(b"slow: TIMEOUT"), t.seen


def warnings_are_seen():
    command("warner", "ctx:warn('SLOW_DISK', 'the disk is slow') return {}")
    t = Terminal("warner")
    assert t.end() == 0 and b"the disk is slow" in t.seen, t.seen
    t = Terminal("warner", "--quiet")
    assert t.end() == 0 and b"the disk is slow" not in t.seen, t.seen


def steps_logs_and_progress_are_lines():
    command("work", "ctx:step 'one' ctx:progress(0.5) ctx:sleep(0.1) ctx:log('info', 'a line') ctx:step 'two' return {}",
            STEPS)
    t = Terminal("work", NO_COLOR="1")
    assert t.end() == 0
    assert t.seen.startswith(b"work: one\r\na line\r\nwork: two\r\n"), t.seen
    t = Terminal("work")
    assert t.end() == 0
    assert b"a line\r\n" in t.seen and b"1/3 one" in t.seen and b"2/3 two" in t.seen, t.seen
    t = Terminal("work", "--quiet")
    assert t.end() == 0 and b"one" not in t.seen and b"50%" not in t.seen and b"a line" not in t.seen, t.seen


def progress_is_a_bar():
    command("work", "ctx:progress { done = 3, total = 12, unit = 'files' } while not io.open('bar') do ctx:sleep(0.02) end "
            "ctx:progress { done = 7, unit = 'rows' } while not io.open('count') do ctx:sleep(0.02) end return {}")
    t = Terminal("work")
    t.expect("██████░".encode() + b".* 25%  3/12 files")
    open("bar", "w", encoding="utf-8").close()
    t.expect(rb"\xe2\xa0.  7 rows")
    open("count", "w", encoding="utf-8").close()
    assert t.end() == 0
    for env in ({"TERM": "dumb"}, {"NO_COLOR": "1"}):
        t = Terminal("work", **env)
        assert t.end() == 0 and b"files" not in t.seen, t.seen
    t = Terminal("work", "--quiet")
    assert t.end() == 0 and b"files" not in t.seen, t.seen


def prompt_and_confirm():
    command("ask", "local n = ctx:prompt('Name') return { name = n, sure = ctx:confirm('Sure?') }", "interactive = true,")
    t = Terminal("ask")
    t.expect(rb"Name: ")
    t.send(b"Ada\n")
    t.expect(rb"Sure\? \[y/N\] ")
    t.send(b"perhaps\n")
    t.expect(rb"Please answer yes or no")
    t.send(b"y\n")
    assert t.end() == 0
    t.expect(rb"Ada")
    t.expect(rb"true")


def prompt_of_a_secret_shows_nothing():
    command("ask", "return { n = #ctx:prompt('Token', { secret = true }) }", "interactive = true,")
    t = Terminal("ask")
    t.send(b"\x13")  # Ctrl+S: the question can't be written yet
    wait_until(lambda: not t.echoes())
    t.send(b"\x11")
    t.expect(rb"Token: ")
    t.send(b"hunter2\n")
    assert t.end() == 0
    assert b"hunter2" not in t.seen and b"7" in t.seen, t.seen
    assert t.echoes()


def prompt_of_several_lines():
    command("ask", "local text = ctx:prompt('Message', { multiline = true, default = 'none', validate = function(s)"
            " return not s:find('bad'), 'No bad words.' end }) return { text = text, n = #text }", "interactive = true,")
    for typed, wanted in (((b"one\n", b"two\n", b"\n"), "one\ntwo"), ((b"one\n", b"two\n", b"\x04"), "one\ntwo"), ((b"\n",), "none"),
                          ((b"cut\x04", b"\x04"), "cut")):
        t = Terminal("ask", "--format", "json")
        t.expect(rb"Message \[none\] \(an empty line or Ctrl\+D ends it\):\r\n")
        for line in typed:
            t.send(line)
            if line.endswith(b"\n") and line != b"\n":
                t.expect(line.strip())
        assert t.end() == 0, t.seen
        t.expect(b'"text":"' + wanted.replace("\n", "\\\\n").encode() + b'"')
    t = Terminal("ask", "--format", "json")
    t.expect(rb"ends it\):")
    t.send(b"one\n\ntwo\n\n")  # pasted: it comes at once
    assert t.end() == 0, t.seen
    t.expect(rb'"text":"one\\n\\ntwo"')
    t = Terminal("ask", "--format", "json")
    t.expect(rb"ends it\):")
    t.send(b"bad\n\n")
    t.expect(rb"No bad words\.\r\nMessage")
    t.send(b"good\n\n")
    assert t.end() == 0, t.seen
    t.expect(rb'"text":"good"')
    t = Terminal("ask")
    t.expect(rb"ends it\):")
    t.send(b"\x04")
    assert t.end() == 4 and b"INPUT_REQUIRED" in t.seen, t.seen
    t = Terminal("ask")
    t.expect(rb"ends it\):")
    t.send(b"one\n\x03")
    assert t.end() == 130, t.seen
    for opts, why in (("multiline = true, secret = true", b"a secret is one line"), ("multiline = 3", b"multiline is true, false")):
        command("ask", "return ctx:prompt('Key', { " + opts + " })", "interactive = true,")
        t = Terminal("ask")
        assert t.end() == 1 and why in t.seen, t.seen


def prompt_in_the_editor():
    with open("edit", "w", encoding="utf-8") as f:
        f.write('#!/bin/sh\ncat "$1" >>shown; echo "round $(ls rounds* | wc -l)" >>"$1"; touch "rounds$$"; printf "\\n\\n" >>"$1"\n')
    os.chmod("edit", 0o755)
    with open("rounds0", "w", encoding="utf-8"):
        pass
    command("ask", "return { text = ctx:prompt('Message', { multiline = 'editor', default = 'first\\n', validate = function(s)"
            " return s:find('round 2'), 'Once more.' end }) }", "interactive = true,")
    t = Terminal("ask", "--format", "json", EDITOR=os.path.abspath("edit"))
    t.expect(rb"Message: Once more\.\r\nEnter edits it again: ")
    t.send(b"\n")
    assert t.end() == 0, t.seen
    t.expect(rb'"text":"first\\nround 1\\n\\n\\nround 2"')


def select_one_of_a_list():
    command("ask", "return { where = ctx:select('Where to?', { 'prod', 'preview', 'dev' }, { default = 'dev' }) }", "interactive = true,")
    for answer, wanted in ((b"2\n", b"preview"), (b"prod\n", b"prod"), (b"pre\n", b"preview"), (b"\n", b"dev")):
        t = Terminal("ask")
        t.expect(rb"Where to\?\r\n  1\) prod\r\n  2\) preview\r\n  3\) dev\r\n\[dev\]: ")
        t.send(b"pr\n")
        t.expect(rb"Please answer 1 to 3")
        t.send(b"4\n")
        t.expect(rb"Please answer 1 to 3")
        t.send(answer)
        assert t.end() == 0, t.seen
        t.expect(rb"where: " + wanted)


def exec_hands_over_the_terminal():
    command("shell", "ctx:exec { 'sh', '-c', 'test -t 0 && test -t 1 && test -t 2 && printf ready: && read line && echo got $line; exit $1', 'x', args.status }"
            " return { ok = true }", "interactive = true, args = { { 'status', 'string', default = '0' } },")
    t = Terminal("shell")
    t.expect(rb"ready:")
    t.send(b"hello\n")
    t.expect(rb"got hello")
    assert t.end() == 0, t.seen
    t = Terminal("shell", "--status", "3")
    t.expect(rb"ready:")
    t.send(b"hello\n")
    assert t.end() == 1, t.seen
    t.at = 0
    t.expect(rb"sh exited with status 3")
    command("none", "ctx:exec { 'no-such-program' }", "interactive = true,")
    t = Terminal("none")
    assert t.end() == 1, t.seen
    t.at = 0
    t.expect(rb"no-such-program exited with status 127")


def prompt_needs_a_person():
    command("ask", "return { name = ctx:prompt('Name', { arg = 'name' }) }", "interactive = true,")
    command("mute", "return { name = ctx:prompt('Name') }")
    for argv, env in ((["ask", "--non-interactive"], {}), (["ask"], {"CI": "1"}), (["mute"], {})):
        t = Terminal(*argv, **env)
        assert t.end() == 4 and b"INPUT_REQUIRED" in t.seen, (argv, t.seen)


def prompt_at_its_end_of_input():
    command("ask", "return { name = ctx:prompt('Name') }", "interactive = true,")
    t = Terminal("ask")
    t.expect(rb"Name: ")
    t.send(b"\x04")
    assert t.end() == 4 and b"INPUT_REQUIRED" in t.seen, t.seen


def interrupt_at_a_prompt():
    command("ask", "local n = ctx:prompt('Token', { secret = args.secret }) return { n = n }",
            "interactive = true, args = { { 'secret', 'boolean' } },")
    for argv in (["ask"], ["ask", "--secret"]):
        t = Terminal(*argv)
        before = t.fresh
        t.expect(rb"Token: ")
        if "--secret" in argv:
            wait_until(lambda: not t.echoes())  # pylint: disable=cell-var-from-loop
        asked = time.monotonic()
        t.send(b"\x03")
        assert t.end() == 130, t.seen
        assert time.monotonic() - asked < 20
        assert t.seen.count(b"CANCELLED") == 1, t.seen
        assert t.attributes() == before and t.echoes()


def interrupt_of_a_running_command():
    command("slow", "local f = io.open('began', 'w') f:close() os.execute('sleep 60')")
    t = Terminal("slow")
    wait_until(lambda: os.path.exists("began"))
    asked = time.monotonic()
    t.send(b"\x03")
    assert t.end() == 130, t.seen
    assert time.monotonic() - asked < 20
    assert b"Cancelled by SIGINT" in t.seen, t.seen


def interrupt_in_a_backoff_wait():
    command("busy", BUSY)
    t = Terminal("busy", "--retries", "3", "--retry-delay", "60s", "--timeout", "none")
    t.expect(rb"Retrying in")
    asked = time.monotonic()
    t.send(b"\x03")
    assert t.end() == 130
    assert time.monotonic() - asked < 20, t.seen


def quit_is_a_cancellation_as_well():
    command("slow", "local f = io.open('began', 'w') f:close() ctx:sleep(60)")
    t = Terminal("slow")
    wait_until(lambda: os.path.exists("began"))
    t.send(b"\x1c")
    assert t.end() == 143 and b"SIGQUIT" in t.seen, t.seen


def hang_up_ends_everything():
    command("slow", "local f = io.open('began', 'w') f:close() os.execute('setsid sleep 60')")
    t = Terminal("slow")
    wait_until(lambda: os.path.exists("began"))
    os.close(t.fd)
    end = time.monotonic() + 50
    while not (got := os.waitpid(t.pid, os.WNOHANG))[0]:
        assert time.monotonic() < end, "it outlived its terminal"
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(got[1]) == 143, got


def settings_that_a_killed_command_spoilt_are_restored():
    spoil = "os.execute('stty raw -echo <&2') local f = io.open('began', 'w') f:close()"
    for interactive in ("true", "false"):
        command("spoil", spoil + " os.execute('trap \"\" TERM; while :; do sleep 0.05; done')",
                f"grace = '200ms', interactive = {interactive},")
        for seconds in (1, 5, 20):  # until we see it before the limit restores it
            if os.path.exists("began"):
                os.remove("began")
            t = Terminal("spoil", "--timeout", f"{seconds}s")
            before, end = t.fresh, time.monotonic() + seconds
            while not os.path.exists("began") and time.monotonic() < end:
                time.sleep(0.01)
            spoilt = not t.echoes()
            assert t.end() == 10, t.seen
            if spoilt:
                break
        assert spoilt
        assert t.attributes() == before, (interactive, before, t.attributes())


def a_stopped_terminal_does_not_hold_the_watchdog():
    """Ctrl+S: nothing more is shown, but the limit holds and the children end."""
    command("slow", "local f = io.open('began', 'w') f:close() for i = 1, 3000 do ctx:log('info', ('x'):rep(200)) end "
                    "os.execute('sleep 60')", "grace = '200ms',")
    t, _ = reaching("slow", stdout="out.txt")
    t.send(b"\x13")
    end = time.monotonic() + 50
    while not (got := os.waitpid(t.pid, os.WNOHANG))[0]:
        assert time.monotonic() < end, "the stopped terminal held it"
        t.read(0.05)
    assert os.waitstatus_to_exitcode(got[1]) == 10, got
    with open("out.txt", "rb") as f:
        assert b'"code":"TIMEOUT"' in f.read()


def a_stopped_terminal_keeps_its_answer_for_later():
    command("slow", "local f = io.open('began', 'w') f:close() ctx:sleep(60)")
    t, ms = reaching("slow")
    t.send(b"\x13")
    time.sleep(ms / 1000 + 0.5)
    t.send(b"\x11")
    assert t.end() == 10 and b"exceeded timeout of %dms" % ms in t.seen, t.seen


def a_stop_with_nobody_to_continue_is_no_stop():
    """A session leader that stopped for Ctrl+Z would hang for ever: as pid 1 of a container."""
    command("slow", "local f = io.open('began', 'w') f:close() ctx:sleep(1) return { done = true }")
    t = Terminal("slow")
    wait_until(lambda: os.path.exists("began"))
    t.send(b"\x1a")
    assert t.end() == 0 and b"done" in t.seen, t.seen


ENV = "return { e = ';' .. ctx:run({ 'sh', '-c', 'env' }).stdout:gsub('%c', ';') }"


def children_of_a_person_keep_the_editor():
    command("env", ENV)
    t = Terminal("env", "--format", "json", EDITOR="vi", VISUAL="vi", PAGER="less")
    assert t.end() == 0, t.seen
    for part in (b";EDITOR=vi;", b";VISUAL=vi;", b"PAGER=cat;", b";LC_ALL=C.UTF-8;"):
        assert part in t.seen, (part, t.seen)
    for part in (b"CI=1", b"NO_UPDATE_NOTIFIER", b"GIT_EDITOR", b"NO_COLOR"):
        assert part not in t.seen, (part, t.seen)
    t = Terminal("env", EDITOR="vi", GITHUB_ACTIONS="true")
    assert t.end() == 0 and b";EDITOR=true;" in t.seen and b"NO_COLOR=1;" in t.seen, t.seen


DESTRUCTIVE = "exit_codes = { TIMEOUT = { retryable = false, side_effects = 'partial' } },"
PURGE = "ctx.fs.remove_tree('gone') if ctx.dry_run then return end " \
    "io.open('runs', 'a'):write(ctx.attempt) "


def runs():
    if not os.path.exists("runs"):
        return ""
    with open("runs", encoding="utf-8") as f:
        return f.read()


def destructive_is_confirmed():
    os.makedirs("gone")
    command("purge", PURGE + "return { effect = 'deleted' }", DESTRUCTIVE + "dry_run = true,", "destructive")
    for answer in (b"\n", b"n\n", b"yess\n", b"\x04"):
        t = Terminal("purge")
        t.expect(rb"fs\.remove_tree.*gone")
        t.expect(rb"Continue\? \[y/N\] ")
        t.send(answer)
        assert t.end() == 2, t.seen
        assert os.path.isdir("gone") and runs() == ""
    for argv, env in ((["--non-interactive"], {}), ([], {"CI": "1"})):
        t = Terminal("purge", *argv, **env)
        assert t.end() == 2 and b"Continue" not in t.seen, t.seen
    t = Terminal("purge", "--yes")
    t.expect(rb"Continue\? ")
    t.send(b"yes\n")
    assert t.end() == 0, t.seen
    assert not os.path.exists("gone") and runs() == "1"


def every_argument_is_shown():
    """The person sees the argument that matters, whatever stands in front of it or reorders it, and with what a dry run says."""
    args = 'args = { { "note", "string" }, { "path", "string" }, { "opts", "json" } },'
    for keys in ("", "dry_run = true,"):
        command("wipe", "return { effect = 'deleted', would_affect = { 'one thing' } }", DESTRUCTIVE + args + keys, "destructive")
        t = Terminal("wipe", "--note", "a" * 5000, "--path", "/etc/\u202eshadow", "--opts", '{"filler":"' + "b" * 9000 + '","target":"prod"}')
        t.expect(rb"path: .{1,4}/etc/\[U\+202E\]shadow")
        t.expect(rb"note: .*aaa[^\n]* \xe2\x80\xa6 \(4[0-9]+ more bytes are not shown\)")
        t.expect(rb"opts: .*filler.*prod")
        t.expect(rb"Continue\? ")
        t.send(b"n\n")
        assert t.end() == 2 and "\u202e".encode() not in t.seen, t.seen
    command("guarded", "return { ok = true }", args + "interactive = true, requires_person = true,")
    t = Terminal("guarded", "--note", "a" * 5000, "--path", "/etc/passwd")
    t.expect(rb'path: .{1,4}/etc/passwd')
    t.expect(rb"more bytes are not shown")
    t.expect(rb"Type 'guarded' to go on: ")
    t.send(b"\x04")
    assert t.end() == 4, t.seen


def decisions_are_recorded():
    os.makedirs("gone")
    command("purge", PURGE + "return { effect = 'deleted' }", DESTRUCTIVE, "destructive")
    command("release", "return { ok = true }", "interactive = true, requires_person = true,")
    for argv, question, answers in ((["purge"], rb"Continue\? ", (b"n\n", b"y\n")), (["release"], rb"to go on: ", (b"no\n", b"release\n"))):
        for answer in answers:
            t = Terminal(*argv)
            t.expect(question)
            t.send(answer)
            t.end()


def destructive_is_confirmed_once():
    command("purge", PURGE + "if ctx.attempt < 3 then ctx:fail('UNAVAILABLE') end return { effect = 'deleted' }",
            DESTRUCTIVE + "dry_run = true, retry = { retries = 3, delay = '10ms', on = { 'UNAVAILABLE' } },", "destructive")
    t = Terminal("purge")
    t.expect(rb"Continue\? ")
    t.send(b"y\n")
    assert t.end() == 0, t.seen
    assert t.seen.count(b"Continue") == 1, t.seen
    assert runs() == "123"


COUNTED = "local f = io.open('runs', 'a') f:write(ctx.attempt) f:close() "


def person_is_required():
    command("release", COUNTED + "return { ok = true }", "interactive = true, requires_person = true,")
    for answer in (b"\n", b"yes\n", b"Release\n", b"release now\n", b"\x04"):
        t = Terminal("release", "--yes")
        t.expect(rb"Type 'release' to go on: ")
        t.send(answer)
        assert t.end() == 4 and runs() == "", t.seen
        assert (b"PERSON_REQUIRED" if answer == b"\x04" else b"ATTESTATION_MISMATCH") in t.seen, t.seen
    for argv, env in ((["--non-interactive"], {}), (["--detach"], {}), ([], {"CI": "1"})):
        t = Terminal("release", *argv, **env)
        assert t.end() == 4 and b"Type '" not in t.seen and runs() == "", t.seen
    t = Terminal("release")
    t.expect(rb"Type 'release' to go on: ")
    t.send(b"release\n")
    assert t.end() == 0 and runs() == "1", t.seen


def person_is_asked_once():
    command("again", COUNTED + "if ctx.attempt < 3 then ctx:fail('UNAVAILABLE') end return { ok = true }",
            "interactive = true, requires_person = true, retry = { retries = 3, delay = '10ms' },")
    t = Terminal("again")
    t.expect(rb"Type 'again' to go on: ")
    t.send(b"again\n")
    assert t.end() == 0, t.seen
    assert t.seen.count(b"Type '") == 1 and runs() == "123", t.seen


def a_text_is_attested():
    command("sign", "ctx:attest('I have read it', 'I agree') return { ok = true }", "interactive = true,")
    t = Terminal("sign", "--yes")
    t.expect(rb"I have read it\r?\nType 'I agree' to go on: ")
    t.send(b"i agree\n")
    assert t.end() == 4 and b"ATTESTATION_MISMATCH" in t.seen, t.seen
    t = Terminal("sign")
    t.expect(rb"to go on: ")
    t.send(b"I agree\n")
    assert t.end() == 0, t.seen


def a_job_is_confirmed_before_it_starts():
    state = {"XDG_STATE_HOME": os.getcwd() + "/state"}
    command("purge", PURGE + "return { effect = 'deleted' }", DESTRUCTIVE, "destructive")
    t = Terminal("purge", "--detach", **state)
    t.expect(rb"Continue\? ")
    t.send(b"n\n")
    assert t.end() == 2 and not os.path.exists("state") and runs() == "", t.seen
    t = Terminal("purge", "--detach", **state)
    t.expect(rb"Continue\? ")
    t.send(b"y\n")
    job = t.expect(rb"job_id: +(job_\w+)").group(1).decode()
    assert t.end() == 0, t.seen
    t = Terminal("job", "wait", job, **state)
    assert t.end() == 0 and b"deleted" in t.seen and b"Continue" not in t.seen, t.seen
    assert runs() == "1"


def a_person_has_a_budget_only_by_asking_for_it():
    state = {"XDG_STATE_HOME": os.getcwd() + "/person", "AGENT_CALL_BUDGET_MS": "1"}
    command("deep", "ctx:sleep(0.2) return { at = 2 }", "interruption = { detach = true },")
    t = Terminal("deep", **state)
    assert t.end() == 0 and b"at: 2" in t.seen, t.seen
    assert not os.path.exists("person/runner/jobs")
    t = Terminal("deep", "--budget", "1ms", **state)
    job = t.expect(rb"job wait (job_\w+)").group(1).decode()
    assert t.end() == 14, t.seen
    assert Terminal("job", "wait", job, "--for", "1m", **state).end() == 0


if __name__ == "__main__":
    signal.alarm(140)
    os.makedirs("commands", exist_ok=True)
    globals()[sys.argv[1]]()
