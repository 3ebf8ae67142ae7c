"""cases: what the real Claude Code is asked in tests/claude, and what runner makes of it.

A row: name → what happened (for the table in the docs), the stub's answer, more arguments,
prompt, environment and signal; and the code, whether it is transient, and the wait that the
text asks for (seconds after the record was made, as tests/claude/stub.py got it).
"""
import dataclasses
import signal

SOON, DAYS, NEXT_YEAR = 3600, 3 * 86400 + 180, 400 * 86400
RESETS = {"soon": SOON, "days": DAYS, "next_year": NEXT_YEAR}
SUBSCRIBED = {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-fake"}
SCHEMA = '{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}'
EVERY = ("text", "json", "stream-json")
REPORTING = EVERY[1:]  # text says nothing of denials


@dataclasses.dataclass
class Case:
    about: str
    answer: str = "success"
    code: str = ""  # of the failure; "" for a success
    transient: bool = False
    resets_s: int = 0  # a usage limit that names its reset
    prompt: str = "hello"
    args: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)
    signal: int = 0  # sent once the request has arrived
    stdin: int = 0  # bytes of a prompt that is piped to it, in place of the argument
    twice: bool = False  # the second call with the same home is recorded
    outputs: tuple = EVERY
    slow: bool = False  # only with --all
    root: bool = False  # it takes root


def case(about, code="", transient=None, **more):
    return Case(about, code=code, transient=transient == "transient", **more)


def limit(about, answer, resets_s):
    return case(about, "RATE_LIMITED", "transient", answer=answer, resets_s=resets_s, env=SUBSCRIBED)


