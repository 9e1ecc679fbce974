"""Roles and privileges on real daemons: two compute servers, and a cluster that opens again."""
import psycopg

from harness import Cluster, TestCase, main

DENIED = psycopg.errors.InsufficientPrivilege


class Roles(TestCase):
    def test_a_change_on_one_compute_server_counts_on_the_other(self):
        with Cluster(compute_servers=2) as cluster:
            boss = cluster.connect(0)
            boss.execute("CREATE TABLE t (a int PRIMARY KEY)")
            boss.execute("INSERT INTO t VALUES (1)")
            boss.execute("CREATE ROLE reader LOGIN")
            reader = cluster.connect(1, user="reader")
            read = lambda: reader.execute("SELECT a FROM t").fetchall()
            for _ in range(3):
                self.assertRaises(DENIED, read)
                boss.execute("GRANT SELECT ON t TO reader")
                self.assertEqual(read(), [(1,)])
                boss.execute("REVOKE SELECT ON t FROM reader")
            # Prepared on the server, and in a block.
            boss.execute("GRANT SELECT ON t TO reader")
            reader.prepare_threshold = 0
            self.assertEqual(read(), [(1,)])
            boss.execute("REVOKE SELECT ON t FROM reader")
            self.assertRaises(DENIED, read)
            self.assertRaises(DENIED, lambda: reader.execute("CREATE TABLE u (a int)"))
            boss.execute("GRANT CREATE ON SCHEMA public TO reader")
            reader.execute("CREATE TABLE u (a int PRIMARY KEY)")
            boss.execute("SELECT a FROM u")
            self.assertEqual(boss.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'u'").fetchall(),
                             [("reader",)])

    def test_roles_are_there_when_the_cluster_opens_again(self):
        with Cluster(durability="flushed") as cluster:
            boss = cluster.connect()
            boss.execute("CREATE TABLE t (a int PRIMARY KEY)")
            boss.execute("CREATE USER reader PASSWORD 'secret'")
            boss.execute("GRANT SELECT ON t TO reader")
            before = boss.execute("SELECT * FROM pg_authid ORDER BY rolname").fetchall()
            boss.close()
            cluster.kill("memory-0")
            cluster.kill("compute-0")
            cluster.up()
            boss = cluster.connect()
            self.assertEqual(boss.execute("SELECT * FROM pg_authid ORDER BY rolname").fetchall(), before)
            boss.execute("SET SESSION AUTHORIZATION reader")
            self.assertEqual(boss.execute("SELECT a FROM t").fetchall(), [])
            self.assertRaises(DENIED, lambda: boss.execute("INSERT INTO t VALUES (1)"))
            self.assertNotIn("secret", cluster.log("compute-0") + cluster.log("memory-0"))


if __name__ == "__main__":
    main()
