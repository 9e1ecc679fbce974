"""namdb_txid_status() answers for transactions whose daemons died under their COMMIT as their rows do: through another compute
server, after a restart, and after further restarts with a checkpoint between."""
import random
import threading
import time

import psycopg

from harness import FABRICS, Cluster, TestCase, Workers, main, namctl, until

ENDED = ("committed", "aborted")
# Of a COMMIT whose daemon died, at any moment.
TOLD = {"40001", "40003", "08006", "57P01", "57P03", None}


class Writers(Workers):
    """Clients of compute-0, each in a loop: a block that inserts a row of its own, is given an id, and commits."""

    def __init__(self, cluster, clients=4, first_row=0):
        self.cluster = cluster
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.next = first_row
        self.ids = {}  # by row
        self.told = {}  # by row: "committed", "aborted", or None, where the client was told nothing
        self.states = set()  # SQLSTATEs of commits
        self.threads = [threading.Thread(target=self.work) for _ in range(clients)]

    def __enter__(self):
        self.cluster.query("CREATE TABLE IF NOT EXISTS numbered (id bigint PRIMARY KEY)")
        return super().__enter__()

    def committed(self):
        with self.lock:
            return sum(told == "committed" for told in self.told.values())

    def run_one(self, connection):
        with self.lock:
            row = self.next
            self.next += 1
        connection.execute("INSERT INTO numbered VALUES (%s)", (row,))
        (transaction,) = connection.execute("SELECT namdb_txid()").fetchone()
        with self.lock:
            self.ids[row] = transaction
            self.told[row] = None
        try:
            connection.commit()
        except psycopg.Error as error:
            with self.lock:
                self.states.add(error.sqlstate)
                if error.sqlstate == "40001":
                    self.told[row] = "aborted"
            raise
        with self.lock:
            self.told[row] = "committed"

    def work(self):
        while not self.stopped.is_set():
            try:
                with self.cluster.connect(autocommit=False, timeout=5) as connection:
                    while not self.stopped.is_set():
                        self.run_one(connection)
            except psycopg.Error:
                self.stopped.wait(0.05)


def reaches(cluster):
    try:
        cluster.query("CREATE TABLE IF NOT EXISTS numbered (id bigint PRIMARY KEY)")
        return True
    except psycopg.OperationalError:
        return False


class OutcomesAreWhatTheRowsSay(TestCase):
    def ask(self, cluster, writers, server):
        """The outcome of each transaction, checked against the rows and against what its client was told."""
        said = {}

        def all_have_ended():
            try:
                with cluster.connect(server) as connection:
                    for row, transaction in writers.ids.items():
                        if row in said:
                            continue
                        (answer,) = connection.execute("SELECT namdb_txid_status(%s)", (transaction,)).fetchone()
                        self.assertIsNotNone(answer, f"transaction {transaction} is not known")
                        if answer in ENDED:
                            said[row] = answer
            except psycopg.OperationalError:
                pass  # a server is away
            return len(said) == len(writers.ids)

        until(all_have_ended, "the outcomes of all transactions")
        self.assertLessEqual(writers.states, TOLD)
        there = {row for (row,) in cluster.query("SELECT id FROM numbered", server=server)}
        for row, answer in said.items():
            self.assertEqual(answer == "committed", row in there, f"row {row} of transaction {writers.ids[row]}")
            if writers.told[row] is not None:
                self.assertEqual(answer, writers.told[row], f"row {row}")
        return said

    def test_of_a_compute_server_that_died(self):
        generator = random.Random(3)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2, durability="flushed") as cluster:
                for _ in range(3):
                    with Writers(cluster) as writers:
                        until(lambda: writers.committed() >= 20, "some commits")
                        time.sleep(generator.uniform(0, 0.2))  # anywhere in a commit
                        cluster.kill("compute-0")
                    self.ask(cluster, writers, server=1)
                    cluster.query("DROP TABLE numbered", server=1)
                    cluster.up()

    def test_of_a_memory_server_that_died(self):
        generator = random.Random(4)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, durability="flushed") as cluster:
                with Writers(cluster) as writers:
                    until(lambda: writers.committed() >= 20, "some commits")
                    time.sleep(generator.uniform(0, 0.2))
                    cluster.kill("memory-0")
                    before = writers.committed()
                    cluster.up()
                    until(lambda: writers.committed() >= before + 20, "commits after the restart")
                said = self.ask(cluster, writers, server=0)
                for _ in range(2):
                    self.assertEqual(namctl("checkpoint", "--data", cluster.data).returncode, 0)
                    cluster.kill("memory-0")
                    cluster.up()
                    self.assertEqual(self.ask(cluster, writers, server=0), said)

    def test_of_all_that_died(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, durability="flushed") as cluster:
                with Writers(cluster) as writers:
                    until(lambda: writers.committed() >= 20, "some commits")
                    cluster.kill("compute-0")
                    cluster.kill("memory-0")
                cluster.up()
                self.ask(cluster, writers, server=0)

    def test_over_two_memory_servers(self):
        """Half of the commits have a part on each. Those of clients that go on have an outcome that they were told."""
        generator = random.Random(6)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), \
                    Cluster(fabric, memory_servers=2, compute_servers=2, durability="flushed") as cluster:
                first_row = 0
                for killed in (("memory-1",), ("memory-0",), ("memory-0", "memory-1"), ("compute-0",),
                               ("compute-0", "memory-1"), ("memory-0", "compute-0")):
                    with self.subTest(killed=killed):
                        until(lambda: reaches(cluster), "compute server 0 is connected")
                        with Writers(cluster, first_row=first_row) as writers:
                            until(lambda: writers.committed() >= 20, "some commits")
                            time.sleep(generator.uniform(0, 0.2))
                            for name in killed:
                                cluster.kill(name)
                            before = writers.committed()
                            cluster.up()
                            until(lambda: writers.committed() >= before + 20, "commits after the restart")
                        first_row = writers.next
                        said = self.ask(cluster, writers, server=1)
                for name in ("memory-0", "memory-1"):
                    cluster.kill(name)
                    cluster.up()
                    self.assertEqual(self.ask(cluster, writers, server=1), said)

    def test_of_a_client_that_is_gone(self):
        with self.shared(compute_servers=2) as cluster:
            cluster.query("CREATE TABLE t (id integer PRIMARY KEY)")
            client = cluster.connect(autocommit=False)
            client.execute("INSERT INTO t VALUES (1)")
            (transaction,) = client.execute("SELECT namdb_txid()").fetchone()
            question = ("SELECT namdb_txid_status(%s)", (transaction,))
            self.assertEqual(cluster.query(*question, server=1), [("in progress",)])
            client.close()
            until(lambda: cluster.query(*question, server=1) == [("aborted",)], "the end of the client's transaction")


if __name__ == "__main__":
    main()
