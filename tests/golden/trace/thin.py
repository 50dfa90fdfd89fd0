"""Thins whole spools as the recorder does where room gets short (interpose/spool/event.h, area.h): chunks that overlap no burst
go, the totals of their records and what these count for matching stay. A second implementation: nothing of the recorder runs."""
import struct

BURST_NS = 100_000_000
MARGIN_NS = 1_000_000
AREA_BYTES = 2 << 20
GHOSTS_AT, GHOST_BYTES = 64 + 24 + 512 * 72 + 40968 + 40968 + 8192 * 64, 704 << 10
SLOTS_AT, SLOTS = 64 + 24 + 512 * 72 + 40968 + 40968, 8192
COURSE_AT = 64 + 24 + 512 * 72 + 40968
OPERATION, CALL, COLLECTIVE, PARTITIONS, ACCESS, IDLE = 1, 2, 3, 6, 8, 12
SEND, RECEIVE, START, JOINT = 0, 1, 2, 3
BLOCKING, FAILED, CANCELLED, SAME_CALL, PARTITIONED, OFF, NONBLOCKING, TOOK = 1, 16, 32, 128, 512, 2048, 8192, 8192
NO_PEER, NO_COMMUNICATOR = -5, 0xFFFFFFFF
POINT_TO_POINT, WAIT, WAIT_IDLE, COLLECTIVES, ONE_SIDED, FILES = range(6)
FIRST_SHIFT, WINDOWS = 20, 512


class Record:
    """What one record says, as far as it is added up or counted."""

    def __init__(self, data, functions, families, startall):
        self.type = data[0]
        self.function, = struct.unpack_from("<H", data, 2)
        self.name = functions[self.function]
        self.family = families[self.name]
        self.totals, self.ghost = [], None  # (key, [calls, bytes, ticks, longest, square])
        self.window, self.calls, self.sent, self.open = None, 0, 0, False
        self.begin = None
        comm, peer, flags, bytes_, ticks = NO_COMMUNICATOR, NO_PEER, 0, 0, 0
        if self.type == OPERATION:
            comm, peer, tag, bytes_, self.begin, complete, site = struct.unpack_from("<IiiQQQQ", data, 4)
            call_ticks, _, _, own, _, persistent = struct.unpack_from("<IhhHHI", data, 48)
            receive = data[1] & 1
            again = self.name == "Startall" and startall[0] == self.begin
            startall[0] = self.begin if self.name == "Startall" else startall[0]
            ticks = 0 if own & SAME_CALL or again else complete - self.begin if own & BLOCKING and complete > self.begin else call_ticks
            flags = receive | 2 * bool(own & OFF)
            self.window, self.sent, self.open = POINT_TO_POINT, 0 if receive else bytes_, complete == 0
            if not (own & CANCELLED or peer < 0 or tag < 0 or own & FAILED and not own & TOOK):
                self.ghost = (comm, persistent, 0, START) if own & PARTITIONED else (comm, peer, tag, RECEIVE if receive else SEND)
        elif self.type == CALL:
            self.begin, site, ticks = struct.unpack_from("<QQQ", data, 8)
            self.window = WAIT
        elif self.type == IDLE:
            self.calls, self.begin, site, first, others, square, timed = struct.unpack_from("<IQQQQdI", data, 4)
            self.window, rest = WAIT_IDLE, self.calls - 1
            self.end = self.begin + first + (others if timed >= rest and timed else int(rest * (others / timed if timed else first)))
            key = (site, comm, peer, self.function)
            self.totals = [((*key, 0, 4), [1, 1, first, first, float(first) ** 2])]
            if rest:
                self.totals.append(((*key, 1, 4), [rest, timed, others, 0, square]))
            return
        elif self.type == COLLECTIVE:
            comm, bytes_, self.begin, end, site, _, call_ticks, own, _, persistent = struct.unpack_from("<IQQQQiIHHI", data, 4)
            ticks = call_ticks if own & NONBLOCKING else max(end - self.begin, 0)
            if self.name == "Startall":
                ticks = 0 if startall[0] == self.begin else ticks
                startall[0] = self.begin
            self.window, self.open = COLLECTIVES, end == 0
            self.ghost = (comm, persistent, 0, JOINT + self.function)
        elif self.type == ACCESS:
            comm, target, _, bytes_, self.begin, end, site, call_ticks, own = struct.unpack_from("<IiIQQQQIH", data, 4)
            ticks = call_ticks if own & NONBLOCKING else max(end - self.begin, 0)
            self.window = FILES if self.family.startswith("file") else ONE_SIDED
            peer, self.open = target if target >= 0 else NO_PEER, end == 0
            bytes_ = 0 if self.window == FILES and own & FAILED else bytes_
            joint = self.family in ("win_create", "win_free", "file_all", "file_request_all", "file_open", "file_close")
            if comm != NO_COMMUNICATOR and (joint or self.name == "Win_fence"):
                self.ghost = (comm, 0, 0, JOINT + self.function)
        else:
            return
        self.calls, self.end = 1, self.begin + ticks
        self.totals = [((site, comm, peer, self.function, bytes_.bit_length(), flags), [1, bytes_, ticks, ticks, 0.0])]


