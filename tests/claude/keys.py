"""keys: runner with the real Claude Code: checks, repairs, commits, worktrees, approvals, schemas, blocks, loops over JSON, recovery,
budgets and bounds, whole workflows of them. What the model does stands in the prompt, which the stub obeys (stub.Obeys). TAP, as through.py.
"""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

from through import LIMIT_S, RUNNER, main, same

import run

HEAD = "claude: { program: %s, output: stream-json, permission_mode: acceptEdits }\n" % run.BINARY


def turns(*list_of):
    return "<<" + json.dumps(list_of) + ">>"


def tool(name, **given):
    return {"tool": name, "input": given}


def writes(path, text="x"):
    return turns(tool("Write", file_path=path, content=text), {"say": "It is written."})


def structured(**given):
    return turns(tool("StructuredOutput", **given), {"say": "That is it."})


def flow(stage, *steps, head=HEAD, more=""):
    """A workflow of these steps, which is JSON, which is YAML."""
    stage.write("flow.yaml", "name: flow\n%s%scommands: %s\n" % (head, more, json.dumps(steps)))
    return stage.end(stage.start("obeys", "run", "flow.yaml"))


def steps_of(answer):
    return {step["key"]: step for step in answer["data"]["steps"]}


def prompts(stage):
    return json.dumps(stage.server.requests["obeys"])


def is_there(stage, name):
    return os.path.exists(os.path.join(stage.home, name))


