"""JSON Schema, as much of draft 07 as the schemas of docs/schema use, without any
dependency. A keyword it does not know is an error of the schema, never ignored.

schema.py FILE…                 validate each file's JSON against docs/schema/envelope.json
schema.py --lines SCHEMA FILE   validate each line of the file against docs/schema/SCHEMA.json
"""
import json
import os
import re
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))
ENVELOPE = os.path.join(ROOT, "docs", "schema", "envelope.json")

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "null": lambda v: v is None,
}


def same(a, b):
    """Equality as JSON has it: 1 is not true."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


def is_number(v):
    return TYPES["number"](v)


class Validator:
    def __init__(self, root):
        self.root = root

    def errors(self, value, schema, path="$"):
        """Every violation as "path: what"; an empty list when the value is valid."""
        if schema is False:
            return [f"{path} may not be there"]
        out = []
        for keyword, rule in schema.items():
            if keyword not in KEYWORDS:
                raise ValueError(f"the schema has the unknown keyword {keyword!r}")
            out += KEYWORDS[keyword](self, value, rule, schema, path) or []
        return out

    def valid(self, value, schema):
        return not self.errors(value, schema)

    def ref(self, value, rule, _schema, path):
        target = self.root
        for name in rule.removeprefix("#/").split("/"):
            target = target[name]
        return self.errors(value, target, path)

    def properties(self, value, rule, _schema, path):
        if not isinstance(value, dict):
            return []
        return [e for key, sub in rule.items() if key in value for e in self.errors(value[key], sub, f"{path}.{key}")]

    def additional(self, value, rule, schema, path):
        if not isinstance(value, dict):
            return []
        extra = [key for key in value if key not in schema.get("properties", {})]
        if rule is False:
            return [f"{path}: unknown key {key!r}" for key in extra]
        return [e for key in extra for e in self.errors(value[key], rule, f"{path}.{key}")]

    def items(self, value, rule, _schema, path):
        if not isinstance(value, list):
            return []
        return [e for i, v in enumerate(value) for e in self.errors(v, rule, f"{path}[{i}]")]

    def all_of(self, value, rule, _schema, path):
        return [e for sub in rule for e in self.errors(value, sub, path)]

    def any_of(self, value, rule, _schema, path):
        if any(self.valid(value, sub) for sub in rule):
            return []
        return [e for sub in rule for e in self.errors(value, sub, path)]

    def one_of(self, value, rule, _schema, path):
        fitting = sum(self.valid(value, sub) for sub in rule)
        if fitting == 1:
            return []
        if fitting > 1:
            return [f"{path}: fits {fitting} alternatives, not one"]
        return [e for sub in rule for e in self.errors(value, sub, path)]

    def conditional(self, value, rule, schema, path):
        branch = "then" if self.valid(value, rule) else "else"
        return self.errors(value, schema.get(branch, {}), path)


def unless(fine, path, what):
    return [] if fine else [f"{path}: {what}"]


def check_type(_, value, rule, _schema, path):
    kinds = [rule] if isinstance(rule, str) else rule
    return unless(any(TYPES[kind](value) for kind in kinds), path, f"is {value!r:.80}, not {' or '.join(kinds)}")


def check_required(_, value, rule, _schema, path):
    return [f"{path}: {key} is missing" for key in rule if isinstance(value, dict) and key not in value]


def check_pattern(_, value, rule, _schema, path):
    return unless(not isinstance(value, str) or re.search(rule, value), path, f"{value!r:.80} does not match {rule}")


def nothing(*_):
    return []


KEYWORDS = {
    "$schema": nothing, "$id": nothing, "title": nothing, "description": nothing, "definitions": nothing,
    "then": nothing, "else": nothing,
    "$ref": Validator.ref,
    "type": check_type,
    "enum": lambda _, v, rule, _s, path: unless(any(same(v, r) for r in rule), path, f"{v!r:.80} is none of {rule}"),
    "const": lambda _, v, rule, _s, path: unless(same(v, rule), path, f"is {v!r:.80}, not {rule!r}"),
    "pattern": check_pattern,
    "minimum": lambda _, v, rule, _s, path: unless(not is_number(v) or v >= rule, path, f"{v} is below {rule}"),
    "maximum": lambda _, v, rule, _s, path: unless(not is_number(v) or v <= rule, path, f"{v} is above {rule}"),
    "minItems": lambda _, v, rule, _s, path: unless(not isinstance(v, list) or len(v) >= rule, path, "has too few items"),
    "maxItems": lambda _, v, rule, _s, path: unless(not isinstance(v, list) or len(v) <= rule, path, "has too many items"),
    "minLength": lambda _, v, rule, _s, path: unless(not isinstance(v, str) or len(v) >= rule, path, "is too short"),
    "maxLength": lambda _, v, rule, _s, path: unless(not isinstance(v, str) or len(v) <= rule, path, "is too long"),
    "uniqueItems": lambda _, v, rule, _s, path: unless(not (rule and isinstance(v, list)) or len({json.dumps(i) for i in v}) == len(v), path,
                                                       "has an item twice"),
    "propertyNames": lambda self, v, rule, _s, path: [e for key in v for e in self.errors(key, rule, f"{path}.{key}")] if isinstance(v, dict) else [],
    "dependencies": lambda _, v, rule, _s, path: [f"{path}: {key} needs {name}" for key, names in rule.items() if isinstance(v, dict) and key in v
                                                  for name in names if name not in v],
    "required": check_required,
    "properties": Validator.properties,
    "additionalProperties": Validator.additional,
    "items": Validator.items,
    "allOf": Validator.all_of,
    "anyOf": Validator.any_of,
    "oneOf": Validator.one_of,
    "not": lambda self, v, rule, _s, path: unless(not self.valid(v, rule), path, "is what it may not be"),
    "if": Validator.conditional,
}


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def envelope_errors(value):
    """Every violation of docs/schema/envelope.json."""
    root = read_json(ENVELOPE)
    return Validator(root).errors(value, root)


def check_lines(name, path):
    root, lines = read_json(os.path.join(ROOT, "docs", "schema", name + ".json")), 0
    with open(path, encoding="utf-8") as file:
        for lines, line in enumerate(file, 1):
            errors = Validator(root).errors(json.loads(line), root)
            if errors:
                sys.exit(f"{path}:{lines}: {errors}")
    print(lines)


def main():
    failed = False
    if sys.argv[1:2] == ["--lines"]:
        return check_lines(*sys.argv[2:])
    for path in sys.argv[1:]:
        for error in envelope_errors(read_json(path)):
            failed = True
            print(f"{path}: {error}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
