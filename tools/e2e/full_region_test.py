"""A region that is full: writers are told, readers go on, and what is deleted or dropped makes room."""
import unittest

import psycopg

from harness import Cluster, TestCase, main, until

FULL = ("53200", "53100")
MAX_TRANSACTION_S = 1


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
                # Old versions need room as well: whoever finds none is told so, and not to try again.
                for _ in range(50):
                    try:
                        connection.execute("UPDATE t SET v = 'z' WHERE id = 0")
                    except psycopg.Error as error:
                        self.assertIn(error.sqlstate, FULL, str(error))
                for key in range(0, rows // 2):
                    connection.execute("DELETE FROM t WHERE id = %s", (key,))
            until(lambda: self.inserts(cluster, 5_000_000), "room after deletes")
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


if __name__ == "__main__":
    main()
