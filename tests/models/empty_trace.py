"""Traces without rows, for tests that write their own. A program reads the schema once: 170 statements take longer than
most of what a test then asks.
"""
import pathlib
import sqlite3

made = {}


def empty_trace(path, schema):
    """Writes a trace without rows, in the place of what was there; returns a connection to it. schema: the path of
    schema.sql. Nothing of a test need survive a crash."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    if schema in made:
        path.write_bytes(made[schema])
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("PRAGMA journal_mode = MEMORY")
    if schema not in made:
        connection.executescript(pathlib.Path(schema).read_text())
        made[schema] = path.read_bytes()
    return connection
