"""Refusals of daemons over RDMA, with their reasons: peers beyond the device's limits, devices that are not there, limits
that are too small, wrong keys. Part of verbs_test."""
import contextlib
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import VERBS_ADDRESS, Cluster, TestCase, namctl, program, run, until


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class WithoutRoom(TestCase):
    """A memory server whose device gives it no more queue pairs, memory windows or registrations: the kernel's limit
    for groups."""
    GROUP = Path("/sys/fs/cgroup/no-room")

    def limit(self, objects):
        (self.GROUP / "rdma.max").write_text(f"rx0 hca_object={objects}")

    def setUp(self):
        run("mount", "-t", "cgroup2", "none", self.GROUP.parent)
        (self.GROUP.parent / "cgroup.subtree_control").write_text("+rdma")
        self.GROUP.mkdir(exist_ok=True)

    def check(self, keys, *missing):
        with Cluster("verbs", region="64MiB", memory_flags=("--heartbeat-timeout-seconds=20",
                                                            f"--rdma-region-keys={keys}")) as cluster:
            (self.GROUP / "cgroup.procs").write_text(str(cluster.pid("memory-0")))
            for objects, words in enumerate(missing):
                # The limit counts only objects that are made after this.
                self.limit(objects)
                done = namctl("status", "--data", cluster.data)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn("DOWN", done.stdout)
                until(lambda words=words: words in cluster.log("memory-0"), f"a line that says {words}")
                cluster.query("SELECT 1")
                self.assertEqual(cluster.query("CREATE TABLE IF NOT EXISTS t (id bigint PRIMARY KEY)"), [])
            self.limit("max")
            done = namctl("status", "--data", cluster.data)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_peers_are_refused_and_the_others_served(self):
        self.check("windows", "no queue pair", "no memory window")

    def test_peers_are_refused_that_each_need_a_registration(self):
        self.check("registrations", "no queue pair", "refuses to register a region")


@unittest.skipUnless(VERBS_ADDRESS, "there is no RDMA device")
class WrongStarts(TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.data = Path(self.folder.name)
        os.chmod(self.data, 0o755)

    def tearDown(self):
        self.folder.cleanup()

    def key(self, name):
        path = self.data / name
        path.write_bytes(os.urandom(32))
        path.chmod(0o600)
        return path

    def memory_command(self, address, *more):
        return [program("nam-memoryd"), "--data", self.data / "m", "--fabric", "verbs", "--listen", address,
                "--region-bytes", "16MiB", *more]

    @contextlib.contextmanager
    def memory_server(self, address, *more):
        """One that is ready."""
        command = self.memory_command(address, *more)
        with subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True) as memory:
            for line in memory.stderr:
                if "ready at" in line:
                    break
            try:
                yield
            finally:
                memory.terminate()

    def test_an_address_without_a_device_is_refused(self):
        done = run(*self.memory_command("192.0.2.1:7400", "--cluster-key", self.key("key")))
        self.assertEqual(done.returncode, 3, done.stderr)
        for address in ("0.0.0.0:7400", "127.0.0.1:7400"):
            done = run(*self.memory_command(address, "--cluster-key", self.key("key")))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("RDMA device", done.stderr)

    def test_devices_ports_and_gids_that_are_not_there_are_refused(self):
        key = ("--cluster-key", self.key("key"))
        for choice, words in ((("mlx5_9",), "there is no RDMA device mlx5_9 (this machine has rx0, rx1, rxl)"),
                              (("rx0", "--rdma-port", 2), "there is no port 2 of the RDMA device rx0"),
                              (("rx0", "--rdma-gid-index", 9), "has no GID with index 9"),
                              (("rx0", "--rdma-gid-index", 0), "no IPv4 address"),
                              (("rx1",), "of the RDMA device rx0, GID 1 (::ffff:10.2.0.1), not with the RDMA device rx1")):
            done = run(*self.memory_command(VERBS_ADDRESS + ":7504", *key, "--rdma-device", *choice))
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(words, done.stderr)
            # Before it asks anybody; a compute server has no address of its own but that of the device.
            done = run(program("nam-computed"), "--data", self.data / "c", "--fabric", "verbs", "--memory-server",
                       VERBS_ADDRESS + ":7504", "--rdma-source", VERBS_ADDRESS, *key, "--rdma-device", *choice)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_device_alone_says_where_to_listen(self):
        self.assert_listens(("--rdma-device", "rx0"), VERBS_ADDRESS + ":7400")
        (self.data / "verbs.toml").write_text('rdma-device = "rx1"\nrdma-port = 1\nrdma-gid-index = 1\n')
        self.assert_listens(("--config", self.data / "verbs.toml"), "10.2.0.2:7400")

    def assert_listens(self, flags, address):
        command = [program("nam-memoryd"), "--data", self.data / "m", "--fabric", "verbs", "--region-bytes", "16MiB",
                   "--cluster-key", self.key("key"), *flags]
        with subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True) as memory:
            said = []
            for line in memory.stderr:
                said.append(line)
                if "ready at" in line:
                    break
            memory.terminate()
        self.assertIn(f"ready at {address} (verbs)", "".join(said))

    def test_a_key_is_needed(self):
        done = run(*self.memory_command(VERBS_ADDRESS + ":7500"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cluster key", done.stderr)

    def test_a_local_path_is_refused_where_the_device_has_atomics_of_its_own(self):
        done = run(*self.memory_command(VERBS_ADDRESS + ":7505", "--cluster-key", self.key("key"), "--listen-local",
                                        f"unix:{self.data}/m.sock"))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("the RDMA device's atomics are not atomic with the CPU", done.stderr)

    def test_shared_queue_pairs_are_refused_where_there_are_none(self):
        for flags, words in ((("--fabric", "tcp"), "no queue pairs"),
                             (("--fabric", "verbs", "--rdma-calls", "ud"), "--rdma-calls rc only")):
            done = run(program("nam-computed"), "--data", self.data / "c", "--memory-server", VERBS_ADDRESS + ":7503",
                       "--queue-pairs", "shared", *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_a_limit_of_locked_memory_that_is_too_small_names_the_cure(self):
        user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all",
                "prlimit", "--memlock=4194304:4194304")
        os.chmod(self.data, 0o777)
        address, key = VERBS_ADDRESS + ":7501", self.key("key")
        os.chown(key, 65534, 65534)
        done = run(*user, *self.memory_command(address, "--cluster-key", key))
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("LimitMEMLOCK=infinity", done.stderr)
        # So does a compute server, of its buffers.
        same = self.key("same")
        same.write_bytes(key.read_bytes())
        with self.memory_server(address, "--cluster-key", same):
            done = run(*user, program("nam-computed"), "--data", self.data / "c", "--fabric", "verbs", "--memory-server",
                       address, "--listen", "127.0.0.1:0", "--cluster-key", key)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("LimitMEMLOCK=infinity", done.stderr)

    def test_a_wrong_key_gets_nowhere(self):
        right, wrong = self.key("right"), self.key("wrong")
        address = VERBS_ADDRESS + ":7502"
        with self.memory_server(address, "--cluster-key", right, "--rdma-region-keys", "registrations"):
            for key, word in ((wrong, "cluster key"), (None, "cluster key")):
                keys = ("--cluster-key", key) if key else ()
                done = run(program("nam-computed"), "--data", self.data / "c", "--fabric", "verbs",
                           "--memory-server", address, "--listen", "127.0.0.1:0", *keys)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(word, done.stderr)
            done = namctl("status", "--fabric", "verbs", "--memory-server", address, "--cluster-key", right)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
