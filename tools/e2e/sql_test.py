"""The shortest way through everything: psql and psycopg, SQL and procedures, one and two memory servers."""
import unittest
from pathlib import Path

import psycopg

from harness import FABRICS, Cluster, TestCase, main, run, until


class ThroughEverything(TestCase):
    def test_psql_creates_fills_reads_and_drops(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), self.shared(fabric) as cluster:
                done = run("psql", "-h", "127.0.0.1", "-p", cluster.port, "-U", "anybody", "-v", "ON_ERROR_STOP=1", "-At",
                           "namdb", input="""
                    CREATE TABLE t (id integer PRIMARY KEY, name varchar(20) NOT NULL, price numeric(10,2));
                    INSERT INTO t VALUES (1, 'one', 1.50), (2, 'two', NULL);
                    UPDATE t SET price = 2.25 WHERE id = 2;
                    SELECT id, name, price FROM t WHERE id = 2;
                    BEGIN; DELETE FROM t WHERE id = 1; ROLLBACK;
                    SELECT name FROM t WHERE id = 1;
                    DROP TABLE t;""")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("2|two|2.25", done.stdout.splitlines())
                self.assertIn("one", done.stdout.splitlines())

    def test_psql_over_the_unix_socket(self):
        with self.shared() as cluster:
            done = run("psql", "-h", cluster.data / "run", "-p", cluster.port, "-At", "-c", "SELECT 1", "namdb")
            self.assertEqual((done.returncode, done.stdout), (0, "1\n"), done.stderr)

    def test_psql_describes_tables_as_it_does_those_of_postgresql(self):
        schema, *answers = (Path(__file__).parent / "psql_commands.txt").read_text().split("=== ")
        with self.shared() as cluster:
            psql = ("psql", "-h", "127.0.0.1", "-p", cluster.port, "-U", "tester", "-X", "-v", "ON_ERROR_STOP=1", "namdb")
            done = run(*psql, "-q", input=schema)
            self.assertEqual(done.returncode, 0, done.stderr)
            try:
                for answer in answers:
                    command, expected = answer.split("\n", 1)
                    done = run(*psql, "-c", command)
                    lines = [line.rstrip() for line in (done.stdout + done.stderr).rstrip("\n").split("\n")]
                    self.assertEqual("\n".join(lines), expected.rstrip("\n"), command)
            finally:
                run(*psql, "-q", "-c", 'DROP TABLE customers, orders, "Odd lines"', "-c",
                    "DROP ROUTINE doubled, customers_of, parts, pay")

    def test_copy_takes_files_and_gives_them_back(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2) as cluster, cluster.connect() as connection:
                connection.execute("CREATE TABLE t (id integer PRIMARY KEY, at timestamptz, v text)")
                rows = [(key, None if key % 7 == 0 else f"2024-01-01 00:00:{key % 60:02}+00", f"a\tb\\{key}\n")
                        for key in range(20_000)]
                with connection.cursor() as cursor:
                    with cursor.copy("COPY t FROM STDIN") as copy:
                        for row in rows:
                            copy.write_row(row)
                    self.assertEqual(cursor.rowcount, len(rows))
                    self.assertEqual(connection.execute("SELECT count(*), max(id) FROM t").fetchone(), (20_000, 19_999))
                    with cursor.copy("COPY (SELECT id, v FROM t WHERE id BETWEEN 100 AND 199 ORDER BY id) TO STDOUT") as copy:
                        self.assertEqual([(int(key), v) for key, v in copy.rows()], [(row[0], row[2]) for row in rows[100:200]])
                    with self.assertRaises(psycopg.errors.UniqueViolation):
                        with cursor.copy("COPY t FROM STDIN") as copy:
                            copy.write_row((50_000, None, "new"))
                            copy.write_row((1, None, "there"))
                    self.assertEqual(connection.execute("SELECT count(*) FROM t WHERE id = 50000").fetchone(), (0,))
                psql = ("psql", "-h", "127.0.0.1", "-p", cluster.port, "-U", "anybody", "-v", "ON_ERROR_STOP=1", "-At", "namdb")
                file = cluster.data / "rows.csv"
                done = run(*psql, input=f"\\copy t TO '{file}' CSV HEADER\nTRUNCATE t;\n\\copy t FROM '{file}' CSV HEADER\n"
                                        "SELECT count(*), min(at) FROM t;")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.splitlines(),
                                 ["COPY 20000", "TRUNCATE TABLE", "COPY 20000", "20000|2024-01-01 00:00:00+00"])

    def test_rows_are_split_over_memory_servers_and_all_found(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2) as cluster:
                with cluster.connect() as connection:
                    connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                    with connection.transaction():
                        for key in range(500):
                            connection.execute("INSERT INTO t VALUES (%s, %s)", (key, f"value {key}"))
                    for key in range(0, 500, 7):
                        row = connection.execute("SELECT v FROM t WHERE id = %s", (key,)).fetchone()
                        self.assertEqual(row, (f"value {key}",))
                    self.assertEqual(len(connection.execute("SELECT id FROM t").fetchall()), 500)

    def test_data_survives_the_compute_server(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster:
                cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                cluster.query("INSERT INTO t VALUES (1, 'kept')")
                cluster.kill("compute-0")
                cluster.up()
                self.assertEqual(cluster.query("SELECT v FROM t WHERE id = 1"), [("kept",)])


class GeneratedColumns(TestCase):
    def test_psql_describes_them_and_their_indexes_as_it_does_those_of_postgresql(self):
        with self.shared() as cluster:
            cluster.query("CREATE TABLE made (id integer PRIMARY KEY, a integer, b integer GENERATED ALWAYS AS (a * 2) STORED, "
                          "v varchar(20))")
            cluster.query("CREATE UNIQUE INDEX ON made (lower(v), (a + 1) DESC) WHERE a > 0 AND v IS NOT NULL")
            done = run("psql", "-h", "127.0.0.1", "-p", cluster.port, "-U", "tester", "-X", "-c", "\\d made", "namdb")
            cluster.query("DROP TABLE made")
            self.assertIn(" b      | integer               |           |          | generated always as (a * 2) stored", done.stdout)
            self.assertIn('    "made_lower_expr_idx" UNIQUE, btree (lower(v::text), (a + 1) DESC) WHERE a > 0 AND v IS NOT NULL',
                          done.stdout.splitlines())
            self.assertEqual(done.stdout.count("|"), 4 * 5)

    def test_procedures_of_libraries_do_not_use_tables_that_have_them(self):
        with self.shared() as cluster:
            cluster.query("CREATE TABLE accounts (custid bigint PRIMARY KEY, name varchar(20))")
            cluster.query("CREATE INDEX ON accounts (lower(name))")
            self.assert_sqlstate("0A000", cluster.query, "CALL smallbank_balance(1)")
            cluster.query("DROP TABLE accounts")


class Errors(TestCase):
    def test_errors_carry_their_fields(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster, cluster.connect() as connection:
                connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, code varchar(9) UNIQUE, n integer NOT NULL)")
                connection.execute("CREATE UNIQUE INDEX hashed ON t USING hash (n)")
                connection.execute("CREATE UNIQUE INDEX upper_code ON t (upper(code))")
                connection.execute("INSERT INTO t VALUES (7, 'seven', 1)")

                def told(statement):
                    with self.assertRaises(psycopg.Error) as caught:
                        connection.execute(statement)
                    return caught.exception.diag

                for statement, constraint, key in (
                        ("INSERT INTO t VALUES (7, 'other', 2)", "t_pkey", "Key (id)=(7) already exists."),
                        ("INSERT INTO t VALUES (8, 'seven', 2)", "t_code_key", "Key (code)=(seven) already exists."),
                        ("INSERT INTO t VALUES (8, 'eight', 1)", "hashed", "Key (n)=(1) already exists."),
                        ("INSERT INTO t VALUES (8, 'Seven', 2)", "upper_code", "Key (upper(code::text))=(SEVEN) already exists."),
                        ("INSERT INTO t VALUES (8, 'a', 2), (9, 'a', 3)", "t_code_key", "Key (code)=(a) already exists.")):
                    diag = told(statement)
                    self.assertEqual((diag.sqlstate, diag.schema_name, diag.table_name, diag.constraint_name,
                                      diag.message_detail), ("23505", "public", "t", constraint, key))
                connection.execute("CREATE TABLE bare (a integer, b char(3))")
                connection.execute("INSERT INTO bare VALUES (1, 'x'), (2, 'y'), (1, 'x')")
                for statement, constraint, key in (
                        ("CREATE UNIQUE INDEX pairs ON bare (b, a)", "pairs", "Key (b, a)=(x  , 1) is duplicated."),
                        ("CREATE UNIQUE INDEX twice ON bare ((a * 2))", "twice", "Key ((a * 2))=(2) is duplicated."),
                        ("CREATE UNIQUE INDEX hashes ON bare USING hash (a)", "hashes", "Key (a)=(1) is duplicated."),
                        ("ALTER TABLE bare ADD UNIQUE (a)", "bare_a_key", "Key (a)=(1) is duplicated."),
                        ("ALTER TABLE bare ADD PRIMARY KEY (a)", "bare_pkey", "Key (a)=(1) is duplicated.")):
                    diag = told(statement)
                    self.assertEqual((diag.sqlstate, diag.schema_name, diag.table_name, diag.constraint_name,
                                      diag.message_detail), ("23505", "public", "bare", constraint, key))
                diag = told("UPDATE t SET n = NULL")
                self.assertEqual((diag.sqlstate, diag.table_name, diag.column_name, diag.message_detail),
                                 ("23502", "t", "n", "Failing row contains (7, seven, null)."))
                diag = told("SELECT cod FROM t")
                self.assertEqual((diag.sqlstate, diag.statement_position), ("42703", "8"))
                self.assertIn("t.code", diag.message_hint)


class Sessions(TestCase):
    def test_they_are_seen_and_ended_from_any_worker(self):
        with Cluster(compute_flags=["--workers=2"]) as cluster:
            sessions = [cluster.connect() for _ in range(4)]
            boss, *others = sessions
            pids = [session.info.backend_pid for session in sessions]
            others[0].execute("CREATE TABLE t (id bigint PRIMARY KEY)")
            others[0].execute("SET application_name = 'worker bee'")
            others[1].execute("BEGIN")
            others[1].execute("INSERT INTO t VALUES (1)")
            rows = boss.execute("SELECT pid, application_name, state, query FROM pg_stat_activity ORDER BY pid").fetchall()
            seen = {row[0]: row[1:] for row in rows if row[0] in pids}
            self.assertEqual(sorted(seen), sorted(pids))
            self.assertEqual(seen[pids[0]][1], "active")
            self.assertEqual(seen[pids[1]], ("worker bee", "idle", "SET application_name = 'worker bee'"))
            self.assertEqual(seen[pids[2]][1:], ("idle in transaction", "INSERT INTO t VALUES (1)"))
            for session, pid in zip(others, pids[1:]):
                self.assertEqual(boss.execute("SELECT pg_terminate_backend(%s::integer)", (pid,)).fetchone(), (True,))
                with self.assertRaises(psycopg.OperationalError):
                    session.execute("SELECT 1")
                session.close()
            until(lambda: not boss.execute("SELECT 1 FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND "
                                           "usename = 'tester'").fetchall(), "the sessions' ends")
            self.assertEqual(boss.execute("SELECT count(*) FROM t").fetchone(), (0,))
            boss.close()


class Isolation(TestCase):
    def test_who_is_older_than_the_maximal_time_is_told_so(self):
        for fabric in self.covering(FABRICS):
            with (self.subTest(fabric=fabric), Cluster(fabric, memory_flags=["--max-transaction-seconds=1"]) as cluster,
                  cluster.connect() as old, cluster.connect() as young):
                old.execute("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
                old.execute("INSERT INTO t VALUES (1, 0), (2, 0)")
                # A reader may be told at its next read, or before, since it does nothing.
                for first, sqlstates in (("SELECT v FROM t WHERE id = 1", ("72000", "25P04")),
                                         ("UPDATE t SET v = -1 WHERE id = 1", ("25P04",))):
                    old.execute("BEGIN")
                    old.execute(first)
                    old.execute("SELECT pg_sleep(1.1)")
                    for v in range(20):
                        young.execute("UPDATE t SET v = %s", (v,))
                    with self.assertRaises(psycopg.Error) as caught:
                        old.execute("SELECT v FROM t WHERE id = 2")
                    self.assertIn(caught.exception.sqlstate, sqlstates, str(caught.exception))
                    self.assertIn("--max-transaction-seconds", str(caught.exception))
                    old.execute("ROLLBACK")
                    self.assertEqual(old.execute("SELECT v FROM t").fetchall(), [(19,), (19,)])

    def test_a_snapshot_does_not_see_later_commits_and_the_first_committer_wins(self):
        with Cluster(compute_servers=2) as cluster, cluster.connect(0) as a, cluster.connect(1) as b:
            a.execute("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
            a.execute("INSERT INTO t VALUES (1, 10), (2, 20)")
            a.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            self.assertEqual(a.execute("SELECT v FROM t WHERE id = 1").fetchone(), (10,))
            b.execute("UPDATE t SET v = 11 WHERE id = 1")
            self.assertEqual(a.execute("SELECT v FROM t WHERE id = 1").fetchone(), (10,))

            def overwrite():
                a.execute("UPDATE t SET v = 12 WHERE id = 1")
                a.execute("COMMIT")

            self.assert_sqlstate("40001", overwrite)
            a.execute("ROLLBACK")
            self.assertEqual(a.execute("SELECT v FROM t WHERE id = 1").fetchone(), (11,))


if __name__ == "__main__":
    main()
