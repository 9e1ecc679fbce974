"""The procedures that nambench gives to PostgreSQL, TPC-C's and SmallBank's, run unchanged in namdb: the same calls on the
same rows give the answers, the errors and the tables that PostgreSQL 15 gave, which are in procedure_texts.txt.

    procedure_texts_test.py --accept "host=/var/run/postgresql dbname=empty user=tester"

writes that file anew, with the answers of a PostgreSQL.
"""
import hashlib
import random
import sys
from pathlib import Path

import psycopg

from harness import BIN, Cluster, TestCase, main

TEXTS = Path(__file__).resolve().parents[1] / "nambench"
PROCEDURES = BIN.parent / "lib" / "libnamdb_sqltest_procedures.so"
EXPECTED = Path(__file__).parent / "procedure_texts.txt"
DISTRICTS = 10
CUSTOMERS = 12
ITEMS = 40
WAREHOUSES = 2
DISTRICT_COLUMNS = [f"s_dist_{number:02}" for number in range(1, DISTRICTS + 1)]

SCHEMA = f"""
CREATE TABLE warehouse (w_id integer PRIMARY KEY, w_name varchar(10), w_tax numeric(4,4), w_ytd numeric(12,2));
CREATE TABLE district (d_w_id integer, d_id smallint, d_name varchar(10), d_tax numeric(4,4), d_ytd numeric(12,2),
  d_next_o_id integer, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customer (c_w_id integer, c_d_id smallint, c_id integer, c_first varchar(16), c_middle char(2),
  c_last varchar(16), c_credit char(2), c_discount numeric(4,4), c_balance numeric(12,2), c_ytd_payment numeric(12,2),
  c_payment_cnt integer, c_delivery_cnt integer, c_data varchar(500), PRIMARY KEY (c_w_id, c_d_id, c_id));
CREATE INDEX customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first);
CREATE TABLE history (h_c_w_id integer, h_c_d_id smallint, h_c_id integer, h_payment_cnt integer, h_d_id smallint,
  h_w_id integer, h_date timestamp, h_amount numeric(6,2), h_data varchar(24),
  PRIMARY KEY (h_c_w_id, h_c_d_id, h_c_id, h_payment_cnt));
CREATE TABLE new_order (no_w_id integer, no_d_id smallint, no_o_id integer, PRIMARY KEY (no_w_id, no_d_id, no_o_id));
CREATE INDEX new_order_by_number ON new_order (no_w_id, no_d_id, no_o_id);
CREATE TABLE orders (o_w_id integer, o_d_id smallint, o_id integer, o_c_id integer, o_entry_d timestamp,
  o_carrier_id smallint, o_ol_cnt smallint, o_all_local smallint, PRIMARY KEY (o_w_id, o_d_id, o_id));
CREATE INDEX orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id);
CREATE TABLE order_line (ol_w_id integer, ol_d_id smallint, ol_o_id integer, ol_number smallint, ol_i_id integer,
  ol_supply_w_id integer, ol_delivery_d timestamp, ol_quantity smallint, ol_amount numeric(6,2), ol_dist_info char(24),
  PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE item (i_id integer PRIMARY KEY, i_name varchar(24), i_price numeric(5,2));
CREATE TABLE stock (s_w_id integer, s_i_id integer, s_quantity smallint,
  {", ".join(f"{name} char(24)" for name in DISTRICT_COLUMNS)}, s_ytd integer, s_order_cnt smallint,
  s_remote_cnt smallint, PRIMARY KEY (s_w_id, s_i_id));
CREATE TABLE accounts (custid bigint PRIMARY KEY, name varchar(64));
CREATE TABLE savings (custid bigint PRIMARY KEY, bal bigint);
CREATE TABLE checking (custid bigint PRIMARY KEY, bal bigint);
"""
KEYS = {"warehouse": 1, "district": 2, "customer": 3, "history": 4, "new_order": 3, "orders": 3, "order_line": 4,
        "item": 1, "stock": 2, "accounts": 1, "savings": 1, "checking": 1}
TIMES = ("h_date", "o_entry_d", "ol_delivery_d")


def statements(text):
    """Those of a file, whose bodies are quoted by $$."""
    statement = []
    quoted = False
    for line in text.splitlines():
        quoted ^= line.count("$$") % 2 == 1
        statement.append(line)
        if line.endswith(";") and not quoted:
            yield "\n".join(statement)
            statement = []


def insert(connection, table, rows):
    for first in range(0, len(rows), 50):
        part = rows[first:first + 50]
        marks = ", ".join("(" + ", ".join(["%s"] * len(row)) + ")" for row in part)
        connection.execute(f"INSERT INTO {table} VALUES {marks}", [value for row in part for value in row])


