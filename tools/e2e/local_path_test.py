"""The local path: each compute server maps the region of the memory server beside it and reaches the others over tcp. Everything
works as over one transport, whichever daemon dies; mistakes are refused with their reasons."""
import json
import os
import resource
import shutil
import signal
import tempfile
from pathlib import Path

from bank import Bank, Load
from harness import Cluster, Daemon, TestCase, alive, free_port, main, namctl, program, run, until
from ledger import AWAY, Ledger

# Each protocol once, with stages of each kind, and both places of the timestamp vector.
SHAPES = (
    ("si", "one-sided", "whole"), ("si", "two-sided", "whole"), ("si", "lock,install", "partitioned"),
    ("occ", "one-sided", "partitioned"), ("occ", "two-sided", "whole"), ("nowait", "one-sided", "whole"),
    ("nowait", "lock,log,release", "whole"), ("waitdie", "two-sided", "whole"), ("waitdie", "one-sided", "partitioned"),
    ("mvcc", "one-sided", "whole"), ("mvcc", "two-sided", "whole"), ("sundial", "one-sided", "whole"),
    ("sundial", "read,validate,renew", "whole"),
)


def pairs(**options):
    """Two memory servers and two compute servers, each beside one."""
    return Cluster("tcp+shm", memory_servers=2, compute_servers=2, **options)


def links(cluster):
    """The facts of each connection, by compute server, worker and memory server."""
    done = namctl("fabric", "--data", cluster.data, "--json")
    view = json.loads(done.stdout)
    return {(k, c["worker"], c["memory_server"]): c["facts"]
            for k, server in enumerate(view["compute_servers"]) for c in server["connections"]}


def command_of(cluster, name):
    return Path(f"/proc/{cluster.pid(name)}/cmdline").read_text().split("\0")[:-1]


