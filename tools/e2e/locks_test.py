"""Job queues by FOR UPDATE SKIP LOCKED under every protocol: sessions on two compute servers empty one together, and no job
is given to two of them. NOWAIT. Advisory locks across compute servers, of one that dies, and under timeouts."""
import threading

import psycopg

from harness import Cluster, TestCase, main, until

# The protocols that lock rows at once notice the lock of any statement.
LOCKING = ("nowait", "waitdie", "drtm")
VALIDATING = ("si", "occ", "mvcc", "sundial")
JOBS = 60
TAKE = "SELECT id FROM jobs WHERE state = 'new' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"
TAKE_AT_ONCE = """UPDATE jobs SET state = 'done' WHERE id = (SELECT id FROM jobs WHERE state = 'new' ORDER BY id
  FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id"""


class Queue:
    """Sessions that take jobs until there is none. `given`: the jobs of each block that has committed."""

    def __init__(self, cluster, sessions=4):
        self.cluster = cluster
        self.lock = threading.Lock()
        self.given = []
        self.held = set()  # by blocks that are open
        self.held_twice = []
        self.failures = []
        self.threads = [threading.Thread(target=self.work, args=(number,)) for number in range(sessions)]

    def run(self):
        for thread in self.threads:
            thread.start()
        for thread in self.threads:
            thread.join()

    def take(self, connection, block):
        """A job, or None; once it is done."""
        if not block:
            row = connection.execute(TAKE_AT_ONCE).fetchone()
            return row and row[0]
        with connection.transaction():
            row = connection.execute(TAKE).fetchone()
            if row is None:
                return None
            with self.lock:
                if row[0] in self.held:
                    self.held_twice.append(row[0])
                self.held.add(row[0])
            try:
                connection.execute("UPDATE jobs SET state = 'done' WHERE id = %s", row)
            finally:
                with self.lock:
                    self.held.discard(row[0])
        return row[0]

    def work(self, number):
        with self.cluster.connect(server=number % 2) as connection:
            while True:
                try:
                    job = self.take(connection, block=number < 2)
                except psycopg.errors.SerializationFailure:
                    continue
                except psycopg.Error as error:
                    self.failures.append(error)
                    return
                if job is None:
                    # Perhaps others still have some.
                    if connection.execute("SELECT count(*) FROM jobs WHERE state = 'new'").fetchone() == (0,):
                        return
                    continue
                with self.lock:
                    self.given.append(job)


class JobQueues(TestCase):
    def test_no_job_is_given_twice(self):
        for turn, protocol in enumerate(LOCKING + VALIDATING):
            fabric = ("shm", "tcp")[turn % 2]
            cluster = Cluster(fabric, memory_servers=1 + turn % 2, compute_servers=2, memory_flags=(f"--protocol={protocol}",))
            with self.subTest(protocol=protocol, fabric=fabric), cluster:
                cluster.query("CREATE TABLE jobs (id int PRIMARY KEY, state text)")
                cluster.query("INSERT INTO jobs SELECT i, 'new' FROM generate_series(1, %s) i", (JOBS,))
                queue = Queue(cluster)
                queue.run()
                self.assertEqual(queue.failures, [])
                self.assertEqual(sorted(queue.given), list(range(1, JOBS + 1)))
                self.assertEqual(queue.held_twice, [])
                self.locks(cluster, protocol)

    def locks(self, cluster, protocol):
        cluster.query("UPDATE jobs SET state = 'new' WHERE id < 4")
        with cluster.connect() as one, cluster.connect(server=1) as two:
            one.execute("BEGIN")
            # Where rows are locked at once, any statement's lock is noticed.
            lock = "FOR UPDATE" if protocol in LOCKING else "FOR UPDATE NOWAIT"
            self.assertEqual(one.execute("SELECT id FROM jobs WHERE id = 1 " + lock).fetchall(), [(1,)])
            two.execute("BEGIN")
            self.assertEqual(two.execute("SELECT id FROM jobs WHERE id = 1 FOR UPDATE SKIP LOCKED").fetchall(), [])
            self.assertEqual(two.execute("SELECT id FROM jobs WHERE state = 'new' ORDER BY id FOR UPDATE SKIP LOCKED").fetchall(), [(2,), (3,)])
            two.execute("COMMIT")
            self.assert_sqlstate("55P03", two.execute, "SELECT id FROM jobs WHERE id = 1 FOR UPDATE NOWAIT")
            self.assert_sqlstate("55P03", two.execute, "SELECT id FROM jobs WHERE state = 'new' FOR SHARE NOWAIT")
            one.execute("COMMIT")
            # Locks in records are let go of behind the answer.
            lock = "FOR UPDATE" if protocol in LOCKING else "FOR UPDATE NOWAIT"
            self.assertEqual(two.execute("SELECT id FROM jobs WHERE id = 1 " + lock).fetchall(), [(1,)])


