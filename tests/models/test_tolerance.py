"""`--tolerance` and `--add-latency` on traces whose law is known: messages one after the other, one that is hidden behind
computation, none between nodes.

usage: test_tolerance.py MPISTAIR SCHEMA.sql
"""
import json
import sys
import unittest

import test_replay_command as made
from reference_program import Message
from run_traces import Call, Job, Meeting

MS = 1000000
TAU_S, RATE = 5e-6, 1e9
SHARES = [0.01, 0.05, 0.1]
ONE = "".join(f"{level} any tau - {TAU_S} s\n{level} any bw 1 {RATE} B/s\n"
              for level in ("intra_socket", "inter_socket", "inter_node"))
TWO = (f"inter_node eager tau - {TAU_S} s\ninter_node eager bw 1 {RATE} B/s\ninter_node rendezvous tau - {TAU_S} s\n"
       f"inter_node rendezvous bw 1 {RATE} B/s\ninter_node rendezvous threshold - 1000 B\n")


def ping_pong(size, there_and_back=10, nodes=(0, 1), barrier=False):
    """Rank 0 computes 1 ms and sends, rank 1 answers at once."""
    job = Job([(node, 0) for node in nodes], [0, 0], [0, 0])
    for _ in range(there_and_back):
        for src, gap_ns in ((0, MS), (1, 0)):
            k = len(job.messages)
            job.messages.append(Message(src, 1 - src, size))
            job.calls[src].append(Call("MPI_Send", gap_ns, 1000, [("send", k)], [("send", k)]))
            job.calls[1 - src].append(Call("MPI_Recv", 0, MS, [("receive", k)], [("receive", k)]))
    if barrier:
        job.meetings = [Meeting("MPI_Barrier", 0, [0, 1], None, 0, {0: 1000, 1: 1000})]
        for calls in job.calls:
            calls.append(Call("MPI_Barrier", 0, 0, collective=0))
    job.finish()
    return job


def hidden():
    """A message that is sent at once and received after 10 ms of computation."""
    job = Job([(0, 0), (1, 0)], [0, 0], [0, 0])
    job.messages = [Message(0, 1, 8)]
    job.calls[0].append(Call("MPI_Send", 0, 0, [("send", 0)], [("send", 0)]))
    job.calls[1].append(Call("MPI_Recv", 10 * MS, 1, [("receive", 0)], [("receive", 0)]))
    job.finish()
    return job


