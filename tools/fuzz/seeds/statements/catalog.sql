SELECT relname, relkind FROM pg_class;;SELECT * FROM information_schema.columns;;SELECT pg_get_constraintdef(oid) FROM pg_constraint;;EXPLAIN SELECT * FROM named;;SELECT * FROM pg_stat_activity
