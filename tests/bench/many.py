"""many: what a person waits for at a prompt in a project of 300 commands: the list, and a Tab.
just and go-task have as many recipes; what their shell scripts call for a Tab is measured.
"""

import os
import shutil
import subprocess
import time

from agents import COMMANDS, project_of
from measure import Case, clean_environment, interleaved

ROUNDS = 100
OLD_S = 2.5  # what lists know of a file is kept once it has stood still for 2 s


def recipes(folder):
    with open(os.path.join(folder, "justfile"), "w", encoding="utf-8") as file:
        for number in range(1, COMMANDS + 1):
            file.write(f"# Restart the service number {number} of the cluster\nservice-{number} host wait='30s':\n\t@true\n")
    with open(os.path.join(folder, "Taskfile.yml"), "w", encoding="utf-8") as file:
        file.write("version: '3'\ntasks:\n")
        for number in range(1, COMMANDS + 1):
            file.write(f"  service-{number}:\n    desc: Restart the service number {number} of the cluster\n    cmds: ['true']\n")


def prepare(runner, folder):
    """A project of so many commands, whose user has run one; and its environment."""
    path = project_of(folder, COMMANDS)
    recipes(path)
    env = {**clean_environment(), "XDG_STATE_HOME": os.path.join(folder, "state")}
    subprocess.run([runner, "service-1", "--host", "web-1"], cwd=path, env=env, stdout=subprocess.DEVNULL, check=True)
    time.sleep(OLD_S)
    return path, env


def cases(runner, folder, just):
    """The commands to compare, and the names of those that are not here."""
    path, env = prepare(runner, folder)
    task = shutil.which("task") or shutil.which("go-task")
    rows = [
        ("a Tab behind `runner serv`", [runner, "completion", "bash", "--format", "plain", "--", "serv"], True),
        ("a Tab behind `just serv` (`just --summary`)", [just, "--summary"], just),
        ("a Tab behind `task serv` (`task --list-all --silent`)", [task, "--list-all", "--silent"], task),
        ("`runner` alone", [runner], True),
        ("`just --list`", [just, "--list"], just),
        ("`task --list`", [task, "--list"], task),
    ]
    there = [Case(name, argv, path, env) for name, argv, here in rows if here]
    return there, [name for name, _, here in rows if not here]


def table(runner, folder, just):
    rows, missing = cases(runner, folder, just)
    interleaved(rows, ROUNDS, 20)
    yield "| what | median | fastest tenth | processor time |"
    yield "|---|---|---|---|"
    for case in rows:
        fast = sorted(case.seconds)[len(case.seconds) // 10]
        yield f"| {case.name} | {case.median() * 1000:.2f} ms | {fast * 1000:.2f} ms | {case.median_cpu() * 1000:.2f} ms |"
    if missing:
        yield ""
        yield f"Not installed, so not measured: {', '.join(missing)}."
