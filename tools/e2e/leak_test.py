"""No memory is lost: rows, tables and indexes come and go while compute servers are killed. Once the rows are deleted,
as much is in use as for the empty table, and once that is dropped, as for the empty cluster: to the byte, by the memory
servers' own accounts. NAMDB_LEAK_SECONDS says for how long each cluster is used."""
import json
import os
import random
import threading
import time
import unittest
from pathlib import Path

import psycopg

from harness import FABRICS, PATIENCE_S, Cluster, TestCase, main, namctl

SECONDS = float(os.environ.get("NAMDB_LEAK_SECONDS", "10"))
# Of each round; then all is deleted, and the clusters have to come to rest.
ROUND_SECONDS = 10
ROWS = 3_000
WRITTEN_ROWS = 16  # of each compute server
PASSING_TABLES = 3
PASSING_INDEXES = 3
KINDS = ("bytes", "used_bytes", "reserved_bytes", "waiting_bytes", "free_bytes", "unusable_bytes")
# Conflicts, duplicates, what another client has dropped or created, a transaction that was too slow.
EXPECTED = ("40001", "23505", "42P01", "42704", "42P07", "42710", "25P04", "55006")


def account(cluster):
    """The bytes of every part of every memory server's region, by use. The words of the timestamp vector that are in use
    are left out: their number depends on which slots were leased before others had retired. Free extents count as the
    rest of the region, since that may grow."""
    done = namctl("memory", "--data", cluster.data, "--json")
    if done.returncode != 0:
        raise AssertionError(f"namctl memory: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    parts = {}
    for server in json.loads(done.stdout)["memory_servers"]:
        for part in server["parts"]:
            if part["purpose"] == "timestamp_vector":
                continue
            name = part.get("table", "") + (" (dropped)" if part.get("dropped") else "")
            sums = parts.setdefault((server["server_id"], part["purpose"], name), [0] * len(KINDS))
            for i, kind in enumerate(KINDS):
                sums[i] += part[kind]
            if part["purpose"] == "free_extents":
                sums[KINDS.index("bytes")] -= server["region_bytes"]
                sums[KINDS.index("free_bytes")] -= server["region_bytes"]
    # A part that has nothing does not count.
    return {key: sums for key, sums in parts.items() if any(sums)}


def in_use(parts):
    """The bytes that are not free, without the buckets of tables, which stay with them."""
    sums = {key: sum(sums[1:4]) for key, sums in parts.items() if key[1] not in ("main_buckets", "indirect_buckets")}
    return {key: bytes_in_use for key, bytes_in_use in sums.items() if bytes_in_use}


def resident_kib(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1])
    return 0


class Client(threading.Thread):
    """Changes rows, tables and indexes until it is stopped; connects again when its compute server is killed."""

    def __init__(self, cluster, server, seed):
        super().__init__()
        self.cluster, self.server, self.generator = cluster, server, random.Random(seed)
        self.stopping = threading.Event()
        self.done, self.schema_changes, self.unexpected = 0, 0, []

    def values(self, count):
        first = self.generator.randrange(ROWS)
        return ", ".join(f"({key}, {self.generator.randrange(50)}, '{'x' * self.generator.randrange(30)}')"
                         for key in range(first, first + count))

    def change_rows(self, table):
        key, shelf = self.generator.randrange(ROWS), self.generator.randrange(50)
        return self.generator.choice((
            f"INSERT INTO {table} VALUES {self.values(1)}",
            f"INSERT INTO {table} VALUES {self.values(1)}",
            f"INSERT INTO {table} VALUES {self.values(50)}",
            f"UPDATE {table} SET shelf = {shelf} WHERE id = {key}",
            f"UPDATE {table} SET shelf = {shelf} WHERE id BETWEEN {key} AND {key + 20}",
            f"DELETE FROM {table} WHERE id = {key}",
            f"DELETE FROM {table} WHERE id BETWEEN {key} AND {key + 100}"))

    def change_schema(self):
        table = f"passing{self.generator.randrange(PASSING_TABLES)}"
        index = f"index{self.generator.randrange(PASSING_INDEXES)}"
        unique = self.generator.choice((", UNIQUE (shelf, label, id)", ""))
        return self.generator.choice((
            f"CREATE TABLE {table} (id int PRIMARY KEY, shelf int, label varchar(30){unique})",
            f"CREATE TABLE {table} (id int PRIMARY KEY, shelf int, label varchar(30){unique})",
            f"DROP TABLE {table}",
            f"CREATE INDEX {index} ON {self.generator.choice(('stays', table))} (shelf DESC, label)",
            f"CREATE INDEX {index} ON {self.generator.choice(('stays', table))} (label)",
            f"DROP INDEX {index}"))

    def step(self, connection):
        what = self.generator.random()
        table = "stays" if self.generator.random() < 0.6 else f"passing{self.generator.randrange(PASSING_TABLES)}"
        if what < 0.1:
            connection.execute(self.change_schema())
            self.schema_changes += 1
        elif what < 0.3:
            with connection.transaction(force_rollback=self.generator.random() < 0.3):
                for _ in range(self.generator.randrange(1, 5)):
                    connection.execute(self.change_rows(table))
        else:
            connection.execute(self.change_rows(table))
        self.done += 1

    def run(self):
        while not self.stopping.is_set():
            try:
                with self.cluster.connect(self.server, timeout=5) as connection:
                    while not self.stopping.is_set():
                        try:
                            self.step(connection)
                        except psycopg.Error as error:
                            if error.sqlstate not in EXPECTED:
                                raise
            except psycopg.OperationalError as error:
                if error.sqlstate and error.sqlstate[:2] not in ("08", "57"):
                    self.unexpected.append(f"{error.sqlstate}: {error}")
                self.stopping.wait(0.02)
            except psycopg.Error as error:
                self.unexpected.append(f"{error.sqlstate}: {error}")
                self.stopping.wait(0.02)


