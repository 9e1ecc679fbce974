"""The isolation specs (tools/sqltest/isolation) against real daemons: on one compute server over shm, and with the
sessions spread over two, and the tables over two memory servers, over tcp; the answers are the same. Under serializable
protocols they are those of some serial order. How a spec fails. And rows that a client takes piece by piece while others commit, which a spec cannot say.
"""
import json
import re
import struct
import tempfile
from pathlib import Path

from harness import BIN, FABRICS, WHOLE, Cluster, RawClient, TestCase, main, program, run

SPECS = Path(__file__).resolve().parents[1] / "sqltest" / "isolation"
REGION = "1GiB" if WHOLE else "256MiB"
PROCEDURES = BIN.parent / "lib" / "libnamdb_sqltest_procedures.so"


def sqltest(cluster, *arguments):
    connections = [f"--connection=host=127.0.0.1 port={compute['port']} dbname=namdb user=tester sslmode=disable"
                   for compute in cluster.state["compute_servers"]]
    return run(program("sqltest"), "--isolation", *connections, *arguments, timeout=300)


def serializable_clusters():
    """Protocol, what it promises, transport, servers, stages, when write sets are locked (None: as the protocol says): sessions and
    tables on one server over shm, spread over two over tcp. Each protocol over one transport; whole over both, and with all
    stages two-sided too."""
    promises = {"occ": "strict", "nowait": "strict", "waitdie": "strict", "mvcc": "serializable",
                "sundial": "serializable", "drtm": "strict", "calvin": "strict"}
    own = {"occ": "tcp", "nowait": "shm", "waitdie": "tcp", "mvcc": "tcp", "sundial": "shm", "drtm": "tcp",
           "calvin": "tcp"}
    everything = WHOLE
    for protocol, promise in promises.items():
        for fabric, servers in (("shm", 1), ("tcp", 2)):
            for stages in ("one-sided", "two-sided") if everything else ("one-sided",):
                if everything or own[protocol] == fabric:
                    for lock_at in ("commit", "fetch") if promise == "serializable" else (None,):
                        yield protocol, promise, fabric, servers, stages, lock_at


class Specs(TestCase):
    def assert_as_expected(self, cluster, files):
        done = sqltest(cluster, "--json", *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-5000:])
        summary = json.loads(done.stdout)
        self.assertEqual((summary["files"], summary["failed"], summary["failures"]), (len(files), 0, []))
        self.assertGreater(summary["permutations"], 100)

    def test_every_permutation_is_answered_as_expected(self):
        files = sorted(SPECS.glob("*.spec"))
        self.assertTrue(files)
        # Tables that were dropped keep their extents until no transaction can be older: hence the region.
        for fabric, servers in self.covering((("shm", 1), ("tcp", 2))):
            cluster = Cluster(fabric, memory_servers=servers, compute_servers=servers, region=REGION)
            cluster.flags += ["--procedure-library", PROCEDURES]
            with self.subTest(fabric=fabric), cluster:
                self.assert_as_expected(cluster, files)


    def test_every_permutation_is_answered_serializably_under_serializable_protocols(self):
        every_file = sorted(SPECS.glob("*.spec"))
        for turn, (protocol, comparison, fabric, servers, stages, lock_at) in enumerate(serializable_clusters()):
            # Not whole, a protocol has a third of the specs, and the protocols together have each of them.
            files = every_file if WHOLE else every_file[turn % 3::3]
            cluster = Cluster(fabric, memory_servers=servers, compute_servers=servers, region=REGION,
                              memory_flags=(f"--protocol={protocol}", f"--stages={stages}"))
            cluster.flags += ["--procedure-library", PROCEDURES]
            if lock_at is not None:
                cluster.flags += [f"--compute-flag=--lock-at={lock_at}"]
            with self.subTest(protocol=protocol, fabric=fabric, stages=stages, lock_at=lock_at), cluster:
                done = sqltest(cluster, "--json", "--compare", comparison, *files)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-5000:])
                summary = json.loads(done.stdout)
                self.assertEqual((summary["files"], summary["failures"]), (len(files), []))
                self.assertGreater(summary["permutations"], len(files))
                # Schema changes, which take effect at once.
                self.assertEqual(summary["skipped"], sum(1 for file in files if re.search("^at-once$", file.read_text(), re.M)))
                # Not by conflicts alone.
                self.assertGreater(summary["transactions"], summary["conflicts"])


