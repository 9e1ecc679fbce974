"""nambench against real daemons: loads and runs every workload through the wire and on the engine, with tiny inputs;
that sums come out right and results repeat, and what it says when it is used wrongly."""
import json

from harness import FABRICS, Cluster, TestCase, main, program, run

SIZES = {
    "smallbank": ["--accounts", 200],
    "tatp": ["--subscribers", 200],
    "tpcc": ["--warehouses", 2, "--items", 200, "--customers", 20, "--initial-orders", 20],
    "ycsb": ["--records", 200],
}


class Nambench(TestCase):
    def nambench(self, *arguments, expect=0):
        done = run(program("nambench"), *arguments, "--json", "--quiet")
        self.assertEqual(done.returncode, expect, f"nambench {arguments}\n{done.stdout}\n{done.stderr}")
        return json.loads(done.stdout) if expect == 0 else done.stderr

    def load(self, cluster, workload, *flags):
        return self.nambench("load", workload, "--port", cluster.port, *SIZES[workload], *flags)

    def assert_checked(self, report, committed):
        self.assertTrue(report["checks"])
        for check in report["checks"]:
            self.assertTrue(check["ok"], check)
        self.assertEqual(report["failed"], 0, report["reasons"])
        self.assertEqual(report["committed"] + report["aborted"], committed)
        for transaction in report["transactions"]:
            if transaction["committed"]:
                self.assertGreaterEqual(transaction["server"]["commits"], transaction["committed"])
                self.assertGreater(transaction["server"]["round_trips"], 0)


class Runs(Nambench):
    def test_every_workload_through_the_wire(self):
        for fabric in FABRICS:
            with Cluster(fabric, memory_servers=2) as cluster:
                for workload in SIZES:
                    with self.subTest(fabric=fabric, workload=workload):
                        loaded = self.load(cluster, workload)
                        self.assertEqual(loaded["rows"], sum(loaded["tables"].values()))
                        for pipeline in (1, 8):
                            report = self.nambench("run", workload, "--port", cluster.port, "--clients", 4,
                                                   "--pipeline", pipeline, "--transactions", 50)
                            self.assert_checked(report, 200)

    def test_one_client_comes_to_the_same_result_again(self):
        with Cluster() as cluster:
            for workload in SIZES:
                with self.subTest(workload=workload):
                    hashes = set()
                    for _ in range(2):
                        loaded = self.load(cluster, workload, "--replace")
                        report = self.nambench("run", workload, "--port", cluster.port, "--clients", 1,
                                               "--transactions", 100)
                        self.assert_checked(report, 100)
                        hashes.add((loaded["hash"], report["request_hash"], report["result_hash"]))
                    self.assertEqual(len(hashes), 1, hashes)

    def test_clients_are_routed_to_the_compute_server_beside_their_warehouse(self):
        with Cluster("tcp", memory_servers=2, compute_servers=2) as cluster:
            self.load(cluster, "tpcc", "--by-warehouse")
            ports = f"{cluster.port},{cluster.port + 1}"
            report = self.nambench("run", "tpcc", "--port", ports, "--clients", 4, "--transactions", 20, "--route",
                                   "--mix", "new_order=1", "--initial-orders", 20)
            self.assert_checked(report, 80)
            self.assertIn("4 of 4 clients are connected to a compute server beside their data", report["notes"])
            # Warehouses 1 and 2 are on different memory servers, and each has two of the clients.
            for server in (0, 1):
                self.assertEqual(cluster.query("SHOW namdb.beside_memory_server", server=server), [(str(server),)])
                [(calls,)] = cluster.query("SELECT sum(value) FROM namdb_statistics WHERE name = 'tpcc_new_order' "
                                           "AND metric = 'transactions'", server=server)
                self.assertEqual(calls, 40)

    def test_degrees_of_distribution_side_by_side(self):
        report = self.nambench("run", "tpcc", *SIZES["tpcc"], "--engine", "--in-process", "--memory-servers", 2,
                               "--fabric", "tcp", "--region-mib", 256, "--by-warehouse", "--remote-percent", "0,100",
                               "--rounds", 2, "--transactions", 20, "--mix", "new_order=1", "--check")
        self.assertTrue(report["checks_ok"])
        self.assertEqual([degree["remote_percent"] for degree in report["degrees"]], [0, 100])
        for degree in report["degrees"]:
            self.assertEqual(len(degree["runs"]), 2)
            self.assertGreater(degree["round_trips"], 0)
        with Cluster("tcp", memory_servers=2) as cluster:
            self.load(cluster, "tpcc")
            report = self.nambench("run", "tpcc", "--port", cluster.port, "--clients", 2, "--transactions", 10,
                                   "--rounds", 1, "--remote-percent", "100", "--initial-orders", 20)
            self.assertIn("not partitioned by warehouse", report["degrees"][0]["runs"][0]["notes"][-1])

    def test_a_timed_run_with_skew_over_two_compute_servers(self):
        with Cluster(compute_servers=2) as cluster:
            self.load(cluster, "ycsb")
            report = self.nambench("run", "ycsb", "--port", f"{cluster.port},{cluster.port + 1}", "--clients", 4,
                                   "--zipf", 0.9, "--warmup", 0.1, "--seconds", 0.5)
            self.assertTrue(report["checks"][0]["ok"])
            self.assertEqual(report["failed"], 0)

    def test_the_engine_beside_a_compute_server(self):
        for fabric in FABRICS:
            with self.subTest(fabric=fabric), Cluster(fabric) as cluster:
                address = cluster.state["memory_servers"][0]["address"]
                flags = ["--engine", "--memory-server", address]
                if fabric == "tcp":
                    flags += ["--cluster-key", cluster.data / "cluster.key"]
                self.nambench("load", "smallbank", *SIZES["smallbank"], *flags)
                report = self.nambench("run", "smallbank", "--coroutines", 4, "--transactions", 50, *flags)
                self.assert_checked(report, 200)
                # The compute server sees what the engine left.
                report = self.nambench("run", "smallbank", "--port", cluster.port, "--transactions", 10)
                self.assert_checked(report, 80)

    def test_the_engine_in_one_process(self):
        report = self.nambench("run", "tpcc", "--engine", "--in-process", "--transactions", 20, *SIZES["tpcc"])
        self.assert_checked(report, 16 * 20)

    def test_the_parts(self):
        arguments = ("fabric", "--region-mib", 1, "--shm-operations", 1000, "--tcp-operations", 1000,
                     "--repetitions", 2)
        first, second = self.nambench(*arguments), self.nambench(*arguments)
        self.assertEqual(len(first["transports"]), 2)
        # What was read is decided by the seed alone.
        self.assertEqual([transport["hash"] for transport in first["transports"]],
                         [transport["hash"] for transport in second["transports"]])
        report = self.nambench("hash", "--keys", 1000)
        self.assertEqual(len(report["results"]), 6)
        report = self.nambench("oracle", "--clients", "1,8", "--transactions", 400, "--repetitions", 1)
        self.assertEqual(len(report["results"]), 2 * 5 * 2)
        for result in report["results"]:
            self.assertGreater(result["per_second"], 0)
            self.assertGreaterEqual(result["round_trips"], 1)


