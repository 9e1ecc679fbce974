"""One of several memory servers that keep their data on disk ends and comes back: clients of rows on the others notice nothing,
and those who need it know at once."""
import subprocess
import threading
from pathlib import Path

import psycopg

from harness import FABRICS, Cluster, TestCase, Workers, main, until


class Tellers(Workers):
    """Clients, each of one branch, which they change alone: now in one statement, now in a block, in a loop."""

    def __init__(self, cluster, branches, server=0):
        self.cluster = cluster
        self.server = server
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.deposits = dict.fromkeys(branches, 0)
        self.errors = []
        self.threads = [threading.Thread(target=self.work, args=(branch,)) for branch in branches]

    def work(self, branch):
        try:
            with self.cluster.connect(self.server) as connection:
                while not self.stopped.is_set():
                    connection.execute("UPDATE branches SET balance = balance + 1 WHERE branch = %s AND teller = 1", (branch,))
                    with connection.transaction():
                        (balance,) = connection.execute("SELECT balance FROM branches WHERE branch = %s AND teller = 1",
                                                        (branch,)).fetchone()
                        connection.execute("UPDATE branches SET balance = %s WHERE branch = %s AND teller = 1",
                                           (balance + 1, branch))
                    with self.lock:
                        self.deposits[branch] += 2
        except psycopg.Error as error:
            with self.lock:
                self.errors.append(f"branch {branch}: {error.sqlstate} {error}")

    def await_progress(self):
        before = dict(self.deposits)
        until(lambda: self.errors or all(self.deposits[branch] > before[branch] + 20 for branch in before), "deposits go on")


class OneOfSeveralIsAway(TestCase):
    """Clients of rows on the other memory servers notice nothing, neither of its end nor of its return."""

    def branches(self, cluster):
        """Two on each memory server."""
        cluster.query("CREATE TABLE branches (branch integer, teller integer, balance integer NOT NULL,"
                      " PRIMARY KEY (branch, teller)) PARTITION BY HASH (branch)")
        found = ([], [])
        for branch in range(100):
            server = cluster.query("SELECT namdb_partition_server(%s::integer)", (branch,))[0][0]
            if len(found[server]) < 2:
                found[server].append(branch)
                cluster.query("INSERT INTO branches VALUES (%s, 1, 0), (%s, 2, 0)", (branch, branch))
        return found

    @staticmethod
    def is_away(cluster, branch):
        try:
            cluster.query("SELECT balance FROM branches WHERE branch = %s AND teller = 2", (branch,))
        except psycopg.Error as error:
            return error.sqlstate == "57P03" and "memory server 1 is away" in str(error)
        return False

    @staticmethod
    def is_back(cluster, server=0):
        return cluster.answers_everywhere("SELECT count(*) FROM branches", server)

    def test_clients_of_other_rows_see_no_error_from_its_end_to_after_its_return(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), \
                    Cluster(fabric, memory_servers=2, compute_servers=2, durability="flushed") as cluster:
                near, far = self.branches(cluster)
                tellers = Tellers(cluster, near)
                with tellers:
                    for _ in range(3):
                        tellers.await_progress()
                        cluster.kill("memory-1")
                        tellers.await_progress()
                        until(lambda: self.is_away(cluster, far[0]), "the loss is noticed")
                        self.assert_sqlstate("57P03", cluster.query, "SELECT count(*) FROM branches")
                        self.assert_sqlstate("57P03", cluster.query, "CREATE TABLE t (id integer PRIMARY KEY)")
                        with cluster.connect(autocommit=False) as block:
                            block.execute("UPDATE branches SET balance = balance + 1 WHERE branch = %s AND teller = 2", (near[1],))
                            cluster.up()
                            until(lambda: self.is_back(cluster), "the memory server is found again")
                            tellers.await_progress()
                            block.execute("UPDATE branches SET balance = balance + 1 WHERE branch = %s AND teller = 2", (near[1],))
                            block.commit()
                        until(lambda: self.is_back(cluster, server=1), "the other compute server finds it again")
                self.assertEqual(tellers.errors, [])
                found = {(branch, teller): balance for branch, teller, balance in
                         cluster.query("SELECT branch, teller, balance FROM branches", server=1)}
                self.assertEqual(found[near[1], 2], 6)
                for branch, deposits in tellers.deposits.items():
                    self.assertEqual(found[branch, 1], deposits)

    def test_an_open_block_that_used_it_is_rolled_back(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster:
            near, far = self.branches(cluster)
            with cluster.connect(autocommit=False) as used, cluster.connect(autocommit=False) as unused:
                for branch in (near[0], far[0]):
                    used.execute("UPDATE branches SET balance = 7 WHERE branch = %s AND teller = 1", (branch,))
                unused.execute("UPDATE branches SET balance = 7 WHERE branch = %s AND teller = 1", (near[1],))
                cluster.kill("memory-1")
                until(lambda: self.is_away(cluster, far[0]), "the loss is noticed")
                unused.commit()
                self.assert_sqlstate("08006", used.commit)
            cluster.query("UPDATE branches SET balance = balance + 1 WHERE branch = %s AND teller = 1", (near[0],))
            cluster.up()
            until(lambda: self.is_back(cluster), "the memory server is found again")
            balances = dict(cluster.query("SELECT branch, balance FROM branches WHERE teller = 1"))
            self.assertEqual(balances, {near[0]: 1, near[1]: 7, far[0]: 0, far[1]: 0})

    def test_a_compute_server_that_starts_meanwhile_serves_the_others_rows(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster:
            near, far = self.branches(cluster)
            cluster.kill("memory-1")
            command = Path(f"/proc/{cluster.pid('compute-0')}/cmdline").read_text().split("\0")[:-1]
            cluster.kill("compute-0")
            with subprocess.Popen(command, stderr=subprocess.DEVNULL) as started:
                try:
                    until(lambda: cluster.answers_everywhere(f"SELECT * FROM branches WHERE branch = {near[0]} AND teller = 1"),
                          "the compute server serves")
                    until(lambda: self.is_away(cluster, far[0]), "it knows that the memory server is away")
                finally:
                    started.kill()
            cluster.up()
            until(lambda: self.is_back(cluster), "the memory server is found again")


if __name__ == "__main__":
    main()
