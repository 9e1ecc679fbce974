"""A memory server that keeps its data on disk comes back with all of it, after kill -9 of itself or of every daemon, and again
after kill -9 in the middle of that; compute servers go on. Folders that are not its own, or of no use, are refused by name."""
import os
import random
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from harness import FABRICS, PATIENCE_S, Cluster, TestCase, alive, main, namctl, program, run, until
from ledger import AWAY, Ledger

TABLES = {
    "plain": "CREATE TABLE plain (id bigint PRIMARY KEY, v text)",
    "wide": "CREATE TABLE wide (a integer, b varchar(20), c numeric(12,2), d timestamp, e boolean, PRIMARY KEY (a, b))",
    "unique_v": "CREATE TABLE unique_v (id integer PRIMARY KEY, v integer UNIQUE)",
    "empty": "CREATE TABLE empty (id integer PRIMARY KEY)",
    "long": "CREATE TABLE long (id integer PRIMARY KEY, v text)",
    "made": "CREATE TABLE made (id integer PRIMARY KEY, v text, n integer, twice integer GENERATED ALWAYS AS (n * 2) STORED)",
}
INDEXES = ("CREATE INDEX plain_v ON plain (v)", "CREATE INDEX wide_c ON wide (c DESC, a)",
           "CREATE INDEX wide_b ON wide USING hash (b)", "CREATE UNIQUE INDEX made_lower ON made (lower(v))",
           "CREATE INDEX made_part ON made (n) WHERE twice > 100")
# Each is answered by another way to the rows.
QUESTIONS = ("SELECT * FROM plain ORDER BY id", "SELECT * FROM wide ORDER BY a, b", "SELECT * FROM unique_v ORDER BY id",
             "SELECT * FROM empty", "SELECT id FROM plain WHERE v >= 'v1' AND v < 'v2' ORDER BY v, id",
             "SELECT a, c FROM wide WHERE c > 10 ORDER BY c DESC, a", "SELECT a FROM wide WHERE b = 'b3' ORDER BY a",
             "SELECT id FROM unique_v WHERE v = 7", "SELECT count(*) FROM wide",
             "SELECT id, length(v), md5(v) FROM long ORDER BY id", "SELECT * FROM made ORDER BY id",
             "SELECT id FROM made WHERE lower(v) = 'v7'", "SELECT id FROM made WHERE twice > 100 ORDER BY n DESC, id",
             "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'made' ORDER BY 1",
             "SELECT table_name FROM namdb_tables ORDER BY table_name",
             "SELECT index_name, is_ready, columns, method FROM namdb_indexes ORDER BY index_name")


def fill(cluster):
    for statement in (*TABLES.values(), *INDEXES, "CREATE TABLE dropped (id integer PRIMARY KEY)"):
        cluster.query(statement)
    with cluster.connect(autocommit=False) as connection:
        for i in range(200):
            connection.execute("INSERT INTO plain VALUES (%s, %s)", (i, f"v{i}" + "x" * (i % 90)))
            connection.execute("INSERT INTO wide VALUES (%s, %s, %s, '2024-02-29 12:00:00', %s)",
                               (i, f"b{i % 7}", i / 4, i % 2 == 0))
            connection.execute("INSERT INTO unique_v VALUES (%s, %s)", (i, i + 5))
            connection.execute("INSERT INTO made VALUES (%s, %s, %s)", (i, f"V{i}", i % 90))
        connection.execute("INSERT INTO dropped VALUES (1)")
        connection.execute("INSERT INTO long SELECT i, repeat(md5(i::text), 10 * i) FROM generate_series(0, 40) i")
        connection.commit()
        connection.execute("UPDATE long SET v = v || v WHERE id < 20")
        connection.execute("DELETE FROM long WHERE id > 30")
        connection.execute("UPDATE plain SET v = 'v1-changed' WHERE id < 20")
        connection.execute("DELETE FROM wide WHERE a >= 150")
        connection.commit()
        # Nobody is to see it.
        connection.execute("UPDATE plain SET v = 'never' WHERE id < 50")
        connection.execute("UPDATE long SET v = 'never' WHERE id < 50")
        connection.rollback()
    cluster.query("DROP TABLE dropped")


def answers(cluster, server=0):
    return [cluster.query(question, server=server) for question in QUESTIONS]


