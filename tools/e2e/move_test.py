"""The region of a memory server moves to another host while clients write: nothing that was acknowledged is lost, also when
either host is killed on the way, and all find it again."""
import json
import random
import subprocess
import time

from harness import FABRICS, Cluster, TestCase, main, namctl, program, until
from ledger import Ledger
from moving import NewHost, command_of, drain, option, serves, states


class Writes(Ledger):
    """With texts that fit into any index."""

    @staticmethod
    def text(client, n):
        return f"{client}-{n}-" + "x" * (n * 37 % 60)


class Moves(TestCase):
    def check_moved(self, cluster, host, done):
        self.assertEqual(done.returncode, 0, done.stderr + host.log())
        self.assertEqual(json.loads(done.stdout)["to"], host.address)
        until(lambda: "the region has come here; it was away for" in host.log(), "the new host says how long that took")
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

    def test_the_host_of_another_region(self):
        with Cluster(memory_servers=2, durability="flushed") as cluster, NewHost(cluster, "memory-1") as host:
            host.old = option(command_of(cluster, "memory-0"), "--listen")
            self.refused(drain(cluster, host), "waits for the region of memory server 1")
            self.assert_serves(cluster)

    def test_a_server_that_keeps_nothing(self):
        with Cluster(durability="flushed") as other, Cluster() as cluster, NewHost(other, "memory-0") as host:
            host.old = option(command_of(cluster, "memory-0"), "--listen")
            self.refused(drain(other, host), "keeps no data on disk")
            self.assert_serves(cluster)


if __name__ == "__main__":
    main()
