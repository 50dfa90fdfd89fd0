"""`mpistair predict TRACE.db`, which replays the whole run by every law: errors by hand, what is stored, what replaces what,
and what is said of runs that tell little.

usage: test_predict_run.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import json
import random
import unittest

import test_replay_command as made
from reference_program import Message
from run_traces import Call, Job, Meeting, random_job
from test_replay_command import MS

LAWS = ["postal", "max-rate", "node-aware", "staircase", "serial", "flow", "flow-window", "fair"]
PARTS = "late_sender_s + late_receiver_s + latency_s + bandwidth_s + contention_s + queue_s + progress_s + post_s"
HALF = made.MACHINE.replace("1e9", "5e8")


def repeated(lengths_ms):
    """Rank 0 sends to rank 1, both calls as long as given."""
    job = Job([(0, 0)] * 2, [0] * 2, [0] * 2)
    for number, length_ms in enumerate(lengths_ms):
        job.messages.append(Message(0, 1, 1000))
        job.calls[0].append(Call("MPI_Send", MS, length_ms * MS, [("send", number)], [("send", number)]))
        job.calls[1].append(Call("MPI_Recv", MS, length_ms * MS, [("receive", number)], [("receive", number)]))
    job.finish()
    return job


def sum_ahead():
    """Two ranks exchange 1 MB, begin a sum after that, rank 1 later, compute, and wait for all of it."""
    job = Job([(0, 0)] * 2, [0] * 2, [0] * 2)
    job.messages = [Message(0, 1, 1000000), Message(1, 0, 1000000)]
    job.meetings = [Meeting("MPI_Iallreduce", 0, [0, 1], None, 8, {0: 0, 1: 0})]
    for rank in range(2):
        ends = [("receive", 1 - rank), ("send", rank)]
        for function, gap_ns, length_ns, more in (("MPI_Irecv", 0, 0, {"posts": ends[:1]}), ("MPI_Isend", 0, 0, {"posts": ends[1:]}),
                                                  ("MPI_Iallreduce", (1 + rank) * MS // 10, 0, {"collective": 0}),
                                                  ("MPI_Waitall", MS, 2 * MS, {"completes": [*ends, ("member", 0)]})):
            job.calls[rank].append(Call(function, gap_ns, length_ns, **more))
    job.finish()
    return job


class PredictRun(unittest.TestCase):
    setUp, write, tool = made.ReplayCommand.setUp, made.ReplayCommand.write, made.ReplayCommand.tool
    query = made.ReplayCommand.query

    def predict(self, *arguments, code=0):
        done = self.tool("predict", self.trace, "--machine", self.machine, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_errors_by_hand(self):
        """At half the rate: rank 0 sends for 2 ms in place of 1, rank 1 is 7 ms inside messages in place of 5, rank 2 6 of 4."""
        self.write(made.chain())
        rows = json.loads(self.predict("--json").stdout)
        self.assertEqual(sorted(row["law"] for row in rows), sorted(LAWS))
        for row in rows:
            self.assertAlmostEqual(row["error"], 0, delta=1e-9)
            self.assertAlmostEqual(row["modelled_run_s"], 0.007, delta=2e-9)
        self.machine.write_text(HALF)
        for row in json.loads(self.predict("--json").stdout):
            self.assertAlmostEqual(row["error"], 0.5, delta=1e-9)
            self.assertAlmostEqual(row["bias"], 0.5, delta=1e-9)
            self.assertAlmostEqual(row["mape"], (1 / 1 + 2 / 5 + 2 / 4) / 3, delta=1e-9)
            self.assertIn(row["worst_rank"], (1, 2))
            self.assertIsNone(row["replicate_error"])
            self.assertEqual(row["judgement"], "too few messages")
        for model, rank, actual_s, model_s in self.query("SELECT model, rank, actual_s, model_s FROM rank_error"):
            self.assertAlmostEqual(actual_s, (0.001, 0.005, 0.004)[rank], delta=1e-9, msg=model)
            self.assertAlmostEqual(model_s, (0.002, 0.007, 0.006)[rank], delta=1e-9, msg=model)
        for error, bias in self.query("SELECT error, bias FROM model_error"):
            self.assertAlmostEqual(error, 0.5, delta=1e-9)
            self.assertAlmostEqual(bias, 0.5, delta=1e-9)
        self.assertEqual(self.query("SELECT function, round(actual_s, 9), round(model_s, 9) FROM site_error WHERE model = 'flow' "
                                    "ORDER BY function"), [("MPI_Recv", 0.008, 0.011), ("MPI_Send", 0.002, 0.004)])
        sites = json.loads(self.tool("report", self.trace, "--json").stdout)["site_errors"]
        self.assertEqual([(site["function"], round(site["off_s"], 9)) for site in sites], [("MPI_Recv", 0.003), ("MPI_Send", 0.002)])

    def test_parts_add_up(self):
        self.write(made.chain())
        self.predict()
        self.assertEqual(self.query(f"SELECT count(*), max(abs({PARTS} - modelled_s)) < 1e-12 FROM message_time"), [(4 * len(LAWS), 1)])

    def test_a_wait_for_messages_and_a_collective(self):
        """All of it counts, measured and modelled: the sum was begun last, but the messages may have come last."""
        self.write(sum_ahead())
        self.predict("--model", "postal")
        self.assertEqual(self.query("SELECT rank, round(actual_s, 8), round(model_s, 8) FROM rank_error"), [(0, 0.002, 0.002), (1, 0.002, 0.002)])
        self.assertEqual(self.query(f"SELECT max(abs({PARTS} - modelled_s)) < 1e-12 FROM message_time"), [(1,)])

    def test_replicate(self):
        """Odd calls take 1 + 1 ms, even ones 2 + 3, on both ranks; the fifth is in neither."""
        self.write(repeated([1, 2, 1, 3, 10]))
        rows = json.loads(self.predict("--json").stdout)
        self.assertAlmostEqual(rows[0]["replicate_error"], 6 / 7, delta=1e-9)
        self.assertAlmostEqual(self.query("SELECT error FROM replicate_error")[0][0], 6 / 7, delta=1e-9)
        self.assertAlmostEqual(self.query("SELECT share FROM replicate_error")[0][0], 7 / 17, delta=1e-9)
        self.assertIn("replicate error 85.7 %", self.predict().stdout)

    def check_windows_add_up(self):
        for model, windows, measured, modelled, off in self.query(
                "SELECT model, count(*), sum(actual_s), sum(model_s), sum(off_s) FROM window_error GROUP BY model"):
            (all_measured, all_modelled, all_off), = self.query(f"SELECT sum(actual_s), sum(model_s), sum(off_s) FROM rank_error WHERE model = '{model}'")
            self.assertEqual(windows, 60)
            self.assertAlmostEqual(measured, all_measured, delta=1e-9 * max(1, all_measured), msg=model)
            self.assertAlmostEqual(modelled, all_modelled, delta=1e-9 * max(1, all_modelled), msg=model)
            self.assertGreaterEqual(off, all_off - 1e-9)

    def test_windows_by_hand(self):
        """Steps of 1 ms of computation and a message: three calls of 1 ms, one of 10, in a run of 17 ms. Modelled: 1 us each."""
        self.write(repeated([1, 1, 1, 10]))
        self.predict("--model", "postal")
        rows = self.query("SELECT number, begin_s, end_s, actual_s, model_s, error FROM window_error WHERE actual_s > 0 ORDER BY number")
        self.assertEqual([row[0] for row in rows], [3, 10, 17, 24])  # of begins at 1, 3, 5 and 7 of 17 ms, in sixtieths
        for (number, begin_s, end_s, actual_s, model_s, error), each_ms in zip(rows, (1, 1, 1, 10)):
            self.assertAlmostEqual(begin_s, 0.017 * number / 60, delta=1e-9)
            self.assertAlmostEqual(end_s, 0.017 * (number + 1) / 60, delta=1e-9)
            self.assertAlmostEqual(actual_s, 2e-3 * each_ms, delta=1e-9)
            self.assertAlmostEqual(model_s, 2e-6, delta=1e-9)
            self.assertAlmostEqual(error, 1 - 1e-3 / each_ms, delta=1e-9)
        self.check_windows_add_up()
        report = json.loads(self.tool("report", self.trace, "--json").stdout)
        self.assertEqual([row["actual_s"] > 0 for row in report["window_errors"]], [number in (3, 10, 17, 24) for number in range(60)])
        self.assertEqual(report["region_errors"], [])
        self.assertIn("from 0.0068 to 0.007083 s 20.0 ms 2.00 us 100 % -100 % 0", " ".join(self.tool("report", self.trace, "--section", "models").stdout.split()))
        self.assertNotIn("worst error", self.tool("report", self.trace).stdout)  # nowhere twice as far off as in all of the run

    def test_worst_window(self):
        """Ten messages that take as long as modelled, 1 ms, and one of 2 ms, in a window of its own."""
        job = repeated([1] * 10 + [2])
        for message in job.messages:
            message.bytes = 1000000
        self.write(job)
        self.predict("--model", "flow")
        self.check_windows_add_up()
        shown = " ".join(self.tool("report", self.trace).stdout.split())
        self.assertRegex(shown, r"worst error: 50.0 % from 0.0207 to 0.02108 s on gigabyte")

    def test_windows_add_up(self):
        """Of runs made by lot, with threads, collectives, probes and tests, and of a wait for both."""
        self.write(sum_ahead())
        self.predict()
        self.check_windows_add_up()
        self.machine.write_text(made.MACHINE + "".join(f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n" for level in ("self", "inter_node")) + "any any gamma - 1e-9 s\n")
        for seed in range(12):
            self.write(random_job(random.Random(seed)))
            self.predict("--model", ("all", "staircase+queue", "fair")[seed % 3])
            self.check_windows_add_up()
        self.assertEqual(self.tool("replay", self.trace, "--machine", self.machine, "--law", "fair").returncode, 0)
        self.check_windows_add_up()

    def test_what_replaces_what(self):
        self.write(made.chain())
        self.predict("--model", "postal,flow,postal")
        self.assertEqual(self.query("SELECT law FROM replay_run ORDER BY law"), [("flow",), ("postal",)])
        self.predict("--model", "fair")
        self.assertEqual(self.query("SELECT model FROM model_error ORDER BY model"), [("fair",), ("flow",), ("postal",)])
        done = self.tool("replay", self.trace, "--machine", self.machine, "--law", "flow")
        self.assertEqual(done.returncode, 0, done.stderr)
        places = self.query("SELECT count(*) FROM replay_place")
        self.predict("--model", "flow")  # keeps the story of the replay
        self.assertEqual(self.query("SELECT count(*) FROM replay_place"), places)
        self.assertEqual(self.query("SELECT count(*) FROM message_time WHERE run_id NOT IN (SELECT id FROM replay_run)"), [(0,)])
        self.machine.write_text(HALF)  # other values by the same name: nothing of the old ones stays
        self.predict("--model", "postal")
        self.assertEqual(self.query("SELECT DISTINCT model FROM rank_error"), [("postal",)])
        self.assertEqual(self.query("SELECT law FROM replay_run"), [("postal",)])

    def test_one_command_gives_the_report(self):
        self.write(made.chain())
        self.predict()
        shown = self.tool("report", self.trace)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, r"(?m)^  law +error +replicate +bias +worst rank +measured +modelled$")
        self.assertIn("serialisation", shown.stdout)  # from the story of the best law
        report = json.loads(self.tool("report", self.trace, "--json").stdout)
        self.assertEqual(sorted(model["model"] for model in report["models"]), sorted(LAWS))
        self.assertEqual({model["rounds"] for model in report["models"]}, {False})
        self.assertAlmostEqual(report["ranks"][1]["models"][0]["actual_s"], 0.005, delta=1e-9)
        self.assertIsNotNone(report["replay"])

    def test_order_of_laws(self):
        """Laws of equal errors, as all are of one message at a time, come in the order of the table, here and in the report."""
        self.write(made.chain())
        done = json.loads(self.predict("--json", "--model", "fair,flow,staircase,max-rate,postal").stdout)
        expected = ["postal", "max-rate", "staircase", "flow", "fair"]
        self.assertEqual([row["law"] for row in done], expected)
        report = json.loads(self.tool("report", self.trace, "--json").stdout)
        self.assertEqual([model["model"] for model in report["models"]], expected)

    def test_the_story_of_one_law(self):
        """A what-if, --sensitivity and --interval are answered as by replay, by the law of --model; that is what is stored."""
        for law, options in (("staircase", ["--what-if", "--no-latency"]), ("flow", ["--sensitivity", "--to", "0.0062"]),
                             ("fair", ["--interval", "--scale-computation", "rank:0:2"]), ("flow+queue", ["--to-placement", "fill"])):
            self.machine.write_text(made.MACHINE + "any any gamma - 1e-9 s\n")
            for form in "text", "csv", "json":
                self.write(made.chain())
                replayed = self.tool("replay", self.trace, "--machine", self.machine, "--law", law, "-f", form, *options)
                stored = self.query("SELECT * FROM replay_run"), self.query("SELECT * FROM replay_part")
                self.write(made.chain())
                model = [] if law == "staircase" else ["--model", law]
                self.assertEqual(self.predict("-f", form, *model, *options).stdout, replayed.stdout)
                self.assertEqual((self.query("SELECT * FROM replay_run"), self.query("SELECT * FROM replay_part")), stored)
                self.assertEqual(stored[0][0][2], law)

    def test_options_of_the_table(self):
        """A window, modelled collectives and buffers are stored beside the whole run; its halves stay those of the whole run."""
        self.write(repeated([1, 2, 1, 3]))
        self.predict("--model", "flow")
        whole = self.query("SELECT * FROM message_halves"), self.query("SELECT * FROM model_error")
        for options in ("--to", "0.003"), ("--collectives", "modelled"), ("--buffers", "memory"):
            self.predict("--model", "flow", *options)
            self.predict("--model", "flow", *options)  # replaces itself
        self.assertEqual(self.query("SELECT collectives, options FROM replay_run ORDER BY id"), [
            ("recorded", ""), ("recorded", "to 0.003 s"), ("modelled", ""), ("recorded", "buffers memory")])
        self.assertEqual(self.query("SELECT * FROM message_halves"), whole[0])
        self.assertEqual(self.query("SELECT * FROM model_error WHERE options = ''"), whole[1])
        sums = dict(self.query("SELECT options, sum(actual_s) FROM rank_error GROUP BY options"))
        self.assertLess(sums["to 0.003 s"], sums[""])

    def test_rank_file(self):
        connection_sql = "INSERT INTO node(id, host, sockets, cores) VALUES (0, 'a.x', 1, 4) ON CONFLICT DO UPDATE SET host = 'a.x', cores = 4, sockets = 1"
        self.write(made.chain(), connection_sql)
        for command in "predict", "replay":
            prefix = self.folder / command
            done = self.tool(command, self.trace, "--machine", self.machine, "--to-placement", "fill", "--rank-file", prefix)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((self.folder / f"{command}.hosts").read_text(), "a.x:1\n" * 3)
            self.assertEqual((self.folder / f"{command}.rankfile").read_text(), "".join(f"rank {r}=a.x slot=0:{r}\n" for r in range(3)))
            self.assertEqual((self.folder / f"{command}.L.csv").read_text(), "rank,node,socket\n0,0,0\n1,0,0\n2,0,0\n")

    def test_refused(self):
        """Errors name the command that was called."""
        self.write(made.chain())
        for command in "predict", "replay":
            for options, text in ((["--what-if"], "--what-if: expected a change"), (["--from", "noon"], "--from: "),
                                  (["--scale-computation", "-1"], "--scale-computation -1: expected FACTOR"),
                                  (["--seconds", "3"], "--seconds and --seed require --best-placement")):
                done = self.tool(command, self.trace, "--machine", self.machine, *options)
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assertIn(text, done.stderr)
                self.assertIn(f"'mpistair {command} --help'", done.stderr)
        self.assertIn("expected one law", self.predict("--sensitivity", "--model", "all", code=2).stderr)
        self.assertIn("requires --rounds or --pattern", self.predict("--latency", "out", code=2).stderr)
        for option in (["--from", "0.1"], ["--collectives", "modelled"], ["--no-latency"], ["--sensitivity"]):
            self.assertIn("requires a trace without --rounds", self.predict("--rounds", *option, code=2).stderr)

    def test_formats(self):
        self.write(repeated([1, 1]))
        rows = list(csv.DictReader(io.StringIO(self.predict("-f", "csv", "--model", "flow").stdout)))
        said, = json.loads(self.predict("-f", "json", "--model", "flow").stdout)
        self.assertEqual({name: float(rows[0][name]) for name in ("error", "bias", "mape", "modelled_run_s")},
                         {name: said[name] for name in ("error", "bias", "mape", "modelled_run_s")})

    def test_little_to_tell(self):
        for job in (made.barrier(), made.lonely(), made.to_oneself()):
            self.write(job)
            self.assertIn("nothing to predict: no message goes from one rank to another\n", self.predict().stdout)
            self.assertEqual(self.tool("report", self.trace).returncode, 0)

    def test_a_machine_that_lacks_a_level(self):
        self.write(made.chain())
        self.machine.write_text("name gigabyte\nsource made up\ninter_node any tau - 0 s\ninter_node any bw 1 1e9 B/s\n")
        self.assertIn("intra_socket", self.predict(code=1).stderr)
        self.assertEqual(self.query("SELECT count(*) FROM message_time"), [(0,)])

    def test_tables_with_a_mark(self):
        """Of a recording that is not whole, and of ranks that waited for a processor, the table is there, with a mark."""
        why = "incomplete: 1 operations without a partner"
        self.write(made.chain(), "INSERT INTO unmatched VALUES (1, 0, 'send', 1, 0, 0, 8, 'unmatched', 0, 1, 'MPI_Isend', NULL)")
        self.assertRegex(self.predict().stdout, "flow .*\n(.*\n)*the recording is not whole, .*: " + why)
        shown = " ".join(self.tool("report", self.trace).stdout.split())
        self.assertRegex(shown, r"law error .* postal +[0-9.]+ ?%\?.* ! %\? is a share of a recording that is not whole: " + why)
        self.write(made.chain(), "UPDATE process SET run_ns = 5000000, wait_ns = 5000000, observed_ns = 10000000")
        self.assertNotIn("whole", self.predict().stdout)
        shown = " ".join(self.tool("report", self.trace).stdout.split())
        self.assertRegex(shown, r"law error .* postal +[0-9.]+ %.* ! measured times hold waits for processors, which no law knows")


if __name__ == "__main__":
    unittest.main(argv=[__file__])
