#!/usr/bin/env python3
"""tools/test counts what ran, and --changed chooses what is nearest."""
import ast
import contextlib
import io
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
import changed
import main
import results
import unittest_cases
from steps import STEPS


def log(*programs):
    """A log of ctest: (name, output, its last word)."""
    return "".join(
        f"{number}/{len(programs)} Testing: {name}\n{number}/{len(programs)} Test: {name}\nOutput:\n{output}\n<end of output>\n"
        f"Test time =   2.50 sec\n----\n{word}\n" for number, (name, output, word) in enumerate(programs, 1))


PYTHON_CASES = """
import unittest, sys
sys.path.insert(0, {here!r})
import unittest_cases
class Cases(unittest.TestCase):
    def test_good(self): pass
    @unittest.skip("no such: machine")
    def test_left_out(self): pass
    def test_bad(self): self.fail()
    def test_parts(self):
        for part in range(3):
            with self.subTest(part): self.assertEqual(part, 0)
unittest_cases.main()
"""


class Results(unittest.TestCase):
    def test_cases_of_catch_are_counted_with_their_times(self):
        good, bad = results.read(log(
            ("a_test", "0.125 s: one\n1.000 s: two\n0.500 s: two\n===\nAll tests passed (7 assertions in 2 test cases)", "Test Passed."),
            ("b_test", "0.125 s: one\ntest cases: 3 | 2 passed | 1 failed\n", "Test Failed.")))
        self.assertEqual((good.passed, good.failed, good.skipped), (2, 0, []))
        self.assertEqual(results.slowest([good, bad], 1), [(1.5, "a_test", "two")])
        self.assertEqual((bad.passed, bad.failed), (2, 1))
        [coloured] = results.read(log(("vm", "test cases: 3\x1b[0;37m | \x1b[0;32m2 passed\x1b[0m | \x1b[1;31m1 failed", "Test Failed.")))
        self.assertEqual((coloured.passed, coloured.failed), (2, 1))

    def test_a_case_that_was_skipped_is_not_one_that_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "cases.py"
            script.write_text(PYTHON_CASES.format(here=str(Path(__file__).resolve().parent)))
            done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        [program] = results.read(log(("python", done.stderr, "Test Failed.")))
        self.assertEqual((program.passed, program.failed), (1, 2))
        self.assertEqual(program.skipped, [("python: Cases.test_left_out", "no such: machine")])
        self.assertEqual(len(program.cases), 4)

    def test_a_program_that_was_skipped_says_why(self):
        [program] = results.read(log(("verbs", "verbs-vm: skipped: there is no apt-get", "Test Passed.")))
        self.assertEqual((program.passed, program.failed), (0, 0))
        self.assertEqual(program.skipped, [("verbs", "there is no apt-get")])

    def test_a_crash_is_a_failure_and_what_says_nothing_is_one_case(self):
        crash, silent = results.read(log(("a", "0.1 s: one\nSegmentation fault", "Test Failed."), ("b", "", "Test Passed.")))
        self.assertEqual((crash.passed, crash.failed), (0, 1))
        self.assertEqual((silent.passed, silent.failed), (1, 0))


