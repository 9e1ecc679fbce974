"""Enumerations and temporary tables across compute servers: the first also in psycopg, the second also when their server dies."""
import enum
import json

import psycopg
from psycopg.types.enum import EnumInfo, register_enum

from harness import Cluster, TestCase, main, namctl, until


class Mood(enum.Enum):
    sad = "sad"
    ok = "ok"
    happy = "happy"


class Enumerations(TestCase):
    def test_labels_are_the_same_on_all_servers(self):
        with Cluster(memory_servers=2, compute_servers=2) as cluster:
            with cluster.connect(0) as one, cluster.connect(1) as other:
                one.execute("CREATE TYPE mood AS ENUM ('sad', 'happy')")
                one.execute("CREATE TABLE people (id int PRIMARY KEY, m mood)")
                one.execute("CREATE INDEX ON people (m)")
                one.execute("INSERT INTO people VALUES (1, 'happy'), (2, 'sad')")
                self.assertEqual(other.execute("SELECT m FROM people ORDER BY m").fetchall(), [("sad",), ("happy",)])
                other.execute("ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy'")
                other.execute("INSERT INTO people VALUES (3, 'ok')")
                self.assertEqual(one.execute("SELECT 'ok'::mood").fetchone(), ("ok",))
                self.assertEqual(one.execute("SELECT id FROM people ORDER BY m").fetchall(), [(2,), (3,), (1,)])
                self.assertEqual(one.execute("SELECT id FROM people WHERE m > 'sad' ORDER BY m").fetchall(), [(3,), (1,)])
                self.assert_sqlstate("2BP01", other.execute, "DROP TYPE mood")
                other.execute("DROP TABLE people")
                other.execute("DROP TYPE mood")
                with cluster.connect(0) as third:
                    self.assert_sqlstate("42704", third.execute, "SELECT 'ok'::mood")

    def test_psycopg_knows_the_type_in_both_formats(self):
        with Cluster() as cluster, cluster.connect() as connection:
            connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')")
            connection.execute("CREATE TABLE people (id int PRIMARY KEY, m mood)")
            info = EnumInfo.fetch(connection, "mood")
            self.assertEqual(info.labels, ["sad", "ok", "happy"])
            register_enum(info, connection, Mood)
            for binary in (False, True):
                with connection.cursor(binary=binary) as cursor:
                    cursor.execute("TRUNCATE people")
                    cursor.executemany("INSERT INTO people VALUES (%s, %s)", [(1, Mood.happy), (2, None), (3, Mood.sad)])
                    rows = cursor.execute("SELECT m FROM people WHERE m = ANY (%s) ORDER BY m", ([Mood.sad, Mood.happy],)).fetchall()
                    self.assertEqual(rows, [(Mood.sad,), (Mood.happy,)])
                    self.assertEqual(cursor.execute("SELECT array_agg(m ORDER BY id) FROM people").fetchone(),
                                     ([Mood.happy, None, Mood.sad],))
            with connection.cursor() as cursor:
                with cursor.copy("COPY people (id, m) FROM STDIN") as copy:
                    copy.write_row((7, "ok"))
                with cursor.copy("COPY (SELECT m FROM people WHERE id = 7) TO STDOUT") as copy:
                    self.assertEqual(list(copy.rows()), [("ok",)])
                with self.assertRaises(psycopg.errors.InvalidTextRepresentation):
                    with cursor.copy("COPY people (id, m) FROM STDIN") as copy:
                        copy.write_row((8, "angry"))


class TemporaryTables(TestCase):
    def stored(self, cluster):
        """The temporary tables that the memory server has, by the names that their sessions give them."""
        status = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)
        return sorted(table["name"].split("\x1f")[1] for table in status["memory_servers"][0]["tables"] if "\x1f" in table["name"])

    def test_sessions_do_not_see_those_of_others(self):
        with Cluster(compute_servers=2) as cluster:
            with cluster.connect(0) as one, cluster.connect(0) as neighbor, cluster.connect(1) as other:
                for connection, value in ((one, 1), (neighbor, 2), (other, 3)):
                    connection.execute("CREATE TEMP TABLE t (a int PRIMARY KEY)")
                    connection.execute("INSERT INTO t VALUES (%s)", (value,))
                for connection, value in ((one, 1), (neighbor, 2), (other, 3)):
                    self.assertEqual(connection.execute("SELECT a FROM t").fetchall(), [(value,)])
                with cluster.connect(0) as stranger:
                    self.assert_sqlstate("42P01", stranger.execute, "SELECT * FROM t")
                    self.assertEqual(stranger.execute("SELECT relname FROM pg_class WHERE relname LIKE 't%' AND relkind = 'r' "
                                                      "AND relnamespace = 'public'::regnamespace").fetchall(), [])
                with self.assertRaisesRegex(psycopg.errors.UniqueViolation, 'unique constraint "t_pkey"') as raised:
                    one.execute("INSERT INTO t VALUES (1)")
                self.assertEqual(raised.exception.diag.constraint_name, "t_pkey")

    def test_they_go_with_their_session_and_with_their_server(self):
        with Cluster(compute_servers=2) as cluster:
            with cluster.connect(0) as one:
                one.execute("CREATE TEMP TABLE gone (id serial PRIMARY KEY, t text)")
                one.execute("INSERT INTO gone (t) VALUES (%s)", ("x" * 10_000,))
                self.assertEqual(self.stored(cluster), ["gone"])
            until(lambda: self.stored(cluster) == [], "the end of the session's table")
            other = cluster.connect(1)
            other.execute("CREATE TEMP TABLE left_behind (a int)")
            cluster.kill(cluster.state["compute_servers"][1]["name"])
            other.close()
            self.assertEqual(self.stored(cluster), ["left_behind"])

            def is_swept():
                with cluster.connect(0) as one:
                    one.execute("CREATE TEMP TABLE sweeps (a int)")
                    return self.stored(cluster) == ["sweeps"]

            until(is_swept, "the end of the dead server's table")

    def test_a_rollback_and_a_commit_drop_them(self):
        with Cluster() as cluster, cluster.connect(autocommit=False) as connection:
            connection.execute("CREATE TEMP TABLE t (a int)")
            connection.rollback()
            self.assertEqual(self.stored(cluster), [])
            connection.execute("CREATE TEMP TABLE t (a int) ON COMMIT DROP")
            connection.execute("INSERT INTO t VALUES (1)")
            connection.commit()
            self.assertEqual(self.stored(cluster), [])


if __name__ == "__main__":
    main()