def serves(cluster, server=0):
    try:
        return cluster.query("SELECT 1", server=server) == [(1,)] and cluster.query(QUESTIONS[-1], server=server) is not None
    except psycopg.Error as error:
        if error.sqlstate not in AWAY:
            raise
        return False


def command_of(cluster, name):
    return Path(f"/proc/{cluster.pid(name)}/cmdline").read_text().split("\0")[:-1]


class MemoryServerRestarts(TestCase):
    def test_all_is_there_again_while_the_compute_server_goes_on(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, durability="flushed") as cluster:
                fill(cluster)
                before = answers(cluster)
                compute = cluster.pid("compute-0")
                for round_number in range(2):
                    with cluster.connect() as connection:
                        connection.execute("SELECT count(*) FROM plain")
                        cluster.kill("memory-0")
                        until(lambda: cluster.log("compute-0").count("lost the connection") > round_number,
                              "the death is noticed")
                        self.assert_sqlstate(AWAY, connection.execute, "UPDATE plain SET v = 'lost' WHERE id = 1")
                        self.assert_sqlstate(AWAY, cluster.query, "SELECT count(*) FROM plain")
                    cluster.up()
                    until(lambda: serves(cluster), "the memory server is found again")
                    self.assertEqual(answers(cluster), before)
                self.assertEqual(cluster.pid("compute-0"), compute)
                self.assertTrue(alive(compute))
                # All can be changed as ever.
                self.assert_sqlstate("23505", cluster.query, "INSERT INTO unique_v VALUES (1000, 7)")
                self.assert_sqlstate("23505", cluster.query, "INSERT INTO made VALUES (1000, 'v7', 1)")
                cluster.query("UPDATE plain SET v = v")
                cluster.query("DELETE FROM unique_v")
                cluster.query("DROP TABLE wide")
                cluster.query("CREATE TABLE wide (id integer PRIMARY KEY)")
                self.assertEqual(cluster.query("SELECT count(*) FROM plain"), [(200,)])

    def test_with_each_protocol(self):
        for protocol in self.covering(("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin")):
            with self.subTest(protocol=protocol), \
                    Cluster(durability="flushed", memory_flags=[f"--protocol={protocol}"]) as cluster:
                fill(cluster)
                before = answers(cluster)
                cluster.kill("memory-0")
                cluster.up()
                until(lambda: serves(cluster), "the memory server is found again")
                self.assertEqual(answers(cluster), before)
                cluster.query("UPDATE plain SET v = 'new'")
                self.assertEqual(cluster.query("SELECT count(*) FROM plain WHERE v = 'new'"), [(200,)])

    def test_the_clock_may_be_set_back_meanwhile(self):
        # The daemons' clock is that of the machine's start: eleven days later in a time namespace.
        later = ("unshare", "--time", "--fork", "--boottime", 1_000_000)
        if run(*later, "true").returncode != 0:
            self.skipTest("needs the right to make a time namespace")
        for protocol in self.covering(("mvcc", "sundial", "si")):
            with self.subTest(protocol=protocol), \
                    Cluster(durability="flushed", memory_flags=[f"--protocol={protocol}"], launcher=later) as cluster:
                fill(cluster)
                before = answers(cluster)
                cluster.kill("compute-0")
                cluster.kill("memory-0")
                cluster.launcher = ()
                cluster.up()
                self.assertEqual(answers(cluster), before)
                cluster.query("UPDATE plain SET v = 'new'")
                self.assertEqual(cluster.query("SELECT count(*) FROM plain WHERE v = 'new'"), [(200,)])

    def test_a_clean_end_and_a_start_keep_it_too(self):
        with Cluster(durability="flushed") as cluster:
            fill(cluster)
            before = answers(cluster)
            self.assertEqual(namctl("dev", "down", "--data", cluster.data).returncode, 0)
            cluster.up()
            self.assertEqual(answers(cluster), before)

    def test_writes_under_load_survive_the_end_of_every_daemon(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2, durability="flushed") as cluster:
                ledger = Ledger(cluster, servers=(0, 1))
                ledger.create()
                for _ in range(2):
                    with ledger:
                        ledger.await_progress(40)
                        for name in ("memory-0", "compute-1", "compute-0"):
                            cluster.kill(name)
                    cluster.up()
                    ledger.check(self, server=1)

    def test_it_may_end_in_the_middle_of_its_return_again_and_again(self):
        generator = random.Random(5)
        with Cluster("tcp", durability="flushed") as cluster:
            fill(cluster)
            ledger = Ledger(cluster)
            ledger.create()
            with ledger:
                ledger.await_progress(200)
            before = answers(cluster)
            command = command_of(cluster, "memory-0")
            cluster.kill("memory-0")
            for _ in range(8):
                with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
                    # It has begun; the rest is anywhere in what it does, and a little behind that.
                    line = process.stderr.readline()
                    self.assertNotEqual(line, "", "it ended by itself")
                    time.sleep(generator.uniform(0, 0.15))
                    process.kill()
            cluster.up()
            until(lambda: serves(cluster), "the memory server is found again")
            self.assertEqual(answers(cluster), before)
            ledger.check(self)


