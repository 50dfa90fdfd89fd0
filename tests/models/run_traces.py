"""Jobs made up for the replay: calls by rank, their trace.db as a recorder would have written it, and their program for the
reference. The times of a trace are crude, but each rank's own order holds, and an operation is complete when the call that
completed it ends. Nanoseconds, bytes.
"""
import shutil
import sqlite3
from dataclasses import dataclass, field, replace

from reference import level_of
from reference_program import ALL, Collective, LOWER, Message, OF_ROOT, Program, ROOT, Strand

LEVEL_NUMBER = {"intra_socket": 1, "inter_socket": 2, "inter_node": 3}
DEPENDENCE = {"MPI_Barrier": ALL, "MPI_Allreduce": ALL, "MPI_Alltoall": ALL, "MPI_Bcast": ROOT, "MPI_Scatter": ROOT,
              "MPI_Reduce": OF_ROOT, "MPI_Gather": OF_ROOT, "MPI_Scan": LOWER, "MPI_Exscan": LOWER,
              "MPI_Ibarrier": ALL, "MPI_Iallreduce": ALL, "MPI_Ibcast": ROOT, "MPI_Ireduce": OF_ROOT}
TEST_NS = 2000  # what lies between two tests of a loop that does nothing else


@dataclass
class Idle:
    """Failing tests before a call: calls of tests_ns together, then gap_ns."""
    calls: int
    tests_ns: int
    gap_ns: int

    def waits(self):
        return self.gap_ns <= max(TEST_NS * self.calls, self.tests_ns)


@dataclass
class Call:
    """gap_ns: computation before it. posts, completes: [(side, message)], completes also ("member", collective) of nonblocking
    ones. probe: a message; collective: a number. ready: a message, partitions of it; such a call is in no table but partition."""
    function: str
    gap_ns: int
    length_ns: int
    posts: list = field(default_factory=list)
    completes: list = field(default_factory=list)
    probe: int | None = None
    collective: int | None = None
    idle: Idle | None = None
    ready: tuple | None = None
    begin_ns: int = 0
    end_ns: int = 0


@dataclass
class Meeting:
    """A collective on the communicator with these members. exits_ns: {rank: after the last arrival that it depends on}."""
    function: str
    comm: int
    members: list
    root: int | None
    bytes: int
    exits_ns: dict

    def nonblocking(self):
        return self.function.startswith("MPI_I")


