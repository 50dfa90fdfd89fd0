"""Files of SST's DUMPI for tests, as interpose/import/dumpi_functions.c reads them. Imported, no test of its own."""
import struct

MAGIC = 0xffaadd44554d5049
NUMBERS = {"Send": 0, "Recv": 1, "Isend": 8, "Irecv": 12, "Wait": 13, "Waitall": 18, "Send_init": 26, "Recv_init": 30, "Start": 31, "Sendrecv": 33, "Barrier": 52,
           "Gather": 54, "Allreduce": 65, "Comm_size": 81, "Comm_rank": 82, "Comm_dup": 84, "Comm_split": 86, "Init": 124, "Finalize": 125}
WORLD, ANY, BYTE, DOUBLE = 2, -1, 5, 14


def four(*values):
    return b"".join(struct.pack(">i", value) for value in values)


def two(*values):
    return b"".join(struct.pack(">h", value) for value in values)


def array(*values):
    return four(len(values), *values)


def status(*pairs):
    """(source, tag) of each."""
    return four(len(pairs)) + b"".join(four(8, source) + b"\0\0" + four(tag) for source, tag in pairs)


def text(value):
    return struct.pack(">H", len(value)) + value.encode()


class File:
    def __init__(self, host="node0", started_s=1400000000, offset_s=1000):
        self.body, self.now_ns, self.host, self.started_s, self.offset_s = b"", 0, host, started_s, offset_s

    def call(self, name, fields, ns=1000, gap_ns=5000):
        """With statuses, wall times and a thread, as DUMPI writes it."""
        begin, end = self.now_ns + gap_ns, self.now_ns + gap_ns + ns
        self.now_ns = end
        times = b"".join(struct.pack(">HI", t // 10 ** 9, t % 10 ** 9) for t in (begin, end))
        self.body += struct.pack(">HBH", NUMBERS[name], 3 | 8 | 64, 0) + times + fields

    def bytes(self):
        body = struct.pack(">Q", MAGIC)
        at_body = len(body)
        body += four(0, self.offset_s) + self.body + struct.pack(">H", 293)
        at_header = len(body)
        body += bytes((1, 1, 0)) + struct.pack(">Q", self.started_s) + text(self.host) + text("user") + four(0, 0)
        at_footer = len(body)
        body += bytes(16)
        at_sizes = len(body)
        body += array(*(8 if k == DOUBLE else 1 for k in range(28)))
        return body + struct.pack(">8Q", MAGIC, at_sizes, 0, 0, at_header, at_body, at_footer, 0)


def pair():
    """Two ranks: blocking, nonblocking with a wildcard, persistent, on a communicator in which they are the other way round."""
    files = []
    for rank in (0, 1):
        other, file = 1 - rank, File(f"node{rank}")
        file.call("Init", four(1) + four(3) + b"app")
        if rank == 0:
            file.call("Send", four(10) + two(DOUBLE) + four(1, 7) + two(WORLD))
        else:
            file.call("Recv", four(12) + two(DOUBLE) + four(ANY, ANY) + two(WORLD) + status((0, 7)))
        file.call("Irecv", four(3) + two(BYTE) + four(ANY, 5) + two(WORLD) + four(40))
        file.call("Isend", four(3) + two(BYTE) + four(other, 5) + two(WORLD) + four(41))
        file.call("Waitall", four(2) + array(40, 41) + status((other, 5), (other, 5)))
        file.call("Comm_split", two(WORLD) + four(0, -rank) + two(4))
        file.call("Send_init", four(4) + two(BYTE) + four(1 - (1 - rank), 9) + two(4) + four(50))
        file.call("Recv_init", four(4) + two(BYTE) + four(rank, 9) + two(4) + four(51))
        for request in (50, 51):
            file.call("Start", four(request))
        for request in (50, 51):
            file.call("Wait", four(request) + status((rank, 9)))
        file.call("Allreduce", four(2) + two(DOUBLE) + b"\3" + two(4))
        file.call("Gather", four(rank, 6) + two(BYTE) + four(0) + two(WORLD) + (four(6) + two(BYTE) if rank == 0 else b""))
        file.call("Finalize", b"")
        files.append(file.bytes())
    return files
