"""TCP's windows and the queues of NICs, once more: every frame's way is followed by itself. What `flow-tcp` gives for
random patterns is held against this. Linux's constants."""
import heapq

from reference import Reference, bandwidth, protocol_of

SEGMENT, LARGEST = 1448, 2 ** 22
PACKET = 45 * SEGMENT


class Connection:
    def __init__(self, idle_s):
        self.window, self.shortest_s, self.slow_start = 10 * SEGMENT, idle_s, True
        self.again()

    def again(self):
        self.stream = self.sent = self.out = self.acknowledged = 0
        self.deliveries, self.sends = [], []  # (end in the stream, message)

    def acknowledge(self, to, round_trip_s):
        self.shortest_s = min(self.shortest_s, round_trip_s)
        if self.slow_start:
            self.window += to - self.acknowledged
            slower = round_trip_s > self.shortest_s + min(max(self.shortest_s / 8, 0.004), 0.016)
            self.slow_start = not (slower and self.window > 16 * SEGMENT)
        else:
            self.window += (to - self.acknowledged) / 20
        self.window = min(self.window, LARGEST)
        self.acknowledged = to

    def taken(self):
        return self.acknowledged + min(2 * 2304 / SEGMENT * self.window, LARGEST)


class TcpReference(Reference):
    def __init__(self, machine, places, messages):
        super().__init__(machine, places, messages, {}, 0)
        protocols = sorted(machine["inter_node"].values())
        self.idle_s, self.knots = 2 * protocols[0][1], protocols[-1][2]
        self.crossing = [(k, src, dst, size) for k, (src, dst, size, level) in enumerate(self.messages)
                         if level == "inter_node" and size > 0]
        self.connections = {(src, dst): Connection(self.idle_s) for _, src, dst, _ in self.crossing}

    def way(self, src, dst):
        """The queues of a packet: node and direction; the last one is the way back."""
        a, b = self.places[src][0], self.places[dst][0]
        return [(a, "out"), (b, "in"), (b, "out"), (a, "in"), "back"]

    def repeat(self):
        """The last end of every rank's transfers between nodes, once."""
        ends, events, turn = [0.0] * len(self.ranks), [], 0
        queues = {queue: [] for _, src, dst, _ in self.crossing for queue in self.way(src, dst)}
        free_s, served_s, under_way = dict.fromkeys(queues, 0.0), {}, {k: (src, dst) for k, src, dst, _ in self.crossing}
        size_of = {k: size for k, _, _, size in self.crossing}
        for connection in self.connections.values():
            connection.again()

        def rate(node, direction):
            ranks = {pair[direction == "in"] for pair in under_way.values()}
            return bandwidth(self.knots, max(1, sum(self.places[rank][0] == node for rank in ranks)))

        def serve(queue, now_s):
            nonlocal turn
            pair, hop, size, _, _, _, first_s = queues[queue][0]
            if hop == 4:
                end_s = first_s + self.idle_s
            else:
                served_s[queue] = max(free_s[queue], first_s)
                end_s = free_s[queue] = max(served_s[queue] + size * (1 if hop < 2 else 66 / 3028) / rate(*queue), now_s)
            heapq.heappush(events, (end_s, turn, queue))
            turn += 1

        def enqueue(packet, now_s):
            queue = self.way(*packet[0])[packet[1]]
            queues[queue].append(packet)
            if len(queues[queue]) == 1:
                serve(queue, now_s)

        def advance(pair, now_s):
            connection = self.connections[pair]
            while connection.sent < connection.stream:
                size = min(PACKET, connection.window // 2, connection.stream - connection.sent)
                under_way = connection.sent - connection.acknowledged
                if under_way > 0 and (under_way + size > connection.window or connection.sent - connection.out >= 2 * size):
                    break
                connection.sent += size
                enqueue((pair, 0, size, connection.sent, now_s, None, now_s), now_s)
            while connection.sends and connection.sends[0][0] <= connection.taken():
                _, k = connection.sends.pop(0)
                if not self.at_once(size_of[k]):
                    ends[pair[0]] = max(ends[pair[0]], now_s)

        def move(pair, k, now_s):
            connection = self.connections[pair]
            connection.stream += size_of[k]
            connection.deliveries.append((connection.stream, k))
            connection.sends.append((connection.stream, k))
            advance(pair, now_s)

        for k, src, dst, size in self.crossing:
            if self.at_once(size):
                move((src, dst), k, 0.0)
            else:
                enqueue(((src, dst), 0, 0, 0, 0.0, k, 0.0), 0.0)
        while events:
            now_s, _, queue = heapq.heappop(events)
            pair, hop, size, to, sent_s, handshake, _ = queues[queue].pop(0)
            first_s = served_s.get(queue, now_s) if hop in (0, 2) else now_s
            if queues[queue]:
                serve(queue, now_s)
            deliveries = self.connections[pair].deliveries
            while hop == 1 and size > 0 and deliveries and deliveries[0][0] <= to:
                del under_way[deliveries.pop(0)[1]]
                ends[pair[1]] = max(ends[pair[1]], now_s)
            if hop == 3 and handshake is not None:
                move(pair, handshake, now_s)
            elif hop == 4:
                self.connections[pair].acknowledge(to, now_s - sent_s)
                advance(pair, now_s)
            else:
                enqueue((pair, hop + 1, size, to, sent_s, handshake, first_s), now_s)
                if hop == 0 and handshake is None:
                    self.connections[pair].out = to
                    advance(pair, now_s)
        return ends

    def at_once(self, size):
        return protocol_of(self.machine, "inter_node", size) in ("short", "eager")

    def predict_tcp(self, repetitions, side):
        """Times of all ranks; the connections are not those of another call."""
        within = Reference(self.machine, self.places, [], {}, 0)
        within.messages = [message for message in self.messages if message[3] != "inter_node"]
        times_s = within.staircase(side)
        ends = [self.repeat() for _ in range(repetitions)]
        for rank in self.ranks:
            tau = [self.tau(self.of(rank, which, ["inter_node"])) for which in (1, 0)]
            times_s[rank] += {"in": tau[0], "out": tau[1], "max": max(tau)}[side]
            times_s[rank] += sum(end[rank] for end in ends) / repetitions
        return times_s
