"""Runs of `nambench run --engine --in-process`, one after the other, and what their reports say."""
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

BIN = Path(os.environ.get("NAMDB_BIN", Path(__file__).resolve().parents[2] / "build" / "release" / "bin"))
# What the paper's comparisons run, small enough for a laptop.
WORKLOADS = {
    "smallbank": ["smallbank", "--accounts", "20000"],
    "ycsb": ["ycsb", "--records", "20000", "--operations", "10", "--reads", "0.8", "--field-bytes", "8", "--uniform"],
    "tpcc-new-order": ["tpcc", "--warehouses", "2", "--items", "2000", "--customers", "100", "--initial-orders", "20",
                       "--mix", "new_order=1"],
}
STAGES = ("read", "lock", "validate", "log", "install", "release")


class RunFailed(Exception):
    pass


@dataclass
class Subject:
    """What is run, and what came of it, run by run."""
    protocol: str
    stages: str
    workload: list
    fabric: str
    coroutines: int
    reports: list = field(default_factory=list)

    def run(self, seconds, seed=1):
        command = [BIN / "nambench", "run", *self.workload, "--engine", "--in-process", "--fabric", self.fabric,
                   "--protocol", self.protocol, "--stages", self.stages, "--coroutines", self.coroutines,
                   "--seconds", seconds, "--warmup", min(0.3, seconds), "--seed", seed, "--json", "--quiet"]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RunFailed(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr}")
        self.reports.append(json.loads(done.stdout))

    def values(self, name):
        return [getattr(self, "_" + name)(report) for report in self.reports]

    def median(self, name):
        return statistics.median(self.values(name))

    def spread(self, name):
        """Half of the difference between the greatest and the smallest, in percent of the median."""
        values = self.values(name)
        middle = statistics.median(values)
        return 0 if middle == 0 else 50 * (max(values) - min(values)) / middle

    @staticmethod
    def _rate(report):
        return report["transactions_per_second"]

    @staticmethod
    def _p50(report):
        return report["latency_us"]["p50"]

    @staticmethod
    def _p99(report):
        return report["latency_us"]["p99"]

    @staticmethod
    def _servers(report, name):
        return sum(each["server"].get(name, 0) for each in report["transactions"])

    def _aborts(self, report):
        """Attempts that ended in a conflict, in percent of all."""
        retries = self._servers(report, "retries")
        return 100 * retries / max(1, retries + self._servers(report, "commits"))

    def _per_commit(self, report, *names):
        return sum(self._servers(report, name) for name in names) / max(1, self._servers(report, "commits"))

    def _operations(self, report):
        return self._per_commit(report, "reads", "writes", "compare_and_swaps", "fetch_adds")

    def _calls(self, report):
        return self._per_commit(report, "calls")

    def _round_trips(self, report):
        return self._per_commit(report, "round_trips")

    def _bytes(self, report):
        return self._per_commit(report, "bytes")


COLUMNS = (("transactions/s", "rate", 0), ("p50 us", "p50", 1), ("p99 us", "p99", 0), ("aborts %", "aborts", 1),
           ("one-sided", "operations", 1), ("calls", "calls", 1), ("round trips", "round_trips", 2),
           ("bytes", "bytes", 0))


def table(subjects, label):
    """Markdown. Figures are medians; operations, round trips and bytes are for each commit, retries included."""
    rows = [["", *(title for title, _, _ in COLUMNS)]]
    rows.append(["---"] + ["---:"] * len(COLUMNS))
    for subject in subjects:
        row = [label(subject)]
        for _, name, digits in COLUMNS:
            text = f"{subject.median(name):,.{digits}f}"
            if name == "rate" and len(subject.reports) > 1:
                text += f" ±{subject.spread(name):.0f} %"
            row.append(text)
        rows.append(row)
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def say(text):
    print(text, file=sys.stderr, flush=True)
