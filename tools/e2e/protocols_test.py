"""Every concurrency-control protocol, with stages one-sided and two-sided, under real clients and kill -9."""
import json

import psycopg

from bank import Bank, Load
from harness import WHOLE, Cluster, TestCase, main, namctl, program, run, until

# Of each serializable protocol some clusters that differ in all else.
CLUSTERS = (
    ("occ", "shm", "one-sided", 1),
    ("occ", "tcp", "two-sided", 2),
    ("nowait", "tcp", "one-sided", 2),
    ("nowait", "shm", "lock,log,release", 2),
    ("waitdie", "shm", "two-sided", 2),
    ("waitdie", "tcp", "read,validate,install", 1),
    ("mvcc", "shm", "one-sided", 2),
    ("mvcc", "tcp", "two-sided", 1),
    ("sundial", "shm", "one-sided", 2),
    ("sundial", "tcp", "two-sided", 1),
    ("si", "shm", "two-sided", 2),
    ("drtm", "tcp", "one-sided", 2),
    ("drtm", "shm", "two-sided", 1),
    ("calvin", "tcp", "one-sided", 2),
    ("calvin", "shm", "two-sided", 1),
)
# Each protocol once; both transports, and stages of each kind.
SAMPLE = tuple(CLUSTERS[i] for i in (1, 3, 5, 6, 9, 10, 11, 13))


def cluster_of(protocol, fabric, stages, memory_servers, **options):
    return Cluster(fabric, memory_servers=memory_servers,
                   memory_flags=(f"--protocol={protocol}", f"--stages={stages}"), **options)


class EveryProtocol(TestCase):
    def test_money_only_moves_and_nothing_stays_locked_when_a_compute_server_is_killed(self):
        for shape in CLUSTERS if WHOLE else SAMPLE:
            with self.subTest(shape=shape), cluster_of(*shape, compute_servers=2) as cluster:
                bank = Bank(cluster, accounts=40)
                bank.create()
                with Load(bank, clients=4, servers=(0, 1)) as load:
                    until(lambda: load.committed >= 30, "some commits")
                    cluster.kill("compute-0")
                    cluster.up()
                    before = load.committed
                    until(lambda: load.committed > before + 20, "commits after the restart")
                self.assertEqual(load.unexpected, [])
                bank.check_no_lock(self, server=1)
                bank.check_total(self, server=1)

    def test_status_tells_protocol_and_stages(self):
        with cluster_of("occ", "shm", "lock,log", 1) as cluster:
            done = namctl("status", "--data", cluster.data, "--json")
            server = json.loads(done.stdout)["memory_servers"][0]
            self.assertEqual((server["protocol"], server["stages"]), ("occ", "lock,log"))
            self.assertIn("protocol occ, two-sided lock,log", namctl("status", "--data", cluster.data).stdout)


    def test_status_tells_where_the_timestamp_vector_is(self):
        with Cluster(memory_servers=2, memory_flags=("--timestamp-vector=partitioned",)) as cluster:
            done = namctl("status", "--data", cluster.data, "--json")
            self.assertEqual([server["timestamp_vector"] for server in json.loads(done.stdout)["memory_servers"]],
                             ["partitioned", "partitioned"])
            self.assertIn("timestamp vector partitioned", namctl("status", "--data", cluster.data).stdout)
            # Both servers have words of it.
            parts = [part for server in json.loads(namctl("memory", "--data", cluster.data, "--json").stdout)
                     ["memory_servers"] for part in server["parts"] if part["purpose"] == "timestamp_vector"]
            self.assertEqual(len(parts), 2)

    def test_readers_share_locks_that_keep_writers_out_and_their_killed_server_leaves_none(self):
        flags = ("--protocol=nowait", "--read-locks=shared")
        with Cluster("tcp", memory_servers=2, compute_servers=2, memory_flags=flags) as cluster:
            server = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)["memory_servers"][1]
            self.assertEqual(server["read_locks"], "shared")
            self.assertIn("read locks shared", namctl("status", "--data", cluster.data).stdout)
            with cluster.connect(1) as writer:
                writer.execute("CREATE TABLE t (id int PRIMARY KEY, v int)")
                writer.execute("INSERT INTO t VALUES (1, 1)")
                readers = [cluster.connect(k) for k in (0, 1)]
                for reader in readers:
                    reader.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
                    self.assertEqual(reader.execute("SELECT v FROM t WHERE id = 1").fetchall(), [(1,)])
                with self.assertRaises(psycopg.errors.SerializationFailure):
                    writer.execute("UPDATE t SET v = 2 WHERE id = 1")
                readers[1].execute("COMMIT")
                cluster.kill("compute-0")

                def written():
                    try:
                        return writer.execute("UPDATE t SET v = 2 WHERE id = 1").rowcount == 1
                    except psycopg.errors.SerializationFailure:
                        return False
                until(written, "an UPDATE beside a dead reader")
                for reader in readers:
                    reader.close()

    def test_shared_read_locks_are_refused_where_they_cannot_be(self):
        refused = run(program("nam-memoryd"), "--protocol", "occ", "--read-locks", "shared")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--read-locks shared: --protocol occ locks no rows as they are read; nowait and waitdie do",
                      refused.stderr)
        with Cluster(memory_flags=("--protocol=waitdie",)) as cluster:
            status = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)
            address = status["memory_servers"][0]["address"]
            refused = run(program("nam-computed"), "--data", f"{cluster.data}/other", "--memory-server", address,
                          "--listen", "127.0.0.1:0", "--read-locks", "shared",
                          "--cluster-key", f"{cluster.data}/cluster.key")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("the database's readers cannot share locks", refused.stderr)

    def test_a_time_to_lock_is_refused_where_the_protocol_leaves_no_choice(self):
        with Cluster(memory_flags=("--protocol=occ",)) as cluster:
            status = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)
            address = status["memory_servers"][0]["address"]
            refused = run(program("nam-computed"), "--data", f"{cluster.data}/other", "--memory-server", address,
                          "--listen", "127.0.0.1:0", "--lock-at", "fetch",
                          "--cluster-key", f"{cluster.data}/cluster.key")
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn("--lock-at fetch: protocol occ leaves no choice; mvcc and sundial do", refused.stderr)

    def test_a_preset_is_remembered_and_stands_for_protocol_and_stages(self):
        with Cluster(memory_servers=2, memory_flags=("--preset=farm",)) as cluster:
            done = namctl("status", "--data", cluster.data, "--json")
            for server in json.loads(done.stdout)["memory_servers"]:
                self.assertEqual((server["preset"], server["protocol"], server["stages"]),
                                 ("farm", "occ", "lock,install,release"))
            self.assertIn("two-sided lock,install,release (preset farm)",
                          namctl("status", "--data", cluster.data).stdout)
            bank = Bank(cluster, accounts=10)
            bank.create()
            bank.check_total(self)
        refused = run(program("nam-memoryd"), "--preset", "fasst", "--protocol", "occ")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--preset says which protocol and stages, so it goes without --protocol and --stages", refused.stderr)