class LocalPath(TestCase):
    def assert_paths(self, cluster, workers=1):
        """Every compute server maps the region beside it, and reaches the other one over tcp."""
        shown = links(cluster)
        self.assertEqual(len(shown), 2 * 2 * workers)
        for (compute, _, memory), facts in shown.items():
            near = compute == memory
            self.assertEqual(facts.get("fabric"), "shm" if near else "tcp", facts)
            self.assertEqual(facts["address"].startswith("unix:"), near, facts)
            self.assertEqual(facts.get("failed"), 0, facts)

    def test_each_connection_has_the_transport_of_its_distance(self):
        with pairs(compute_flags=("--workers=2",)) as cluster:
            self.assert_paths(cluster, workers=2)
            # Both transports read the same counters, each of what it did.
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
            cluster.query("INSERT INTO t VALUES " + ", ".join(f"({key}, 0)" for key in range(100)))
            for facts in links(cluster).values():
                self.assertGreater(facts["calls"], 0)
            status = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)
            self.assertEqual([server["fabric"] for server in status["memory_servers"]], ["tcp+shm"] * 2)
            view = json.loads(namctl("fabric", "--data", cluster.data, "--json").stdout)
            for server in view["memory_servers"]:
                self.assertEqual(server["facts"]["local_peers"], 2)
                self.assertTrue(server["facts"]["local_address"].startswith("unix:"))
            rows = cluster.query("SELECT memory_server, text FROM namdb_fabric WHERE name = 'fabric' AND worker = 0", server=1)
            self.assertEqual(sorted(rows), [(0, "tcp"), (1, "shm")])

    def test_with_one_memory_server(self):
        with Cluster("tcp+shm", compute_servers=2) as cluster:
            self.assertEqual({facts["fabric"] for facts in links(cluster).values()}, {"shm"})
            self.assert_serves(cluster, server=1)

    def test_smallbank_by_both_paths_keeps_its_sums(self):
        with pairs() as cluster:
            report = run(program("nambench"), "load", "smallbank", "--accounts", 50, "--port", cluster.port, "--quiet")
            self.assertEqual(report.returncode, 0, report.stderr)
            done = run(program("nambench"), "run", "smallbank", "--port", f"{cluster.port},{cluster.port + 1}", "--clients", 8,
                       "--transactions", 200, "--json", "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertTrue(all(check["ok"] for check in report["checks"]), report["checks"])
            self.assertGreater(report["committed"], 0)
            self.assert_paths(cluster)

    def test_tpcc_of_one_warehouse_server_and_of_both(self):
        with pairs() as cluster:
            done = run(program("nambench"), "load", "tpcc", "--warehouses", 2, "--by-warehouse", "--items", 200, "--customers", 20,
                       "--initial-orders", 20, "--port", cluster.port, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run(program("nambench"), "run", "tpcc", "--port", f"{cluster.port},{cluster.port + 1}", "--route",
                       "--clients", 4, "--transactions", 25, "--rounds", 1, "--remote-percent", "0,100", "--initial-orders", 20,
                       "--check", "--json", "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            self.assertTrue(report["checks_ok"], report)
            self.assert_paths(cluster)

    def test_money_only_moves_when_compute_servers_are_killed(self):
        for protocol, stages, vector in self.covering(SHAPES):
            flags = (f"--protocol={protocol}", f"--stages={stages}", f"--timestamp-vector={vector}")
            with self.subTest(protocol=protocol, stages=stages, vector=vector), pairs(memory_flags=flags) as cluster:
                bank = Bank(cluster, accounts=40)
                bank.create()
                for victim in (0, 1):
                    with Load(bank, clients=4, servers=(0, 1), seed=victim) as load:
                        until(lambda: load.committed >= 30, "some commits")
                        cluster.kill(f"compute-{victim}")
                        cluster.up()
                        before = load.committed
                        until(lambda: load.committed > before + 20, "commits after the restart")
                    self.assertEqual(load.unexpected, [])
                    bank.check_no_lock(self, server=victim)
                    bank.check_total(self, server=1 - victim)
                self.assert_paths(cluster)

    def test_acknowledged_writes_survive_the_end_of_a_memory_server(self):
        for victim in self.covering((0, 1)):
            with self.subTest(victim=victim), pairs(durability="flushed") as cluster:
                ledger = Ledger(cluster, servers=(0, 1))
                ledger.create()
                computes = [cluster.pid("compute-0"), cluster.pid("compute-1")]
                for _ in range(2):
                    with ledger:
                        ledger.await_progress(40)
                        cluster.kill(f"memory-{victim}")
                        cluster.up()
                        ledger.await_progress(40)
                    for server in (0, 1):
                        ledger.check(self, server=server)
                # They reached the new one by both paths, and none of them was ended for that.
                self.assertTrue(all(map(alive, computes)))
                self.assert_paths(cluster)

    def test_a_memory_server_that_does_not_answer_costs_no_compute_server_its_life(self):
        with pairs(durability="flushed", compute_flags=("--memory-timeout-seconds=1",)) as cluster:
            ledger = Ledger(cluster, servers=(0, 1))
            ledger.create()
            cluster.query("CREATE TABLE other (server integer, id integer, PRIMARY KEY (server, id))")
            computes = [cluster.pid("compute-0"), cluster.pid("compute-1")]
            with ledger:
                ledger.await_progress(20)
                os.kill(cluster.pid("memory-1"), signal.SIGSTOP)
                try:
                    # READs of its mapped region go on without it; commits need it over both paths.
                    for server in (0, 1):
                        values = ", ".join(f"({server}, {key})" for key in range(50))
                        self.assert_sqlstate((*AWAY, "40003"), cluster.query, f"INSERT INTO other VALUES {values}", None, server)
                finally:
                    os.kill(cluster.pid("memory-1"), signal.SIGCONT)
                ledger.await_progress(40)
            ledger.check(self, server=0)
            self.assertTrue(all(map(alive, computes)))

    def test_a_compute_server_that_stands_still_is_fenced_on_both_paths(self):
        # The memory server beside it ends it: its writes could come at any moment, as long as it lives.
        for victim in self.covering((0, 1)):
            with self.subTest(victim=victim), pairs(memory_flags=("--heartbeat-timeout-seconds=3",)) as cluster:
                bank = Bank(cluster, accounts=20)
                bank.create()
                with Load(bank, clients=6, servers=(0, 1)) as load:
                    until(lambda: load.committed >= 30, "some commits")
                    os.kill(cluster.pid(f"compute-{victim}"), signal.SIGSTOP)
                    until(lambda: not alive(cluster.pid(f"compute-{victim}")), "its end")
                    before = load.committed
                    until(lambda: load.committed > before + 20, "commits by the peer")
                self.assertEqual(load.unexpected, [])
                bank.check_no_lock(self, server=1 - victim)
                bank.check_total(self, server=1 - victim)

    def test_a_region_that_grows_is_there_on_both_paths(self):
        with pairs(region="32MiB", memory_flags=("--region-limit=128MiB", "--extent-size=256KiB")) as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            row = "x" * 200
            for server in (0, 1):
                for first in range(0, 20_000, 1000):
                    values = ", ".join(f"({server * 100_000 + key}, '{row}')" for key in range(first, first + 1000))
                    cluster.query(f"INSERT INTO t VALUES {values}", server=server)
            for server in (0, 1):
                self.assertIn("the region has grown", cluster.log(f"memory-{server}"))
                self.assertEqual(cluster.query("SELECT count(*) FROM t WHERE v = %s", (row,), server=server), [(40_000,)])
            self.assert_paths(cluster)

    def test_options_are_kept_by_dev_up(self):
        with Cluster("tcp+shm") as cluster:
            done = namctl("dev", "up", "--data", cluster.data, "--no-local-path")
            self.assertEqual(done.returncode, 3)
            self.assertIn("local path", done.stderr)
            self.assertEqual(namctl("dev", "down", "--data", cluster.data).returncode, 0)
            done = namctl("dev", "up", "--data", cluster.data, "--fabric", "shm", "--local-path")
            self.assertEqual(done.returncode, 3)
            self.assertIn("--local-path is for --fabric tcp and verbs", done.stderr)
            cluster.up()
            self.assertEqual({facts["fabric"] for facts in links(cluster).values()}, {"shm"})


class WrongStarts(TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.data = Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def refused(self, code, word, name, *arguments, **options):
        done = run(program(name), "--data", self.data / "refused", *arguments, **options)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(word, done.stderr)
        return done.stderr

    def memory(self, name, port, socket=None, *arguments):
        local = ("--listen-local", socket) if socket else ()
        (self.data / name).mkdir(exist_ok=True)
        return Daemon(self.data / name, "nam-memoryd", "--fabric", "tcp", "--listen", f"127.0.0.1:{port}", "--region-bytes",
                      "32MiB", "--durability", "memory", *local, *arguments)

    def compute(self, port, socket, *arguments, beside=0):
        return ("--memory-server", f"127.0.0.1:{port}", "--beside", str(beside), "--beside-socket", socket, "--listen",
                "127.0.0.1:0", *arguments)

    def test_flags_that_do_not_fit_are_wrong_usage(self):
        tcp = ("--memory-server", "127.0.0.1:1", "--memory-server", "127.0.0.1:2")
        self.refused(2, "there are 2 memory servers", "nam-computed", *tcp, "--beside", "2", "--beside-socket", "unix:/x")
        self.refused(2, "goes with --beside K", "nam-computed", *tcp, "--beside-socket", "unix:/x")
        self.refused(2, "takes unix:PATH", "nam-computed", *tcp, "--beside", "0", "--beside-socket", "127.0.0.1:3")
        self.refused(2, "is for --fabric tcp and verbs", "nam-computed", "--memory-server", "unix:/y", "--beside", "0",
                     "--beside-socket", "unix:/x")
        self.refused(2, "is for --fabric tcp and verbs", "nam-memoryd", "--listen-local", "unix:/x")
        self.refused(2, "takes unix:PATH", "nam-memoryd", "--fabric", "tcp", "--listen-local", "127.0.0.1:3")

    def test_a_socket_in_a_folder_that_is_open_to_others_is_refused(self):
        shared = self.data / "shared"
        shared.mkdir(mode=0o755)
        shared.chmod(0o755)
        self.refused(3, "open to other users", "nam-memoryd", "--fabric", "tcp", "--listen", f"127.0.0.1:{free_port()}",
                     "--region-bytes", "32MiB", "--listen-local", f"unix:{shared}/m.sock")

    def test_a_memory_server_without_a_socket_is_waited_for_with_the_reason(self):
        port = free_port()
        socket = f"unix:{self.data}/m.sock"
        with self.memory("memory", port) as memory:
            memory.until_told("READY=1")
            said = self.refused(1, "cannot be reached by its local path", "nam-computed",
                                *self.compute(port, socket, "--connect-timeout-seconds", "0.5"))
            self.assertIn("--listen-local", said)
            with Daemon(self.data, "nam-computed", *self.compute(port, socket)) as compute:
                compute.until_told("cannot be reached by its local path")
                self.assertEqual(memory.end(), 0)
                with self.memory("memory", port, socket) as again:
                    again.until_told("READY=1")
                    compute.until_told("READY=1")
                    self.assertEqual(compute.end(), 0)

    def test_the_socket_of_another_memory_server_is_refused(self):
        first = free_port(2)
        sockets = [f"unix:{self.data}/{k}.sock" for k in (0, 1)]
        servers = [("--memory-server", f"127.0.0.1:{first + k}") for k in (0, 1)]
        with self.memory("m0", first, sockets[0], "--server-count", "2") as m0, \
                self.memory("m1", first + 1, sockets[1], "--server-count", "2", "--server-id", "1") as m1:
            for memory in (m0, m1):
                memory.until_told("READY=1")
            self.refused(3, "is the socket of another memory server", "nam-computed", *servers[0], *servers[1], "--beside", "0",
                         "--beside-socket", sockets[1], "--listen", "127.0.0.1:0")
            # The same server of another cluster.
            with self.memory("other", free_port(), f"unix:{self.data}/other.sock", "--server-count", "2") as other:
                other.until_told("READY=1")
                self.refused(1, "are not the same one", "nam-computed", *servers[0], *servers[1], "--beside", "0",
                             "--beside-socket", f"unix:{self.data}/other.sock", "--listen", "127.0.0.1:0",
                             "--connect-timeout-seconds", "0.5")

    def test_another_user_is_refused(self):
        if os.geteuid() != 0:
            self.skipTest("only root can start a daemon as another user")
        port = free_port()
        socket = f"unix:{self.data}/private/m.sock"
        self.data.chmod(0o755)
        home = tempfile.mkdtemp(prefix="namdb-e2e-")
        try:
            shutil.chown(home, 65_534)
            with self.memory("memory", port, socket) as memory:
                memory.until_told("READY=1")
                done = run(program("nam-computed"), "--data", f"{home}/compute", *self.compute(port, socket), user=65_534)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn("Permission denied", done.stderr)
                self.assertIn("as the memory server's user", done.stderr)
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def test_a_region_that_cannot_be_mapped_is_named(self):
        port = free_port()
        socket = f"unix:{self.data}/m.sock"
        with self.memory("memory", port, socket, "--region-limit", "64GiB") as memory:
            memory.until_told("READY=1")
            self.refused(1, "cannot reserve the region's addresses", "nam-computed", *self.compute(port, socket),
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30)))


if __name__ == "__main__":
    main()
