"""stub: the part of Anthropic's Messages API that a case of tests/claude needs, on loopback.

The answer is chosen by the path: ANTHROPIC_BASE_URL=http://127.0.0.1:PORT/ANSWER. What each
says is a row of answers(); the requests that came are kept by answer. Nothing else is served.
"""
import collections
import http.server
import itertools
import json
import threading
import time

# --- bodies ---------------------------------------------------------------------------


def error_body(kind, message):
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_stub"}


NUMBERS = itertools.count(1)


def start(model, tokens=12):
    return {"type": "message_start", "message": {
        "id": f"msg_stub_{next(NUMBERS)}", "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": tokens, "output_tokens": 1}}}


def block(index, content, deltas):
    yield {"type": "content_block_start", "index": index, "content_block": content}
    for delta in deltas:
        yield {"type": "content_block_delta", "index": index, "delta": delta}
    yield {"type": "content_block_stop", "index": index}


def end(reason, tokens=7):
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
           "usage": {"output_tokens": tokens}}
    yield {"type": "message_stop"}


def text(words):
    return block(0, {"type": "text", "text": ""}, [{"type": "text_delta", "text": words}])


def says(words, reason="end_turn", tokens=7):
    return lambda model: [start(model), *text(words), *end(reason, tokens)]


def uses(name, **arguments):
    """A message that calls a tool; no two calls have one ID."""
    def message(model):
        call = {"type": "tool_use", "id": f"toolu_stub_{next(NUMBERS)}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        return [start(model), *block(0, call, [delta]), *end("tool_use")]
    return message


# --- answers: what each case gets -----------------------------------------------------------


class Http:
    """A status, a JSON body, and headers."""

    def __init__(self, status, kind, message, headers=None):
        self.status, self.body, self.headers = status, error_body(kind, message), headers or {}

    def give(self, handler, _model):
        handler.plain(self.status, self.body, self.headers)


class Stream:
    """A stream of events, with a wait in seconds after each, or cut off after some of them."""

    def __init__(self, events, wait=0.0, cut=None):
        self.events, self.wait, self.cut = events, wait, cut

    def give(self, handler, model):
        handler.stream(self.events(model), self.wait, self.cut)


class Once:
    """A call of a tool, and after its result a text."""

    def __init__(self, *call, **arguments):
        self.first, self.then = Stream(uses(*call, **arguments)), Stream(says("All is written."))

    def give(self, handler, model):
        (self.then if handler.asked_again else self.first).give(handler, model)


class Obeys:
    """What the prompt says: the JSON list between << and >>, a turn each: {"tool": NAME, "input": …} or {"say": TEXT}."""

    def give(self, handler, model):
        turns = json.loads(handler.first_text.rsplit("<<", 1)[1].rsplit(">>", 1)[0])
        turn = turns[min(handler.answered, len(turns) - 1)]
        events = says(turn["say"]) if "say" in turn else uses(turn["tool"], **turn["input"])
        Stream(events).give(handler, model)


class Silence:
    """The request is taken, and nothing is ever said."""

    def give(self, handler, _model):
        handler.server.over.wait(120)


LIMIT = "This request would exceed your account's rate limit. Please try again later."


def usage_limit(claim, reset, **more):
    """What a subscription gets: which limit, and when it resets (seconds since the epoch)."""
    headers = {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(reset),
               "anthropic-ratelimit-unified-representative-claim": claim, "x-should-retry": "false"}
    headers.update({"anthropic-ratelimit-unified-" + name.replace("_", "-"): value for name, value in more.items()})
    return Http(429, "rate_limit_error", LIMIT, headers)


def answers(resets):
    """Name → answer. resets: name → seconds since the epoch."""
    return {
        "success": Stream(says("All good.")),
        "success_talk": Stream(says("API Error: 529 Overloaded means that the rate limit was reached; try again in 5 minutes.")),
        "http_400": Http(400, "invalid_request_error", "max_tokens: must be at least 1"),
        "http_401": Http(401, "authentication_error", "invalid x-api-key"),
        "http_401_bearer": Http(401, "authentication_error", "OAuth token has expired. Please obtain a new token."),
        "http_402": Http(402, "billing_error", "Your account has an unpaid invoice."),
        "http_403": Http(403, "permission_error", "Your API key does not have permission to use the specified resource."),
        "http_403_revoked": Http(403, "permission_error", "OAuth token has been revoked. Please obtain a new token."),
        "http_413": Http(413, "request_too_large", "Request exceeds the maximum size"),
        "http_429": Http(429, "rate_limit_error", LIMIT),
        "http_429_after": Http(429, "rate_limit_error", LIMIT, {"retry-after": "1"}),
        "http_500": Http(500, "api_error", "Internal server error"),
        "http_502": Http(502, "api_error", "Bad gateway"),
        "http_503": Http(503, "api_error", "Service unavailable"),
        "http_529": Http(529, "overloaded_error", "Overloaded"),
        "credit": Http(400, "invalid_request_error",
                       "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."),
        "disabled_organization": Http(400, "invalid_request_error", "This organization has been disabled."),
        "prompt_too_long": Http(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "context_length": Stream(says("Half of it", "model_context_window_exceeded")),
        "model": Http(404, "not_found_error", "model: nosuch-model"),
        "refusal": Stream(says("", "refusal", 1)),
        "output_maximum": Stream(says("And so on and on", "max_tokens", 32000)),
        "stream_error": Stream(lambda model: [start(model), *list(text("Half"))[:2],
                                              error_body("overloaded_error", "Overloaded")]),
        "stream_cut": Stream(says("Half of an answer"), cut=3),
        "stream_slow": Stream(says("Slow, but whole."), wait=0.4),
        "silent": Silence(),
        "obeys": Obeys(),
        "tool_for_ever": Stream(uses("Read", file_path="/etc/hostname")),
        "write": Once("Write", file_path="note.txt", content="hello"),
        "bash": Once("Bash", command="touch note.txt", description="Make the note"),
        "structured": Once("StructuredOutput", answer="yes"),
        "structured_wrong": Stream(uses("StructuredOutput", other=1)),
        "limit_session": usage_limit("five_hour", resets["soon"]),
        "limit_weekly": usage_limit("seven_day", resets["days"]),
        "limit_opus": usage_limit("seven_day_opus", resets["days"]),
        "limit_sonnet": usage_limit("seven_day_sonnet", resets["next_year"]),
        "limit_plain": usage_limit("something_new", resets["soon"]),
        "spend_limit": usage_limit("overage", resets["soon"], overage_status="rejected",
                                   overage_disabled_reason="org_spend_cap_reached"),
        "credits_out": usage_limit("something_new", resets["soon"], overage_status="rejected",
                                   overage_reset=str(resets["days"]), overage_disabled_reason="out_of_credits"),
    }


def prompt_in(request):
    """The last text with a mark in it that came first: reminders of the program stand around it."""
    parts = [part for message in request["messages"] if message["role"] == "user" for part in (
        message["content"] if isinstance(message["content"], list) else [{"type": "text", "text": message["content"]}])]
    return next((part["text"] for part in parts if part.get("type") == "text" and "<<" in part["text"]), "")


# --- the server ------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.plain(404, error_body("not_found_error", "Not found"), {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        _, case, path = self.path.split("?")[0].split("/", 2)
        if path != "v1/messages" or case not in self.server.answers:
            return self.plain(404, error_body("not_found_error", "Not found"), {})
        request = json.loads(body)
        self.answered = sum(message["role"] == "assistant" for message in request["messages"])
        self.asked_again = self.answered > 0
        self.first_text = prompt_in(request)
        self.server.count(case, request)
        try:
            self.server.answers[case].give(self, request.get("model"))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        return None

    def plain(self, status, body, headers):
        data = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", "request-id": "req_stub", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def stream(self, events, wait, cut):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for event in events[:cut]:
            data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
            time.sleep(wait)
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


class Stub(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, resets):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers(resets)
        self.requests = collections.defaultdict(list)
        self.lock = threading.Lock()
        self.over = threading.Event()

    def count(self, case, request):
        with self.lock:
            self.requests[case].append(request)

    def handle_error(self, *_):
        pass

    def url(self, case):
        return f"http://127.0.0.1:{self.server_address[1]}/{case}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.shutdown()
        self.server_close()