class Failures(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.__enter__()
        cls.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()
        cls.cluster.__exit__()

    def spec(self, text, name="changed.spec"):
        path = Path(self.folder.name) / name
        path.write_text(text)
        return path

    def test_a_wrong_answer_is_1_and_shown_as_a_difference(self):
        text = (SPECS / "write_skew.spec").read_text()
        path = self.spec(text.replace("check: 1|f, 2|f", "check: 1|f, 2|t", 1))
        done = sqltest(self.cluster, path, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("    c2: COMMIT\n  - check: 1|f, 2|t\n  + check: 1|f, 2|f\n", done.stderr)
        failure, = json.loads(done.stdout)["failures"]
        self.assertEqual(failure["permutation"], "r1 r2 off1 off2 c1 c2")
        self.assertIn(f"changed.spec:{failure['line']}: permutation r1 r2", done.stderr)
        accepted = sqltest(self.cluster, path, "--accept")
        self.assertEqual(accepted.returncode, 0, accepted.stderr)
        self.assertEqual(path.read_text(), text)

    def test_answers_of_no_serial_order_are_1(self):
        done = sqltest(self.cluster, SPECS / "write_skew.spec", "--compare", "strict", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("no serial order has these answers", done.stderr)
        self.assertGreater(json.loads(done.stdout)["failed"], 0)

    def test_all_orders_have_their_answers_beside_the_spec(self):
        path = self.spec((SPECS / "lost_update.spec").read_text(), "orders.spec")
        done = sqltest(self.cluster, path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nothing is expected", done.stderr)
        self.assertIn("0 of 20 permutations of 1 files", done.stdout)
        self.assertEqual(sqltest(self.cluster, path, "--accept").returncode, 0)
        self.assertEqual(path.with_suffix(".expected").read_text(), (SPECS / "lost_update.expected").read_text())

    def test_a_step_that_does_not_answer_fails(self):
        path = self.spec("# Waits.\nsession one\n  sleep: SELECT pg_sleep(600)\n  after: SELECT 1\n"
                         "permutation sleep after\n  sleep: \"\"\n  after: 1\n")
        done = sqltest(self.cluster, path, "--patience", "0.2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("+ sleep: no answer within 0.2 s\n", done.stderr)

    def test_a_table_that_was_there_before_is_left_alone(self):
        self.cluster.query("CREATE TABLE doctor (id int PRIMARY KEY)")
        done = sqltest(self.cluster, SPECS / "write_skew.spec")
        self.assertEqual(done.returncode, 1)
        self.assertIn("+ setup: error 42P07\n", done.stderr)
        self.assertEqual(self.cluster.query("SELECT count(*) FROM doctor"), [(0,)])
        self.cluster.query("DROP TABLE doctor")

    def test_malformed_files_are_2_and_no_server_is_3(self):
        path = self.spec("# A step that nobody has.\nsession one\n  a: SELECT 1\npermutation a b\n")
        done = sqltest(self.cluster, path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("changed.spec: line 4: there is no step b\n", done.stderr)
        self.assertEqual(run(program("sqltest"), "--isolation", "/nonexistent").returncode, 2)
        self.assertEqual(run(program("sqltest"), "--json", path).returncode, 2)
        self.assertEqual(run(program("sqltest"), "--isolation", "--connection", "host=127.0.0.1 port=1",
                             SPECS / "write_skew.spec").returncode, 3)


class Portals(TestCase):
    """Execute with a row limit: the protocol's cursor."""

    @staticmethod
    def execute(client, limit):
        client.send(RawClient.message("E", b"\0" + struct.pack("!i", limit)) + RawClient.message("S"))
        messages = client.until_ready()
        rows = [int(body[6:]) for kind, body in messages if kind == "D"]
        return rows, [kind for kind, _ in messages if kind in "sCE"]

    @staticmethod
    def open(client, text):
        client.send(RawClient.message("P", b"\0" + text.encode() + b"\0\0\0")
                    + RawClient.message("B", b"\0\0\0\0\0\0\0\0"))

    def test_rows_taken_piece_by_piece_are_of_one_snapshot(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), self.shared(fabric) as cluster, cluster.raw() as client:
                cluster.query("CREATE TABLE t (id int PRIMARY KEY, v int)")
                cluster.query(f"INSERT INTO t VALUES {', '.join(f'({key}, {key})' for key in range(100))}")
                client.start()
                for order in (" ORDER BY v", ""):
                    client.query("BEGIN")
                    self.open(client, "SELECT v FROM t WHERE v < 100" + order)
                    seen, ends = self.execute(client, 7)
                    self.assertEqual((len(seen), ends), (7, ["s"]))
                    step = 0
                    while ends == ["s"]:
                        cluster.query(f"UPDATE t SET v = v + 1000 WHERE id = {99 - step}")
                        cluster.query(f"INSERT INTO t VALUES ({200 + step}, {step})")
                        cluster.query(f"DELETE FROM t WHERE id = {50 + step}")
                        rows, ends = self.execute(client, 7)
                        seen += rows
                        step += 1
                    self.assertEqual(ends, ["C"])
                    self.assertEqual(sorted(seen), list(range(100)))
                    client.query("COMMIT")
                    self.assertLess(cluster.query("SELECT count(*) FROM t WHERE id < 100 AND v = id")[0][0], 80)
                    cluster.query("DELETE FROM t")
                    cluster.query(f"INSERT INTO t VALUES {', '.join(f'({key}, {key})' for key in range(100))}")

    def test_a_portal_ends_with_its_transaction(self):
        with self.shared() as cluster, cluster.raw() as client:
            cluster.query("CREATE TABLE t (v int PRIMARY KEY)")
            cluster.query("INSERT INTO t VALUES (1), (2), (3)")
            client.start()
            client.query("BEGIN")
            self.open(client, "SELECT v FROM t ORDER BY v")
            self.assertEqual(self.execute(client, 1), ([1], ["s"]))
            client.query("COMMIT")
            self.assertEqual(self.execute(client, 1), ([], ["E"]))

    def test_close_all_ends_a_portal(self):
        with self.shared() as cluster, cluster.raw() as client:
            cluster.query("CREATE TABLE t (v int PRIMARY KEY)")
            cluster.query("INSERT INTO t VALUES (1), (2), (3)")
            client.start()
            client.query("BEGIN")
            self.open(client, "SELECT v FROM t ORDER BY v")
            self.assertEqual(self.execute(client, 1), ([1], ["s"]))
            self.assertEqual([body for kind, body in client.query("CLOSE ALL") if kind == "C"], [b"CLOSE CURSOR ALL\0"])
            self.assertEqual(self.execute(client, 1), ([], ["E"]))


if __name__ == "__main__":
    main()
