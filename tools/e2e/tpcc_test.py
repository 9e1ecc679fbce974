"""TPC-C whole, through the wire: all five transactions keep the specification's twelve consistency conditions, also
when a compute server is killed in the middle of them, over one, two and four memory servers, and where the timestamp
vector is partitioned over them.
"""
import json
import subprocess

from harness import PATIENCE_S, WHOLE, Cluster, TestCase, main, program, run

SCALE = ("--warehouses", "2", "--items", "500", "--customers", "60", "--initial-orders", "60")
# Transport, memory servers, timestamp vector.
SAMPLE = (("shm", 1, "whole"), ("tcp", 2, "partitioned"))
MATRIX = (*SAMPLE, ("shm", 2, "whole"), ("tcp", 2, "whole"), ("tcp", 4, "whole"), ("shm", 2, "partitioned"))


def nambench(*arguments):
    return run(program("nambench"), *arguments, timeout=4 * PATIENCE_S)


class TpccWhole(TestCase):
    def check(self, port, transactions):
        done = nambench("run", "tpcc", "--port", str(port), "--initial-orders", "60", "--clients", "4", "--transactions",
                        str(transactions), "--check", "--quiet", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        conditions = [check for check in report["checks"] if check["name"].startswith("consistency condition")]
        self.assertEqual(len(conditions), 12)
        self.assertEqual([check for check in report["checks"] if not check["ok"]], [])
        return report

    def test_conditions_hold_behind_a_kill(self):
        for fabric, memory_servers, vector in MATRIX if WHOLE else SAMPLE:
            with self.subTest(fabric=fabric, memory_servers=memory_servers, vector=vector), \
                    Cluster(fabric, memory_servers=memory_servers, compute_servers=2, region="256MiB",
                            memory_flags=(f"--timestamp-vector={vector}",)) as cluster:
                loaded = nambench("load", "tpcc", "--port", str(cluster.port), *SCALE, "--quiet")
                self.assertEqual(loaded.returncode, 0, loaded.stdout + loaded.stderr)
                report = self.check(cluster.port, 100)
                committed = {one["name"]: one["committed"] for one in report["transactions"]}
                self.assertEqual([name for name, count in committed.items() if count == 0], [])
                # One server dies under its clients while another goes on.
                doomed = subprocess.Popen(
                    [program("nambench"), "run", "tpcc", "--port", str(cluster.port), "--clients", "4", "--seconds", "60",
                     "--no-check"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                try:
                    self.wait_for_progress(doomed)
                    cluster.kill("compute-0")
                    self.check(cluster.port + 1, 100)
                    _, said = doomed.communicate(timeout=PATIENCE_S)
                    self.assertEqual(doomed.returncode, 3, said)
                    self.assertIn("the run is void", said)
                finally:
                    doomed.kill()
                    doomed.wait()
                    doomed.stderr.close()
                cluster.up()
                self.check(cluster.port, 20)

    def wait_for_progress(self, process):
        """Until the run has told how far it is, so that transactions are under way."""
        said = ""
        while "/s" not in said:
            read = process.stderr.read(1)
            self.assertNotEqual(read, "", said)
            said += read


if __name__ == "__main__":
    main()
