"""Checkpoints and backups of a running memory server, and a cluster that is made from a backup."""
import json
import shutil
import tempfile
from pathlib import Path

import psycopg

from bank import Bank, Load
from harness import FABRICS, Cluster, TestCase, main, namctl, until
from ledger import AWAY


def status(cluster):
    return json.loads(namctl("status", "--data", cluster.data, "--json").stdout)["memory_servers"][0]


def serves(cluster):
    """The compute server has found the memory server again."""
    try:
        return cluster.query("SELECT count(*) FROM bank") is not None
    except psycopg.Error as error:
        if error.sqlstate not in AWAY:
            raise
        return False


class Checkpoints(TestCase):
    def test_one_is_made_when_it_is_asked_for(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, durability="flushed") as cluster:
                bank = Bank(cluster)
                bank.create()
                before = status(cluster)
                done = namctl("checkpoint", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                made = json.loads(done.stdout)["memory_servers"][0]["checkpoint"]
                self.assertGreater(made["generation"], before["checkpoint"]["generation"])
                self.assertGreater(made["written_bytes"], 0)
                self.assertEqual(status(cluster)["checkpoint"]["generation"], made["generation"])
                self.assertGreater(status(cluster)["log"]["synced_writes"], 100)
                self.assertEqual(namctl("checkpoint", "--data", cluster.data, "--server", "0").returncode, 0)
                self.assertEqual(namctl("checkpoint", "--data", cluster.data, "--server", "7").returncode, 3)
                cluster.kill("memory-0")
                cluster.up()
                until(lambda: serves(cluster), "the memory server is found again")
                self.assertGreater(status(cluster)["opening"]["generation"], made["generation"] - 1)
                bank.check_total(self)

    def test_a_short_log_is_used_again_and_again_under_load(self):
        with Cluster(durability="flushed", memory_flags=["--log-bytes=16MiB"]) as cluster:
            bank = Bank(cluster)
            bank.create()
            with Load(bank, clients=4) as load:
                until(lambda: status(cluster)["checkpoint"]["finished"] >= 2, "two checkpoints")
            self.assertEqual(load.unexpected, [])
            self.assertLessEqual(status(cluster)["log"]["used_bytes"], 16 << 20)
            bank.check_total(self)
            cluster.kill("memory-0")
            cluster.up()
            until(lambda: serves(cluster), "the memory server is found again")
            bank.check_total(self)

    def test_a_server_without_a_disk_says_so(self):
        with Cluster(durability="memory") as cluster:
            done = namctl("checkpoint", "--data", cluster.data)
            self.assertEqual(done.returncode, 1)
            self.assertIn("keeps no data on disk", done.stderr)
            with tempfile.TemporaryDirectory() as folder:
                done = namctl("backup", Path(folder) / "new", "--data", cluster.data)
                self.assertEqual(done.returncode, 3)
                self.assertIn("keeps no data on disk", done.stderr)


class Backups(TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="namdb-backup-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def backup(self, cluster, name):
        done = namctl("backup", self.folder / name, "--data", cluster.data, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        [server] = json.loads(done.stdout)["memory_servers"]
        self.assertEqual(server["folder"], str(self.folder / name / "memory-0"))
        return server

    def restored(self, name):
        return Cluster(durability="flushed", memory_flags=[f"--restore={self.folder / name / 'memory-0'}"])

    def test_a_backup_under_load_is_the_database_at_one_moment(self):
        with Cluster(durability="flushed") as cluster:
            bank = Bank(cluster)
            bank.create()
            cluster.query("CREATE TABLE marks (id integer PRIMARY KEY)")
            with Load(bank, clients=4) as load:
                until(lambda: load.committed > 50, "there is work")
                cluster.query("INSERT INTO marks VALUES (1)")
                self.backup(cluster, "a")
                cluster.query("INSERT INTO marks VALUES (2)")
                self.backup(cluster, "b")
                committed = load.committed
                until(lambda: load.committed > committed + 20, "work goes on")
            self.assertEqual(load.unexpected, [])
            self.assertEqual(namctl("checkpoint", "--data", cluster.data).returncode, 0)
            self.assertFalse(status(cluster)["checkpoint"]["held"])
            bank.check_total(self)
        for name, marks in (("a", [(1,)]), ("b", [(1,), (2,)])):
            with self.restored(name) as cluster:
                Bank(cluster).check_total(self)
                Bank(cluster).check_no_lock(self)
                self.assertEqual(cluster.query("SELECT id FROM marks ORDER BY id"), marks)
                cluster.query("INSERT INTO marks VALUES (3)")

    def test_folders_that_cannot_be_used_are_refused(self):
        with Cluster(durability="flushed") as cluster:
            cluster.query("CREATE TABLE t (id integer PRIMARY KEY)")
            self.backup(cluster, "a")
            done = namctl("backup", self.folder / "a", "--data", cluster.data)
            self.assertEqual(done.returncode, 3)
            self.assertIn("is not empty", done.stderr)
            self.assertEqual(namctl("verify", "--data", self.folder / "a" / "memory-0").returncode, 0)
        with self.assertRaisesRegex(AssertionError, "has no backup of a memory server"):
            with self.restored("nowhere"):
                pass


if __name__ == "__main__":
    main()