class Tolerance(unittest.TestCase):
    setUp, write, tool = made.ReplayCommand.setUp, made.ReplayCommand.write, made.ReplayCommand.tool

    def ask(self, job, table, *options, command="predict"):
        self.write(job)
        self.machine.write_text("name m\nsource made up\n" + table)
        done = self.tool(command, self.trace, "--machine", self.machine, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout) if "--json" in options else done.stdout

    def test_latency_of_messages_one_after_the_other(self):
        """Each of the 20 has the added latency once, of a rendezvous three times: x = share * run / times."""
        for size, table, times in ((8, ONE, 20), (8, TWO, 20), (100000, TWO, 60)):
            for command in "predict", "replay":
                found = self.ask(ping_pong(size), table, "--tolerance", "latency", "--json", command=command)
                run_s = found["run"]["predicted_s"]
                self.assertAlmostEqual(run_s, 0.01 + 20 * (TAU_S + size / RATE), delta=1e-9)
                self.assertEqual([row["longer"] for row in found["tolerance"]["rows"]], SHARES)
                for row in found["tolerance"]["rows"]:
                    self.assertAlmostEqual(row["added_s"] * times / (row["longer"] * run_s), 1, delta=1e-4)
                    self.assertAlmostEqual(row["on_path"], times, delta=1e-6 * times)
                self.assertNotIn("what_if", found)

    def test_bandwidth_of_messages_one_after_the_other(self):
        found = self.ask(ping_pong(100000), ONE, "--tolerance", "bandwidth", "--json")
        for row in found["tolerance"]["rows"]:
            expected = 1 + row["longer"] * found["run"]["predicted_s"] / (20 * 100000 / RATE)
            self.assertAlmostEqual(row["times_lower"], expected, delta=1e-4 * (expected - 1))
        slower = ONE.replace(f"inter_node any bw 1 {RATE}", f"inter_node any bw 1 {RATE / row['times_lower']}")
        run_s = self.ask(ping_pong(100000), slower, "--what-if", "--no-contention", "--json")["run"]["predicted_s"]
        self.assertAlmostEqual(run_s / found["run"]["predicted_s"], 1.1, delta=1e-4)

    def test_latency_that_hides(self):
        """Nothing is longer until the message comes later than it is received."""
        found = self.ask(hidden(), TWO, "--tolerance", "latency", "--json")
        run_s = found["run"]["predicted_s"]
        for row in found["tolerance"]["rows"]:
            self.assertAlmostEqual(row["added_s"] / ((1 + row["longer"]) * run_s - TAU_S - 8 / RATE), 1, delta=1e-4)
            self.assertLess(row["on_path"], row["longer"])

    def test_added_latency(self):
        """What the tolerance tells comes true."""
        for size, table, times in ((8, TWO, 20), (100000, TWO, 60)):
            found = self.ask(ping_pong(size), table, "--add-latency", "50us", "--json")
            self.assertAlmostEqual(found["what_if"]["predicted_s"] - found["run"]["predicted_s"], times * 50e-6, delta=1e-9)
        for unit, seconds in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1)):
            found = self.ask(ping_pong(8), ONE, "--add-latency", f"2.5{unit}", "--json")
            self.assertAlmostEqual(found["what_if"]["predicted_s"] - found["run"]["predicted_s"], 50 * seconds, delta=1e-9)
        told = self.ask(hidden(), TWO, "--tolerance", "latency", "--json")["tolerance"]["rows"][1]["added_s"]
        found = self.ask(hidden(), TWO, "--add-latency", f"{told}s", "--json")
        self.assertAlmostEqual(found["what_if"]["predicted_s"] / found["run"]["predicted_s"], 1.05, delta=1e-4)

    def test_words(self):
        text = self.ask(ping_pong(8, barrier=True), ONE, "--tolerance", "latency")
        self.assertRegex(text, r"Tolerance: latency that may be added to each message between nodes, one way\n"
                         r" +1 % longer +5\.05\d us  \(the run has it 20\.0 times on its way\)\n +5 % longer ")
        self.assertIn("collectives between nodes keep their recorded times", text)
        self.assertRegex(self.ask(ping_pong(100000), ONE, "--tolerance", "bandwidth"), r"\n +10 % longer +1\.605 times\n")

    def test_nothing_to_add_to(self):
        for job in ping_pong(8, nodes=(0, 0)), made.lonely():
            for of in "latency", "bandwidth":
                self.assertIn("no message that the replay knows goes between nodes", self.ask(job, ONE, "--tolerance", of))
                found = self.ask(job, ONE, "--tolerance", of, "--json")["tolerance"]
                self.assertFalse(found["between_nodes"])
                self.assertEqual({row["added_s" if of == "latency" else "times_lower"] for row in found["rows"]}, {None})
        text = self.ask(ping_pong(0), ONE, "--tolerance", "bandwidth")
        self.assertEqual(text.count("not reached with a bandwidth a million times lower"), 3)

    def test_modelled_collectives(self):
        """A barrier alone goes between nodes only if it is modelled."""
        job = made.barrier()
        job.places = [(0, 0), (1, 0)]
        found = self.ask(job, ONE, "--tolerance", "latency", "--json")["tolerance"]
        self.assertEqual((found["between_nodes"], found["collectives_left_out"]), (False, True))
        found = self.ask(job, ONE, "--tolerance", "latency", "--json", "--collectives", "modelled")["tolerance"]
        self.assertEqual((found["between_nodes"], found["collectives_left_out"]), (True, False))
        self.assertGreater(found["rows"][0]["added_s"], 0)

    def test_refused(self):
        self.write(ping_pong(8))
        for command in "predict", "replay":
            for options, text in ((["--tolerance", "size"], "--tolerance size: expected latency or bandwidth"),
                                  (["--add-latency", "50"], "--add-latency 50: expected a time above 0 with its unit"),
                                  (["--add-latency", "0us"], "--add-latency 0us: expected"),
                                  (["--add-latency", "-1us"], "--add-latency -1us: expected"),
                                  (["--add-latency", "us"], "--add-latency us: expected"),
                                  (["--add-latency", "nans"], "--add-latency nans: expected"),
                                  (["--add-latency", "5us", "--no-latency"], "exclude each other")):
                done = self.tool(command, self.trace, "--machine", self.machine, *options)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(text, done.stderr)
        for options in ["--tolerance", "latency"], ["--add-latency", "5us"]:
            done = self.tool("predict", self.trace, "--machine", self.machine, "--rounds", *options)
            self.assertIn("requires a trace without --rounds", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
