"""Generated statements (sqltest --generate): namdb's answers are those of a PostgreSQL 15 of our own, or one of the tool's
rules says why not. Skipped where PostgreSQL's programs are not installed.
"""
import os
import pwd
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import WHOLE, Cluster, TestCase, free_port, main, program, run, until

PROGRAMS = Path("/usr/lib/postgresql/15/bin")


def account():
    """The user that runs the server, which refuses root; None: this one."""
    if os.getuid() != 0:
        return {}
    try:
        found = pwd.getpwnam("postgres")
    except KeyError:
        return None
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}


@unittest.skipUnless((PROGRAMS / "initdb").exists(), "PostgreSQL 15 is not installed (the package postgresql-15)")
@unittest.skipIf(account() is None, "PostgreSQL does not run as root, and there is no user postgres")
class Generated(TestCase):
    @classmethod
    def setUpClass(cls):
        path = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="namdb-e2e-")))
        user = account()
        if user:
            os.chown(path, user["user"], user["group"])
        done = run(PROGRAMS / "initdb", "-D", path / "data", "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C",
                   "--no-sync", cwd=path, **user)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.port = free_port()
        command = [PROGRAMS / "postgres", "-D", path / "data", "-p", cls.port, "-c", "listen_addresses=127.0.0.1",
                   "-c", f"unix_socket_directories={path}", "-c", "fsync=off", "-c", "jit=off"]
        with open(path / "log", "w") as log:
            cls.server = subprocess.Popen([str(part) for part in command], cwd=path, stdout=log, stderr=log, **user)
        cls.addClassCleanup(cls.stop_server)
        until(lambda: cls.server.poll() is not None or
              run(PROGRAMS / "pg_isready", "-q", "-h", "127.0.0.1", "-p", cls.port).returncode == 0, "PostgreSQL runs")
        if cls.server.poll() is not None:
            raise AssertionError("PostgreSQL has ended: " + (path / "log").read_text()[-5000:])
        cls.cluster = cls.enterClassContext(Cluster())

    @classmethod
    def stop_server(cls):
        if cls.server.poll() is None:
            cls.server.send_signal(signal.SIGINT)
            cls.server.wait(60)

    def generate(self, *arguments):
        return run(program("sqltest"), "--connection",
                   f"host=127.0.0.1 port={self.cluster.port} dbname=namdb user=tester sslmode=disable", "--reference",
                   f"host=127.0.0.1 port={self.port} dbname=postgres user=tester sslmode=disable", *arguments, timeout=600)

    def test_every_difference_is_explained(self):
        for seed in (1, 2, 3) if WHOLE else (1,):
            with self.subTest(seed=seed):
                done = self.generate("--generate", 20_000 if WHOLE else 800, "--seed", seed)
                self.assertEqual(done.returncode, 0, done.stdout[-10_000:] + done.stderr)
                self.assertIn(" 0 different\n", done.stdout)
                # Most are neither refused nor errors.
                counted = done.stdout.split(":", 1)[1].split("\n", 1)[0]
                same = int(counted.split(" same")[0])
                self.assertGreater(same, (20_000 if WHOLE else 800) * 0.9)

    def test_one_unit_is_shown_with_both_answers(self):
        done = self.generate("--generate", 50, "--seed", 1, "--only", 3)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreaterEqual(done.stdout.count("namdb:\n"), 1)
        self.assertEqual(done.stdout.count("namdb:\n"), done.stdout.count("PostgreSQL:\n"))


if __name__ == "__main__":
    main()
