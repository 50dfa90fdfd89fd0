#!/usr/bin/env python3
"""Three pictures of a trace by sqlite3, pandas and matplotlib: an example to change, for what no report shows.

usage: plots.py TRACE.db [FOLDER]

Writes pairs.png (bytes from rank to rank), ranks.png (where the time of each rank goes) and sizes.png (messages by size)
into FOLDER, by default the working directory. Debian has what it needs as python3-pandas and python3-matplotlib. Each
function shows how SQL does the sums, so that traces of millions of messages are fine.
"""
import pathlib
import sqlite3
import sys

import matplotlib

matplotlib.use("Agg")  # files, no window
import matplotlib.pyplot as plt
import pandas as pd

# What MPI functions are for, by how their names begin; all others are called other.
KINDS = [("point-to-point", "Send Bsend Ssend Rsend Recv Mrecv Sendrecv Psend Precv Start Wait Test Probe Mprobe Parrived Pready"),
         ("collectives", "Barrier Bcast Gather Scatter Allgather Alltoall Reduce Allreduce Scan Exscan Neighbor"),
         ("one-sided", "Win Put Get Accumulate Rput Rget Raccumulate Fetch Compare"), ("files", "File")]


def read(trace, sql):
    """The rows of a query as a table with names; the trace is opened for reading alone."""
    with sqlite3.connect(f"{trace.resolve().as_uri()}?mode=ro", uri=True) as database:
        return pd.read_sql_query(sql, database)


def pairs(trace, axes):
    """Bytes from rank to rank, as a matrix; a logarithmic scale shows small messages beside large ones."""
    traffic = read(trace, "SELECT src, dst, sum(bytes) AS bytes FROM traffic GROUP BY src, dst")
    n_ranks = read(trace, "SELECT max(rank) + 1 AS n FROM process").n.fillna(0).astype(int)[0]
    matrix = traffic.pivot(index="src", columns="dst", values="bytes").reindex(index=range(n_ranks), columns=range(n_ranks))
    norm = matplotlib.colors.LogNorm() if (matrix > 0).any(axis=None) else None
    image = axes.imshow(matrix.where(matrix > 0).to_numpy(dtype=float), norm=norm, interpolation="nearest")
    axes.figure.colorbar(image, label="bytes")
    axes.set(title="Bytes from rank to rank", xlabel="to rank", ylabel="from rank")


def kind_of(function):
    """The kind of MPI_Allreduce is collectives, that of MPI_Isend point-to-point."""
    name = function.removeprefix("MPI_").removeprefix("I").capitalize()
    return next((kind for kind, starts in KINDS if name.startswith(tuple(starts.split()))), "other")


def ranks(trace, axes):
    """Time inside MPI by kind of call, and the rest of each rank's time, a bar a rank."""
    inside = read(trace, "SELECT rank, function, time_s FROM call_total")
    inside["kind"] = inside.function.map(kind_of)
    time = inside.pivot_table(index="rank", columns="kind", values="time_s", aggfunc="sum", fill_value=0)
    whole = read(trace, "SELECT rank, (end_ns - begin_ns) / 1e9 AS time_s FROM process").set_index("rank").time_s
    time = time.reindex(whole.index, fill_value=0)
    # Several threads may be inside MPI at once, so the rest may be nothing.
    time.insert(0, "outside MPI", (whole - time.sum(axis=1)).clip(lower=0))
    bottom = 0
    for kind in time:
        axes.bar(time.index, time[kind], bottom=bottom, width=1, label=kind)
        bottom = bottom + time[kind]
    axes.set(title="Where the time of each rank goes", xlabel="rank", ylabel="s")
    axes.legend(loc="lower right")


def sizes(trace, axes):
    """Messages by size, in powers of two, and their level."""
    rows = read(trace, "SELECT level, bytes, count(*) AS messages FROM message GROUP BY level, bytes")
    rows["bucket"] = [int(size).bit_length() for size in rows.bytes]
    counts = rows.pivot_table(index="bucket", columns="level", values="messages", aggfunc="sum", fill_value=0)
    bottom = 0
    for level in counts:
        axes.bar(counts.index, counts[level], bottom=bottom, label=level)
        bottom = bottom + counts[level]
    axes.set_xticks(list(counts.index), [f"{2 ** bucket - 1:,}" for bucket in counts.index], rotation=90)
    axes.set(title="Messages by size", xlabel="bytes, at most", ylabel="messages")
    if not counts.empty:
        axes.legend()


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    trace, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else ".")
    for plot in (pairs, ranks, sizes):
        figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
        plot(trace, axes)
        figure.savefig(folder / f"{plot.__name__}.png", dpi=120)
        plt.close(figure)
        print(folder / f"{plot.__name__}.png")


if __name__ == "__main__":
    main()
