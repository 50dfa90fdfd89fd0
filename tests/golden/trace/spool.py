"""Spools without MPI: writes the files of interpose/spool/event.h from a script that a reader can follow.

A line of a script, times in nanoseconds since the run's start:
    world N                                        ranks; each leaves a spool
    process RANK key=value ...                     host, skew (ns added to its clock), ahead (ns of its time namespace), end, library, topology, maps (history of modules), run_key,
                                                   link_init and link_finalize (at,offset,rtt,parent), calls, lost_disk,
                                                   lost_limit, lost_memory, lost_refused, refused_error (errno), lost_at (0),
                                                   finish (its last record), command (%20: a blank), eager, eager_network, own_cost_ps,
                                                   burst_level, burst_cut, burst_offset: chunks are dropped as by the recorder,
                                                   started_by, launched, address (switches and node), switches (how many of it are), use_init and use_finalize (at,run,wait,switches; a
                                                   wait of -1: not known), kernel (0: not known); begun (empty, zeros, header): it ended in MPI_Init
    absent RANK                                    it left none
    RANK counters TIME key=value ...               a sample of what the kernel counted: keys as the columns of the table counter; perf=N once
    RANK network TIME NAME=in,out,packets,errors,retransmissions ...   a sample of the node's interfaces
    RANK FUNCTION peer tag bytes post-complete ... an operation; 'any', 'null'; nothing behind '-': never completed
    RANK FUNCTION begin-end [completed]            Wait..., Test..., Mrecv, and collectives; a collective that nobody
                                                   waited for has nothing behind '-'
    RANK communicator INDEX FUNCTION key=value ... parent (-1: none), creation, leader, size, rank, remote_size, begin, end,
                                                   identity (creation, meeting, members, time), hash; found=H: met, hash H
    RANK name INDEX TEXT                           MPI_Comm_set_name
    RANK persistent NUMBER FUNCTION peer tag bytes time ...     a request of MPI_..._init: partitions=N receive collective
    RANK partitions NUMBER first-last done all     right behind a partitioned operation; '-': none
    RANK partition NUMBER FUNCTION partition time  one partition of those
    RANK rma FUNCTION target bytes begin-end ...   a one-sided call; window=N, target null: none
    RANK file FUNCTION bytes begin-end ...         a call on a file; file=N, offset=N
    RANK idle FUNCTION calls begin time            so many unsuccessful tests, the first at begin, all together so long
    RANK mark NUMBER time [window]                 MPI_Pcontrol, or the recording window's: 0 off, 1 on
    RANK region NUMBER NAME [within=N] [way=N]     a region; NUMBER from 2 on, N the one around it
    RANK in NUMBER begin-end [inner=NS] [lane=N]   a time in it, before what was done then; nothing behind '-': never ended
    RANK stack NUMBER address,address,... [TIME]   a stack of return addresses, and when it was stored
    repeat N every NS / end                        the lines between, N times; {i} in them is 0, 1, ...
RANK may be * for all. Words behind an operation: any_source any_tag cancelled failed shared uncertain same_call probe off
freed nonblocking cancelling took partitioned send receive lane=N comm=N cpu=N call=NS (length of the posting call) started=N (number of
the persistent request) stack=N site=ADDRESS region=N (of the site) memory=pinned, device:N, managed:N; most of them behind the other records as well.
"""
import importlib.util
import os
import shutil
import struct

import thin

HEADER_BYTES = 65536
AREA_BYTES = 2 << 20
CHUNK_BYTES = 4096
START_NS = 1_000_000
FLAGS = {"any_source": 2, "any_tag": 4, "shared": 8, "failed": 16, "cancelled": 32, "uncertain": 64, "same_call": 128,
         "partitioned": 512, "probe": 1024, "off": 2048, "freed": 4096, "nonblocking": 8192, "took": 8192, "cancelling": 32768}
STARTED = 256
WINDOW = 16384
ENDS = {"none": 0, "finalize": 1, "abort": 2, "exit": 3}


def site_of(options):
    """The site of a call, as event.h has it."""
    return int(options.get("site", "0"), 0) | int(options.get("region", 0)) << 48


def memory_bits(text):
    """The memory of a buffer as event.h has it, from KIND or KIND:GPU."""
    kind, _, gpu = text.partition(":")
    return ["host", "pinned", "device", "managed"].index(kind) | int(gpu or 0) << 2