class AdvisoryLocks(TestCase):
    def test_across_compute_servers(self):
        with self.shared(compute_servers=2) as cluster, cluster.connect() as one, cluster.connect(server=1) as two:
            take = "SELECT pg_try_advisory_lock(42)"
            self.assertEqual(one.execute(take).fetchone(), (True,))
            self.assertEqual(two.execute(take).fetchone(), (False,))
            waits = threading.Thread(target=two.execute, args=("SELECT pg_advisory_lock(42)",))
            waits.start()
            one.execute("SELECT pg_advisory_unlock(42)")
            waits.join()
            self.assertEqual(one.execute(take).fetchone(), (False,))
            two.execute("SET statement_timeout = '50ms'")
            one.execute("SELECT pg_advisory_lock(43)")
            self.assert_sqlstate("57014", two.execute, "SELECT pg_advisory_lock(43)")
            two.execute("SET statement_timeout = 0; SET lock_timeout = '50ms'")
            self.assert_sqlstate("55P03", two.execute, "SELECT pg_advisory_lock(43)")
            two.execute("SET lock_timeout = 0")
            waits = threading.Thread(target=self.assert_sqlstate, args=("57014", two.execute, "SELECT pg_advisory_lock(43)"))
            waits.start()
            waiting = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_advisory_lock(43)' AND state = 'active'"
            until(lambda: cluster.query(waiting, server=1) == [(1,)], "a session that waits")
            two.cancel()
            waits.join()

    def test_the_session_ends(self):
        with self.shared(compute_servers=2) as cluster, cluster.connect(server=1) as other:
            with cluster.connect() as connection:
                connection.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(1, 1)")
                self.assertEqual(other.execute("SELECT pg_try_advisory_lock(1)").fetchone(), (False,))
            other.execute("SELECT pg_advisory_lock(1), pg_advisory_lock(1, 1)")

    def test_the_compute_server_dies(self):
        with Cluster(compute_servers=2) as cluster, cluster.connect(server=1) as other:
            connection = cluster.connect()
            connection.execute("SELECT pg_advisory_lock(1)")
            self.assertEqual(other.execute("SELECT pg_try_advisory_lock(1)").fetchone(), (False,))
            cluster.kill("compute-0")
            other.execute("SELECT pg_advisory_lock(1)")
            connection.close()

    def test_shared(self):
        for protocol in LOCKING + VALIDATING:
            cluster = Cluster(compute_servers=2, memory_flags=(f"--protocol={protocol}",))
            with self.subTest(protocol=protocol), cluster:
                with cluster.connect() as one, cluster.connect(server=1) as two, cluster.connect() as three:
                    for connection in (one, two, three):
                        connection.execute("SELECT pg_advisory_lock_shared(1)")
                    self.assertEqual(two.execute("SELECT pg_try_advisory_lock(1)").fetchone(), (False,))
                    one.execute("SELECT pg_advisory_unlock_shared(1)")
                    waits = threading.Thread(target=one.execute, args=("SELECT pg_advisory_lock(1)",))
                    waits.start()
                    two.execute("SELECT pg_advisory_unlock_shared(1)")
                    three.execute("SELECT pg_advisory_unlock_all()")
                    waits.join()
                    self.assertEqual(two.execute("SELECT pg_try_advisory_lock_shared(1)").fetchone(), (False,))
                    self.many(cluster)

    def many(self, cluster):
        """Sessions that share a lock and have it alone by turns: it is never both."""
        shares = []
        wrong = []

        def work(number):
            with cluster.connect(server=number % 2) as connection:
                for turn in range(10):
                    alone = (number + turn) % 3 == 0
                    name = "" if alone else "_shared"
                    connection.execute(f"SELECT pg_advisory_lock{name}(2)")
                    shares.append(alone)
                    if any(shares) and len(shares) != 1:
                        wrong.append(number)
                    shares.remove(alone)
                    connection.execute(f"SELECT pg_advisory_unlock{name}(2)")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])
        self.assertEqual(cluster.query("SELECT count(*) FROM namdb_locks WHERE key = 2"), [(0,)])


if __name__ == "__main__":
    main()
