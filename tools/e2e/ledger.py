"""Clients that remember every write that was acknowledged, and hold the database to it.

Each client has rows of its own: its n-th transaction inserts ⟨client, n⟩, sets the client's counter to n, and replaces the
row ⟨client, n - 1⟩'s text. A write is acknowledged, aborted, or of unknown outcome, when the answer to its COMMIT did not
come. So the rows show which transactions happened, and whether any is there in halves.

Clients in `early` commit with synchronous_commit = off. Each of their transactions changes what the one before wrote, and
cannot before that is on disk: the end of a memory server takes only the last one of a connection.
"""
import random
import threading

import psycopg

from harness import Workers, until

# The client was told that nothing happened, or had not asked for the commit yet.
ABORTED = "40001"
# While a server is away: it ended, it begins, it is not connected.
AWAY = ("08006", "08003", "08001", "57P01", "57P02", "57P03", None)


class Ledger(Workers):
    def __init__(self, cluster, clients=4, servers=(0,), seed=1, early=()):
        self.cluster = cluster
        self.clients = clients
        self.servers = servers
        self.seed = seed
        self.early = early
        self.may_be_lost = [set() for _ in range(clients)]  # the last of each connection
        self.stopped = threading.Event()
        self.lock = threading.Lock()
        self.acknowledged = [set() for _ in range(clients)]
        self.unknown = [set() for _ in range(clients)]
        self.next = [1] * clients
        self.unexpected = []
        self.threads = []

    def create(self):
        with self.cluster.connect() as connection:
            connection.execute("CREATE TABLE ledger (client integer, n integer, v text NOT NULL, PRIMARY KEY (client, n)) "
                               "WITH (text_bytes = 256)")
            connection.execute("CREATE INDEX ledger_by_text ON ledger (v)")
            connection.execute("CREATE TABLE counter (client integer PRIMARY KEY, n integer NOT NULL)")
            for client in range(self.clients):
                connection.execute("INSERT INTO counter VALUES (%s, 0)", (client,))

    def count(self):
        with self.lock:
            return sum(len(numbers) for numbers in self.acknowledged)

    @staticmethod
    def text(client, n):
        return f"{client}-{n}-" + "x" * (n * 37 % 200)

    def write(self, connection, client, n):
        connection.execute("INSERT INTO ledger VALUES (%s, %s, %s)", (client, n, self.text(client, n)))
        connection.execute("UPDATE ledger SET v = %s WHERE client = %s AND n = %s",
                           ("old-" + self.text(client, n - 1), client, n - 1))
        connection.execute("UPDATE counter SET n = %s WHERE client = %s", (n, client))

    def run_one(self, connection, client):
        """One transaction. Raises when the connection is of no use any more."""
        with self.lock:
            n = self.next[client]
            self.next[client] += 1
        try:
            self.write(connection, client, n)
        except psycopg.Error:
            connection.rollback()
            raise
        try:
            connection.commit()
        except psycopg.Error as error:
            if error.sqlstate != ABORTED:
                with self.lock:
                    self.unknown[client].add(n)
                raise
            return
        with self.lock:
            self.acknowledged[client].add(n)
        return n

    def work(self, client, server):
        generator = random.Random(self.seed * 1000 + client)
        while not self.stopped.is_set():
            try:
                with self.cluster.connect(server, autocommit=False, timeout=5) as connection:
                    if client in self.early:
                        connection.execute("SET synchronous_commit = off")
                        connection.commit()
                    last = None
                    try:
                        while not self.stopped.is_set():
                            last = self.run_one(connection, client)
                    finally:
                        if client in self.early:
                            self.may_be_lost[client].add(last)
            except psycopg.Error as error:
                if error.sqlstate not in (*AWAY, ABORTED, "40003"):
                    with self.lock:
                        self.unexpected.append(f"{error.sqlstate}: {error}")
                self.stopped.wait(generator.uniform(0, 0.05))

    def __enter__(self):
        self.stopped.clear()
        self.threads = [threading.Thread(target=self.work, args=(client, self.servers[client % len(self.servers)]))
                        for client in range(self.clients)]
        return super().__enter__()

    def await_progress(self, writes=20):
        """So many more writes are acknowledged."""
        before = self.count()
        until(lambda: self.count() >= before + writes, f"{writes} more acknowledged writes")

    def read(self, server):
        """All rows as one snapshot has them: by the table, by the index, and the counters. None while it is away."""
        try:
            with self.cluster.connect(server, autocommit=False) as connection:
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                rows = {(client, n): v for client, n, v in connection.execute("SELECT client, n, v FROM ledger")}
                by_index = connection.execute("SELECT client, n FROM ledger WHERE v >= '' ORDER BY v").fetchall()
                counters = dict(connection.execute("SELECT client, n FROM counter"))
                return rows, by_index, counters
        except psycopg.Error as error:
            if error.sqlstate not in (*AWAY, ABORTED):
                raise
            return None

    def check(self, test, server=0, memory_ended=False):
        """Acknowledged writes are there, others as a whole or not at all. The clients do not run meanwhile.

        memory_ended: writes that were answered early may be lost."""
        rows, by_index, counters = until(lambda: self.read(server), "the cluster can be read again")
        test.assertEqual(self.unexpected, [])
        test.assertEqual(sorted(by_index), sorted(rows), "the index and the table have other rows")
        test.assertEqual(len(counters), self.clients)
        for client in range(self.clients):
            there = {n for one, n in rows if one == client}
            lost = self.acknowledged[client] - there - (self.may_be_lost[client] if memory_ended else set())
            test.assertEqual(lost, set(), f"acknowledged writes of client {client} are lost")
            stray = there - self.acknowledged[client] - self.unknown[client]
            test.assertEqual(stray, set(), f"writes of client {client} that were aborted are there")
            test.assertEqual(counters[client], max(there, default=0), f"the counter of client {client}")
            for n in there:
                replaced = n + 1 in there
                test.assertTrue(n == 1 or n - 1 in there or n - 1 not in self.acknowledged[client],
                                f"row {n} of client {client} is there without the one that it follows")
                expected = ("old-" if replaced else "") + self.text(client, n)
                test.assertEqual(rows[client, n], expected, f"row {n} of client {client}, of which {n + 1} is "
                                 f"{'there' if replaced else 'not there'}")
        return len(rows)