def read_functions(gen_wrappers, table):
    """({name: number}, {name: family}, hash of the table)."""
    spec = importlib.util.spec_from_file_location("gen_wrappers", gen_wrappers)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    read = module.read_table(table)
    functions, table_hash = read[1], read[2]
    return {f.name: i for i, f in enumerate(functions)}, {f.name: f.family for f in functions}, table_hash


def link(text):
    at, offset, rtt, parent = (int(part) for part in text.split(","))
    return struct.pack("<QqQiI", at, offset, rtt, parent, 0)


NETWORK_OFFSET, INTERFACES = 16384, 6
COUNTERS_OFFSET = 32768
COUNTERS = ("user_ns", "system_ns", "wait_ns", "voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "migrations",
            "instructions", "cycles", "clock_cycles", "openmp_region_ns", "openmp_thread_ns", "openmp_idle_ns")
RECORD_BYTES = {1: 64, 2: 32, 3: 64, 4: 64, 5: 64, 6: 64, 7: 32, 8: 64, 9: 32, 10: 160, 12: 64, 13: 32}
STACK = 11
REGION_NAME = 14


def record_bytes(records, at):
    """Length of the record at a place, by its type."""
    if records[at] == REGION_NAME:
        return (8 + struct.unpack_from("<H", records, at + 6)[0] + 31) // 32 * 32
    if records[at] != STACK:
        return RECORD_BYTES[records[at]]
    return (8 + 8 * struct.unpack_from("<I", records, at + 4)[0] + 8 * records[at + 1] + 31) // 32 * 32


def cut_short(content, begun):
    """What is left of a spool whose process ended in MPI_Init: nothing, a header of zeros, one without an owner."""
    if begun == "empty":
        return b""
    header = bytearray(HEADER_BYTES)
    if begun == "header":
        header[:200] = content[:200]
        struct.pack_into("<ii", header, 32, -1, 0)
        struct.pack_into("<IQ", header, 52, 0, 0)
    return bytes(header)