class Reports(unittest.TestCase):
    def said(self, function, *arguments):
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            result = function(*arguments)
        return result, text.getvalue().splitlines()

    def test_a_report_ends_with_the_counts_and_names_what_was_slow_over_budget_or_skipped(self):
        quick = [results.Program(f"p{i}", 1.0, passed=1, cases=[(i / 10, f"case {i}")]) for i in range(25)]
        slow = results.Program("slow", main.BUDGET_SECONDS + 1.0, passed=2, skipped=[("slow: left", "no such machine")],
                               cases=[(40.0, "one"), (21.0, "two")])
        status, lines = self.said(main.report, [main.Outcome.of_programs("release", [*quick, slow])])
        self.assertEqual((status, lines[-1]), (0, "27 passed, 0 failed, 1 skipped"))
        self.assertEqual(sum(": case " in line or line.endswith((": one", ": two")) for line in lines), 20)
        self.assertIn("    40.0s  release  slow: one", lines)
        self.assertIn("    61.0s  release  slow", lines)
        self.assertIn("  release: slow: left: no such machine", lines)
        failed = main.Outcome("asan", failed=1, note="does not build")
        status, lines = self.said(main.report, [failed])
        self.assertEqual((status, lines[-1]), (1, "0 passed, 1 failed, 0 skipped"))

    def test_every_step_says_beforehand_how_long_it_takes(self):
        _, lines = self.said(main.announce, STEPS)
        self.assertRegex("\n".join(lines), rf"{len(STEPS)} steps: about \d+ minutes")
        for step in STEPS:
            self.assertTrue(any(line.startswith(f"  {step.name} ") and line.endswith(" min") for line in lines), step.name)

    def test_the_documentation_has_every_step_with_its_reason_and_its_last_findings(self):
        text = (main.ROOT / "docs/testing.md").read_text()
        tables = {heading: [[cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")]
                  for heading, part in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", text)}
        for step in STEPS:
            reasons = [row for row in tables["Tiers"] if len(row) == 4 and f"`{step.name}`" in row[0]]
            self.assertTrue(any(all(row) for row in reasons), f"{step.name}: no tier, or none that says why")
            self.assertTrue(any(f"`{step.name}`" in row[0] for row in tables["Last findings of each step"]), step.name)


class Changed(unittest.TestCase):
    def test_dependencies_are_read_from_ninjas_log(self):
        deps = changed.read_deps("x/a.o: #deps 2, deps mtime 1 (VALID)\n    ../../memory/a.cc\n    /usr/include/b.h\n\n",
                                 Path("/tree/build/release"))
        self.assertEqual(deps, {"x/a.o": {"/tree/memory/a.cc", "/usr/include/b.h"}})

    def test_a_test_beside_the_file_comes_first_then_the_nearest_of_the_simulator_then_what_links_least(self):
        own = changed.Test("sql_test", "bin/sql_test", "", set())
        near = changed.Test("namsim_wire", "bin/namsim_test", "", set())
        far = changed.Test("stress_test", "bin/stress_test", "", set())
        farther = changed.Test("namsim_leaks", "bin/namsim_test", "", set())
        files = ["compute/sql/bind/bind.cc"]
        ranks = [changed.distance(test, files, count) for test, count in ((own, 80), (near, 260), (far, 100), (farther, 260))]
        self.assertEqual(ranks, sorted(ranks))
        self.assertEqual(len(set(ranks)), 4)

    def test_a_file_that_tests_read_when_they_run_leads_to_them(self):
        def readers(file):
            names = ("sqltest_test", "e2e_corpus", "e2e_isolation_spec_plain", "fuzz_test", "e2e_package", "sql_test")
            return [name for name in names if changed.reads(changed.Test(name, "", "", set()), [file])]

        self.assertEqual(readers("tools/sqltest/corpus/joins.sqltest"), ["sqltest_test", "e2e_corpus"])
        self.assertEqual(readers("tools/sqltest/isolation/write_skew.spec"), ["e2e_isolation_spec_plain"])
        self.assertEqual(readers("docker/Dockerfile"), ["e2e_package"])
        self.assertEqual(readers("compute/sql/bind/bind.cc"), [])

    def test_a_test_of_daemons_depends_on_the_tools_that_it_names(self):
        daemons = ["bin/nam-memoryd", "bin/nam-computed", "bin/namctl"]
        self.assertEqual(changed.started_by("with Cluster() as cluster:"), daemons)
        self.assertEqual(changed.started_by('run(program("namsql"))'), [*daemons, "bin/namsql"])
        self.assertEqual(changed.started_by('BIN.parent / "lib" / "libnamdb_workloads.so"'),
                         [*daemons, "lib/libnamdb_workloads.so"])
        self.assertEqual(changed.started_by("namsql_history = 1"), daemons)

    def test_tests_run_nearest_first_until_their_time_is_used_up(self):
        tests = [changed.Test(name, "", "", set()) for name in "abcd"]
        chosen, left = changed.choose(tests, {"a": 50, "b": 40, "c": 30, "d": 5}, 100)
        self.assertEqual(([test.name for test in chosen], [test.name for test in left]), (["a", "b", "d"], ["c"]))
        chosen, _ = changed.choose(tests[:1], {"a": 500}, 100)
        self.assertEqual([test.name for test in chosen], ["a"])


class Parts(unittest.TestCase):
    """tools/e2e/CMakeLists.txt runs some scripts in parts."""

    def test_the_parts_of_a_script_have_each_of_its_cases_once(self):
        folder = Path(__file__).resolve().parents[2] / "e2e"
        scripts = re.findall(r"set\(parts_(\w+)\s+([^)]+)\)", (folder / "CMakeLists.txt").read_text())
        self.assertTrue(scripts)
        for script, parts in scripts:
            tree = ast.parse((folder / f"{script}_test.py").read_text())
            cases = {node.name: [one.name for one in node.body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
                     for node in tree.body if isinstance(node, ast.ClassDef)}
            run = []
            for name in [name for part in parts.split() for name in part.partition("=")[2].split(",")]:
                class_name, _, case = name.partition(".")
                run += [(class_name, one) for one in ([case] if case else cases[class_name])]
            every = [(class_name, one) for class_name, names in cases.items() for one in names]
            self.assertEqual(sorted(run), sorted(every), script)


if __name__ == "__main__":
    unittest_cases.main()
