#!/usr/bin/env python3
"""Each header is checked by a compilation in which it cannot lean on headers that it does not include."""
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import batches


def includes_of(tree):
    """Of {path: the paths that it includes}."""
    def text(path):
        return "".join(f"#include {one}\n" if one.startswith("<") else f'#include "{one}"\n' for one in tree[path])
    return batches.Includes(lambda path: text(path) if path in tree else None)


class CheckedBy(unittest.TestCase):
    TREE = {"a.h": [], "b.h": ["a.h", "<set>"], "c.h": ["<set>", "b.h"], "other.h": [], "leans.h": [], "x.cc": ["c.h", "other.h"]}

    def check(self, *paths):
        return sorted(includes_of(self.TREE).checked_by(paths))

    def test_the_first_include_and_its_first_are_checked(self):
        self.assertEqual(self.check("b.h"), ["a.h", "b.h"])
        self.assertEqual(self.check("x.cc"), ["b.h", "c.h"])  # b.h includes <set>, which comes before it; a.h does not

    def test_a_chain_is_checked_as_a_whole(self):
        self.assertEqual(self.check("a.h", "b.h", "c.h"), ["a.h", "b.h", "c.h"])

    def test_a_header_behind_one_that_it_does_not_include_is_not_checked(self):
        self.assertEqual(self.check("other.h", "leans.h"), ["other.h"])
        self.assertEqual(self.check("a.h", "other.h", "b.h"), ["a.h"])


