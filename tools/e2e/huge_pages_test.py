"""A cluster whose region lies on 2 MiB pages. Skipped where none are reserved; `tools/test --all` reserves some."""
import json
import re
import unittest
from pathlib import Path

from bank import Bank, Load
from harness import FABRICS, Cluster, TestCase, main, namctl, until


def free_huge_pages():
    found = re.search(r"HugePages_Free:\s+(\d+)", Path("/proc/meminfo").read_text())
    return int(found.group(1)) if found else 0


class HugePages(TestCase):
    @unittest.skipIf(free_huge_pages() < 64, "fewer than 64 huge pages of 2 MiB are free")
    def test_a_region_on_huge_pages_serves(self):
        for fabric in self.covering(FABRICS):
            with self.subTest(fabric=fabric), \
                    Cluster(fabric, region="128MiB", memory_flags=["--huge-pages=always"]) as cluster:
                status = json.loads(namctl("status", "--data", cluster.data, "--json").stdout)
                self.assertTrue(status["memory_servers"][0]["huge_pages"])
                bank = Bank(cluster)
                bank.create()
                with Load(bank) as load:
                    until(lambda: load.committed >= 100, "commits")
                bank.check_total(self)

    def test_without_enough_huge_pages_always_is_refused(self):
        pages = free_huge_pages()
        cluster = Cluster(region=f"{2 * pages + 64}MiB", memory_flags=["--huge-pages=always"])
        done = namctl("dev", "up", *cluster.flags)
        self.assertEqual(done.returncode, 3)
        self.assertIn("vm.nr_hugepages", done.stderr)
        cluster.__exit__()


if __name__ == "__main__":
    main()
