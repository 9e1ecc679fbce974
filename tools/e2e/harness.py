"""Real daemons for tests: clusters in temporary folders on free ports, started by namctl, and observed through
psycopg, /proc and raw sockets. A Cluster kills only processes that it started.

The programs are those of NAMDB_BIN (a folder), by default build/release/bin of this tree.
"""
import contextlib
import json
import os
import random
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "dev" / "testing"))
import unittest_cases  # noqa: E402

BIN = Path(os.environ.get("NAMDB_BIN", Path(__file__).resolve().parents[2] / "build/release/bin"))
FABRICS = ("shm", "tcp")
# An address of an RDMA device of this machine; unset where there is none.
VERBS_ADDRESS = os.environ.get("NAMDB_TEST_VERBS_ADDRESS")
# Whole matrices instead of covering samples.
WHOLE = os.environ.get("NAMDB_WHOLE")
# Of each memory server; it touches each page when it starts.
REGION = "256MiB" if WHOLE else "64MiB"
# How long anything may take on a machine that builds something else meanwhile.
PATIENCE_S = 60
# Their sockets keep the ports from other tests.
reserved_ports = []


def program(name):
    return str(BIN / name)


def run(*command, timeout=PATIENCE_S, **options):
    """The finished process, its output as text; never raises for an exit code."""
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=timeout, **options)


def namctl(*arguments, **options):
    return run(program("namctl"), *arguments, **options)


def free_port(count=1):
    """The first of `count` consecutive ports of the loopback address that nobody listens on, and that no other test gets as
    long as this process lives."""
    generator = random.Random(os.getpid() * 1_000_003 + time.monotonic_ns())
    while True:
        first = generator.randrange(20_000, 32_000 - count)
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    # A name that one process has: it need not listen on the port yet.
                    stack.enter_context(socket.socket(socket.AF_UNIX)).bind(f"\0namdb-e2e-port-{port}")
                    with socket.socket() as listener:
                        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                        listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            reserved_ports.append(stack.pop_all())
            return first


def until(condition, what, timeout=PATIENCE_S):
    """Waits until condition() is true: its value."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout} s: {what}")
        time.sleep(0.02)


def cpu_seconds(pid):
    """User and system time of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stands_still(pid):
    """Whether SIGSTOP has reached each of its threads: until then some of them go on."""
    return all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in Path(f"/proc/{pid}/task").glob("*/stat"))


def alive(pid):
    """Whether any thread of it is left: the first may have ended before the others."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        return not ended.poll(0)
    finally:
        os.close(descriptor)


class Cluster:
    """A cluster of `namctl dev up`; a context manager that takes it down and removes its folder. The fabric tcp+shm is
    tcp with local paths."""

    def __init__(self, fabric="shm", memory_servers=1, compute_servers=1, region=REGION, memory_flags=(),
                 compute_flags=(), durability="memory", launcher=(), copies=1):
        self.data = Path(tempfile.mkdtemp(prefix="namdb-e2e-"))
        self.port = free_port(compute_servers + memory_servers * copies)
        self.flags = ["--data", self.data, "--port", self.port, "--fabric", fabric.removesuffix("+shm"),
                      "--memory-servers", memory_servers,
                      "--compute-servers", compute_servers, "--region-bytes", region, "--timeout", PATIENCE_S,
                      "--durability", durability]
        if copies > 1:
            self.flags += ["--copies", copies]
        if fabric.endswith("+shm"):
            self.flags += ["--local-path"]
        if fabric != "shm":
            # Never the default ports: another cluster may start at the same moment.
            self.flags += ["--fabric-port", self.port + compute_servers]
        if fabric == "verbs":
            self.flags += ["--fabric-host", VERBS_ADDRESS]
        self.flags += [f"--memory-flag={flag}" for flag in memory_flags]
        self.flags += [f"--compute-flag={flag}" for flag in compute_flags]
        # A command that runs the one behind it.
        self.launcher = launcher
        self.state = None

    def __enter__(self):
        try:
            self.up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        namctl("dev", "down", "--data", self.data)
        shutil.rmtree(self.data, ignore_errors=True)

    def up(self):
        """Starts what is not running."""
        done = run(*self.launcher, program("namctl"), "dev", "up", *self.flags, "--json", timeout=2 * PATIENCE_S)
        if done.returncode != 0:
            raise AssertionError(f"namctl dev up: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        self.state = json.loads(done.stdout)

    def pid(self, name):
        for daemon in self.state["memory_servers"] + self.state["compute_servers"]:
            if daemon["name"] == name:
                return daemon["pid"]
        raise KeyError(name)

    def kill(self, name, number=signal.SIGKILL):
        pid = self.pid(name)
        os.kill(pid, number)
        until(lambda: not alive(pid), f"the end of {name}")

    def log(self, name):
        return (self.data / "log" / f"{name}.log").read_text(errors="replace")

    def connect(self, server=0, autocommit=True, user="tester", timeout=10, **others):
        return psycopg.connect(host="127.0.0.1", port=self.port + server, dbname="namdb", user=user,
                               autocommit=autocommit, connect_timeout=timeout, sslmode="disable", **others)

    def query(self, text, parameters=None, server=0):
        """Rows of one statement on a connection of its own."""
        with self.connect(server) as connection:
            cursor = connection.execute(text, parameters)
            return cursor.fetchall() if cursor.description else []

    def answers_everywhere(self, text, server=0, connections=8):
        """True if each worker of that compute server answers the statement: several memory servers, of which one was away, may
        be found again by one worker before another."""
        try:
            with contextlib.ExitStack() as opened:
                for connection in [opened.enter_context(self.connect(server)) for _ in range(connections)]:
                    connection.execute(text)
        except psycopg.Error:
            return False
        return True

    def raw(self, server=0):
        return RawClient(self.port + server)

    def drop_tables(self):
        status = json.loads(namctl("status", "--data", self.data, "--json").stdout)
        # One that has taken another's place may have something behind its name.
        names = {table["name"].split("\0")[0] for table in status["memory_servers"][0]["tables"]} - {"namdb_lock_shares", "namdb_locks", "namdb_sequences", "namdb_transactions"}
        for name in names:
            if name.startswith("\x02"):
                continue  # it goes with the table whose long values it keeps
            self.query(f'DROP TABLE "{name}" CASCADE')


class Daemon:
    """A daemon without namctl, and what it tells the one that started it (sd_notify). A context manager. `binary`: a folder of
    programs; `environment`: more variables."""

    def __init__(self, folder, name, *arguments, binary=BIN, environment=None, **options):
        path = f"{folder}/{name}.notify"
        Path(path).unlink(missing_ok=True)
        self.notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notified.bind(path)
        self.notified.settimeout(PATIENCE_S)
        self.process = subprocess.Popen([str(word) for word in (Path(binary) / name, "--data", f"{folder}/{name}", *arguments)],
                                        env={**os.environ, "NOTIFY_SOCKET": path, **(environment or {})},
                                        **{"stderr": subprocess.DEVNULL, **options})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self.notified.close()

    def until_told(self, words):
        while words not in self.notified.recv(65536).decode():
            pass

    def end(self):
        """Its exit code after SIGTERM."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)


