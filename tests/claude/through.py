"""through: runner with the real Claude Code: what a workflow makes of it, from the prompt to
the envelope. TAP. RUNNER names the binary; the namespace and the stub are run.py's.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import run
import stub

RUNNER = os.environ.get("RUNNER", os.path.join(run.HERE, "../../build/runner"))
LIMIT_S = 90


class Stage:
    """A directory with a workflow of one claude step, and an environment for it."""

    def __init__(self, server, home):
        self.server, self.home = server, home

    def begin(self, answer, step, head=""):
        """A run of this workflow, against that answer of the stub."""
        with open(os.path.join(self.home, "flow.yaml"), "w", encoding="utf-8") as file:
            file.write(f"name: flow\nclaude: {{ program: {run.BINARY} }}\n{head}commands:\n  - id: ask\n    {step}\n")
        return self.start(answer, "run", "flow.yaml")

    def start(self, answer, *args):
        env = {"HOME": self.home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC", "ANTHROPIC_API_KEY": "sk-ant-fake",
               "ANTHROPIC_BASE_URL": self.server.url(answer), **run.QUIET}
        return subprocess.Popen([RUNNER, "workflow", *args], cwd=self.home, env=env, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def end(self, process):
        """Its envelope."""
        return json.loads(process.communicate(timeout=LIMIT_S)[0])

    def call(self, *args, **more):
        return self.end(self.begin(*args, **more))

    def requests(self, answer):
        return len(self.server.requests[answer])

    def children(self):
        """Processes whose HOME is ours."""
        mark, found = f"HOME={self.home}\0".encode(), []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    found += [pid] if mark in file.read() else []
            except OSError:
                pass
        return found


def same(given, wanted):
    assert given == wanted, f"{given!r}, not {wanted!r}"


# --- what must hold ----------------------------------------------------------------------


def an_answer_is_the_output(stage):
    answer = stage.call("success", "claude: hello")
    same((answer["ok"], answer["data"]["steps"][0]["output"]), (True, "All good."))


def the_policy_of_the_file_holds(stage):
    """One retry is two attempts, each with the program's own two retries."""
    answer = stage.call("http_529", "claude: hello", head="retry: { max_attempts: 1, initial_delay: 50ms }\n")
    same((answer["error"]["code"], answer["error"]["retries_exhausted"]), ("UNAVAILABLE", 1))
    same(stage.requests("http_529"), 6)


def an_unknown_slash_command_costs_one_attempt(stage):
    answer = stage.call("success", "claude: /nosuch thing")
    same((answer["error"]["code"], answer["data"]["steps"][0]["attempts"]), ("PRECONDITION", 1))


def turns_that_are_used_up_cost_one_attempt(stage):
    answer = stage.call("tool_for_ever", "claude: hello\n    max_turns: 2")
    same((answer["error"]["code"], answer["data"]["steps"][0]["attempts"]), ("SUBPROCESS_FAILED", 1))


def a_long_prompt_arrives_whole(stage):
    with open(os.path.join(stage.home, "long.txt"), "w", encoding="utf-8") as file:
        file.write("word " * 60000 + "and that is all")
    before = stage.requests("success")
    answer = stage.call("success", "shell: cat long.txt\n  - claude: \"${steps.ask.output}\"")
    same(answer["ok"], True)
    sent = json.dumps(stage.server.requests["success"][before:])
    assert "word and that is all" in sent and sent.count("word ") >= 60000, "the request lacks a part of the prompt"


def a_timeout_ends_the_program(stage):
    answer = stage.call("silent", "claude: hello\n    timeout: 4s\n    retry: false")
    same(answer["error"]["code"], "TIMEOUT")
    same(stage.children(), [])


def ctrl_c_ends_the_program_and_the_run_can_be_resumed(stage):
    before = stage.requests("silent")
    process = stage.begin("silent", "claude: hello")
    deadline = time.monotonic() + LIMIT_S
    while stage.requests("silent") == before and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    answer = stage.end(process)
    same((answer["error"]["code"], process.returncode), ("CANCELLED", 130))
    same(stage.children(), [])
    again = stage.end(stage.start("success", "resume", answer["data"]["progress"]["run"]))
    same((again["ok"], again["data"]["steps"][0]["output"]), (True, "All good."))


TESTS = (an_answer_is_the_output, the_policy_of_the_file_holds, an_unknown_slash_command_costs_one_attempt,
         turns_that_are_used_up_cost_one_attempt, a_long_prompt_arrives_whole, a_timeout_ends_the_program,
         ctrl_c_ends_the_program_and_the_run_can_be_resumed)


def main():
    if run.APART not in os.environ:
        print(f"1..1\nok 1 - runner with Claude Code {run.VERSION} # SKIP {run.install() or run.enter_namespace()}")
        return 0
    run.raise_loopback()
    print(f"1..{len(TESTS)}", flush=True)
    bad = 0
    with stub.Stub({"soon": 0, "days": 0, "next_year": 0}) as server:
        for n, test in enumerate(TESTS, 1):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
                try:
                    test(Stage(server, home))
                    print(f"ok {n} - {test.__name__.replace('_', ' ')}", flush=True)
                except Exception as e:  # the next test still runs
                    bad += 1
                    print(f"not ok {n} - {test.__name__.replace('_', ' ')}\n# {e!r}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
