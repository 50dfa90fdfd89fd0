"""Runs that are made for the checks of findings: ranks that compute and meet, and what show-findings says of their traces.

A check that imports it is called with the arguments MPISTAIR SHARE_SQL SHOW_FINDINGS.
"""
import pathlib
import subprocess
import sys
import tempfile

from made_trace import check, database, end

SHOW = sys.argv[3]
MS, US = 1000000, 1000


class Made:
    """A run of ranks that compute and meet; times in ns. Messages and collectives are added in the order of time."""

    def __init__(self, ranks, per_node=None, eager=65536):
        self.ranks, self.per_node = ranks, per_node or ranks
        self.at = [0] * ranks
        self.messages, self.collectives, self.forms = [], [], {}
        self.functions = {"MPI_Send": 1, "MPI_Recv": 2, "MPI_Allreduce": 3}
        self.waiting, self.transfers, self.accesses = [], [], []  # calls of MPI_Waitall, rows of rma and file_call
        self.waits = {}
        self.eager = eager

    def compute(self, rank, time_ns):
        self.at[rank] += time_ns

    def function(self, name):
        return self.functions.setdefault(name, len(self.functions) + 1)

    def meet(self, site, transfer_ns=10 * US, function="MPI_Allreduce", sizes=None, root=None):
        """A collective in which all wait for the last one, or for the root."""
        begin = list(self.at)
        leave = [(max(begin) if root is None else max(begin[rank], begin[root])) + transfer_ns for rank in range(self.ranks)]
        self.collectives += [(rank, begin[rank], leave[rank], site, function, sizes[rank] if sizes else 8, root) for rank in range(self.ranks)]
        self.function(function)
        self.at = leave

    def rendezvous(self, src, dst, size, site, recv_site, transfer_ns=MS, function="MPI_Send"):
        """A blocking send that waits for its receive."""
        post, recv = self.at[src], self.at[dst]
        self.at[src] = self.at[dst] = max(post, recv) + transfer_ns
        self.messages.append((src, dst, size, site, recv_site, post, self.at[src], recv, self.at[dst], function))

    def post(self, messages, wait_site, site=50, recv_site=60, transfer_ns=10 * US, work=None):
        """All ranks post the messages (src, dst, bytes), nonblocking, work, and wait for theirs, which come then."""
        posts = list(self.at)
        self.at = [at + US for at in posts]
        for rank in range(self.ranks):
            self.compute(rank, work[rank] if work else 0)
        begin = list(self.at)
        for rank in range(self.ranks):
            last = max([begin[rank]] + [posts[src] + US // 2 for src, dst, _ in messages if dst == rank])
            self.at[rank] = last + transfer_ns
            own = sum((src == rank) + (dst == rank) for src, dst, _ in messages)
            self.waiting.append((rank, begin[rank], self.at[rank], own, wait_site))
        self.messages += [(src, dst, size, site, recv_site, posts[src] + US // 2, self.at[src], posts[dst], self.at[dst], "MPI_Isend")
                          for src, dst, size in messages]

    def access(self, rank, function, size, offset, time_ns, site):
        begin = self.at[rank]
        self.at[rank] += time_ns
        self.accesses.append((rank, function, size, offset, begin, time_ns, site))

    def one_sided(self, rank, function, target, size, until_ns, site, collective=False):
        begin = self.at[rank]
        self.at[rank] = max(until_ns, begin + US)
        self.transfers.append((rank, function, target, size, begin, self.at[rank] - begin, site))

    def send(self, src, dst, size, site, recv_site, transfer_ns=10 * US, call_ns=0):
        """A blocking send and its receive, which is posted at once."""
        post, recv = self.at[src], self.at[dst]
        self.at[src] += call_ns or US
        self.at[dst] = max(post, recv) + transfer_ns
        self.messages.append((src, dst, size, site, recv_site, post, self.at[src], recv, self.at[dst]))

    def write(self, path, *more):
        nodes = (self.ranks + self.per_node - 1) // self.per_node
        last = max(self.at) + MS
        sql = [f"INSERT INTO run VALUES (1, 'k', '0', 0, {last}, 'Open MPI', 'Open MPI v4', 'MPI_THREAD_SINGLE', 'made', {self.ranks}, "
               f"{self.ranks}, {self.eager}, {self.eager}, NULL, 'MPI_Init', 'all');",
               f"INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, {self.ranks}, NULL, 1);"]
        sql += [f"INSERT INTO node VALUES ({n}, 'node{n}', 1, {self.per_node}, NULL, {n}, {self.per_node});" for n in range(nodes)]
        sql += [f"INSERT INTO callsite VALUES ({n}, 'm', {n}, NULL, 'work', 'made.c', {n});" for n in range(1, 100)]
        sql += ["INSERT INTO communicator_member SELECT 0, value, value FROM generate_series;".replace(
            "generate_series", f"(WITH RECURSIVE r(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM r WHERE value + 1 < {self.ranks}) "
                               "SELECT value FROM r)")]
        sql += ["INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                f"({r}, {r // self.per_node}, 0, {r % self.per_node}, 'observed', 'finalize', 0, {last}, {last}, {last}, {self.waits.get(r, 0)});"
                for r in range(self.ranks)]
        for src, dst, size, site, recv_site, post, sent, recv, done, *function in self.messages:
            function = function[0] if function else "MPI_Send"
            level = 1 if src // self.per_node == dst // self.per_node else 3
            form = self.forms.setdefault((level, site, recv_site, function), len(self.forms) + 1)
            inside = (US // 10, US // 10) if function == "MPI_Isend" else (sent - post, done - recv)
            sql.append("INSERT INTO message_row(src, dst, comm, tag, bytes, form, send_post_ns, send_ns, late_ns, recv_ns, room_bytes, "
                       f"send_call_ns, recv_call_ns) VALUES ({src}, {dst}, 0, 0, {size}, {form}, {post}, {sent - post}, {recv - post}, "
                       f"{done - recv}, 0, {inside[0]}, {inside[1]});")
        for (level, site, recv_site, function), n in self.forms.items():
            blocking = int(function != "MPI_Isend")
            sql.append(f"INSERT INTO form VALUES ({n}, {level}, {self.function(function)}, {self.function('MPI_Recv' if blocking else 'MPI_Irecv')}, "
                       f"{site}, {recv_site}, 0, 0, 0, {blocking}, {blocking}, NULL, NULL);")
        for rank, begin, leave, site, function, size, root in self.collectives:
            sql.append("INSERT INTO collective(rank, function, comm, bytes, root, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                       f"({rank}, '{function}', 0, {size}, {'NULL' if root is None else root}, {begin}, {leave}, {leave - begin}, 0, {site});"
                       f"INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {leave - begin}, 0, 0, {site});")
        for rank, begin, end_ns, completed, site in self.waiting:
            sql.append(f"INSERT INTO call_row VALUES ({rank}, {self.function('MPI_Waitall')}, {begin}, {end_ns - begin}, {completed}, 0, {site});")
        for rank, function, target, size, begin, length, site in self.transfers:
            sql.append("INSERT INTO rma(rank, function, comm, window, target, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                       f"({rank}, '{function}', 0, 1, {'NULL' if target is None else target}, {size}, {begin}, {begin + length}, {length}, 0, {site});"
                       f"INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {length}, 0, 0, {site});")
        for rank, function, size, offset, begin, length, site in self.accesses:
            sql.append("INSERT INTO file_call(rank, function, comm, file, bytes, offset, begin_ns, end_ns, call_ns, nonblocking, collective, "
                       f"failed, callsite) VALUES ({rank}, '{function}', 0, 1, {size}, {offset}, {begin}, {begin + length}, {length}, 0, 0, 0, "
                       f"{site}); INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {length}, 0, 0, {site});")
        sql += [f"INSERT INTO function VALUES ({n}, '{name}');" for name, n in self.functions.items()]
        return database(path, "BEGIN;" + "".join(sql) + "".join(more) + "COMMIT;")


def findings(path):
    done = subprocess.run([SHOW, path], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def kinds(path):
    found = findings(path)
    return found if isinstance(found, str) else [row[0] for row in found]


def expect(name, path, kind, rank, place, *words):
    found = findings(path)
    rows = [row for row in found if row[0] == kind]
    check(name, len(rows) == 1 and rows[0][1] == str(rank) and rows[0][6] == place and all(word in rows[0][7] for word in words), found)
    check(name + ": two lines", all(len(row[7]) <= 160 for row in found), found)


def has(path, kind):
    """The only row of a kind; None: there is none, or several."""
    rows = [row for row in findings(path) if row[0] == kind]
    return rows[0] if len(rows) == 1 else None


def ring(slow, nodes=3):
    made = Made(nodes, 1)
    for _ in range(20):
        for src in range(nodes):
            made.send(src, (src + 1) % nodes, 100000, 50, 60, slow if src == 1 else MS)
    return made


def apart(partner):
    made = Made(4, 2)
    for _ in range(20):
        for rank in range(4):
            if rank < rank ^ partner:
                made.send(rank, rank ^ partner, 100000, 50, 60, MS)
                made.send(rank ^ partner, rank, 100000, 50, 60, MS)
    return made


def expect_kind(name, folder, made, kind, *words):
    """The kind is found once, first or under nothing else, with a gain; returns its row."""
    found = findings(made.write(folder / "a.db"))
    rows = [row for row in found if row[0] == kind]
    check(name, len(rows) == 1 and rows[0][10] == "-1" and all(word in rows[0][7] for word in words), found)
    check(name + ": two lines", all(len(row[7]) <= 160 for row in found), found)
    return rows[0] if rows else [""] * 11


def expect_none(name, folder, made, *kinds_of):
    found = kinds(made.write(folder / "a.db"))
    check(name, not set(kinds_of) & set(found), findings(folder / "a.db"))


def expect_gain(name, row, made, mended):
    """The replay gains what the mended run is shorter by."""
    gain_ns = max(made.at) - max(mended.at)
    check(f"{name}: gain", row[8] and abs(float(row[8]) * 1e9 - gain_ns) < 0.1 * max(made.at), (row, gain_ns, max(made.at)))


def check_parts(name, *parts):
    """Runs the parts in one folder, and ends the program."""
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            part(pathlib.Path(folder))
    end(name)
