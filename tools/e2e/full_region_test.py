"""A region that is full: writers are told, readers go on, a dropped table makes room; and small tables fill it late."""
import json
import unittest

import psycopg

from harness import FABRICS, Cluster, TestCase, main, namctl, until

FULL = ("53200", "53100")
MAX_TRANSACTION_S = 3


class FullRegion(TestCase):
    def fill(self, connection, table):
        """Inserts until the region is full: how many rows fitted."""
        rows = 0
        try:
            while rows < 1_000_000:
                with connection.transaction():
                    for _ in range(50):
                        connection.execute(f"INSERT INTO {table} VALUES (%s, %s)", (rows, "x" * 900))
                        rows += 1
        except psycopg.Error as error:
            self.assertIn(error.sqlstate, FULL, str(error))
            return rows // 50 * 50 if rows % 50 else rows - 50
        self.fail("the region is never full")

    def inserts(self, cluster, key):
        try:
            cluster.query("INSERT INTO t VALUES (%s, %s)", (key, "y" * 900))
            return True
        except psycopg.Error as error:
            self.assertIn(error.sqlstate, FULL, str(error))
            return False

    def test_reads_go_on_and_deletes_and_drops_make_room(self):
        with Cluster(region="64MiB", memory_flags=[f"--max-transaction-seconds={MAX_TRANSACTION_S}"]) as cluster:
            with cluster.connect() as connection:
                connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, v varchar(1000)) ")
                rows = self.fill(connection, "t")
                print(f"{rows} rows of about 1 KB fill 64 MiB")
                self.assertGreater(rows, 0)
                for key in range(0, rows, max(1, rows // 20)):
                    row = connection.execute("SELECT v FROM t WHERE id = %s", (key,)).fetchone()
                    self.assertEqual(row, ("x" * 900,))
                # Old versions have room of their own, which comes back.
                for i in range(10_000):
                    connection.execute("UPDATE t SET v = %s WHERE id = 0", (str(i),))
                self.assertEqual(connection.execute("SELECT v FROM t WHERE id = 0").fetchone(), ("9999",))
                # A block whose client says nothing more may still want what is deleted, but not for ever.
                idle = cluster.connect()
                idle.execute("BEGIN")
                idle.execute("SELECT v FROM t WHERE id = 0")
                for key in range(0, rows // 2):
                    connection.execute("DELETE FROM t WHERE id = %s", (key,))
            until(lambda: self.inserts(cluster, 5_000_000), "room after deletes")
            left = rows // 4

            def fit_again():
                nonlocal left
                while left and self.inserts(cluster, 6_000_000 + left):
                    left -= 1
                return left == 0

            until(fit_again, "room for half of what was deleted")

            def told():
                try:
                    idle.execute("SELECT 1")
                    return False
                except psycopg.Error as error:
                    self.assertEqual(error.sqlstate, "25P04", str(error))
                    return True

            until(told, "the idle block's end")
            with self.assertRaises(psycopg.errors.InFailedSqlTransaction):
                idle.execute("SELECT 1")
            idle.execute("ROLLBACK")
            self.assertEqual(idle.execute("SELECT 1").fetchone(), (1,))
            idle.close()
            cluster.query("DROP TABLE t")

            def fits_again():
                try:
                    cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v varchar(1000))")
                    return True
                except psycopg.Error as error:
                    self.assertIn(error.sqlstate, FULL, str(error))
                    return False

            until(fits_again, "room after a drop")
            until(lambda: self.inserts(cluster, 1), "room for rows after a drop")


class SmallTables(TestCase):
    # Purposes of memory that is not a table's.
    OTHERS = ("region_map", "timestamp_vector", "alignment", "journals", "free_extents")

    def tables_bytes(self, cluster):
        done = namctl("memory", "--data", cluster.data, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return sum(part["bytes"] for server in json.loads(done.stdout)["memory_servers"] for part in server["parts"]
                   if part["purpose"] not in self.OTHERS)

    def test_a_table_with_a_row_takes_kilobytes_and_five_hundred_fit_a_small_region(self):
        for memory_servers in (1, 2):
            with Cluster(region="64MiB", memory_servers=memory_servers) as cluster, cluster.connect() as connection:
                connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                connection.execute("INSERT INTO t VALUES (1, 'one')")
                print(f"{memory_servers} memory servers: a table takes {self.tables_bytes(cluster)} bytes")
                self.assertLess(self.tables_bytes(cluster), memory_servers * 65536)
                for number in range(500):
                    connection.execute(f"CREATE TABLE t{number} (id bigint PRIMARY KEY, v text)")
                    connection.execute(f"INSERT INTO t{number} VALUES (1, 'one')")
                for number in range(500):
                    connection.execute(f"DROP TABLE t{number}")
                connection.execute("DROP TABLE t")
                until(lambda: self.tables_bytes(cluster) == 0, "all memory is free again")


class GrowingRegion(TestCase):
    FIRST_BYTES = 32 << 20
    LIMIT_BYTES = 80 << 20
    ROWS = 500  # of about 1 KB with their index entries, in a statement

    def region_bytes(self, cluster):
        """Of memory server 0, whose parts add up to it."""
        done = namctl("memory", "--data", cluster.data, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for server in json.loads(done.stdout)["memory_servers"]:
            self.assertEqual(server["region_limit_bytes"], self.LIMIT_BYTES)
            self.assertEqual(sum(part["bytes"] for part in server["parts"]), server["region_bytes"])
        return json.loads(done.stdout)["memory_servers"][0]["region_bytes"]

    def insert(self, connection, first):
        rows = ", ".join(f"({key}, '{'x' * 600}')" for key in range(first, first + self.ROWS))
        connection.execute(f"INSERT INTO t VALUES {rows}")

    def test_a_region_grows_under_compute_servers_that_were_there_before(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(
                    fabric, compute_servers=2, region="32MiB",
                    memory_flags=[f"--region-limit={self.LIMIT_BYTES}",
                                  f"--max-transaction-seconds={MAX_TRANSACTION_S}"]) as cluster:
                with cluster.connect(0) as writer, cluster.connect(1) as reader:
                    writer.execute("CREATE TABLE t (id bigint PRIMARY KEY, v varchar(1000))")
                    writer.execute("CREATE INDEX by_v ON t (v)")
                    self.assertEqual(self.region_bytes(cluster), self.FIRST_BYTES)
                    reader.execute("SELECT v FROM t WHERE id = 0")
                    key = 0
                    while self.region_bytes(cluster) < self.FIRST_BYTES + (16 << 20):
                        self.insert(writer, key)
                        # The newest lie where there was nothing when this one connected.
                        last = key + self.ROWS - 1
                        reader.execute("UPDATE t SET v = 'y' WHERE id = %s", (last,))
                        self.assertEqual(reader.execute("SELECT v FROM t WHERE id = %s", (last,)).fetchone(), ("y",))
                        self.assertEqual(writer.execute("SELECT v FROM t WHERE id = %s", (last,)).fetchone(), ("y",))
                        key += self.ROWS
                    for connection in (writer, reader):
                        found = connection.execute("SELECT count(*) FROM t").fetchone()
                        self.assertEqual(found, (key,))
                    self.assertEqual(reader.execute("SELECT count(*) FROM t WHERE v = 'y'").fetchone(),
                                     (key // self.ROWS,))
                    with self.assertRaises(psycopg.Error) as full:
                        while True:
                            self.insert(writer, key)
                            key += self.ROWS
                    self.assertIn(full.exception.sqlstate, FULL)
                    self.assertEqual(self.region_bytes(cluster), self.LIMIT_BYTES)
                    until(lambda: "grown to its limit" in cluster.log("memory-0"), "the log says so")
                    self.assertEqual(reader.execute("SELECT count(*) FROM t").fetchone(), (key,))
                    print(f"{fabric}: {key} rows in a region that grew from 32 MiB to {self.LIMIT_BYTES >> 20} MiB")
                # A compute server that starts later reads them, too.
                cluster.kill("compute-1")
                cluster.up()
                self.assertEqual(cluster.query("SELECT count(*) FROM t", server=1), [(key,)])


if __name__ == "__main__":
    main()
