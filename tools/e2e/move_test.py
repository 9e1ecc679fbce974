"""The region of a memory server moves to another host while clients write: nothing that was acknowledged is lost, also when
either host is killed on the way, and all find it again."""
import json
import random
import subprocess
import time
from pathlib import Path

import psycopg

from harness import FABRICS, PATIENCE_S, Cluster, TestCase, free_port, main, namctl, program, until
from ledger import AWAY, Ledger


def command_of(cluster, name):
    return Path(f"/proc/{cluster.pid(name)}/cmdline").read_text().split("\0")[:-1]


def option(command, flag):
    return command[command.index(flag) + 1]


def serves(cluster, server=0):
    try:
        return cluster.query("SELECT count(*) FROM ledger", server=server) is not None
    except psycopg.Error as error:
        if error.sqlstate not in AWAY:
            raise
        return False


class Writes(Ledger):
    """With texts that fit into any index."""

    @staticmethod
    def text(client, n):
        return f"{client}-{n}-" + "x" * (n * 37 % 60)


class NewHost:
    """A host that waits for the region of that memory server; a context manager."""

    def __init__(self, cluster, name, tag="new", **options):
        self.folder = cluster.data / f"{name}-{tag}"
        self.log_path = cluster.data / "log" / f"{name}-{tag}.log"
        self.command = command_of(cluster, name)
        self.old = option(self.command, "--listen")
        unix = self.old.startswith("unix:")
        self.address = f"unix:{cluster.data}/run/{name}-{tag}.sock" if unix else f"127.0.0.1:{free_port()}"
        for flag, value in (("--data", self.folder), ("--listen", self.address)):
            self.command[self.command.index(flag) + 1] = str(value)
        for flag, value in options.items():
            self.command[self.command.index("--" + flag.replace("_", "-")) + 1] = str(value)
        if "--metrics-listen" in self.command:
            at = self.command.index("--metrics-listen")
            del self.command[at:at + 2]
        self.command += ["--join"]
        self.process = None

    def start(self):
        before = self.log().count("ready at")
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        until(lambda: self.log().count("ready at") > before or self.process.poll() is not None, "the new host answers")
        return self

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


def drain(cluster, host, **options):
    return namctl("memory", "drain", host.old, "--to", host.address, "--data", cluster.data, "--json",
                  timeout=2 * PATIENCE_S, **options)


def states(cluster, *addresses):
    flags = [word for address in addresses for word in ("--memory-server", address)]
    key = cluster.data / "cluster.key"
    if key.exists():
        flags += ["--cluster-key", key]
    done = namctl("memory", "list", *flags, "--json")
    return [(host["address"], host.get("state")) for host in json.loads(done.stdout)["hosts"]]


class Moves(TestCase):
    def check_moved(self, cluster, host, done):
        self.assertEqual(done.returncode, 0, done.stderr + host.log())
        self.assertEqual(json.loads(done.stdout)["to"], host.address)
        self.assertIn("the region has come here; it was away for", host.log())
        self.assertEqual(states(cluster, host.old)[:2], [(host.old, "departed"), (host.address, "here")])

    def test_while_clients_write(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, compute_servers=2, durability="flushed") as cluster:
                ledger = Writes(cluster, servers=(0, 1))
                ledger.create()
                computes = [cluster.pid(name) for name in ("compute-0", "compute-1")]
                with NewHost(cluster, "memory-0") as host:
                    self.assertEqual(states(cluster, host.address), [(host.address, "waits")])
                    with ledger:
                        ledger.await_progress(40)
                        done = drain(cluster, host)
                        self.check_moved(cluster, host, done)
                        ledger.await_progress(40)
                    ledger.check(self)
                    self.assertEqual(computes, [cluster.pid(name) for name in ("compute-0", "compute-1")])
                    # The old host is needed no more by those that know.
                    cluster.kill("memory-0")
                    with ledger:
                        ledger.await_progress(20)
                    ledger.check(self)
                    # It says where the region is, also to a compute server that starts.
                    cluster.kill("compute-0")
                    cluster.up()
                    self.assertIn(f"ready at {host.old}: the region of memory server 0 is at {host.address}", cluster.log("memory-0"))
                    until(lambda: serves(cluster), "a new compute server finds the region")
                    # And the new host is one like any other.
                    host.kill()
                    host.start()
                    with ledger:
                        ledger.await_progress(20)
                    ledger.check(self, server=1)
                    self.assertEqual(drain(cluster, host).returncode, 0, "it has moved already")

    def test_killed_on_the_way(self):
        generator = random.Random(3)
        with Cluster("tcp", durability="flushed") as cluster:
            ledger = Writes(cluster)
            ledger.create()
            # Enough to be killed in the middle of it.
            cluster.query("CREATE TABLE bulk (id integer PRIMARY KEY, v text)")
            cluster.query("INSERT INTO bulk SELECT i, repeat('x', 100) FROM generate_series(1, 4000) i")
            with NewHost(cluster, "memory-0") as host:
                for victim in ("new", "old", "new", "old", "both"):
                    with ledger:
                        ledger.await_progress(10)
                        command = [program("namctl"), "memory", "drain", host.old, "--to", host.address, "--data",
                                   str(cluster.data)]
                        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as mover:
                            time.sleep(generator.uniform(0, 0.6))
                            if victim in ("new", "both"):
                                host.kill()
                            if victim in ("old", "both"):
                                cluster.kill("memory-0")
                            mover.kill()
                        if victim in ("new", "both"):
                            host.start()
                        cluster.up()
                        until(lambda: serves(cluster), "the region is at one of the two")
                        ledger.await_progress(10)
                    ledger.check(self)
                    held = [state for _, state in states(cluster, host.old, host.address)]
                    self.assertEqual(held.count("here"), 1, held)
                    if held[1] == "here":
                        break
                done = drain(cluster, host)
                self.assertEqual(done.returncode, 0, done.stderr)
                until(lambda: serves(cluster), "the region is at the new host")
                self.assertEqual(cluster.query("SELECT count(*), sum(length(v)) FROM bulk"), [(4000, 400000)])
                ledger.check(self)


class Refusals(TestCase):
    def refused(self, done, *words):
        self.assertIn(done.returncode, (1, 3), done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_hosts_that_do_not_fit(self):
        with Cluster(durability="flushed") as cluster, NewHost(cluster, "memory-0") as host:
            self.refused(namctl("memory", "drain", host.address, "--to", host.old, "--data", cluster.data),
                         "has no region")
            self.assert_serves(cluster)

    def test_a_host_for_one_of_several(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster:
            done = subprocess.run([*command_of(cluster, "memory-1"), "--join"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--join is for a database of one memory server", done.stderr)

    def test_a_server_that_keeps_nothing(self):
        with Cluster(durability="flushed") as other, Cluster() as cluster, NewHost(other, "memory-0") as host:
            host.old = option(command_of(cluster, "memory-0"), "--listen")
            self.refused(drain(other, host), "keeps no data on disk")
            self.assert_serves(cluster)


if __name__ == "__main__":
    main()
