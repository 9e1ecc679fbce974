"""Long values (docs/internals/long-values.md) of real daemons: whole under every protocol while others change them, the same in
every format, and there after the death of daemons."""
import contextlib
import threading

import psycopg

from harness import FABRICS, Cluster, TestCase, Workers, main, until
from ledger import AWAY

PROTOCOLS = ("si", "occ", "nowait", "waitdie", "mvcc", "sundial", "drtm", "calvin")
LETTERS = "abcdefgh"


def length_of(letter):
    return 90 + 1500 * LETTERS.index(letter)


def is_whole(body):
    return body in {letter * length_of(letter) for letter in LETTERS}


class Changes(Workers):
    """Clients that give rows other values, and some that read them."""

    def __init__(self, cluster, servers=(0,), rounds=40):
        self.cluster, self.rounds = cluster, rounds
        self.stopped = threading.Event()
        self.changed = 0
        self.unexpected = []
        self.lock = threading.Lock()
        self.changers = [threading.Thread(target=self.run, args=(self.change, server, seed))
                         for server in servers for seed in range(2)]
        self.threads = self.changers + [threading.Thread(target=self.run, args=(self.read, server, 0)) for server in servers]

    @staticmethod
    def create(cluster):
        cluster.query("CREATE TABLE docs (id int PRIMARY KEY, n int, body text)")
        cluster.query("INSERT INTO docs SELECT i, 0, repeat('b', %s) FROM generate_series(1, 6) i", (length_of("b"),))

    def run(self, action, server, seed):
        try:
            with self.cluster.connect(server) as connection:
                action(connection, seed)
        except psycopg.Error as error:
            if error.sqlstate not in AWAY:
                self.unexpected.append(str(error))

    def change(self, connection, seed):
        for i in range(self.rounds):
            if self.stopped.is_set():
                return
            key = 1 + (i + seed) % 6
            letter = LETTERS[(i * 5 + seed * 3) % len(LETTERS)]
            with contextlib.suppress(psycopg.errors.SerializationFailure):
                if i % 3 == 0:
                    with connection.transaction():
                        connection.execute("DELETE FROM docs WHERE id = %s", (key,))
                        connection.execute("INSERT INTO docs VALUES (%s, %s, repeat(%s, %s))", (key, i, letter, length_of(letter)))
                else:
                    connection.execute("UPDATE docs SET body = repeat(%s, %s), n = n + 1 WHERE id = %s", (letter, length_of(letter), key))
                with self.lock:
                    self.changed += 1

    def read(self, connection, _):
        while not self.stopped.is_set():
            with contextlib.suppress(psycopg.errors.SerializationFailure):
                self.unexpected += [body[:80] for (body,) in connection.execute("SELECT body FROM docs") if not is_whole(body)]


class LongValues(TestCase):
    def assert_whole(self, cluster, server=0):
        rows = cluster.query("SELECT id, body FROM docs ORDER BY id", server=server)
        self.assertEqual([key for key, _ in rows], list(range(1, 7)))
        self.assertEqual([key for key, body in rows if not is_whole(body)], [])

    def test_readers_see_whole_values_while_others_change_them(self):
        for fabric, protocol in self.covering([(fabric, protocol) for protocol in PROTOCOLS for fabric in FABRICS]):
            with self.subTest(fabric=fabric, protocol=protocol), \
                    Cluster(fabric, memory_servers=2, compute_servers=2, memory_flags=[f"--protocol={protocol}"]) as cluster:
                Changes.create(cluster)
                with Changes(cluster, servers=(0, 1)) as changes:
                    for thread in changes.changers:
                        thread.join()
                self.assertEqual(changes.unexpected, [])
                self.assertGreater(changes.changed, 0)
                self.assert_whole(cluster)
                self.assert_whole(cluster, server=1)
                self.assert_sqlstate("54000", cluster.query, "CREATE INDEX ON docs (body)")
                # Another table keeps them from now on; then there is none.
                cluster.query("ALTER TABLE docs ALTER COLUMN body TYPE text USING repeat(body, 2)")
                cluster.query("UPDATE docs SET body = left(body, length(body) / 2)", server=1)
                self.assert_whole(cluster)
                cluster.query("DROP TABLE docs")
                cluster.query("CREATE TABLE docs (id int, body text)")
                self.assertEqual(cluster.query("SELECT body FROM docs", server=1), [])

    def test_every_format_gives_the_same(self):
        with Cluster(region="256MiB") as cluster, cluster.connect() as connection:
            connection.execute("CREATE TABLE given (id int PRIMARY KEY, t text, b bytea, a text[], j jsonb)")
            connection.execute("CREATE TABLE taken (id int PRIMARY KEY, t text, b bytea, a text[], j jsonb)")
            text, raw = "ä\"\\\t,\n" * 150_000, bytes(range(256)) * 4096
            for key, binary in ((1, "%t"), (2, "%b")):
                connection.execute(f"INSERT INTO given VALUES (%s, {binary}, {binary}, %s, %s)",
                                   (key, text, raw, [text[:500]] * 3, '{"k": "' + "v" * 1000 + '"}'))
            everything = "SELECT id, t, b, a, j::text FROM {} ORDER BY id"
            given = connection.execute(everything.format("given")).fetchall()
            self.assertEqual([row[1:4] for row in given], [(text, raw, [text[:500]] * 3)] * 2)
            self.assertEqual(connection.cursor(binary=True).execute(everything.format("given")).fetchall(), given)
            for options in ("FORMAT text", "FORMAT csv", "FORMAT binary"):
                with connection.cursor().copy(f"COPY given TO STDOUT ({options})") as copy:
                    data = b"".join(copy)
                with connection.cursor().copy(f"COPY taken FROM STDIN ({options})") as copy:
                    for begin in range(0, len(data), 100_000):
                        copy.write(data[begin:begin + 100_000])
                self.assertEqual(connection.execute(everything.format("taken")).fetchall(), given, options)
                connection.execute("TRUNCATE taken")

    def test_they_are_there_after_daemons_have_died(self):
        for fabric, memory_servers in self.covering([("tcp", 2), ("shm", 1), ("tcp", 1)]):
            with self.subTest(fabric=fabric, memory_servers=memory_servers), \
                    Cluster(fabric, memory_servers=memory_servers, durability="flushed") as cluster:
                Changes.create(cluster)
                for round_number in range(2):
                    with Changes(cluster, rounds=10_000) as changes:
                        until(lambda: changes.changed >= 20, "some changes")
                        cluster.kill("compute-0")
                    self.assertEqual(changes.unexpected, [])
                    cluster.up()
                    self.assert_whole(cluster)
                    for number in range(memory_servers):
                        cluster.kill(f"memory-{number}")
                    cluster.up()
                    until(lambda: cluster.answers_everywhere("SELECT count(*) FROM docs"), "the memory servers are found again")
                    self.assert_whole(cluster)
                cluster.query("UPDATE docs SET body = repeat('c', %s)", (length_of("c"),))
                self.assert_whole(cluster)


if __name__ == "__main__":
    main()
