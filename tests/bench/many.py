"""many: what a person waits for at a prompt in a project of 1,000 commands: a Tab, the list, help.
just, go-task and mise have as many recipes; what their shell scripts call for a Tab is measured.
"""

import os
import subprocess
import time

import peers
import tab
from agents import project_of
from builds import Row, measured_table, not_installed
from measure import Case, clean_environment, quick

COMMANDS = quick(1000, 20)
ROUNDS, SECONDS = 60, 30
OLD_S = quick(2.5, 0)  # what lists know of a file is kept once it has stood still for 2 s

# What is asked of runner, and of each peer for the same.
QUESTIONS = {
    "a Tab behind `runner serv`": {
        "runner": ["completion", "bash", "--format", "tsv", "--", "serv"],
        "just": ["--summary"], "task": ["--list-all", "--silent"], "mise": ["tasks", "ls", "--name-only"]},
    "`runner` alone, the list": {
        "runner": [],
        "just": ["--list"], "task": ["--list"], "mise": ["tasks", "ls"]},
    "`runner help --format json`": {
        "runner": ["help", "--format", "json"],
        "just": ["--dump", "--dump-format", "json"], "task": ["--list-all", "--json"], "mise": ["tasks", "ls", "--json"]},
    "`runner help service-17`": {
        "runner": ["help", "service-17"],
        "just": ["--show", "service-17"], "task": ["--summary", "service-17"], "mise": ["tasks", "info", "service-17"]},
    "`runner help --search 'number 17' --format json`": {
        "runner": ["help", "--search", "number 17", "--format", "json"]},
}


TASK = '{ "Restart a service", args = { { "host", "string" } }, shell = "true" }'
CALL = {"just": ["service-17", "web-1"], "task": ["service-17"], "mise": ["run", "--quiet", "service-17"]}


def task_files(folder):
    """Projects with the same task: in a file of its own, and among others in one file."""
    paths = {"alone": os.path.join(folder, "alone")}
    for count in 30, COMMANDS:
        paths[count] = os.path.join(folder, f"of{count}")
    for what, path in paths.items():
        os.makedirs(os.path.join(path, "commands"))
        name, text = "tasks.lua", "return { tasks = {\n" + "".join(
            f'["service-{i}"] = {TASK},\n' for i in range(1, what + 1 if what != "alone" else 1)) + "} }\n"
        if what == "alone":
            name, text = "commands/service-17.lua", f"return {TASK}\n"
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(text)
    return paths


def recipes(folder):
    justfile, taskfile, mise = [], ["version: '3'\ntasks:\n"], []
    for number in range(1, COMMANDS + 1):
        about = f"Restart the service number {number} of the cluster"
        justfile.append(f"# {about}\nservice-{number} host wait='30s':\n\t@true\n")
        taskfile.append(f"  service-{number}:\n    desc: {about}\n    cmds: ['true']\n")
        mise.append(f"[tasks.service-{number}]\ndescription = '{about}'\nrun = 'true'\n")
    for name, lines in ("justfile", justfile), ("Taskfile.yml", taskfile), ("mise.toml", mise):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.writelines(lines)


def prepare(builds, folder):
    """A project of so many commands, whose user has run one, and the environment of a build: each has its own state."""
    path = project_of(folder, COMMANDS)
    recipes(path)

    def env(build):
        return {**clean_environment(), "XDG_STATE_HOME": os.path.join(folder, "state", build)}

    time.sleep(OLD_S)
    for build, runner in builds.path.items():
        for words in ["service-1", "--host", "web-1"], ["status"]:  # which loads them all, and keeps what it learns
            subprocess.run([runner, *words], cwd=path, env=env(build), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        if not quick(os.path.isdir(os.path.join(folder, "state", build, "runner", "declarations")), True):
            raise RuntimeError(f"{runner} keeps nothing of what lists say")
    return path, env


def table(builds, folder):
    path, env = prepare(builds, folder)
    programs = {"just": peers.just(), "task": peers.task(), "mise": peers.mise()}
    rows = []
    for what, words in QUESTIONS.items():
        beside = {f"`{name} {' '.join(words[name])}`": Case(name, [program, *words[name]], path, peers.of_mise(path, clean_environment()))
                  for name, program in programs.items() if program and name in words}
        rows.append(Row(what, builds.run(words["runner"], path, env), beside))
    for what, place in task_files(folder).items():
        for build, runner in builds.path.items():  # it is known from then on
            subprocess.run([runner, "service-17"], cwd=place, env=env(build), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        beside = {f"`{name} {' '.join(CALL[name])}`": Case(name, [program, *CALL[name]], path, peers.of_mise(path, clean_environment()))
                  for name, program in programs.items() if program and what == COMMANDS}
        where = "a task in a file of its own" if what == "alone" else f"among {what:,} in one file"
        rows.append(Row(f"`runner service-17`, {where}", builds.run(["service-17"], place, env), beside))
    yield f"In a project of {COMMANDS:,} commands, each a file; just and mise have as many recipes and tasks, in one file each."
    yield ""
    yield from measured_table(rows, ROUNDS, SECONDS)
    yield from not_installed([f"`{name}`" for name, program in programs.items() if not program])
    yield ""
    yield from tab.table(builds, path, env, folder)
