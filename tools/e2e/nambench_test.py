"""nambench against real daemons: loads and runs every workload through the wire and on the engine, with tiny inputs;
that sums come out right and results repeat, and what it says when it is used wrongly."""
import csv
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from harness import BIN, FABRICS, Cluster, TestCase, main, program, run, until

SCRIPTS = Path(__file__).resolve().parents[1] / "nambench"

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
        for fabric in self.covering(FABRICS):
            with self.shared(fabric, memory_servers=2) as cluster:
                for workload in SIZES:
                    with self.subTest(fabric=fabric, workload=workload):
                        loaded = self.load(cluster, workload)
                        self.assertEqual(loaded["rows"], sum(loaded["tables"].values()))
                        for pipeline in (1, 8):
                            report = self.nambench("run", workload, "--port", cluster.port, "--clients", 4,
                                                   "--pipeline", pipeline, "--transactions", 50)
                            self.assert_checked(report, 200)

    def test_one_client_comes_to_the_same_result_again(self):
        with self.shared() as cluster:
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
        with self.shared("tcp", memory_servers=2) as cluster:
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

    def test_a_run_second_by_second(self):
        with self.shared() as cluster, tempfile.TemporaryDirectory() as folder:
            self.load(cluster, "smallbank", "--replace")
            events = Path(folder) / "events.csv"
            events.write_text(f"0,{1 << 63},a checkpoint\n")
            report = self.nambench("run", "smallbank", "--port", cluster.port, "--transactions", 50, "--timeline",
                                   Path(folder) / "run.csv", "--timeline-events", events)
            with open(Path(folder) / "run.csv") as file:
                seconds = list(csv.DictReader(file))
            for outcome in ("committed", "aborted", "failed"):
                self.assertEqual(sum(int(second[outcome]) for second in seconds), report[outcome])
            root = ElementTree.parse(Path(folder) / "run.svg").getroot()
            texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("committed", texts)
            self.assertIn("a checkpoint", texts)

    def test_clients_that_reconnect_survive_a_restart(self):
        with Cluster() as cluster:
            self.load(cluster, "smallbank")
            command = [program("nambench"), "run", "smallbank", "--port", cluster.port, "--clients", 4, "--transactions",
                       20_000, "--reconnect", "--json", "--quiet"]
            load = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
            statistics = "SELECT coalesce(sum(value), 0) FROM namdb_statistics WHERE metric = 'commits'"
            until(lambda: cluster.query(statistics)[0][0] > 100, "calls of the run")
            cluster.kill("compute-0")
            cluster.up()
            output, errors = load.communicate(timeout=60)
            self.assertEqual(load.returncode, 0, errors)
            report = json.loads(output)
            self.assertEqual(report["committed"] + report["aborted"] + report["failed"], 4 * 20_000)
            self.assertTrue(any(reason.startswith("08006") for reason in report["reasons"]), report["reasons"])
            self.assertIn("4 connections were opened anew", report["notes"])

    def test_the_engine_beside_a_compute_server(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), self.shared(fabric) as cluster:
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

    def test_where_the_time_of_transactions_goes(self):
        report = self.nambench("run", "smallbank", "--engine", "--in-process", "--region-mib", 64, "--transactions", 20,
                               *SIZES["smallbank"], "--stage-times", "--computation-us", 3)
        self.assert_checked(report, 16 * 20)
        shares = {share["name"]: share["us"] for share in report["time_shares"]}
        self.assertGreater(shares["computation"], 0)
        self.assertGreater(shares["read"], 0)

    def test_the_parts(self):
        arguments = ("fabric", "--region-mib", 1, "--shm-operations", 1000, "--tcp-operations", 1000,
                     "--repetitions", 2)
        first, second = self.nambench(*arguments), self.nambench(*arguments)
        self.assertEqual(len(first["transports"]), 2)
        # The seed alone decides which places are read.
        self.assertEqual([transport["hash"] for transport in first["transports"]],
                         [transport["hash"] for transport in second["transports"]])
        report = self.nambench("hash", "--keys", 1000)
        self.assertEqual(len(report["results"]), 6)
        report = self.nambench("oracle", "--clients", "1,8", "--transactions", 400, "--repetitions", 1)
        self.assertEqual(len(report["results"]), 2 * 6 * 2)
        for result in report["results"]:
            self.assertGreater(result["per_second"], 0)
            self.assertGreaterEqual(result["round_trips"], 1)


