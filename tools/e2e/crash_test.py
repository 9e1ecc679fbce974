"""kill -9 of either daemon under load: nothing halved, nothing locked for ever, and a way back."""
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

import psycopg

from bank import Bank, Load
from harness import FABRICS, PATIENCE_S, Cluster, TestCase, alive, main, namctl, until

GONE = ("08006", "57P01", "08003", "08001", "57P03", None)


class ComputeServerDies(TestCase):
    def crash_rounds(self, fabric, memory_servers):
        generator = random.Random(11)
        with Cluster(fabric, memory_servers=memory_servers) as cluster:
            bank = Bank(cluster)
            bank.create()
            for round_number in range(4):
                with Load(bank, seed=round_number) as load:
                    until(lambda: load.committed >= 20, "some commits")
                    # Anywhere in a commit.
                    time.sleep(generator.uniform(0, 0.3))
                    cluster.kill("compute-0")
                    cluster.up()
                    before = load.committed
                    until(lambda: load.committed > before + 10, "commits after the restart")
                self.assertEqual(load.unexpected, [])
                bank.check_total(self)
                bank.check_no_lock(self)

    def test_restarted_over_shm(self):
        self.crash_rounds("shm", 1)

    def test_restarted_over_tcp(self):
        self.crash_rounds("tcp", 1)

    def test_restarted_with_two_memory_servers(self):
        self.crash_rounds("shm", 2)

    def test_a_peer_repairs_what_a_dead_one_left(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2) as cluster:
                bank = Bank(cluster, accounts=20)
                bank.create()
                with Load(bank, clients=6, servers=(0, 1)) as load:
                    until(lambda: load.committed >= 50, "some commits")
                    cluster.kill("compute-0")
                    before = load.committed
                    until(lambda: load.committed > before + 20, "commits by the peer")
                self.assertEqual(load.unexpected, [])
                bank.check_no_lock(self, server=1)
                bank.check_total(self, server=1)


class MemoryServerDies(TestCase):
    def test_the_compute_server_says_what_is_gone_and_starts_over(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster:
                cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                cluster.query("INSERT INTO t VALUES (1, 'x')")
                compute = cluster.pid("compute-0")
                with cluster.connect(autocommit=False) as connection:
                    connection.execute("SELECT v FROM t WHERE id = 1")
                    cluster.kill("memory-0")
                    # Before it is noticed, a commit over shared memory still goes through.
                    until(lambda: "lost the connection" in cluster.log("compute-0"), "the death is noticed")

                    def use():
                        connection.execute("SELECT v FROM t WHERE id = 1")
                        connection.execute("UPDATE t SET v = 'y' WHERE id = 1")
                        connection.commit()

                    error = self.assert_sqlstate(GONE, use)
                    self.assertIsNotNone(error.sqlstate, "an error message, not only a lost connection")
                    with self.assertRaises(psycopg.Error):
                        cluster.query("SELECT v FROM t WHERE id = 1")
                self.assertTrue(alive(compute), cluster.log("compute-0")[-2000:])
                cluster.up()

                def works():
                    try:
                        cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                        return True
                    except psycopg.Error:
                        return False

                until(works, "a new beginning")
                self.assertEqual(cluster.query("SELECT v FROM t"), [])
                cluster.query("INSERT INTO t VALUES (1, 'new')")
                self.assertEqual(cluster.query("SELECT v FROM t WHERE id = 1"), [("new",)])

    def test_while_it_does_not_answer_statements_end_with_an_error_when_the_timeout_is_over(self):
        with Cluster("tcp", memory_servers=2, compute_flags=["--memory-timeout-seconds=1"]) as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            cluster.query("INSERT INTO t VALUES " + ", ".join(f"({key}, 'x')" for key in range(50)))
            with cluster.connect() as reader, cluster.connect() as writer:
                os.kill(cluster.pid("memory-1"), signal.SIGSTOP)
                try:
                    error = self.assert_sqlstate("08006", reader.execute, "SELECT count(*) FROM t")
                    self.assertIn("memory server 1 has not answered for 1000 ms", str(error))
                    # Nobody waits for it a second time.
                    self.assert_sqlstate("08006", writer.execute, "UPDATE t SET v = 'y'")
                finally:
                    os.kill(cluster.pid("memory-1"), signal.SIGCONT)

                def answers():
                    try:
                        return reader.execute("SELECT count(*) FROM t").fetchone() == (50,)
                    except psycopg.Error as error:
                        self.assertEqual(error.sqlstate, "08006", str(error))
                        return False

                until(answers, "the connection again")
                writer.execute("UPDATE t SET v = 'z'")
                self.assertEqual(reader.execute("SELECT count(*) FROM t WHERE v = 'z'").fetchone(), (50,))

    def test_of_several_all_have_to_be_restarted(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2) as cluster:
                create = "CREATE TABLE IF NOT EXISTS t (id bigint PRIMARY KEY, v text)"
                cluster.query(create)
                cluster.query("INSERT INTO t VALUES " + ", ".join(f"({key}, 'x')" for key in range(50)))
                compute, memory = cluster.pid("compute-0"), cluster.pid("memory-0")
                command = Path(f"/proc/{cluster.pid('memory-1')}/cmdline").read_text().split("\0")[:-1]
                cluster.kill("memory-1")

                # One alone, by hand: it is empty, and nobody takes it for what it was.
                with subprocess.Popen(command, stderr=subprocess.DEVNULL) as alone:
                    until(lambda: "memory server 1 has restarted and is empty (restart all memory servers)" in
                          cluster.log("compute-0"), "the reason in the log")
                    for statement in (create, "SELECT count(*) FROM t", "INSERT INTO t VALUES (51, 'y')"):
                        self.assert_sqlstate("08006", cluster.query, statement)
                    alone.kill()

                done = namctl("dev", "up", *cluster.flags, timeout=2 * PATIENCE_S)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("restarting all memory servers", done.stdout)
                cluster.up()
                self.assertNotEqual(cluster.pid("memory-0"), memory)
                self.assertEqual(cluster.pid("compute-0"), compute)

                def works():
                    try:
                        return cluster.query(create) == []
                    except psycopg.Error as error:
                        self.assertEqual(error.sqlstate, "08006", str(error))
                        return False

                until(works, "a new beginning")
                self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(0,)])
                cluster.query("INSERT INTO t VALUES (1, 'new')")
                self.assertEqual(cluster.query("SELECT v FROM t WHERE id = 1"), [("new",)])
                until(lambda: "memory server 0 has restarted and is empty" in cluster.log("compute-0"), "the restart is told")

    def test_under_load_nothing_hangs(self):
        with Cluster("tcp", memory_servers=2) as cluster:
            bank = Bank(cluster)
            bank.create()
            with Load(bank) as load:
                until(lambda: load.committed >= 20, "some commits")
                cluster.kill("memory-1")
                until(lambda: load.lost + len(load.unexpected) >= 4, "an error for every client")
            for error in load.unexpected:
                self.assertTrue(error.startswith(tuple(f"{state}:" for state in GONE if state) + ("40003",)), error)


if __name__ == "__main__":
    main()
