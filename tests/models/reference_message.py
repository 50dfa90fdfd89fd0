"""What becomes of a message under way, and of a token bucket that it passes, in the reference of the whole run (reference_run.py),
which asks them at each event. Seconds, bytes."""
import math

from reference import level_of
from reference_program import NEVER

LATER = 1e-13  # Orders what arrives at the same moment: answers, announcements, data.
PACKET, HEADER = 1448, 66  # Bytes of data and of headers of a packet.
CROSSING = 0.02  # How much longer the later one of two messages takes that cross, of its transfer alone.


class Underway:
    """What becomes of a message. segments: [(from, to, bytes that moved then)] between begin and last byte."""

    def __init__(self, message, places, table):
        self.message, self.table = message, table
        self.self_sent = message.src == message.dst
        self.left = message.bytes
        self.send_post = self.recv_post = self.begin = self.last_byte = self.taken = None
        # Of a handshake by steps: the announcement's arrival, whether the receiver took note of it, the answer's begin and
        # arrival, whether the sender took note of that; what both waited for a NIC.
        self.announced = self.agreed = self.answered = None
        self.noted, self.waits = [False, False], [0.0, 0.0]
        self.behind = None  # What its announcement, its answer stands behind until that is through.
        self.crossing = 0.0  # By how much its last byte comes later.
        self.by_steps, self.by_itself = False, False
        self.moved = False  # it has begun to move
        self.queued = 0.0  # of eager: its last byte is not through before
        self.segments = []
        self.of, self.tau, self.buffer, self.progress = None, 0.0, None, 0
        self.rendezvous = message.synchronous or self.self_sent
        if not self.self_sent:
            self.of = table.class_of(level_of(places, message.src, message.dst), message.bytes)
            # Begins with the later of both posts.
            self.rendezvous = not message.one_sided and (self.rendezvous or self.of[1] in ("rendezvous", "any"))
            self.tau = table.tau(self.of)
            self.buffer = table.value(self.of, "buffer", None)
            self.progress = int(table.value(self.of, "progress", 0))

    def overhead(self, direction):
        if self.self_sent:
            return 0.0
        a_byte = self.table.value(self.of, "overhead_send_byte", 0.0) if direction == "send" else 0.0
        return self.table.value(self.of, "overhead_" + direction, 0.0) + a_byte * self.message.bytes

    def take_steps(self, now, run):
        """A handshake by steps."""
        ends = self.message.src, self.message.dst
        if self.announced is None and self.behind is None and self.send_post is not None:
            self.queue(now, *ends, run)
        self.take_note(0, now, run)
        if self.agreed is None and self.noted[0] and self.recv_post is not None:
            self.agreed = now
            self.queue(now, *reversed(ends), run)
        self.take_note(1, now, run)
        if self.begin is None and self.noted[1]:
            self.begin = now
            if any((flow.message.dst, flow.message.src) == ends and flow.by_steps and flow.last_byte is None
                   and flow.begin is not None and flow.begin < now for flow in run.flows):
                self.crossing = CROSSING * self.message.bytes / self.table.bw(self.of, 1)

    def queue(self, now, src, dst, run):
        wait, self.behind = run.backlog(src, dst)
        if self.behind is None:
            self.leave(now + wait)

    def leave(self, at):
        """The announcement, or the answer, is on its way from then on."""
        self.behind = None
        if self.agreed is None:
            self.waits[0] = at - self.send_post
            self.announced = at + self.tau / 3 + LATER
        else:
            self.waits[1] = at - self.agreed
            self.answered = at + self.tau / 3

    def take_note(self, step, now, run):
        """Whoever needs to look for messages takes note when it does."""
        at, rank = ((self.announced, self.message.dst), (self.answered, self.message.src))[step]
        needs = self.progress & (2 if step == 0 else 1)
        if at is not None and at <= now and (not needs or run.polls[rank] > 0 or run.open[rank] == 0):
            self.noted[step] = True

    def arrived(self):
        """When what nobody has taken note of arrived, and where; None: there is nothing."""
        if self.answered is not None:
            return None if self.noted[1] else (self.answered, self.message.src)
        return None if self.announced is None or self.noted[0] else (self.announced, self.message.dst)

    def settle(self, now, run):
        """Notes what follows from the posts and from the bytes left."""
        posts = self.send_post, self.recv_post
        if self.begin is None and self.self_sent:
            if None not in posts:
                self.begin = self.agreed = self.last_byte = self.taken = max(posts)
        elif self.begin is None and self.by_steps:
            self.take_steps(now, run)
        elif self.begin is None and self.rendezvous:
            if None not in posts:
                self.agreed = max(posts)
                self.begin = self.agreed + self.tau
        elif self.begin is None and self.send_post is not None:
            wait, _ = run.backlog(self.message.src, self.message.dst)
            self.begin = self.send_post
            self.queued = now + wait + self.message.bytes / self.table.bw(self.of, 1) if wait > 0 else 0.0
        if self.begin is not None and self.begin <= now and not self.self_sent:
            if self.taken is None and self.left <= (self.buffer or 0):
                self.taken = now
            taken_over = self.of[0] == "inter_node" and self.buffer is not None and self.left <= self.buffer
            self.by_itself = self.by_itself or (taken_over and (self.by_steps or run.may_move(self)))
            if self.last_byte is None and self.left == 0:
                self.last_byte = now
                for flow in run.flows:
                    if flow.behind is self:
                        flow.leave(self.through())

    def through(self):
        return NEVER if self.last_byte is None else max(self.last_byte, self.queued) + self.crossing

    def delivered(self):
        if self.by_steps:
            return self.through() + self.tau / 3 + 2 * LATER
        return self.through() + (0 if self.rendezvous else self.tau + (2 * LATER if self.late else 0))

    def received(self):
        return NEVER if self.recv_post is None else max(self.recv_post, self.delivered())

    def sent(self):
        """Complete where the sender may go on."""
        if self.send_post is None:
            return NEVER
        if self.message.one_sided:
            return self.delivered()
        if self.message.buffered or (not self.rendezvous and self.buffer is None):
            return self.send_post
        return NEVER if self.taken is None else self.taken

    def seen(self):
        return NEVER if self.send_post is None else self.send_post + self.tau


class Bucket:
    """The token bucket of one direction of a node's NIC."""

    def __init__(self, table):
        self.room = self.tokens = table.burst()[0]
        self.table, self.empty, self.there, self.fills = table, False, set(), 0

    def pass_by(self, there, ranks):
        """These messages pass, of so many ranks."""
        if there != self.there:
            self.empty = self.tokens < 1
        self.there = there
        self.fills = self.table.bw(self.table.wire(("inter_node", None)), max(ranks, 1))

    def drain(self, size):
        """Takes out bytes that are no message's."""
        self.tokens = max(self.tokens - size, 0)
        self.empty = self.empty or self.tokens < 1

    def lasts(self, rates):
        """Seconds until it is empty."""
        surplus = sum(rates[k] for k in self.there) - self.fills
        return NEVER if self.empty or not self.there or surplus <= 0 else self.tokens / surplus

    def move(self, rates, now, until):
        seconds = until - now
        self.empty = self.empty or self.lasts(rates) <= seconds * (1 + 1e-12) + 2 * math.ulp(until)
        surplus = sum(rates[k] for k in self.there) - self.fills
        self.tokens = min(max(self.tokens - surplus * seconds, 0), self.room)
