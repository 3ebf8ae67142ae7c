"""portable.py TOOLS JUDGED: as portable.mjs, by Python's re. A text that ends with a newline is left out: there, and there alone,
$ matches before it."""
import json
import re
import sys
import warnings

warnings.simplefilter("error")


def read(name):
    with open(name, encoding="utf-8") as file:
        return json.load(file)


tools, judged = read(sys.argv[1])["data"], read(sys.argv[2])


def patterns(schema):
    out = []
    for key, value in (schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ()):
        if key == "pattern" and isinstance(value, str):
            out.append(value)
        elif key == "patternProperties":
            out += value
        out += patterns(value)
    return out


properties, faults, pairs = {}, 0, 0
for row in tools:
    for pattern in patterns(row["tool"]["inputSchema"]) + patterns(row["tool"].get("outputSchema", {})):
        re.compile(pattern)
    if row["name"] == "probe":
        properties = row["tool"]["inputSchema"]["properties"]
for row in judged["rows"]:
    schema = properties[row["name"]]
    compiled = [re.compile(pattern) for pattern in patterns(schema)]
    for value, taken in zip(row["values"], row["taken"]):
        pairs += 1
        takes = len(value) >= schema.get("minLength", 0) and all(one.search(value) for one in compiled)
        if takes != taken and not value.endswith("\n"):
            faults += 1
            print(f"{row['name']}, {compiled[0].pattern}: {value!r} is {'' if taken else 'not '}taken by runner")
print(f"{pairs} values, {faults} faults")
sys.exit(1 if faults or pairs < 10000 else 0)
