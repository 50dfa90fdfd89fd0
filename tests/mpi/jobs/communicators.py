#!/usr/bin/env python3
"""tests/apps/communicators.c makes communicators in every way and tells who is in each and what arrived on each: the trace
has the same members, messages and names. `--with connect` has halves of the world meet by a port, `--with threads` has
threads create communicators at once."""
import collections

import job

CREATORS = {"Comm_dup", "Comm_dup_with_info", "Comm_split", "Comm_split_type", "Comm_create", "Comm_create_group", "Cart_create",
            "Cart_sub", "Graph_create", "Dist_graph_create", "Dist_graph_create_adjacent", "Intercomm_create",
            "Intercomm_merge"}


def told(folder, ranks):
    """What the program says: ({label: {world rank: (rank, size, remote size)}}, Counter of messages, labels not seen made)."""
    members, messages, met = collections.defaultdict(dict), collections.Counter(), set()
    for rank in range(ranks):
        for line in open(folder / f"told.{rank}", encoding="ascii"):
            what, label, *numbers = line.split()
            numbers = [int(number) for number in numbers]
            if what == "message":
                messages[(label, *numbers)] += 1
                continue
            members[label][numbers[3]] = tuple(numbers[:3])
            if not numbers[4]:
                met.add(label)
    return members, messages, met


def check_messages(test, messages):
    found = collections.Counter()
    for row in test.query("SELECT c.name, m.src, m.dst, m.tag, m.bytes, m.recv_bytes FROM message m"
                          " JOIN communicator c ON c.id = m.comm"):
        job.expect_equal(row[5], row[4], f"bytes received of {row}")
        found[row[:5]] += 1
    differing = sorted((messages - found) + (found - messages))
    if differing:
        job.fail(f"{len(differing)} messages differ from what the program told, e.g. {differing[:5]}")
    job.expect_equal(test.query("SELECT rank, function, reason FROM unmatched LIMIT 5"), [], "operations without a partner")


def check_members(test, members, met):
    """Each group of each communicator once, with the world ranks that the program told."""
    found = collections.defaultdict(dict)
    n_groups = collections.Counter()
    for number, name, size, remote, known in test.query("SELECT id, name, size, remote, known FROM communicator"
                                                        " WHERE name NOT LIKE 'MPI_COMM_%'"):
        job.expect_equal(known, int(name not in met), f"known of {name}")
        remote_size = 0 if remote is None else test.value("SELECT size FROM communicator WHERE id = ?", remote)
        n_groups[name] += 1
        for rank, world in test.query("SELECT rank, world_rank FROM communicator_member WHERE communicator = ?", number):
            if world in found[name]:
                job.fail(f"rank {world} is twice in {name}")
            found[name][world] = (rank, size, remote_size)
    for label in members.keys() | found.keys():
        job.expect_equal(found.get(label), members.get(label), f"members of {label}")
        inter = any(remote_size > 0 for _, _, remote_size in members[label].values())
        job.expect_equal(n_groups[label], 2 if inter else 1, f"groups of {label}")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--with", dest="also", choices=["connect", "threads"]))
    test.record(test.program("communicators"), str(test.folder / "told"), *filter(None, [test.arguments.also]))
    test.expect_sound()
    members, messages, met = told(test.folder, test.ranks)
    check_members(test, members, met)
    check_messages(test, messages)
    doubtful = {name for name, in test.query("SELECT DISTINCT c.name FROM message m JOIN communicator c ON c.id = m.comm"
                                             " WHERE m.uncertain")}
    if not test.arguments.also == "threads":
        job.expect_equal(doubtful, met, "communicators with messages of uncertain order")
    job.expect_equal(test.query("SELECT name, function FROM communicator WHERE NOT known"), [(name, None) for name in met],
                     "communicators that nobody saw being made, and their function")
    creators = {name for name, in test.query("SELECT DISTINCT function FROM communicator WHERE function IS NOT NULL")}
    expected = {"MPI_" + name for name in CREATORS}
    expected |= {"MPI_Comm_create_from_group"} if any(label.startswith("session") for label in members) else set()
    expected |= {"MPI_Comm_accept"} if test.arguments.also == "connect" else set()
    if not expected <= creators:
        job.fail(f"no communicator made by {sorted(expected - creators)}")
    job.expect_equal(test.query("SELECT DISTINCT name FROM untracked WHERE affects_messages AND name NOT LIKE 'MPI_Session_%'"),
                     [], "untracked calls")
    print(f"{len(members)} communicators, {sum(messages.values())} messages, as the program told")


main()
