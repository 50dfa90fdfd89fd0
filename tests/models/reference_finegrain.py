"""The model of fine-grained messages once more, as share/doc/MODELS.md has it: an event at a time, where the program has a
recursion.

Imported, no test of its own.
"""


def whole_s(arrivals, peers, size, tau, rate, queue):
    """When all whole buffers are sent: every thread joins, then one message after the other."""
    now = max(arrivals)
    for _ in range(peers):
        now += tau + size / rate
    return now + queue


def parts_s(arrivals, parts, peers, size, tau, rate, queue):
    """When all parts are sent: a clock that jumps to the next thread that is done, and a queue of parts to send."""
    size_of_bin = len(arrivals) // parts
    bins = [arrivals[i:i + size_of_bin] for i in range(0, len(arrivals), size_of_bin)]
    left = [len(threads) for threads in bins]
    events = sorted((time, part) for part, threads in enumerate(bins) for time in threads)
    free_at = 0.0
    for time, part in events:
        left[part] -= 1
        if left[part] == 0:
            begin = time if free_at < time else free_at
            free_at = begin + sum(tau + size / parts / rate for _ in range(peers)) + queue / parts
    assert not any(left)
    return free_at


def row_value(rows, level, protocol, quantity):
    for key in ((level, protocol), (level, "any"), ("any", "any")):
        if (*key, quantity, None) in rows:
            return rows[(*key, quantity, None)]
    return None


def knots(rows, level, protocol, quantity):
    return sorted((n, value) for (at, by, name, n), value in rows.items()
                  if (at, by, name) == (level, protocol, quantity) and n is not None)


def between(table, n):
    """Linear between knots, the end values outside."""
    if n <= table[0][0]:
        return table[0][1]
    for (left, low), (right, high) in zip(table, table[1:]):
        if n <= right:
            return low + (high - low) * (n - left) / (right - left)
    return table[-1][1]


def protocol_of(rows, level, size):
    used = {key[1] for key in rows if key[0] == level and key[2] in ("tau", "bw")}
    chosen = None
    for name in ("any", "short", "eager", "rendezvous"):
        if name in used and (chosen is None or size >= rows.get((level, name, "threshold", None), 0)):
            chosen = name
    return chosen


def costs(rows, level, interface, ppn, peers, size, parts):
    """(tau, rate, queue or requests) of whole buffers and of parts. rows: {(level, protocol, quantity, n): value}."""
    def message(quantity, bytes_, moved):
        protocol = protocol_of(rows, level, bytes_)
        used = [name for name in ("any", "short", "eager", "rendezvous") if (level, name, "tau", None) in rows]
        at = used.index(protocol)
        for name in (protocol,) if quantity == "tau_p2p" else (protocol, *reversed(used[:at]), *used[at + 1:]):
            tau = row_value(rows, level, name, quantity)
            if tau is not None:
                break
        return (rows[level, protocol, "tau", None] if tau is None else tau,
                between(knots(rows, level, protocol_of(rows, level, moved), "bw"), ppn) / ppn)

    def queue(n):
        steps = knots(rows, "any", "any", "queue_step")
        step = between(steps, n) if steps else 2 * rows.get(("any", "any", "gamma", None), 0)
        return step / 2 * n ** 2

    quantity = "tau_p2p" if interface in ("p2p", "persistent") else "tau_" + interface
    whole = (*message("tau_p2p", size, size), queue(peers))
    protocol = protocol_of(rows, level, size // parts)
    late = interface == "partitioned" and row_value(rows, level, protocol, "partitions_early") == 0
    tau, rate = message(quantity, *((0, size) if late else (size // parts, size // parts)))
    tau += (row_value(rows, level, protocol, "tau_thread") or 0) if parts > 1 and quantity == "tau_p2p" else 0
    rate *= 1 if quantity == "tau_p2p" else row_value(rows, level, "any", "rate_" + interface) or 1
    if quantity == "tau_p2p":
        once = queue(peers * parts)
    elif late:
        once = peers * (row_value(rows, level, "any", "tau_request") or 0)
    else:
        once = 0
    return whole, (tau, rate, once)


def predict(rows, level, interface, ppn, peers, size, parts, arrivals):
    """(BSP, fine-grained, bound) in s."""
    whole, part = costs(rows, level, interface, ppn, peers, size, parts)
    early = row_value(rows, level, protocol_of(rows, level, size // parts), "partitions_early")
    seen = [max(arrivals)] * len(arrivals) if interface == "partitioned" and early == 0 else arrivals
    return (whole_s(arrivals, peers, size, *whole), parts_s(seen, parts, peers, size, *part),
            max(arrivals) + peers * size / parts / part[1])
