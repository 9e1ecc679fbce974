"""Calls a second of the servers that are compared, in turns."""
import itertools
import json
import re
import statistics
from dataclasses import dataclass

from scripts import disk
from scripts.servers import BIN, POSTGRESQL_BIN, fail, run, say

SEEDS = itertools.count(1)  # of TPC-C's runs


@dataclass
class Measured:
    """Of one run on one server."""
    rate: float  # calls a second, each of them a transaction
    cpu_us: float  # of the server's processors for one call
    syncs: float | None  # synced writes of its log, a second


def call_lines(accounts, clients):
    """Two different accounts of this client's own: those whose number leaves its number divided by `clients`."""
    own = accounts // clients
    return [f"\\set a random(0, {own} - 1)",
            f"\\set b (:a + random(1, {own} - 1)) % {own}",
            f"\\set a :a * {clients} + :client_id",
            f"\\set b :b * {clients} + :client_id"]


def single_script(folder, accounts, clients):
    script = folder / f"single_{clients}.sql"
    script.write_text("\n".join(call_lines(accounts, clients) + ["CALL smallbank_send_payment(:a, :b, 500);"]) + "\n")
    return script


def pipelined_script(folder, accounts, clients, pipeline):
    batch = []
    for i in range(pipeline):
        # Names of their own: in a pipeline all values are chosen before the first CALL is sent.
        batch += [re.sub(r"\b([ab])\b", rf"\g<1>{i}", line) for line in call_lines(accounts, clients)]
    batch.append("\\startpipeline")
    batch += [f"CALL smallbank_send_payment(:a{i}, :b{i}, 500);" for i in range(pipeline)]
    batch.append("\\endpipeline")
    script = folder / f"pipelined_{clients}.sql"
    script.write_text("\n".join(batch) + "\n")
    return script


def tpcb_scripts(folder, accounts, clients):
    """By name: a SELECT by key, and TPC-B's transaction as a block and as a procedure. Each client has a branch."""
    own = accounts // clients
    rows = ["\\set bid :client_id + 1", "\\set tid :client_id * 10 + random(1, 10)",
            f"\\set aid :client_id * {own} + random(1, {own})", "\\set delta random(-5000, 5000)"]
    texts = {
        "select": [f"\\set aid random(1, {own * clients})", "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;"],
        "tpcb block": [*rows, "BEGIN;",
                       "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;",
                       "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;",
                       "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;",
                       "UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;",
                       "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) "
                       "VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);",
                       "END;"],
        "tpcb procedure": [*rows, "CALL tpcb(:aid, :bid, :tid, :delta);"],
    }
    scripts = {}
    for name, lines in texts.items():
        scripts[name] = folder / f"{name.replace(' ', '_')}_{clients}.sql"
        scripts[name].write_text("\n".join(lines) + "\n")
    return scripts


def pgbench(server, script, clients, *length):
    """Transactions a second."""
    output = run([POSTGRESQL_BIN / "pgbench", "-n", "-M", "prepared", "-c", clients, "-j", 1, *length,
                  "-f", script, "-h", "127.0.0.1", "-p", server.port, "-U", "namdb", "namdb"])
    match = re.search(r"^tps = ([0-9.]+)", output, re.M)
    failed = re.search(r"^number of failed transactions: ([0-9]+)", output, re.M)
    if not match or (failed and int(failed.group(1)) > 0):
        fail(f"pgbench on {server.name}:\n{output}")
    return float(match.group(1))


def tpcc(server, options, clients, seconds, *flags):
    """Transactions a second of the full mix."""
    output = run([BIN / "nambench", "run", "tpcc", "--port", server.port, "--clients", clients, "--json", "--quiet",
                  "--warehouses", options.warehouses, "--items", 100_000, "--customers", 3_000, "--initial-orders", 3_000,
                  "--warmup", 0, "--seconds", seconds, "--seed", next(SEEDS), *flags])
    report = json.loads(output)
    if report["failed"] > report["committed"] / 1000:
        fail(f"nambench on {server.name}: {report['reasons']}")
    return report["transactions_per_second"]


def modes(folder, options, clients):
    """By name: a function that runs the same on a server for so many seconds and gives calls a second."""
    if options.workload == "tpcc":
        return {"tpcc": lambda server, seconds: tpcc(server, options, clients, seconds, "--no-check")}
    def one(script, calls):
        return lambda server, seconds: calls * pgbench(server, script, clients, "-T", seconds)
    if options.workload == "tpcb":
        return {name: one(script, 1) for name, script in tpcb_scripts(folder, options.accounts, clients).items()}
    result = {"single": one(single_script(folder, options.accounts, clients), 1)}
    # PostgreSQL commits a pipeline as a whole: with one flush for sixteen calls it would be another experiment.
    if options.durability == "memory":
        script = pipelined_script(folder, options.accounts, clients, options.pipeline)
        result["pipelined"] = one(script, options.pipeline)
    return result


