"""Memory servers with copies: a primary is killed, or stopped, while clients write. Its copy takes over, nothing that was
acknowledged is lost, and the old primary comes back as a copy."""
import json
import os
import signal

import psycopg

from harness import Cluster, Daemon, TestCase, free_port, main, until
from ledger import Ledger


class Regions:
    """As the configuration store has them."""

    def __init__(self, cluster):
        self.cluster = cluster

    def place(self, region=0):
        text = (self.cluster.data / "configuration" / "configuration").read_text()
        return json.loads(text.split("\n", 1)[1])["regions"][region]

    def primary(self, region=0):
        """The daemon's name."""
        address = self.place(region)["primary"]
        return next(daemon["name"] for daemon in self.cluster.state["memory_servers"] if daemon["address"] == address)

    def await_copies(self):
        until(lambda: all(place["copies"] for place in self.all()), "each region has a copy in sync")

    def all(self):
        text = (self.cluster.data / "configuration" / "configuration").read_text()
        return json.loads(text.split("\n", 1)[1])["regions"]


class Copies(TestCase):
    def kill_in_turn(self, cluster, regions, rounds):
        places = Regions(cluster)
        ledger = Ledger(cluster)
        ledger.create()
        for round_ in range(rounds):
            region = round_ % regions
            places.await_copies()
            with ledger:
                ledger.await_progress(20)
                victim = places.primary(region)
                before = places.place(region)
                cluster.kill(victim)
                until(lambda: places.place(region)["primary"] in before["copies"], "the copy takes over")
                cluster.up()
                until(lambda: before["primary"] in places.place(region)["copies"], f"{victim} is a copy in sync")
                ledger.await_progress(20)
            ledger.check(self)
            self.assertNotEqual(places.primary(region), victim)

    def test_primary_killed(self):
        for fabric in self.covering(("shm", "tcp")):
            with self.subTest(fabric=fabric), Cluster(fabric, durability="flushed", copies=2) as cluster:
                self.kill_in_turn(cluster, 1, 3)

    def test_primary_of_several_killed(self):
        with Cluster("tcp", memory_servers=3, durability="flushed", copies=2, region="128MiB") as cluster:
            self.kill_in_turn(cluster, 3, 2)

    def test_primary_stopped(self):
        with Cluster("shm", durability="flushed", copies=2) as cluster:
            places = Regions(cluster)
            ledger = Ledger(cluster)
            ledger.create()
            places.await_copies()
            with ledger:
                ledger.await_progress(20)
                old = places.primary()
                before = places.place()
                os.kill(cluster.pid(old), signal.SIGSTOP)
                until(lambda: places.place()["primary"] in before["copies"], "the copy takes over")
                until(lambda: cluster.log(places.primary()).count("ready at") > 1, "it serves")
                os.kill(cluster.pid(old), signal.SIGCONT)
                until(lambda: before["primary"] in places.place()["copies"], "the old primary is a copy")
                ledger.await_progress(20)
            ledger.check(self)
            self.assertIn("this memory server gives it up", cluster.log(old))

    def test_all_end_and_start(self):
        with Cluster("shm", durability="flushed", copies=2) as cluster:
            places = Regions(cluster)
            ledger = Ledger(cluster)
            ledger.create()
            places.await_copies()
            primary = places.primary()
            with ledger:
                ledger.await_progress(20)
                for daemon in list(cluster.state["memory_servers"]):
                    cluster.kill(daemon["name"])
                cluster.up()
                ledger.await_progress(20)
            places.await_copies()
            ledger.check(self)
            self.assertEqual(places.primary(), primary)


    def test_compute_server_without_hosts(self):
        with Cluster("shm", durability="flushed", copies=2) as cluster:
            cluster.query("CREATE TABLE t (a int PRIMARY KEY)")
            cluster.query("INSERT INTO t VALUES (1)")
            port = free_port()
            with Daemon(cluster.data, "nam-computed", "--memory-server", f"unix:{cluster.data}/nobody.sock",
                        "--configuration-store", f"file:{cluster.data}/configuration",
                        "--listen", f"127.0.0.1:{port}") as daemon:
                daemon.until_told("Serves SQL clients")
                with psycopg.connect(host="127.0.0.1", port=port, dbname="namdb", user="tester") as connection:
                    self.assertEqual(connection.execute("SELECT a FROM t").fetchall(), [(1,)])
                self.assertEqual(daemon.end(), 0)


if __name__ == "__main__":
    main()
