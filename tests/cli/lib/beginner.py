"""What a person sees who makes a beginner's mistake, at a terminal and as a program.

  beginner.py RUNNER [PATTERN]   prints each of those whose names match, and what is wrong with the answer: more than three
                                 lines and the usage, a traceback, no word of what to write, fix and hint the same
"""
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

RUNNER = sys.argv[1]


def cmd(body, **more):
    args = more.get("args", "")
    head = more.get("head", 'description = "X", danger_level = "safe",')
    return {"commands/x.lua": "return { %s%s\n\trun = function(args, ctx)\n\t\t%s\n\tend,\n}\n" % (head, " args = { %s }," % args if args else "", body)}


def tasks(text):
    return {"tasks.lua": "return { tasks = {\n" + text + "\n} }\n"}

CASES = [
    ("a command file without return",
     {"commands/x.lua": '{ description = "X", danger_level = "safe",\n\trun = function() end }\n'},
     "x", 'x.lua:1: return is missing in front of the {'),
    ("a local table that is not returned",
     {"commands/x.lua": 'local x = { description = "X", danger_level = "safe",\n\trun = function() end }\n'},
     "x", 'Write return x as its last line'),
    ("tasks.lua without return",
     {"tasks.lua": '{ tasks = {\n\tx = { "X", shell = "true" },\n} }\n'},
     "x", 'Write return { tasks = {'),
    ("&& as a word of ctx:run",
     cmd('ctx:run{ "make", "&&", "make", "install" }'),
     "x", 'Write ctx:run{ "make" } and, on the next line, ctx:run{ "make", "install" }'),
    ("| as a word",
     cmd('ctx:run{ "ls", "|", "wc", "-l" }'),
     "x", 'Write ctx:pipeline{ { "ls" }, { "wc", "-l" } }'),
    ("> as a word",
     cmd('ctx:run{ "ls", ">", "out" }'),
     "x", 'Write ctx.fs.write("out", ctx:run{ "ls" }.stdout)'),
    ("*.c as a word",
     cmd('ctx:run{ "ls", "*.c" }'),
     "x", 'Write ctx:run{ "ls", table.unpack(ctx.fs.glob("*.c")) }'),
    ("$HOME as a word",
     cmd('ctx:run{ "ls", "$HOME" }'),
     "x", 'Write ctx:run{ "ls", os.getenv "HOME" }'),
    ("a whole line as one word",
     cmd('ctx:run{ "ls -l" }'),
     "x", 'Write ctx:run{ "ls", "-l" }'),
    ("a text for ctx:run",
     cmd('ctx:run("ls -l")'),
     "x", 'Write ctx:run{ "ls", "-l" }'),
    ("cd",
     cmd('ctx:run{ "cd", "x" }'),
     "x", 'In place of this line, say it in the call that needs it: ctx:run{ "make", cwd = "x" }'),
    ("export",
     cmd('ctx:run{ "export", "A=1" }'),
     "x", 'In place of this line, say it in the call that needs it: ctx:run{ "make", env = { A = "1" } }'),
    ("FOO=1",
     cmd('ctx:run{ "FOO=1", "make" }'),
     "x", 'Write ctx:run{ "make", env = { FOO = "1" } }'),
    ("cd as a program of a task",
     tasks('\tx = { "X", run = { "cd", "x" } },'),
     "x", 'tasks.lua:2: cd is a command of a shell'),
    ("&& in a program of a task",
     tasks('\tx = { "X", run = { "true", "&&", "false" } },'),
     "x", 'Write shell = "true && false"'),
    ("depends in a task",
     tasks('\tx = { "X", shell = "true", depends = { "y" } },\n\ty = { "Y", shell = "true" },'),
     "x", 'Use needs = { "y" }'),
    ("depends in a command file",
     {"commands/x.lua": 'return { description = "X", danger_level = "safe", depends = { "y" },\n\trun = function() end }\n'},
     "x", 'Use needs = { "y" }'),
    ("desc and cmds, as in a Taskfile",
     tasks('\tx = { desc = "X", cmds = { "true" } },'),
     "x", 'unknown keys \'cmds\' and \'desc\'. Write x = { "X", shell = "true" }'),
    ("ctx:shell",
     cmd('ctx:shell("ls -l")'),
     "x", 'x.lua:3: there is no ctx:shell'),
    ("ctx.run with a dot",
     cmd('ctx.run{ "ls" }'),
     "x", 'Write ctx:run{ "ls" }'),
    ("ctx:exec in a command that doesn't say interactive",
     cmd('ctx:exec{ "vi" }'),
     "x", 'Write interactive = true'),
    ("an argument named to",
     cmd('return "to: " .. args.to', args='{ "to", "string" }'),
     "x --to y", 'to: y'),
    ("an argument named timeout",
     cmd('return {}', args='{ "timeout", "string" }'),
     "x --timeout y", 'Write another name, such as "my_timeout"'),
    ("runner run NAME -a b",
     tasks('\tbuild = { "B", shell = "true" },'),
     "run build -a b", 'Write runner build, which takes no -a'),
    ("runner run -a b",
     tasks('\tbuild = { "B", shell = "true" },'),
     "run -a b", 'Write runner build, the only command here, which takes no -a; to have one named run: runner new run'),
    ("args.my-name",
     cmd('return { name = args.my-name }', args='{ "my-name", "string", default = "x" }'),
     "x", 'x.lua:3: args.my-name is args.my minus name'),
    ("for f in ctx.fs.list()",
     cmd('for f in ctx.fs.list(".") do print(f) end'),
     "x", 'Write for _, f in ipairs(ctx.fs.list(".")) do'),
    ("a nil in a text",
     cmd('return { text = "Hello " .. args.name }', args='{ "nam", "string" }'),
     "x", "there is no argument 'name': args has 'nam'"),
    ("a missing comma",
     tasks('\tx = { "X", shell = "true" }\n\ty = { "Y", shell = "true" },'),
     "x", 'tasks.lua:2: a comma is missing at the end of the line'),
    ("a missing end",
     {"commands/x.lua": 'return { description = "X", danger_level = "safe",\n\trun = function()\n\t\tif true then\n\tend }\n'},
     "x", 'x.lua:3: the if of this line has no end'),
    ("]] in a script",
     tasks('\tx = { "X", shell = [[\n\t\tif [[ -f x ]]; then echo y; fi ]] },'),
     "x", 'Write [ … ] for a test, since sh has no [[ … ]]; to keep ]] in a text, begin it with [=[ in line 2 and end it with ]=]'),
    ("a task that is a text",
     tasks('\tx = "make all",'),
     "x", 'Write x = { "What it does", shell = "make all" }'),
    ("shell is a list",
     tasks('\tx = { "X", shell = { "make", "make install" } },'),
     "x", 'Write shell = "make && make install"'),
    ("a task with nothing to do",
     tasks('\tx = { "make all" },'),
     "x", '"make all" was taken for its description'),
    ("tasks outside of tasks",
     {"tasks.lua": 'return { x = { "X", shell = "true" } }\n'},
     "x", 'Write return { tasks = { x = { "X", shell = "true" } } }'),
    ("a word that is nearly a task",
     tasks('\tbuild = { "B", shell = "true" },'),
     "buidl", "run: runner build"),
    ("a needed task that isn't there",
     tasks('\tx = { "X", needs = { "biuld" }, shell = "true" },\n\tbuild = { "B", shell = "true" },'),
     "x", "tasks.lua:2: 'x' needs 'biuld', which is no command"),
    ("tasks that need each other",
     tasks('\tx = { "X", needs = { "y" } },\n\ty = { "Y", needs = { "x" } },'),
     "x", 'Remove "x" from the needs of y'),
    ("a required argument is missing",
     tasks('\tx = { "X", args = { { "target", "string", required = true } }, shell = "true" },'),
     "x", 'usage: runner x --target <string>'),
    ("a flag that isn't there",
     tasks('\tx = { "X", args = { { "target", "string" } }, shell = "true" },'),
     "x --taget y", 'run: runner x --target y'),
    ("no number",
     tasks('\tx = { "X", args = { { "n", "integer" } }, shell = "true" },'),
     "x --n many", 'Give a whole number, such as --n 3'),
    ("an argument too many",
     tasks('\tx = { "X", shell = "true" },'),
     "x y", "Unexpected argument 'y': x takes no arguments"),
    ("a script that fails",
     tasks('\tx = { "X", shell = [[\n\t\techo begun\n\t\tfalse ]] },'),
     "x", 'tasks.lua:4: false exited with status 1'),
    ("a program that isn't there",
     tasks('\tx = { "X", shell = [[\n\t\tno-such-program --x ]] },'),
     "x", 'tasks.lua:3: no-such-program is not in PATH'),
    ("a program that isn't there, without a shell",
     tasks('\tx = { "X", run = { "no-such-program" } },'),
     "x", 'Install no-such-program'),
    ("print in run",
     cmd('print("hello")'),
     "x", 'x.lua:3: stdout is for the answer, so what print writes goes to stderr. Write ctx:log("hello")'),
    ("no danger level",
     {"commands/x.lua": 'return { description = "X",\n\trun = function() end }\n'},
     "x", 'Add danger_level = "safe"'),
    ("a mutating command without what happens at TIMEOUT",
     {"commands/x.lua": 'return { description = "X", danger_level = "mutating",\n\trun = function() return { effect = "created" } end }\n'},
     "x", 'Write exit_codes = { TIMEOUT = {'),
    ("returns a function that is no function",
     {"commands/x.lua": 'return { description = "X", danger_level = "safe", run = "ls" }\n'},
     "x", 'Write run = function(args, ctx) ctx:run{ "ls" } end'),
    ("an argument without a type",
     cmd('return {}', args='{ "name" }'),
     "x", 'Write { "name", "string" }'),
    ("an argument of no type",
     cmd('return {}', args='{ "name", "str" }'),
     "x", 'the type of argument \'name\' is "str". Write "string"'),
    ("a variable of the shell that isn't an argument",
     tasks('\tx = { "X", args = { { "my-name", "string", default = "y" } }, shell = "echo $my-name" },'),
     "x", 'Write $my_name'),
]


