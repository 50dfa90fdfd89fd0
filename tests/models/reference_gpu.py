"""Paths between GPUs once more, as share/doc/MODELS.md has them: rules for a message, where the program has lines.

Imported, no test of its own.
"""
import math

PATHS = ["gpudirect", "3-step", "extra-message", "duplicate-pointer"]


def parse(text):
    """{(level, protocol, quantity): value} of a table whose bandwidths have n = 1 alone."""
    rows = [line.split() for line in text.splitlines()[2:] if line and not line.startswith("#")]
    return {(level, protocol, quantity): float(value) for level, protocol, quantity, _, value, *_ in rows}


def protocol_of(table, level, size):
    if (level, "any", "tau") in table:
        return "any"
    return max((table.get((level, p, "threshold"), 0), p) for p in ("short", "eager", "rendezvous")
               if (level, p, "tau") in table and (p == "short" or table[level, p, "threshold"] <= size))[1]


def rate(table, level, protocol, name, limit, n):
    """The bytes per second of each of n that send at once."""
    return min(n * table[level, protocol, name], table.get((level, protocol, limit), math.inf)) / n


def path_s(table, path, level, size, messages, duplicate, gpus, ppn, whole=False):
    if path == "gpudirect":
        return messages * table[level, "any", "tau_gpu"] + size / rate(table, level, "any", "bw_gpu", "injection_gpu", gpus)
    team = ppn // gpus if path in ("extra-message", "duplicate-pointer") else 1
    one = size // (messages * (1 if whole else team))
    protocol = protocol_of(table, level, one)
    each = -(-messages // team) if whole else messages
    time = each * table[level, protocol, "tau"]
    time += (size / messages * each if whole else size / team) / rate(table, level, protocol, "bw", "injection", gpus * team)
    once = size * (1 - duplicate) + size / messages * duplicate
    for way in ("from", "to"):
        time += table["intra_socket", "any", f"tau_{way}_gpu"] + once / table["intra_socket", "any", f"bw_{way}_gpu"]
    if path == "extra-message":
        near = protocol_of(table, "intra_socket", int(round(once / team, 6)))
        for _ in range(2 * (team - 1)):
            time += table["intra_socket", near, "tau"] + once / team / table["intra_socket", near, "bw"]
    return time
