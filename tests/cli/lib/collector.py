"""A stand-in for an OpenTelemetry collector on 127.0.0.1, and the checks of what it got.

collector.py serve DIR      prints its port; the first part of the path says how it behaves (BEHAVIOURS);
                            each request is a file in DIR: the path, the headers, the body, as JSON
collector.py check FILE…    each line is an ExportTraceServiceRequest in OTLP's JSON encoding; prints
                            the spans, a line of JSON each
"""
import http.server
import json
import pathlib
import re
import sys
import threading
import time

INT64 = re.compile(r"-?\d{1,19}")
BEHAVIOURS = {
    "ok": (0, 200, {}), "slow": (0.3, 200, {}), "refuse": (0, 403, {"message": "no"}), "broken": (0, 503, {}),
    "hang": (60, 200, {}), "partial": (0, 200, {"partialSuccess": {"rejectedSpans": "2", "errorMessage": "too many"}}),
    "moved": (0, 307, {}), "nonsense": (0, 200, None),
}


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    directory = None

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        wait, status, answer = BEHAVIOURS[self.path.split("/")[1]]
        name = self.directory / f"{time.monotonic_ns()}.part"
        name.write_text(json.dumps({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)}), encoding="utf-8")
        name.rename(name.with_suffix(".json"))
        time.sleep(wait)
        text = b"\x00{[" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        if status == 307:
            self.send_header("Location", "/ok/elsewhere")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def serve(directory):
    Collector.directory = pathlib.Path(directory)
    Collector.directory.mkdir(exist_ok=True)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()  # until the test ends


# --- the shape (opentelemetry-proto: trace.proto, common.proto; OTLP: JSON Protobuf Encoding) ----------

def only(message, /, **kinds):
    assert isinstance(message, dict) and set(message) <= set(kinds), (message, kinds)
    for key, value in message.items():
        kinds[key](value)


def is_a(kind):
    def check(value):
        assert isinstance(value, kind) and not (kind is int and isinstance(value, bool)), value
    return check


def matches(pattern):
    def check(value):
        assert isinstance(value, str) and re.fullmatch(pattern, value), value
    return check


def each(check):
    def check_all(values):
        assert isinstance(values, list), values
        for value in values:
            check(value)
    return check_all


def any_value(value):
    assert len(value) == 1, value
    only(value, stringValue=is_a(str), boolValue=is_a(bool), doubleValue=is_a((int, float)),
         intValue=matches(r"-?\d{1,19}"))


def attributes(values):
    each(lambda pair: only(pair, key=matches(".+"), value=any_value))(values)
    keys = [pair["key"] for pair in values]
    assert len(keys) == len(set(keys)), keys


def event(value):
    only(value, timeUnixNano=matches(r"\d+"), name=matches(".+"), attributes=attributes)


def span(value):
    only(value, traceId=matches("[0-9a-f]{32}"), spanId=matches("[0-9a-f]{16}"), parentSpanId=matches("[0-9a-f]{16}"),
         name=matches("(?s).+"), kind=is_a(int), startTimeUnixNano=matches(r"\d{16,19}"), endTimeUnixNano=matches(r"\d{16,19}"),
         attributes=attributes, events=each(event), status=lambda v: only(v, code=is_a(int), message=is_a(str)))
    assert {"traceId", "spanId", "name", "startTimeUnixNano", "endTimeUnixNano"} <= set(value), value
    assert int(value["startTimeUnixNano"]) <= int(value["endTimeUnixNano"]), value
    assert 0 <= value["kind"] <= 5 and value["status"].get("code", 0) in (0, 1, 2), value


def request(message):
    scope = lambda v: only(v, name=is_a(str), version=is_a(str))
    scope_spans = lambda v: only(v, scope=scope, spans=each(span))
    resource = lambda v: only(v, attributes=attributes)
    only(message, resourceSpans=each(lambda v: only(v, resource=resource, scopeSpans=each(scope_spans))))
    names = [a["key"] for r in message["resourceSpans"] for a in r["resource"]["attributes"]]
    assert "service.name" in names, names


def plain(pairs):
    return {p["key"]: int(v) if k == "intValue" else v for p in pairs for k, v in p["value"].items()}


def check(files):
    for file in files:
        for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines():
            message = json.loads(line)
            message = message.get("body", message)
            request(message)
            for group in message["resourceSpans"]:
                for value in (s for scope in group["scopeSpans"] for s in scope["spans"]):
                    value["attributes"] = plain(value["attributes"])
                    value["events"] = [dict(e, attributes=plain(e["attributes"])) for e in value["events"]]
                    value["resource"] = plain(group["resource"]["attributes"])
                    print(json.dumps(value))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        check(sys.argv[2:])
