"""What the reference of the whole run (reference_run.py) replays: a machine table, and programs of ranks. Seconds, bytes."""
from dataclasses import dataclass, field

from reference import bandwidth

NEVER = float("inf")
ALL, ROOT, OF_ROOT, LOWER, NOBODY = "all", "root", "of root", "lower", "nobody"  # whom a member of a collective waits for


class Table:
    """A machine table. classes: {(level, protocol)}."""

    def __init__(self, text):
        self.rows = {}
        for line in text.splitlines():
            words = line.split("#")[0].split()
            if len(words) == 6:
                level, protocol, quantity, n, value, _ = words
                self.rows[level, protocol, quantity, None if n == "-" else int(n)] = float(value)
        self.classes = {key[:2] for key in self.rows if key[2] == "bw"}
        self.knots = {of: sorted((key[3], value) for key, value in self.rows.items() if key[:3] == (*of, "bw")) for of in self.classes}
        self.is_b = any(key[2] == "injection" for key in self.rows)

    def class_of(self, level, size):
        """The protocol with the largest threshold that the size reaches; the first one serves smaller sizes, too."""
        order = sorted((self.rows.get((level, protocol, "threshold", None), 0), protocol)
                       for at, protocol in self.classes if at == level)
        return level, ([name for threshold, name in order if threshold <= size] or [order[0][1]])[-1]

    def value(self, of, quantity, absent):
        """A row of the class, else of its level."""
        of_level = self.rows.get((of[0], "any", quantity, None), absent)
        return self.rows.get((*of, quantity, None), of_level)

    def tau(self, of):
        return self.rows[*of, "tau", None]

    def wire(self, of):
        """The class of the largest messages, which limits all others between nodes."""
        return self.class_of(of[0], NEVER) if of[0] == "inter_node" else of

    def bw(self, of, n):
        return min(self.own_bw(of, n), self.own_bw(self.wire(of), n))

    def most(self, of):
        return min(self.own_most(of), self.own_most(self.wire(of)))

    def burst(self):
        """Bytes that a NIC's bucket holds, and the rate at which it lets them through."""
        return (self.rows.get(("inter_node", "any", "burst", None), 0),
                max((self.own_bw(of, 1) for of in self.classes if of[0] == "inter_node"), default=0))

    def backlog(self):
        """Bytes that stand before a NIC: of each other pair of ranks, of the same pair."""
        return [self.rows.get(("inter_node", "any", row, None), 0) for row in ("backlog", "backlog_pair")]

    def own_bw(self, of, n):
        knots = self.knots[of]
        if self.is_b and [knot[0] for knot in knots] == [1] and n > 1:
            return min(n * knots[0][1], self.own_most(of))
        return bandwidth(knots, n)

    def own_most(self, of):
        if self.is_b:
            return self.rows.get((*of, "injection", None), NEVER)
        return self.knots[of][-1][1]


@dataclass
class Message:
    src: int
    dst: int
    bytes: int
    synchronous: bool = False
    buffered: bool = False
    one_sided: bool = False  # no receive is posted


@dataclass
class Collective:
    """members: ranks. after: {rank: s}, from the arrival that it waits for to its exit."""
    dependence: str
    members: list
    after: dict
    root: int | None = None


@dataclass
class Step:
    """kind: send, receive, probe (of: message), wait (of: [(side, message)], [("member", collective)]), collective, begin (of:
    collective), spend (of: s). compute: s before a step that enters MPI, else None. A step without leaves goes on in its call."""
    kind: str
    of: object
    compute: float | None = None
    leaves: bool = False


@dataclass
class Strand:
    rank: int
    begin: float
    tail: float = 0.0
    steps: list = field(default_factory=list)
    functions: list = field(default_factory=list)  # of each step, for messages only

    def call(self, compute, *steps, function="MPI"):
        """Adds a call of steps (kind, of) after compute seconds outside MPI."""
        for i, (kind, of) in enumerate(steps):
            self.steps.append(Step(kind, of, compute if i == 0 else None, i == len(steps) - 1))
            self.functions.append(function)


@dataclass
class Program:
    places: list  # (node, socket) of each rank
    messages: list
    collectives: list
    strands: list


class Deadlock(Exception):
    """Holds {rank: function of the call that waits}."""