def git(stage, *args):
    return subprocess.run(["git", "-C", stage.home, "-c", "user.name=a", "-c", "user.email=a@b", *args], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.strip()


# --- what must hold ----------------------------------------------------------------------


def a_failed_check_is_repaired_by_another_call_which_sees_what_it_printed(stage):
    answer = flow(stage, {"id": "work", "claude": writes("half"), "check": {"shell": "test -e whole || { echo only half is there >&2; exit 1; }"},
                          "repair": {"claude": "fix: ${attempt.error} " + writes("whole")}})
    same((answer["ok"], is_there(stage, "half"), is_there(stage, "whole")), (True, True, True))
    assert "fix: only half is there" in prompts(stage), "the prompt of the repair lacks what the check printed"
    same(steps_of(answer)["work"]["repairs"], 1)


def repairs_that_dont_help_end_in_the_failed_check(stage):
    answer = flow(stage, {"id": "work", "claude": writes("half"), "check": {"shell": "test -e whole"},
                          "repair": {"max": 2, "steps": [{"claude": writes("other${attempt.repair}")}]}})
    same((answer["error"]["code"], is_there(stage, "other1"), is_there(stage, "other2"), is_there(stage, "other3")),
         ("CHECK_FAILED", True, True, False))


def a_commit_is_found_and_one_that_is_missing_is_repaired(stage):
    git(stage, "init", "-q")
    stage.write(".gitignore", "*\n!work\n!.gitignore\n")
    git(stage, "add", "-A")
    git(stage, "commit", "-qm", "first")
    commit = tool("Bash", command="git add -A && git -c user.name=a -c user.email=a@b commit -qm work", description="Commit")
    answer = flow(stage, {"id": "work", "claude": writes("work"), "check": {"commit": True}, "repair": {
        "claude": "commit it: ${attempt.error} " + turns(commit, {"say": "It is committed."}), "allowed_tools": ["Bash"]}})
    same((answer["ok"], git(stage, "status", "--porcelain"), git(stage, "log", "--format=%s")), (True, "", "work\nfirst"))
    assert "There are uncommitted changes" in prompts(stage), "the prompt of the repair lacks what the check said"
    answer = flow(stage, {"claude": turns({"say": "I have committed it."}), "check": {"commit": True}})
    same(answer["error"]["code"], "CHECK_FAILED")


def agents_side_by_side_commit_in_worktrees_which_are_merged(stage):
    git(stage, "init", "-q", "-b", "main")
    git(stage, "config", "user.name", "a")
    git(stage, "config", "user.email", "a@b")
    stage.write(".gitignore", "*\n!one\n!two\n!.gitignore\n")
    git(stage, "add", "-A")
    git(stage, "commit", "-qm", "first")
    work = turns(tool("Write", file_path="${item}", content="${item}"),
                 tool("Bash", command="git add -A && git commit -qm ${item}", description="Commit"), {"say": "It is committed."})
    answer = flow(stage, {"id": "each", "foreach": ["one", "two"], "parallel": 2, "worktree": {"branch": "agent/${item}", "merge": True},
                          "do": [{"claude": work, "allowed_tools": ["Bash"], "check": {"commit": True}}]})
    same((answer["ok"], is_there(stage, "one"), is_there(stage, "two")), (True, True, True))
    same(sorted(git(stage, "log", "--format=%s", "--no-merges").split()), ["first", "one", "two"])
    same((git(stage, "branch", "--format=%(refname:short)"), len(git(stage, "worktree", "list").splitlines())), ("main", 1))


def what_waits_for_a_person_goes_on_after_its_time_with_what_the_call_before_said(stage):
    answer = flow(stage, {"id": "plan", "claude": turns({"say": "I will write a file."})},
                  {"id": "gate", "approve": {"message": "${steps.plan.output}", "timeout": "1s", "default": "approve"}},
                  {"claude": "Do it: ${steps.plan.output} " + writes("file")})
    same((answer["error"]["code"], is_there(stage, "file")), ("APPROVAL_PENDING", False))
    assert "I will write a file." in answer["error"]["message"], answer["error"]
    time.sleep(1)  # what is tested is that it has passed
    again = stage.end(stage.start("obeys", "resume", answer["data"]["id"]))
    same((again["ok"], is_there(stage, "file"), steps_of(again)["plan"]["attempts"]), (True, True, 1))


def a_judge_with_a_schema_and_a_threshold_asks_for_a_repair(stage):
    schema = {"type": "object", "required": ["score", "gap"], "properties": {"score": {"type": "number"}, "gap": {"type": "string"}}}
    answer = flow(stage, {"id": "work", "claude": writes("work"), "check": [
        {"id": "marks", "shell": "test -e better && echo 9 || echo 3"},
        {"claude": structured(score="@", gap="no tests").replace('"@"', "${steps.marks.output}"), "schema": schema, "threshold": {"score": 8}}],
        "repair": {"claude": "close ${check.data.gap} " + writes("better")}})
    same((answer["ok"], is_there(stage, "better"), steps_of(answer)["work"]["repairs"]), (True, True, 1))
    assert "close no tests" in prompts(stage)


def an_answer_of_a_schema_is_the_data_and_another_one_is_repaired(stage):
    schema = {"type": "object", "required": ["names"], "properties": {"names": {"type": "array", "items": {"type": "string"}}}}
    answer = flow(stage, {"id": "list", "claude": structured(names=["a", "b"]), "schema": schema},
                  {"foreach": "${steps.list.data.names}", "do": [{"claude": writes("made-${item}")}]})
    same((answer["ok"], steps_of(answer)["list"]["data"], is_there(stage, "made-a"), is_there(stage, "made-b")),
         (True, {"names": ["a", "b"]}, True, True))
    answer = flow(stage, {"claude": turns({"say": "Here are the names: a and b."}), "schema": schema})
    same(answer["error"]["code"], "SCHEMA_NOT_MET")


def a_block_is_checked_and_repaired_as_one(stage):
    answer = flow(stage, {"id": "both", "steps": [{"claude": writes("one")}, {"claude": writes("two")}], "check": {"shell": "test -e three"},
                          "repair": {"claude": writes("three")}})
    same((answer["ok"], [is_there(stage, name) for name in ("one", "two", "three")]), (True, [True] * 3))


def a_loop_takes_its_items_from_json_that_another_call_wrote(stage):
    items = json.dumps({"found": [{"id": "a", "score": 9}, {"id": "b", "score": 2}, {"id": "c", "score": 5}]})
    answer = flow(stage, {"claude": writes("found.json", items)}, {
        "id": "each", "foreach": {"file": "found.json", "path": "found"}, "where": "item.score >= 5", "sort": "item.score", "limit": 2,
        "do": [{"claude": writes("did-${item.id}"), "check": {"shell": "test -e did-${item.id}"}}]})
    same((answer["ok"], [is_there(stage, "did-" + name) for name in "abc"]), (True, [True, False, True]))


def a_loop_tells_of_the_items_that_failed_and_runs_only_these_again(stage):
    stage.write("go", "")
    answer = flow(stage, {"foreach": ["a", "b"], "continue_on_error": True, "id": "each", "do": [
        {"claude": writes("did-${item}"), "check": {"shell": "[ ${item} = a ] || [ ! -e go ]"}}]})
    same([row["ok"] for row in steps_of(answer)["each"]["data"]], [True, False])
    before = len(stage.server.requests["obeys"])
    os.remove(os.path.join(stage.home, "go"))
    again = stage.end(stage.start("obeys", "resume", answer["data"]["id"], "--failed"))
    same([row["ok"] for row in steps_of(again)["each"]["data"]], [True, True])
    assert "did-a" not in json.dumps(stage.server.requests["obeys"][before:]), "an item that had succeeded ran again"


def parts_of_a_workflow_have_their_prompts_values_and_last_steps(stage):
    """A failed step runs again alone, `finally` in each round; the prompts of the inner file get what it was given."""
    stage.write("inner.yaml", "vars: { name: , times: { type: integer, max: 3 } }\noutputs: { said: '${steps.make.output}' }\n%scommands: %s\n" % (
        HEAD, json.dumps([{"id": "make", "name": "Make ${name}", "claude": writes("${name}-${times}")}])))
    steps = [{"id": "inner", "workflow": "inner.yaml", "vars": {"name": "part", "times": 2}},
             {"id": "last", "claude": "after: ${steps.inner.outputs.said} " + turns(tool("Bash", command="test -e go"), {"say": "I looked."}),
              "allowed_tools": ["Bash"], "check": {"shell": "test -e go"}}]
    last = [{"claude": turns(tool("Bash", command="echo over >>ends"), {"say": "Over."}), "allowed_tools": ["Bash"]}]
    answer = flow(stage, *steps, more="finally: %s\n" % json.dumps(last))
    same((answer["error"]["code"], is_there(stage, "part-2"), is_there(stage, "ends")), ("CHECK_FAILED", True, True))
    assert "after: It is written." in prompts(stage), "the prompt lacks what the inner file gives"
    stage.write("go", "")
    before = len(stage.server.requests["obeys"])
    again = stage.end(stage.start("obeys", "retry", answer["data"]["id"], "--from", "last"))
    same(again["ok"], True)
    assert "part-2" not in json.dumps(stage.server.requests["obeys"][before:]), "a step in front of --from ran again"


def a_run_whose_machine_died_goes_on_by_itself(stage):
    stage.write("flow.yaml", "name: flow\nrecover: true\n%scommands: [{ claude: hello, idempotent: true }]\n" % HEAD)
    process, before = stage.start("silent", "run", "flow.yaml"), stage.requests("silent")
    end = time.monotonic() + LIMIT_S
    while stage.requests("silent") == before and time.monotonic() < end:
        time.sleep(0.02)
    for number in signal.SIGSTOP, signal.SIGKILL:  # as where the power fails: nobody says goodbye
        for pid in stage.children():
            with contextlib.suppress(ProcessLookupError):  # one that has ended meanwhile
                os.kill(int(pid), number)
    process.communicate(timeout=LIMIT_S)

    def states():
        return [row["state"] for row in stage.end(stage.start("success", "list"))["data"]]
    while states() != ["interrupted"] and time.monotonic() < end:  # what was killed holds the run until it has gone
        time.sleep(0.02)
    answer = stage.end(stage.start("success", "recover"))
    same((answer["ok"], states(), stage.children()), (True, ["completed"], []))


def a_budget_ends_the_repairs_and_more_of_it_goes_on_with_them(stage):
    """A turn costs the same each time. Enough for the step and one of the two turns of a repair: its tool runs, and no other repair."""
    costs = flow(stage, {"claude": writes("one")})["data"]["cost_usd"]
    work = {"claude": writes("one"), "check": {"shell": "test -e more2"}, "repair": {"max": 50, "steps": [{"claude": writes("more${attempt.repair}")}]}}
    answer = flow(stage, work, more="max_cost: %.7f\n" % (1.75 * costs))
    same((answer["error"]["code"], is_there(stage, "more1"), is_there(stage, "more2")), ("BUDGET_EXHAUSTED", True, False))
    again = stage.end(stage.start("obeys", "resume", answer["data"]["id"], "--max-cost", "1"))
    same((again["ok"], is_there(stage, "more2"), is_there(stage, "more3")), (True, True, False))


def the_kernel_holds_what_a_tool_may_write(stage):
    """Claude Code allows the command, and its own edits; what it has for itself is a folder that is written, too."""
    for name in ("work", "own"):
        os.mkdir(os.path.join(stage.home, name))
    port = stage.server.server_address[1]
    bash = tool("Bash", command="echo in > work/in; echo out > out; echo $? > work/status", description="Try")
    step = {"claude": turns(bash, {"say": "I tried."}), "allowed_tools": ["Bash"], "env": {"CLAUDE_CONFIG_DIR": stage.home + "/own"},
            "confine": {"write": ["work", "own"], "network": {"ports": [port], "udp": True}}}
    answer = flow(stage, step)
    same((answer["ok"], is_there(stage, "work/in"), is_there(stage, "out")), (True, True, False))
    free = dict(step)
    del free["confine"]
    same((flow(stage, free)["ok"], is_there(stage, "out")), (True, True))


def a_confined_program_reaches_no_other_port(stage):
    os.mkdir(os.path.join(stage.home, "own"))
    answer = flow(stage, {"claude": turns({"say": "Hello."}), "env": {"CLAUDE_CONFIG_DIR": stage.home + "/own"}, "retry": False,
                          "confine": {"write": ["own"], "network": {"ports": [1]}}, "timeout": "60s"})
    same((answer["ok"], answer["error"]["code"] in ("NETWORK_ERROR", "TIMEOUT")), (False, True))


def a_denial_of_what_is_allowed_says_what_else_denies(stage):
    answer = flow(stage, {"claude": writes("secret"), "allowed_tools": ["Write"], "permission_mode": "plan"})
    same((answer["error"]["code"], is_there(stage, "secret")), ("PERMISSION_DENIED", False))
    assert answer["error"]["fix_required"].startswith("allowed_tools has Write"), answer["error"]["fix_required"]
    answer = flow(stage, {"claude": writes("secret"), "permission_mode": "default"})
    same((answer["error"]["code"], answer["error"]["fix_required"][:8]), ("PERMISSION_DENIED", "Allow it"))


def a_skill_that_is_generated_is_found_loaded_and_followed_page_by_page(stage):
    """What stands for the model takes the first call of the page as it stands."""
    os.makedirs(stage.home + "/commands/box")
    for name in ("open", "close"):
        stage.write(f"commands/box/{name}.lua", 'return { description = "%s a box", danger_level = "safe", args = { { "lid", "string", required = true } }, '
                    'run = function(args) return { moved = args.lid .. "-%s" } end }' % (name.title(), name))
    stage.write("runner.lua", 'return { name = "boxes", description = "All about boxes." }')
    env = {"HOME": stage.home, "PATH": "/usr/bin:/bin", "RUNNER_TRUST": stage.home}
    answer = json.loads(subprocess.run([RUNNER, "generate-skills"], cwd=stage.home, env=env, check=True, stdout=subprocess.PIPE).stdout)
    page = next(one["path"] for one in answer["data"]["skills"] if one.get("commands") == ["box close", "box open"])
    with open(os.path.join(stage.home, page), encoding="utf-8") as file:
        line = next(line.strip() for line in file if line.startswith("    runner box open"))
    model = turns(tool("Skill", skill="boxes"), tool("Read", file_path=os.path.join(stage.home, page)),
                  tool("Bash", command=line.replace("runner", RUNNER, 1), description="Open it"), {"say": "It is open."})
    answer = flow(stage, {"claude": model, "allowed_tools": ["Skill", "Read", "Bash"]})
    same((answer["ok"], answer["data"]["steps"][0]["output"]), (True, "It is open."))
    first, *_, last = [json.dumps(request["messages"]) for request in stage.server.requests["obeys"] if "boxes" in json.dumps(request["messages"])]
    assert "- boxes: All about boxes. Commands of this project, called with `runner`: box." in first, "the skill isn't in the list"
    assert "boxes: 2 commands" not in first and "## runner box open" not in first, "what is read later came at once"
    for part in ("boxes: 2 commands", "- box.md:", "## runner box open", "LID-open"):
        assert part in last, f"{part!r} never came"


TESTS = (a_failed_check_is_repaired_by_another_call_which_sees_what_it_printed, repairs_that_dont_help_end_in_the_failed_check,
         a_commit_is_found_and_one_that_is_missing_is_repaired, agents_side_by_side_commit_in_worktrees_which_are_merged,
         what_waits_for_a_person_goes_on_after_its_time_with_what_the_call_before_said, a_judge_with_a_schema_and_a_threshold_asks_for_a_repair,
         an_answer_of_a_schema_is_the_data_and_another_one_is_repaired, a_block_is_checked_and_repaired_as_one,
         a_loop_takes_its_items_from_json_that_another_call_wrote, a_loop_tells_of_the_items_that_failed_and_runs_only_these_again,
         parts_of_a_workflow_have_their_prompts_values_and_last_steps,
         a_run_whose_machine_died_goes_on_by_itself, a_budget_ends_the_repairs_and_more_of_it_goes_on_with_them,
         the_kernel_holds_what_a_tool_may_write, a_confined_program_reaches_no_other_port,
         a_denial_of_what_is_allowed_says_what_else_denies, a_skill_that_is_generated_is_found_loaded_and_followed_page_by_page)

if __name__ == "__main__":
    sys.exit(main(TESTS))
