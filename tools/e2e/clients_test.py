"""Clients that no server should be troubled by: garbage, half messages, huge lengths, sudden ends."""
import os
import random
import resource
import socket
import struct
import unittest
from pathlib import Path

from harness import Cluster, RawClient, TestCase, alive, main, sqlstate_of, until


class HostileClients(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster()
        cls.cluster.__enter__()
        cls.pid = cls.cluster.pid("compute-0")
        cls.cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
        cls.cluster.query("INSERT INTO t VALUES (1, 10)")

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()

    def tearDown(self):
        self.assertTrue(alive(self.pid), self.cluster.log("compute-0")[-2000:])
        self.assert_serves(self.cluster)

    def test_garbage_instead_of_a_start_up(self):
        generator = random.Random(1)
        for _ in range(50):
            with self.cluster.raw() as client:
                client.send(generator.randbytes(generator.randrange(8, 200)))
                client.socket.shutdown(socket.SHUT_WR)
                client.until_closed()

    def test_garbage_after_the_start_up(self):
        generator = random.Random(2)
        for _ in range(50):
            with self.cluster.raw() as client:
                client.start()
                client.send(generator.randbytes(generator.randrange(1, 200)))
                client.socket.shutdown(socket.SHUT_WR)
                client.until_closed()

    def test_well_framed_messages_with_garbage_inside(self):
        generator = random.Random(3)
        for _ in range(200):
            with self.cluster.raw() as client:
                client.start()
                kind = generator.choice("QPBDECHSXFfdcp")
                client.send(client.message(kind, generator.randbytes(generator.randrange(0, 64))) + client.message("S"))
                client.socket.shutdown(socket.SHUT_WR)
                client.until_closed()

    def test_half_a_message_and_then_nothing(self):
        whole = RawClient.message("Q", b"SELECT v FROM t WHERE id = 1\0")
        for length in range(1, len(whole)):
            with self.cluster.raw() as client:
                client.start()
                client.send(whole[:length])

    def test_half_a_start_up_and_then_nothing(self):
        for length in range(1, 12):
            with self.cluster.raw() as client:
                client.send(struct.pack("!III", 100, 196608, 0)[:length])

    def test_a_length_of_two_gigabytes_is_refused_at_once(self):
        for length in (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0, 3):
            for started in (False, True):
                with self.cluster.raw() as client:
                    if started:
                        client.start()
                        client.send(b"Q")
                    client.send(struct.pack("!I", length) + b"x" * 8)
                    data = client.until_closed()
                    if started:
                        self.assertIn(b"08P01", data)

    def test_a_message_that_comes_byte_by_byte_is_understood(self):
        with self.cluster.raw() as client:
            client.start()
            for byte in RawClient.message("Q", b"SELECT v FROM t WHERE id = 1\0"):
                client.send(bytes([byte]))
            messages = client.until_ready()
            self.assertIsNone(sqlstate_of(messages))
            self.assertIn("D", [kind for kind, _ in messages])

    def test_whoever_vanishes_in_mid_transaction_leaves_nothing_behind(self):
        for end in ("close", "reset"):
            client = self.cluster.raw()
            client.start()
            client.query("BEGIN")
            client.query("UPDATE t SET v = 99 WHERE id = 1")
            if end == "reset":
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.socket.close()
            self.assertEqual(self.cluster.query("SELECT v FROM t WHERE id = 1"), [(10,)])
            self.cluster.query("UPDATE t SET v = v + 0 WHERE id = 1")

    def test_tables_of_an_unfinished_block_go_with_its_client(self):
        client = self.cluster.raw()
        client.start()
        client.query("BEGIN")
        client.query("CREATE TABLE unfinished (id int PRIMARY KEY)")
        client.query("INSERT INTO unfinished VALUES (1)")
        client.socket.close()
        until(lambda: not self.cluster.query("SELECT 1 FROM pg_class WHERE relname = 'unfinished'"), "the table goes")
        self.cluster.query("CREATE TABLE unfinished (id int PRIMARY KEY)")
        self.cluster.query("DROP TABLE unfinished")

    def test_whoever_vanishes_while_statements_run(self):
        for _ in range(30):
            with self.cluster.raw() as client:
                client.start()
                client.send(RawClient.message("Q", b"UPDATE t SET v = v + 0 WHERE id = 1\0") * 20)

    def test_whoever_never_reads_does_not_stop_the_others(self):
        with self.cluster.raw() as client:
            client.start()
            client.socket.settimeout(2)
            with self.assertRaises((TimeoutError, ConnectionError)):
                # More answers than the sockets hold: at some point the server stops to read.
                for _ in range(100_000):
                    client.send(RawClient.message("Q", b"SELECT v FROM t\0") * 100)
            self.assert_serves(self.cluster)

    def test_the_wrong_database_and_protocol_versions_are_refused(self):
        with self.cluster.raw() as client:
            body = b"user\0x\0database\0elsewhere\0\0"
            client.send(struct.pack("!II", len(body) + 8, 196608) + body)
            self.assertIn(b"3D000", client.until_closed())
        with self.cluster.raw() as client:
            client.send(struct.pack("!II", 8, 2 << 16))
            client.until_closed()

    def test_many_connections_at_once(self):
        clients = [self.cluster.raw() for _ in range(300)]
        for client in clients:
            client.start()
        for client in clients:
            self.assertIsNone(sqlstate_of(client.query("SELECT v FROM t WHERE id = 1")))
        for client in clients:
            client.socket.close()


    def test_clients_that_take_all_descriptors_are_outlived(self):
        pid = self.cluster.pid("compute-0")
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        limit = len(os.listdir(f"/proc/{pid}/fd")) + 20
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, before[1]))
        try:
            silent = [self.cluster.raw() for _ in range(60)]
            until(lambda: len(os.listdir(f"/proc/{pid}/fd")) >= limit, "no descriptor is left")
            for client in silent:
                client.socket.close()
            self.assert_serves(self.cluster)
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


