"""The models of postal, max-rate, node-aware, staircase and flow once more, written from the page of definitions as plainly as possible and as slowly as it likes: what
`mpistair predict` gives for random patterns is held against this. Seconds, bytes. Papers are named as in share/doc/MODELS.md."""

import math

LEVELS = ("intra_socket", "inter_socket", "inter_node")


def level_of(places, src, dst):
    if places[src][0] != places[dst][0]:
        return "inter_node"
    return "intra_socket" if places[src][1] == places[dst][1] else "inter_socket"


def protocol_of(machine, level, size):
    return max((threshold, name) for name, (threshold, _, _) in machine[level].items() if threshold <= size)[1]


def bandwidth(knots, n):
    below = max((knot for knot in knots if knot[0] <= n), default=knots[0])
    above = min((knot for knot in knots if knot[0] >= n), default=knots[-1])
    if below[0] == above[0]:
        return below[1]
    return below[1] + (above[1] - below[1]) * (n - below[0]) / (above[0] - below[0])


def torus_links(sizes, per_router, src, dst):
    """The links from one position to another in order, a link by the routers at its ends and its direction."""
    def router(position):
        coordinates, rest = [], position // per_router
        for size in sizes:
            coordinates.append(rest % size)
            rest //= size
        return coordinates

    here, there, links = router(src), router(dst), []
    for d, size in enumerate(sizes):
        up, down = (there[d] - here[d]) % size, (here[d] - there[d]) % size
        for _ in range(min(up, down)):
            link = tuple(here), d, up <= down
            here[d] = (here[d] + (1 if up <= down else -1)) % size
            links.append(link)
    return links


