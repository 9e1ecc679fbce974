"""Encrypted connections between real daemons over tcp: everything works as over plain ones, daemons with different settings
refuse each other with the reason, and connections to other machines are encrypted without being told."""
import json
import os
import socket
import tempfile
from pathlib import Path

from harness import Cluster, Daemon, TestCase, free_port, main, namctl, program, run, until


def encrypted(fabric="tcp", **options):
    cluster = Cluster(fabric, memory_servers=2, compute_servers=2, **options)
    cluster.flags += ["--fabric-encryption", "required"]
    return cluster


def view_fabric(*flags):
    done = namctl("fabric", "--json", *flags)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def outside_address():
    """An address of this machine that is not loopback, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        try:
            route.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = route.getsockname()[0]
    return None if address.startswith("127.") else address


class Encrypted(TestCase):
    def assert_encrypted(self, *flags, connections=4, mapped=0):
        view = view_fabric(*flags)
        facts = [c["facts"] for server in view["compute_servers"] for c in server["connections"]]
        self.assertEqual(len(facts), connections)
        self.assertEqual(sorted(f.get("encryption", "") for f in facts), [""] * mapped + ["AES-128-GCM"] * (connections - mapped))
        for server in view["memory_servers"]:
            self.assertEqual(server["facts"]["encrypted_peers"], server["facts"]["peers"])

    def test_a_cluster_works_and_comes_back(self):
        with encrypted(durability="flushed") as cluster:
            self.assert_encrypted("--data", cluster.data)
            ports = f"{cluster.port},{cluster.port + 1}"
            for command in (("load", "smallbank", "--accounts", 200, "--port", cluster.port, "--quiet"),
                            ("run", "smallbank", "--port", ports, "--clients", 8, "--transactions", 500, "--quiet")):
                done = run(program("nambench"), *command)
                self.assertEqual(done.returncode, 0, done.stderr)
            for name in ("memory-1", "memory-0", "compute-0"):
                cluster.kill(name)
                cluster.up()
                until(lambda: cluster.answers_everywhere("SELECT count(*) FROM accounts"), f"answers after the end of {name}")
            self.assertEqual(cluster.query("SELECT count(*) FROM accounts", server=1), [(200,)])
            self.assertEqual(namctl("checkpoint", "--data", cluster.data).returncode, 0)
            self.assertEqual(namctl("status", "--data", cluster.data).returncode, 0)
            self.assert_encrypted("--data", cluster.data)
            # It keeps its settings.
            self.assertEqual(namctl("dev", "down", "--data", cluster.data).returncode, 0)
            flags, cluster.flags = cluster.flags, ["--data", cluster.data]
            cluster.up()
            cluster.flags = flags
            self.assertEqual(cluster.query("SELECT count(*) FROM accounts"), [(200,)])
            self.assert_encrypted("--data", cluster.data)

    def test_long_rows_and_many_pass(self):
        with encrypted() as cluster, cluster.connect() as connection:
            connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            with connection.cursor().copy("COPY t FROM STDIN") as copy:
                for key in range(20_000):
                    copy.write_row((key, "x" * (key % 250)))
            rows = connection.execute("SELECT count(*), sum(length(v)) FROM t").fetchone()
            self.assertEqual(rows, (20_000, sum(key % 250 for key in range(20_000))))

    def test_beside_a_local_path(self):
        with encrypted("tcp+shm") as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v bigint)")
            cluster.query("INSERT INTO t VALUES " + ", ".join(f"({key}, 1)" for key in range(100)))
            self.assertEqual(cluster.query("SELECT sum(v) FROM t", server=1), [(100,)])
            self.assert_encrypted("--data", cluster.data, mapped=2)

    def test_tools_reach_it_by_address(self):
        with encrypted() as cluster:
            addresses = [server["address"] for server in cluster.state["memory_servers"]]
            flags = [flag for address in addresses for flag in ("--memory-server", address)]
            flags += ["--cluster-key", cluster.data / "cluster.key"]
            done = namctl("status", *flags)
            self.assertEqual(done.returncode, 1)
            self.assertIn("--fabric-encryption", done.stdout + done.stderr)
            flags += ["--fabric-encryption", "required"]
            self.assertEqual(namctl("status", *flags).returncode, 0)
            done = run(program("nambench"), "load", "smallbank", "--accounts", 50, "--port", cluster.port, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            done = run(program("nambench"), "run", "smallbank", "--engine", *flags, "--clients", 4, "--transactions", 50, "--quiet")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(namctl("shutdown", *flags).returncode, 0)


class MixedSettings(TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.key = Path(self.folder.name) / "key"
        self.key.write_bytes(os.urandom(32))
        self.key.chmod(0o600)

    def tearDown(self):
        self.folder.cleanup()

    def memory_server(self, address, *flags, log):
        return Daemon(self.folder.name, "nam-memoryd", "--fabric", "tcp", "--listen", address, "--region-bytes", "32MiB",
                      "--cluster-key", str(self.key), *flags, stderr=log)

    def test_sides_with_and_without_encryption_refuse_each_other(self):
        for memory, compute in (("required", "off"), ("off", "required")):
            with self.subTest(memory=memory), tempfile.TemporaryFile("w+") as log:
                address = f"127.0.0.1:{free_port()}"
                with self.memory_server(address, "--fabric-encryption", memory, "--durability", "memory", log=log) as server:
                    server.until_told("READY=1")
                    done = run(program("nam-computed"), "--data", self.folder.name + "/c", "--fabric", "tcp", "--memory-server",
                               address, "--listen", f"127.0.0.1:{free_port()}", "--cluster-key", self.key,
                               "--fabric-encryption", compute)
                    self.assertEqual(done.returncode, 3, done.stderr)
                    self.assertIn(address, done.stderr)
                    self.assertIn("encrypt", done.stderr)
                    self.assertIn("--fabric-encryption", done.stderr)
                    self.assertNotIn("sha256sum", done.stderr)

                    def told():
                        log.seek(0)
                        return "encrypt" in log.read()
                    until(told, "the server's line")

    def test_what_cannot_be_encrypted_is_wrong_usage(self):
        for name, flags in (("nam-memoryd", ()), ("nam-computed", ("--memory-server", "127.0.0.1:7400"))):
            for more, word in ((("--fabric", "verbs", "--cluster-key", self.key), "cannot encrypt"),
                               (("--fabric", "tcp"), "--cluster-key")):
                done = run(program(name), "--data", self.folder.name, *flags, *more, "--fabric-encryption", "required")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)

    def test_connections_to_other_machines_are_encrypted_without_being_told(self):
        host = outside_address()
        if host is None:
            self.skipTest("this machine has loopback only")
        address = f"{host}:{free_port()}"
        with tempfile.TemporaryFile("w+") as log, \
                self.memory_server(address, "--durability", "memory", log=log) as server:
            server.until_told("READY=1")
            flags = ("--memory-server", address, "--cluster-key", self.key)
            done = namctl("fabric", *flags, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            # That one is namctl.
            facts = json.loads(done.stdout)["memory_servers"][0]["facts"]
            self.assertEqual((facts["peers"], facts["encrypted_peers"]), (1, 1))
            self.assertEqual(namctl("status", *flags, "--fabric-encryption", "off").returncode, 1)


if __name__ == "__main__":
    main()