class SeveralMemoryServers(TestCase):
    """Each has its part of the rows, the buckets and the indexes. Those that end come back with theirs, while the others go
    on."""

    ENDS = (("memory-1",), ("memory-0",), ("memory-0", "memory-1"), ("memory-1", "memory-0", "compute-0"))

    def test_each_alone_and_all_together_come_back_with_all_data(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2, durability="flushed") as cluster:
                fill(cluster)
                before = answers(cluster)
                for names in self.ENDS:
                    with self.subTest(ends=names):
                        stays = {name: cluster.pid(name) for name in ("memory-0", "memory-1", "compute-0")
                                 if name not in names}
                        for name in names:
                            cluster.kill(name)
                        cluster.up()
                        until(lambda: cluster.answers_everywhere("SELECT count(*) FROM plain"), "the memory servers are found again")
                        self.assertEqual(answers(cluster), before)
                        for name, pid in stays.items():
                            self.assertEqual(cluster.pid(name), pid)
                            self.assertTrue(alive(pid), name)
                self.assert_sqlstate("23505", cluster.query, "INSERT INTO unique_v VALUES (1000, 7)")
                self.assert_sqlstate("23505", cluster.query, "INSERT INTO made VALUES (1000, 'v7', 1)")
                cluster.query("UPDATE plain SET v = v")
                cluster.query("DROP TABLE wide")
                cluster.query("CREATE TABLE wide (id integer PRIMARY KEY)")
                self.assertEqual(cluster.query("SELECT count(*) FROM plain"), [(200,)])

    def test_with_each_protocol_and_vector(self):
        for protocol in self.covering(("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin")):
            with self.subTest(protocol=protocol), \
                    Cluster(memory_servers=2, durability="flushed", memory_flags=[
                        f"--protocol={protocol}", "--timestamp-vector=partitioned"]) as cluster:
                fill(cluster)
                before = answers(cluster)
                for name in ("memory-1", "memory-0"):
                    cluster.kill(name)
                    cluster.up()
                    until(lambda: serves(cluster), "the memory servers are found again")
                    self.assertEqual(answers(cluster), before)
                cluster.query("UPDATE plain SET v = 'new'")
                self.assertEqual(cluster.query("SELECT count(*) FROM plain WHERE v = 'new'"), [(200,)])

    def test_a_clean_end_and_a_start_keep_it_too(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster:
            fill(cluster)
            before = answers(cluster)
            self.assertEqual(namctl("dev", "down", "--data", cluster.data).returncode, 0)
            cluster.up()
            self.assertEqual(answers(cluster), before)

    def test_writes_under_load_survive_every_end(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), \
                    Cluster(fabric, memory_servers=2, compute_servers=2, durability="flushed") as cluster:
                ledger = Ledger(cluster, servers=(0, 1))
                ledger.create()
                for names in self.ENDS:
                    with self.subTest(ends=names), ledger:
                        ledger.await_progress(40)
                        for name in names:
                            cluster.kill(name)
                        cluster.up()
                        until(lambda: all(cluster.answers_everywhere("SELECT count(*) FROM ledger", server) for server in (0, 1)),
                              "the memory servers are found again")
                    ledger.check(self, server=1)

    def test_what_does_not_belong_together_is_refused(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster, \
                Cluster(memory_servers=2, durability="flushed") as other:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            cluster.query("INSERT INTO t VALUES (1), (2), (3)")
            cluster.kill("memory-1")
            other.kill("memory-1")
            folder, strange = cluster.data / "memory-1" / "data", other.data / "memory-1" / "data"
            kept = folder.with_name("kept")
            folder.rename(kept)
            command = command_of(cluster, "memory-0")

            def refused(word):
                done = run(*self.second(command, cluster), timeout=60)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(word, done.stderr)

            # One of another database; and a new one, which lacks the second server's part.
            strange.rename(folder)
            refused("that of memory server 0 to")
            shutil.rmtree(folder)
            refused('memory server 1 lacks table "t"')
            shutil.rmtree(folder)
            kept.rename(folder)
            cluster.up()
            until(lambda: cluster.answers_everywhere("SELECT count(*) FROM t"), "the memory server is found again")
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(3,)])

    @staticmethod
    def second(command, cluster):
        """The command of memory-1, from that of memory-0."""
        swapped = [argument.replace(str(cluster.data / "memory-0"), str(cluster.data / "memory-1")) for argument in command]
        swapped[swapped.index("--server-id") + 1] = "1"
        swapped[swapped.index("--listen") + 1] = swapped[swapped.index("--listen") + 1].replace("memory-0", "memory-1")
        return swapped


