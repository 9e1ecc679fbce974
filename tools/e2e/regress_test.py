"""PostgreSQL's own regression scripts (sqltest --postgresql-regress) against real daemons: the statements of the list of passes
must be answered as a PostgreSQL 15 does. NAMDB_POSTGRESQL_REGRESS names the folder src/test/regress of its source,
NAMDB_POSTGRESQL_REFERENCE the server, as libpq takes it, of which the test makes and drops databases and roles."""
import os
import unittest
from pathlib import Path

from harness import Cluster, TestCase, main, program, run

PASSES = Path(__file__).resolve().parents[1] / "sqltest" / "regress" / "passes.txt"
FOLDER = os.environ.get("NAMDB_POSTGRESQL_REGRESS")
REFERENCE = os.environ.get("NAMDB_POSTGRESQL_REFERENCE")


class Regress(TestCase):
    @unittest.skipUnless(FOLDER and REFERENCE,
                         "NAMDB_POSTGRESQL_REGRESS and NAMDB_POSTGRESQL_REFERENCE do not say where PostgreSQL's scripts and a "
                         "PostgreSQL 15 are")
    def test_every_statement_of_the_list_is_still_answered_alike(self):
        with Cluster("shm", region="256MiB") as cluster:
            connection = f"host=127.0.0.1 port={cluster.port} dbname=namdb user=tester sslmode=disable"
            done = run(program("sqltest"), "--postgresql-regress", FOLDER, "--reference", REFERENCE, "--connection", connection,
                       "--patience", "30", "--passes", PASSES, timeout=850)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-5000:])


if __name__ == "__main__":
    main()
