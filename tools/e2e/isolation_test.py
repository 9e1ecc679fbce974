"""Histories of clients of a real cluster whose compute servers die are strict snapshot isolated: they are recorded
through the wire, and checked. Also namsim's commands: exit codes, reports, seeds that give the same run again."""
import json
import os
import subprocess
import tempfile
from pathlib import Path

from harness import FABRICS, PATIENCE_S, Cluster, TestCase, main, program, run, until


def namsim(*arguments, **options):
    return run(program("namsim"), *arguments, **options)


# How long each history is recorded; a compute server dies and comes back every four seconds of it.
RECORD_S = int(os.environ.get("NAMDB_RECORD_SECONDS", "8"))


class Recorded(TestCase):
    def record(self, fabric, workload, rounds=RECORD_S // 4):
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder, \
                Cluster(fabric, compute_servers=2, region="256MiB") as cluster:
            history = Path(folder) / "history"
            errors = open(Path(folder) / "errors", "w+")
            recorder = subprocess.Popen(
                [program("namsim"), "record", "--port", f"{cluster.port},{cluster.port + 1}", "--seconds", str(RECORD_S),
                 "--clients", "6", "--workload", workload, "--history", str(history), "--json"],
                stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                for _ in range(rounds):
                    length = history.stat().st_size if history.exists() else 0
                    until(lambda: history.exists() and history.stat().st_size > length + 20_000, "some transactions")
                    cluster.kill("compute-0")
                    cluster.up()
                output, _ = recorder.communicate(timeout=RECORD_S + 3 * PATIENCE_S)
            finally:
                recorder.kill()
                recorder.wait()
                errors.seek(0)
                said = errors.read()
                errors.close()
            self.assertEqual(recorder.returncode, 0, output + said)
            recorded = json.loads(output)
            self.assertGreater(recorded["committed"], 100)
            self.assertGreater(recorded["connections"], 6)
            checked = namsim("check", history, "--all-reads")
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
            self.assertIn("ok: strict-snapshot-isolation", checked.stdout)
            return history.read_text()

    def test_lists(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric):
                text = self.record(fabric, "append")
                self.assertIn('"op":"append"', text)

    def test_registers(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric):
                text = self.record(fabric, "register")
                self.assertIn('"displaced"', text)


class Commands(TestCase):
    def test_usage_is_2_and_the_environment_3(self):
        for arguments in ((), ("nonsense",), ("run",), ("run", "--seed", "x"), ("check", "f", "--level", "none"),
                          ("hunt", "--minutes", "1", "--jobs", "0"), ("run", "--seed", "1", "--workload", "none")):
            self.assertEqual(namsim(*arguments).returncode, 2, arguments)
        missing = namsim("check", "/nonexistent/history")
        self.assertEqual(missing.returncode, 3)
        self.assertIn("cannot read /nonexistent/history", missing.stderr)
        self.assertEqual(namsim("record", "--port", "1", "--history", "/dev/null").returncode, 3)
        self.assertEqual(namsim("run", "--seed", "1", "--history", "/nonexistent/history").returncode, 3)
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("no history\n")
            file.flush()
            broken = namsim("check", file.name)
            self.assertEqual(broken.returncode, 3)
            self.assertIn("line 1: no JSON", broken.stderr)
        for command in ("check", "run", "hunt", "shrink", "record"):
            helped = namsim(command, "--help")
            self.assertEqual(helped.returncode, 0)
            self.assertIn("Options:", helped.stdout)

    def test_a_run_is_its_seed_and_its_history_can_be_checked(self):
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder:
            reports = []
            for name in ("one", "two"):
                done = namsim("run", "--seed", "3", "--workload", "write-skew", "--json", "--history",
                              Path(folder) / name)
                self.assertEqual(done.returncode, 0, done.stderr)
                reports.append(json.loads(done.stdout))
            self.assertEqual(reports[0], reports[1])
            self.assertEqual((Path(folder) / "one").read_text(), (Path(folder) / "two").read_text())
            clean = namsim("check", Path(folder) / "one", "--json")
            self.assertEqual(clean.returncode, 0)
            self.assertTrue(json.loads(clean.stdout)["ok"])
            skewed = namsim("check", Path(folder) / "one", "--level", "serializable", "--json")
            self.assertEqual(skewed.returncode, 1)
            self.assertEqual(json.loads(skewed.stdout)["anomalies"][0]["name"], "write skew")

    def test_a_hunt_prints_the_command_that_fails_again_and_shrinking_keeps_it_failing(self):
        level = ("--level", "serializable")
        hunted = namsim("hunt", "--minutes", "1", "--jobs", "2", "--workload", "write-skew", "--json", *level)
        self.assertEqual(hunted.returncode, 1, hunted.stderr)
        failure = json.loads(hunted.stdout)["failures"][0]
        again = namsim("run", *failure["flags"].split(), *level, "--json")
        self.assertEqual(again.returncode, 1)
        self.assertEqual(json.loads(again.stdout)["anomaly"], failure["anomaly"])
        shrunk = namsim("shrink", *failure["flags"].split(), *level, "--json")
        self.assertEqual(shrunk.returncode, 1, shrunk.stderr)
        smallest = json.loads(shrunk.stdout)
        self.assertEqual(smallest["keys"], 2)
        self.assertLess(smallest["transactions"], json.loads(again.stdout)["transactions"])
        self.assertEqual(namsim("run", *smallest["flags"].split(), *level).returncode, 1)

    def test_a_clean_hunt_is_0(self):
        done = namsim("hunt", "--minutes", "5", "--seeds", "30", "--jobs", "2", "--first-seed", "100", "--json",
                      timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual((report["runs"], report["next_seed"]), (30, 130))


if __name__ == "__main__":
    main()