class Arrange(unittest.TestCase):
    def arrange(self, tree, *plan):
        headers = [path for path in tree if path.endswith(".h")]
        return batches.arrange(includes_of(tree), headers, plan)

    def test_a_batch_begins_with_a_chain_that_it_includes_and_the_rest_is_checked_apart(self):
        tree = {"memory/a.h": [], "memory/b.h": ["memory/a.h"], "memory/unused.h": ["memory/b.h"], "memory/alone.h": [],
                "common/base/c.h": [], "memory/x.cc": ["memory/b.h", "common/base/c.h"], "memory/y.cc": ["memory/a.h"],
                "memory/z.cc": ["memory/alone.h"]}
        made, checks = self.arrange(tree, (("release", "0.cc"), ["memory/y.cc", "memory/x.cc"]),
                                    (("release", ""), ["memory/z.cc"]))
        self.assertEqual(made, {("release", "0.cc"): ["memory/a.h", "memory/b.h", "memory/y.cc", "memory/x.cc"]})
        self.assertEqual(checks, {"memory/unused.h": ["memory/unused.h"], "common/base/c.h": ["common/base/c.h"]})

    def test_another_steps_batch_has_a_chain_of_the_headers_that_are_left(self):
        tree = {"memory/a.h": [], "memory/b.h": ["<set>", "<map>"], "memory/x.cc": ["memory/a.h", "memory/b.h"]}
        made, checks = self.arrange(tree, (("release", "0.cc"), ["memory/x.cc"]), (("asan", "0.cc"), ["memory/x.cc"]))
        self.assertEqual(made, {("release", "0.cc"): ["memory/b.h", "memory/x.cc"],
                                ("asan", "0.cc"): ["memory/a.h", "memory/x.cc"]})
        self.assertEqual(checks, {})

    def test_a_guest_joins_a_chain_of_another_part_only_if_all_that_it_checks_stays_checked(self):
        tree = {"common/base/a.h": [], "memory/b.h": ["memory/c.h", "common/base/a.h"], "memory/c.h": [],
                "memory/x.cc": ["memory/b.h"], "memory/y.cc": ["<set>"]}
        release, asan = (("release", "y"), ["memory/y.cc"]), (("asan", "x"), ["memory/x.cc"])
        made, checks = self.arrange(tree, release, asan)
        # Behind a.h, memory/c.h would not be checked any more.
        self.assertEqual(made["asan", "x"], ["memory/c.h", "memory/b.h", "memory/x.cc"])
        self.assertEqual(sorted(checks), ["common/base/a.h"])
        made, checks = self.arrange(tree, release, asan, (("tsan", "x"), ["memory/x.cc"]))
        self.assertEqual(made["tsan", "x"], ["common/base/a.h", "memory/x.cc"])
        self.assertEqual(checks, {})

    def test_a_guest_goes_to_a_later_step_and_only_where_all_else_that_it_includes_is_at_hand(self):
        tree = {"memory/a.h": [], "memory/guest.h": ["memory/a.h"], "memory/needs.h": ["<libpq-fe.h>"],
                "memory/testing/scene.h": ["memory/a.h"], "memory/x.cc": ["memory/a.h"]}
        release, asan = (("release", "0.cc"), ["memory/x.cc"]), (("asan", "0.cc"), ["memory/x.cc"])
        _, checks = self.arrange(tree, release)
        self.assertEqual(sorted(checks), ["memory/guest.h", "memory/needs.h", "memory/testing/scene.h"])
        made, checks = self.arrange(tree, release, asan)
        self.assertEqual(made, {release[0]: ["memory/a.h", "memory/x.cc"], asan[0]: ["memory/guest.h", "memory/x.cc"]})
        made, checks = self.arrange(tree, release, asan, (("tsan", "0.cc"), ["memory/x.cc"]))
        self.assertEqual(sorted(checks), ["memory/needs.h", "memory/testing/scene.h"])

    def test_a_guest_brings_few_files(self):
        for count in (batches.GUEST_FILES - 1, batches.GUEST_FILES):
            others = [f"memory/{number}.h" for number in range(count)]
            tree = {"memory/guest.h": others, "memory/x.cc": [], **{one: [] for one in others}}
            made, _ = self.arrange(tree, (("release", "0.cc"), ["memory/x.cc"]), (("asan", "0.cc"), ["memory/x.cc"]))
            self.assertEqual("memory/guest.h" in made["asan", "0.cc"], count < batches.GUEST_FILES)

    def test_every_header_is_checked_by_a_batch_a_source_or_a_check(self):
        folders = ("memory", "common/base", "compute/txn")
        tree = {f"{folders[number % 3]}/{number}.h":
                [f"{folders[other % 3]}/{other}.h" for other in range(number) if number % (other + 2) == 0]
                for number in range(90)}
        tree |= {f"{folders[number % 3]}/{number}.cc":
                 [f"{folders[other % 3]}/{other}.h" for other in (number, number // 2, number // 3)]
                 for number in range(0, 90, 4)}
        includes = includes_of(tree)
        headers = {path for path in tree if path.endswith(".h")}
        sources = sorted(set(tree) - headers)
        plan = [((step, f"{begin}.cc"), sources[begin:begin + size]) for step, size in (("release", 3), ("asan", 6), ("tsan", 6))
                for begin in range(0, len(sources), size)]
        made, checks = self.arrange(tree, *plan)
        checked = set().union(*(includes.checked_by(paths) for paths in [*made.values(), *checks.values()]))
        self.assertEqual(checked, headers)


class Main(unittest.TestCase):
    def test_the_steps_own_batches_are_written_and_those_that_it_does_not_compile_count_for_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            root, build = Path(folder), Path(folder) / "build"
            build.mkdir()
            (root / "memory").mkdir()
            for name in ("a.h", "b.h"):
                (root / "memory" / name).write_text("")
            (root / "memory/x.cc").write_text('#include "memory/a.h"\n#include "memory/b.h"\n')
            (build / "batches.txt").write_text("release|built|0.cc|memory/x.cc\nasan|other|0.cc|memory/x.cc\n"
                                               "tsan|built|0.cc|memory/x.cc\n")

            def main(step):
                with contextlib.redirect_stdout(io.StringIO()) as printed:
                    batches.main(root, build, step, "memory")
                batch = (build / "0.cc").read_text() if (build / "0.cc").exists() else ""
                return [line.split('"')[1] for line in batch.splitlines()], printed.getvalue()

            self.assertEqual(main("none"), ([], ""))
            self.assertEqual(main("asan"), (["memory/x.cc"], ""))
            self.assertEqual(sorted([main("release")[0][0], main("tsan")[0][0]]), ["memory/a.h", "memory/b.h"])


if __name__ == "__main__":
    unittest.main()
