-- The tables of pgbench's TPC-B, with its transaction as a procedure, for compare-postgresql on both sides. Of
-- psql's variables, `table` is TABLE or UNLOGGED TABLE; branches and accounts are numbers, ten tellers stand in each
-- branch.
CREATE :table pgbench_branches (bid int PRIMARY KEY, bbalance int, filler varchar(88));
CREATE :table pgbench_tellers (tid int PRIMARY KEY, bid int, tbalance int, filler varchar(84));
CREATE :table pgbench_accounts (aid int PRIMARY KEY, bid int, abalance int, filler varchar(84));
CREATE :table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler varchar(22));
INSERT INTO pgbench_branches SELECT i, 0, '' FROM generate_series(1, :branches) i;
INSERT INTO pgbench_tellers SELECT i, (i - 1) / 10 + 1, 0, '' FROM generate_series(1, 10 * :branches) i;
INSERT INTO pgbench_accounts SELECT i, (i - 1) % :branches + 1, 0, '' FROM generate_series(1, :accounts) i;
CREATE PROCEDURE tpcb(account int, branch int, teller int, amount int, INOUT balance int DEFAULT NULL)
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE pgbench_accounts SET abalance = abalance + amount WHERE aid = account;
  SELECT abalance INTO balance FROM pgbench_accounts WHERE aid = account;
  UPDATE pgbench_tellers SET tbalance = tbalance + amount WHERE tid = teller;
  UPDATE pgbench_branches SET bbalance = bbalance + amount WHERE bid = branch;
  INSERT INTO pgbench_history (tid, bid, aid, delta, mtime)
    VALUES (teller, branch, account, amount, CURRENT_TIMESTAMP);
END
$$;
