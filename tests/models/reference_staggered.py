"""Messages that start when they were posted, once more: every rate and every stretch of time is looked at on its own,
as slowly as it likes. What `staggered` and `flow-staggered` give for random patterns is held against this."""
from reference import Reference, protocol_of

WITHIN = ("intra_socket", "inter_socket")


def fluid(messages, rates):
    """messages: {key: (begin, bytes)}; rates(keys): {key: B/s} of those that move. {key: [(time, bytes through), ...]}."""
    waiting = sorted((begin, key) for key, (begin, _) in messages.items())
    got, curves, now_s = {}, {key: [(begin, 0.0)] for key, (begin, _) in messages.items()}, 0.0
    while waiting or got:
        rate = rates(list(got)) if got else {}
        ends = {key: now_s + (messages[key][1] - got[key]) / rate[key] for key in got}
        end_s, first = min(((at, key) for key, at in ends.items()), default=(float("inf"), None))
        arrives = bool(waiting) and waiting[0][0] <= end_s
        step_s, now_s = (waiting[0][0] if arrives else end_s) - now_s, waiting[0][0] if arrives else end_s
        for key in got:
            got[key] += step_s * rate[key]
            curves[key].append((now_s, got[key]))
        if arrives:
            got[waiting.pop(0)[1]] = 0.0
        else:
            curves[first][-1] = (now_s, messages[first][1])
            del got[first]
    return curves


def when(curve, size):
    """The first time at which a curve has that many bytes."""
    before = curve[0]
    for at in curve:
        if at[1] >= size:
            return at[0] if at[1] == before[1] else before[0] + (size - before[1]) / (at[1] - before[1]) * (at[0] - before[0])
        before = at
    return curve[-1][0]


class StaggeredReference(Reference):
    """messages: [(src, dst, bytes, send_s, recv_s)]."""

    def __init__(self, machine, places, messages, injection, buffer):
        messages = [message for message in messages if message[0] != message[1]]
        super().__init__(machine, places, [message[:3] for message in messages], injection, buffer)
        self.posts = [message[3:] for message in messages]
        self.eager = [protocol_of(machine, level, size) in ("short", "eager") for _, _, size, level in self.messages]
        self.begin = [send if eager else max(send, recv) for (send, recv), eager in zip(self.posts, self.eager)]

    def delivered(self, levels):
        """{message: s} by the staircase's rates."""
        times_s = {}
        for members in {tuple(self.group(rank, levels)) for rank in self.ranks}:
            of = {k: dst for k, (_, dst, size, level) in enumerate(self.messages)
                  if level in levels and dst in members and size > 0}
            mix = {rank: [m for m in self.of(rank, 1, levels) if m[0] > 0] for rank in members}

            def rates(keys):
                busy = [of[key] for key in keys]
                return {key: self.mixed_rate(mix[of[key]], len(set(busy))) / busy.count(of[key]) for key in keys}

            curves = fluid({k: (self.begin[k], self.messages[k][2]) for k in of}, rates)
            times_s.update({k: curve[-1][0] for k, curve in curves.items()})
        return times_s

    def over_links(self):
        """{message: (delivered, sent)} by the flows of both NICs."""
        ends = {}
        for side in (0, 1):
            for node in {place[0] for place in self.places}:
                of = {k: ends_[side] for k, (*ends_, size, level) in enumerate(self.messages)
                      if level == "inter_node" and self.places[ends_[side]][0] == node and size > 0}

                def rates(keys):
                    n = len({of[key] for key in keys})
                    s_per_byte = sum(1 / self.rate([self.messages[key][2:]], n) for key in keys)
                    return {key: 1 / s_per_byte for key in keys}

                for k, curve in fluid({k: (self.begin[k], self.messages[k][2]) for k in of}, rates).items():
                    size = self.messages[k][2]
                    inside = size - (self.buffer if side == 1 else 0)  # out of the node all of it must be
                    sent = when(curve, inside) if inside > 0 else self.begin[k]
                    ends.setdefault(k, []).append((curve[-1][0], sent))
        return {k: tuple(max(values) for values in zip(*both)) for k, both in ends.items()}

    def rank_time(self, rank, delivered, sent, side):
        posts, moving, marks = [], {"node": [], "network": []}, []
        for part, levels in (("network", ["inter_node"]), ("node", WITHIN)):
            tau = [self.tau(self.of(rank, which, levels)) for which in (1, 0)]
            pays = {"in": 1, "out": 0, "max": 0 if tau[1] > tau[0] else 1}[side]
            for k, (src, dst, size, level) in enumerate(self.messages):
                for which, end in ((0, src), (1, dst)):
                    if end != rank or level not in levels:
                        continue
                    posts.append(self.posts[k][which])
                    end_s = delivered.get(k, self.begin[k]) if which == 1 else sent.get(k, self.begin[k])
                    moving[part].append((self.begin[k], end_s))
                    if which == pays:
                        marks.append((self.begin[k], self.entry(size, level)[1]))
        if not posts:
            return 0.0, 0.0
        first = min(posts)
        knots = sorted({first, max(posts), *(max(t, first) for pairs in moving.values() for pair in pairs for t in pair)})
        hidden_s = skew_s = 0.0
        for low, high in zip(knots, [*knots[1:], knots[-1]]):
            hidden_s += sum(tau for begin, tau in marks if max(begin, first) == low)
            kinds = sum(any(begin <= low and end >= high for begin, end in pairs) for pairs in moving.values())
            if high > low and kinds == 2:
                hidden_s += high - low
            elif high > low and kinds == 0:
                skew_s += max(high - low - hidden_s, 0)
                hidden_s = max(hidden_s - (high - low), 0)
        return knots[-1] - first + hidden_s, skew_s

    def predict_parts(self, model, side):
        """[(time_s, skew_s)] of all ranks."""
        delivered = self.delivered(WITHIN)
        sent = dict(delivered)
        if model == "flow-staggered":
            for k, (all_s, most_s) in self.over_links().items():
                delivered[k], sent[k] = all_s, most_s
        else:
            delivered.update(self.delivered(["inter_node"]))
            sent = dict(delivered)
        sent = {k: self.begin[k] if self.eager[k] else at for k, at in sent.items()}
        return [self.rank_time(rank, delivered, sent, side) for rank in self.ranks]