class Job:
    def __init__(self, places, begins_ns, tails_ns):
        self.places, self.begins_ns, self.tails_ns = places, begins_ns, tails_ns
        self.calls = [[] for _ in places]
        self.messages, self.meetings, self.comms = [], [], [list(range(len(places)))]
        self.partitions = {}  # {message: how many}
        self.each = set()  # messages whose partitions have a row each

    def dependence(self, meeting, rank):
        kind = DEPENDENCE[meeting.function]
        if kind == OF_ROOT:
            return meeting.members if rank == meeting.root else [rank]
        if kind == LOWER:
            return meeting.members[:meeting.members.index(rank) + 1]
        return meeting.members if kind == ALL else [meeting.root, rank]

    def timeline(self):
        """Gives every call its begin and end, rank by rank up to the next collective."""
        now, next_call = list(self.begins_ns), [0] * len(self.places)
        while any(i < len(calls) for i, calls in zip(next_call, self.calls)):
            for rank, calls in enumerate(self.calls):
                for call in calls[next_call[rank]:]:
                    if not self.place_call(call, rank, now):
                        break
                    next_call[rank] += 1
        self.ends_ns = [end + tail for end, tail in zip(now, self.tails_ns)]

    def place_call(self, call, rank, now):
        call.begin_ns = now[rank] + call.gap_ns
        if call.idle is not None:
            call.begin_ns += call.idle.tests_ns + call.idle.gap_ns
        call.end_ns = call.begin_ns + call.length_ns
        if call.collective is not None:
            meeting = self.meetings[call.collective]
            self.arrived.setdefault(call.collective, {})[rank] = call.begin_ns
            arrivals = self.arrived[call.collective]
            if meeting.nonblocking():
                now[rank] = call.end_ns
                return True
            if len(arrivals) < len(meeting.members):
                return False
            last = max(arrivals[member] for member in self.dependence(meeting, rank))
            call.end_ns = max(last + meeting.exits_ns[rank], call.begin_ns + 1)
        now[rank] = call.end_ns
        return True

    def finish(self):
        self.arrived = {}
        self.timeline()

    def exit_ns(self, rank, number):
        """When the call that began a collective, or the one that completed it, returned; None where none did."""
        ends = (call.end_ns for call in self.calls[rank] if (("member", number) in call.completes
                if self.meetings[number].nonblocking() else call.collective == number))
        return next(ends, None)

    def program(self):
        """What the page of definitions makes of the trace."""
        collectives = []
        for number, meeting in enumerate(self.meetings):
            ends = {rank: self.exit_ns(rank, number) for rank in meeting.members}
            arrivals = self.arrived[number]
            after = {rank: max(0, ends[rank] - max(arrivals[member] for member in self.dependence(meeting, rank))) * 1e-9
                     for rank in meeting.members}
            collectives.append(Collective(DEPENDENCE[meeting.function], meeting.members, after, meeting.root))
        first = min(self.begins_ns)
        strands, (messages, pieces) = [], self.pieces()
        for rank, calls in enumerate(self.calls):
            strand = Strand(rank, (self.begins_ns[rank] - first) * 1e-9, self.tails_ns[rank] * 1e-9)
            before_ns = 0
            for call in calls:
                if call.ready is not None and id(call) not in pieces:  # the trace does not know of it
                    before_ns += call.gap_ns
                    continue
                self.add_steps(strand, call, before_ns, pieces)
                before_ns = 0
            strands.append(strand)
        return Program(self.places, messages, collectives, strands)

    def pieces(self):
        """The messages with pieces in the place of partitioned ones, and {message: numbers, id(call that makes a piece ready): its}."""
        messages, numbers = [], {}
        for k, message in enumerate(self.messages):
            n = self.partitions.get(k)
            calls = [call for of_rank in self.calls for call in of_rank if call.ready is not None and call.ready[0] == k]
            shares = [(call, len(call.ready[1])) for call in calls]
            if n is not None and k not in self.each:
                shares = [(calls[0], 1), (calls[-1], n - 1)] if calls[0] is not calls[-1] else [(calls[0], n)]
            numbers[k], before = [], 0
            for call, share in shares or [(None, 1)]:
                through = before + share
                size = sum(message.bytes // (n or 1) + (i < message.bytes % (n or 1)) for i in range(before, through))
                numbers[k].append(len(messages))
                if call is not None:
                    numbers[id(call)] = [len(messages)]
                messages.append(replace(message, bytes=size))
                before = through
        return messages, numbers

    def add_steps(self, strand, call, before_ns, pieces):
        compute_ns = call.gap_ns + before_ns
        if call.idle is not None and not call.idle.waits():
            strand.call(compute_ns * 1e-9, ("spend", call.idle.tests_ns * 1e-9), function=call.function)
            compute_ns = call.idle.gap_ns
        steps = [(side, piece) for side, k in call.posts if side == "receive" or k not in self.partitions for piece in pieces[k]]
        steps += [("send", piece) for piece in (pieces[id(call)] if call.ready is not None else [])]
        if call.completes:
            steps.append(("wait", [(side, of) for side, k in call.completes for of in ([k] if side == "member" else pieces[k])]))
        if call.probe is not None:
            steps.append(("probe", pieces[call.probe][0]))
        if call.collective is not None:
            steps.append(("begin" if self.meetings[call.collective].nonblocking() else "collective", call.collective))
        strand.call(compute_ns * 1e-9, *(steps or [("spend", call.length_ns * 1e-9)]), function=call.function)

    def write(self, path, template):
        """Writes the trace. template: a database with the schema and nothing in it."""
        shutil.copyfile(template, path)
        database = sqlite3.connect(path)
        database.execute("PRAGMA synchronous = OFF")
        rows = Rows(self)
        for table, of_table in rows.tables().items():
            if of_table:
                names = ",".join(of_table[0])
                marks = ",".join("?" * len(of_table[0]))
                database.executemany(f"INSERT INTO {table}({names}) VALUES ({marks})", [tuple(row.values()) for row in of_table])
        database.commit()
        database.close()


class Rows:
    """The rows of a job's trace, by table."""

    def __init__(self, job):
        self.job, self.functions, self.forms = job, {}, {}
        self.posted, self.completed = {}, {}  # {(side, message): call}
        for calls in job.calls:
            for call in calls:
                self.posted.update(dict.fromkeys(call.posts, call))
                self.completed.update(dict.fromkeys(call.completes, call))

    def function(self, name):
        return self.functions.setdefault(name, len(self.functions) + 1)

    def stands(self, operation):
        """How many operations the posting call completed; None where another of its operations says so."""
        call = self.posted[operation]
        return len(call.completes) if call.posts[0] == operation else None

    def message(self, k, message):
        send, receive = self.posted["send", k], self.posted["receive", k]
        level = LEVEL_NUMBER[level_of(self.job.places, message.src, message.dst)] if message.src != message.dst else 0
        form = (level, self.function(send.function), self.function(receive.function), self.stands(("send", k)),
                self.stands(("receive", k)))
        return {"id": k + 1, "src": message.src, "dst": message.dst, "comm": 0, "tag": 0, "bytes": message.bytes,
                "form": self.forms.setdefault(form, len(self.forms) + 1), "round_id": 1 if level else None,
                "send_post_ns": send.begin_ns, "send_ns": self.completed["send", k].end_ns - send.begin_ns,
                "late_ns": receive.begin_ns - send.begin_ns,
                "recv_ns": self.completed["receive", k].end_ns - receive.begin_ns, "room_bytes": 0,
                "send_call_ns": send.end_ns - send.begin_ns, "recv_call_ns": receive.end_ns - receive.begin_ns}

    def call(self, rank, call):
        row = {"rank": rank, "function": self.function(call.function), "begin_ns": call.begin_ns,
               "call_ns": call.end_ns - call.begin_ns, "completed": len(call.completes), "idle_calls": 0}
        if call.idle is not None:
            yield {**row, "begin_ns": call.begin_ns - call.idle.gap_ns - call.idle.tests_ns, "call_ns": call.idle.tests_ns,
                   "completed": 0, "idle_calls": call.idle.calls}
        if not call.posts and call.ready is None:
            yield row

    def partition(self, k, n):
        """Rows of a message's partitions as they were made ready: of all, and each where that was kept."""
        calls = [call for calls in self.job.calls for call in calls if call.ready is not None and call.ready[0] == k]
        row = {"message_id": k + 1, "rank": self.job.messages[k].src, "direction": "send", "partition": None,
               "first_ns": calls[0].begin_ns, "last_ns": calls[-1].begin_ns, "done": n, "partitions": n, "function": None}
        yield row
        for call in calls if k in self.job.each else []:
            for partition in call.ready[1]:
                yield {**row, "partition": partition, "first_ns": call.begin_ns, "last_ns": call.begin_ns, "done": 1,
                       "function": call.function}

    def tables(self):
        job = self.job
        messages = [self.message(k, message) for k, message in enumerate(job.messages)]
        calls = [row for rank, calls in enumerate(job.calls) for call in calls for row in self.call(rank, call)]
        collectives = [
            {"rank": rank, "function": call.function, "comm": job.meetings[call.collective].comm,
             "bytes": job.meetings[call.collective].bytes, "root": job.meetings[call.collective].root, "begin_ns": call.begin_ns,
             "end_ns": job.exit_ns(rank, call.collective), "call_ns": call.end_ns - call.begin_ns,
             "nonblocking": int(job.meetings[call.collective].nonblocking())}
            for rank, calls in enumerate(job.calls) for call in calls if call.collective is not None]
        first, last = min(job.begins_ns), max(job.ends_ns)
        n = len(job.places)
        return {
            "run": [{"id": 1, "run_key": "k", "mpistair_version": "0", "started_unix_ns": 0, "duration_ns": last - first,
                     "mpi_family": "MPICH", "mpi_library": "MPICH", "thread_level": "MPI_THREAD_SINGLE", "command": "a",
                     "world_size": n, "spools": n, "detail": "all"}],
            "node": [{"id": node, "host": f"n{node}", "sockets": 2, "cores": 16} for node in sorted({place[0] for place in job.places})],
            "process": [{"rank": rank, "node": node, "socket": socket, "core": rank, "place": "placement", "ended": "finalize",
                         "begin_ns": job.begins_ns[rank], "end_ns": job.ends_ns[rank], "world_rank": rank}
                        for rank, (node, socket) in enumerate(job.places)],
            "communicator": [{"id": comm, "parent": None if comm == 0 else 0, "size": len(members), "known": 1}
                             for comm, members in enumerate(job.comms)],
            "communicator_member": [{"communicator": comm, "rank": rank, "world_rank": member}
                                    for comm, members in enumerate(job.comms) for rank, member in enumerate(members)],
            "function": [{"id": number, "name": name} for name, number in self.functions.items()],
            "form": [{"id": number, "level": level, "send_function": send, "recv_function": receive, "any_source": 0, "any_tag": 0,
                      "uncertain": 0, "send_completed": of_send, "recv_completed": of_receive}
                     for (level, send, receive, of_send, of_receive), number in self.forms.items()],
            "kind": [{"id": 1, "rounds": 1, "messages": len(messages), "bytes": sum(row["bytes"] for row in messages)}],
            "round": [{"id": 1, "kind_id": 1, "begin_ns": first, "end_ns": last}],
            "message_row": messages, "call_row": calls, "collective": collectives,
            "partition": [row for k, n in job.partitions.items() for row in self.partition(k, n)],
        }


class Builder:
    """Makes a job by lot out of actions that each could go on alone once all actions before it have: no order of its calls
    can end in a deadlock."""

    def __init__(self, chance, ranks, actions, sizes):
        self.chance, self.sizes = chance, sizes
        places = [(chance.randrange(chance.choice([1, 2, 3])), chance.randrange(2)) for _ in range(ranks)]
        self.long_ns = chance.choice([1000, 100000, 1000000])
        self.job = Job(places, [chance.randrange(2000000) for _ in places], [chance.randrange(1, 500000) for _ in places])
        self.pending = [[] for _ in places]
        if ranks > 2:
            self.job.comms += [sorted(chance.sample(range(ranks), 2)), sorted(chance.sample(range(ranks), ranks - 1))]
        acts = [self.pair] * 5 + [self.partitioned] + [self.exchange] * 3 + [self.ring, self.collective, self.collective, self.to_self, self.spend] + [self.wait] * 4
        for _ in range(actions):
            chance.choice(acts)()
        for rank in chance.sample(range(ranks), ranks):
            while self.pending[rank]:
                self.wait(rank)
        self.job.finish()

    def call(self, rank, function, posts=(), completes=(), **more):
        gap_ns = self.chance.randrange(1, self.chance.choice([10, self.long_ns]))
        call = Call(function, gap_ns, self.chance.randrange(1, 200000), list(posts), list(completes), **more)
        self.job.calls[rank].append(call)

    def message(self, src, dst, function):
        self.job.messages.append(Message(src, dst, self.sizes(), "ssend" in function.lower(), "bsend" in function.lower()))
        return len(self.job.messages) - 1

    def ranks(self, n):
        return self.chance.sample(range(len(self.job.places)), n)

    def pair(self):
        src, dst = self.ranks(2)
        function = self.chance.choice(["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Isend", "MPI_Isend", "MPI_Issend", "MPI_Ibsend",
                                       "MPI_Send"])
        k = self.message(src, dst, function)
        blocking = not function.startswith("MPI_I")
        post = lambda: self.call(src, function, [("send", k)], [("send", k)] if blocking else [])
        if not blocking:
            self.pending[src].append(("send", k))
        if self.chance.random() < 0.5:
            post()
            post = lambda: None
        self.receive(dst, k)
        post()

    def receive(self, rank, k):
        way = self.chance.choice(["MPI_Recv", "MPI_Irecv", "MPI_Probe"])
        if way == "MPI_Irecv":
            self.call(rank, way, [("receive", k)])
            self.pending[rank].append(("receive", k))
            return
        if way == "MPI_Probe":
            self.call(rank, way, probe=k)
        self.call(rank, "MPI_Recv", [("receive", k)], [("receive", k)])

    def partitioned(self):
        """The partitions become ready one by one or several at once; the trace has all times, or the first and the last."""
        src, dst = self.ranks(2)
        k, n = self.message(src, dst, "MPI_Start"), self.chance.randrange(1, 9)
        self.job.partitions[k] = n
        if self.chance.random() < 0.6:
            self.job.each.add(k)
        left = self.chance.sample(range(n), n)
        sides = [("send", src), ("receive", dst)]
        for side, rank in self.chance.sample(sides, 2):
            self.call(rank, "MPI_Start", [(side, k)])
        while left:
            marked = self.chance.randrange(1, len(left) + 1)
            self.call(src, "MPI_Pready_list", ready=(k, left[:marked]))
            self.job.calls[src][-1].length_ns = 0
            left = left[marked:]
        for side, rank in sides:
            self.pending[rank].append((side, k))

    def exchange(self):
        """Some ranks post to each other, receives first or not, and wait for all of it, some of them later."""
        group = self.ranks(self.chance.randrange(2, min(5, len(self.job.places)) + 1))
        posts = []
        for src in group:
            for dst in group:
                if src != dst and self.chance.random() < 0.5:
                    k = self.message(src, dst, "MPI_Isend")
                    posts += [(src, "send", k), (dst, "receive", k)]
        self.chance.shuffle(posts)
        for rank, side, k in posts:
            self.call(rank, "MPI_Isend" if side == "send" else "MPI_Irecv", [(side, k)])
            self.pending[rank].append((side, k))
        for rank in group:
            if self.pending[rank] and self.chance.random() < 0.7:
                self.call(rank, "MPI_Waitall", [], self.pending[rank])
                self.pending[rank] = []

    def ring(self):
        group = self.ranks(self.chance.randrange(2, len(self.job.places) + 1))
        sent = [self.message(src, dst, "MPI_Sendrecv") for src, dst in zip(group, group[1:] + group[:1])]
        for i, rank in enumerate(group):
            both = [("send", sent[i]), ("receive", sent[i - 1])]
            self.call(rank, "MPI_Sendrecv", both, both)

    def collective(self):
        comm = self.chance.randrange(len(self.job.comms))
        members = self.job.comms[comm]
        function = self.chance.choice(list(DEPENDENCE))
        root = self.chance.choice(members) if DEPENDENCE[function] in (ROOT, OF_ROOT) else None
        exits_ns = {rank: self.chance.choice([-10 ** 9, 0, self.chance.randrange(1, 300000)]) for rank in members}
        self.job.meetings.append(Meeting(function, comm, members, root, 0 if function.endswith("arrier") else 8, exits_ns))
        number = len(self.job.meetings) - 1
        for rank in members:
            self.call(rank, function, collective=number)
            if self.job.meetings[-1].nonblocking():
                self.pending[rank].append(("member", number))

    def to_self(self):
        rank, = self.ranks(1)
        k = self.message(rank, rank, "MPI_Isend")
        if self.chance.random() < 0.3:  # its MPI buffers it
            self.job.messages[k].buffered = True
            self.call(rank, "MPI_Send", [("send", k)], [("send", k)])
            self.receive(rank, k)
            return
        self.call(rank, "MPI_Irecv", [("receive", k)])
        if self.chance.random() < 0.5:
            self.call(rank, "MPI_Send", [("send", k)], [("send", k)])
        else:
            self.call(rank, "MPI_Isend", [("send", k)])
            self.pending[rank].append(("send", k))
        self.pending[rank].append(("receive", k))

    def spend(self):
        self.call(self.ranks(1)[0], "MPI_Wait")

    def wait(self, rank=None):
        """Completes one, some or all of what a rank has posted."""
        rank = self.ranks(1)[0] if rank is None else rank
        pending = self.pending[rank]
        if not pending:
            return
        function = self.chance.choice(["MPI_Waitall", "MPI_Waitany", "MPI_Waitsome", "MPI_Wait", "MPI_Test", "MPI_Testall"])
        n = len(pending) if function.endswith("all") else 1 if function != "MPI_Waitsome" else self.chance.randrange(1, len(pending) + 1)
        done = sorted(self.chance.sample(pending, n), key=pending.index)
        self.pending[rank] = [operation for operation in pending if operation not in done]
        idle = None
        if function.startswith("MPI_Test") and self.chance.random() < 0.8:
            calls = self.chance.randrange(1, 100)
            tests_ns = calls * self.chance.randrange(50, 3000)
            idle = Idle(calls, tests_ns, (tests_ns + calls * TEST_NS) * 4 if self.chance.random() < 0.4 else calls * self.chance.randrange(1, 500))
        self.call(rank, function, [], done, idle=idle)


def random_job(chance):
    """A job of 2 to 8 ranks on 1 to 3 nodes."""
    large = chance.choice([20000, 400000, 3000000])
    def sizes():
        return chance.choice([0, chance.randrange(1, 2000), chance.randrange(large), chance.randrange(large)])
    return Builder(chance, chance.randrange(2, 9), chance.randrange(4, 30), sizes).job


def costs(chance, of, share):
    """Rows beside latency and bandwidth, each with that chance; those of a level with protocol any stand in for a class."""
    rows = [f"overhead_send - {chance.uniform(0, 5e-6)!r} s", f"overhead_receive - {chance.uniform(0, 5e-6)!r} s",
            f"overhead_send_byte - {chance.uniform(0, 2e-10)!r} s/B", f"progress - {chance.randrange(4)} 1",
            f"buffer - {chance.randrange(300000)} B"]
    return [f"{of} {row}" for row in rows if chance.random() < share]


def random_table(chance):
    """The text of a machine table with rows of every kind."""
    protocols = chance.choice([["any"], ["eager", "rendezvous"], ["short", "eager", "rendezvous"]])
    lines = ["name m", "source chance"]
    for level in LEVEL_NUMBER:
        lines += costs(chance, f"{level} any", 0.2) if "any" not in protocols else []
        thresholds = [0, *sorted(chance.sample(range(1, 200000), len(protocols) - 1))]
        for protocol, threshold in zip(protocols, thresholds):
            of = f"{level} {protocol}"
            lines.append(f"{of} tau - {chance.uniform(0, 5e-5)!r} s")
            lines += [f"{of} threshold - {threshold} B"] if threshold else []
            lines += [f"{of} bw {n} {n ** 0.6 * chance.uniform(1e9, 2e9)!r} B/s" for n in (1, 2, 4, 8)]
            lines += costs(chance, of, 0.6)
    lines += [f"inter_node any {row} - {chance.randrange(1, 500000)} B" for row in ("burst", "backlog", "backlog_pair") if chance.random() < 0.5]
    return "\n".join(lines) + "\n"
