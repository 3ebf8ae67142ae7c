"""The envelope as a caller sees it: strict checks shared by every black-box test.

envelope.py check STATUS FILE    exactly one valid envelope that agrees with STATUS
envelope.py field EXPR FILE      print EXPR, where `e` is the envelope
envelope.py expect EXPR FILE     fail, with the envelope shown, unless EXPR is true
"""
import json
import re
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is
import schema

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
    assert re.match(r"^req_[0-9A-HJKMNP-TV-Z]{26}$", e.meta["request_id"]), e.meta
    assert re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$", e.meta["timestamp"]), e.meta
    assert re.match(r"^\d+\.\d+$", e.meta["schema_version"]), e.meta
    assert e.meta.get("retries", 1) >= 1, "retries: 0 must be left out"
    for w in e.warnings:
        assert set(w) <= {"code", "message", "context"} and CODE.match(w["code"]), w
    if e.error is not None:
        check_error(e.error)
    violations = schema.envelope_errors(e)
    assert not violations, violations


def main():
    verb, argument, path = sys.argv[1:4]
    e = load(path)
    if verb == "check":
        check(e, int(argument))
    elif verb == "field":
        print(eval(argument, {"e": e}))  # pylint: disable=eval-used
    elif not eval(argument, {"e": e, "len": len, "isinstance": isinstance}):  # pylint: disable=eval-used
        sys.exit(f"not so: {argument}\n{json.dumps(e, indent=1)}")


if __name__ == "__main__":
    main()
