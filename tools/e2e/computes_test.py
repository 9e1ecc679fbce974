"""Compute servers come and go: the list of them, draining one, clients that know several, and one that lost its lease."""
import errno
import json
import os
import signal
import socket
import subprocess
import threading
import unittest

import psycopg
from harness import Cluster, Daemon, TestCase, alive, free_port, main, namctl, until


class Computes(TestCase):
    def setUp(self):
        self.cluster = Cluster(compute_servers=2)
        self.cluster.__enter__()
        self.addCleanup(self.cluster.__exit__)

    def list(self):
        done = namctl("compute", "list", "--data", self.cluster.data, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return {entry["address"]: entry for entry in json.loads(done.stdout)["compute_servers"]}

    def address(self, server):
        return f"127.0.0.1:{self.cluster.port + server}"

    def both(self, **options):
        """A connection by one string with both compute servers."""
        ports = f"{self.cluster.port},{self.cluster.port + 1}"
        return psycopg.connect(f"host=127.0.0.1,127.0.0.1 port={ports} dbname=namdb user=tester sslmode=disable",
                               autocommit=True, **options)

    @staticmethod
    def refuses(port):
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    def test_each_is_listed_with_its_sessions(self):
        until(lambda: len(self.list()) == 2, "both in the list")
        with self.cluster.connect(1), self.cluster.connect(1):
            until(lambda: self.list()[self.address(1)]["sessions"] == 2, "two sessions")
            listed = self.list()
        self.assertEqual(listed[self.address(0)]["sessions"], 0)
        for entry in listed.values():
            self.assertGreaterEqual(entry["workers"], 1)
            self.assertEqual(entry["state"], "serving")
            self.assertRegex(entry["since"], r"^20\d\d-\d\d-\d\d ")
            self.assertRegex(entry["version"], r"^\d+\.\d+")
        table = namctl("compute", "list", "--data", self.cluster.data).stdout
        self.assertIn("sessions", table.splitlines()[0])
        self.assertEqual(len(table.splitlines()), 3)
        by_address = namctl("compute", "list", "--json", "--memory-server",
                            self.cluster.state["memory_servers"][0]["address"])
        self.assertEqual(by_address.returncode, 0, by_address.stderr)
        self.assertEqual(len(json.loads(by_address.stdout)["compute_servers"]), 2)

    def test_one_is_drained_and_its_clients_go_on_at_the_other(self):
        self.cluster.query("CREATE TABLE t (id int PRIMARY KEY)")
        until(lambda: len(self.list()) == 2, "both in the list")
        pid = self.cluster.pid("compute-0")
        idle = self.cluster.connect(0)
        busy = self.cluster.connect(0, autocommit=False)
        busy.execute("INSERT INTO t VALUES (1)")
        until(lambda: self.list()[self.address(0)]["sessions"] == 2, "both sessions")
        ended = []
        drain = threading.Thread(target=lambda: ended.append(
            namctl("compute", "drain", self.address(0), "--data", self.cluster.data)))
        drain.start()
        # A session without a transaction ends; one with a transaction goes on, and no client comes any more.
        until(lambda: self.list()[self.address(0)]["sessions"] == 1, "one session")
        self.assertEqual(self.list()[self.address(0)]["state"], "draining")
        with self.assertRaises(psycopg.OperationalError):
            idle.execute("SELECT 1")
        with self.assertRaises(psycopg.OperationalError):
            self.cluster.connect(0)
        busy.execute("INSERT INTO t VALUES (2)")
        busy.commit()
        drain.join()
        self.assertEqual(ended[0].returncode, 0, ended[0].stderr)
        self.assertIn("1 session left", ended[0].stdout)
        self.assertIn("has ended", ended[0].stdout)
        # The memory servers know of its end a moment earlier.
        until(lambda: not alive(pid), "its process ends")
        self.assertEqual(set(self.list()), {self.address(1)})
        with self.both() as connection:
            self.assertEqual(connection.info.port, self.cluster.port + 1)
            self.assertEqual(connection.execute("SELECT count(*) FROM t").fetchall(), [(2,)])

    def test_what_is_not_there_is_not_drained(self):
        until(lambda: len(self.list()) == 2, "both in the list")
        done = namctl("compute", "drain", "127.0.0.1:1", "--data", self.cluster.data)
        self.assertEqual(done.returncode, 3)
        self.assertIn(self.address(1), done.stderr)

    def test_clients_with_a_list_of_servers_find_one_that_serves(self):
        self.cluster.kill("compute-0")
        # While the process goes away its port still takes connections.
        until(lambda: self.refuses(self.cluster.port), "nobody listens")
        for attributes in ("any", "read-write", "primary", "prefer-standby"):
            with self.both(target_session_attrs=attributes) as connection:
                self.assertEqual(connection.info.port, self.cluster.port + 1)
        # All are alike: none is a standby.
        with self.assertRaises(psycopg.OperationalError):
            self.both(target_session_attrs="standby")
        uri = (f"postgresql://tester@127.0.0.1:{self.cluster.port},127.0.0.1:{self.cluster.port + 1}/namdb"
               "?target_session_attrs=read-write&sslmode=disable")
        with psycopg.connect(uri) as connection:
            self.assertEqual(connection.execute("SELECT 1").fetchall(), [(1,)])
        done = subprocess.run(["psql", "-XAtc", "SELECT 7", uri], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "7\n"), done.stderr)

    def test_a_server_that_lost_its_lease_says_so_and_comes_back(self):
        with Cluster(fabric="tcp", memory_flags=("--heartbeat-timeout-seconds=2",)) as cluster:
            cluster.query("CREATE TABLE t (id int PRIMARY KEY)")
            until(lambda: json.loads(namctl("compute", "list", "--data", cluster.data, "--json").stdout)["compute_servers"],
                  "the compute server in the list")
            pid = cluster.pid("compute-0")
            os.kill(pid, signal.SIGSTOP)
            until(lambda: "is fenced" in cluster.log("memory-0"), "the fence")
            os.kill(pid, signal.SIGCONT)
            until(lambda: "had declared this compute server dead" in cluster.log("compute-0"), "its own words")
            until(lambda: cluster.answers_everywhere("INSERT INTO t SELECT count(*) FROM t"), "its answers")


if __name__ == "__main__":
    main()