def written(place, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(place + "/p/" + path), exist_ok=True)
        with open(place + "/p/" + path, "w") as f:
            f.write(text)
    os.makedirs(place + "/p/.git")
    return {"PATH": "/usr/bin:/bin", "HOME": place, "TERM": "xterm", "LC_ALL": "C.UTF-8", "XDG_STATE_HOME": place + "/s", "XDG_CACHE_HOME": place + "/c"}


def at_terminal(place, env, words):
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(place + "/p")
        os.execve(RUNNER, ["runner"] + words.split(), env)
    out, end = b"", time.time() + 60
    while time.time() < end:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                got = os.read(fd, 65536)
            except OSError:
                break
            if not got:
                break
            out += got
    else:
        os.kill(pid, 9)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.decode(errors="replace")).replace("\r", "")
    return "%s\n(exit %d)" % (text.replace(place + "/p", "/home/me/p").rstrip(), status)


def as_program(place, env, words):
    done = subprocess.run([RUNNER] + words.split(), cwd=place + "/p", env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=60, check=False)
    return json.loads(done.stdout)


def said_twice(text):
    """Lines of advice of which every word stands above them; a place of the script that stands twice."""
    said, out = "", []
    for line in text[:text.rindex("\n")].split("\n"):
        label, _, rest = line.strip().partition(": ") if re.match("  [a-z]+: ", line) else ("", "", "")
        words = [w for w in re.findall(r"[^\s'\"()?:;,.]+", rest) if w.lower() not in ("write", "give", "use", "the", "a", "did", "you", "mean", "it")]
        if label in ("fix", "hint", "run", "usage", "output") and words and all(w in re.findall(r"[^\s'\"()?:;,.]+", said) for w in words):
            out.append("it says twice: " + line)
        if label == "" and line.startswith("    ") and said.split("\n")[0].endswith(line.strip()):
            out.append("its output repeats its first line: " + line)
        said += line + "\n"
    for place in set(re.findall(r"[\w-]+\.lua:\d+", text)):
        if text.count(place) > 1:
            out.append("it has the place twice: " + place)
    return out


