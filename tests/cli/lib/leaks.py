"""leaks: is there anything of a secret in files, in any form?

    python3 leaks.py SECRET FILE|FOLDER…

Prints where, and which bytes; the status is 1 then. It knows nothing of how runner finds them: the forms are those of
Python's encoders. A beginning of 6 bytes of a form is enough.
"""
import base64
import json
import os
import sys
import urllib.parse

LEAST = 6


def base64_forms(value):
    """The digits that the value alone decides, wherever it begins."""
    for before in range(3):
        text = base64.b64encode(b"\0" * before + value).rstrip(b"=")
        first = -(-before * 8 // 6)
        yield text[first:(before + len(value)) * 8 // 6]


def forms(value):
    text = value.decode()
    yield value
    for line in value.splitlines():
        yield line.strip()
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
    for encoded in urllib.parse.quote(text), urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text):
        yield encoded.encode()
        yield encoded.encode().lower()
    for form in base64_forms(value):
        yield form
        yield form.replace(b"+", b"-").replace(b"/", b"_")


def windows(value):
    """Pieces of LEAST bytes, each once."""
    return {form[i:i + LEAST] for form in forms(value) if len(form) >= LEAST for i in range(len(form) - LEAST + 1)}


def files(paths):
    for path in paths:
        if not os.path.isdir(path):
            yield path
        for folder, _, names in os.walk(path):
            yield from (os.path.join(folder, name) for name in names)


def main():
    pieces, found = windows(sys.argv[1].encode()), 0
    for path in files(sys.argv[2:]):
        if not os.path.isfile(path):
            continue
        text = open(path, "rb").read()
        for piece in sorted(pieces):
            at = text.find(piece)
            if at >= 0:
                print(path, piece, text[max(0, at - 60):at + 60])
                found = 1
                break
    sys.exit(found)


main()