class WrongUse(Nambench):
    def test_usage_errors_name_the_flag(self):
        for arguments, word in (
                (["run"], "WORKLOAD"), (["run", "nothing"], "nothing"), (["run", "tpcc", "--accounts", 3], "--accounts"),
                (["run", "smallbank", "--zipf", 1.5], "--zipf"), (["run", "smallbank", "--mix", "x=1"], "send_payment"),
                (["run", "smallbank", "--zipf", 0.5, "--uniform"], "--uniform"), (["run", "ycsb", "--frob"], "--frob"),
                (["load", "tpcc", "--warehouses", 0], "warehouse"), (["run", "ycsb", "--engine"], "--memory-server"),
                (["load", "smallbank", "--memory-server", "unix:/x"], "--engine")):
            with self.subTest(arguments=arguments):
                self.assertIn(word, self.nambench(*arguments, expect=2))

    def test_nothing_to_connect_to(self):
        self.assertIn("namctl dev up", self.nambench("run", "smallbank", "--port", 1, expect=3))
        self.nambench("run", "smallbank", "--engine", "--memory-server", "unix:/nowhere/x.sock", expect=3)

    def test_existing_and_missing_tables(self):
        with Cluster() as cluster:
            self.assertIn("nambench load", self.nambench("run", "ycsb", "--port", cluster.port, expect=1))
            self.load(cluster, "ycsb")
            done = self.nambench("load", "ycsb", "--port", cluster.port, *SIZES["ycsb"], expect=1)
            self.assertIn("--replace", done)
            self.assertEqual(cluster.query("SELECT count(*) FROM usertable"), [(200,)])
            self.load(cluster, "ycsb", "--replace")

    def test_a_load_that_does_not_fit_says_how_to_go_on(self):
        with Cluster(region="32MiB") as cluster:
            done = self.nambench("load", "smallbank", "--port", cluster.port, "--accounts", 100_000, expect=1)
            self.assertIn("--tables", done)
            self.assert_serves(cluster)


if __name__ == "__main__":
    main()
