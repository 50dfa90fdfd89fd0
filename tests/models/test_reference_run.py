"""The reference of the whole run against values worked by hand, and against laws that hold for every program. Milliseconds here.

usage: test_reference_run.py
"""
import random
import unittest

from reference_program import ALL, Collective, Deadlock, LOWER, Message, OF_ROOT, Program, ROOT, Strand, Table
from reference_run import replay

MB, MS = 10 ** 6, 1e-3


def table(*rows, tau=0.0, protocol="rendezvous", bw=((1, 1e9), (2, 1e9))):
    lines = ["name hand", "source hand"]
    for level in ("intra_socket", "inter_socket", "inter_node"):
        lines += [f"{level} {protocol} tau - {tau} s", *(f"{level} {protocol} bw {n} {value} B/s" for n, value in bw)]
    return Table("\n".join([*lines, *rows]))


def progress(rule, protocol="rendezvous"):
    return f"intra_socket {protocol} progress - {rule} 1"


def blocking(direction, message):
    return (direction, message), ("wait", [(direction, message)])


class Case(unittest.TestCase):
    """A program by hand: self.ranks strands that begin at 0."""

    def begin(self, ranks, *messages, places=None):
        self.program = Program(places or [(0, 0)] * ranks, list(messages), [], [Strand(rank, 0.0) for rank in range(ranks)])
        self.strands = self.program.strands

    def call(self, rank, compute_ms, *steps, function="MPI"):
        self.strands[rank].call(compute_ms * MS, *steps, function=function)

    def check(self, machine, law="staircase", run=None, **ranks):
        """ranks: r0={part: ms}; parts that are not named are 0, computation aside."""
        for name in (law,) if isinstance(law, str) else law:
            done = replay(machine, self.program, name)
            if run is not None:
                self.assertAlmostEqual(done.run_s / MS, run, delta=1e-9)
            for rank, expected in ranks.items():
                found = done.ranks[int(rank[1:])]
                for part in ("late_sender", "late_receiver", "latency", "bandwidth", "contention", "progress", "collective_wait",
                             "collective_transfer", "other", *(expected.keys() & {"mpi", "computation", "transfer"})):
                    self.assertAlmostEqual(found[part + "_s"] / MS, expected.get(part, 0.0), delta=1e-9, msg=(name, rank, part, found))


LAWS = "staircase", "flow", "fair"


