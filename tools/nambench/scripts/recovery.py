"""The time from kill -9 of a whole database to its first answer."""
import time

from scripts import disk
from scripts.rates import pgbench, single_script
from scripts.servers import fail, say

MEBIBYTE = 1 << 20
ANSWER = "SELECT bal FROM checking WHERE custid = 0"


def recover(server, folder, options):
    clients = options.clients[0]
    sum_before = server.sql("-c", "SELECT sum(bal) FROM checking")
    server.checkpoint()
    pgbench(server, single_script(folder, options.accounts, clients), clients, "-t", options.recovery // clients)
    log_bytes = server.replay_bytes()
    balance = server.sql("-c", ANSWER)
    server.kill()
    if not options.warm:
        disk.forget(server.folder)
    begin = time.monotonic()
    server.start()
    answer = server.sql("-c", ANSWER)
    seconds = time.monotonic() - begin
    if answer != balance or server.sql("-c", "SELECT sum(bal) FROM checking") != sum_before:
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