def measure_one(server, run_on, seconds):
    cpu_before, syncs_before = server.cpu_seconds(), server.synced_writes()
    rate = run_on(server, seconds)
    cpu_us = (server.cpu_seconds() - cpu_before) * 1e6 / (rate * seconds)
    syncs = server.synced_writes()
    return Measured(rate, cpu_us, None if syncs is None or syncs_before is None else (syncs - syncs_before) / seconds)


def measure(servers, folder, options):
    """A list of what was measured with each number of clients in each mode."""
    results = []
    for clients in options.clients:
        for mode, run_on in modes(folder, options, clients).items():
            figures = {server.name: [] for server in servers}
            synced_write_us = []
            for server in servers:
                run_on(server, 1)  # warm-up
            for repetition in range(options.repetitions):
                if options.durability == "flushed":
                    synced_write_us.append(disk.measure(folder, 300, 1)["synced_write_us"])
                for server in servers:
                    measured = measure_one(server, run_on, options.seconds)
                    figures[server.name].append(measured)
                    syncs = "" if not measured.syncs else f", {measured.syncs:,.0f} synced writes/s"
                    say(f"{mode}, {clients} clients, {repetition + 1}/{options.repetitions} {server.name}: "
                        f"{measured.rate:,.0f} calls/s, {measured.cpu_us:.1f} us of processor each{syncs}")
            results.append(summary(mode, clients, figures, synced_write_us))
    return results


def summary(mode, clients, figures, synced_write_us):
    result = {"mode": mode, "clients": clients}
    for name, measured in figures.items():
        syncs = [each.syncs for each in measured if each.syncs is not None]
        result[name] = {"median": statistics.median(each.rate for each in measured),
                        "cpu_us": statistics.median(each.cpu_us for each in measured),
                        "synced_writes_per_second": statistics.median(syncs) if syncs else None,
                        "all": [each.rate for each in measured]}
    result["ratio"] = result["namdb"]["median"] / result["postgresql"]["median"]
    if synced_write_us:
        result["synced_write_us"] = statistics.median(synced_write_us)
        # Of the rate that the clients would reach if each of them had a write to itself, half as long again as F.
        result["share_of_bound"] = result["namdb"]["median"] * 1.5 * result["synced_write_us"] / 1e6 / clients
    return result


def check(servers, options, before=None):
    """The workload's invariant, for the next call to compare with; nambench checks TPC-C's conditions itself."""
    if options.workload == "tpcc":
        for server in servers:
            tpcc(server, options, options.clients[0], 1, *(["--check"] if before is not None else ["--no-check"]))
        return True
    if options.workload == "ycsb":
        return [int(server.sql("-c", "SELECT count(*) FROM usertable").strip()) for server in servers]
    if options.workload == "tpcb":
        for server in servers:
            columns = {"accounts": "abalance", "tellers": "tbalance", "branches": "bbalance", "history": "delta"}
            sums = {server.sql("-c", f"SELECT coalesce(sum({column}), 0) FROM pgbench_{table}").strip()
                    for table, column in columns.items()}
            if len(sums) != 1:
                fail(f"the balances on {server.name} do not add up")
        return True
    sums = [int(server.sql("-c", "SELECT sum(bal) FROM checking").strip()) for server in servers]
    if before is not None and sums != before:
        fail("the sum of balances changed")
    return sums


def to_text(results, repetitions):
    lines = [f"medians of {repetitions}; us: of the servers' processors for one call"]
    for figure in results:
        line = f"{figure['mode']}, {figure['clients']} clients:"
        for name in ("namdb", "postgresql"):
            server = figure[name]
            syncs = server["synced_writes_per_second"]
            shared = f", {syncs:,.0f} synced writes/s, {server['median'] / syncs:.1f} calls each" if syncs else ""
            line += f" {name} {server['median']:,.0f} calls/s ({server['cpu_us']:.1f} us{shared}),"
        line += f" ratio {figure['ratio']:.2f}"
        if "share_of_bound" in figure:
            line += (f"; F {figure['synced_write_us']:.0f} us, namdb at {100 * figure['share_of_bound']:.0f} % of "
                     f"{figure['clients']} / 1.5 F")
        lines.append(line)
    return "\n".join(lines)
