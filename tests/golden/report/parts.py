"""Looks for figures that exceed what they are part of, and for ones that are not the same where they are asked for in two ways.
Import it with any trace: whatever was recorded, this holds."""
import csv
import io
import json
import re

ROUNDING = 1 + 1e-6
# Shares of something else than a whole: threads that ran at once.
NO_PARTS = {"run_share"}
# Sections whose percentages are no parts, but errors of models, changes, or noise.
NOT_SHARES = ("Models", "Whole run", "Ranks", "Why", "Rounds", "Fine-grained messages", "GPU")


class Parts:
    """tool: returns what the program prints on the standard output when it is called with such arguments, None if it failed."""

    def __init__(self, tool, trace):
        self.tool, self.trace, self.wrong = tool, trace, []

    def at_most(self, what, part, whole):
        if part is not None and whole is not None and part > whole * ROUNDING + 2e-9:
            self.wrong.append(f"{what}: {part} of {whole}")

    def equal(self, what, one, other, by=1e-3):
        if abs(one - other) > by * max(abs(one), abs(other)) + 2e-9:
            self.wrong.append(f"{what}: {one} and {other}")

    def shares(self, path, value):
        if isinstance(value, dict):
            for key, inner in value.items():
                if (key == "share" or key.endswith("_share") or key in ("load_balance", "communication", "parallel", "coverage")) \
                        and key not in NO_PARTS:
                    self.at_most(f"{path}.{key}", inner if isinstance(inner, (int, float)) else None, 1)
                self.shares(f"{path}.{key}", inner)
        elif isinstance(value, list):
            for number, inner in enumerate(value):
                self.shares(f"{path}[{number}]", inner)

    def report(self):
        report = json.loads(self.tool("report", self.trace, "--json"))
        self.shares("report", report)
        self.levels(report)
        if "unknown" not in report["time"]:
            self.time(report)
            self.calls(report["time"])
        for name in "collectives", "rma", "files":
            one = report[name]
            self.at_most(f"{name}: waiting and transfer", one["wait_s"] + one["transfer_s"], one["time_s"])
            self.at_most(f"{name}: inside MPI", one["inside_s"], one["time_s"])
        for rank in report["ranks"]:
            self.rank(rank)
        return report

    def levels(self, report):
        for key, whole in ("messages", report["run"]["messages"]), ("bytes", report["run"]["bytes"]):
            self.at_most(f"levels: {key}", sum(level[key] for level in report["levels"]), whole)
        kinds = report["rounds"]["heaviest_kinds"]
        self.at_most("kinds: time", sum(kind["time_s"] or 0 for kind in kinds), report["rounds"]["actual_s"])
        self.at_most("kinds: share", sum(kind["time_share"] or 0 for kind in kinds), 1)

    def time(self, report):
        time, ranks = report["time"], len(report["ranks"])
        rows = {row["activity"]: row for row in time["activities"]}
        self.equal("activities: time", sum(row["time_s"] for row in rows.values()), time["ranks_s"])
        for name, row in rows.items():
            self.at_most(f"{name}: least", row["least_s"], row["time_s"] / ranks)
            self.at_most(f"{name}: mean", row["time_s"] / ranks, row["most_s"])
            self.equal(f"{name}: ranks", sum(rank["activity_s"][name] for rank in report["ranks"]), row["time_s"])
        inside_s = sum(row["time_s"] for name, row in rows.items() if name not in ("computation", "between_polls"))
        sites = time["call_sites"]
        self.at_most("call sites: time", sum(site["time_s"] for site in sites), inside_s)
        for site in sites:
            what = f"{site['function']} {site['place']}"
            self.at_most(f"{what}: parts", sum(site[f"{part}_s"] for part in ("late_sender", "late_receiver", "last_rank", "transfer")), site["time_s"])
            self.at_most(f"{what}: one rank's wait", site["awaited_s"], site["late_sender_s"] + site["late_receiver_s"] + site["last_rank_s"])
        for finding in report["findings"]:
            self.at_most(f"finding: {finding['sentence']}", finding["cost_s"], time["ranks_s"])

    def calls(self, time):
        """The time of a function's calls is the same in report and query, where each call site is shown."""
        if time["all_call_sites"] > len(time["call_sites"]):
            return
        asked = {}
        for row in json.loads(self.tool("query", self.trace, "calls", "--json")):
            asked[row["function"]] = asked.get(row["function"], 0) + row["time_s"]
        told = {}
        for site in time["call_sites"]:
            told[site["function"]] = told.get(site["function"], 0) + site["time_s"]
        for name in asked.keys() | told.keys():
            # What two threads of a rank do at the same moment may be cut by some ns.
            if abs(asked.get(name, 0) - told.get(name, 0)) > 1e-8:
                self.equal(f"{name}: in query calls and in the report", asked.get(name, 0), told.get(name, 0))

    def rank(self, rank):
        what = f"rank {rank['rank']}"
        self.at_most(f"{what}: inside MPI", rank["in_mpi_s"], rank["actual_s"])
        self.at_most(f"{what}: late partners", (rank["late_senders_s"] or 0) + (rank["late_receivers_s"] or 0), rank["actual_s"])

    def text(self):
        """No percentage of parts is above 100."""
        section = ""
        for line in self.tool("report", self.trace, "--all").splitlines():
            section = line if line and not line.startswith(" ") else section
            for percent in re.findall(r"(?<![+\d.-])(\d+(?:\.\d+)?) ?%", line):
                if not section.startswith(NOT_SHARES) and "error" not in line:
                    self.at_most(f"'{line.strip()}'", float(percent), 100)

    def table(self, report):
        for row in csv.DictReader(io.StringIO(self.tool("report", self.trace, "--format", "csv"))):
            number = lambda name: float(row[name]) if row[name] else None
            self.at_most(f"csv, rank {row['rank']}: inside MPI", number("in_mpi_s"), number("actual_s"))
            self.at_most(f"csv, rank {row['rank']}: outside", number("outside_s"), number("actual_s"))
            own = next(rank for rank in report["ranks"] if rank["rank"] == int(row["rank"]))
            if number("in_mpi_s") is not None:
                self.equal(f"rank {row['rank']}: csv and json", number("in_mpi_s"), own["in_mpi_s"])


