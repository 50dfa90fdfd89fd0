"""When messages that are taken one after another are through, for the reference of the model serial.

Imported, no test of its own.
"""
import math


def gauss(n):
    """Points and weights of Gauss and Legendre on [0, 1]: Newton's method from cosines."""
    points = []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(100):
            below, here = 1.0, x
            for k in range(2, n + 1):
                below, here = here, ((2 * k - 1) * x * here - (k - 1) * below) / k
            slope = n * (x * here - below) / (x * x - 1)
            x -= here / slope
        points.append(((1 + x) / 2, 1 / ((1 - x * x) * slope * slope)))
    return points


POINTS = gauss(16)


def inverse(way, received):
    """When so much has come. way: (s, bytes) in ascending order."""
    for (begin_s, before), (end_s, after) in zip(way, way[1:]):
        if received <= after and after > before:
            return begin_s + (received - before) / (after - before) * (end_s - begin_s)
    return way[-1][0]


def share(span, t):
    """Of the orders, that in which it is over by t, from the first end of the span on."""
    first, half, last, messages = span
    early = (t - first) / (half - first) / 2 if half > first * (1 + 1e-12) else 0.5
    late = (t - half) / (last - half) / 2 if last > half * (1 + 1e-12) else 0.5 * (t >= half)
    between = min(early, 0.5) + min(max(late, 0), 0.5)
    if between == 1 or messages == 1:
        return between
    return (1 + (messages - 2) * between) / messages


def mean_latest(spans, recv_s, pieces=False):
    """The mean of the largest of recv_s and a value of each span (first, half, last, messages). pieces: 16 points between each two
    ends, which is exact up to 31 spans; else 16 in all."""
    low, high = (max([recv_s, *(span[end] for span in spans)]) for end in (0, 2))
    ends = {end for _, half, last, _ in spans for end in (half, last) if end > low}
    knots = sorted({low, high, *ends}) if pieces else [low, high]
    mean_s = high
    for begin, end in zip(knots, knots[1:]):
        for x, weight in POINTS:
            t = begin + x * (end - begin)
            mean_s -= weight * (end - begin) * math.prod(share(span, t) for span in spans if span[2] > low)
    return mean_s
