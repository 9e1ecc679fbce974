"""The SQL corpus (tools/sqltest/corpus) against real daemons, and drivers' ways of asking: binary formats, pipelines,
cancel requests, prepared statements."""
import datetime
import decimal
import threading
import unittest
from pathlib import Path

import psycopg

from harness import BIN, FABRICS, Cluster, TestCase, main, program, run

CORPUS = Path(__file__).resolve().parents[1] / "sqltest" / "corpus"
PROCEDURES = BIN.parent / "lib" / "libnamdb_sqltest_procedures.so"


class Corpus(TestCase):
    def test_every_statement_is_answered_as_expected(self):
        files = sorted(CORPUS.glob("*.sqltest"))
        self.assertTrue(files)
        for fabric, memory_servers in self.covering([(fabric, 1) for fabric in FABRICS] + [("shm", 2)]):
            cluster = Cluster(fabric, memory_servers=memory_servers, region="256MiB")
            cluster.flags += ["--procedure-library", PROCEDURES]
            with self.subTest(fabric=fabric, memory_servers=memory_servers), cluster:
                connection = f"host=127.0.0.1 port={cluster.port} dbname=namdb user=tester sslmode=disable"
                done = run(program("sqltest"), "--connection", connection, *files, timeout=300)
                self.assertEqual(done.returncode, 0, done.stdout[-5000:] + done.stderr)


class Drivers(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def setUp(self):
        self.connection = self.cluster.connect()
        self.connection.execute("DROP TABLE IF EXISTS d")
        self.connection.execute(
            "CREATE TABLE d (id int PRIMARY KEY, b bigint, s smallint, f double precision, n numeric(10,3), t text, "
            "c char(5), z boolean, at timestamp)")

    def tearDown(self):
        self.connection.close()

    def test_values_of_all_types_in_text_and_binary(self):
        row = (1, 2**40, -7, 1.25, decimal.Decimal("12.345"), "täxt", "ab   ", True,
               datetime.datetime(2024, 2, 29, 1, 2, 3, 456789))
        empty = (2,) + (None,) * 8
        for binary, placeholder in ((False, "%t"), (True, "%b")):
            cursor = self.connection.cursor(binary=binary)
            for values in (row, empty):
                cursor.execute(f"INSERT INTO d VALUES ({', '.join([placeholder] * len(values))})", values)
                cursor.execute("SELECT * FROM d WHERE id = %s", (values[0],))
                self.assertEqual(cursor.fetchone(), values)
            cursor.execute("DELETE FROM d")
            self.assertEqual(cursor.rowcount, 2)

    def test_a_pipeline_is_one_transaction(self):
        self.connection.cursor().executemany("INSERT INTO d (id, t) VALUES (%s, %s)",
                                             [(key, str(key)) for key in range(500)])
        with self.connection.pipeline():
            before = self.connection.execute("SELECT count(*) FROM d")
            self.connection.execute("INSERT INTO d (id) VALUES (1000)")
            after = self.connection.execute("SELECT count(*) FROM d")
            self.assertEqual((before.fetchone(), after.fetchone()), ((500,), (501,)))
        with self.assertRaises(psycopg.errors.UniqueViolation), self.connection.pipeline():
            for key in (2000, 0, 2001):
                self.connection.execute("INSERT INTO d (id) VALUES (%s)", (key,))
        self.assertEqual(self.connection.execute("SELECT count(*) FROM d WHERE id >= 2000").fetchone(), (0,))

    def test_cancel_and_timeout_end_a_statement(self):
        timer = threading.Timer(0.2, self.connection.cancel)
        timer.start()
        with self.assertRaises(psycopg.errors.QueryCanceled):
            self.connection.execute("SELECT pg_sleep(600)")
        timer.join()
        self.connection.execute("SET statement_timeout = '100ms'")
        with self.assertRaises(psycopg.errors.QueryCanceled):
            self.connection.execute("SELECT pg_sleep(600)")
        self.connection.execute("RESET statement_timeout")
        self.assertEqual(self.connection.execute("SELECT 1").fetchone(), (1,))

    def test_prepared_statements_outlive_their_table(self):
        self.connection.execute("INSERT INTO d (id, t) VALUES (1, 'old')")
        for _ in range(10):  # psycopg prepares after five
            self.assertEqual(self.connection.execute("SELECT t FROM d WHERE id = %s", (1,)).fetchone(), ("old",))
        self.connection.execute("DROP TABLE d")
        self.connection.execute("CREATE TABLE d (t text, id int PRIMARY KEY)")
        self.connection.execute("INSERT INTO d (id, t) VALUES (1, 'new')")
        self.assertEqual(self.connection.execute("SELECT t FROM d WHERE id = %s", (1,)).fetchone(), ("new",))

    def test_a_large_result_arrives_whole(self):
        for begin in range(0, 5000, 500):  # a transaction's journal entry is bounded
            self.connection.cursor().executemany("INSERT INTO d (id, t) VALUES (%s, %s)",
                                                 [(key, "x" * 200) for key in range(begin, begin + 500)])
        rows = self.connection.execute("SELECT id, t FROM d").fetchall()
        self.assertEqual((len(rows), len({key for key, _ in rows})), (5000, 5000))
        cursor = self.connection.execute("SELECT id FROM d WHERE id < 10 ORDER BY id DESC LIMIT 3")
        self.assertEqual(cursor.fetchall(), [(9,), (8,), (7,)])


if __name__ == "__main__":
    main()
