"""doors: every way by which a caller's text comes to the `run` of a command.

A door is a function: texts -> what came, in the same order: the text's bytes as hex, or the code of the error.
The command `bytes` has an argument `s` and answers with it; the environment is that of the test (see mcp.py).
"""
import json
import os
import random
import subprocess

from mcp import Server

RUNNER = os.environ["RUNNER"]
BEYOND_ARGV = 128 * 1024  # MAX_ARG_STRLEN

TEXTS = ["", "plain", "two words", "a\r\nb", "\r", "\n", "a\rb", "\t\b\f\v", "\x1b[31mred\x1b[0m", "\x1b", "\x1b]0;title\x07",
         "".join(map(chr, range(1, 32))), "\x7f", "\x80\x85\x9b31m\x9f", "\u2028\u2029", "\u202egnp.exe", "\u2066x\u2069", "\ufeff",
         "\ufffd", "\ufffe\uffff", "\U0001f600\U0010ffff", "e\u0301", '"\\/', "\\u001b", "'; rm -rf x; '", "$(id) `id` ${x} %s %n",
         "-x", "--s", "--", "-", "@file", "null", "true", "0x10", " a ", "a,b", "a=b", "*", "x" * 100000, "\x1b[0m" * 5000]
LONG = "\r\x1b" * (BEYOND_ARGV // 2 + 1)
REFUSED = ['"a\\u0000b"', '"\\ud800"', '"\\udc00x"']  # what JSON can write, and no argument can be


def random_texts(count, seed=22):
    pick = random.Random(seed)
    pool = "\r\n\t\x1b[]\x9b\x07\x08\x01\x1f\x7f\u0085\u2028\u202e\ufeffaZ0;m \"\\'$-é€\U0001f600"
    return ["".join(pick.choice(pool) for _ in range(pick.randint(1, 24))) for _ in range(count)]


def came(envelope):
    return envelope["data"]["hex"] if envelope["ok"] else envelope["error"]["code"]


def run(*args, stdin=b""):
    done = subprocess.run([RUNNER, *args], input=stdin, stdout=subprocess.PIPE, stderr=open("err.txt", "ab"), check=False)
    return json.loads(done.stdout)


def each(call):
    return lambda texts: [came(call(text)) for text in texts]


def payload(text):
    return json.dumps({"s": text})


def argv(text):
    return run("bytes", "--s=" + text)


def input_file(text):
    with open("payload.json", "w", encoding="utf-8") as file:
        file.write(payload(text))
    return run("bytes", "--input-file", "payload.json")


def job(*args):
    return run("job", "wait", run(*args, "--detach")["data"]["job_id"])


def exec_lines(lines):
    done = subprocess.run([RUNNER, "exec", "--ignore-errors"], input="".join(line + "\n" for line in lines).encode(), check=False,
                          stdout=subprocess.PIPE, stderr=open("err.txt", "ab"))
    return [came(json.loads(line)) for line in done.stdout.splitlines()][:len(lines)]


def mcp(ask, *flags, **options):
    def door(texts):
        with Server("--max-bytes", "1000000", *flags, **options) as server:  # the longest text, in hex and twice
            return [came(ask(server, {"s": text})) for text in texts]
    return door


def plain(server, arguments):
    return server.call("bytes", arguments)["structuredContent"]


def progressive(server, arguments):
    return server.call("call", {"name": "bytes", "arguments": arguments})["structuredContent"]


def old_client(server, arguments):
    if server.count == 0:
        server.initialize()
    ask = lambda method, **params: server.ask(method, params, modern=False)["result"]
    task = ask("tools/call", name="bytes", arguments=arguments, task={})["task"]
    return ask("tasks/result", taskId=task["taskId"])["structuredContent"]


def task(server, arguments):
    made = server.call("slow", arguments)
    while True:
        got = server.ask("tasks/get", {"taskId": made["taskId"]})["result"]
        if got["status"] in ("completed", "failed"):
            return got["result"]["structuredContent"]


def lua(text):
    return '"' + "".join("\\%03d" % byte for byte in text.encode()) + '"'


def through_lua(before, after):
    """Commands that name the text in their own file."""
    def door(texts):
        out = []
        for text in texts:
            with open("commands/outer.lua", "w", encoding="utf-8") as file:
                file.write('return { description = "x", danger_level = "safe", ' + before + lua(text) + after + " end }\n")
            out.append(came(run("outer")))
        return out
    return door


def yaml(text):
    return '"' + "".join("\\U%08x" % ord(c) for c in text.replace("${", "$${")) + '"'


def workflow(args, before=""):
    def door(texts):
        with open("w.yaml", "w", encoding="utf-8") as file:
            file.write("name: w\nsteps:\n")
            for i, text in enumerate(texts):
                file.write("  - {id: s%d, runner: bytes, args: %s}\n" % (i, args % yaml(before + text)))
        made = run("workflow", "run", "w.yaml")
        assert made["ok"], made["error"]
        steps = {step["id"]: step for step in made["data"]["steps"]}
        return [steps["s%d" % i]["data"]["hex"] for i in range(len(texts))]
    return door


DOORS = {
    "argv": each(argv),
    "--raw-payload": each(lambda text: run("bytes", "--raw-payload", payload(text))),
    "--input-file": each(input_file),
    "--input-file -": each(lambda text: run("bytes", "--input-file", "-", stdin=payload(text).encode())),
    "a pipe": each(lambda text: run("piped", "--s", "-", stdin=text.encode() + b"\n")),
    "exec": lambda texts: exec_lines([json.dumps({"_cmd": "bytes", "s": text}) for text in texts]),
    "mcp": mcp(plain),
    "mcp --progressive": mcp(progressive, "--progressive"),
    "a task": mcp(task, tasks=True),
    "a task of 2025-11-25": mcp(old_client),
    "a job": each(lambda text: job("bytes", "--s=" + text)),
    "a job, --raw-payload": each(lambda text: job("bytes", "--raw-payload", payload(text))),
    "a job with a secret": each(lambda text: job("bytes", "--secret-from-env=SECRET", "--s=" + text)),
    "ctx:call": through_lua('run = function(_, ctx) return ctx:call("bytes", { s = ', " })"),
    "ctx:call, words": through_lua('run = function(_, ctx) return ctx:call("bytes", { "--s=" .. ', " })"),
    "needs": through_lua('needs = { { "bytes", s = ', ' } }, run = function() return { hex = io.open("hex"):read "a" }'),
    "a runner: step": workflow("{s: %s}"),
    "a runner: step, words": workflow("[%s]", "--s="),
}
NOT_JSON = {"argv", "a pipe", "a job", "a job with a secret", "ctx:call", "ctx:call, words", "needs",
            "a runner: step", "a runner: step, words"}


def fits(door, text):
    if door == "a pipe":  # one line of a text file
        return text not in ("", "-") and "\n" not in text and not text.endswith("\r")
    return True
