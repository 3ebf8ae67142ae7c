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

import cases
import run
import stub

RUNNER = os.environ.get("RUNNER", os.path.join(run.HERE, "../../build/runner"))
LIMIT_S = 300


class Stage:
    """A directory with a workflow of one claude step, and an environment for it."""

    def __init__(self, server, home):
        self.server, self.home = server, home

    def begin(self, answer, step, head="", output="text"):
        """A run of this workflow, against that answer of the stub."""
        self.write("flow.yaml", f"name: flow\nclaude: {{ program: {run.BINARY}, output: {output} }}\n{head}commands:\n  - id: ask\n    {step}\n")
        return self.start(answer, "run", "flow.yaml")

    def write(self, name, text):
        with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
            file.write(text)

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


def a_denied_permission_is_a_failure_that_keeps_the_output(stage):
    for answer, tool in (("write", "Write"), ("bash", "Bash")):
        given = stage.call(answer, "claude: hello", output="json")
        step = given["data"]["steps"][0]
        same((given["error"]["code"], step["attempts"], step["output"]), ("PERMISSION_DENIED", 1, "All is written."))
        assert given["error"]["context"]["denied"][0].startswith(tool + " "), given["error"]["context"]


def a_denial_that_the_step_asks_for_is_a_warning(stage):
    for step in ("claude: hello\n    disallowed_tools: Bash(touch *)", "claude: hello\n    on_denied: warn"):
        given = stage.call("bash", step, output="json")
        same((given["ok"], [w["code"] for w in given["warnings"]]), (True, ["PERMISSION_DENIED"]))


def structured_output_that_never_comes_is_a_failure(stage):
    step = "claude: hello\n    args: [--json-schema, '" + cases.SCHEMA + "']"
    for output in cases.EVERY:
        same(stage.call("success", step, output=output)["error"]["code"], "SCHEMA_NOT_MET")
        same(stage.call("structured_wrong", step, output=output)["error"]["code"], "SCHEMA_NOT_MET")
        same(stage.call("structured", step, output=output)["ok"], True)


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


def a_budget_doesnt_end_the_retries_of_what_was_cut_off(stage):
    step = f"""claude: hello
  - claude: hello
    timeout: 12s
    retry: {{ max_attempts: 1, initial_delay: 50ms }}
    env: {{ ANTHROPIC_BASE_URL: "{stage.server.url('silent')}" }}"""
    given = stage.call("success", step, head="max_cost: 1\n", output="stream-json")
    same((given["error"]["code"], given["data"]["steps"][1]["attempts"], given["warnings"]), ("TIMEOUT", 2, []))
    first = given["data"]["steps"][0]["usage"]["cost_usd"]
    same(given["data"]["cost_usd"], 3 * first)  # each like the dearest turn: the only one


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
         a_denied_permission_is_a_failure_that_keeps_the_output, a_denial_that_the_step_asks_for_is_a_warning,
         structured_output_that_never_comes_is_a_failure, turns_that_are_used_up_cost_one_attempt, a_long_prompt_arrives_whole, a_timeout_ends_the_program,
         a_budget_doesnt_end_the_retries_of_what_was_cut_off,
         ctrl_c_ends_the_program_and_the_run_can_be_resumed)


def main(tests):
    if run.APART not in os.environ:
        # (where another user makes the namespace, what is root's belongs to neither that user nor root)
        why = run.install() or (os.getuid() != 0 and "needs root, for a network of its own") or run.enter_namespace()
        print(f"1..1\nok 1 - runner with Claude Code {run.VERSION} # SKIP {why}")
        return 0
    run.raise_loopback()
    print(f"1..{len(tests)}", flush=True)
    bad = 0
    with stub.Stub({"soon": 0, "days": 0, "next_year": 0}) as server:
        for n, test in enumerate(tests, 1):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
                try:
                    test(Stage(server, home))
                    print(f"ok {n} - {test.__name__.replace('_', ' ')}", flush=True)
                except Exception as e:  # the next test still runs
                    bad += 1
                    print(f"not ok {n} - {test.__name__.replace('_', ' ')}\n# {e!r}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(TESTS))
