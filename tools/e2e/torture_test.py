"""kill -9 of any daemon, or of all, at random under load: every acknowledged write is read back, none is there in halves, and
recorded histories are as isolated as promised across all restarts.

NAMDB_TORTURE_MINUTES says how long; by default it is six kills.
"""
import json
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

from harness import FABRICS, PATIENCE_S, Cluster, TestCase, main, program, run, until
from ledger import Ledger

MINUTES = float(os.environ.get("NAMDB_TORTURE_MINUTES", "0"))
KILLS = 6
# Of a recorded history; a long run has several.
RECORD_S = 60 if MINUTES else 12
# The ledger's rows take some 3 KiB each, and a minute brings tens of thousands.
REGION = "3GiB" if MINUTES else "256MiB"
DAEMONS = ("memory-0", "compute-0", "compute-1")


class Recorder:
    """namsim record beside the ledger: lists that clients append to and read."""

    def __init__(self, cluster, folder):
        self.history = Path(folder) / "history"
        ports = f"{cluster.port},{cluster.port + 1}"
        self.process = subprocess.Popen(
            [program("namsim"), "record", "--port", ports, "--seconds", str(RECORD_S), "--clients", "4", "--workload",
             "append", "--history", str(self.history), "--json", "--wait-seconds", str(PATIENCE_S)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def done(self):
        return self.process.poll() is not None

    def check(self, test):
        output, _ = self.process.communicate(timeout=RECORD_S + 3 * PATIENCE_S)
        test.assertEqual(self.process.returncode, 0, output)
        checked = run(program("namsim"), "check", self.history, "--all-reads")
        test.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        return json.loads(output[output.index("{"):])["committed"]

    def stop(self):
        if not self.done():
            self.process.kill()
            self.process.wait()


class Torture(TestCase):
    def torture(self, fabric, seconds, kills):
        generator = random.Random(int(os.environ.get("NAMDB_TORTURE_SEED", "1")))
        begun = time.monotonic()
        killed = 0
        recorded = 0
        with Cluster(fabric, compute_servers=2, durability="flushed", region=REGION) as cluster, \
                tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder:
            ledger = Ledger(cluster, clients=6, servers=(0, 1))
            ledger.create()
            recorder = Recorder(cluster, folder)
            try:
                while killed < kills or time.monotonic() < begun + seconds:
                    with ledger:
                        ledger.await_progress()
                        # Anywhere in a commit, a checkpoint, or what follows the last kill.
                        time.sleep(generator.uniform(0, 0.4))
                        victims = generator.choice([*((name,) for name in DAEMONS), ("memory-0",), DAEMONS])
                        at = time.monotonic()
                        for name in generator.sample(victims, len(victims)):
                            cluster.kill(name)
                        killed += 1
                        cluster.up()
                        ledger.await_progress()
                        print(f"{at - begun:8.1f} s: kill {killed} of {' '.join(victims)}; writes again after "
                              f"{time.monotonic() - at:.2f} s; {ledger.count()} acknowledged", flush=True)
                    if killed % 5 == 0:
                        self.report(ledger)
                    if recorder.done():
                        recorded += recorder.check(self)
                        recorder = Recorder(cluster, folder)
                until(recorder.done, "the history's end", RECORD_S + PATIENCE_S)
                recorded += recorder.check(self)
            finally:
                recorder.stop()
            rows = ledger.check(self)
            unknown = sum(len(numbers) for numbers in ledger.unknown)
            print(f"{fabric}: {killed} kills; {ledger.count()} writes acknowledged, {unknown} unknown, {rows} rows, all as "
                  f"they must be; {recorded} recorded transactions without an anomaly", flush=True)

    def report(self, ledger):
        print(f"  {ledger.check(self)} rows are as they must be", flush=True)

    def test_any_daemon_may_die_at_any_time(self):
        fabrics = FABRICS if MINUTES else self.covering(FABRICS)
        for fabric in fabrics:
            with self.subTest(fabric=fabric):
                self.torture(fabric, MINUTES * 60 / len(fabrics), KILLS)


if __name__ == "__main__":
    main()