CASES = {
    "success": case("an answer"),
    "success_talk": case("an answer that quotes an error", answer="success_talk"),
    "success_slow": case("a slow stream", answer="stream_slow", slow=True),
    "unknown_command": case("unknown slash command", "PRECONDITION", prompt="/nosuch thing"),
    "unknown_command_near": case("misspelt slash command", "PRECONDITION", prompt="/compct"),
    "http_400": case("HTTP 400", "PRECONDITION", answer="http_400"),
    "http_401": case("HTTP 401, API key", "AUTH_REQUIRED", answer="http_401", slow=True),
    "http_401_bearer": case("HTTP 401, subscription", "AUTH_REQUIRED", answer="http_401_bearer", env=SUBSCRIBED),
    "http_402": case("HTTP 402", "PAYMENT_REQUIRED", answer="http_402"),
    "http_403": case("HTTP 403", "AUTH_REQUIRED", answer="http_403"),
    "http_403_revoked": case("HTTP 403, login revoked", "AUTH_REQUIRED", answer="http_403_revoked", env=SUBSCRIBED),
    "http_413": case("HTTP 413", "PRECONDITION", answer="http_413"),
    "http_429": case("HTTP 429", "RATE_LIMITED", "transient", answer="http_429"),
    "http_500": case("HTTP 500", "UNAVAILABLE", "transient", answer="http_500"),
    "http_502": case("HTTP 502", "UNAVAILABLE", "transient", answer="http_502", slow=True),
    "http_503": case("HTTP 503", "UNAVAILABLE", "transient", answer="http_503", slow=True),
    "http_529": case("HTTP 529", "UNAVAILABLE", "transient", answer="http_529"),
    "not_logged_in": case("no API key and no login", "AUTH_REQUIRED", env={"ANTHROPIC_API_KEY": ""}),
    "disabled_organization": case("organization disabled", "AUTH_REQUIRED", answer="disabled_organization"),
    "credit": case("no credit", "PAYMENT_REQUIRED", answer="credit"),
    "spend_limit": case("monthly spend limit", "PAYMENT_REQUIRED", answer="spend_limit", env=SUBSCRIBED),
    "limit_session": limit("session limit", "limit_session", SOON),
    "limit_weekly": limit("weekly limit", "limit_weekly", DAYS),
    "limit_opus": limit("Opus limit", "limit_opus", DAYS),
    "limit_sonnet": limit("Sonnet limit, next year", "limit_sonnet", NEXT_YEAR),
    "limit_plain": limit("another limit", "limit_plain", SOON),
    "credits_out": limit("usage credits used up", "credits_out", SOON),
    "prompt_too_long": case("prompt too long", "PRECONDITION", answer="prompt_too_long"),
    "context_length": case("context window full", "PRECONDITION", answer="context_length"),
    "output_maximum": case("output maximum", "PRECONDITION", answer="output_maximum"),
    "refusal": case("refusal", "PRECONDITION", answer="refusal"),
    "model": case("unknown model", "NOT_FOUND", answer="model", args=("--model", "nosuch-model")),
    "max_turns": case("turns used up", "SUBPROCESS_FAILED", answer="tool_for_ever", args=("--max-turns", "2")),
    "max_budget": case("budget used up", "BUDGET_EXHAUSTED", answer="tool_for_ever",
                       args=("--max-budget-usd", "0.0001")),
    "denied_write": case("permission to write a file denied", "PERMISSION_DENIED", answer="write", outputs=REPORTING),
    "denied_bash": case("permission to run a command denied", "PERMISSION_DENIED", answer="bash", outputs=REPORTING,
                        args=("--permission-mode", "dontAsk")),
    "disallowed": case("a tool that `--disallowedTools` names", answer="bash", args=("--disallowedTools=Bash",)),
    "disallowed_some": case("commands that `--disallowedTools` names", answer="bash", outputs=REPORTING,
                            args=("--disallowedTools=Bash(touch *)",)),
    "schema": case("structured output", answer="structured", args=("--json-schema", SCHEMA)),
    "schema_unmet": case("structured output asked for, a text given", "SCHEMA_NOT_MET", args=("--json-schema", SCHEMA)),
    "schema_wrong": case("structured output that never meets its schema", "SCHEMA_NOT_MET", answer="structured_wrong",
                         args=("--json-schema", SCHEMA)),
    "stream_error": case("stream that ends in an error", "NETWORK_ERROR", "transient", answer="stream_error"),
    "stream_cut": case("stream cut off", "NETWORK_ERROR", "transient", answer="stream_cut"),
    "dns": case("name not found, no network", "NETWORK_ERROR", "transient",
                env={"ANTHROPIC_BASE_URL": "http://nosuch.invalid"}),
    "refused": case("connection refused", "NETWORK_ERROR", "transient",
                    env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, slow=True),
    "api_timeout": case("the API is silent", "TIMEOUT", "transient", answer="silent", env={"API_TIMEOUT_MS": "500"}),
    "terminated": case("TERM", "SUBPROCESS_FAILED", "transient", answer="silent", signal=signal.SIGTERM),
    "interrupted": case("INT (Ctrl+C)", "SUBPROCESS_FAILED", "transient", answer="silent", signal=signal.SIGINT,
                        outputs=("json", "stream-json")),
    "no_conversation": case("`--resume` of an unknown session", "PRECONDITION",
                            args=("--resume", "00000000-0000-4000-8000-000000000000")),
    "session_in_use": case("`--session-id` of a session that exists", "PRECONDITION", twice=True,
                           args=("--session-id", "00000000-0000-4000-8000-000000000001")),
    "stdin_too_long": case("prompt above the 10 MB that the program reads from stdin", "PRECONDITION", stdin=11 << 20),
    "resume_invalid": case("`--resume` of no session", "PRECONDITION", args=("--resume", "nosuch"), outputs=("text",)),
    "mcp_config": case("MCP file missing", "PRECONDITION", args=("--mcp-config=/nosuch.json",), outputs=("text",)),
    "unknown_option": case("unknown option", "PRECONDITION", args=("--nosuch",), outputs=("text",)),
    "bad_choice": case("value not allowed", "PRECONDITION", args=("--permission-mode", "nosuch"), outputs=("text",)),
    "root": case("no permission checks as root", "PRECONDITION", args=("--dangerously-skip-permissions",),
                 outputs=("text",), root=True),
}
