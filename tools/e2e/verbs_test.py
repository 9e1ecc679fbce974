"""Real daemons over RDMA: procedures, deaths, a cable that loses packets; and verbs_refusals. Runs in the virtual machine of
tools/dev/verbs-vm, which sets NAMDB_TEST_VERBS_ADDRESS."""
import json
import os
import subprocess
import time
import unittest
from pathlib import Path

import psycopg

from bank import Bank, Load
from harness import BIN, VERBS_ADDRESS, Cluster, TestCase, alive, cpu_seconds, main, namctl, program, run, until
from verbs_refusals import WithoutRoom, WrongStarts  # noqa: F401 (found here by unittest)

# Of a connection, that a workload of one client makes greater.
COUNTED = ("reads", "writes", "compare_and_swaps", "fetch_adds", "calls", "batches", "read_bytes", "write_bytes",
           "call_bytes", "requests", "doorbells", "signalled")

SPECS = sorted((Path(__file__).resolve().parents[1] / "sqltest" / "isolation").glob("*.spec"))
# Emulated cores: everything takes long.
SOME_SPECS = [path for path in SPECS if path.stem in ("lost_update", "read_skew", "write_skew")]
PROCEDURES = BIN.parent / "lib" / "libnamdb_sqltest_procedures.so"
CABLE = ("w0", "w1")


def lose_packets(share):
    for end in CABLE:
        done = run("tc", "qdisc", "replace", "dev", end, "root", "netem", "loss", f"{share}%")
        assert done.returncode == 0, done.stderr


def pull():
    """Both ends lose the link. Packets from now on are lost without an error, as on a cable."""
    lose_packets(100)
    done = run("ip", "link", "set", "v0", "down")
    assert done.returncode == 0, done.stderr


def plug():
    done = run("ip", "link", "set", "v0", "up")
    assert done.returncode == 0, done.stderr
    heal()


def heal():
    for end in CABLE:
        run("tc", "qdisc", "del", "dev", end, "root")


def in_words(cost):
    """The average cost of a commit, from the server's counters."""
    operations = sum(cost[name] for name in ("reads", "writes", "compare_and_swaps", "fetch_adds"))
    transferred = sum(value for name, value in cost.items() if name.endswith("_bytes"))
    amounts = {"operations": operations, "calls": cost["calls"], "round trips": cost["round_trips"],
               "bytes read and written": transferred}
    return ", ".join(f"{amount / cost['commits']:.2f} {name}" for name, amount in amounts.items())