class Serializable(TestCase):
    def attempts(self, cluster, first, second):
        """Two transactions, of which `second` begins within `first`: the SQLSTATEs with which they end."""
        ends = []
        with cluster.connect() as one, cluster.connect() as other:
            connections = (one, other)
            steps = [iter(first), iter(second)]
            failed = [None, None]
            for connection in connections:
                connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            for statements in zip(*steps):
                for k, statement in enumerate(statements):
                    if failed[k] is None:
                        try:
                            connections[k].execute(statement).fetchall() if statement.startswith("SELECT") \
                                else connections[k].execute(statement)
                        except psycopg.Error as error:
                            failed[k] = error.sqlstate
                            connections[k].execute("ROLLBACK")
            for k, connection in enumerate(connections):
                try:
                    if failed[k] is None:
                        connection.execute("COMMIT")
                    ends.append(failed[k])
                except psycopg.Error as error:
                    ends.append(error.sqlstate)
        return ends

    def test_neither_write_skew_nor_phantoms(self):
        for protocol in ("occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin"):
            with self.subTest(protocol=protocol), cluster_of(protocol, "shm", "one-sided", 1) as cluster:
                with cluster.connect() as connection:
                    self.assertEqual(connection.execute("SHOW transaction_isolation").fetchone(), ("serializable",))
                    connection.execute("CREATE TABLE doctors (id int PRIMARY KEY, on_call int NOT NULL, ward int)")
                    connection.execute("CREATE INDEX doctors_ward ON doctors (ward)")
                    connection.execute("INSERT INTO doctors VALUES (1, 1, 1), (2, 1, 1)")
                skew = [["SELECT on_call FROM doctors WHERE id = 1", "SELECT on_call FROM doctors WHERE id = 2",
                         f"UPDATE doctors SET on_call = 0 WHERE id = {own}"] for own in (1, 2)]
                ends = self.attempts(cluster, *skew)
                self.assertIn("40001", ends)
                self.assertEqual(sorted(cluster.query("SELECT sum(on_call) FROM doctors")), [(1,)] if None in ends
                                 else [(2,)])
                # Each adds a doctor to a ward that it has seen empty: by key, by the whole table, by the index.
                for ward, (read, where) in enumerate((("count(*)", "id = {0}"), ("count(*)", "on_call = {0}"),
                                                      ("count(*)", "ward = {0}")), start=10):
                    text = f"SELECT {read} FROM doctors WHERE " + where.format(ward * 100)
                    adds = [[text, f"INSERT INTO doctors VALUES ({ward * 100 + (own if where[0] != 'i' else 0)}, "
                                   f"{ward * 100}, {ward * 100})"] for own in (1, 2)]
                    ends = self.attempts(cluster, *adds)
                    self.assertEqual(ends.count(None), 1, (where, ends))
                    self.assertEqual([end for end in ends if end is not None], ["40001"])

    def test_reading_alone_is_not_in_the_way_of_others(self):
        with cluster_of("occ", "shm", "one-sided", 1) as cluster:
            bank = Bank(cluster, accounts=10)
            bank.create()
            with Load(bank, clients=2) as load:
                for _ in range(20):
                    bank.check_total(self)
            self.assertEqual(load.unexpected, [])
            self.assertGreater(load.committed, 0)

    def test_snapshot_isolation_refuses_what_it_cannot_give(self):
        with Cluster() as cluster, cluster.connect() as connection:
            with self.assertRaises(psycopg.Error) as refused:
                connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
            self.assertEqual(refused.exception.sqlstate, "0A000")


if __name__ == "__main__":
    main()