def fat_tree_links(children, parents, src, dst):
    """Switches by level, the parents chosen so far, and the subtree; links by the lower switch, parent and direction."""
    path, subtree = [], 1
    while src // subtree != dst // subtree:
        subtree *= children[len(path)]
        path.append(dst // math.prod(parents[:len(path)]) % parents[len(path)])
    links = []
    for level in range(1, len(path)):
        below = math.prod(children[:level])
        links += [(level, tuple(path[:level + 1]), end // below, end == src) for end in (src, dst)]
    return links


def dragonfly_links(groups, routers, global_links, per_router, src, dst):
    (a, s), (b, t) = (divmod(node // per_router, routers) for node in (src, dst))
    if a == b:
        return [("local", a, s, t)] if s != t else []
    ports = [[k for k in range(routers * global_links // (groups - 1) * (groups - 1))
              if [g for g in range(groups) if g != one][k % (groups - 1)] == other] for one, other in ((a, b), (b, a))]
    chosen = dst % len(ports[0])
    leave, enter = ports[0][chosen] // global_links, ports[1][chosen] // global_links
    return [link for link in (("local", a, s, leave), ("global", a, b, chosen), ("local", b, enter, t))
            if link[0] == "global" or link[2] != link[3]]


def cube_load(nodes, messages):
    """B7's l. nodes: of each rank."""
    order = sorted(set(nodes))
    edge = next(edge for edge in range(1, 1000) if edge ** 3 >= math.ceil(len(order) / 2))
    place = {node: (i // 2 % edge, i // 2 // edge % edge, i // 2 // edge ** 2) for i, node in enumerate(order)}
    between = [(nodes[src], nodes[dst], size) for src, dst, size in messages if nodes[src] != nodes[dst]]
    volume = sum(size for *_, size in between)
    hops = sum(size * sum(abs(x - y) for x, y in zip(place[a], place[b])) for a, b, size in between) / volume
    return 2 * hops ** 3 * (volume / len(nodes)) * (len(nodes) / len(order))


class Reference:
    """machine: {level: {protocol: (threshold, tau, [(n, bw), ...])}}; places: [(node, socket)]; injection: {protocol: B/s}
    between nodes; buffer: bytes that the transport takes."""

    def __init__(self, machine, places, messages, injection, buffer):
        self.machine, self.ranks, self.injection, self.buffer = machine, range(len(places)), injection, buffer
        self.repetitions = 1
        self.places = places
        self.messages = [(src, dst, size, level_of(places, src, dst)) for src, dst, size in messages if src != dst]

    def entry(self, size, level):
        return self.machine[level][protocol_of(self.machine, level, size)]

    def of(self, rank, side, levels):
        return [(size, level) for *ends, size, level in self.messages if ends[side] == rank and level in levels]

    def tau(self, messages):
        return sum(self.entry(*message)[1] for message in messages)

    def rate(self, messages, n):
        """BW_i(n) of messages of one level: V over the time that its bytes take, each at its protocol's bandwidth."""
        volume = sum(size for size, _ in messages)
        return volume / sum(size / bandwidth(self.entry(size, level)[2], n) for size, level in messages if size > 0)

    def group(self, rank, levels):
        same = (lambda a, b: a[0] == b[0]) if "inter_node" in levels else (lambda a, b: a == b)
        return [other for other in self.ranks if same(self.places[other], self.places[rank])]

    def postal(self, rank):
        return max(sum(self.entry(*m)[1] + m[0] / bandwidth(self.entry(*m)[2], 1) for m in self.of(rank, side, LEVELS))
                   for side in (0, 1))

    def max_rate(self, rank):
        total_s = 0
        for level in LEVELS:
            mine = self.of(rank, 1, [level])
            volumes = [sum(size for size, _ in self.of(other, 1, [level])) for other in self.group(rank, [level])]
            volume = sum(size for size, _ in mine)
            total_s += self.tau(mine)
            if volume > 0:
                shared = min(sum(volumes), sum(v > 0 for v in volumes) * volume)
                total_s += max(shared / self.rate(mine, 10 ** 9), volume / self.rate(mine, 1))
        return total_s

    def mixed_rate(self, messages, n):
        """T12."""
        volume = sum(size for size, _ in messages)
        sum_rate = 0
        for level in {level for size, level in messages if size > 0}:
            part = [message for message in messages if message[1] == level]
            sum_rate += sum(size for size, _ in part) / volume * self.rate(part, n)
        return sum_rate / n

    def receive(self, levels):
        """t_i^recv of every rank: T13, T14, T16, T17 in each group."""
        done_s = {rank: 0.0 for rank in self.ranks}
        for members in {tuple(self.group(rank, levels)) for rank in self.ranks}:
            incoming = {rank: self.of(rank, 1, levels) for rank in members}
            whole = {rank: sum(size for size, _ in incoming[rank]) for rank in members}
            rest = {rank: volume for rank, volume in whole.items() if volume > 0}
            now_s = 0.0
            while rest:
                rates = {rank: self.mixed_rate(incoming[rank], len(rest)) for rank in rest}
                step_s, first = min((rest[rank] / rates[rank], rank) for rank in rest)
                now_s += step_s
                for rank in list(rest):
                    rest[rank] -= step_s * rates[rank]
                    if rank == first or rest[rank] <= 1e-12 * whole[rank]:
                        done_s[rank] = now_s
                        del rest[rank]
        return done_s

    def staircase(self, side):
        return [sum(parts) for parts in zip(*self.staircase_parts(side))]

    def staircase_parts(self, side):
        """Times of all ranks between nodes, then within them: T18 adds the two."""
        for levels in (["inter_node"], ["intra_socket", "inter_socket"]):
            times_s = {rank: 0.0 for rank in self.ranks}
            recv_s = self.receive(levels)
            send_s = {rank: 0.0 for rank in self.ranks}
            for src, dst, size, level in self.messages:
                sizes = [other for other, _ in self.of(dst, 1, levels)]
                if level in levels and sum(sizes) > 0:
                    # T9, summed: what all messages have got through when this one has.
                    delivered = sum(min(other, size) for other in sizes) / sum(sizes) * recv_s[dst]
                    send_s[src] = max(send_s[src], delivered)
            for rank in self.ranks:
                tau = [self.tau(self.of(rank, which, levels)) for which in (1, 0)]
                times_s[rank] += {"in": tau[0], "out": tau[1], "max": max(tau)}[side]
                times_s[rank] += max(recv_s[rank], send_s[rank])
            yield [times_s[rank] for rank in self.ranks]

    def node_aware(self, rank):
        """B1 within a node, B2 between nodes with all bytes of a protocol together."""
        mine, node = self.of(rank, 0, LEVELS), self.group(rank, ["inter_node"])
        ppn = sum(any(self.of(other, 0, ["inter_node"])) for other in node)
        total_s = self.tau(mine)
        total_s += sum(size / bandwidth(self.entry(size, level)[2], 1) for size, level in mine if level != "inter_node")
        for protocol, (_, _, knots) in self.machine["inter_node"].items():
            volume = sum(size for size, level in mine
                         if level == "inter_node" and protocol_of(self.machine, level, size) == protocol)
            limit = min(self.injection.get(protocol, float("inf")), ppn * bandwidth(knots, 1))
            total_s += ppn * volume / limit if volume > 0 else 0
        return total_s

    def points(self):
        """(weight, what connections carried before in rounds): repetitions 0 to 7 each, then 8 to 15, 16 to 31 and so on by
        their middle. Where nothing is buffered all are alike."""
        repetitions, first = self.repetitions if self.buffer > 0 else 1, 0
        while first < repetitions:
            n = 1 if first < 8 else min(first, repetitions - first)
            carried = first + (n - 1) / 2
            yield n / repetitions, carried
            first += n

    def through(self, node, side, turns):
        """u_l: the integral, piece by piece between the ends of the flows that cross this side of the node."""
        flows = [(size, ends[side]) for *ends, size, level in self.messages
                 if level == "inter_node" and self.places[ends[side]][0] == node]
        knots = sorted({0, turns} | {end for end, *_ in flows if end < turns})
        total_s = 0
        for low, high in zip(knots, knots[1:]):
            open_flows = [flow for flow in flows if flow[0] > low]
            n = len({rank for *_, rank in open_flows})
            total_s += (high - low) * sum(1 / bandwidth(self.entry(size, "inter_node")[2], n) for size, _ in open_flows)
        return total_s

    def copies(self, rank):
        """Of all that a rank sends between nodes, into a buffer."""
        mine = self.of(rank, 0, ["inter_node"])
        if self.buffer == 0 or sum(size for size, _ in mine) == 0:
            return 0
        return sum(size for size, _ in mine) / max(rate for level in LEVELS[:2] for _, _, knots in self.machine[level].values()
                                                   for n, rate in knots if n == 1)

    def ways(self, rank, point, waits_s):
        """What a rank waits for between nodes: (when, turns, at its own NIC, NIC). point: None for its receives."""
        for src, dst, size, level in self.messages:
            if level != "inter_node" or rank != (dst if point is None else src):
                continue
            for end, side in ((src, 0), (dst, 1)):
                nic, turns = (self.places[end][0], side), size
                at_s = self.through(*nic, turns)
                if point is not None:
                    _, carried = point
                    room = buffer = self.buffer
                    left = max(size - buffer, 0)
                    if carried > 0 and at_s > 0:
                        stays = max(0, 1 - waits_s / at_s)
                        room -= min(buffer, carried * size * stays)
                    full = max(0, 1 - room / min(buffer, size)) if min(buffer, size) > 0 else 0
                    at_s = (1 - full) * self.through(*nic, left) + full * at_s
                    turns = (1 - full) * left + full * turns
                if turns > 0:
                    yield at_s, turns, end == rank, nic

    def flow_parts(self, side):
        """[(s, s of its own bytes)] of every rank's transfers between nodes, the means over the repetitions."""
        parts = []
        for rank in self.ranks:
            received = list(self.ways(rank, None, 0))
            tau = [self.tau(self.of(rank, which, ["inter_node"])) for which in (1, 0)]
            waits_s = {"in": tau[0], "out": tau[1], "max": max(tau)}[side] + max((way[0] for way in received), default=0)
            mean_s = own_s = 0
            for point in self.points():
                ways = received + list(self.ways(rank, point, waits_s))
                at_s = max((way[0] for way in ways), default=0)
                own = 0
                if self.copies(rank) > at_s:
                    own = at_s = self.copies(rank)
                elif ways:
                    x, _, (node, which) = max(way[1:] for way in ways if way[0] >= at_s * (1 - 1e-9))
                    own = sum(min(size, x) / bandwidth(self.entry(size, level)[2], 1)
                              for *ends, size, level in self.messages
                              if level == "inter_node" and rank in ends and self.places[ends[which]][0] == node)
                mean_s += point[0] * at_s
                own_s += point[0] * min(own, at_s)
            parts.append((mean_s, own_s))
        return parts

    def flow(self, side):
        within = Reference(self.machine, self.places, [], {}, 0)
        within.messages = [message for message in self.messages if message[3] != "inter_node"]
        times_s = within.staircase(side)
        for rank, (transfer_s, _) in zip(self.ranks, self.flow_parts(side)):
            tau = [self.tau(self.of(rank, which, ["inter_node"])) for which in (1, 0)]
            times_s[rank] += {"in": tau[0], "out": tau[1], "max": max(tau)}[side] + transfer_s
        return times_s

    def own_of_staircase(self, levels):
        """Per rank, what its own bytes on the way that it waits for take alone, at most all of it: its incoming ones, or
        those to the receiver that it waits for, as far as they are through by then."""
        recv_s, own_s = self.receive(levels), []
        for rank in self.ranks:
            mine = [message for message in self.of(rank, 1, levels) if message[0] > 0]
            volume = sum(size for size, _ in mine)
            latest_s, own = recv_s[rank], volume / self.mixed_rate(mine, 1) if mine else 0
            for dst in self.ranks:
                sizes = [size for size, _ in self.of(dst, 1, levels)]
                to = [(size, level) for src, to_dst, size, level in self.messages
                      if (src, to_dst) == (rank, dst) and level in levels]
                x = max((size for size, _ in to), default=0)
                at_s = sum(min(other, x) for other in sizes) / sum(sizes) * recv_s[dst] if x > 0 else 0
                if at_s > latest_s * (1 + 1e-9):
                    latest_s = at_s
                    own = sum(min(size, x) / bandwidth(self.entry(size, level)[2], 1) for size, level in to)
            own_s.append(min(own, latest_s))
        return own_s

    def own(self, model, side):
        """bandwidth_s of every rank; None: all that is not latency."""
        alone = lambda messages: sum(size / bandwidth(self.entry(size, level)[2], 1) for size, level in messages)
        if model in ("max-rate", "node-aware"):
            return [alone(self.of(rank, 1 if model == "max-rate" else 0, LEVELS)) for rank in self.ranks]
        if model == "staircase-max":
            parts = [self.own_of_staircase(levels) for levels in (["inter_node"], ["intra_socket", "inter_socket"])]
            between, within = self.staircase_parts(side)
            return [parts[within[rank] > between[rank]][rank] for rank in self.ranks]
        if model in ("staircase", "flow"):
            between = [own for _, own in self.flow_parts(side)] if model == "flow" else self.own_of_staircase(["inter_node"])
            within = self.own_of_staircase(["intra_socket", "inter_socket"])
            return [a + b for a, b in zip(between, within)]
        return None

    def predict(self, model, side):
        if model == "flow":
            return self.flow(side)
        if model == "staircase-max":
            return [max(parts) for parts in zip(*self.staircase_parts(side))]
        if model == "staircase":
            return self.staircase(side)
        of_rank = {"postal": self.postal, "max-rate": self.max_rate, "node-aware": self.node_aware}[model]
        return [of_rank(rank) for rank in self.ranks]