class BoundedMemory(TestCase):
    def resident_bytes(self, cluster):
        for line in Path(f"/proc/{cluster.pid('compute-0')}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def kept_bytes(self, cluster):
        [(value,)] = cluster.query(
            "SELECT value FROM namdb_statistics WHERE name = 'memory' AND metric = 'client_bytes'")
        return value

    def test_many_prepared_statements_and_unfinished_messages_are_bounded_and_leave_nothing(self):
        limit_bytes = 64 << 20
        with Cluster(compute_flags=(f"--client-memory-bytes={limit_bytes}",)) as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
            idle = self.kept_bytes(cluster)
            with cluster.raw() as client:
                client.start()
                before = self.resident_bytes(cluster)
                for i in range(0, 10_000, 100):
                    for k in range(i, i + 100):
                        text = f"s{k}\0SELECT v FROM t WHERE id = $1 AND v > {k}\0\0\0"
                        client.send(RawClient.message("P", text.encode()))
                    client.send(RawClient.message("S"))
                    self.assertIsNone(sqlstate_of(client.until_ready()))
                self.assertLess(self.resident_bytes(cluster) - before, 40_000_000)
                self.assertLess(self.kept_bytes(cluster), 30_000_000)
            until(lambda: self.kept_bytes(cluster) <= idle, "the prepared statements' end")
            before = self.resident_bytes(cluster)
            clients = [cluster.raw() for _ in range(20)]
            refused = 0
            for client in clients:
                client.start()
                try:
                    client.send((b"Q" + struct.pack("!I", 15 << 20)).ljust(14 << 20, b"x"))
                except ConnectionError:
                    refused += 1
                self.assert_serves(cluster)
            self.assertLess(self.resident_bytes(cluster) - before, 3 * limit_bytes)
            for client in clients:
                client.socket.settimeout(0.2)
                try:
                    refused += b"53200" in client.until_closed()
                except TimeoutError:
                    pass  # its message is still awaited
                client.socket.close()
            self.assertGreater(refused, 10)
            until(lambda: self.kept_bytes(cluster) <= idle, "the unfinished messages' end")


class HostilePeers(TestCase):
    def test_garbage_on_the_fabrics_port(self):
        generator = random.Random(4)
        with Cluster("tcp") as cluster:
            host, port = cluster.state["memory_servers"][0]["address"].split(":")
            for _ in range(50):
                with socket.create_connection((host, int(port))) as peer:
                    peer.sendall(generator.randbytes(generator.randrange(1, 500)))
            self.assert_serves(cluster)
            self.assertTrue(alive(cluster.pid("memory-0")))

    def test_garbage_on_the_shared_memory_socket(self):
        generator = random.Random(5)
        with Cluster("shm") as cluster:
            path = cluster.state["memory_servers"][0]["address"].removeprefix("unix:")
            for _ in range(50):
                with socket.socket(socket.AF_UNIX) as peer:
                    peer.connect(path)
                    peer.sendall(generator.randbytes(generator.randrange(1, 500)))
            self.assert_serves(cluster)
            self.assertTrue(alive(cluster.pid("memory-0")))


if __name__ == "__main__":
    main()
