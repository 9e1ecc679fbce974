"""namsql against real daemons: scripts with their formats and exit codes, and a person at a terminal."""
import csv
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

from harness import PATIENCE_S, Cluster, TestCase, main, program, run, until

ACCOUNTS = """CREATE TABLE account (id bigint PRIMARY KEY, owner varchar(40) NOT NULL, balance numeric(12,2));
CREATE INDEX account_by_owner ON account (owner);
INSERT INTO account VALUES (1, 'Ada', 100), (2, 'Edgar', 50);
"""


def namsql(cluster, *arguments, **options):
    return run(program("namsql"), "-h", "127.0.0.1", "-p", cluster.port, "-U", "tester", *arguments, **options)


class Terminal:
    """A program at a terminal of its own. A context manager, which ends it."""

    def __init__(self, *command, environment=None, lines=24, columns=80):
        environment = {**os.environ, "TERM": "vt100", "LC_ALL": "C.UTF-8", **(environment or {})}
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            try:
                os.execve(str(command[0]), [str(part) for part in command], environment)
            finally:  # there is no such program: nothing of the test runs here
                os._exit(127)
        fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.unread = ""
        self.exit_code = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.exit_code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.descriptor)

    def send(self, keys):
        os.write(self.descriptor, keys.encode())

    def read(self, deadline):
        ready, _, _ = select.select([self.descriptor], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            raise AssertionError(f"nothing more came behind {self.unread!r}")
        try:
            data = os.read(self.descriptor, 65536)
        except OSError:  # the other end is closed
            data = b""
        # Without the sequences that move the cursor.
        self.unread += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\x1b\([AB0]", "", data.decode(errors="replace"))
        return bool(data)

    def expect(self, words):
        """All that is shown up to these words."""
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.unread:
            if not self.read(deadline):
                raise AssertionError(f"it ended without {words!r}: {self.unread!r}")
        before, _, self.unread = self.unread.partition(words)
        return before + words

    def end(self):
        """Its exit code; it must end by itself."""
        deadline = time.monotonic() + PATIENCE_S
        while self.read(deadline):
            pass
        self.exit_code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.exit_code


class Scripts(TestCase):
    def assert_ends(self, done, code, output=None):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        if output is not None:
            self.assertEqual(done.stdout, output, done.stderr)

    def test_commands_and_files_run_in_their_order(self):
        with self.shared() as cluster, tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "script.sql"
            file.write_text("-- a comment;\nCREATE TABLE t (id int PRIMARY KEY, v text);\n"
                            "INSERT INTO t VALUES (1, 'a;b'), (2, NULL);\nSELECT v\nFROM t WHERE id = 1")
            done = namsql(cluster, "-q", "-c", "SELECT 1 AS one; SELECT 2 AS two", "-f", file, "-c", "\\d t")
            self.assert_ends(done, 0)
            self.assertEqual([word for word in re.findall(r"one|two|a;b|t_pkey", done.stdout)], ["one", "two", "a;b", "t_pkey"])
            self.assertNotIn("INSERT", done.stdout)
            self.assertIn("INSERT 0 1", namsql(cluster, "-c", "INSERT INTO t VALUES (3, '')").stdout)

    def test_rows_for_programs(self):
        with self.shared() as cluster:
            query = ("SELECT 1 AS n, 2.50::numeric(5,2) AS price, true AS yes, NULL::int AS nothing, "
                     "E'a \"b\",\\n日本' AS words, '{\"k\": [1]}'::json AS doc, 'NaN'::float8 AS odd, 3 AS n")
            done = namsql(cluster, "--json", "--timing", "-c", query, "-c", "SELECT 1 AS a WHERE false")
            self.assert_ends(done, 0)
            self.assertIn("Time: ", done.stderr)
            decoder = json.JSONDecoder()
            rows, end = decoder.raw_decode(done.stdout)
            self.assertEqual(rows, [{"n": 1, "price": 2.5, "yes": True, "nothing": None, "words": "a \"b\",\n日本",
                                     "doc": {"k": [1]}, "odd": "NaN", "n_2": 3}])
            self.assertEqual(done.stdout[end:], "\n[]\n")
            done = namsql(cluster, "--csv", "-c", query)
            self.assert_ends(done, 0)
            self.assertEqual(list(csv.reader(io.StringIO(done.stdout))),
                             [["n", "price", "yes", "nothing", "words", "doc", "odd", "n"],
                              ["1", "2.50", "t", "", "a \"b\",\n日本", '{"k": [1]}', "NaN", "3"]])
            # The array is closed when the statement fails behind its first rows.
            done = namsql(cluster, "--json", "-c", "SELECT 10 / (3 - g) AS q FROM generate_series(1, 3) AS g")
            self.assert_ends(done, 3)
            self.assertEqual([row["q"] for row in json.loads(done.stdout or "[]")], [5, 10][:done.stdout.count("q")])
            done = namsql(cluster, "--csv", "-c", "SELECT g FROM generate_series(1, 100000) AS g")
            self.assertEqual(done.stdout.splitlines()[1:], [str(g) for g in range(1, 100_001)])

    def test_exit_codes(self):
        with self.shared() as cluster, tempfile.TemporaryDirectory() as folder:
            bad = Path(folder) / "bad.sql"
            bad.write_text("SELECT 1 AS first;\nSELECT nothing;\nSELECT 2 AS second;\n")
            for arguments, code, stdin in (
                    (["--help"], 0, ""), (["--version"], 0, ""), (["--nonsense"], 1, ""), (["--csv", "--json"], 1, ""),
                    (["-c", "SELECT 1"], 0, ""), (["-c", "SELECT nothing"], 3, ""), (["-f", bad], 3, ""),
                    (["-f", Path(folder) / "none.sql"], 1, ""), (["-c", "\\nonsense"], 3, ""), (["-c", "\\q"], 0, ""),
                    (["-c", "SELECT nothing", "--no-stop-on-error"], 0, ""), ([], 0, "SELECT nothing;"),
                    (["--stop-on-error"], 3, "SELECT nothing;"), (["nosuch"], 2, "")):
                done = namsql(cluster, *arguments, input=stdin)
                self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
            done = namsql(cluster, "-f", bad)
            self.assertNotIn("second", done.stdout)
            self.assertIn(f"namsql:{bad}:2: ERROR:  42703", done.stderr)
            done = run(program("namsql"), "-p", "1", "-c", "SELECT 1")
            self.assertEqual(done.returncode, 2)
            self.assertIn("no connection", done.stderr)

    def test_it_connects_as_it_is_told(self):
        with self.shared() as cluster:
            settings = {**os.environ, "PGHOST": "127.0.0.1", "PGPORT": str(cluster.port), "PGUSER": "tester"}
            for name in ("PGDATABASE", "PGSERVICE", "PGHOSTADDR"):
                settings.pop(name, None)
            bare = {name: value for name, value in settings.items() if not name.startswith("PG")}
            for arguments, environment in (([], settings), ([f"host=127.0.0.1 port={cluster.port} user=tester"], bare),
                                           ([f"postgresql://tester@127.0.0.1:{cluster.port}/namdb"], bare),
                                           (["-p", cluster.port, "-U", "tester", "-d", "namdb"], bare),
                                           (["-h", cluster.data / "run", "-p", cluster.port, "-U", "tester"], bare),
                                           (["-p", cluster.port], {**settings, "PGPORT": "1"})):
                done = run(program("namsql"), *arguments, "--csv", "-c", "SELECT current_user AS u", "-c", "\\conninfo",
                           env=environment)
                self.assert_ends(done, 0, "u\ntester\n")
                self.assertIn(f'"namdb" as user "tester"', done.stderr)

    def test_errors_have_their_parts(self):
        with self.shared() as cluster:
            namsql(cluster, "-c", ACCOUNTS)
            done = namsql(cluster, "-c", "SELECT 'ü',\n  ownr FROM account")
            self.assertEqual(done.stderr.splitlines()[:3], ['ERROR:  42703: column "ownr" does not exist',
                                                            "LINE 2:   ownr FROM account", "          ^"])
            self.assertIn("HINT:  ", done.stderr)
            done = namsql(cluster, "-c", "INSERT INTO account VALUES (1, 'x', 1)")
            self.assertIn("DETAIL:  Key (id)=(1) already exists.", done.stderr)
            self.assertIn("NOTICE:  ", namsql(cluster, "-c", "VACUUM").stderr)

    def test_copy_takes_rows_and_gives_them_back(self):
        with self.shared() as cluster, tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a file.csv"
            copy = Path(folder) / "copy.bin"
            rows = [(str(key), f"a\tb\\{key},\"\n日本") for key in range(20_000)]
            with file.open("w", newline="") as out:
                csv.writer(out, lineterminator="\n").writerows([("id", "v"), *rows])
            done = namsql(cluster, "-c", "CREATE TABLE t (id int PRIMARY KEY, v text)",
                          "-c", f"\\copy t FROM '{file}' WITH (FORMAT csv, HEADER)",
                          "-c", f"\\copy t TO '{copy}' WITH (FORMAT binary)", "-c", "TRUNCATE t",
                          "-c", f"\\copy t (id, v) FROM {copy} WITH (FORMAT binary)")
            self.assert_ends(done, 0)
            self.assertEqual(done.stdout.splitlines().count("COPY 20000"), 3)
            done = namsql(cluster, "-q", "-c", "\\copy (SELECT * FROM t ORDER BY id) TO stdout CSV")
            self.assertEqual([tuple(row) for row in csv.reader(io.StringIO(done.stdout, newline=""))], rows)
            # Rows stand behind the statement in a script, and come from standard input for one of the command line.
            script = "TRUNCATE t;\nCOPY t FROM STDIN;\n1\tone\n2\t\\N\n\\.\nSELECT id, v FROM t ORDER BY id;\nSELECT x;\n"
            done = namsql(cluster, "--csv", input=script)
            self.assert_ends(done, 0, "id,v\n1,one\n2,\n")
            self.assertIn("namsql:<stdin>:7: ERROR", done.stderr)
            self.assert_ends(namsql(cluster, "-c", "COPY t FROM STDIN", input="3\tthree\n"), 0, "COPY 1\n")
            for command, words in (("\\copy t FROM /nowhere/x", "/nowhere/x"), ("\\copy t FROM " + folder, "could not be read"),
                                   ("\\copy t TO /nowhere/x", "/nowhere/x"), ("\\copy nosuch FROM /dev/null", "42P01"),
                                   (f"\\copy t FROM '{file}'", "22P04")):
                done = namsql(cluster, "-c", command)
                self.assert_ends(done, 3)
                self.assertIn(words, done.stderr, command)
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(3,)])

    def test_files_run_files_and_take_results(self):
        with self.shared() as cluster, tempfile.TemporaryDirectory() as folder:
            inner, result = Path(folder) / "inner.sql", Path(folder) / "result"
            inner.write_text("SELECT 'inside' AS place;\n\\q\nSELECT 'never';\n")
            script = f"\\o {result}\n\\i {inner}\n\\o\nSELECT 'outside' AS place;\n"
            done = namsql(cluster, "-q", input=script)
            self.assert_ends(done, 0)
            self.assertIn("inside", result.read_text())
            self.assertNotIn("inside", done.stdout)
            self.assertIn("outside", done.stdout)
            self.assertNotIn("never", result.read_text() + done.stdout)
            inner.write_text(f"\\i {inner}\n")
            done = namsql(cluster, "-f", inner)
            self.assertIn("too deeply", done.stderr)
            self.assert_ends(done, 3)

    def test_operations_are_counted(self):
        with self.shared() as cluster:
            namsql(cluster, "-c", ACCOUNTS)
            done = namsql(cluster, input="\\stats on\nSELECT * FROM account WHERE id = 1;\nSHOW search_path;\nBEGIN;\n"
                                         "UPDATE account SET balance = 0 WHERE id = 1;\nCOMMIT;\n\\stats off\nSELECT 1;\n")
            self.assert_ends(done, 0)
            counted = [line.split("|") for line in done.stdout.splitlines() if re.match(r" (SELECT|UPDATE|block) +\|", line)]
            self.assertEqual([row[0].strip() for row in counted], ["SELECT", "block"])
            for row in counted:
                self.assertEqual(row[1].strip(), "1")  # transactions
                self.assertGreater(int(row[8]), 0)     # round trips
                self.assertGreater(int(row[9]), 0)     # bytes
            self.assertEqual(int(counted[0][4]), 0)    # a SELECT writes nothing
            self.assertGreater(int(counted[1][4]), 0)
            self.assertIn("No operations were counted", done.stdout)

    def test_tables_are_described_as_psql_does(self):
        schema, *answers = (Path(__file__).parent / "psql_commands.txt").read_text().split("=== ")
        own = re.compile(r"\\d(t|i|s)?( .*)?$")
        compared = 0
        with self.shared() as cluster:
            self.assert_ends(namsql(cluster, "-q", input=schema), 0)
            for answer in answers:
                command, expected = answer.split("\n", 1)
                if not own.fullmatch(command):
                    continue
                done = namsql(cluster, "-c", command)
                shown = (done.stdout + done.stderr).rstrip("\n").removeprefix("namsql: ")
                self.assertEqual(shown, expected.rstrip("\n"), command)
                compared += 1
        self.assertGreater(compared, 8)

    def test_the_examples_of_the_help_work(self):
        with self.shared() as cluster:
            listed = namsql(cluster, "-c", "\\h").stdout.split("The examples use")[0]
            names = [name for line in listed.splitlines()[1:] for name in re.split(r"  +", line.strip())]
            self.assertGreater(len(names), 25)
            changed = True
            for name in names:
                done = namsql(cluster, "-c", f"\\h {name}")
                self.assert_ends(done, 0)
                example = done.stdout.split("Example:\n")[1]
                if changed:
                    self.assert_ends(namsql(cluster, "-c", "DROP TABLE IF EXISTS account, payment", "-c", ACCOUNTS), 0)
                self.assert_ends(namsql(cluster, "--stop-on-error", input=example), 0)
                changed = name.startswith(("ALTER", "CREATE", "DROP"))

    def test_an_interrupt_cancels_the_statement_and_ends_the_script(self):
        with self.shared() as cluster, cluster.connect() as observer:
            script = subprocess.Popen([program("namsql"), "-p", str(cluster.port), "-U", "tester", "-c", "SELECT pg_sleep(600)",
                                       "-c", "SELECT 'never'"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until(lambda: running(observer, "SELECT pg_sleep(600)"), "the statement's start")
            script.send_signal(signal.SIGINT)
            output, errors = script.communicate(timeout=PATIENCE_S)
            self.assertEqual(script.returncode, 3, errors)
            self.assertIn("57014", errors)
            self.assertNotIn("never", output)

    def test_a_connection_that_is_lost_ends_the_script(self):
        with Cluster() as cluster, cluster.connect() as observer:
            script = subprocess.Popen([program("namsql"), "-p", str(cluster.port), "-U", "tester", "-c", "SELECT pg_sleep(600)"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until(lambda: running(observer, "SELECT pg_sleep(600)"), "the statement's start")
            cluster.kill("compute-0")
            _, errors = script.communicate(timeout=PATIENCE_S)
            self.assertEqual(script.returncode, 2, errors)
            self.assertIn("is lost", errors)


def running(observer, statement):
    return observer.execute("SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE %s || '%%' AND "
                            "pid <> pg_backend_pid()", (statement,)).fetchall()


class AtATerminal(TestCase):
    def setUp(self):
        self.home = self.enterContext(tempfile.TemporaryDirectory())

    def terminal(self, cluster, *arguments, **environment):
        return Terminal(program("namsql"), "-p", cluster.port, "-U", "tester", *arguments,
                        environment={"HOME": self.home, "XDG_STATE_HOME": self.home, "PAGER": "cat", **environment})

    def test_prompts_show_the_block_and_the_statement(self):
        with self.shared() as cluster, self.terminal(cluster) as terminal:
            terminal.expect("namdb=> ")
            terminal.send("SELECT (1,\n")
            terminal.expect("namdb(> ")
            terminal.send("'a\n")
            terminal.expect("namdb'> ")
            terminal.send("\x03")
            terminal.expect("namdb=> ")
            terminal.send("BEGIN;\n")
            terminal.expect("namdb=*> ")
            terminal.send("SELECT\n")
            terminal.expect("namdb-*> ")
            terminal.send("nothing;\n")
            terminal.expect("namdb=!> ")
            terminal.send("ROLLBACK;\n")
            terminal.expect("namdb=> ")
            terminal.send("\x04")
            self.assertEqual(terminal.end(), 0)

    def test_the_tab_key_completes_names_of_the_server(self):
        with self.shared() as cluster:
            namsql(cluster, "-c", ACCOUNTS)
            with self.terminal(cluster) as terminal:
                terminal.expect("namdb=> ")
                terminal.send("SELECT 40 + 2 AS result FROM acc\tWHERE own\t= 'Ada';\n")
                self.assertIn("42", terminal.expect("(1 row)"))
                # Two candidates: a second key shows both.
                terminal.expect("namdb=> ")
                terminal.send("SET statement_t\t= 0;\n")
                terminal.expect("SET\r\n")
                terminal.send("\\ti\t\n")
                terminal.expect("Times of statements: on")
                terminal.send("\\d account_by\t\n")
                terminal.expect('for table "public.account"')

    def test_the_tab_key_leaves_a_block_alone(self):
        with self.shared() as cluster, cluster.connect() as observer:
            namsql(cluster, "-c", ACCOUNTS)
            with self.terminal(cluster) as terminal:
                terminal.expect("namdb=> ")
                terminal.send("BEGIN;\n")
                terminal.expect("namdb=*> ")
                terminal.send("DELETE FROM acc\t\tount")
                terminal.expect("ount")
                self.assertEqual(observer.execute("SELECT query FROM pg_stat_activity WHERE application_name = 'namsql'")
                                 .fetchall(), [("BEGIN;",)])
                terminal.send(";\n")
                terminal.expect("DELETE 2")
                terminal.send("COMMIT;\n")
                terminal.expect("COMMIT")
                terminal.expect("namdb=> ")
            self.assertEqual(cluster.query("SELECT count(*) FROM account"), [(0,)])

    def test_rows_are_typed_with_tabs(self):
        with self.shared() as cluster, self.terminal(cluster) as terminal:
            namsql(cluster, "-c", "CREATE TABLE t (id int PRIMARY KEY, v text)")
            terminal.expect("namdb=> ")
            terminal.send("COPY t FROM STDIN;\n")
            terminal.expect(">> ")
            terminal.send("1\tsel\n")
            terminal.expect(">> ")
            terminal.send("\\.\n")
            terminal.expect("COPY 1")
            terminal.expect("namdb=> ")
            terminal.send("COPY t FROM STDIN;\n")
            terminal.expect(">> ")
            terminal.send("\x03")
            terminal.expect("57014")
            terminal.expect("namdb=> ")
            self.assertEqual(cluster.query("SELECT id, v FROM t"), [(1, "sel")])

    def test_an_interrupt_cancels_the_statement_and_not_the_session(self):
        with self.shared() as cluster, cluster.connect() as observer, self.terminal(cluster) as terminal:
            terminal.expect("namdb=> ")
            terminal.send("SELECT pg_sleep(600);\n")
            until(lambda: running(observer, "SELECT pg_sleep(600)"), "the statement's start")
            terminal.send("\x03")
            terminal.expect("57014")
            terminal.expect("namdb=> ")
            terminal.send("SELECT 40 + 2 AS result \\watch 600\n")
            terminal.expect("(1 row)")
            terminal.send("\x03")
            terminal.expect("namdb=> ")
            terminal.send("\\q\n")
            self.assertEqual(terminal.end(), 0)

    def test_statements_are_remembered(self):
        with self.shared() as cluster:
            with self.terminal(cluster) as terminal:
                terminal.expect("namdb=> ")
                terminal.send("SELECT 40 +\n")
                terminal.expect("namdb-> ")
                terminal.send("2 AS \"ü\";\n")
                terminal.expect("(1 row)")
                terminal.expect("namdb=> ")
                terminal.send("\x04")
                self.assertEqual(terminal.end(), 0)
            history = Path(self.home) / "namdb/namsql_history"
            self.assertEqual(history.read_text(), 'SELECT 40 +\\n2 AS "ü";\n')
            self.assertEqual(stat.S_IMODE(history.stat().st_mode), 0o600)
            with self.terminal(cluster) as terminal:
                terminal.expect("namdb=> ")
                terminal.send("\x1b[A\n")
                self.assertIn("42", terminal.expect("(1 row)"))

    def test_long_results_go_through_the_pager(self):
        with self.shared() as cluster:
            with self.terminal(cluster, PAGER="sed s/^/paged:/") as terminal:
                terminal.expect("namdb=> ")
                terminal.send("SELECT g FROM generate_series(1, 100) AS g;\n")
                terminal.expect("paged:(100 rows)")
                terminal.expect("namdb=> ")
                terminal.send("SELECT 40 + 2 AS result;\n")
                self.assertNotIn("paged", terminal.expect("(1 row)"))
            with self.terminal(cluster, "--no-pager", PAGER="sed s/^/paged:/") as terminal:
                terminal.expect("namdb=> ")
                terminal.send("SELECT g FROM generate_series(1, 100) AS g;\n")
                self.assertNotIn("paged", terminal.expect("(100 rows)"))

    def test_a_lost_connection_is_made_anew(self):
        with Cluster() as cluster, self.terminal(cluster) as terminal:
            terminal.expect("namdb=> ")
            cluster.kill("compute-0")
            terminal.send("SELECT 1;\n")
            terminal.expect("is lost")
            terminal.expect("(not connected)=> ")
            cluster.up()
            terminal.send("SELECT 40 + 2 AS result;\n")
            self.assertIn("42", terminal.expect("(1 row)"))
            terminal.expect("namdb=> ")
            terminal.send("\\c nosuch\n")
            terminal.expect("is kept")
            terminal.send("\\c namdb\n")
            terminal.expect("You are connected")


if __name__ == "__main__":
    main()
