"""Secondary indexes on real daemons: built while others write, killed in the middle of a build, in a full region."""
import json
import random
import threading
import time
import unittest

import psycopg

from harness import FABRICS, Cluster, TestCase, main, namctl, until

ROWS = 20_000
FULL = ("53200", "53100")


def create(cluster, rows=ROWS, payload=10):
    cluster.query(f"CREATE TABLE item (id int PRIMARY KEY, shelf int, label varchar({payload})) "
                  f"WITH (size_hint = {rows})")
    with cluster.connect() as connection:
        for first in range(0, rows, 500):
            values = ", ".join(f"({key}, {key % 97}, 'x')" for key in range(first, min(first + 500, rows)))
            connection.execute("INSERT INTO item VALUES " + values)


class Writer(threading.Thread):
    """Moves items from shelf to shelf, takes some away and brings others, until it is stopped."""

    def __init__(self, cluster, server, seed):
        super().__init__()
        self.cluster, self.server, self.generator = cluster, server, random.Random(seed)
        self.stopping, self.committed, self.unexpected = threading.Event(), 0, []

    def run(self):
        with self.cluster.connect(self.server) as connection:
            while not self.stopping.is_set():
                key = self.generator.randrange(2 * ROWS)
                statement = self.generator.choice((
                    f"UPDATE item SET shelf = {self.generator.randrange(97)} WHERE id = {key}",
                    f"DELETE FROM item WHERE id = {key}",
                    f"INSERT INTO item VALUES ({key}, {self.generator.randrange(97)}, 'y')"))
                try:
                    connection.execute(statement)
                    self.committed += 1
                except psycopg.Error as error:
                    if error.sqlstate not in ("23505", "40001"):
                        self.unexpected.append(str(error))
                        return

    def __enter__(self):
        self.start()
        until(lambda: self.committed > 10 or self.unexpected, "some commits")
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.join()


