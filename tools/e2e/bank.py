"""Accounts between which money only moves. Lost commits and violations of isolation change the sum."""
import random
import threading

import psycopg

from harness import Workers

OPENING_BALANCE = 1000
RETRYABLE = ("40001",)


class Bank:
    def __init__(self, cluster, accounts=100):
        self.cluster = cluster
        self.accounts = accounts

    def create(self):
        with self.cluster.connect() as connection:
            connection.execute("CREATE TABLE bank (id bigint PRIMARY KEY, balance bigint NOT NULL)")
            for account in range(self.accounts):
                connection.execute("INSERT INTO bank VALUES (%s, %s)", (account, OPENING_BALANCE))

    def balances(self, server=0):
        return dict(self.cluster.query("SELECT id, balance FROM bank", server=server))

    def check_total(self, test, server=0):
        balances = self.balances(server)
        test.assertEqual(len(balances), self.accounts)
        test.assertEqual(sum(balances.values()), self.accounts * OPENING_BALANCE)

    def check_no_lock(self, test, server=0):
        """Every record can be written: a lock that nobody owns any more would be met here."""
        with self.cluster.connect(server) as connection:
            for account in range(self.accounts):
                cursor = connection.execute("UPDATE bank SET balance = balance + 0 WHERE id = %s", (account,))
                test.assertEqual(cursor.rowcount, 1)

    def transfer(self, connection, generator):
        """One transaction; whether it committed."""
        source, target = generator.sample(range(self.accounts), 2)
        amount = generator.randrange(1, 50)
        try:
            with connection.transaction():
                for account, change in ((source, -amount), (target, amount)):
                    (balance,) = connection.execute("SELECT balance FROM bank WHERE id = %s", (account,)).fetchone()
                    connection.execute("UPDATE bank SET balance = %s WHERE id = %s", (balance + change, account))
            return True
        except psycopg.Error as error:
            if error.sqlstate in RETRYABLE:
                return False
            raise


class Load(Workers):
    """Threads that transfer until they are stopped or lose their connection; they connect again themselves."""

    def __init__(self, bank, clients=4, servers=(0,), seed=1):
        self.stopped = threading.Event()
        self.committed = 0
        self.lost = 0
        self.unexpected = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.work, args=(bank, random.Random(seed * 1000 + k),
                                                                 servers[k % len(servers)]))
                        for k in range(clients)]

    def work(self, bank, generator, server):
        while not self.stopped.is_set():
            try:
                with bank.cluster.connect(server, timeout=5) as connection:
                    while not self.stopped.is_set():
                        if bank.transfer(connection, generator):
                            with self.lock:
                                self.committed += 1
            except psycopg.OperationalError:
                with self.lock:
                    self.lost += 1
                self.stopped.wait(0.02)
            except psycopg.Error as error:
                with self.lock:
                    self.unexpected.append(f"{error.sqlstate}: {error}")
                self.stopped.wait(0.02)