class Leaks(TestCase):
    def await_account(self, cluster, expected, what, view=lambda parts: parts):
        deadline = time.monotonic() + 2 * PATIENCE_S
        while (now := view(account(cluster))) != expected:
            if time.monotonic() > deadline:
                found = [f"{key}: {now.get(key)} instead of {expected.get(key)}"
                         for key in sorted(now.keys() | expected.keys()) if now.get(key) != expected.get(key)]
                self.fail(f"{what}:\n" + "\n".join(found))
            time.sleep(0.1)

    def await_rest(self, cluster):
        """The account once nothing is reserved or waits to be free."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            parts = account(cluster)
            restless = {key: sums for key, sums in parts.items() if sums[2] or sums[3]}
            if not restless:
                return parts
            if time.monotonic() > deadline:
                self.fail(f"not at rest: {restless}")
            time.sleep(0.1)

    @staticmethod
    def patiently(cluster, statement, server=0):
        """Until it succeeds, or there is nothing to do for it: repairs may be under way."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                cluster.query(statement, server=server)
                return
            except psycopg.Error as error:
                if error.sqlstate in ("42P01", "42704"):
                    return
                if error.sqlstate not in EXPECTED or time.monotonic() > deadline:
                    raise
            time.sleep(0.02)

    def write_once(self, cluster):
        """Each compute server leases its execution slots when it first writes, and opens a journal on each memory
        server that it writes to. It keeps them. The rows are so many that some are on each memory server."""
        for server in range(2):
            first = WRITTEN_ROWS * server
            self.patiently(cluster, "UPDATE written SET value = value + 1 "
                                    f"WHERE id BETWEEN {first} AND {first + WRITTEN_ROWS - 1}", server)

    def one_round(self, cluster, number, kill):
        cluster.query("CREATE TABLE stays (id int PRIMARY KEY, shelf int, label varchar(30)) "
                      f"WITH (size_hint = {2 * ROWS})")
        cluster.query("CREATE INDEX stays_shelf ON stays (shelf)")
        fresh = in_use(account(cluster))
        clients = [Client(cluster, k % 2, 100 * number + k) for k in range(4)]
        for client in clients:
            client.start()
        until = time.monotonic() + min(ROUND_SECONDS, SECONDS)
        try:
            if kill:
                time.sleep(random.Random(number).uniform(0.3, 0.7) * min(ROUND_SECONDS, SECONDS))
                cluster.kill("compute-1")
                cluster.up()
            time.sleep(max(0, until - time.monotonic()))
        finally:
            for client in clients:
                client.stopping.set()
            for client in clients:
                client.join()
        self.assertEqual([line for client in clients for line in client.unexpected], [])
        for client in clients:
            self.assertGreater(client.done, 0)
        for i in range(PASSING_TABLES):
            self.patiently(cluster, f"DROP TABLE passing{i}")
        for i in range(PASSING_INDEXES):
            self.patiently(cluster, f"DROP INDEX index{i}")
        for first in range(0, ROWS + 50, 250):
            self.patiently(cluster, f"DELETE FROM stays WHERE id BETWEEN {first} AND {first + 249}")
        self.assertEqual(cluster.query("SELECT count(*) FROM stays"), [(0,)])
        self.write_once(cluster)
        self.await_account(cluster, fresh, "all rows are deleted", in_use)
        cluster.query("DROP TABLE stays")
        return sum(client.done for client in clients), sum(client.schema_changes for client in clients)

    def use(self, fabric, memory_servers, region="256MiB"):
        with Cluster(fabric, memory_servers=memory_servers, compute_servers=2, region=region,
                     memory_flags=["--extent-size=256KiB", "--max-transaction-seconds=5",
                                   "--region-limit=256MiB"]) as cluster:
            cluster.query("CREATE TABLE written (id int PRIMARY KEY, value int)")
            rows = ", ".join(f"({key}, 0)" for key in range(2 * WRITTEN_ROWS))
            cluster.query(f"INSERT INTO written VALUES {rows}")
            self.write_once(cluster)
            empty = self.await_rest(cluster)
            end = time.monotonic() + SECONDS
            number = 0
            while number == 0 or time.monotonic() < end:
                done, schema_changes = self.one_round(cluster, number, kill=number % 2 == 0)
                self.await_account(cluster, empty, "all tables are dropped")
                number += 1
                resident = ", ".join(f"{d['name']} {resident_kib(d['pid'])} KiB" for d in
                                     cluster.state["memory_servers"] + cluster.state["compute_servers"])
                print(f"{fabric}, {memory_servers} memory servers, round {number}: {done} statements, "
                      f"{schema_changes} schema changes; {resident}", flush=True)

    def test_nothing_is_left(self):
        for fabric, memory_servers in self.covering([(fabric, 1) for fabric in FABRICS] + [("shm", 2)]):
            with self.subTest(fabric=fabric, memory_servers=memory_servers):
                self.use(fabric, memory_servers)

    def test_nothing_is_left_in_regions_that_grow(self):
        self.use("tcp", 2, region="16MiB")


if __name__ == "__main__":
    main()
