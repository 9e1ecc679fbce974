"""One of several memory servers moves to another host while clients transfer money between accounts on all of them: they go on,
and the sum stays. So they do when the old host answers nobody from the moment on at which the new one has the region."""
import itertools
import os
import signal
import subprocess

from bank import Bank, Load
from harness import FABRICS, Cluster, TestCase, alive, main, program, until
from moving import NewHost, command_of, drain, states


class Process:
    """A daemon of a cluster that ends and starts again with the flags that it had; the others stay as they are."""

    def __init__(self, cluster, name):
        self.cluster = cluster
        self.name = name
        self.command = command_of(cluster, name)
        self.started = None

    def restart(self):
        if self.started is not None:
            self.end()
        elif alive(self.cluster.pid(self.name)):
            self.cluster.kill(self.name)
        with open(self.cluster.data / "log" / f"{self.name}.log", "a", encoding="utf-8") as log:
            self.started = subprocess.Popen(self.command, stdout=log, stderr=log)

    def __enter__(self):
        return self

    def end(self):
        self.started.kill()
        self.started.wait()

    def __exit__(self, *_):
        if self.started is not None:
            self.end()


class Moves(TestCase):
    ACCOUNTS = 60

    def bank(self, cluster):
        bank = Bank(cluster, self.ACCOUNTS)
        bank.create()
        return bank

    @staticmethod
    def await_commits(load, commits=30):
        before = load.committed
        until(lambda: load.unexpected or load.committed >= before + commits, "transfers go on")

    @staticmethod
    def await_all(cluster, server=0):
        until(lambda: cluster.answers_everywhere("SELECT sum(balance) FROM bank", server), "every worker reaches every account")

    def check(self, bank, load, server=0):
        self.assertEqual(load.unexpected, [])
        self.await_all(bank.cluster, server)
        bank.check_total(self, server)
        bank.check_no_lock(self, server)

    def moved(self, cluster, host):
        done = drain(cluster, host)
        self.assertEqual(done.returncode, 0, done.stderr + host.log())

    def test_twice_and_all_find_it_with_old_addresses(self):
        shapes = [(servers, region) for servers in (2, 3) for region in (0, servers - 1)]
        for fabric, (servers, region) in self.covering(itertools.product(FABRICS, shapes)):
            name = f"memory-{region}"
            with self.subTest(fabric=fabric, servers=servers, region=region), \
                    Cluster(fabric, memory_servers=servers, compute_servers=2, durability="flushed") as cluster, \
                    NewHost(cluster, name) as first, NewHost(cluster, name, tag="third") as second, \
                    Process(cluster, "compute-0") as compute, Process(cluster, f"memory-{1 if region == 0 else 0}") as other, \
                    Process(cluster, name) as old:
                bank = self.bank(cluster)
                second.old = first.address
                load = Load(bank, servers=(0, 1))
                with load:
                    self.await_commits(load)
                    self.moved(cluster, first)
                    self.await_commits(load)
                    self.assertEqual(states(cluster, first.old)[0], (first.old, "departed"))
                    cluster.kill(name)
                    self.await_commits(load)
                    self.moved(cluster, second)
                    self.await_commits(load)
                self.check(bank, load)
                # Where it was first there is nobody, and where it was then nobody says more than that it has gone.
                compute.restart()
                self.await_all(cluster)
                first.kill()
                other.restart()
                self.await_all(cluster)
                self.await_all(cluster, server=1)
                # Nobody but the other memory servers knows now.
                compute.restart()
                self.await_all(cluster)
                load = Load(bank, servers=(0, 1), seed=2)
                with load:
                    self.await_commits(load)
                self.check(bank, load, server=1)
                # The first host comes back, and does not know what happened to it. The others tell it, and it lets them be.
                (cluster.data / name / "data" / "place").unlink()
                load = Load(bank, servers=(0, 1), seed=3)
                with load:
                    old.restart()
                    until(lambda: states(cluster, first.old)[0] == (first.old, "departed"), "it knows that it has no region")
                    self.await_commits(load)
                self.check(bank, load)

    def test_the_old_host_answers_nobody_behind_the_switch(self):
        shapes = [(servers, region) for servers in (2, 3) for region in (0, servers - 1)]
        for fabric, number, (servers, region) in self.covering(
                itertools.product(FABRICS, (signal.SIGKILL, signal.SIGSTOP), shapes)):
            name = f"memory-{region}"
            with self.subTest(fabric=fabric, number=number, servers=servers, region=region), \
                    Cluster(fabric, memory_servers=servers, compute_servers=2, durability="flushed") as cluster, \
                    NewHost(cluster, name) as host, Process(cluster, "compute-0") as compute:
                bank = self.bank(cluster)
                load = Load(bank, servers=(0, 1))
                old = cluster.pid(name)
                with load:
                    self.await_commits(load)
                    command = [program("namctl"), "memory", "drain", host.old, "--to", host.address, "--data", str(cluster.data)]
                    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as mover:
                        # The new host has its answer: it makes room for the region.
                        until(lambda: " MiB on " in host.log(), "the region is given up")
                        os.kill(old, number)
                        self.await_commits(load)
                        mover.kill()
                self.check(bank, load)
                compute.restart()
                self.await_all(cluster)
                if number == signal.SIGSTOP:
                    os.kill(old, signal.SIGCONT)
                    until(lambda: states(cluster, host.old)[0] == (host.old, "departed"), "the old host says where the region is")
                self.check(bank, load)


if __name__ == "__main__":
    main()
