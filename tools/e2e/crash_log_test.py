"""A crash leaves the names of the functions that led to it on standard error: of daemons in their logs."""
import os
import signal
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import PATIENCE_S, Cluster, TestCase, main, program


class Daemons(TestCase):
    def crash(self, cluster, name, number):
        cluster.kill(name, number)
        return cluster.log(name)

    def test_their_logs_name_the_signal_and_the_functions(self):
        with Cluster(memory_servers=2, compute_flags=("--workers=2",)) as cluster:
            for name, number in (("compute-0", signal.SIGSEGV), ("memory-1", signal.SIGBUS), ("memory-0", signal.SIGSEGV)):
                log = self.crash(cluster, name, number)
                stack = log[log.index(f"*** {number.name} received"):]
                self.assertIn("namdb::reactor::Reactor::", stack)
                self.assertIn(" main\n", stack)

    def test_sigterm_leaves_no_stack(self):
        with Cluster() as cluster:
            for name in ("compute-0", "memory-0"):
                log = self.crash(cluster, name, signal.SIGTERM)
                self.assertIn("stopped", log)
                self.assertNotIn("***", log)


class Programs(TestCase):
    """Each waits for somebody who never answers, and is sent the signal of a crash."""

    def check_crash(self, process, number):
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, -number)
        self.assertIn(f"*** {number.name} received", said)
        self.assertIn(" main\n", said)

    def start(self, name, *arguments):
        return subprocess.Popen([program(name), *map(str, arguments)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def test_tools_that_reach_servers_end_by_the_signal_and_say_where(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            port = silent.getsockname()[1]
            for number, command in ((signal.SIGSEGV, ("namctl", "status", "--memory-server", f"127.0.0.1:{port}")),
                                    (signal.SIGABRT, ("nambench", "load", "smallbank", "--port", port))):
                with self.subTest(command=command), self.start(*command) as process, silent.accept()[0] as client:
                    # Its first words have left: it waits, and no library's first use has its stack too deep to print.
                    self.assertTrue(client.recv(1))
                    self.check_crash(process, number)

    def test_tools_that_read_files_end_by_the_signal_and_say_where(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "file"
            os.mkfifo(file)
            for number, command in ((signal.SIGILL, ("namsim", "check", file)), (signal.SIGFPE, ("sqltest", file))):
                with self.subTest(command=command), self.start(*command) as process, open(file, "wb"):
                    self.check_crash(process, number)


if __name__ == "__main__":
    main()
