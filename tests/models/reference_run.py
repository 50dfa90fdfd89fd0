"""The whole run once more, written from the page of definitions (share/doc/MODELS.md, Whole run) as plainly as possible and as
slowly as it likes: `mpistair replay` is held against it. Seconds, bytes.

At each event all rates are computed anew; what a rank's time goes to follows at the end from the log of its messages.
"""
import math

from reference import LEVELS
from reference_message import Bucket, HEADER, LATER, PACKET, Underway
from reference_program import ALL, Deadlock, LOWER, NEVER, NOBODY, OF_ROOT, ROOT

PARTS = ("computation", "late_sender", "late_receiver", "latency", "bandwidth", "contention", "queue", "progress",
         "collective_wait", "collective_transfer", "other")
TRANSFER = ("latency", "bandwidth", "contention", "queue", "progress")


class Run:
    """One replay. law: staircase, flow, fair. rates: [(from, to, {message number: B/s})]."""

    def __init__(self, table, program, law):
        self.table, self.program, self.law = table, program, law
        self.places = program.places
        self.flows = [Underway(message, program.places, table) for message in program.messages]
        for flow in self.flows:
            flow.late = law == "flow" and any(table.backlog()) and not flow.self_sent and flow.of[0] == "inter_node"
            flow.by_steps = flow.late and flow.rendezvous
        self.now, self.rates = 0.0, []
        self.calls = [0] * len(self.places)  # strands inside MPI, by rank
        self.polls = [0] * len(self.places)  # strands that wait in MPI, by rank
        self.open = [sum(strand.rank == rank for strand in program.strands) for rank in range(len(self.places))]
        self.waits = []  # (rank, from, to, operations)
        self.arrivals = [{} for _ in program.collectives]
        ends = [(place[0], end) for place in self.places for end in ("src", "dst")]
        self.buckets = {end: Bucket(table) for end in ends} if law == "flow" and table.burst()[0] > 0 else {}
        self.parts = [dict.fromkeys(PARTS, 0.0) for _ in self.places]
        self.ends = [0.0] * len(self.places)
        self.at = [None] * len(program.strands)  # the step of each strand

    def inside(self, rank):
        return self.calls[rank] > 0 or self.open[rank] == 0

    # When something that a strand waits for is there, as far as is known now; NEVER: not known.

    def complete(self, operation, rank):
        kind, k = operation
        if kind == "member":
            return self.exit(k, rank)
        return self.flows[k].sent() if kind == "send" else self.flows[k].received()

    def needed(self, k, rank):
        """The members whose arrival a member of collective k depends on, itself first."""
        collective = self.program.collectives[k]
        members = {ALL: collective.members, ROOT: [collective.root], NOBODY: [],
                   OF_ROOT: collective.members if rank == collective.root else [],
                   LOWER: collective.members[:collective.members.index(rank)]}[collective.dependence]
        return [rank, *members]

    def last_arrival(self, k, rank):
        return max(self.arrivals[k].get(member, NEVER) for member in self.needed(k, rank))

    def exit(self, k, rank):
        return self.last_arrival(k, rank) + self.program.collectives[k].after[rank]

    # What strands do. Each yields a function that says when it may go on.

    def go(self, number, strand):
        rank, parts = strand.rank, self.parts[strand.rank]
        def sleep(until):
            return lambda: until
        yield sleep(strand.begin)
        for i, step in enumerate(strand.steps):
            if step.compute is not None:
                yield sleep(self.now + step.compute)
                parts["computation"] += step.compute
                self.calls[rank] += 1
                self.go_on(rank)
            self.at[number] = i
            begin = self.now
            if step.kind in ("send", "receive"):
                flow = self.flows[step.of]
                if step.kind == "send":
                    flow.send_post = begin
                else:
                    flow.recv_post = begin
                flow.settle(begin, self)
                yield sleep(begin + flow.overhead(step.kind))
                parts["other"] += self.now - begin
            elif step.kind == "wait":
                yield from self.look(rank, lambda: max(self.complete(operation, rank) for operation in step.of))
                self.waits.append((rank, begin, self.now, step.of))
            elif step.kind == "probe":
                yield from self.look(rank, self.flows[step.of].seen)
                late = self.before(begin, self.now, self.flows[step.of].send_post)
                parts["late_sender"] += late
                parts["latency"] += self.now - begin - late
            elif step.kind == "spend":
                yield from self.look(rank, sleep(begin + step.of))
                parts["other"] += self.now - begin
            else:
                self.arrivals[step.of][rank] = begin
                if step.kind == "collective":
                    yield from self.look(rank, lambda: self.exit(step.of, rank), is_call=True)
                    self.divide_collective(rank, begin, self.now, step.of)
            if step.leaves:
                self.calls[rank] -= 1
        yield sleep(self.now + strand.tail)
        parts["computation"] += strand.tail
        self.ends[rank] = max(self.ends[rank], self.now)
        self.open[rank] -= 1
        if self.open[rank] == 0:
            self.go_on(rank)
            self.take_all(rank)

    def go_on(self, rank):
        """What stood still without the rank moves now, and needs it no longer where its transport takes it over."""
        for flow in self.flows:
            if flow.begin is not None and flow.begin <= self.now and rank in (flow.message.src, flow.message.dst):
                flow.settle(self.now, self)

    def look(self, rank, until, is_call=False):
        """Waits inside MPI, where the rank looks for what arrives, in that order; a call that has nothing to wait for need not."""
        if not is_call and until() <= self.now:
            return
        self.polls[rank] += 1
        self.take_all(rank)
        yield until
        self.polls[rank] -= 1

    def take_all(self, rank):
        there = [(flow.arrived(), flow) for flow in self.flows if flow.by_steps]
        for at, flow in sorted([(at, flow) for at, flow in there if at is not None], key=lambda found: found[0][0]):
            if at[1] == rank and at[0] <= self.now:
                flow.settle(self.now, self)

    # What messages do.

    def may_move(self, flow):
        if flow.by_itself:
            return True
        needs = {0: (), 1: (flow.message.src,), 2: (flow.message.dst,), 3: (flow.message.src, flow.message.dst)}
        return all(self.inside(rank) for rank in needs[flow.progress])

    def staircase(self, moving, levels, found):
        by_receiver = {}
        for k in moving:
            if self.flows[k].of[0] in levels:
                by_receiver.setdefault(self.flows[k].message.dst, []).append(k)
        def group(rank):
            return self.places[rank][0] if "inter_node" in levels else self.places[rank]
        for rank, mine in by_receiver.items():
            n = sum(group(other) == group(rank) for other in by_receiver)
            rate = 0.0
            for level in levels:
                of_level = [self.flows[k].of for k in mine if self.flows[k].of[0] == level]
                if of_level:
                    mixed = len(of_level) / sum(1 / self.table.bw(of, n) for of in of_level)
                    rate += len(of_level) / len(mine) * mixed
            for k in mine:
                found[k] = rate / (n * len(mine))

    def through_nics(self, moving, found):
        """flow, between nodes."""
        between = [k for k in moving if self.flows[k].of[0] == "inter_node"]
        def at(node, end):
            there = [j for j in between if self.places[getattr(self.flows[j].message, end)][0] == node]
            return there, len({getattr(self.flows[j].message, end) for j in there})
        for k in between:
            if self.buckets and not self.flows[k].moved:
                self.drain_headers(self.flows[k].message)
            self.flows[k].moved = True
        for (node, end), bucket in self.buckets.items():
            there, n = at(node, end)
            bucket.pass_by(set(there), n)
        for k in between:
            found[k] = NEVER
            for end in ("src", "dst"):
                node = self.places[getattr(self.flows[k].message, end)][0]
                there, n = at(node, end)
                rate = 1 / sum(1 / self.table.bw(self.flows[j].of, n) for j in there)
                if self.buckets and not self.buckets[node, end].empty:
                    rate = max(rate, self.table.burst()[1] / len(there))
                found[k] = min(found[k], rate)

    def drain_headers(self, message):
        """Beyond those that the wire's rate counts, and an acknowledgement the other way for every second packet."""
        packets = message.bytes / PACKET
        src, dst = self.places[message.src][0], self.places[message.dst][0]
        for end, node, other in (("src", src, dst), ("dst", dst, src)):
            self.buckets[node, end].drain(HEADER * (math.ceil(packets) - packets))
            self.buckets[other, end].drain(HEADER * math.ceil(packets / 2))

    def backlog(self, rank, other):
        """Seconds that what leaves a rank for another one now waits for the NIC of its node, and the message of the same
        ranks that it stands behind until that is through, or None."""
        (most, most_own), node = self.table.backlog(), self.places[rank][0]
        if not (most or most_own) or self.law != "flow" or self.places[other][0] == node:
            return 0.0, None
        waiting = {}
        for flow in self.flows:
            begun = not flow.self_sent and flow.begin is not None and flow.begin <= self.now and flow.last_byte is None
            if (begun and flow.of[0] == "inter_node" and self.places[flow.message.src][0] == node and self.may_move(flow)
                    and flow.left > 1):
                waiting.setdefault((flow.message.src, flow.message.dst), []).append(flow)
        if not waiting:
            return 0.0, None
        n_ranks = len({pair[0] for pair in waiting})
        mine = waiting.pop((rank, other), [])
        own = sum(flow.left for flow in mine)
        behind = max(mine, key=lambda flow: flow.left) if mine and own <= most_own else None
        own = min(own, most_own)
        ahead = own + sum(min(sum(flow.left for flow in flows), max(most, own)) for flows in waiting.values())
        rate = self.table.bw(self.table.wire(("inter_node", None)), n_ranks)
        if not self.buckets:
            return ahead / rate, behind
        return max(ahead / max(rate, self.table.burst()[1]), (ahead - self.buckets[node, "src"].tokens) / rate), behind

    def fair(self, moving, found):
        def at(k, end):
            place = self.places[getattr(self.flows[k].message, end)]
            return place[0] if self.flows[k].of[0] == "inter_node" else place
        for k in moving:
            of = self.flows[k].of
            between = of[0] == "inter_node"
            others = [j for j in moving if (self.flows[j].of[0] == "inter_node") == between]
            shares = [self.table.most(of) / sum(at(j, end) == at(k, end) for j in others)
                      for end in (("src", "dst") if between else ("dst",))]
            found[k] = min(*shares, self.table.bw(of, 1))

    def rates_now(self):
        """{message: B/s} of what is under way; 0 where it stands still."""
        started = [k for k, flow in enumerate(self.flows)
                   if flow.begin is not None and flow.begin <= self.now and flow.last_byte is None]
        moving = [k for k in started if self.may_move(self.flows[k])]
        found = dict.fromkeys(started, 0.0)
        if self.law == "fair":
            self.fair(moving, found)
        else:
            self.staircase(moving, LEVELS[:2], found)
            if self.law == "flow":
                self.through_nics(moving, found)
            else:
                self.staircase(moving, LEVELS[2:], found)
        return found

    def move(self, rates, until):
        """Moves what moves; what ends at `until` ends there exactly."""
        for bucket in self.buckets.values():
            bucket.move(rates, self.now, until)
        for k, rate in rates.items():
            flow = self.flows[k]
            left = max(flow.left - rate * (until - self.now), 0)
            for mark in (flow.buffer or 0, 0):
                if abs(left - mark) <= rate * (1e-12 * (until - self.now) + math.ulp(until)):
                    left = mark
            moved, flow.left = flow.left - left, left
            flow.segments.append((self.now, until, moved))

    def next_event(self, rates, conditions):
        times = [condition() for condition in conditions]
        times += [at for flow in self.flows for at in (flow.begin, flow.announced, flow.answered)
                  if at is not None and at > self.now]
        times += [self.now + bucket.lasts(rates) for bucket in self.buckets.values()]
        for k, rate in rates.items():
            flow = self.flows[k]
            if rate > 0:
                times.append(self.now + flow.left / rate)
                if flow.taken is None and flow.left > (flow.buffer or 0):
                    times.append(self.now + (flow.left - (flow.buffer or 0)) / rate)
        return min(times)

    def replay(self):
        """Returns self, with `run_s` and `ranks`."""
        strands = {number: self.go(number, strand) for number, strand in enumerate(self.program.strands)}
        waiting = {number: next(strand) for number, strand in strands.items()}
        while waiting:
            self.settle(strands, waiting)
            if not waiting:
                break
            rates = self.rates_now()
            until = self.next_event(rates, waiting.values())
            if until == NEVER:
                raise Deadlock({self.program.strands[number].rank: self.program.strands[number].functions[self.at[number]]
                                for number in waiting})
            assert until > self.now, "time stands still"
            self.move(rates, until)
            self.rates.append((self.now, until, rates))
            self.now = until
        for wait in self.waits:
            self.divide_wait(*wait)
        self.sum_up()
        return self

    def settle(self, strands, waiting):
        """Lets every strand go on that may, until none can at this time."""
        gone = True
        while gone:
            gone = False
            for flow in self.flows:
                flow.settle(self.now, self)
            for number, condition in list(waiting.items()):
                if condition() <= self.now:
                    gone = True
                    try:
                        waiting[number] = next(strands[number])
                    except StopIteration:
                        del waiting[number]

    # Where time goes.

    @staticmethod
    def before(begin, end, at):
        """The part of [begin, end] before `at`."""
        return max(0.0, min(end, at) - begin)

    @staticmethod
    def common(begin, end, low, high):
        return max(0.0, min(end, high) - max(begin, low))

    def divide_collective(self, rank, begin, end, k):
        wait = self.before(begin, end, self.last_arrival(k, rank))
        self.parts[rank]["collective_wait"] += wait
        self.parts[rank]["collective_transfer"] += end - begin - wait

    def divide_steps(self, begin, end, flow, found):
        """Divides a handshake by steps; returns how long one waited for a rank to look for messages."""
        begin, through = max(begin, flow.send_post, flow.recv_post), flow.through()
        announced = flow.announced - LATER
        pieces = {"queue": [(flow.send_post, flow.send_post + flow.waits[0]), (flow.agreed, flow.agreed + flow.waits[1])],
                  "latency": [(flow.send_post + flow.waits[0], announced), (flow.agreed + flow.waits[1], flow.answered),
                              (through, through + flow.tau / 3)],
                  "progress": [(announced, flow.agreed), (flow.answered, flow.begin)]}
        times = {part: sum(self.common(begin, end, *piece) for piece in of_part) for part, of_part in pieces.items()}
        found["queue"], found["latency"] = times["queue"], times["latency"]
        return times["progress"]

    def divide_wait(self, rank, begin, end, operations):
        if end <= begin:
            return
        kind, k = next(operation for operation in operations if self.complete(operation, rank) >= end * (1 - 1e-12))
        if kind == "member":
            self.divide_collective(rank, begin, end, k)
            return
        flow, parts, found = self.flows[k], self.parts[rank], {}
        needs_receive = kind == "receive" or flow.rendezvous
        late = "receiver" if needs_receive and flow.recv_post > flow.send_post else "sender"
        found["late_" + late] = self.before(begin, end, max(flow.send_post, flow.recv_post if needs_receive else 0.0))
        latest = flow.agreed if flow.rendezvous else flow.through()
        found["queue"] = 0.0 if flow.rendezvous or flow.last_byte is None else self.common(begin, end, flow.last_byte, latest)
        found["latency"] = self.common(begin, end, latest, latest + flow.tau)
        stopped = 0.0
        if flow.by_steps:
            stopped = self.divide_steps(begin, end, flow, found)
        found["progress"] = stopped + sum(self.common(begin, end, *segment[:2]) for segment in flow.segments if segment[2] == 0)
        rest = end - begin - sum(found.values())
        moved = sum(size * self.common(begin, end, low, high) / (high - low) for low, high, size in flow.segments if high > low)
        found["bandwidth"] = min(rest, moved / self.table.bw(flow.of, 1)) if flow.of else 0.0
        found["contention"] = rest - found["bandwidth"]
        for part, time in found.items():
            parts[part] += time

    def sum_up(self):
        begins = [min(strand.begin for strand in self.program.strands if strand.rank == rank) for rank in range(len(self.places))]
        self.run_s = max(self.ends) - min(begins)
        self.ranks = []
        for parts, begin, end in zip(self.parts, begins, self.ends):
            run = end - begin
            self.ranks.append({"run_s": run, "mpi_s": run - parts["computation"],
                               "transfer_s": sum(parts[part] for part in TRANSFER),
                               **{part + "_s": time for part, time in parts.items()}})


def replay(table, program, law="staircase"):
    return Run(table, program, law).replay()