class Workers:
    """`threads` work from the beginning of a `with` block to its end; `stopped` tells them that it is over."""

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        for thread in self.threads:
            thread.join()


class RawClient:
    """A PostgreSQL client that says what it wants to."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def start(self, user="raw", database="namdb"):
        body = b"".join(part.encode() + b"\0" for part in ("user", user, "database", database)) + b"\0"
        self.send(struct.pack("!II", len(body) + 8, 196608) + body)
        return self.until_ready()

    @staticmethod
    def message(kind, body=b""):
        return kind.encode() + struct.pack("!I", len(body) + 4) + body

    def query(self, text):
        self.send(self.message("Q", text.encode() + b"\0"))
        return self.until_ready()

    def receive_exactly(self, length):
        data = b""
        while len(data) < length:
            piece = self.socket.recv(length - len(data))
            if not piece:
                raise EOFError
            data += piece
        return data

    def receive(self):
        header = self.receive_exactly(5)
        return chr(header[0]), self.receive_exactly(struct.unpack("!I", header[1:])[0] - 4)

    def until_ready(self):
        messages = []
        while not messages or messages[-1][0] != "Z":
            messages.append(self.receive())
        return messages

    def until_closed(self):
        """All that is still sent before the server closes."""
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while piece := self.socket.recv(65536):
                data += piece
        return data


def sqlstate_of(messages):
    """The SQLSTATE of the first error in a list of messages, or None."""
    for kind, body in messages:
        if kind == "E":
            for field in body.split(b"\0"):
                if field[:1] == b"C":
                    return field[1:].decode()
    return None


class TestCase(unittest.TestCase):
    longMessage = True

    @classmethod
    @contextlib.contextmanager
    def shared(cls, fabric="shm", **options):
        """A cluster without tables for a case that ends none of its daemons. All such cases of a class that ask for the
        same cluster get the same one."""
        clusters = cls.__dict__.get("shared_clusters")
        if clusters is None:
            clusters = cls.shared_clusters = {}
        key = (fabric, *sorted(options.items()))
        if key not in clusters:
            clusters[key] = cls.enterClassContext(Cluster(fabric, **options))
        yield clusters[key]
        clusters[key].drop_tables()

    def covering(self, choices):
        """All of them where NAMDB_WHOLE is set; else one, which differs from case to case, so that the cases together
        cover all, and each is always the same."""
        choices = list(choices)
        if not WHOLE:
            choices = [choices[zlib.crc32(self.id().encode()) % len(choices)]]
        print(f"of {self.id()}: {', '.join(map(str, choices))}", flush=True)
        return choices

    def assert_serves(self, cluster, server=0):
        self.assertEqual(cluster.query("SELECT 1", server=server), [(1,)])

    def assert_sqlstate(self, expected, action, *arguments):
        with self.assertRaises(psycopg.Error) as context:
            action(*arguments)
        self.assertIn(context.exception.sqlstate, expected if isinstance(expected, tuple) else (expected,),
                      str(context.exception))
        return context.exception


def main():
    unittest_cases.main()