def load(connection):
    pick = random.Random(7)
    letters = "abcdefghijklmnopqrstuvwxyz"
    word = lambda length: "".join(pick.choice(letters) for _ in range(length))  # noqa: E731
    insert(connection, "item", [(i, word(10), pick.randrange(100, 9999) / 100) for i in range(1, ITEMS + 1)])
    names = ("BARBARBAR", "OUGHTPRES", "ABLEESE")
    for warehouse in range(1, WAREHOUSES + 1):
        insert(connection, "warehouse", [(warehouse, word(6), pick.randrange(2000) / 10_000, 3000 * DISTRICTS)])
        insert(connection, "stock", [
            (warehouse, item, pick.randrange(10, 100), *(word(24) for _ in DISTRICT_COLUMNS), 0, 0, 0)
            for item in range(1, ITEMS + 1)])
        insert(connection, "district", [(warehouse, district, word(6), pick.randrange(2000) / 10_000, 3000, CUSTOMERS + 1)
                                        for district in range(1, DISTRICTS + 1)])
        for district in range(1, DISTRICTS + 1):
            insert(connection, "customer", [
                (warehouse, district, customer, word(8), "OE", names[customer % len(names)], pick.choice(("GC", "BC")),
                 pick.randrange(5000) / 10_000, -10, 10, 1, 0, word(480 if customer == 1 else 40))
                for customer in range(1, CUSTOMERS + 1)])
            lines, orders, new_orders = [], [], []
            for order in range(1, CUSTOMERS + 1):
                count = pick.randrange(2, 6)
                is_new = order > CUSTOMERS - 4
                orders.append((warehouse, district, order, CUSTOMERS + 1 - order, "2024-01-01 12:00:00",
                               None if is_new else pick.randrange(1, 11), count, 1))
                if is_new:
                    new_orders.append((warehouse, district, order))
                lines += [(warehouse, district, order, line, pick.randrange(1, ITEMS + 1), warehouse,
                           None if is_new else "2024-01-01 12:00:00", 5, pick.randrange(1, 9999) / 100, word(24))
                          for line in range(1, count + 1)]
            insert(connection, "orders", orders)
            insert(connection, "new_order", new_orders)
            insert(connection, "order_line", lines)
    insert(connection, "accounts", [(customer, word(12)) for customer in range(1, 21)])
    insert(connection, "savings", [(customer, 1000) for customer in range(1, 21)])
    insert(connection, "checking", [(customer, 100 * customer) for customer in range(1, 21)])


def calls():
    """Procedures and arguments, among them some that fail."""
    pick = random.Random(11)
    number = lambda last: pick.randrange(1, last + 1)  # noqa: E731
    place = lambda: (number(WAREHOUSES), number(DISTRICTS))  # noqa: E731
    for turn in range(30):
        items = ",".join(f"{number(ITEMS)}:{number(WAREHOUSES)}:{number(10)}" for _ in range(pick.randrange(1, 9)))
        if turn % 10 == 9:
            items += ",99999:1:1"
        yield "tpcc_new_order", (*place(), number(CUSTOMERS), items)
        yield "tpcc_payment", (*place(), *place(), number(CUSTOMERS), pick.randrange(100, 500_000) / 100)
        yield "tpcc_payment_by_name", (*place(), *place(), pick.choice(("BARBARBAR", "ABLEESE")), 12.5 + turn)
        yield "tpcc_order_status", (*place(), number(CUSTOMERS))
        yield "tpcc_order_status_by_name", (*place(), "OUGHTPRES")
        yield "tpcc_stock_level", (*place(), pick.randrange(10, 60))
        if turn % 4 == 0:
            yield "tpcc_delivery", (number(WAREHOUSES), number(10))
        yield "smallbank_send_payment", (number(22), number(20), pick.randrange(-5, 900))
    yield "tpcc_payment", (9, 1, 1, 1, 1, 5)
    yield "tpcc_payment", (1, 1, 1, 1, 99, 5)
    yield "tpcc_payment", (1, 1, 1, 1, 1, -5)
    yield "tpcc_payment_by_name", (1, 1, 1, 1, "NOBODY", 5)
    yield "tpcc_new_order", (1, 77, 1, "1:1:1")
    yield "tpcc_new_order", (1, 1, 1, "1:9:1")
    yield "smallbank_send_payment", (3, 3, 1)


def shown(name, value):
    """Times differ from run to run."""
    if name in ("entered", *TIMES) and value is not None:
        return "a time"
    return str(value)


def table_text(connection, table, key):
    cursor = connection.execute(f"SELECT * FROM {table} ORDER BY {', '.join(str(i + 1) for i in range(key))}")
    columns = [column.name for column in cursor.description]
    return "".join("|".join(shown(name, value) for name, value in zip(columns, row)) + "\n" for row in cursor)


def answers(conninfo):
    """Everything: from empty tables to the digests of all tables behind the calls."""
    lines = []
    with psycopg.connect(conninfo, autocommit=True) as connection:
        for statement in statements(SCHEMA):
            connection.execute(statement)
        load(connection)
        for name in ("tpcc", "smallbank"):
            for statement in statements((TEXTS / f"{name}_postgresql.sql").read_text()):
                connection.execute(statement)
        casts = {"tpcc_payment": {5: "numeric"}, "tpcc_payment_by_name": {5: "numeric"}}
        for procedure, arguments in calls():
            marks = ", ".join("%s" + (f"::{casts[procedure][i]}" if i in casts.get(procedure, ()) else "")
                              for i in range(len(arguments)))
            try:
                cursor = connection.execute(f"CALL {procedure}({marks})", arguments)
                row = cursor.fetchone() if cursor.description else ()
                names = [column.name for column in cursor.description or ()]
                answer = "|".join(shown(*part) for part in zip(names, row))
            except psycopg.Error as error:
                answer = f"error {error.sqlstate} {error.diag.message_primary}"
            lines.append(f"{procedure}{arguments!r}: {answer}".rstrip())
        for table, key in KEYS.items():
            text = table_text(connection, table, key)
            lines.append(f"{table}: {text.count(chr(10))} rows, {hashlib.sha256(text.encode()).hexdigest()}")
    return lines


class TextsOfProcedures(TestCase):
    def test_give_what_postgresql_gives(self):
        # With another library than the workloads', whose procedures have the same names.
        cluster = Cluster()
        cluster.flags += ["--procedure-library", PROCEDURES]
        with cluster:
            given = answers(f"host=127.0.0.1 port={cluster.port} user=anybody dbname=namdb")
        expected = EXPECTED.read_text().splitlines()
        self.assertEqual(len(given), len(expected))
        for one, other in zip(given, expected):
            self.assertEqual(one, other)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--accept"]:
        EXPECTED.write_text("\n".join(answers(sys.argv[2])) + "\n")
    else:
        main()