class Process:
    """The spool of one rank: records by lane, header fields as options."""

    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        self.lanes = {}
        self.options = {"host": "node0", "skew": "0", "ahead": "0", "end": "finalize", "run_key": "run"}
        self.last_ns = 0
        self.counters, self.perf = bytearray(), 0
        self.network, self.interfaces = [], []
        self.off = 0  # recording, by the marks so far

    def clock(self, ns):
        """Ticks: the process's own CLOCK_MONOTONIC."""
        self.last_ns = max(self.last_ns, ns)
        return START_NS + ns + int(self.options["skew"]) + int(self.options["ahead"])

    def pair(self, ns):
        """Ticks, and the node's clock at that moment."""
        return self.clock(ns), self.clock(ns) - int(self.options["ahead"])

    def add(self, record, lane=0):
        """Adds a record of a call; those of other records lie in lane 0."""
        self.lanes.setdefault(lane + 1, bytearray()).extend(record)

    def define(self, record):
        self.lanes.setdefault(0, bytearray()).extend(record)

    def chunks(self):
        """(lane, sequence, records) of each chunk, by lane."""
        found = []
        for lane, records in sorted(self.lanes.items()):
            at, sequence, room, chunk = 0, 0, 0, []
            while at < len(records):
                step = record_bytes(records, at)
                # A partitioned operation and what is known of its partitions lie in one chunk.
                needed = step + (64 if records[at + step:at + step + 1] == b"\6" else 0)
                if needed > room:
                    chunk, room = [], CHUNK_BYTES - 64
                    found.append((lane, sequence, chunk))
                    sequence += 1
                chunk.append(bytes(records[at:at + step]))
                at += step
                room -= step
        return found

    def write(self, folder, functions, families, table_hash):
        """Lays the records out in chunks and the header before them; returns the path."""
        options = self.options
        laid = self.chunks()
        n_dropped, area = 0, bytes(AREA_BYTES)
        level, cut, offset = (int(options.get("burst_" + key, 0)) for key in ("level", "cut", "offset"))
        if level or cut:
            names = {number: name for name, number in functions.items()}
            laid, area, n_dropped = thin.thin(laid, self.clock(0), int(options["ahead"]), offset, level, cut, names, families)
        chunks = bytearray()
        for lane, sequence, records in laid:
            chunk = struct.pack("<IIIIQQ32x", 0x4B4E4843, lane, sequence, 0, *self.pair(0)) + b"".join(records)
            chunks += chunk + bytes(CHUNK_BYTES - len(chunk))
        n_chunks = len(laid)
        ended = options["end"] != "none"
        finish = self.pair(int(options.get("finish", self.last_ns))) if ended else (0, 0)
        lost = [int(options.get("lost_" + cause, 0)) for cause in ("disk", "limit", "memory")]
        lost += [0] * 3 + [int(options.get("lost_refused", 0)), 0]
        calls = [0] * 1024
        for call in filter(None, options.get("calls", "").split(",")):
            calls[functions[call]] += 1
        no_link = struct.pack("<QqQiI", 0, 0, 0, -1, 0)
        header = struct.pack("<QIIIIIIiiiiIIQQQQQIi", 0x31304C4F4F50534D, 11, CHUNK_BYTES, n_chunks, 0, 1, ENDS[options["end"]],
                             self.rank, self.world, int(options.get("leader", self.rank)), 0, 4000 + self.rank,
                             len(functions), table_hash, 1_700_000_000_000_000_000 + START_NS,
                             *(int(options.get(key, 0)) for key in ("eager", "eager_network", "own_cost_ps")),
                             functions[options.get("started_by", "Init")], 0)
        header += struct.pack("<QQQQ", *self.pair(0), *finish)
        header += link(options["link_init"]) if "link_init" in options else no_link
        header += link(options["link_finalize"]) if "link_finalize" in options else no_link
        header += struct.pack("<8Q", *lost)
        for text, room in ((options["run_key"], 64), (options["host"], 256), (options.get("library", "Test MPI 1.0"), 512),
                           (options.get("command", "./app").replace("%20", " "), 1024), (options.get("topology", ""), 512), (options.get("maps", ""), 512),
                           (options.get("launch", ""), 64)):
            header += text.encode().ljust(room, b"\0")
        lost_at = self.clock(int(options.get("lost_at", 0))) if any(lost) else 0
        header += struct.pack("<1024Q", *calls) + bytes(128) + struct.pack("<iIQ", 0, 0, lost_at)
        header += struct.pack("<iI", int(options.get("launched", 0)), 0)
        for key in ("use_init", "use_finalize"):
            header += struct.pack("<4Q", *(int(part) % 2**64 for part in options.get(key, "0,0,0,0").split(",")))
        header += struct.pack("<QI", int(options.get("kernel", 0)), int(options.get("refused_error", 0)))
        header += struct.pack("<IIIIIqQII", AREA_BYTES, 0, level, cut, 1, offset, n_dropped, 0, 0)
        address = options.get("address", "")
        header += struct.pack("<II4Q", 0, 0, 0, 0, 0, 0) + address.encode().ljust(512, b"\0")
        header += struct.pack("<II", int(options.get("switches", address.count("."))), 0)
        for key in ("topology", "maps"):
            if key in options:
                shutil.copy(options[key], folder)
        path = os.path.join(folder, f"{options['run_key']}-{self.rank}.mpispool")
        if self.network:
            names = b"".join(name.encode().ljust(32, b"\0") for name in self.interfaces).ljust(32 * INTERFACES, b"\0")
            header = header.ljust(NETWORK_OFFSET, b"\0") + struct.pack("<IIQ", len(self.network), len(self.interfaces), 1_000_000_000) + names
            header += bytes(48) + b"".join(self.network)
        if self.counters:
            header = header.ljust(COUNTERS_OFFSET, b"\0") + struct.pack("<IIQ112x", len(self.counters) // 128, self.perf, 100_000_000) + self.counters
        content = header.ljust(HEADER_BYTES, b"\0") + area + chunks
        with open(path, "wb") as file:
            file.write(cut_short(content, options["begun"]) if "begun" in options else content)
        return path


class Script:
    def __init__(self, functions, families, table_hash):
        self.functions, self.families, self.table_hash = functions, families, table_hash
        self.processes = {}

    def read(self, lines, shift=0):
        at = 0
        while at < len(lines):
            words = lines[at].split()
            at += 1
            if words[0] == "repeat":
                depth, begin = 1, at
                while depth:
                    depth += {"repeat": 1, "end": -1}.get(lines[at].split()[0], 0)
                    at += 1
                for i in range(int(words[1])):
                    self.read([line.replace("{i}", str(i)) for line in lines[begin:at - 1]], shift + i * int(words[3]))
            else:
                self.line(words, shift)

    def line(self, words, shift):
        if words[0] == "world":
            self.processes = {rank: Process(rank, int(words[1])) for rank in range(int(words[1]))}
        elif words[0] == "process":
            self.processes[int(words[1])].options.update(word.split("=", 1) for word in words[2:])
        elif words[0] == "absent":
            del self.processes[int(words[1])]
        else:
            for rank in sorted(self.processes) if words[0] == "*" else [int(words[0])]:
                self.record(self.processes[rank], words[1:], shift)

    def record(self, process, words, shift):
        rare = {"communicator": self.communicator, "persistent": self.persistent, "partitions": self.partitions,
                "partition": self.partition, "rma": self.rma, "file": self.file, "mark": self.mark, "idle": self.idle, "stack": self.stack, "region": self.region, "in": self.occurrence, "name": self.name, "counters": self.sample, "network": self.interface_sample}
        if words[0] in rare:
            rare[words[0]](process, words, shift)
        elif "-" in words[1]:
            self.call(process, words, shift)
        else:
            self.operation(process, words, shift)

    @staticmethod
    def interface_sample(process, words, shift):
        values = dict(word.split("=") for word in words[2:])
        process.interfaces = list(values)
        numbers = [int(number) % 2**64 for value in values.values() for number in value.split(",")]
        process.network.append(struct.pack("<32Q", process.pair(int(words[1]) + shift)[1], *numbers, *[2**64 - 1] * (30 - len(numbers)), 0))

    @staticmethod
    def sample(process, words, shift):
        values = dict(word.split("=") for word in words[2:])
        process.perf = int(values.pop("perf", process.perf))
        process.counters += struct.pack("<15Q8x", process.pair(int(words[1]) + shift)[1], *(int(values.get(key, -1)) % 2**64 for key in COUNTERS))

    def communicator(self, process, words, shift):
        values = {"parent": 0, "creation": 0, "leader": 0, "size": 1, "rank": 0, "hash": 0, "remote_size": 0, "identity": None,
                  "found": None, "begin": 0, "end": 0}
        values.update(word.split("=") for word in words[3:])
        identity = {None: 0, "creation": 0, "meeting": 1, "members": 2, "time": 3}[values.pop("identity")]
        found = values.pop("found")
        n = {key: int(value) for key, value in values.items()}
        if found is not None:
            identity, n["hash"] = 1, int(found)
        process.define(struct.pack("<BBHIIIiiiiQQQQ", 4, identity, self.functions[words[2]], int(words[1]),
                                n["parent"] & 0xffffffff, n["creation"], n["leader"], n["size"], n["rank"], n["remote_size"],
                                process.clock(n["begin"] + shift), process.clock(n["end"] + shift), n["hash"], 0))

    def name(self, process, words, _):
        process.define(struct.pack("<B3xI152s", 10, int(words[1]), " ".join(words[2:]).encode()))

    def operation(self, process, words, shift):
        function, peer, tag, size, times = words[:5]
        options = dict(word.split("=") for word in words[5:] if "=" in word)
        flags = sum(FLAGS[word] for word in words[5:] if word in FLAGS)
        family = self.families[function]
        blocking = family in ("send", "recv", "sendrecv")
        receive = "receive" in words[5:] or ("recv" in family and "send" not in family)
        post, complete = times.split("-")
        post_ns = process.clock(int(post) + shift)
        complete_ns = process.clock(int(complete) + shift) if complete else 0
        length = int(options.get("call", complete_ns - post_ns if blocking and complete else 1))
        process.clock(int(post) + shift + length)
        peer = {"any": -2, "null": -1}.get(peer) or int(peer)
        cpu = int(options.get("cpu", -1))
        started = int(options.get("started", 0))
        process.add(struct.pack("<BBHIiiQQQQIhhHHI", 1, receive | memory_bits(options.get("memory", "host")) << 1, self.functions[function], int(options.get("comm", 0)), peer,
                                -2 if tag == "any" else int(tag), int(size), post_ns, complete_ns,
                                site_of(options), min(length, 0xFFFFFFFF), cpu, cpu, flags | blocking | bool(started) * STARTED,
                                int(options.get("stack", 0)), started), int(options.get("lane", 0)))

    def persistent(self, process, words, shift):
        number, function, peer, tag, size, time = words[1:7]
        options = dict(word.split("=") for word in words[7:] if "=" in word)
        begin = process.clock(int(time) + shift)
        direction = 255 if "collective" in words else "receive" in words or "recv" in function.lower()
        process.define(struct.pack("<BBHIiiQQQIIII8x", 5, direction, self.functions[function], int(options.get("comm", 0)),
                                {"any": -2, "null": -1}.get(peer) or int(peer), -2 if tag == "any" else int(tag), int(size),
                                begin, site_of(options), int(options.get("call", 1)), int(number),
                                int(options.get("partitions", 0)), int(options.get("lane", 0)) + 1))

    def partitions(self, process, words, shift):
        first, last = (process.clock(int(time) + shift) if time else 0 for time in words[2].split("-"))
        process.add(struct.pack("<B3xIQQII32x", 6, int(words[1]), first, last, int(words[3]), int(words[4])))

    def partition(self, process, words, shift):
        process.add(struct.pack("<BBHIQIIQ", 7, 0, self.functions[words[2]], int(words[3]), process.clock(int(words[4]) + shift),
                                int(words[1]), 0, 0))

    def rma(self, process, words, shift):
        function, target, size, times = words[1:5]
        options = dict(word.split("=") for word in words[5:] if "=" in word)
        begin, end = (process.clock(int(time) + shift) if time else 0 for time in times.split("-"))
        process.add(struct.pack("<BBHIiIQQQQIHHq", 8, 0, self.functions[function],
                                0xFFFFFFFF if options.get("comm") == "none" else int(options.get("comm", 0)),
                                -1 if target == "null" else int(target),
                                int(options.get("window", options.get("file", 1))), int(size), begin, end,
                                site_of(options), int(options.get("call", 1)),
                                sum(FLAGS[word] for word in words[5:] if word in FLAGS), int(options.get("stack", 0)),
                                int(options.get("offset", -1))))

    def file(self, process, words, shift):
        self.rma(process, ["rma", words[1], "null", *words[2:]], shift)

    def mark(self, process, words, shift):
        number = int(words[1])
        process.off = {0: FLAGS["off"], 1: 0}.get(number, process.off)
        process.define(struct.pack("<BBHiQQQ", 9, 0, process.off | (WINDOW if "window" in words else 0), number,
                                process.clock(int(words[2]) + shift), 0, 0))

    def idle(self, process, words, shift):
        options = dict(word.split("=") for word in words[5:] if "=" in word)
        begin, length = process.clock(int(words[3]) + shift), int(words[4])
        process.clock(int(words[3]) + shift + length)
        calls = int(words[2])
        first = length // calls
        process.add(struct.pack("<BBHIQQQQdIIQ", 12, 0, self.functions[words[1]], calls, begin, site_of(options),
                                first, length - first, (length - first) ** 2 / max(calls - 1, 1), calls - 1, 0, 0),
                    int(options.get("lane", 0)))

    def region(self, process, words, _):
        options = dict(word.split("=") for word in words[3:])
        name = words[2].encode()
        record = struct.pack("<BBHHH", REGION_NAME, int(options.get("way", 0)), int(words[1]), int(options.get("within", 0)), len(name)) + name
        process.define(record + bytes(-len(record) % 32))

    def occurrence(self, process, words, shift):
        options = dict(word.split("=") for word in words[3:])
        begin, end = (process.clock(int(time) + shift) if time else 0 for time in words[2].split("-"))
        process.add(struct.pack("<BBHHHQQQ", 13, 0, 0, int(words[1]), 0, begin, end, int(options.get("inner", 0))), int(options.get("lane", 0)))

    def stack(self, process, words, shift):
        sites = [int(site, 0) for site in words[2].split(",")]
        times = [process.clock(int(time) + shift) for time in words[3:]]
        record = struct.pack("<BBHI", STACK, len(times), int(words[1]), len(sites)) + struct.pack(f"<{len(sites + times)}Q", *sites, *times)
        process.define(record + bytes(-len(record) % 32))

    def call(self, process, words, shift):
        begin, end = (process.clock(int(time) + shift) if time else 0 for time in words[1].split("-"))
        flags = sum(FLAGS[word] for word in words[2:] if word in FLAGS)
        options = dict(word.split("=") for word in words[2:] if "=" in word)
        if words[0].startswith(("Wait", "Test", "Mrecv")):
            process.add(struct.pack("<BBHIQQQ", 2, 0, self.functions[words[0]], int(words[2]) if len(words) > 2 else 1, begin,
                                    site_of(options), end - begin), int(options.get("lane", 0)))
        else:
            process.add(struct.pack("<BBHIQQQQiIHHIQ", 3, 0, self.functions[words[0]], int(options.get("comm", 0)),
                                    int(options.get("bytes", 0)), begin, end, site_of(options), int(options.get("root", -1)),
                                    int(options.get("call", 0)), flags, int(options.get("stack", 0)),
                                    int(options.get("started", 0)), 0))

    def write(self, folder):
        return [process.write(folder, self.functions, self.families, self.table_hash) for process in self.processes.values()]
