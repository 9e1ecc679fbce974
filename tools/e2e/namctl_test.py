"""namctl: starting and stopping twice, busy ports, folders in use, stale pid files, what it reports."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from harness import FABRICS, Cluster, TestCase, alive, main, namctl, program, until


class StandardOutput(TestCase):
    TOOLS = ("namctl", "nambench", "namsim", "sqltest")

    def test_a_reader_that_is_gone_ends_a_tool_quietly(self):
        for tool in self.TOOLS:
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([program(tool), "--help"], stdout=writer, stderr=subprocess.PIPE, check=False)
            os.close(writer)
            self.assertEqual((tool, done.returncode, done.stderr), (tool, 128 + signal.SIGPIPE, b""))

    def test_a_report_that_cannot_be_written_is_a_failure(self):
        for tool in self.TOOLS:
            with open("/dev/full", "wb") as full:
                done = subprocess.run([program(tool), "--help"], stdout=full, stderr=subprocess.PIPE, check=False)
            self.assertEqual((tool, done.returncode), (tool, 1))
            self.assertIn(b"standard output cannot be written", done.stderr)

    def test_a_cluster_is_up_though_nobody_reads_how(self):
        cluster = Cluster()
        reader, writer = os.pipe()
        os.close(reader)
        with cluster:
            cluster.kill("compute-0")
            command = [program("namctl"), "dev", "up", *map(str, cluster.flags)]
            done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
            os.close(writer)
            self.assertEqual(done.returncode, 128 + signal.SIGPIPE, done.stderr)
            self.assert_serves(cluster)


class EngineFlags(TestCase):
    def test_protocol_and_stages_are_the_clusters_until_it_is_down(self):
        cluster = Cluster()
        cluster.flags += ["--protocol", "occ", "--stages", "lock,install"]
        with cluster:
            self.assertEqual(self.engine(cluster), ("occ", "lock,install"))
            done = namctl("dev", "up", "--data", cluster.data, "--protocol", "si")
            self.assertEqual(done.returncode, 3)
            self.assertIn("protocol occ, stages lock,install", done.stderr)
#Started again without its flags.
            cluster.kill("memory-0")
            done = namctl("dev", "up", "--data", cluster.data)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.engine(cluster), ("occ", "lock,install"))

    @staticmethod
    def engine(cluster):
        done = namctl("status", "--data", cluster.data, "--json")
        (server,) = json.loads(done.stdout)["memory_servers"]
        return server.get("protocol", done.stderr), server.get("stages")

    def test_what_does_not_exist_is_refused_by_name(self):
        with tempfile.TemporaryDirectory() as folder:
            for flag, value, word in (("--durability", "eternal", "--durability"), ("--protocol", "hope", "--protocol"),
                                      ("--stages", "walk", "--stages")):
                done = namctl("dev", "up", "--data", Path(folder) / "c", flag, value)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertFalse((Path(folder) / "c").exists())


class StartAndStop(TestCase):
    def test_up_serves_and_down_ends_every_daemon(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster:
                self.assert_serves(cluster)
                pids = [cluster.pid("memory-0"), cluster.pid("compute-0")]
                done = namctl("dev", "down", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(json.loads(done.stdout)["stopped"], 2)
                self.assertFalse(any(alive(pid) for pid in pids))

    def test_down_twice_is_no_error(self):
        with Cluster() as cluster:
            for stopped in (2, 0):
                done = namctl("dev", "down", "--data", cluster.data, "--json")
                self.assertEqual((done.returncode, json.loads(done.stdout)["stopped"]), (0, stopped))

    def test_up_twice_keeps_what_runs(self):
        with Cluster() as cluster:
            before = cluster.state
            cluster.up()
            self.assertEqual([d["pid"] for d in cluster.state["compute_servers"]],
                             [d["pid"] for d in before["compute_servers"]])
            self.assertFalse(any(d["started"] for d in cluster.state["memory_servers"]))

    def test_up_after_a_death_starts_only_what_died(self):
        with Cluster() as cluster:
            memory = cluster.pid("memory-0")
            cluster.kill("compute-0")
            cluster.up()
            self.assertEqual(cluster.pid("memory-0"), memory)
            self.assert_serves(cluster)

    def test_what_died_starts_again_as_it_was_told_at_first(self):
        with Cluster(region="48MiB", memory_flags=["--extent-size=256KiB"],
                     compute_flags=["--max-connections=7"]) as cluster:
            before = self.commands(cluster)
            for name in ("memory-0", "compute-0"):
                cluster.kill(name)
                done = namctl("dev", "up", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                cluster.state = json.loads(done.stdout)
                self.assertEqual(self.commands(cluster), before)
            done = namctl("dev", "up", "--data", cluster.data, "--region-bytes", "64MiB")
            self.assertEqual(done.returncode, 3)
            self.assertIn("regions of 48MiB", done.stderr)

    @staticmethod
    def commands(cluster):
        return [Path(f"/proc/{cluster.pid(name)}/cmdline").read_bytes() for name in ("memory-0", "compute-0")]

    def test_up_after_down_serves_again(self):
        with Cluster() as cluster:
            namctl("dev", "down", "--data", cluster.data)
            cluster.up()
            self.assert_serves(cluster)

    def test_a_folder_with_a_running_cluster_of_other_options_is_refused(self):
        with Cluster("shm") as cluster:
            done = namctl("dev", "up", "--data", cluster.data, "--fabric", "tcp")
            self.assertEqual(done.returncode, 3)
            self.assertIn("other options", done.stderr)
            self.assert_serves(cluster)

    def test_a_busy_port_is_named_and_nothing_is_left_running(self):
        cluster = Cluster()
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", cluster.port))
            listener.listen()
            done = namctl("dev", "up", *cluster.flags)
            self.assertEqual(done.returncode, 3)
            self.assertIn(str(cluster.port), done.stderr)
        self.assertEqual(json.loads(namctl("dev", "down", "--data", cluster.data, "--json").stdout)["stopped"], 0)
        cluster.__exit__()

    def test_a_pid_file_of_a_process_that_we_did_not_start_kills_nobody(self):
        with subprocess.Popen(["sleep", "1000"]) as stranger, Cluster() as cluster:
            cluster.kill("compute-0")
            file = cluster.data / "run" / "compute-0.pid"
            content = json.loads(file.read_text())
            content["pid"] = stranger.pid
            file.write_text(json.dumps(content))
            namctl("dev", "down", "--data", cluster.data)
            self.assertIsNone(stranger.poll())
            stranger.kill()

    def test_a_long_folder_name_works(self):
        with tempfile.TemporaryDirectory() as folder:
            data = Path(folder) / ("long-" * 20) / ("name-" * 10)
            cluster = Cluster()
            cluster.data.rmdir()
            cluster.data = data
            cluster.flags[1] = data
            with cluster:
                self.assert_serves(cluster)

    def test_every_compute_server_has_a_port(self):
        with Cluster(compute_servers=2) as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            cluster.query("INSERT INTO t VALUES (1, 'x')", server=1)
            for server in (0, 1):
                self.assertEqual(cluster.query("SELECT v FROM t WHERE id = 1", server=server), [("x",)])


class KeepsData(TestCase):
    """By default: no --durability is given."""

    @staticmethod
    def default_cluster(**options):
        cluster = Cluster(**options)
        at = cluster.flags.index("--durability")
        del cluster.flags[at:at + 2]
        return cluster

    def test_down_and_up_keep_the_data_and_the_options(self):
        cluster = self.default_cluster(memory_flags=["--extent-size=256KiB"])
        cluster.flags += ["--protocol", "occ"]
        with cluster:
            self.assertEqual(cluster.state["durability"], "flushed")
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            cluster.query("INSERT INTO t VALUES (1, 'x')")
            before = StartAndStop.commands(cluster)
            self.assertEqual(namctl("dev", "down", "--data", cluster.data).returncode, 0)
            done = namctl("dev", "up", "--data", cluster.data, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            cluster.state = json.loads(done.stdout)
            self.assertEqual(StartAndStop.commands(cluster), before)
            self.assertEqual(cluster.query("SELECT id, v FROM t"), [(1, "x")])

    def test_options_that_do_not_go_with_the_data_are_refused_until_it_is_discarded(self):
        with self.default_cluster() as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            namctl("dev", "down", "--data", cluster.data)
            for flags, word in ((["--durability", "memory"], "has data on disk"),
                                (["--memory-servers", "2"], "has the data of 1 memory server")):
                done = namctl("dev", "up", "--data", cluster.data, *flags)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertIn("--discard", done.stderr)
            self.assertEqual(namctl("dev", "down", "--discard", "--data", cluster.data).returncode, 0)
            self.assertFalse((cluster.data / "memory-0").exists())
            cluster.up()
            self.assertEqual(cluster.query("SELECT table_name FROM namdb_tables"), [])

    def test_several_memory_servers_keep_their_data_too(self):
        with self.default_cluster(memory_servers=2) as cluster:
            self.assertEqual(cluster.state["durability"], "flushed")
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
            cluster.query("INSERT INTO t VALUES (1), (2), (3)")
            namctl("dev", "down", "--data", cluster.data)
            cluster.up()
            self.assertEqual(cluster.query("SELECT count(*) FROM t"), [(3,)])


class Looking(TestCase):
    def test_status_and_top_report_every_server(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), self.shared(fabric, memory_servers=2) as cluster:
                cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
                done = namctl("status", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                status = json.loads(done.stdout)
                self.assertTrue(status["all_up"])
                self.assertEqual([s["server_id"] for s in status["memory_servers"]], [0, 1])
                self.assertIn("t", [t["name"] for t in status["memory_servers"][0]["tables"]])
                self.assertIn("t", namctl("status", "--data", cluster.data).stdout)
                done = namctl("top", "--data", cluster.data, "--count", "2", "--interval", "0.1", "--json")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(len([json.loads(line) for line in done.stdout.splitlines()]), 2)

    def test_memory_accounts_for_every_byte_of_each_region(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), \
                    Cluster(fabric, memory_servers=2, memory_flags=["--extent-size=256KiB"]) as cluster:
                cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
                with cluster.connect() as connection:
                    for i in range(100):
                        connection.execute("INSERT INTO t VALUES (%s, 'x')", [i])
                        connection.execute("UPDATE t SET v = 'y' WHERE id = %s", [i])
                done = namctl("memory", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                servers = json.loads(done.stdout)["memory_servers"]
                self.assertEqual([s["server_id"] for s in servers], [0, 1])
                for server in servers:
                    self.assertEqual(server["extent_bytes"], 256 * 1024)
                    self.assertEqual(sum(part["bytes"] for part in server["parts"]), server["region_bytes"])
                    self.assertEqual(server["sum"]["bytes"], server["region_bytes"])
                    for part in server["parts"]:
                        self.assertEqual(part["bytes"], sum(part[kind + "_bytes"] for kind in (
                            "used", "reserved", "waiting", "free", "unusable")))
                    self.assertIn(("t", "records"), [(p.get("table"), p["purpose"]) for p in server["parts"]])
                done = namctl("memory", "--data", cluster.data)
                self.assertEqual(done.returncode, 0)
                self.assertIn("t: records with their rings", done.stdout)
                self.assertIn("free extents", done.stdout)

    def test_top_shows_the_activity_of_one_interval(self):
        with Cluster() as cluster:
            cluster.query("CREATE TABLE t (id bigint PRIMARY KEY, v text)")
            cluster.query("INSERT INTO t VALUES (1, 'x')")
            cluster.query("UPDATE t SET v = 'y' WHERE id = 1")
            done = namctl("top", "--data", cluster.data, "--once", "--interval", "0.1", "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            view = json.loads(done.stdout)
            memory = view["memory_servers"][0]
            self.assertEqual(memory["backlog"]["sampled_ring_slots"], 8)
            self.assertEqual(memory["ring_fill"], 1 / 8)
            self.assertIn("versions_moved", memory["per_second"])
            self.assertIn("commits", view["compute_servers"][0]["per_second"])
            self.assertIn("rings 12.5 % full", namctl("top", "--data", cluster.data, "--count", "1").stdout)
#A reader that stays, as a snapshot that grows older.
            with cluster.connect(autocommit=False) as reader:
                reader.execute("SELECT * FROM t")
                until(lambda: json.loads(namctl("top", "--data", cluster.data, "--count", "1", "--json").stdout)
                      ["memory_servers"][0]["backlog"]["oldest_snapshot_ns"] > 0, "the reader's snapshot")

    def test_fabric_describes_every_connection(self):
        own = {"shm": {"mapped_bytes", "wakes"}, "tcp": {"path_mtu_bytes", "retransmitted_segments"}}
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric, memory_servers=2, compute_servers=2,
                                                      compute_flags=("--workers=2",)) as cluster:
                cluster.query("CREATE TABLE t (id bigint PRIMARY KEY)")
                cluster.query("INSERT INTO t VALUES (1)")
                done = namctl("fabric", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
                view = json.loads(done.stdout)
                self.assertTrue(view["all_up"])
                self.assertEqual([(s["server_id"], s["fabric"]) for s in view["memory_servers"]],
                                 [(0, fabric), (1, fabric)])
#Two workers of two compute servers; the tool itself may be one more.
                for server in view["memory_servers"]:
                    self.assertIn(server["facts"]["peers"], (4, 5))
                for server in view["compute_servers"]:
                    self.assertEqual([(c["worker"], c["memory_server"]) for c in server["connections"]],
                                     [(0, 0), (0, 1), (1, 0), (1, 1)])
                    for connection in server["connections"]:
                        self.assertEqual(connection["facts"]["fabric"], fabric)
                        self.assertEqual(connection["facts"]["failed"], 0)
                        self.assertLessEqual(own[fabric], set(connection["facts"]))
                self.assertGreater(view["compute_servers"][0]["commits"], 0)

                def writes():
                    shown = json.loads(namctl("fabric", "--data", cluster.data, "--json").stdout)
                    return sum(c["facts"]["writes"] for c in shown["compute_servers"][0]["connections"])

                until(lambda: writes() > 0, "the word of the worker that wrote")
                self.assertIn("worker 1 to memory server 1", namctl("fabric", "--data", cluster.data).stdout)
                cluster.kill("compute-1")
                done = namctl("fabric", "--data", cluster.data, "--json")
                self.assertEqual(done.returncode, 1)
                self.assertFalse(json.loads(done.stdout)["compute_servers"][1]["up"])

    def test_status_says_who_is_down(self):
        with Cluster() as cluster:
            cluster.kill("compute-0")
            done = namctl("status", "--data", cluster.data, "--json")
            self.assertEqual(done.returncode, 1)
            status = json.loads(done.stdout)
            self.assertTrue(status["memory_servers"][0]["up"])
            self.assertFalse(status["compute_servers"][0]["up"])

    def test_shutdown_by_address_ends_a_memory_server(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster:
                address = cluster.state["memory_servers"][0]["address"]
                done = namctl("shutdown", "--memory-server", address, "--cluster-key", cluster.data / "cluster.key")
                self.assertEqual(done.returncode, 0, done.stderr)
                until(lambda: not alive(cluster.pid("memory-0")), "the memory server's end")


class Procedures(unittest.TestCase):
    def test_pieces_of_the_workloads_procedures_are_chopped_and_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "graph.svg"
            done = namctl("procedures", "--chopping", "--svg", picture, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            chopped = {each["procedure"]: each["transactions"] for each in json.loads(done.stdout)["procedures"]}
            self.assertEqual(chopped["tpcc_new_order"],
                             [["warehouse"], ["customer"], ["item"], ["district", "stock", "order"]])
            self.assertEqual(len(chopped["tpcc_payment"]), 5)
            names = {each.text for each in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")}
            self.assertLessEqual({"tpcc_new_order", "item (may abort)", "stock (may abort)", "order"}, names)

    def test_procedures_are_listed_and_what_is_no_library_is_refused(self):
        self.assertIn("tpcc_payment(w_id, d_id, c_w_id, c_d_id, c_id, h_amount)", namctl("procedures").stdout)
        done = namctl("procedures", "--chopping", "--procedure-library", __file__)
        self.assertEqual(done.returncode, 3)
        self.assertIn("cannot load procedure library", done.stderr)


class Usage(unittest.TestCase):
    def test_exit_codes(self):
        with tempfile.TemporaryDirectory() as folder:
            for arguments, code in ((["--help"], 0), (["--version"], 0), ([], 2), (["dev"], 2), (["nonsense"], 2),
                                    (["dev", "up", "--nonsense"], 2), (["dev", "up", "--port", "x"], 2),
                                    (["dev", "up", "--port", "0"], 2), (["top", "--once", "--count", "2"], 2),
                                    (["procedures", "--svg", "x"], 2), (["memory", "--data", folder], 3), (["dev", "up", "--fabric", "avian"], 2),
                                    (["dev", "up", "--data", "/proc/nowhere"], 3),
                                    (["status", "--data", folder], 3), (["shutdown", "--data", folder], 3),
                                    (["dev", "down", "--data", folder], 0)):
                done = namctl(*arguments)
                self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))


if __name__ == "__main__":
    main()
