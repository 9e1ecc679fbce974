"""Real daemons over RDMA: procedures, deaths, a cable that loses packets, wrong keys, limits. Runs in the virtual machine
of tools/dev/verbs-vm, which sets NAMDB_TEST_VERBS_ADDRESS."""
import json
import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import psycopg

from bank import Bank, Load
from harness import VERBS_ADDRESS, Cluster, TestCase, alive, cpu_seconds, main, namctl, program, run, until

# Emulated cores: everything takes long.
CABLE = ("w0", "w1")


def lose_packets(share):
    for end in CABLE:
        done = run("tc", "qdisc", "replace", "dev", end, "root", "netem", "loss", f"{share}%")
        assert done.returncode == 0, done.stderr


def heal():
    for end in CABLE:
        run("tc", "qdisc", "del", "dev", end, "root")


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class OverVerbs(TestCase):
    """One cluster of two memory servers and two compute servers; the methods run in the order of their names."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # Emulation is slow, not dead: patience with heartbeats.
        cls.cluster = Cluster("verbs", memory_servers=2, compute_servers=2, region="64MiB",
                              memory_flags=("--heartbeat-timeout-seconds=20",))
        cls.cluster.__enter__()
        cls.bank = Bank(cls.cluster, accounts=12)
        cls.bank.create()

    @classmethod
    def tearDownClass(cls):
        heal()
        cls.cluster.__exit__()

    def test_1_it_is_rdma(self):
        with open("/proc/net/tcp") as sockets:
            ports = {line.split()[1].split(":")[1] for line in list(sockets)[1:]}
        for server in range(2):
            address = self.cluster.state["memory_servers"][server]["address"]
            self.assertNotIn(f"{int(address.split(':')[1]):04X}", ports)
        done = namctl("status", "--data", self.cluster.data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("fabric verbs"), 2, done.stdout)

    def smallbank(self, cluster):
        """What the server counted of each transaction type, for the same requests."""
        done = run(program("nambench"), "load", "smallbank", "--accounts", 60, "--port", cluster.port, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run(program("nambench"), "run", "smallbank", "--port", cluster.port, "--clients", 1, "--transactions", 25,
                   "--quiet", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        return report["result_hash"], {entry["name"]: entry["server"] for entry in report["transactions"]}

    def test_2_transactions_cost_what_they_cost_over_shared_memory(self):
        with Cluster("shm", memory_servers=2, region="32MiB") as cluster:
            Bank(cluster, accounts=0).create()  # tables of the same numbers: rows on the same servers
            shared = self.smallbank(cluster)
        self.assertEqual(self.smallbank(self.cluster), shared)

    def test_2a_procedures_are_called_by_psql(self):
        for server in range(2):
            done = run("psql", "-h", "127.0.0.1", "-p", self.cluster.port + server, "namdb", "-v", "ON_ERROR_STOP=1",
                       "-Atc", "CALL smallbank_send_payment(1, 2, 5.00)", "-c", "CALL smallbank_balance(1)")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_3_an_idle_daemon_sleeps(self):
        pids = [self.cluster.pid(name) for name in ("memory-0", "memory-1", "compute-0", "compute-1")]
        before = [cpu_seconds(pid) for pid in pids]
        started = time.monotonic()
        time.sleep(3)
        passed = time.monotonic() - started
        for pid, used in zip(pids, before):
            self.assertLess(cpu_seconds(pid) - used, passed / 2)

    def test_4_a_cable_that_loses_packets_only_slows(self):
        lose_packets(2)
        try:
            with Load(self.bank, clients=2, servers=(0, 1)) as load:
                until(lambda: load.committed >= 10, "commits over a bad cable", timeout=120)
        finally:
            heal()
        self.assertEqual(load.unexpected, [])
        self.bank.check_total(self)

    def test_4a_a_cable_that_was_pulled_is_found_again(self):
        with Load(self.bank, clients=2, servers=(0, 1)) as load:
            until(lambda: load.committed >= 5, "some commits")
            lose_packets(100)
            time.sleep(4)
            heal()
            before = load.committed
            until(lambda: load.committed > before + 10, "commits over the mended cable", timeout=120)
        self.assertEqual(load.unexpected, [])
        self.bank.check_total(self)
        self.bank.check_no_lock(self)

    def test_5_a_dead_compute_server_is_repaired_by_its_peer(self):
        with Load(self.bank, clients=3, servers=(0, 1)) as load:
            until(lambda: load.committed >= 10, "some commits")
            self.cluster.kill("compute-0")
            before = load.committed
            until(lambda: load.committed > before + 10, "commits by the peer")
        self.assertEqual(load.unexpected, [])
        self.bank.check_no_lock(self, server=1)
        self.bank.check_total(self, server=1)

    def test_6_a_dead_memory_server_is_noticed_and_a_new_one_found(self):
        self.cluster.kill("memory-1")
        until(lambda: "lost the connection" in self.cluster.log("compute-1"), "the death is noticed")
        with self.assertRaises(psycopg.Error):
            self.cluster.query("SELECT count(*) FROM bank", server=1)
        self.assertTrue(alive(self.cluster.pid("compute-1")))
        self.cluster.up()

        def works():
            try:
                return self.cluster.query("CREATE TABLE IF NOT EXISTS again (id bigint PRIMARY KEY)", server=1) == []
            except psycopg.Error:
                return False

        until(works, "a new beginning")
        self.cluster.query("INSERT INTO again VALUES (1)", server=0)
        self.assertEqual(self.cluster.query("SELECT id FROM again", server=1), [(1,)])


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class WrongStarts(TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.data = Path(self.folder.name)
        os.chmod(self.data, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def key(self, name):
        path = self.data / name
        path.write_bytes(os.urandom(32))
        path.chmod(0o600)
        return path

    def memory_command(self, address, *more):
        return [program("nam-memoryd"), "--data", self.data / "m", "--fabric", "verbs", "--listen", address,
                "--region-bytes", "16MiB", *more]

    def test_an_address_without_a_device_is_refused(self):
        done = run(*self.memory_command("192.0.2.1:7400", "--cluster-key", self.key("key")))
        self.assertEqual(done.returncode, 3, done.stderr)
        for address in ("0.0.0.0:7400", "127.0.0.1:7400"):
            done = run(*self.memory_command(address, "--cluster-key", self.key("key")))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("RDMA device", done.stderr)

    def test_a_key_is_needed(self):
        done = run(*self.memory_command(VERBS_ADDRESS + ":7500"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cluster key", done.stderr)

    def test_a_limit_of_locked_memory_that_is_too_small_names_the_cure(self):
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                "prlimit", "--memlock=4194304:4194304")
        os.chmod(self.data, 0o777)
        key = self.key("key")
        os.chown(key, 65534, 65534)
        done = run(*user, *self.memory_command(VERBS_ADDRESS + ":7501", "--cluster-key", key))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("LimitMEMLOCK=infinity", done.stderr)

    def test_a_wrong_key_gets_nowhere(self):
        right, wrong = self.key("right"), self.key("wrong")
        address = VERBS_ADDRESS + ":7502"
        with subprocess.Popen([str(part) for part in self.memory_command(address, "--cluster-key", right)],
                              stderr=subprocess.PIPE, text=True) as memory:
            for line in memory.stderr:
                if "ready at" in line:
                    break
            try:
                for key, word in ((wrong, "cluster key"), (None, "cluster key")):
                    keys = ("--cluster-key", key) if key else ()
                    done = run(program("nam-computed"), "--data", self.data / "c", "--fabric", "verbs",
                               "--memory-server", address, "--listen", "127.0.0.1:0", *keys)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(word, done.stderr)
                done = namctl("status", "--fabric", "verbs", "--memory-server", address, "--cluster-key", right)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            finally:
                memory.terminate()


if __name__ == "__main__":
    main()