class AnswersBeforeTheDisk(TestCase):
    """synchronous_commit = off, and its other name."""

    def setting(self, connection):
        return tuple(connection.execute(f"SHOW {name}").fetchone()[0] for name in ("synchronous_commit", "namdb.durability"))

    def test_the_two_names_of_the_setting(self):
        with Cluster(durability="flushed") as cluster:
            with cluster.connect() as connection:
                self.assertEqual(self.setting(connection), ("on", "flushed"))
                connection.execute("SET synchronous_commit TO off")
                self.assertEqual(self.setting(connection), ("off", "memory"))
                connection.execute("SET namdb.durability = 'flushed'")
                self.assertEqual(self.setting(connection), ("on", "flushed"))
                with connection.transaction():
                    connection.execute("SET LOCAL namdb.durability = memory")
                    self.assertEqual(self.setting(connection), ("off", "memory"))
                self.assertEqual(self.setting(connection), ("on", "flushed"))
                for mode in ("local", "remote_write", "remote_apply"):
                    connection.execute(f"SET synchronous_commit = {mode}")
                    self.assertEqual(self.setting(connection), (mode, "flushed"))
                self.assert_sqlstate("22023", connection.execute, "SET synchronous_commit = perhaps")
                self.assert_sqlstate("22023", connection.execute, "SET namdb.durability = everywhere")
            with cluster.connect(options="-c synchronous_commit=off") as connection:
                self.assertEqual(self.setting(connection), ("off", "memory"))
                connection.execute("SET synchronous_commit = on")
                connection.execute("RESET namdb.durability")
                self.assertEqual(self.setting(connection), ("off", "memory"))

    def test_a_database_in_memory_gives_no_more(self):
        with Cluster(durability="memory") as cluster, cluster.connect() as connection:
            self.assertEqual(self.setting(connection), ("on", "memory"))
            self.assert_sqlstate("22023", connection.execute, "SET namdb.durability = flushed")
            connection.execute("SET synchronous_commit = off")
            connection.execute("SET namdb.durability = memory")

    def test_a_session_sees_its_own_commits_at_once(self):
        for protocol in self.covering(("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin")):
            with self.subTest(protocol=protocol), \
                    Cluster(durability="flushed", memory_flags=[f"--protocol={protocol}"]) as cluster:
                fill(cluster)
                with cluster.connect(options="-c namdb.durability=memory") as connection:
                    for i in range(1000, 1200):
                        connection.execute("INSERT INTO plain VALUES (%s, 'own')", (i,))
                        connection.execute("UPDATE plain SET v = %s WHERE id = %s", (f"own{i}", i))
                        self.assertEqual(connection.execute("SELECT v FROM plain WHERE id = %s", (i,)).fetchone(), (f"own{i}",))
                        self.assertEqual(connection.execute("SELECT id FROM plain WHERE v = %s", (f"own{i}",)).fetchall(), [(i,)])
                        self.assert_sqlstate("23505", connection.execute, f"INSERT INTO plain VALUES ({i}, 'again')")
                    connection.execute("DELETE FROM plain WHERE id >= 1000")
                    self.assertEqual(connection.execute("SELECT count(*) FROM plain").fetchone(), (200,))

    def test_a_session_is_told_of_commits_that_it_lost(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2, durability="flushed") as cluster:
                cluster.query("CREATE TABLE early (id bigint PRIMARY KEY)")
                with cluster.connect(options="-c synchronous_commit=off") as connection:
                    for row in range(8):
                        connection.execute("INSERT INTO early VALUES (%s)", (row,))
                        cluster.kill(f"memory-{row % 2}")
                        cluster.up()
                        told = []

                        def goes_on():
                            try:
                                connection.execute("SELECT count(*) FROM early")
                                return True
                            except psycopg.OperationalError as error:
                                self.assertIn(error.sqlstate, ("08006", "57P03"))
                                if "before commits of this session were on disk" in str(error):
                                    told.append(error)
                                return False

                        until(goes_on, "the session goes on")
                        self.assertLessEqual(len(told), 1)
                        there = connection.execute("SELECT id FROM early WHERE id = %s", (row,)).fetchall() == [(row,)]
                        self.assertNotEqual(there, bool(told), f"row {row}")

    def test_they_outlive_a_compute_server_and_leave_no_halves(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2, durability="flushed") as cluster:
                ledger = Ledger(cluster, servers=(0, 1), early=(0, 1, 3))
                ledger.create()
                with ledger:
                    ledger.await_progress(40)
                    cluster.kill("compute-0")
                cluster.up()
                ledger.check(self, server=1)
                for names in (("memory-0",), ("memory-0", "compute-1", "compute-0")):
                    with ledger:
                        ledger.await_progress(40)
                        for name in names:
                            cluster.kill(name)
                    cluster.up()
                    ledger.check(self, server=1, memory_ended=True)