class ByHand(Case):
    def test_late_sender(self):
        self.begin(2, Message(0, 1, MB))
        self.call(0, 5, *blocking("send", 0))
        self.call(1, 1, *blocking("receive", 0))
        self.check(table(), LAWS, 6, r0={"mpi": 1, "bandwidth": 1, "computation": 5},
                   r1={"mpi": 5, "late_sender": 4, "bandwidth": 1, "transfer": 1})
        self.check(table(tau=2e-4), LAWS, 6.2, r0={"mpi": 1.2, "bandwidth": 1, "latency": 0.2},
                   r1={"mpi": 5.2, "late_sender": 4, "bandwidth": 1, "latency": 0.2})

    def test_late_receiver(self):
        self.begin(2, Message(0, 1, MB))
        self.call(0, 1, *blocking("send", 0))
        self.call(1, 5, *blocking("receive", 0))
        self.check(table(tau=2e-4), LAWS, 6.2, r0={"late_receiver": 4, "bandwidth": 1, "latency": 0.2},
                   r1={"bandwidth": 1, "latency": 0.2})
        self.check(table(tau=2e-4, protocol="any"), LAWS, 6.2, r0={"late_receiver": 4, "bandwidth": 1, "latency": 0.2},
                   r1={"bandwidth": 1, "latency": 0.2})
        # Eager: through at 2.2, long before the receive.
        self.check(table(tau=2e-4, protocol="eager"), LAWS, 5, r0={}, r1={})
        self.strands[1].steps[0].compute = 1.5 * MS
        self.check(table(tau=2e-4, protocol="eager"), LAWS, 2.2, r0={}, r1={"bandwidth": 0.5, "latency": 0.2})

    def test_buffer(self):
        self.begin(2, Message(0, 1, MB))
        self.call(0, 1, *blocking("send", 0))
        self.call(1, 5, *blocking("receive", 0))
        small = "intra_socket eager buffer - 250000 B"
        self.check(table(small, protocol="eager"), LAWS, 5, r0={"bandwidth": 0.75})
        self.check(table(small.replace("eager", "rendezvous")), LAWS, 6, r0={"late_receiver": 4, "bandwidth": 0.75}, r1={"bandwidth": 1})
        large = "intra_socket any buffer - 2000000 B"  # of the level: a rendezvous is over when it begins
        self.check(table(large, tau=2e-4), LAWS, 6.2, r0={"late_receiver": 4, "latency": 0.2}, r1={"bandwidth": 1, "latency": 0.2})
        self.check(table(large, protocol="eager"), LAWS, 5, r0={})

    def test_flags(self):
        for flags, r0 in (({"synchronous": True}, {"late_receiver": 4, "bandwidth": 1, "latency": 0.2}), ({"buffered": True}, {})):
            for protocol in ("eager", "rendezvous") if flags == {"buffered": True} else ("eager",):
                self.begin(2, Message(0, 1, MB, **flags))
                self.call(0, 1, *blocking("send", 0))
                self.call(1, 5, *blocking("receive", 0))
                self.check(table(tau=2e-4, protocol=protocol), LAWS, r0=r0)

    def two_pairs(self, places):
        self.begin(4, Message(0, 1, MB), Message(2, 3, MB), places=places)
        for rank in range(4):
            self.call(rank, 0.5 * (rank // 2), *blocking("receive" if rank % 2 else "send", rank // 2))

    def test_two_pairs_share(self):
        ends = [1.5, 1.5, 2.0, 2.0]
        for places, laws in (([(0, 0)] * 4, LAWS), ([(0, 0), (1, 0)] * 2, LAWS), ([(0, 0), (0, 1)] * 2, LAWS)):
            self.two_pairs(places)
            for law in laws:
                done = replay(table(), self.program, law)
                for rank, end in enumerate(ends):
                    found = done.ranks[rank]
                    self.assertAlmostEqual(found["run_s"] / MS, end, delta=1e-9)
                    self.assertAlmostEqual(found["bandwidth_s"] / MS, 1, delta=1e-9)
                    self.assertAlmostEqual(found["contention_s"] / MS, 0.5, delta=1e-9)
        self.two_pairs([(0, 0), (0, 0), (0, 1), (0, 1)])
        self.check(table(), LAWS, 1.5, r1={"bandwidth": 1}, r3={"bandwidth": 1})

    def test_laws_differ_at_a_senders_nic(self):
        """One node sends to two others: the receivers share nothing, the sender's NIC does."""
        self.begin(4, Message(0, 2, MB), Message(1, 3, MB), places=[(0, 0), (0, 0), (1, 0), (2, 0)])
        for rank in range(4):
            self.call(rank, 0, *blocking("receive" if rank > 1 else "send", rank % 2))
        self.check(table(), "staircase", 1, r2={"bandwidth": 1})
        self.check(table(), ("flow", "fair"), 2, r2={"bandwidth": 1, "contention": 1})
        # BW(2) = 1.6: flow reads it at n = 2, fair takes the largest there is but never more than BW(1).
        self.check(table(bw=((1, 1e9), (2, 1.6e9), (4, 3e9))), "flow", 1.25)
        self.check(table(bw=((1, 1e9), (2, 1.6e9), (4, 3e9))), "fair", 1)

    def test_levels_mixed(self):
        """T12: 1 and 2 send 1 MB each to 0, from its socket at 2 and from the other one at 1 GB/s."""
        self.begin(3, Message(1, 0, MB), Message(2, 0, MB), places=[(0, 0), (0, 0), (0, 1)])
        self.call(0, 0, ("receive", 0), ("receive", 1), ("wait", [("receive", 0), ("receive", 1)]))
        self.call(1, 0, *blocking("send", 0))
        self.call(2, 0, *blocking("send", 1))
        lines = Table("intra_socket any tau - 0 s\nintra_socket any bw 1 2e9 B/s\ninter_socket any tau - 0 s\ninter_socket any bw 1 1e9 B/s")
        # Together 1.5 GB/s, 0.75 each: both are through at 4/3.
        self.check(lines, ("staircase", "flow"), 4 / 3, r1={"bandwidth": 0.5, "contention": 4 / 3 - 0.5},
                   r2={"bandwidth": 1, "contention": 1 / 3}, r0={"bandwidth": 0.5, "contention": 4 / 3 - 0.5})
        # Half of the own rate each: 1 and 2 ms; nothing grows beyond BW(1) once the other is through.
        self.check(lines, "fair", 1.5, r1={"bandwidth": 0.5, "contention": 0.5}, r2={"bandwidth": 1, "contention": 0.5})

    def test_chain(self):
        self.begin(3, Message(0, 1, MB), Message(1, 2, MB))
        self.call(0, 4, *blocking("send", 0))
        self.call(1, 1, *blocking("receive", 0))
        self.call(1, 0, *blocking("send", 1))
        self.call(2, 1, *blocking("receive", 1))
        self.check(table(), LAWS, 6, r1={"late_sender": 3, "bandwidth": 2}, r2={"late_sender": 4, "bandwidth": 1})

    def overlapped(self, sender_ms, receiver_ms):
        """Both post at 0, compute, then wait."""
        self.begin(2, Message(0, 1, MB))
        for rank, (direction, compute) in enumerate((("send", sender_ms), ("receive", receiver_ms))):
            self.call(rank, 0, (direction, 0))
            self.call(rank, compute, ("wait", [(direction, 0)]))

    def test_progress(self):
        # Run, then what the sender and the receiver wait for, by the rule.
        for sender, receiver, ends in ((3, 0, (3, 4, 3, 4)), (0, 3, (3, 3, 4, 4)), (2, 3, (3, 3, 4, 4))):
            self.overlapped(sender, receiver)
            for rule, end in enumerate(ends):
                self.check(table(progress(rule)), LAWS, end)
        self.overlapped(3, 0)
        self.check(table(progress(1)), r0={"bandwidth": 1}, r1={"progress": 3, "bandwidth": 1})
        self.check(table(progress(2)), r1={"bandwidth": 1})
        self.overlapped(2, 3)
        self.check(table(progress(1)), r0={"bandwidth": 1}, r1={})
        self.check(table(progress(2)), r0={"progress": 1, "bandwidth": 1}, r1={"bandwidth": 1})
        self.check(table(progress(3)), run=4, r0={"progress": 1, "bandwidth": 1}, r1={"bandwidth": 1})

    def test_progress_stops_and_goes_on(self):
        """1 MB to a rank that is inside MPI for 0.4 ms first, computes 2 ms, and then waits; eager too."""
        for protocol in ("rendezvous", "eager"):
            self.begin(2, Message(0, 1, MB))
            self.call(0, 0, *blocking("send", 0))
            self.call(1, 0, ("receive", 0))
            self.call(1, 0, ("spend", 0.4 * MS))
            self.call(1, 2, ("wait", [("receive", 0)]))
            self.strands[0].tail = 10 * MS
            self.check(table(progress(2, protocol), protocol=protocol), LAWS, r1={"other": 0.4, "bandwidth": 0.6, "computation": 2})

    def test_progress_after_the_end(self):
        """The sender is in MPI_Finalize: eager bytes go on there."""
        self.begin(2, Message(0, 1, MB))
        self.call(0, 0, *blocking("send", 0))
        self.strands[0].tail = 2 * MS
        self.call(1, 0, *blocking("receive", 0))
        self.check(table(progress(1, "eager"), protocol="eager"), LAWS, 3, r1={"progress": 2, "bandwidth": 1})

    def collective(self, dependence, arrivals, after, root=None):
        self.begin(len(arrivals))
        self.program.collectives.append(Collective(dependence, list(range(len(arrivals))),
                                                   {rank: after * MS for rank in range(len(arrivals))}, root))
        for rank, arrival in enumerate(arrivals):
            self.call(rank, arrival, ("collective", 0))

    def test_collectives(self):
        self.collective(ALL, (1, 2, 5), 0.1)
        self.check(table(), LAWS, 5.1, r0={"collective_wait": 4, "collective_transfer": 0.1},
                   r1={"collective_wait": 3, "collective_transfer": 0.1}, r2={"collective_transfer": 0.1})
        self.collective(ROOT, (1, 2, 5), 0.1, 1)
        self.check(table(), "fair", 5.1, r0={"collective_wait": 1, "collective_transfer": 0.1}, r1={"collective_transfer": 0.1},
                   r2={"collective_transfer": 0.1})
        self.collective(OF_ROOT, (1, 2, 5), 0.1, 1)
        self.check(table(), "fair", 5.1, r0={"collective_transfer": 0.1}, r1={"collective_wait": 3, "collective_transfer": 0.1},
                   r2={"collective_transfer": 0.1})
        self.collective(LOWER, (1, 5, 2), 0.1)
        self.check(table(), "fair", 5.1, r0={"collective_transfer": 0.1}, r1={"collective_transfer": 0.1},
                   r2={"collective_wait": 3, "collective_transfer": 0.1})

    def test_nonblocking_barrier(self):
        self.begin(2)
        self.program.collectives.append(Collective(ALL, [0, 1], {0: 0.1 * MS, 1: 0.1 * MS}))
        for rank, (arrival, compute) in enumerate(((1, 1), (5, 1))):
            self.call(rank, arrival, ("begin", 0))
            self.call(rank, compute, ("wait", [("member", 0)]))
        self.check(table(), LAWS, 6, r0={"collective_wait": 3, "collective_transfer": 0.1}, r1={})

    def test_waitany(self):
        """The recorded call returned the later message, so the wait is for that one."""
        self.begin(2, Message(0, 1, MB), Message(0, 1, 2 * MB))
        self.call(0, 0, *blocking("send", 0))
        self.call(0, 4, *blocking("send", 1))
        self.call(1, 0, ("receive", 0))
        self.call(1, 0, ("receive", 1))
        self.call(1, 0.5, ("wait", [("receive", 1)]), function="MPI_Waitany")
        self.call(1, 0, ("wait", [("receive", 0)]), function="MPI_Waitany")
        self.check(table(), LAWS, 7, r1={"late_sender": 4.5, "bandwidth": 2})

    def test_waitall_counts_for_its_last(self):
        self.begin(3, Message(0, 2, MB), Message(1, 2, MB))
        self.call(0, 1, *blocking("send", 0))
        self.call(1, 4, *blocking("send", 1))
        self.call(2, 0, ("receive", 0))
        self.call(2, 0, ("receive", 1))
        self.call(2, 0, ("wait", [("receive", 0), ("receive", 1)]))
        self.check(table(), LAWS, 5, r2={"late_sender": 4, "bandwidth": 1})

    def test_probe(self):
        self.begin(2, Message(0, 1, MB))
        self.call(0, 3, *blocking("send", 0))
        self.call(1, 1, ("probe", 0))
        self.call(1, 0, *blocking("receive", 0))
        # Seen at 3.2; then the handshake takes another tau.
        self.check(table(tau=2e-4), LAWS, 4.4, r1={"late_sender": 2, "latency": 0.4, "bandwidth": 1},
                   r0={"late_receiver": 0.2, "latency": 0.2, "bandwidth": 1})

    def test_overheads_and_spends(self):
        rows = "intra_socket rendezvous overhead_send - 1e-4 s", "intra_socket any overhead_receive - 3e-4 s"
        self.begin(2, Message(0, 1, MB), Message(1, 0, MB))
        for rank in range(2):
            self.call(rank, 0, ("send", rank), ("receive", 1 - rank), ("wait", [("send", rank), ("receive", 1 - rank)]))
            self.call(rank, 1, ("spend", 0.5 * MS))
        # Receives take effect at 0.1, waits begin at 0.4; both messages share the socket from 0.1 to 2.1.
        self.check(table(*rows), LAWS, 2.1 + 1.5, r0={"other": 0.9, "bandwidth": 0.85, "contention": 0.85})

        self.begin(2, Message(0, 1, MB))
        self.call(0, 1, *blocking("send", 0))
        self.call(1, 0, *blocking("receive", 0))
        copied = "intra_socket eager overhead_send - 1e-4 s", "intra_socket eager overhead_send_byte - 2e-10 s/B"
        self.check(table(*copied, protocol="eager"), LAWS, 2, r0={"other": 0.3}, r1={"late_sender": 1, "bandwidth": 1})

    def test_one_sided(self):
        """A put begins with its call, and its origin waits for its delivery, whatever the other rank does."""
        self.begin(2, Message(0, 1, MB, one_sided=True))
        self.call(0, 1, *blocking("send", 0))
        self.strands[1].tail = 5 * MS
        for protocol in ("eager", "rendezvous"):
            self.check(table(tau=2e-4, protocol=protocol), LAWS, 5, r0={"bandwidth": 1, "latency": 0.2}, r1={})

    def test_threads(self):
        """A rank is inside MPI while one of its threads is, and has ended with the last of them."""
        self.begin(2, Message(0, 1, MB))
        self.strands.insert(1, Strand(0, 0.0))
        self.strands[0].call(0, *blocking("send", 0))
        self.strands[1].call(1 * MS, ("spend", 0.5 * MS))
        self.strands[1].tail = 2 * MS
        self.strands[2].call(0, *blocking("receive", 0))
        self.check(table(progress(1, "eager"), protocol="eager"), LAWS, 4, r1={"progress": 3, "bandwidth": 1})
        self.check(table(progress(1)), LAWS, 3.5, r1={"bandwidth": 1})

    def test_messages_without_bytes_and_to_oneself(self):
        self.begin(2, Message(0, 1, 0), Message(0, 0, MB))
        self.call(0, 0, ("receive", 1))
        self.call(0, 1, *blocking("send", 1))
        self.call(0, 0, ("wait", [("receive", 1)]))
        self.call(0, 1, *blocking("send", 0))
        self.call(1, 0, *blocking("receive", 0))
        for protocol in ("rendezvous", "eager"):
            self.check(table(progress(3, protocol), tau=2e-4, protocol=protocol), LAWS, 2.2, r1={"late_sender": 2, "latency": 0.2},
                       r0={"latency": 0.2} if protocol == "rendezvous" else {})

    def test_deadlock(self):
        self.begin(2, Message(0, 1, MB), Message(1, 0, MB))
        for rank, function in enumerate(("MPI_Send", "MPI_Ssend")):
            self.call(rank, 0, *blocking("send", rank), function=function)
            self.call(rank, 0, *blocking("receive", 1 - rank), function="MPI_Recv")
        with self.assertRaises(Deadlock) as raised:
            replay(table(), self.program)
        self.assertEqual(raised.exception.args[0], {0: "MPI_Send", 1: "MPI_Ssend"})
        replay(table(protocol="eager"), self.program)


if __name__ == "__main__":
    unittest.main()
