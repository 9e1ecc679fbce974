"""The time from kill -9 of a whole database to its first answer."""
import hashlib
import time

from scripts import disk
from scripts.rates import pgbench, single_script
from scripts.servers import fail, say

MEBIBYTE = 1 << 20
UPDATES = 16  # of one transaction of ycsb
ANSWER = {"smallbank": "SELECT bal FROM checking WHERE custid = 0",
          "ycsb": "SELECT field0 FROM usertable WHERE ycsb_key = 0"}
ALL_ROWS = {"smallbank": "SELECT custid, bal FROM checking", "ycsb": "SELECT ycsb_key, field0 FROM usertable"}


def updates_script(folder, records, clients):
    """Transactions of UPDATES updates each, of rows of the client's own."""
    own = records // clients
    lines = [f"\\set k{i} random(0, {own} - 1) * {clients} + :client_id" for i in range(UPDATES)]
    lines += [f"\\set v{i} random(1000000000, 9999999999)" for i in range(UPDATES)]
    lines += ["\\startpipeline", "BEGIN;"]
    lines += [f"UPDATE usertable SET field0 = :v{i} WHERE ycsb_key = :k{i};" for i in range(UPDATES)]
    lines += ["COMMIT;", "\\endpipeline"]
    script = folder / "updates.sql"
    script.write_text("\n".join(lines) + "\n")
    return script


def write(server, folder, options, clients):
    """Makes the transactions that are in the log, and not in the checkpoint."""
    if options.workload == "smallbank":
        script, transactions = single_script(folder, options.accounts, clients), options.recovery
    else:
        script, transactions = updates_script(folder, options.records, clients), options.recovery // UPDATES
    pgbench(server, script, clients, "-t", max(1, transactions // clients))


def hash_of_rows(server, workload):
    rows = sorted(server.sql("-c", ALL_ROWS[workload]).splitlines())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def recover(server, folder, options):
    server.checkpoint("--fast")
    write(server, folder, options, options.clients[0])
    log_bytes = server.replay_bytes()
    rows_before = hash_of_rows(server, options.workload)
    answer_before = server.sql("-c", ANSWER[options.workload])
    server.kill()
    if not options.warm:
        disk.forget(server.folder)
    begin = time.monotonic()
    server.start()
    answer = server.sql("-c", ANSWER[options.workload])
    seconds = time.monotonic() - begin
    if answer != answer_before or hash_of_rows(server, options.workload) != rows_before:
        fail(f"{server.name} lost commits")
    result = {"seconds": seconds, "log_bytes": log_bytes, "read_bytes": server.read_bytes(),
              "opening_seconds": server.opening_seconds()}
    say(f"{server.name}: {seconds:.2f} s")
    return result


def measure(servers, folder, options):
    """Repetitions follow each other on the same data."""
    rate = disk.measure(folder, 300, 512)["read_mib_per_second"]
    runs = {server.name: [] for server in servers}
    for _ in range(options.repetitions):
        for server in servers:
            runs[server.name].append(recover(server, folder, options))
    result = {"calls": options.recovery, "disk_read_mib_per_second": rate}
    for name, measured in runs.items():
        median = sorted(measured, key=lambda each: each["seconds"])[len(measured) // 2]
        median["share_of_read_rate"] = median["read_bytes"] / MEBIBYTE / median["seconds"] / rate
        result[name] = {**median, "all": [each["seconds"] for each in measured]}
    result["ratio"] = result["postgresql"]["seconds"] / result["namdb"]["seconds"]
    return result


def to_text(result):
    lines = [f"from kill -9 to the first answer, after {result['calls']:,} calls; the disk reads "
             f"{result['disk_read_mib_per_second']:,.0f} MiB/s"]
    for name in ("namdb", "postgresql"):
        each = result[name]
        log = "an unknown part" if each["log_bytes"] is None else f"{each['log_bytes'] / MEBIBYTE:,.0f} MiB"
        opening = "" if each["opening_seconds"] is None else f" (its memory server's opening {each['opening_seconds']:.2f} s)"
        lines.append(f"{name}: {each['seconds']:.2f} s{opening}, {log} of the log, "
                     f"{each['read_bytes'] / MEBIBYTE:,.0f} MiB read ({100 * each['share_of_read_rate']:.0f} % of the "
                     "disk's rate)")
    lines.append(f"namdb is {result['ratio']:.2f} times as fast")
    return "\n".join(lines)