class Folders(TestCase):
    """A memory server says which folder it does not take, and why: exit code 3, and nothing is changed."""

    def refused(self, command, *words, **options):
        done = run(*command, **options)
        self.assertEqual(done.returncode, 3, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def with_options(self, command, **options):
        command = list(command)
        for name, value in options.items():
            flag = "--" + name.replace("_", "-")
            if flag in command:
                command[command.index(flag) + 1] = str(value)
            else:
                command += [flag, str(value)]
        return command

    def test_two_daemons_on_one_folder(self):
        with Cluster(durability="flushed") as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            command = command_of(cluster, "memory-0")
            self.refused(self.with_options(command, listen=f"unix:{cluster.data}/run/other.sock"),
                         str(cluster.data / "memory-0"))
            self.assert_serves(cluster)
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(0,)])

    def test_the_folder_of_another_server(self):
        with Cluster(durability="flushed") as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            command = command_of(cluster, "memory-0")
            cluster.kill("memory-0")
            # The second of two, which nobody told of the first; and one that keeps nothing.
            done = run(*self.with_options(command, server_id=1, server_count=2))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("wants --memory-server", done.stderr)
            self.refused(self.with_options(command, server_id=1, server_count=2, durability="memory"), "flushed")
            cluster.up()
            until(lambda: serves(cluster), "its own server takes it")
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(0,)])

    def test_a_folder_that_cannot_be_written(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder:
            data = Path(folder) / "data"
            data.mkdir()
            os.chmod(folder, 0o755)
            data.chmod(0o555)
            self.refused([program("nam-memoryd"), "--data", data, "--durability", "flushed", "--region-bytes", "64MiB",
                          "--listen", f"unix:{folder}/m.sock"], str(data), user=65534, group=65534)

    def test_a_folder_whose_log_is_gone(self):
        with Cluster(durability="flushed") as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            cluster.kill("memory-0")
            log = cluster.data / "memory-0" / "data" / "log"
            for segment in log.iterdir():
                segment.rename(cluster.data / segment.name)
            done = namctl("dev", "up", *cluster.flags, timeout=2 * PATIENCE_S)
            self.assertEqual(done.returncode, 3, done.stdout)
            self.assertIn("memory-0", done.stderr)
            for segment in cluster.data.glob("segment-*"):
                segment.rename(log / segment.name)
            cluster.up()
            until(lambda: serves(cluster), "with its log it is whole")
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(0,)])


if __name__ == "__main__":
    main()