class Indexes(TestCase):
    def check_index(self, connection):
        """Each shelf by the index and by reading the table, in one snapshot."""
        with connection.transaction():
            plan = connection.execute("EXPLAIN SELECT id FROM item WHERE shelf = 5").fetchall()
            self.assertIn("Index Scan using item_shelf on item", plan[0][0])
            shelves = {}
            for key, shelf in connection.execute("SELECT id, shelf FROM item WHERE shelf + 0 >= 0"):
                shelves.setdefault(shelf, []).append(key)
            for shelf in range(97):
                rows = connection.execute("SELECT id FROM item WHERE shelf = %s ORDER BY id DESC", (shelf,)).fetchall()
                self.assertEqual([key for key, in rows], sorted(shelves.get(shelf, []), reverse=True), f"shelf {shelf}")

    def test_built_while_others_write(self):
        for fabric, memory_servers in self.covering([(fabric, 1) for fabric in FABRICS] + [("shm", 2)]):
            with self.subTest(fabric=fabric, memory_servers=memory_servers), \
                    Cluster(fabric, memory_servers=memory_servers, compute_servers=2) as cluster:
                create(cluster)
                with Writer(cluster, 0, 1) as near, Writer(cluster, 1, 2) as far:
                    cluster.query("CREATE INDEX item_shelf ON item (shelf)")
                    seen = near.committed, far.committed
                    until(lambda: near.committed > seen[0] + 50 and far.committed > seen[1] + 50 or near.unexpected
                          or far.unexpected, "commits with the index")
                    with cluster.connect() as connection:
                        self.check_index(connection)
                    cluster.query("DROP INDEX item_shelf")
                    cluster.query("CREATE INDEX item_shelf ON item USING hash (shelf)", server=1)
                    with cluster.connect(1) as connection:
                        self.check_index(connection)
                self.assertEqual(near.unexpected + far.unexpected, [])
                with cluster.connect(1) as connection:
                    self.check_index(connection)

    def test_a_builder_that_is_killed_leaves_nothing(self):
        generator = random.Random(5)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2) as cluster:
                create(cluster)
                for method in ("btree", "hash") * 3:
                    with Writer(cluster, 1, 3) as writer:
                        builder = cluster.connect(0)
                        thread = threading.Thread(target=self.build, args=(builder, method))
                        thread.start()
                        time.sleep(generator.uniform(0, 0.2))  # anywhere in the build
                        cluster.kill("compute-0")
                        thread.join()
                        cluster.up()

                        def free(method=method):
                            try:
                                cluster.query("DROP INDEX IF EXISTS item_shelf", server=1)
                                cluster.query(f"CREATE INDEX item_shelf ON item USING {method} (shelf)", server=1)
                                return True
                            except psycopg.Error as error:
                                self.assertEqual(error.sqlstate, "42P07", str(error))
                                return False

                        until(free, "the name of the half-built index")
                    self.assertEqual(writer.unexpected, [])
                    with cluster.connect(1) as connection:
                        self.check_index(connection)
                    cluster.query("DROP INDEX item_shelf", server=1)

    @staticmethod
    def build(connection, method):
        Indexes.try_statement(connection, f"CREATE INDEX item_shelf ON item USING {method} (shelf)")

    @staticmethod
    def try_statement(connection, statement):
        try:
            connection.execute(statement)
        except psycopg.Error:
            pass  # its server was killed

    def parts(self, cluster, name):
        """The parts of the index on each memory server as namctl shows them, once there is an index of that name."""
        def found():
            done = namctl("status", "--data", cluster.data, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            return [index for index in json.loads(done.stdout)["indexes"] if index["name"] == name]

        until(lambda: len(found()) == 1, "one index of that name")
        return found()[0]["parts"]

    def test_rebuilt_while_others_write(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2, compute_servers=2) as cluster:
                cluster.query("CREATE TABLE item (id int PRIMARY KEY, shelf int, label varchar(10), code int UNIQUE) "
                              f"WITH (size_hint = {ROWS})")
                cluster.query("CREATE INDEX item_shelf ON item (shelf)")
                self.assertEqual(len(self.parts(cluster, "item_shelf")), 1)
                with cluster.connect() as connection:
                    for first in range(0, ROWS, 500):
                        values = ", ".join(f"({key}, {key % 97}, 'x', {key})" for key in range(first, first + 500))
                        connection.execute("INSERT INTO item VALUES " + values)
                ids = set(cluster.query("SELECT index_id FROM namdb_indexes"))
                with Writer(cluster, 0, 1) as near, Writer(cluster, 1, 2) as far, cluster.connect(1) as connection:
                    cluster.query("REINDEX INDEX item_shelf")
                    self.check_index(connection)
                    for _ in range(3):
                        cluster.query("REINDEX TABLE CONCURRENTLY item")
                        self.check_index(connection)
                        error = self.assert_sqlstate("23505", cluster.query, "INSERT INTO item VALUES "
                                                     "(-1, 1, 'z', 50000), (-2, 1, 'z', 50000)")
                        self.assertIn("item_code_key", str(error))
                self.assertEqual(near.unexpected + far.unexpected, [])
                for name in ("item_shelf", "item_code_key"):
                    parts = self.parts(cluster, name)
                    self.assertEqual(sorted(part["server_id"] for part in parts), [0, 1])
                    entries = [part["entries"] for part in parts]
                    self.assertLess(max(entries), 0.6 * sum(entries), f"{name}: {entries}")
                self.assertEqual(cluster.query("SELECT count(*) FROM namdb_indexes WHERE parts = 2"), [(3,)])
                self.assertTrue(ids.isdisjoint(cluster.query("SELECT index_id FROM namdb_indexes")))
                self.assertEqual(cluster.query("SELECT is_unique, is_constraint FROM namdb_indexes "
                                               "WHERE index_name = 'item_code_key'"), [(True, True)])
                self.assertIn("item_shelf", namctl("status", "--data", cluster.data).stdout)

    def test_an_index_that_grew_on_one_server_is_spread_in_the_background(self):
        with Cluster("tcp", memory_servers=2, compute_servers=2) as cluster:
            cluster.query("CREATE TABLE item (id int PRIMARY KEY, shelf int, label varchar(10))")
            cluster.query("CREATE INDEX item_shelf ON item (shelf)")
            with cluster.connect() as connection:
                for first in range(0, ROWS, 500):
                    values = ", ".join(f"({key}, {key % 97}, 'x')" for key in range(first, first + 500))
                    connection.execute("INSERT INTO item VALUES " + values)
            self.assertEqual(len(self.parts(cluster, "item_shelf")), 1)
            # A compute server looks when it starts, and then every half minute, and rebuilds one index each time.
            cluster.flags += ["--compute-flag=--balance-indexes=64KiB"]
            with Writer(cluster, 0, 4) as writer:
                for index in ("item_pkey", "item_shelf"):
                    cluster.kill("compute-1")
                    cluster.up()
                    until(lambda: len(self.parts(cluster, index)) == 2, f"two parts of {index}")  # pylint: disable=cell-var-from-loop
                with cluster.connect(1) as connection:
                    self.check_index(connection)
            self.assertEqual(writer.unexpected, [])
            entries = [part["entries"] for part in self.parts(cluster, "item_shelf")]
            self.assertLess(max(entries), 0.6 * sum(entries), entries)

    def test_a_rebuilder_that_is_killed_leaves_one_index(self):
        generator = random.Random(6)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2, compute_servers=2) as cluster:
                create(cluster)
                cluster.query("CREATE INDEX item_shelf ON item (shelf)")
                for _ in range(6):
                    with Writer(cluster, 1, 3) as writer:
                        builder = cluster.connect(0)
                        thread = threading.Thread(target=self.try_statement,
                                                  args=(builder, "REINDEX INDEX item_shelf"))
                        thread.start()
                        time.sleep(generator.uniform(0, 0.2))  # anywhere in it
                        cluster.kill("compute-0")
                        thread.join()
                        with cluster.connect(1) as connection:
                            self.check_index(connection)
                        cluster.up()
                    self.assertEqual(writer.unexpected, [])
                    self.assertEqual(len(self.parts(cluster, "item_shelf")), 2)
                    cluster.query("REINDEX INDEX item_shelf", server=1)
                    with cluster.connect(1) as connection:
                        self.check_index(connection)

    def test_duplicates_leave_no_index(self):
        with Cluster() as cluster:
            create(cluster, 1000)
            for method in ("btree", "hash"):
                self.assert_sqlstate("23505", cluster.query,
                                     f"CREATE UNIQUE INDEX item_shelf ON item USING {method} (shelf)")
                self.assertEqual(cluster.query("SELECT index_name FROM namdb_indexes"), [("item_pkey",)])
            cluster.query("INSERT INTO item VALUES (5000, 1, 'x')")
            cluster.query("CREATE UNIQUE INDEX item_shelf ON item (shelf, id)")

    def test_a_full_region_refuses_the_index_and_keeps_the_rows(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, region="64MiB") as cluster:
                cluster.query("CREATE TABLE item (id int PRIMARY KEY, shelf int, label varchar(900)) "
                              "WITH (size_hint = 20000)")
                rows = 0
                with cluster.connect() as connection, self.assertRaises(psycopg.Error) as full:
                    while True:
                        values = ", ".join(f"({key}, {key % 97}, repeat)".replace("repeat", "'" + "x" * 600 + "'")
                                           for key in range(rows, rows + 50))
                        connection.execute("INSERT INTO item VALUES " + values)
                        rows += 50
                self.assertIn(full.exception.sqlstate, FULL, str(full.exception))
                # An entry of this one takes more than 600 bytes.
                error = self.assert_sqlstate(FULL, cluster.query, "CREATE INDEX item_label ON item (label)")
                self.assertIsNotNone(error)
                self.assert_sqlstate(FULL, cluster.query, "CREATE INDEX item_label ON item USING hash (label)")
                self.assertEqual(cluster.query("SELECT index_name FROM namdb_indexes"), [("item_pkey",)])
                self.assertEqual(cluster.query("SELECT count(*) FROM item"), [(rows,)])

                def fits():
                    try:
                        cluster.query("CREATE TABLE other (id int PRIMARY KEY, v int UNIQUE) WITH (size_hint = 100)")
                        return True
                    except psycopg.Error as failure:
                        self.assertIn(failure.sqlstate, FULL, str(failure))
                        return False

                cluster.query("DROP TABLE item")
                until(fits, "room after a drop")

    def check_labels(self, connection, present):
        """Every index holds just the rows that are there, in its order."""
        with connection.transaction():
            ids = [key for key, in connection.execute("SELECT id FROM item WHERE shelf + 0 >= 0")]
            self.assertEqual(sorted(ids), sorted(present))
            for index, order in (("by_label", "label"), ("by_shelf", "shelf, label"), ("by_both", "label, shelf")):
                plan = connection.execute(f"EXPLAIN SELECT id, label, shelf FROM item ORDER BY {order}").fetchall()
                self.assertIn("Index Scan", plan[0][0])
                rows = connection.execute(f"SELECT id, label, shelf FROM item ORDER BY {order}").fetchall()
                self.assertEqual(sorted(key for key, _, _ in rows), sorted(present), index)
                keys = [(shelf, label) if order.startswith("shelf") else label for _, label, shelf in rows]
                self.assertEqual(keys, sorted(keys), index)

    def test_a_region_that_gets_full_in_the_middle_of_splits_costs_the_statement_and_no_more(self):
        generator = random.Random(11)

        def label():
            return "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=600))

        for fabric, limit in self.covering([(fabric, limit) for fabric in FABRICS for limit in (None, "40MiB")]):
            flags = ["--ring-versions=1", "--extent-size=64KiB", "--max-transaction-seconds=1"]
            with self.subTest(fabric=fabric, limit=limit), \
                    Cluster(fabric, region="24MiB", compute_servers=2,
                            memory_flags=flags + ([f"--region-limit={limit}"] if limit else [])) as cluster:
                memory = cluster.pid("memory-0")
                # Three entries of 600 bytes for a record of about 1,300: most of what is asked for is for pages.
                cluster.query("CREATE TABLE item (id int PRIMARY KEY, shelf int, label varchar(600)) "
                              "WITH (size_hint = 1000)")
                cluster.query("CREATE INDEX by_label ON item (label)")
                cluster.query("CREATE INDEX by_shelf ON item (shelf, label)")
                cluster.query("CREATE INDEX by_both ON item (label, shelf)")
                present, key, refused = [], 0, 0
                with cluster.connect(0) as near, cluster.connect(1) as far:
                    while refused < 10:
                        connection = generator.choice((near, far))
                        keys = range(key, key + 20)
                        key += 20
                        values = ", ".join(f"({i}, {generator.randrange(97)}, '{label()}')" for i in keys)
                        try:
                            connection.execute("INSERT INTO item VALUES " + values)
                            present += keys
                        except psycopg.Error as error:
                            self.assertIn(error.sqlstate, FULL, str(error))
                            refused += 1
                    print(f"{fabric}, limit {limit}: {len(present)} rows with three indexes")
                    for connection in (near, far):
                        self.check_labels(connection, present)
                    # Deletes work in a full region, and what they free is used again.
                    for i in present[::2]:
                        far.execute("DELETE FROM item WHERE id = %s", (i,))
                    present = present[1::2]

                    def fits():
                        try:
                            near.execute(f"INSERT INTO item VALUES (1000000, 5, '{label()}')")
                            return True
                        except psycopg.Error as error:
                            self.assertIn(error.sqlstate, FULL, str(error))
                            return False

                    until(fits, "room after deletes")
                    present.append(1_000_000)
                    for connection in (near, far):
                        self.check_labels(connection, present)
                self.assertEqual(cluster.pid("memory-0"), memory)

    def test_an_index_of_a_table_that_is_dropped_meanwhile_is_not_there(self):
        generator = random.Random(7)
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2) as cluster:
                for round_number in range(6):
                    create(cluster, 4000)
                    method = ("btree", "hash")[round_number % 2]
                    outcome = []
                    builder = threading.Thread(target=lambda out=outcome, method=method: out.append(self.try_query(
                        cluster, f"CREATE INDEX item_shelf ON item USING {method} (shelf)")))
                    builder.start()
                    time.sleep(generator.uniform(0, 0.1))  # anywhere in the build, or behind it
                    until(lambda: self.try_query(cluster, "DROP TABLE item", 1) in (None, "42P01"), "the drop")
                    builder.join()
                    # It was there before the drop, or never; not even its name is left.
                    self.assertIn(outcome[0], (None, "42P01", "42704"), f"round {round_number}")
                    self.assertEqual(cluster.query("SELECT * FROM namdb_indexes"), [])
                    self.assert_sqlstate("42P01", cluster.query, "CREATE INDEX item_shelf ON item (shelf)")
                    cluster.query("CREATE TABLE other (id int PRIMARY KEY, shelf int)")
                    until(lambda: self.try_query(cluster, "CREATE INDEX item_shelf ON other (shelf)") is None, "the name")
                    cluster.query("DROP TABLE other")

    @staticmethod
    def try_query(cluster, statement, server=0):
        """The SQLSTATE of what went wrong, or None."""
        try:
            cluster.query(statement, server=server)
        except psycopg.Error as error:
            return error.sqlstate
        return None


if __name__ == "__main__":
    main()
