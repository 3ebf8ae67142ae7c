"""agents: what a program pays that finds and calls commands: rows while they come, the
manifest of many commands, and the bytes of each answer.
"""

import json
import os
import subprocess

from builds import Row, measured_table
from measure import Case, clean_environment, quick

ROWS = quick(200000, 100)
COMMANDS = quick(300, 20)
ROUNDS, SECONDS = 9, 20

SERVICE = """return {{ description = "Restart the service number {0} of the cluster", danger_level = "mutating", args = {{
	{{ "host", "string", required = true, description = "Name of the host" }},
	{{ "wait", "duration", default = "30s", description = "How long it may take" }} }},
	exit_codes = {{ TIMEOUT = {{ retryable = false, side_effects = "partial" }} }},
	examples = {{ {{ description = "On one host", command = "runner service-{0} --host web-1" }} }},
	run = function(args, ctx)
		if args.host == "slow" then ctx:sleep(60) end
		return {{ effect = "updated", restarted = args.host }}
	end }}
"""


def project_of(folder, count):
    """A project with so many commands that take arguments."""
    path = os.path.join(folder, f"services-{count}")
    os.makedirs(os.path.join(path, "commands"))
    for number in range(1, count + 1):
        with open(os.path.join(path, "commands", f"service-{number}.lua"), "w", encoding="utf-8") as file:
            file.write(SERVICE.format(number))
    return path


def case(name, argv, folder):
    return Case(name, argv, folder, clean_environment())


def table(builds, folder):
    """Rows of a Markdown table."""
    many = project_of(folder, COMMANDS)
    with open(os.path.join(many, "rows.lua"), "w", encoding="utf-8") as file:
        file.write("for i = 1, tonumber(arg[1]) do io.write('{\"id\":', i, '}\\n') io.flush() end\n")
    emit = builds.cases(lambda runner: ["sh", "-c", f'"$1" rows --rows {ROWS} --stream | cat | wc -c', "sh", runner], folder)
    beside = {"the same rows with lua5.4, flushed one by one": case("lua5.4", ["sh", "-c", f"lua5.4 rows.lua {ROWS} | cat | wc -c"], many),
              f"`seq {ROWS}`, which writes blocks": case("seq", ["sh", "-c", f"seq {ROWS} | cat | wc -c"], folder)}
    yield from measured_table([Row(f"{ROWS:,} rows of `ctx:emit`, written one by one", emit, beside,
                                   rate=lambda seconds: f"{ROWS / seconds:,.0f} rows/s")], ROUNDS, SECONDS)
    yield ""
    yield from measured_table([Row(f"`{' '.join(['runner', *words])}`, of {COMMANDS} commands", builds.run(words, many))
                               for words in (["manifest"], ["manifest", "--compact"])], ROUNDS, SECONDS)


def answer(runner, words, folder):
    """What one call prints, on both streams."""
    result = subprocess.run([runner, *words], cwd=folder, env=clean_environment(), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False)
    json.loads(result.stdout.splitlines()[-1])
    return len(result.stdout) + len(result.stderr)


CALL = ["service-17", "--host", "web-1"]
HELP = ["help", "service-17", "--format", "json"]

SIZES = [
    ("the whole manifest", 30, [["manifest"]]),
    ("the compact manifest", 30, [["manifest", "--compact"]]),
    ("the whole manifest", COMMANDS, [["manifest"]]),
    ("the compact manifest", COMMANDS, [["manifest", "--compact"]]),
    ("find one command, read its help, call it", 30, [[], HELP, CALL]),
    ("find one command by a search, read its help, call it", COMMANDS,
     [[], ["help", "--search", "number 17", "--format", "json"], HELP, CALL]),
    ("a validation error", 30, [["service-17", "--hots", "web-1"]]),
    ("a timeout", 30, [["service-17", "--host", "slow", "--timeout", "200ms"]]),
]


def sizes(builds, folder):
    """Rows of a Markdown table: bytes of answers, envelopes included; a token is taken as 4 bytes."""
    projects = {count: project_of(os.path.join(folder, "sizes"), count) for count in {30, COMMANDS}}
    yield "| what | commands | bytes | tokens |"
    yield "|---|---|---|---|"
    for what, count, calls in SIZES:
        total = sum(answer(builds.first, words, projects[count]) for words in calls)
        yield f"| {what} | {count} | {total:,} | {total // 4:,} |"