def fabric(cluster):
    """The output of `namctl fabric`."""
    done = namctl("fabric", "--data", cluster.data, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def check_specs(test, cluster, specs):
    connections = [f"--connection=host=127.0.0.1 port={compute['port']} dbname=namdb user=tester sslmode=disable"
                   for compute in cluster.state["compute_servers"]]
    done = run(program("sqltest"), "--isolation", *connections, "--json", *specs, timeout=900)
    test.assertEqual(done.returncode, 0, done.stdout + done.stderr[-5000:])
    summary = json.loads(done.stdout)
    test.assertEqual((summary["files"], summary["failures"]), (len(specs), []))


class Mended:
    """Checks after deaths, for tests with `cluster`, of two memory and two compute servers, and `bank`."""

    def answers(self, server, statement):
        try:
            self.cluster.query(statement, server=server)
        except psycopg.Error:
            return False
        return True

    def nothing_is_locked(self):
        try:
            self.bank.check_no_lock(self)
        except psycopg.errors.SerializationFailure:
            return False
        return True

    def check_a_dead_compute_server_is_repaired_by_its_peer(self, clients):
        with Load(self.bank, clients=clients, servers=(0, 1)) as load:
            until(lambda: load.committed >= 5 * clients, "some commits")
            self.cluster.kill("compute-0")
            before = load.committed
            until(lambda: load.committed > before + 10, "commits by the peer")
        self.assertEqual(load.unexpected, [])
        self.bank.check_no_lock(self, server=1)
        self.bank.check_total(self, server=1)

    def check_a_dead_memory_server_is_noticed_and_a_new_one_found(self, connections):
        command = Path(f"/proc/{self.cluster.pid('memory-1')}/cmdline").read_text().split("\0")[:-1]
        self.cluster.kill("memory-1")
        until(lambda: self.cluster.log("compute-1").count("lost the connection") >= connections, "the death is noticed")
        self.assertFalse(self.answers(1, "SELECT count(*) FROM bank"))
        # One alone, by hand: it is empty, and nobody takes it for what it was.
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as alone:
            until(lambda: "memory server 1 has restarted and is empty (restart all memory servers)" in
                  self.cluster.log("compute-1"), "the reason in the log")
            self.assertFalse(self.answers(1, "SELECT count(*) FROM bank"))
            alone.kill()
        self.assertTrue(alive(self.cluster.pid("compute-1")))
        self.cluster.up()
        until(lambda: self.answers(1, "CREATE TABLE IF NOT EXISTS again (id bigint PRIMARY KEY)"), "a new beginning")
        self.cluster.query("INSERT INTO again VALUES (1)", server=0)
        self.assertEqual(self.cluster.query("SELECT id FROM again", server=1), [(1,)])


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class OverVerbs(Mended, TestCase):
    """One cluster of two memory servers and two compute servers; the methods run in the order of their names."""
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # Emulation is slow, not dead: patience with heartbeats.
        cls.cluster = Cluster("verbs", memory_servers=2, compute_servers=2, region="64MiB",
                              memory_flags=("--heartbeat-timeout-seconds=20",))
        cls.cluster.__enter__()
        cls.bank = Bank(cls.cluster, accounts=12)
        cls.bank.create()

    @classmethod
    def tearDownClass(cls):
        heal()
        cls.cluster.__exit__()

    def test_1_it_is_rdma(self):
        with open("/proc/net/tcp") as sockets:
            ports = {line.split()[1].split(":")[1] for line in list(sockets)[1:]}
        for server in range(2):
            address = self.cluster.state["memory_servers"][server]["address"]
            self.assertNotIn(f"{int(address.split(':')[1]):04X}", ports)
        done = namctl("status", "--data", self.cluster.data)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.count("fabric verbs"), 2, done.stdout)

    def test_1a_fabric_says_how_servers_are_reached(self):
        view = fabric(self.cluster)
        print("\n" + namctl("fabric", "--data", self.cluster.data).stdout)
        for server in view["memory_servers"]:
            facts = server["facts"]
            self.assertEqual((facts["device"], facts["port_state"], facts["link"], facts["region_keys"], facts["errors"]),
                             ("rx0", "active", "RoCE v2", "windows", 0))
            # The peers', the loopback's two, the tool's perhaps.
            self.assertGreaterEqual(facts["device_queue_pairs"], 4)
            self.assertGreater(facts["hardware_rcvd_pkts"], 0)
        for server in view["compute_servers"]:
            for connection in server["connections"]:
                facts = connection["facts"]
                self.assertEqual((facts["path_mtu_bytes"], facts["queue_pairs"], facts["errors"], facts["failed"]),
                                 (1024, 1, 0, 0))
                self.assertEqual((facts["atomics"], facts["calls_by"]), ("among themselves", "connections"))
                self.assertGreater(facts["doorbells"], 0)

    def smallbank(self, cluster):
        """The result's hash, what the server counted of each transaction type for the same requests, and what was
        counted of each connection meanwhile."""
        done = run(program("nambench"), "load", "smallbank", "--accounts", 60, "--port", cluster.port, "--quiet")
        self.assertEqual(done.returncode, 0, done.stderr)
        before = fabric(cluster)["compute_servers"][0]["connections"]
        done = run(program("nambench"), "run", "smallbank", "--port", cluster.port, "--clients", 1, "--transactions", 25,
                   "--quiet", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        after = fabric(cluster)["compute_servers"][0]["connections"]
        report = json.loads(done.stdout)
        counted = [{name: now["facts"].get(name, 0) - then["facts"].get(name, 0) for name in COUNTED}
                   for then, now in zip(before, after)]
        return report["result_hash"], {entry["name"]: entry["server"] for entry in report["transactions"]}, counted

    def test_2_transactions_cost_what_they_cost_over_shared_memory_and_tcp(self):
        results = {}
        for name in ("shm", "tcp"):
            with Cluster(name, memory_servers=2, region="32MiB") as cluster:
                Bank(cluster, accounts=0).create()  # tables of the same numbers: rows on the same servers
                results[name] = self.smallbank(cluster)
        digest, costs, connections = self.smallbank(self.cluster)
        for kind, cost in costs.items():
            print(f"\n{kind}, for each of {cost['commits']} commits")
            for name, seen in (("shm", results["shm"][1]), ("tcp", results["tcp"][1]), ("verbs", costs)):
                print(f"  {name:<6}{in_words(seen[kind])}")
        self.assertEqual(results["shm"][:2], (digest, costs))
        self.assertEqual(results["tcp"][0], digest)
        snapshot_bytes = set()
        for kind, cost in costs.items():
            # Over tcp a snapshot is a call; over verbs it is two READs.
            other = results["tcp"][1][kind]
            for name in ("writes", "compare_and_swaps", "fetch_adds", "write_bytes", "round_trips", "commits"):
                self.assertEqual((name, cost[name]), (name, other[name]))
            self.assertEqual(cost["reads"] - other["reads"], 2 * other["calls"])
            snapshot_bytes.add((cost["read_bytes"] - other["read_bytes"]) / (2 * other["calls"]))
            # A batch is what a stage has for one memory server, and a doorbell takes at least one.
            self.assertLessEqual(cost["batches"], cost["round_trips"] * len(connections))
        self.assertEqual(len(snapshot_bytes), 1, snapshot_bytes)
        commits = sum(cost["commits"] for cost in costs.values())
        for server, counted in enumerate(connections):
            self.assertGreater(counted["doorbells"], 0)
            self.assertLessEqual(counted["doorbells"], counted["batches"] + counted["calls"])
            self.assertLessEqual(counted["signalled"], counted["batches"] + counted["requests"] // 64 + 1)
            print(f"memory server {server}, {commits} commits and heartbeats between them:",
                  ", ".join(f"{value} {name}" for name, value in counted.items()))

    def test_2a_procedures_are_called_by_psql(self):
        for server in range(2):
            done = run("psql", "-h", "127.0.0.1", "-p", self.cluster.port + server, "namdb", "-v", "ON_ERROR_STOP=1",
                       "-Atc", "CALL smallbank_send_payment(1, 2, 5.00)", "-c", "CALL smallbank_balance(1)")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_2b_larger_clusters_are_emulated_by_more_queue_pairs(self):
        done = run(program("nambench"), "fabric", "--transports", "verbs", "--verbs-host", VERBS_ADDRESS, "--region-mib", 1,
                   "--nodes", "6,24", "--verbs-operations", 500, "--repetitions", 1, "--json", "--quiet")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (report,) = json.loads(done.stdout)["transports"]
        self.assertEqual([rate["name"] for rate in report["rates"]], ["as one of 6 nodes", "as one of 24 nodes"])

    def test_3_an_idle_daemon_sleeps(self):
        pids = [self.cluster.pid(name) for name in ("memory-0", "memory-1", "compute-0", "compute-1")]
        before = [cpu_seconds(pid) for pid in pids]
        started = time.monotonic()
        time.sleep(3)
        passed = time.monotonic() - started
        for pid, used in zip(pids, before):
            self.assertLess(cpu_seconds(pid) - used, passed / 2)

    def test_4_a_cable_that_loses_packets_only_slows(self):
        lose_packets(2)
        try:
            with Load(self.bank, clients=2, servers=(0, 1)) as load:
                until(lambda: load.committed >= 10, "commits over a bad cable", timeout=120)
        finally:
            heal()
        self.assertEqual(load.unexpected, [])
        self.bank.check_total(self)

    def test_4a_a_cable_that_was_pulled_is_found_again(self):
        with Load(self.bank, clients=2, servers=(0, 1)) as load:
            until(lambda: load.committed >= 5, "some commits")
            pull()
            until(lambda: all("is down" in self.cluster.log(f"memory-{server}") for server in range(2)), "the ports' events")
            # Beyond what the devices try again.
            until(lambda: all("lost the connection" in self.cluster.log(f"compute-{server}") for server in range(2)),
                  "the connections' end", timeout=60)
            plug()
            until(lambda: "is up" in self.cluster.log("memory-0"), "the port's event")
            before = load.committed
            until(lambda: load.committed > before + 10, "commits over the mended cable", timeout=120)
        self.assertEqual(load.unexpected, [])
        # Each finds its way back for itself.
        for server in range(2):
            until(lambda server=server: self.answers(server, "SELECT id FROM bank WHERE id = 0"),
                  f"compute server {server} is back", timeout=60)
        self.bank.check_total(self)
        # A memory server may learn of a connection that ended at the other side from the silence only; then it is repaired.
        until(self.nothing_is_locked, "the locks of lost connections are freed", timeout=60)

    def test_5_a_dead_compute_server_is_repaired_by_its_peer(self):
        self.check_a_dead_compute_server_is_repaired_by_its_peer(clients=3)

    def test_6_a_dead_memory_server_is_noticed_and_a_new_one_found(self):
        self.check_a_dead_memory_server_is_noticed_and_a_new_one_found(connections=1)


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
@unittest.skipIf("NAMDB_TEST_SANITIZED" in os.environ, "what sanitizers know of its regions does not fit into the machine")
class Isolation(TestCase):
    def test_every_permutation_is_answered_as_elsewhere(self):
        # Tables that were dropped keep their extents until no transaction can be older: hence the region.
        cluster = Cluster("verbs", memory_servers=2, compute_servers=2, region="160MiB",
                          memory_flags=("--heartbeat-timeout-seconds=20",))
        cluster.flags += ["--procedure-library", PROCEDURES]
        with cluster:
            check_specs(self, cluster, SPECS)


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class ByDatagrams(TestCase):
    """Calls by datagrams and devices by name, which are not the default."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("verbs", region="256MiB",
                              compute_flags=("--rdma-calls=ud", "--rdma-device=rx1", "--rdma-port=1",
                                             "--rdma-gid-index=1", "--rdma-traffic-class=104"),
                              memory_flags=("--heartbeat-timeout-seconds=20", "--rdma-device=rx0"))
        cls.cluster.flags += ["--procedure-library", PROCEDURES]
        cls.cluster.__enter__()

    @classmethod
    def tearDownClass(cls):
        heal()
        cls.cluster.__exit__()

    def connection(self):
        done = namctl("fabric", "--compute-server", f"127.0.0.1:{self.cluster.port}", "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout)["compute_servers"][0]["connections"][0]["facts"]

    def test_1_isolation_is_what_it_is_elsewhere(self):
        check_specs(self, self.cluster, SOME_SPECS)

    def test_2_calls_that_get_lost_are_run_once(self):
        bank = Bank(self.cluster, accounts=12)
        bank.create()
        before = self.connection()
        self.assertEqual((before["calls_by"], before["device"], before["gid_index"], before["traffic_class"]),
                         ("datagrams", "rx1", 1, 104))
        lose_packets(5)
        try:
            with Load(bank, clients=2) as load:
                until(lambda: load.committed >= 10 and self.connection()["datagram_calls_resent"] > 0,
                      "commits over a bad cable, and calls that were sent again", timeout=120)
        finally:
            heal()
        self.assertEqual(load.unexpected, [])
        after = self.connection()
        self.assertGreater(after["datagrams_received"], before["datagrams_received"])
        self.assertEqual((after["connections"], after["errors"]), (before["connections"], 0))
        bank.check_total(self)


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class SharedQueuePairs(Mended, TestCase):
    """Workers that reach each memory server by one queue pair."""
    WORKERS = 3

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster("verbs", memory_servers=2, compute_servers=2, region="64MiB",
                              compute_flags=("--queue-pairs=shared", f"--workers={cls.WORKERS}"),
                              memory_flags=("--heartbeat-timeout-seconds=20",))
        cls.cluster.__enter__()
        cls.bank = Bank(cls.cluster, accounts=12)
        cls.bank.create()

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def test_1_a_memory_server_has_one_for_each_compute_server(self):
        view = fabric(self.cluster)
        for server in view["memory_servers"]:
            # Those by which it reaches itself, and the tool's that asks.
            self.assertEqual((server["facts"]["device_queue_pairs"], server["facts"]["peers"]), (2 + 2 + 1, 2 * self.WORKERS + 1))
        for server in view["compute_servers"]:
            self.assertEqual(len(server["connections"]), 2 * self.WORKERS)

        # Workers speak for themselves once in a while, and the first ones connected when the others had not.
        def all_are_members():
            connections = [one for server in fabric(self.cluster)["compute_servers"] for one in server["connections"]]
            return all(one["facts"]["queue_pair_members"] == self.WORKERS for one in connections)

        until(all_are_members, "all workers are members of the queue pairs")

    def test_2_all_workers_serve_and_a_dead_compute_server_is_repaired_by_its_peer(self):
        self.check_a_dead_compute_server_is_repaired_by_its_peer(clients=4)

    def test_3_workers_find_a_new_memory_server_together(self):
        self.check_a_dead_memory_server_is_noticed_and_a_new_one_found(connections=self.WORKERS)


if __name__ == "__main__":
    main()
