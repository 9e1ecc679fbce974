"""A namdb cluster and a PostgreSQL 15 of a measurement's own: started, loaded, killed, started again, stopped."""
import json
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

NAMBENCH = Path(__file__).resolve().parents[1]
BIN = Path(os.environ.get("NAMDB_BIN", NAMBENCH.parents[1] / "build" / "release" / "bin"))
POSTGRESQL_BIN = Path("/usr/lib/postgresql/15/bin")
PATIENCE_S = 600  # for a server that recovers
FLAGS = ("shared_buffers=2GB", "jit=off", "autovacuum=on")
# Commits as safe as namdb's at the same level. At `memory` the tables are unlogged, too.
LEVEL_FLAGS = {
    "memory": ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_wal_size=4GB"),
    # PostgreSQL makes no checkpoint unless it is asked for: none takes part in a measurement.
    "flushed": ("fsync=on", "synchronous_commit=on", "full_page_writes=on", "max_wal_size=64GB",
                "checkpoint_timeout=1h"),
}
SET_LOGGED = """
DO $$
DECLARE unlogged regclass;
BEGIN
  FOR unlogged IN SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relpersistence = 'u' LOOP
    EXECUTE format('ALTER TABLE %s SET LOGGED', unlogged);
  END LOOP;
END $$"""


def say(text):
    print(text, file=sys.stderr, flush=True)


def fail(text, code=1):
    print(f"{Path(sys.argv[0]).name}: {text}", file=sys.stderr)
    sys.exit(code)


def free_port(count=1):
    """The first of so many free ports that follow one another."""
    while True:
        with ExitStack() as stack:
            port = 0
            try:
                for i in range(count):
                    probe = stack.enter_context(socket.socket())
                    probe.bind(("127.0.0.1", port + i if port else 0))
                    port = port or probe.getsockname()[1]
                return port
            except (OSError, OverflowError):
                continue  # one of them is in use


def run(command, **options):
    result = subprocess.run([str(part) for part in command], text=True, capture_output=True, **options)
    if result.returncode != 0:
        fail(f"{' '.join(map(str, command))}\n{result.stdout}{result.stderr}")
    return result.stdout


def tpcb_script(size):
    """For psql: the script that makes TPC-B's tables, and their size, as names and numbers in turns."""
    numbers = [argument for name, number in zip(size[::2], size[1::2]) for argument in ("-v", f"{name}={number}")]
    return [*numbers, "-f", NAMBENCH / "tpcb.sql"]


def children(pid):
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu_seconds(pid):
    """Of the process and of its children, those that have ended included."""
    def stat(process):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = sum(int(field) for field in stat(pid)[11:15])
    for child in children(pid):
        try:
            ticks += sum(int(field) for field in stat(child)[11:13])
        except OSError:
            pass  # it has ended since, and is missed this once
    return ticks / os.sysconf("SC_CLK_TCK")


def thread_seconds(pid):
    """Of the threads that the process has now, to the nanosecond."""
    return sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9


def read_bytes(pid):
    """From disks, by the process and by those of its children that have ended."""
    for line in Path(f"/proc/{pid}/io").read_text().splitlines():
        if line.startswith("read_bytes:"):
            return int(line.split()[1])
    return 0