# So small that a run takes moments.
TINY = ["--accounts", 50, "--records", 50, "--warehouses", 1, "--items", 20, "--customers", 5, "--initial-orders", 5,
        "--seconds", 0.02, "--warmup", 0]


class Comparisons(Nambench):
    def test_a_search_recommends_stages_and_says_where_the_time_goes(self):
        report = self.nambench("hybrid", "--workload", "ycsb", "--hot-probability", 0.5, "--protocol", "si", "--fabric",
                               "shm", "--coroutines", 2, "--probe-seconds", 0.01, "--finalists", 1, "--repetitions", 2,
                               *TINY)
        self.assertEqual(report["codes"] & (report["codes"] - 1), 0)
        self.assertEqual(len(report["finalists"]), 3)
        self.assertIn(report["recommended"], [each["stages"] for each in report["finalists"]])
        self.assertIn("one-sided", [each["stages"] for each in report["finalists"]])
        self.assertGreaterEqual(report["ratio_to_best_pure"], 1)
        rates = [each["transactions_per_second"]["median"] for each in report["finalists"]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        for each in report["breakdowns"]:
            round_trips = sum(share["round_trips"] for share in each["time_shares"])
            self.assertGreater(round_trips, 1)

    def test_factors_are_added_one_by_one(self):
        report = self.nambench("factors", "--workload", "smallbank", "--protocol", "occ", "--fabric", "shm", "--coroutines",
                               3, "--repetitions", 1, *TINY)
        steps = report["steps"]
        self.assertEqual([step["coroutines"] for step in (steps[0], steps[-1])], [1, 3])
        self.assertEqual(steps[-1]["without"], "")
        # Operations that are posted one by one are waited for one by one.
        self.assertGreater(steps[0]["round_trips"]["median"], 1.5 * steps[-1]["round_trips"]["median"])
        self.assertGreater(steps[0]["doorbells"], 1.5 * steps[-1]["doorbells"])

    def test_a_comparison_writes_a_report_with_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "new" / "report"
            json_of = self.nambench("compare", "--report", report, "--protocols", "nowait", "--fabrics", "shm",
                                    "--hot-percents", "0,90", "--computation-us", "0,5", "--coroutines", "1,2",
                                    "--stages", "one-sided,read+lock", "--repetitions", 1, *TINY)
            self.assertEqual(json.loads((report / "report.json").read_text()), json_of)
            text = (report / "report.md").read_text()
            pictures = re.findall(r"\]\((.*?)\)", text)
            self.assertEqual(sorted(pictures), sorted(each.name for each in report.glob("*.svg")))
            # Two stage codes; rate and aborts of contention, rate and latency of coroutines, rate of computation; and
            # where the time of each workload goes.
            self.assertEqual(len(pictures), 2 * (2 + 3 * 2 + 1) + 3)
            for picture in pictures:
                root = ElementTree.parse(report / picture).getroot()
                texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
                self.assertTrue({"nowait", "nowait, one-sided"} & set(texts), texts)
            for words in ("SmallBank", "YCSB, 90 % hot", "TPC-C new-order", "most attempts", "Where a transaction's time goes", "send_payment"):
                self.assertIn(words, text)
            # Every subject once, though several tables show it.
            subjects = [tuple(each[key] for key in ("protocol", "stages", "workload", "hot_percent", "coroutines",
                                                    "computation_us")) for each in json_of["trials"]]
            self.assertEqual(len(subjects), len(set(subjects)))
            self.assertEqual(len(subjects), 2 * (4 + 3 + 1))


class WrongUse(Nambench):
    def test_usage_errors_name_the_flag(self):
        for arguments, word in (
                (["run"], "WORKLOAD"), (["run", "nothing"], "nothing"), (["run", "tpcc", "--accounts", 3], "--accounts"),
                (["run", "smallbank", "--zipf", 1.5], "--zipf"), (["run", "smallbank", "--mix", "x=1"], "send_payment"),
                (["run", "smallbank", "--zipf", 0.5, "--uniform"], "--uniform"), (["run", "ycsb", "--frob"], "--frob"),
                (["load", "tpcc", "--warehouses", 0], "warehouse"), (["run", "ycsb", "--engine"], "--memory-server"),
                (["load", "smallbank", "--memory-server", "unix:/x"], "--engine"),
                (["run", "ycsb", "--computation-us", 3], "--engine"),
                (["run", "tpcc", "--timeline", "/nowhere/x", "--remote-percent", "0"], "--timeline"),
                (["run", "tpcc", "--timeline-events", "/nowhere/x"], "--timeline"),
                (["compare"], "--report"),
                (["compare", "--report", "/tmp", "--stages", "frob"], "read+lock"),
                (["compare", "--report", "/tmp", "--protocols", "frob"], "--protocols"),
                (["hybrid", "--workload", "tatp"], "tpcc"),
                (["hybrid", "--hot-probability", 0.5], "ycsb")):
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


class Scripts(TestCase):
    def script(self, name, *arguments):
        done = run(SCRIPTS / name, *arguments, "--region-bytes", "64MiB", env={**os.environ, "NAMDB_BIN": str(BIN)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_protocols_take_turns_through_the_wire(self):
        for workload in ("smallbank", "ycsb"):
            with self.subTest(workload=workload):
                report = self.script("compare-protocols", "--workload", workload, *SIZES["smallbank"], *SIZES["ycsb"], "--protocols",
                                     "occ,calvin@2", "--clients", 4, "--seconds", 0.3, "--warmup", 0, "--repetitions", 2, "--json")
                self.assertEqual(set(report), {"occ", "calvin@2"})
                self.assertEqual(report["calvin@2"]["best_other"], "occ")
                for figures in report.values():
                    self.assertEqual(len(figures["rates"]), 2)
                    self.assertGreater(figures["one_sided"], 1)
                    self.assertGreater(figures["round_trips"], 1)
                # Its calls declare all their rows.
                self.assertEqual(report["calvin@2"]["attempts"], 1)

    def test_a_run_goes_on_through_checkpoints_and_a_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "interrupted"
            result = self.script("interrupt", report, "--accounts", 2000, "--clients", 4, "--seconds", 10, "--interval", 0.5)
            self.assertGreater(result["pairs"], 0)
            self.assertGreaterEqual(result["checkpoints"], result["pairs"])
            root = ElementTree.parse(report.with_suffix(".svg")).getroot()
            texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
            self.assertIn("a checkpoint", texts)
            with open(report.with_suffix(".csv")) as file:
                self.assertGreater(sum(int(second["committed"]) for second in csv.DictReader(file)), 0)

    def test_the_cost_of_checkpoints_is_measured_while_one_is_under_way(self):
        result = self.script("checkpoint-cost", "--accounts", 5000, "--clients", 4, "--checkpoint-seconds", 2, "--pairs", 1)
        self.assertEqual(len(result["checkpoints_cost_of_each_pair"]), 1)
        self.assertGreater(result["checkpoint_bytes"], 0)

    def test_rows_that_a_dead_compute_server_locked_are_written(self):
        for protocol in ("nowait", "waitdie"):
            with self.subTest(protocol=protocol):
                result = self.script("dead-locks", "--rows", 5, "--repetitions", 2, "--protocol", protocol)
                self.assertEqual(len(result["all_milliseconds"]), 2)

    def test_many_tables_are_measured(self):
        result = self.script("many-tables", "--tables", 30)
        self.assertEqual(result["tables"], [10, 30])
        self.assertGreater(len(result["milliseconds_or_mebibytes"]), 10)


if __name__ == "__main__":
    main()