class Folded:
    """What a process has added up of the records that it dropped."""

    def __init__(self, start):
        self.start, self.totals, self.shift, self.windows, self.n = start, {}, 0, {}, 0
        self.gaps = []  # [lane, first sequence, last sequence, {entry: count}]

    def add(self, record):
        if not record.totals:
            return
        for key, values in record.totals:
            known = self.totals.setdefault(key, [0, 0, 0, 0, 0.0])
            for i in (0, 1, 2, 4):
                known[i] += values[i]
            known[3] = max(known[3], values[3])
        self.reach(record.end - self.start)
        begin, end = record.begin - self.start, record.end - self.start
        window = self.windows.setdefault(begin >> self.shift, [0] * 9)
        window[7] += record.calls
        window[8] += record.sent
        while begin < end:
            until = min(end, ((begin >> self.shift) + 1) << self.shift)
            self.windows.setdefault(begin >> self.shift, [0] * 9)[record.window] += until - begin
            begin = until

    def reach(self, passed):
        self.shift = self.shift or FIRST_SHIFT
        while passed >> self.shift >= WINDOWS:
            joined = {}
            for number, window in self.windows.items():
                joined[number // 2] = [a + b for a, b in zip(joined.get(number // 2, [0] * 9), window)]
            self.windows, self.shift, self.n = joined, self.shift + 1, (self.n + 1) // 2
        self.n = max(self.n, (passed >> self.shift) + 1)

    def drop(self, lane, sequence, records):
        counts = {}
        for record in records:
            self.add(record)
            if record.ghost is not None:
                counts[record.ghost] = counts.get(record.ghost, 0) + 1
        if self.gaps and self.gaps[-1][0] == lane and self.gaps[-1][2] + 1 == sequence:
            self.gaps[-1][2] = sequence
            for entry, count in counts.items():
                self.gaps[-1][3][entry] = self.gaps[-1][3].get(entry, 0) + count
        else:
            self.gaps.append([lane, sequence, sequence, counts])

    def area(self):
        """Bytes of struct spool_area."""
        area = bytearray(AREA_BYTES)
        struct.pack_into("<II", area, COURSE_AT, self.shift, self.n)
        for number, window in self.windows.items():
            struct.pack_into("<10Q", area, COURSE_AT + 8 + 80 * number, *window, 0)
        assert len(self.totals) <= SLOTS // 2
        for i, (key, values) in enumerate(self.totals.items()):
            struct.pack_into("<QIiHBBIQQQQd", area, SLOTS_AT + 64 * (i * 7 % SLOTS), *key, 0, *values)
        at = 0
        for lane, first, last, counts in self.gaps:
            struct.pack_into("<IIII", area, GHOSTS_AT + at, lane, first, last, len(counts))
            at += 16
            for entry, count in counts.items():
                struct.pack_into("<IiiIQ", area, GHOSTS_AT + at, *entry, count)
                at += 24
        assert at <= GHOST_BYTES
        struct.pack_into("<II", area, 0, 0, at)
        return area


def stays(begin, end, offset, level, cut):
    """True if a chunk between two times of the node's clock overlaps what stays."""
    period, length = BURST_NS << level, BURST_NS >> cut
    first = (begin - MARGIN_NS + offset - length) // period + 1  # the first burst that ends at begin - margin or later
    return first * period - offset <= end + MARGIN_NS or (first - 1) * period - offset + length >= begin - MARGIN_NS


def thin(chunks, start, ahead, offset, level, cut, functions, families):
    """Takes [(lane, sequence, [bytes of a record])] of a process, by lane; returns those that stay, the area, how many went."""
    folded, kept = Folded(start), []
    startall = [0]
    for i, (lane, sequence, data) in enumerate(chunks):
        records = [Record(one, functions, families, startall) for one in data]
        times = [record.begin for record in records if record.begin is not None]
        following = chunks[i + 1] if i + 1 < len(chunks) and chunks[i + 1][0] == lane else None
        later = [Record(one, functions, families, [0]).begin for one in following[2]] if following else []
        later = [time for time in later if time is not None]
        end = max(times + later[:1], default=0)
        if lane == 0 or not times or any(record.open for record in records) or \
                stays(min(times) - ahead, end - ahead, offset, level, cut):
            kept.append((lane, sequence, data))
        else:
            folded.drop(lane, sequence, records)
    return kept, folded.area(), len(chunks) - len(kept)