def wrong_parts(tool, trace):
    """Says what is wrong, a text each."""
    parts = Parts(tool, trace)
    report = parts.report()
    parts.text()
    parts.table(report)
    return parts.wrong


KINDS = ("parallel", "load_balance", "communication", "serialisation", "transfer")
OPPOSITE = {"at least": "at most", "at most": "at least", None: None}


def wrong_efficiencies(shares, bounds):
    """What of efficiencies by name contradicts the others, with "at least", "at most" by name where they are bounds."""
    if set(shares) != set(KINDS):
        return [f"efficiencies {sorted(shares)}"]
    if None in shares.values():
        return [] if set(shares.values()) == {None} and not bounds else [f"not all known: {shares}, {bounds}"]
    wrong = [f"{name}: {share}" for name, share in shares.items() if not 0 <= share <= 1]
    for product, one, other in ("parallel", "load_balance", "communication"), ("communication", "serialisation", "transfer"):
        if abs(shares[one] * shares[other] - shares[product]) > 1e-14 * shares[product]:
            wrong.append(f"{one} {shares[one]!r} times {other} {shares[other]!r} is not {product} {shares[product]!r}")
    if bounds.get("serialisation") != OPPOSITE[bounds.get("transfer")] or set(bounds) - {"serialisation", "transfer"}:
        wrong.append(f"bounds {bounds}")
    return wrong


def wrong_replay(tool, trace, *options):
    """The same of a replay that is stored: as shown, as stored, and in the report, which all say the same. tool and trace as of
    Parts. Where the trace cannot be replayed, nothing is wrong."""
    text = tool("replay", trace, "--format", "json", *options)
    if not text:
        return []
    replay = json.loads(text)
    wrong, rows = [], list(csv.DictReader(io.StringIO(tool("query", trace, "efficiencies", "--format", "csv"))))[:len(KINDS)]
    report = json.loads(tool("report", trace, "--json"))["replay"]["efficiencies"]
    for side in "measured", "predicted":
        shares, bounds = replay["efficiencies"][side], replay["efficiency_bounds"][side]
        wrong += wrong_efficiencies(shares, bounds)
        found = {row["efficiency"]: (float(row[side]) if row[side] else None, row[side + "_bound"] or None) for row in rows}
        told = {row["efficiency"]: (row[side], row[side + "_bound"]) for row in report}
        expected = {name: (share, bounds.get(name)) for name, share in shares.items()}
        wrong += [f"{side}: {where} {what}, replay {expected}" for where, what in (("stored", found), ("report", told))
                  if what != expected]
    return [f"replay {' '.join(options)}: {what}" for what in wrong]
