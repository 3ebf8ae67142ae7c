"""The envelope as a caller sees it: strict checks shared by every black-box test.

envelope.py check STATUS FILE    exactly one valid envelope that agrees with STATUS
envelope.py field EXPR FILE      print EXPR, where `e` is the envelope
envelope.py expect EXPR FILE     fail, with the envelope shown, unless EXPR is true
envelope.py serve ASK ANSWER     the same many times, through two FIFOs (helper.bash)
"""
import ast
import contextlib
import io
import json
import os
import re
import select
import sys
import traceback

sys.dont_write_bytecode = sys.pycache_prefix is None  # the checkout stays as it is

CODE = re.compile(r"^[A-Z][A-Z0-9_]+$")
STRATEGIES = {"immediate", "linear_backoff", "exponential_backoff"}


class Attrs(dict):
    """e.error.code instead of e["error"]["code"]; a missing key is None."""

    def __getattr__(self, name):
        return self.get(name)


def parse(text):
    def no_duplicates(pairs):
        keys = [k for k, _ in pairs]
        assert len(keys) == len(set(keys)), f"duplicate keys: {keys}"
        return Attrs(pairs)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, object_pairs_hook=no_duplicates, parse_constant=refuse)


def load(path):
    with open(path, "rb") as f:
        raw = f.read()
    assert raw, "stdout is empty"
    assert b"\x1b" not in raw and b"\\u001b" not in raw, "ANSI in the envelope"
    text = raw.decode("utf-8")
    assert text.endswith("\n") and text.count("\n") == 1, f"not one line: {text[:200]!r}"
    return parse(text)


def check_error(error):
    assert CODE.match(error["code"]), error
    assert isinstance(error["message"], str), error
    assert error["retryable"] == "maybe" or isinstance(error["retryable"], bool), error
    assert error["side_effects"] in ("none", "partial", "complete"), error
    assert error["phase"] in ("validation", "execution", "cleanup"), error
    if error["retryable"] is True:
        assert isinstance(error["retry_after_ms"], int) and error["retry_after_ms"] >= 0, error
        assert error["retry_strategy"] in STRATEGIES, error
    if error["retryable"] in (True, "maybe"):
        assert isinstance(error["max_retries"], int), error
    for key in ("detail", "suggestion", "fix_required", "fix_command", "signal"):
        assert error.get(key) is None or isinstance(error[key], str), error
    assert error.get("context") is None or isinstance(error["context"], dict), error


def check(e, status):
    assert list(e) == ["ok", "data", "error", "warnings", "meta"], list(e)
    assert e.meta["exit_code"] == status, (e.meta, status)
    assert e.ok is (status == 0), e
    assert (e.error is None) == (status == 0), e
    assert e.data is None or isinstance(e.data, (dict, list)), e.data
    assert isinstance(e.meta["duration_ms"], int) and e.meta["duration_ms"] >= 0
    if not e.meta.get("stable_output") and e.meta.get("form") != "short":
        assert re.match(r"^req_[0-9A-HJKMNP-TV-Z]{26}$", e.meta["request_id"]), e.meta
        assert re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", e.meta["timestamp"]), e.meta
    assert re.match(r"^\d+\.\d+$", e.meta.get("schema_version", "1.0")), e.meta
    assert e.meta.get("retries", 1) >= 1, "retries: 0 must be left out"
    for w in e.warnings:
        assert set(w) <= {"code", "message", "context"} and CODE.match(w["code"]), w
    if e.error is not None:
        check_error(e.error)
    import schema  # costs more than all other verbs do

    violations = schema.envelope_errors(e)
    assert not violations, violations


def refuse_values(question):
    """A question with an `or` whose last part is a value, as in `a == b or e.data`, can't be answered no."""
    parts = [ast.parse(question.strip(), mode="eval").body]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.BoolOp):
            is_value = isinstance(part.values[-1], (ast.Attribute, ast.Subscript, ast.Constant))
            assert not (is_value and isinstance(part.op, ast.Or)), f"never untrue: {question}"
            parts += part.values


def answer(verb, argument, path):
    e = load(path)
    if verb == "expect":
        refuse_values(argument)
    if verb == "check":
        check(e, int(argument))
    elif verb == "field":
        print(eval(argument, {"e": e}))  # pylint: disable=eval-used
    elif not eval(argument, {"e": e, "len": len, "isinstance": isinstance}):  # pylint: disable=eval-used
        sys.exit(f"not so: {argument}\n{json.dumps(e, indent=1)}")


def in_words(question):
    """What a process of its own would have said: status, stdout, stderr."""
    out, err = io.StringIO(), io.StringIO()
    status = 1
    with contextlib.redirect_stdout(out):
        try:
            answer(*question)
            status = 0
        except SystemExit as refusal:
            err.write(f"{refusal}\n")
        except Exception:  # pylint: disable=broad-exception-caught
            traceback.print_exc(file=err)
    return str(status), out.getvalue().replace("\0", ""), err.getvalue().replace("\0", "")


def words(stream):
    """NUL-terminated words of a FIFO; ends with the process that started us."""
    parent, rest = os.getppid(), b""
    while os.getppid() == parent:
        if not select.select([stream], [], [], 1)[0]:
            continue
        *whole, rest = (rest + os.read(stream, 65536)).split(b"\0")
        yield from (word.decode("utf-8", "surrogateescape") for word in whole)


def serve(asked, answers):
    """Questions (id, directory, verb, argument, file), answers (id, status, stdout, stderr)."""
    asked, answers = os.open(asked, os.O_RDWR), os.open(answers, os.O_RDWR)
    stream = words(asked)
    for name, folder, *question in zip(*[stream] * 5):
        os.chdir(folder)
        text = "".join(word + "\0" for word in (name, *in_words(question))).encode("utf-8", "surrogateescape")
        while text:
            text = text[os.write(answers, text):]


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:4])
    else:
        answer(*sys.argv[1:4])