def kill_all(pids):
    """At once, and returns when they have ended and their parents have seen that: namctl takes a zombie for alive."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    while any(Path(f"/proc/{pid}").exists() for pid in pids):
        time.sleep(0.01)


class PostgreSQL:
    """A server of our own. initdb refuses root, so root runs it as the user that Debian's package made."""
    name = "postgresql"

    def __init__(self, folder, options):
        self.folder = folder
        self.durability = options.durability
        self.port = free_port()
        self.process = None
        self.user = {}
        if os.getuid() == 0:
            try:
                account = pwd.getpwnam("postgres")
            except KeyError:
                fail("PostgreSQL does not run as root and there is no user postgres; install postgresql-15", 3)
            os.chown(folder, account.pw_uid, account.pw_gid)
            self.user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        run([POSTGRESQL_BIN / "initdb", "-D", folder / "data", "-U", "namdb", "-A", "trust", "--no-sync"], cwd=folder,
            **self.user)
        self.command = [POSTGRESQL_BIN / "postgres", "-D", folder / "data", "-p", self.port,
                        "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={folder}",
                        "-c", f"max_connections={max(options.clients) + 20}"]
        for flag in (*FLAGS, *LEVEL_FLAGS[self.durability]):
            self.command += ["-c", flag]
        self.start()
        run(["psql", "-h", "127.0.0.1", "-p", self.port, "-U", "namdb", "-d", "postgres", "-qc",
             "CREATE DATABASE namdb"])

    def start(self):
        """Returns when it accepts clients, after its recovery."""
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen([str(part) for part in self.command], cwd=self.folder, stdout=log,
                                            stderr=subprocess.STDOUT, **self.user)
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            ready = subprocess.run([POSTGRESQL_BIN / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)])
            if ready.returncode == 0:
                return
            time.sleep(0.02)
        fail("PostgreSQL does not start:\n" + (self.folder / "log").read_text())

    def load(self, workload, size):
        if workload == "tpcb":
            self.sql("-v", "table=UNLOGGED TABLE", *tpcb_script(size))
        else:
            run([BIN / "nambench", "load", workload, "--postgresql", "--quiet", *size, "--port", self.port,
                 *(["--rows-per-insert", 1000 // 4] if workload == "smallbank" else [])])
        if self.durability == "flushed":
            self.sql("-c", SET_LOGGED)
        if (procedures := NAMBENCH / f"{workload}_postgresql.sql").exists():
            self.sql("-f", procedures)
        self.sql("-c", "VACUUM ANALYZE")
        self.checkpoint()

    def sql(self, *arguments):
        return run(["psql", "-h", "127.0.0.1", "-p", self.port, "-U", "namdb", "-d", "namdb", "-qAt",
                    "-v", "ON_ERROR_STOP=1", *arguments])

    def checkpoint(self, *_):
        self.sql("-c", "CHECKPOINT")

    def cpu_seconds(self):
        return cpu_seconds(self.process.pid)

    def synced_writes(self):
        """Of its log, so far. Processes count theirs when they end: none of a client may be left."""
        others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        while int(self.sql("-c", others)) > 0:
            time.sleep(0.01)
        return int(self.sql("-c", "SELECT wal_sync FROM pg_stat_wal"))

    def replay_bytes(self):
        """Of the log that a restart replays."""
        return int(self.sql("-c", "SELECT (pg_current_wal_flush_lsn() - redo_lsn)::bigint FROM pg_control_checkpoint()"))

    def read_bytes(self):
        return read_bytes(self.process.pid)

    def opening_seconds(self):
        return None

    def kill(self):
        # The first process would start anew what dies before it.
        others = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        kill_all(others)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast shutdown
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait()


class Namdb:
    """A cluster of our own, or one that runs already (`port`)."""
    name = "namdb"

    def __init__(self, folder, options, port=None):
        self.folder = None
        self.durability = options.durability
        self.port = port
        self.state = {"memory_servers": [], "compute_servers": []}
        if port is None:
            self.port = free_port(options.compute_servers)
            self.folder = folder / "namdb"
            self.command = [BIN / "namctl", "dev", "up", "--json", "--data", self.folder, "--port", self.port,
                            "--fabric", options.fabric,
                            "--memory-servers", getattr(options, "memory_servers", 1),
                            "--compute-servers", options.compute_servers,
                            "--durability", options.durability, "--timeout", PATIENCE_S,
                            f"--memory-flag=--protocol={options.protocol}",
                            f"--compute-flag=--workers={options.workers}",
                            *(("--region-bytes", options.region_bytes) if options.region_bytes else ()),
                            *(f"--memory-flag={flag}" for flag in options.memory_flag or ()),
                            *getattr(options, "up_flags", ())]
            self.start()

    def start(self):
        """Starts what does not run; returns when it accepts clients, after its recovery."""
        self.state = json.loads(run(self.command))

    def pids(self, kind=None):
        return [daemon["pid"] for name, daemons in self.state.items() if name in ("memory_servers", "compute_servers")
                and kind in (None, name) for daemon in daemons]

    def load(self, workload, size):
        if workload == "tpcb":
            self.sql("-v", "table=TABLE", *tpcb_script(size))
        else:
            run([BIN / "nambench", "load", workload, "--replace", "--quiet", *size, "--port", self.port])
        self.checkpoint("--fast")

    def sql(self, *arguments):
        return run(["psql", "-h", "127.0.0.1", "-p", self.port, "-U", "namdb", "-d", "namdb", "-qAt", *arguments])

    def checkpoint(self, *flags):
        if self.folder is not None and self.durability == "flushed":
            run([BIN / "namctl", "checkpoint", *flags, "--data", self.folder])

    def status(self, name, part=None):
        """A field of the memory servers' status, or of a part of it, summed over all servers. None: it is not there."""
        if self.folder is None:
            return None
        servers = json.loads(run([BIN / "namctl", "status", "--data", self.folder, "--json"]))["memory_servers"]
        found = [value for value in ((server.get(part, {}) if part else server).get(name) for server in servers)
                 if value is not None]
        return sum(found) if found else None

    def start_payments(self, clients, seconds, *flags):
        """SmallBank's send_payment for so long, in a process of its own, which prints its report as JSON."""
        command = [BIN / "nambench", "run", "smallbank", "--mix", "send_payment=1", "--uniform", "--port", self.port,
                   "--clients", clients, "--warmup", 0, "--seconds", seconds, *flags, "--json", "--quiet"]
        return subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)

    def payments(self):
        """Calls of send_payment that have committed."""
        return int(self.sql("-c", "SELECT value FROM namdb_statistics "
                                  "WHERE name = 'smallbank_send_payment' AND metric = 'commits'"))

    def cpu_seconds(self):
        return sum(cpu_seconds(pid) for pid in self.pids())

    def synced_writes(self):
        return self.status("synced_writes", "log")

    def replay_bytes(self):
        position, begin = self.status("position", "log"), self.status("redo_from", "checkpoint")
        return None if position is None or begin is None else position - begin

    def opening_seconds(self):
        """Of the last start, as the memory server says: without the processes' starts."""
        nanoseconds = self.status("duration_ns", "opening")
        return None if nanoseconds is None else nanoseconds / 1e9

    def read_bytes(self):
        return sum(read_bytes(pid) for pid in self.pids("memory_servers"))

    def kill(self, kind=None):
        kill_all(self.pids(kind))

    def stop(self):
        if self.folder is not None:
            run([BIN / "namctl", "dev", "down", "--data", self.folder])
