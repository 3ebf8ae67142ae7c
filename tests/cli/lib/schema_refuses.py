"""docs/schema/envelope.json refuses what an envelope may not be: each row spoils a
valid one in one way."""
import copy
import sys

sys.dont_write_bytecode = True  # the checkout stays as it is
import schema

META = {
    "command": "x", "exit_code": 0, "duration_ms": 1, "timeout_ms": 30000, "schema_version": "1.0", "tool_version": "0.0.0",
    "request_id": "req_01M7Z3C95C4SF0PA7ZHCTW9V6Y", "timestamp": "2026-11-21T13:05:23.628Z", "attempt": 1, "max_attempts": 4,
    "config_sources": [], "effective_config_hash": "cbf29ce484222325",
}
GOOD = {"ok": True, "data": {"a": 1}, "error": None, "warnings": [], "meta": META}
FAILED = {
    "ok": False, "data": None, "warnings": [{"code": "RETRY_BUDGET", "message": "No retry", "context": {}}],
    "error": {"code": "RATE_LIMITED", "message": "429", "retryable": True, "retry_after_ms": 1000, "max_retries": 3,
              "retry_strategy": "exponential_backoff", "side_effects": "none", "phase": "execution"},
    "meta": dict(META, exit_code=11, attempt=2, retries=1, retry_seed="7", retry_history=[
        {"attempt": 1, "code": "RATE_LIMITED", "message": "429", "duration_ms": 1, "delay_ms": None}]),
}
REFUSED = {
    "ok": False, "data": None, "warnings": [], "meta": dict(META, exit_code=2),
    "error": {"code": "VALIDATION_ERROR", "message": "2 problems", "retryable": False, "side_effects": "none",
              "phase": "validation", "fix_required": "Correct them",
              "errors": [{"field": "a", "code": "UNKNOWN_FLAG", "message": "Unknown flag '--a'"}]},
}
EXHAUSTED = dict(FAILED, error={"code": "UNAVAILABLE", "message": "503", "retryable": False, "max_retries": 1, "retries_exhausted": 1,
                                "side_effects": "none", "phase": "execution"})
LIMITED = dict(FAILED, error=dict(EXHAUSTED["error"], code="RATE_LIMITED", retry_after_ms=60000))
GONE = object()

# what it is: the envelope, the path to spoil, the value put there
ROWS = [
    ("a success that is not ok", GOOD, "ok", False),
    ("a success with an error", GOOD, "error", FAILED["error"]),
    ("a number as data", GOOD, "data", 5),
    ("a sixth key", GOOD, "extra", 1),
    ("no warnings", GOOD, "warnings", GONE),
    ("more than 100 warnings", GOOD, "warnings", [{"code": "AA", "message": ""}] * 101),
    ("a success without a request id", GOOD, "meta.request_id", GONE),
    ("a malformed request id", GOOD, "meta.request_id", "req_1"),
    ("true as a number", GOOD, "meta.duration_ms", True),
    ("a negative duration", GOOD, "meta.duration_ms", -1),
    ("retries: 0", GOOD, "meta.retries", 0),
    ("a seed that loses digits", FAILED, "meta.retry_seed", 7),
    ("a failure that is ok", FAILED, "ok", True),
    ("a failure without an error", FAILED, "error", None),
    ("an unknown field of error", FAILED, "error.exit", 1),
    ("an error without retryable", FAILED, "error.retryable", GONE),
    ("1 as retryable", FAILED, "error.retryable", 1),
    ("retryable without a wait", FAILED, "error.retry_after_ms", GONE),
    ("retryable without a strategy", FAILED, "error.retry_strategy", GONE),
    ("retryable without advice how often", FAILED, "error.max_retries", GONE),
    ("a rate limit that asks for no wait", FAILED, "error.retry_after_ms", 0),
    ("exhausted and still retryable", FAILED, "error.retries_exhausted", 3),
    ("a rate limit that has no wait after the last retry", LIMITED, "error.retry_after_ms", GONE),
    ("a wait after the last retry", EXHAUSTED, "error.retry_after_ms", 1000),
    ("a strategy after the last retry", EXHAUSTED, "error.retry_strategy", "immediate"),
    ("an unknown strategy", FAILED, "error.retry_strategy", "often"),
    ("a code in lower case", FAILED, "error.code", "busy"),
    ("an unknown phase", FAILED, "error.phase", "run"),
    ("a row of history without its delay", FAILED, "meta.retry_history", [{"attempt": 1, "code": "AA", "message": "",
                                                                         "duration_ms": 1}]),
    ("exit 2 with side effects", REFUSED, "error.side_effects", "partial"),
    ("exit 2 after run began", REFUSED, "error.phase", "execution"),
    ("exit 2 that says nothing to fix", REFUSED, "error.fix_required", GONE),
    ("a problem without its code", REFUSED, "error.errors", [{"field": "a", "message": "b"}]),
]


def spoilt(envelope, path, value):
    out = copy.deepcopy(envelope)
    *parents, last = path.split(".")
    at = out
    for name in parents:
        at = at[name]
    if value is GONE:
        del at[last]
    else:
        at[last] = value
    return out


def main():
    wrong = [f"a valid envelope is refused: {schema.envelope_errors(e)}" for e in (GOOD, FAILED, REFUSED, EXHAUSTED, LIMITED)
             if schema.envelope_errors(e)]
    wrong += [f"accepted: {what}" for what, e, path, value in ROWS if not schema.envelope_errors(spoilt(e, path, value))]
    print("\n".join(wrong) or f"{len(ROWS)} spoilt envelopes are refused")
    sys.exit(bool(wrong))


main()
