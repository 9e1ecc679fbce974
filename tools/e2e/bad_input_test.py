"""Clients that give what cannot be, in the middle of COPY, of a pipeline and of a portal: they hear the same SQLSTATE as from
PostgreSQL, nothing stays behind, and their sessions go on. Procedures without end, and procedures that are replaced or
dropped while they run. Connections that break in the middle of each."""
import socket
import struct

from harness import Cluster, RawClient, TestCase, alive, main, sqlstate_of, until

message = RawClient.message
TEXT, BINARY = 0, 1
INT4, INT8, NUMERIC, INT4_ARRAY, JSONB, BOOL, TIMESTAMP, UUID, TEXT_TYPE = 23, 20, 1700, 1007, 3802, 16, 1114, 2950, 25
SYNC = message("S")
COPY_DONE = message("c")


def parse(text, types=(), name=""):
    return message("P", f"{name}\0{text}\0".encode() + struct.pack(f"!H{len(types)}I", len(types), *types))


def bind(values=(), formats=(), results=(), portal="", statement=""):
    body = f"{portal}\0{statement}\0".encode() + struct.pack(f"!H{len(formats)}h", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
    return message("B", body + struct.pack(f"!H{len(results)}h", len(results), *results))


def describe(portal=""):
    return message("D", f"P{portal}\0".encode())


def execute(rows=0, portal=""):
    return message("E", f"{portal}\0".encode() + struct.pack("!I", rows))


def copy_data(data):
    return message("d", data)


def query(text):
    return message("Q", text.encode() + b"\0")


def kinds(messages):
    return "".join(kind for kind, _ in messages)


class Session(RawClient):
    """One that is ready for a query."""

    def __init__(self, cluster):
        super().__init__(cluster.port)
        self.start("tester")

    def ask(self, data):
        self.send(data)
        return self.until_ready()

    def value(self, text):
        """The first field of the only row."""
        row = next(body for kind, body in self.ask(query(text)) if kind == "D")
        return row[6:6 + struct.unpack("!i", row[2:6])[0]].decode()

    def reset(self):
        """Not closed: the other side gets an RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class BadInput(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = cls.enterClassContext(Cluster())
        cls.pid = cls.cluster.pid("compute-0")
        cls.cluster.query("CREATE TABLE t (id int PRIMARY KEY, v int)")
        cls.cluster.query("INSERT INTO t SELECT i, i FROM generate_series(1, 10) i")

    def setUp(self):
        self.session = self.enterContext(Session(self.cluster))

    def tearDown(self):
        """Nothing of the case is left."""
        self.assertTrue(alive(self.pid), self.cluster.log("compute-0")[-2000:])
        self.assertEqual(self.cluster.query("SELECT count(*), sum(id) FROM t"), [(10, 55)])
        until(lambda: self.cluster.query("SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' "
                                         "AND pid <> pg_backend_pid()") == [(0,)], "only idle sessions")

    def fails(self, sqlstate, data, session=None):
        """The bytes end in that error, and the session goes on."""
        session = session or self.session
        messages = session.ask(data)
        self.assertEqual(sqlstate_of(messages), sqlstate, messages)
        self.assertEqual(messages[-1], ("Z", b"I"))
        self.assertEqual(session.value("SELECT 42"), "42")
        return messages

    # --- COPY ---
    def test_errors_in_the_middle_of_copy(self):
        rows = b"".join(b"%d\t%d\n" % (i, i) for i in range(100, 400))
        cases = {
            b"no number\t1\n": "22P02",
            b"1000\n": "22P04",
            b"1000\t1\t2\n": "22P04",
            b"99999999999\t1\n": "22003",
            b"\\N\t1\n": "23502",
            b"7\t7\n": "23505",
            b"1000\t\xff\n": "22021",
        }
        for bad, sqlstate in cases.items():
            with self.subTest(bad):
                data = copy_data(rows) + copy_data(bad) + copy_data(rows) * 3 + COPY_DONE
                self.fails(sqlstate, query("COPY t FROM STDIN") + data)
                self.fails(sqlstate, parse("COPY t FROM STDIN") + bind() + execute() + data + SYNC)

    def test_errors_in_the_middle_of_binary_copy(self):
        head = b"PGCOPY\n\xff\r\n\0" + struct.pack("!II", 0, 0)

        def row(identity, value):
            return struct.pack("!hii", 2, 4, identity) + struct.pack("!i", len(value)) + value

        good = row(100, b"\0\0\0\1")
        cases = {
            head[:5] + b"x" * 20: "22P04",                       # another signature
            head + good + struct.pack("!h", 3): "22P04",         # more columns
            head + good + row(101, b"\0\0\1"): "08P01",          # an int4 of three bytes
            head + good + row(101, b"\0\0\0\0\1"): "22P03",      # and of five
            head + good + struct.pack("!hi", 2, -2): "22P04",    # a length below that of NULL
            head + good + good[:9]: "22P04",                     # the end in the middle of a row
            head + good + struct.pack("!h", -1) + good: "22P04",  # data behind the end
        }
        for data, sqlstate in cases.items():
            with self.subTest(data):
                self.fails(sqlstate, query("COPY t FROM STDIN (FORMAT binary)") + copy_data(data) + COPY_DONE)

    def test_other_messages_in_the_middle_of_copy(self):
        begin = query("COPY t FROM STDIN") + copy_data(b"100\t1\n")
        self.fails("57014", begin + message("f", b"no more\0"))
        # Flush and Sync are ignored there; any other message ends the COPY.
        messages = self.session.ask(begin + message("H") + SYNC + copy_data(b"7\tx\n") + COPY_DONE)
        self.assertEqual(sqlstate_of(messages), "22P02")
        # Behind the end of a COPY its messages mean nothing.
        messages = self.session.ask(copy_data(b"1\t1\n") + COPY_DONE + message("f", b"\0") + query("SELECT 1"))
        self.assertIsNone(sqlstate_of(messages))
        self.assertEqual(kinds(messages), "TDCZ")

    # --- pipelines ---
    def test_an_error_in_the_middle_of_a_pipeline(self):
        good = parse("INSERT INTO t VALUES (100, 1)") + bind() + execute()
        after = parse("INSERT INTO t VALUES (101, 1)") + bind() + execute()
        bads = {
            "42601": parse("SELEC"),
            "42P01": parse("SELECT * FROM nowhere"),
            "22012": parse("SELECT 1 / (id - id) FROM t") + bind() + execute(),
            "26000": bind(statement="nobody"),
            "34000": execute(portal="nobody"),
            "08P01": message("B", b"\0"),
            "23505": parse("INSERT INTO t VALUES (7, 7)") + bind() + execute(),
        }
        for sqlstate, bad in bads.items():
            with self.subTest(sqlstate):
                messages = self.fails(sqlstate, good + bad + after + SYNC)
                self.assertEqual(kinds(messages).count("C"), 1, messages)
        # In a block it fails the block, and all of the next pipeline, until ROLLBACK.
        self.session.ask(query("BEGIN"))
        self.assertEqual(self.session.ask(good + bads["22012"] + after + SYNC)[-1], ("Z", b"E"))
        self.assertEqual(sqlstate_of(self.session.ask(after + SYNC)), "25P02")
        self.assertEqual(self.session.ask(query("ROLLBACK"))[-1], ("Z", b"I"))

    # --- portals ---
    def test_an_error_in_the_middle_of_a_portal(self):
        begin = parse("SELECT 10 / (id - 5) FROM t ORDER BY id") + bind() + execute(2) + execute(2)
        messages = self.fails("22012", begin + execute(2) + execute(2) + SYNC)
        self.assertTrue(kinds(messages).startswith("12DDsDDs"), messages)
        self.session.ask(query("BEGIN"))
        self.session.ask(begin + SYNC)
        messages = self.session.ask(execute(2) + SYNC)
        self.assertEqual((sqlstate_of(messages), messages[-1]), ("22012", ("Z", b"E")))
        # A portal of a failed block cannot go on.
        self.assertEqual(sqlstate_of(self.session.ask(execute(2) + SYNC)), "25P02")
        self.session.ask(query("ROLLBACK"))
        self.fails("34000", execute(2) + SYNC)

    # --- parameters ---
    def test_parameters_that_do_not_fit(self):
        two = parse("SELECT id FROM t WHERE id = $1 AND v = $2")
        one = parse("SELECT $1", [INT4])
        cases = [
            ("08P01", two + bind([b"1"])),
            ("08P01", two + bind([b"1", b"2", b"3"])),
            ("08P01", two + bind()),
            ("08P01", two + bind([b"1", b"2"], formats=[TEXT, TEXT, TEXT])),
            ("08P01", two + bind([b"1", b"2"], results=[TEXT, TEXT])),
            ("22023", one + bind([b"1"], formats=[7])),
            ("22P02", one + bind([b"one"])),
            ("22P02", one + bind([b""])),
            ("22003", one + bind([b"99999999999"])),
            ("08P01", one + bind([b"\0\0\1"], formats=[BINARY])),
            ("22P03", one + bind([b"\0\0\0\0\1"], formats=[BINARY])),
            ("08P01", one + bind([b""], formats=[BINARY])),
            ("22021", parse("SELECT $1", [TEXT_TYPE]) + bind([b"a\xff"])),
            ("22021", parse("SELECT $1", [TEXT_TYPE]) + bind([b"a\0b"])),
            ("22021", parse("SELECT $1", [TEXT_TYPE]) + bind([b"a\xff"], formats=[BINARY])),
            ("08P01", parse("SELECT $1", [INT8]) + bind([b"\0\0\0\1"], formats=[BINARY])),
            ("22P03", parse("SELECT $1", [BOOL]) + bind([b"\1\1"], formats=[BINARY])),
            ("08P01", parse("SELECT $1", [UUID]) + bind([b"\1" * 15], formats=[BINARY])),
            ("22P03", parse("SELECT $1", [NUMERIC]) + bind([struct.pack("!hhHh", 1, 0, 0x1234, 0) + b"\0\1"], formats=[BINARY])),
            ("22P03", parse("SELECT $1", [NUMERIC]) + bind([struct.pack("!hhHhh", 1, 0, 0, 0, 10000)], formats=[BINARY])),
            ("08P01", parse("SELECT $1", [TIMESTAMP]) + bind([b"\0\0\0\1"], formats=[BINARY])),
            ("22P02", parse("SELECT $1", [JSONB]) + bind([b"{"])),
            ("22P02", parse("SELECT $1", [JSONB]) + bind([b"\1{"], formats=[BINARY])),
            ("22P02", parse("SELECT $1", [INT4_ARRAY]) + bind([b"{1,2"])),
            ("42804", parse("SELECT $1", [INT4_ARRAY]) + bind([struct.pack("!iiiii", 1, 0, INT8, 0, 1)], formats=[BINARY])),
            ("0A000", parse("SELECT $1", [99999])),
            ("42P18", parse("SELECT $2::int")),
            ("26000", bind(statement="nobody")),
            ("42P02", query("SELECT $1")),
        ]
        for sqlstate, data in cases:
            with self.subTest(data=data, sqlstate=sqlstate):
                data = data if data[:1] == b"Q" else data + execute() + SYNC
                self.fails(sqlstate, data)

    def test_parameters_whose_lengths_are_lies(self):
        head = b"\0\0" + struct.pack("!HH", 0, 1)
        for length in (-2, -2147483648, 7, 2147483647):
            self.fails("08P01", parse("SELECT $1", [INT4]) + message("B", head + struct.pack("!i", length) + b"1234\0\0") + execute() + SYNC)
        self.fails("08P01", message("P", b"\0SELECT 1\0" + struct.pack("!H", 3) + b"\0\0") + SYNC)
        self.fails("08P01", message("P", b"no end") + SYNC)
        self.fails("08P01", message("D", b"X\0") + SYNC)
        self.fails("08P01", message("E", b"\0\0") + SYNC)

    # --- procedures ---
    endless = "LOOP NULL; END LOOP;"

    def ends_in_time(self, data):
        """Only what is endless has little time."""
        self.session.ask(query("SET statement_timeout = '300ms'"))
        self.assertEqual(sqlstate_of(self.session.ask(data)), "57014")
        self.session.ask(query("RESET statement_timeout"))
        self.assertEqual(self.session.value("SELECT 42"), "42")

    def test_procedures_without_end(self):
        bodies = {
            "endless": self.endless,
            "writing": "LOOP UPDATE t SET v = v + 1 WHERE id = 1; END LOOP;",
            # A block cannot catch a timeout.
            "catching": f"LOOP BEGIN {self.endless} EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP;",
        }
        for name, body in bodies.items():
            with self.subTest(name):
                self.make_procedure(name, body)
                self.ends_in_time(query(f"CALL {name}()"))
                self.ends_in_time(parse(f"CALL {name}()") + bind() + execute() + SYNC)
        self.assertEqual(self.cluster.query("SELECT v FROM t WHERE id = 1"), [(1,)])
        self.ends_in_time(query("WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r"))

    def make_procedure(self, name, body):
        self.cluster.query(f"CREATE OR REPLACE PROCEDURE {name}() LANGUAGE plpgsql AS $$ BEGIN {body} END $$")

    def test_recursion_without_end(self):
        self.cluster.query("CREATE OR REPLACE FUNCTION down(n int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN down(n + 1); END $$")
        self.cluster.query("CREATE OR REPLACE PROCEDURE down_again(n int) LANGUAGE plpgsql AS $$ BEGIN CALL down_again(n + 1); END $$")
        self.fails("54001", query("SELECT down(1)"))
        self.fails("54001", query("CALL down_again(1)"))
        self.fails("54001", parse("SELECT down($1)") + bind([b"1"]) + execute() + SYNC)
        self.fails("54001", query("SELECT " + "(" * 30000 + "1" + ")" * 30000))

    def move(self, sequence):
        return self.cluster.query(f"SELECT nextval('{sequence}')")[0][0]

    def test_procedures_that_are_replaced_or_dropped_while_they_run(self):
        replace = "CREATE OR REPLACE FUNCTION changing() RETURNS int LANGUAGE plpgsql AS $$ BEGIN {} RETURN {}; END $$"
        # A sequence moves at once: a number that is left out tells that the body runs.
        self.cluster.query("CREATE SEQUENCE begun")
        waits = "PERFORM nextval('begun'); PERFORM pg_advisory_xact_lock(1);"
        self.cluster.query(replace.format(waits, 1))
        for change, sqlstate in ((replace.format(waits, 2), None), ("DROP FUNCTION changing()", "42883")):
            before = 1 if sqlstate is None else 2
            looks = [self.move("begun")]
            with self.cluster.connect() as holder:
                holder.execute("SELECT pg_advisory_lock(1)")
                self.session.send(query("SELECT changing()"))
                until(lambda: looks.append(self.move("begun")) or looks[-1] > looks[-2] + 1, "the body runs")
                self.cluster.query(change)
                running = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT changing()' AND state = 'active'"
                self.assertEqual(self.cluster.query(running), [(1,)])
            messages = self.session.until_ready()
            self.assertIsNone(sqlstate_of(messages), messages)
            self.assertIn(str(before).encode(), b"".join(body for kind, body in messages if kind == "D"))
            self.assertEqual(sqlstate_of(self.session.ask(query("SELECT changing()"))), sqlstate)

    # --- connections that break ---
    def test_connections_that_break_in_the_middle(self):
        self.make_procedure("writing_endless", f"INSERT INTO t VALUES (100, 1); {self.endless}")
        begun = {
            "COPY FROM": query("COPY t FROM STDIN") + copy_data(b"100\t1\n10"),
            "COPY FROM of a pipeline": parse("COPY t FROM STDIN") + bind() + execute() + copy_data(b"100\t1\n"),
            "COPY TO": query("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 100000)) TO STDOUT"),
            "a pipeline": (parse("INSERT INTO t VALUES (100, 1)") + bind() + execute()) + message("H"),
            "half a message": parse("INSERT INTO t VALUES (100, 1)") + bind() + execute() + b"P\0\0",
            "a portal": query("BEGIN") + query("INSERT INTO t VALUES (100, 1)") + parse("SELECT * FROM t") + bind() + execute(2) + message("H"),
            "a loop": query("CALL writing_endless()"),
            "rows": query("SELECT repeat('x', 1000) FROM generate_series(1, 100000)"),
            "a wait": query("SELECT pg_sleep(1000)"),
        }
        for name, data in begun.items():
            for end in ("close", "reset"):
                with self.subTest(name, end=end):
                    session = Session(self.cluster)
                    session.send(data)
                    if name not in ("a loop", "a wait", "half a message"):
                        session.receive()
                    if end == "reset":
                        session.reset()
                    else:
                        session.socket.close()
                    until(lambda: self.cluster.query("SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' "
                                                     "AND pid <> pg_backend_pid()") == [(0,)], "the statement ends")
                    self.assertEqual(self.cluster.query("SELECT count(*) FROM t"), [(10,)])
                    # No lock is left.
                    self.cluster.query("UPDATE t SET v = v WHERE id <= 10")


if __name__ == "__main__":
    main()
