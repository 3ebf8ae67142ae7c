"""The JSON lines that a run writes to stderr: the message of each, or of those whose
event begins with the first argument. Anything but JSON lines is an error.

workflow_lines.py EVENT FILE
"""
import json
import sys

event, path = sys.argv[1:3]
with open(path, encoding="utf-8") as f:
    for line in f:
        row = json.loads(line)
        if row["event"].startswith(event):
            print(row["message"])