def problems_of(text, says, answer):
    out = []
    if says not in text:
        out.append("it doesn't say " + says)
    if "traceback" in text or re.search(r"\blua/\w+/", text):
        out.append("it has a traceback of runner's own")
    advice = [line for line in text.split("\n") if re.match(r"  (code|retryable|fix|hint|run): ", line)]
    if len(advice) > 3 or len([line for line in advice if re.match("  (fix|hint)", line)]) > 1:
        out.append("it is long")
    out += said_twice(text)
    error = answer["error"] or {}
    if error.get("fix_required") and error.get("fix_required") == error.get("suggestion"):
        out.append("fix and hint are the same: " + error["suggestion"])
    if (text[-2:] != "0)") != (not answer["ok"]):
        out.append("a program is told something else: %s" % answer)
    return out


def main():
    failed = 0
    for i, (name, files, words, says) in enumerate(CASES, 1):
        if len(sys.argv) > 2 and not re.search(sys.argv[2], name):
            continue
        place = os.path.realpath(tempfile.mkdtemp())
        env = written(place, files)
        text = at_terminal(place, env, words)
        problems = problems_of(text, says, as_program(place, env, words))
        shutil.rmtree(place)
        print("=== %d. %s" % (i, name))
        for body in files.values():
            print("\n".join("    | " + line.replace("\t", "    ") for line in body.rstrip().split("\n")))
        print("$ runner %s\n%s" % (words, text))
        for problem in problems:
            print("!!! " + problem)
        print()
        failed += len(problems) > 0
    print("%d of them are not as they should be" % failed)
    sys.exit(failed > 0)


main()
