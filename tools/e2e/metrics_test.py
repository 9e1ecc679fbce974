"""The daemons' accounts of themselves: metrics over HTTP, signs of life and status lines for the service manager, logs as
json, and settings that are read again."""
import json
import re
import signal
import tempfile
import urllib.request
from pathlib import Path

from harness import Cluster, Daemon, TestCase, free_port, main, namctl, program, run, until

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/metrics.md").read_text(), re.M))
NAME = re.compile(r"\bnamdb_(?:memory|compute)_\w+")
# They are there only after something has happened, or where regions have copies.
SOMETIMES = {"namdb_compute_aborts_total", "namdb_memory_checkpoint_age_seconds", "namdb_memory_checkpoint_duration_seconds",
             "namdb_memory_copies_wanted", "namdb_memory_copies_in_sync", "namdb_memory_copy_in_sync",
             "namdb_memory_copy_lag_bytes", "namdb_memory_copy_unapplied_bytes"}


def get(port, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
        return answer.read().decode()


def samples(page):
    """(name, labels) -> value."""
    found = {}
    for line in page.splitlines():
        if not line.startswith("#"):
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
            found[name, labels or ""] = float(value)
    return found


class Metrics(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ports = [free_port(), free_port()]
        cls.cluster = Cluster("tcp", durability="flushed", memory_flags=[f"--metrics-listen=127.0.0.1:{cls.ports[0]}"],
                              compute_flags=[f"--metrics-listen=127.0.0.1:{cls.ports[1]}"])
        cls.cluster.__enter__()
        cls.cluster.query("CREATE TABLE seen (id int PRIMARY KEY, t text)")
        cls.cluster.query("INSERT INTO seen SELECT g, 'x' FROM generate_series(1, 100) g")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__(None, None, None)

    def test_every_metric_is_documented_and_every_documented_one_is_there(self):
        namctl("checkpoint", "--data", self.cluster.data)
        names = {name for port in self.ports for name, _ in samples(get(port)) if name.startswith("namdb_")}
        self.assertEqual(sorted(names - DOCUMENTED), [])
        self.assertEqual(sorted(DOCUMENTED - names - SOMETIMES), [])

    def test_the_dashboard_and_the_alerts_use_metrics_that_there_are(self):
        for file in ("dashboard.json", "alerts.yaml"):
            used = set(NAME.findall((ROOT / "tools/monitoring" / file).read_text()))
            self.assertGreater(len(used), 5)
            self.assertEqual(sorted(used - DOCUMENTED), [], file)
        dashboard = json.loads((ROOT / "tools/monitoring/dashboard.json").read_text())
        identities = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(identities), len(set(identities)))

    def test_they_agree_with_namctl(self):
        memory, compute = (samples(get(port)) for port in self.ports)
        status = json.loads(namctl("status", "--data", self.cluster.data, "--json").stdout)
        (server,) = status["memory_servers"]
        self.assertEqual(memory["namdb_memory_region_bytes", ""], server["region_bytes"])
        parts = sum(value for (name, _), value in memory.items() if name == "namdb_memory_part_bytes")
        self.assertEqual(parts, server["region_bytes"])
        self.assertGreater(memory["namdb_memory_table_bytes", 'table="seen",kind="records"'], 0)
        self.assertEqual(memory["namdb_memory_index_entries", 'index="seen_pkey"'], 100)
        self.assertEqual(compute["namdb_compute_commits_total", 'type="INSERT"'], 1)

    def test_health(self):
        for port in self.ports:
            self.assertEqual(get(port, "/health"), "ok\n")

    def test_an_address_in_use_is_refused(self):
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder:
            done = run(program("nam-memoryd"), "--data", folder, "--listen", f"unix:{folder}/m", "--region-bytes", "32MiB",
                       "--metrics-listen", f"127.0.0.1:{self.ports[0]}")
            self.assertEqual(done.returncode, 3, done.stderr)
            done = run(program("nam-computed"), "--data", folder, "--listen", "127.0.0.1:0", "--cluster-key",
                       self.cluster.data / "cluster.key", "--memory-server", f"127.0.0.1:{self.cluster.port + 1}",
                       "--metrics-listen", f"127.0.0.1:{self.ports[0]}")
            self.assertEqual(done.returncode, 3, done.stderr)
            done = run(program("nam-memoryd"), "--data", folder, "--metrics-listen", "unix:/tmp/x")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--metrics-listen takes HOST:PORT", done.stderr)


class Service(TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.addCleanup(self.folder.cleanup)
        self.place = self.folder.name
        self.socket = f"unix:{self.place}/m"

    def memory(self, *arguments, **options):
        return Daemon(self.place, "nam-memoryd", "--listen", self.socket, "--region-bytes", "64MiB", *arguments, **options)

    def compute(self, *arguments, **options):
        return Daemon(self.place, "nam-computed", "--memory-server", self.socket, "--listen", "127.0.0.1:0", *arguments,
                      **options)

    def test_both_daemons_give_signs_of_life_and_say_how_they_are(self):
        watched = {"environment": {"WATCHDOG_USEC": "200000"}}
        with self.memory(**watched) as memory:
            memory.until_told("READY=1")
            with self.compute("--workers", 2, **watched) as compute:
                compute.until_told("READY=1")
                for _ in range(3):
                    memory.until_told("WATCHDOG=1")
                    compute.until_told("WATCHDOG=1")
                memory.until_told("STATUS=Serves 2 workers, ")
                compute.until_told("STATUS=Serves 0 of at most 1000 SQL clients; ")
                self.assertEqual(compute.end(), 0)
            self.assertEqual(memory.end(), 0)

    def test_nobody_who_does_not_watch_is_told_that_they_live(self):
        with self.memory() as memory:
            memory.until_told("READY=1")
            self.assertIn("STATUS=Serves", memory.notified.recv(65536).decode())
            self.assertEqual(memory.end(), 0)
            self.assertNotIn("WATCHDOG", memory.notified.recv(65536).decode())

    def test_logs_as_json_are_an_object_a_line(self):
        log = Path(self.place) / "log"
        with log.open("w") as stream, self.memory("--log-format", "json", stderr=stream) as memory:
            memory.until_told("READY=1")
            self.assertEqual(memory.end(), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertGreater(len(lines), 2)
        for line in lines:
            self.assertEqual(set(line), {"time", "level", "daemon", "message"})
            self.assertEqual(line["daemon"], "nam-memoryd")

    def test_a_memory_server_reads_its_settings_again_and_keeps_them_where_they_are_wrong(self):
        config = Path(self.place) / "memoryd.toml"
        config.write_text('log-level = "info"\n')
        log = Path(self.place) / "log"
        with log.open("w") as stream, self.memory("--config", config, stderr=stream) as memory:
            memory.until_told("READY=1")
            config.write_text('log-level = "nonsense"\n')
            memory.process.send_signal(signal.SIGHUP)
            until(lambda: "settings stay as they were" in log.read_text(), "a wrong file is named")
            config.write_text('log-level = "debug"\ncheckpoint-seconds = 60\n')
            memory.process.send_signal(signal.SIGHUP)
            until(lambda: "are read again" in log.read_text(), "a right file is read")
            self.assertEqual(memory.end(), 0)


if __name__ == "__main__":
    main()
