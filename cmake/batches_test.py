#!/usr/bin/env python3
"""Each header is checked by a compilation in which it cannot lean on headers that it does not include."""
import sys
import unittest

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
    def test_a_batch_begins_with_a_chain_that_it_includes_and_the_rest_is_checked_apart(self):
        tree = {"memory/a.h": [], "memory/b.h": ["memory/a.h"], "memory/unused.h": ["memory/b.h"], "memory/alone.h": [],
                "common/base/c.h": [], "memory/x.cc": ["memory/b.h", "common/base/c.h"], "memory/y.cc": ["memory/a.h"],
                "memory/z.cc": ["memory/alone.h"]}
        headers = [path for path in tree if path.endswith(".h")]
        plan = [("out/0.cc", ["memory/y.cc", "memory/x.cc"]), ("", ["memory/z.cc"])]
        made, checks = batches.arrange(includes_of(tree), headers, plan)
        self.assertEqual(made, {"out/0.cc": ["memory/a.h", "memory/b.h", "memory/y.cc", "memory/x.cc"]})
        self.assertEqual(checks, {"memory/unused.h": ["memory/unused.h"], "common/base/c.h": ["common/base/c.h"]})

    def test_every_header_is_checked_once_by_a_batch_a_source_or_a_check(self):
        tree = {f"memory/{number}.h": [f"memory/{other}.h" for other in range(number) if number % (other + 2) == 0]
                for number in range(40)}
        tree |= {f"memory/{number}.cc": [f"memory/{number}.h"] for number in range(0, 40, 3)}
        includes = includes_of(tree)
        headers = {path for path in tree if path.endswith(".h")}
        sources = sorted(set(tree) - headers)
        made, checks = batches.arrange(includes, headers, [("0.cc", sources[:5]), ("1.cc", sources[5:])])
        checked = set().union(*(includes.checked_by(paths) for paths in [*made.values(), *checks.values()]))
        self.assertEqual(checked, headers)


if __name__ == "__main__":
    unittest.main()
