"""asked.py: the approvals that are pending in the state directory of this folder, as an agent finds them: in the database."""
import sqlite3

for row in sqlite3.connect("state/runner/runs.db").execute("SELECT id FROM approvals WHERE state = 'pending'"):
    print(row[0])
