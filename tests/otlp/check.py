"""Read requests of OTLP/JSON by the official definitions, with protobuf's own reader (python3-protobuf, protoc).

check.py FILE…    each line of a file is an ExportTraceServiceRequest; prints what they contain, as JSON:
                  {"spans": […names], "events": […names], "attributes": […keys], "kinds": […of values], "requests": N}

Unknown members, wrong types, numbers out of range and text that isn't UTF-8 are errors of the reader. What the comments
of the definitions ask for beyond types (sizes of ids, unique keys, order of times) is checked here.

Exit status 77: protoc or python3-protobuf is missing; the line on stderr says which.
"""
import base64
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
REQUEST = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"
SERVICE = "opentelemetry/proto/collector/trace/v1/trace_service.proto"
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}  # bytes


def need(module):
    print(f"needs {module}", file=sys.stderr)
    sys.exit(77)


def request_class():
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        need("python3-protobuf")
    if not shutil.which("protoc"):
        need("protobuf-compiler")
    with tempfile.TemporaryDirectory() as folder:
        made = pathlib.Path(folder, "set")
        subprocess.run(["protoc", "--include_imports", "-o", made, SERVICE], cwd=HERE, check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    found = pool.FindMessageTypeByName(REQUEST)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(found)
    return message_factory.MessageFactory(pool).GetPrototype(found)


def with_base64(value):
    """OTLP's two departures from protobuf's JSON: ids are hexadecimal, where that has base64; enums are numbers alone."""
    if isinstance(value, list):
        return [with_base64(v) for v in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, member in value.items():
        if key in IDS:
            assert re.fullmatch("[0-9a-f]{%d}" % (2 * IDS[key]), member) and member.strip("0"), (key, member)
            member = base64.b64encode(bytes.fromhex(member)).decode()
        elif key in ("kind", "code"):
            assert type(member) is int, (key, member)
        out[key] = with_base64(member)
    return out


def plain(pairs, found):
    keys = [pair.key for pair in pairs]
    assert all(keys) and len(keys) == len(set(keys)), keys
    found["attributes"].update(keys)
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        assert kind, pair
        found["kinds"].add(kind)


def check_span(span, found):
    assert span.name and len(span.trace_id) == 16 and len(span.span_id) == 8, span
    assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
    assert span.kind == 1 and span.status.code in (0, 2), span  # internal; unset or an error
    assert not span.status.message or span.status.code == 2, span
    plain(span.attributes, found)
    found["spans"].append(span.name)
    for event in span.events:
        assert event.name and event.time_unix_nano > 0, event
        plain(event.attributes, found)
        found["events"].append(event.name)


def check(line, request, found):
    from google.protobuf import json_format
    value = with_base64(json.loads(line))
    json_format.ParseDict(value, request)  # unknown members are errors
    # nothing was lost: what the reader has is what was written (it leaves out what is empty or unset)
    again = json_format.MessageToDict(request, use_integers_for_enums=True)
    assert without_empty(again) == without_empty(value), (again, value)
    assert type(request).FromString(request.SerializeToString()) == request
    for group in request.resource_spans:
        plain(group.resource.attributes, found)
        assert "service.name" in [pair.key for pair in group.resource.attributes]
        for scope in group.scope_spans:
            assert scope.scope.name == "runner" and scope.scope.version and scope.spans, scope
            for span in scope.spans:
                check_span(span, found)


def without_empty(value):
    if isinstance(value, list):
        return [without_empty(v) for v in value]
    if not isinstance(value, dict):
        return value
    members = {k: without_empty(v) for k, v in value.items()}
    return {k: v for k, v in members.items() if v not in ([], {}) and (k, v) != ("code", 0)}


def main():
    kind = request_class()
    found = {"spans": [], "events": [], "attributes": set(), "kinds": set(), "requests": 0}
    for file in sys.argv[1:]:
        for line in pathlib.Path(file).read_text(encoding="utf-8").splitlines():
            check(line, kind(), found)
            found["requests"] += 1
    print(json.dumps(found, default=sorted))


if __name__ == "__main__":
    main()
