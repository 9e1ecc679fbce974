#!/usr/bin/env python3
"""The lints find what they are for, and let pass what they should."""
import subprocess
import sys
import unittest
from pathlib import Path

import banned_calls
import circles
import coroutines
import declarations
import docs
import error_chains
import layering
import prose
import sources
import text

LAYERS = layering.read_layers(Path(__file__).with_name("layers.txt"))


def count(findings):
    return len(findings)


class Stripping(unittest.TestCase):
    def test_comments_and_strings_are_blanked_and_lines_stay(self):
        code = sources.strip_cpp('int a; // rand()\nauto b = "rand()"; /* x\n y */ char c = \'"\'; int d = 1\'000;\n')
        self.assertNotIn("rand", code)
        self.assertEqual(code.count("\n"), 3)
        self.assertIn("int d = 1'000;", code)


class GivenFiles(unittest.TestCase):
    def test_a_lint_reads_of_given_files_those_of_its_kind(self):
        given = ["docs/testing.md", "memory/main.cc", "docker/Dockerfile"]
        self.assertEqual(sources.wanted(given, sources.CPP), ["memory/main.cc"])
        self.assertEqual(sources.wanted(given), given)
        self.assertEqual(sources.wanted(given[:1], sources.CPP), [])

    def test_each_lint_of_single_files_takes_files_of_any_kind(self):
        here = Path(__file__).parent
        for lint in ("format", "layering", "banned_calls", "coroutines"):
            done = subprocess.run([sys.executable, here / f"{lint}.py", "docs/testing.md", "docker/Dockerfile"],
                                  capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (0, f"{lint}: 0 files, 0 findings\n"))


class Layering(unittest.TestCase):
    def check(self, path, include):
        return count(layering.check(path, f'#include "{include}"\n', LAYERS))

    def test_a_lower_folder_may_not_include_a_higher_one(self):
        self.assertEqual(self.check("common/base/x.h", "common/fabric/fabric.h"), 1)
        self.assertEqual(self.check("common/layout/x.h", "compute/api/table.h"), 1)
        self.assertEqual(self.check("memory/x.cc", "common/fabric/shm/shm.h"), 1)
        self.assertEqual(self.check("compute/txn/x.cc", "tools/namctl/x.h"), 1)
        self.assertEqual(self.check("compute/txn/x_test.cc", "tools/namctl/x.h"), 1)
        self.assertEqual(self.check("tools/namsim/cluster/x.cc", "tools/namsim/scenario/x.h"), 1)
        self.assertEqual(self.check("tools/namsim/history/x.cc", "memory/region/region.h"), 1)

    def test_a_higher_folder_may_include_a_lower_one(self):
        self.assertEqual(self.check("compute/txn/x.cc", "common/fabric/fabric.h"), 0)
        self.assertEqual(self.check("memory/main.cc", "common/fabric/shm/shm.h"), 0)
        self.assertEqual(self.check("tools/stress/x.cc", "memory/server/server.h"), 0)
        self.assertEqual(self.check("common/fabric/x_test.cc", "common/fabric/shm/shm.h"), 0)

    def test_tests_of_tools_are_held_to_the_layers_of_tools(self):
        self.assertEqual(self.check("tools/stress/x_test.cc", "tools/nambench/report/timeline.h"), 1)
        self.assertEqual(self.check("tools/namsim/workloads/x_test.cc", "tools/namsim/mutants/mutants.h"), 1)
        self.assertEqual(self.check("tools/stress/x_test.cc", "tools/support/wire/wire_run.h"), 0)
        self.assertEqual(self.check("tools/stress/x_test.cc", "memory/testing/test_cluster.h"), 0)
        self.assertEqual(self.check("tools/namsim/scenario/x_test.cc", "tools/namsim/testing/seeds.h"), 0)

    def test_only_tests_and_tools_include_test_support(self):
        for path in ("memory/region/x.cc", "memory/region/x.h", "memory/main.cc", "memory/test_x.cc", "workloads/x.cc"):
            self.assertEqual(self.check(path, "memory/testing/test_cluster.h"), 1, path)
        for path in ("memory/region/x_test.cc", "memory/testing/y.h", "tools/sqltest/x.cc", "common/fabric/conformance/x.cc"):
            self.assertEqual(self.check(path, "common/reactor/testing/manual_executor.h"), 0, path)

    def test_a_folder_that_the_table_does_not_know_is_found(self):
        self.assertEqual(self.check("common/new/x.cc", "common/base/error.h"), 1)


class Circles(unittest.TestCase):
    def problems(self, includes):
        texts = {path: "".join(f'#include "{name}"\n' for name in names) for path, names in includes.items()}
        return [(found.path, found.line) for found in circles.check(texts)]

    def test_units_that_include_each_other_are_found(self):
        self.assertEqual(self.problems({"a.h": [], "a.cc": ["a.h", "b.h"], "b.h": ["a.h"]}), [("a.cc", 2)])
        self.assertEqual(len(self.problems({"a.h": ["b.h"], "b.h": ["c.h"], "c.cc": ["a.h"], "c.h": []})), 1)
        self.assertEqual(len(self.problems({"a.h": ["b.h"], "b.h": ["a.h"], "c.h": ["d.h"], "d.h": ["c.h"]})), 2)

    def test_a_tree_of_units_is_let_pass(self):
        self.assertEqual(self.problems({"a.h": [], "a.cc": ["a.h", "b.h"], "b.h": ["c.h"], "c.h": [], "d.cc": ["a.h"]}), [])


class Declarations(unittest.TestCase):
    ABOVE = ("namespace namdb::txn {\nclass Engine final : public Base<int> {\n  struct Part {};\n};\n"
             "enum class Kind : char { a };\n}\n")

    def problems(self, code, path="common/layout/x.h", above=ABOVE, above_path="compute/api/engine.h"):
        return [(found.path, found.line) for found in declarations.check({path: code, above_path: above}, LAYERS)]

    def test_a_class_of_a_higher_folder_may_not_be_declared(self):
        for line in ("class Engine;", "enum class Kind : char;", "struct Other { friend class Engine; };",
                     "inline namespace a { struct B { friend struct Engine::Part; }; }", "class [[nodiscard]] Engine;"):
            self.assertEqual(self.problems(f"namespace namdb::txn {{\n{line}\n}}\n"), [("common/layout/x.h", 2)], line)
        self.assertEqual(len(self.problems("namespace namdb { namespace txn { class Engine; } }")), 1)
        self.assertEqual(len(self.problems("namespace namdb::txn { class Engine; }", "common/layout/x.cc")), 1)
        self.assertEqual(len(self.problems("class Engine;", above="class Engine {};", above_path="compute/api/engine.cc")), 1)

    def test_a_class_of_the_own_or_a_lower_folder_may_be_declared(self):
        for path in ("compute/api/x.h", "compute/txn/x.h", "tools/stress/x.h"):
            self.assertEqual(self.problems("namespace namdb::txn { class Engine; }", path), [], path)

    def test_other_classes_of_that_name_are_let_pass(self):
        for code in ("namespace namdb::layout { class Engine; }", "class Engine;", "namespace namdb::txn { class Part; }",
                     "namespace namdb::txn { struct A { class Engine; }; }", "namespace namdb::txn { namespace { class Engine; } }",
                     "namespace namdb::txn { template <class Engine> void f(Engine& engine); }",
                     "namespace namdb::txn {\n#define A class Engine;\n// class Engine;\n}"):
            self.assertEqual(self.problems(code), [], code)
        for above in ("namespace namdb::txn { namespace { class Engine {}; } }",
                      "namespace namdb::txn { void f() { class Engine {}; } }"):
            self.assertEqual(self.problems("namespace namdb::txn { class Engine; }", above=above), [], above)

    def test_tests_and_composition_roots_may_declare_all(self):
        for path in ("common/layout/x_test.cc", "common/layout/testing/x.h", "memory/main.cc"):
            self.assertEqual(self.problems("namespace namdb::txn { class Engine; }", path), [], path)
        code = "namespace namdb::txn { class Engine; }"
        self.assertEqual(self.problems(code, above_path="compute/api/testing/engine.h"), [])


class Banned(unittest.TestCase):
    def check(self, line, path="memory/x.cc"):
        return count(banned_calls.check(path, line + "\n"))

    def test_clocks_randomness_threads_and_sleep_are_found(self):
        for line in ("clock_gettime(CLOCK_REALTIME, &t);", "auto t = std::chrono::steady_clock::now();",
                     "std::random_device d;", "std::thread t(f);", "usleep(10);", "int r = rand();",
                     "auto t = __builtin_ia32_rdtsc();", "time_t t = time(nullptr);", "std::mutex m;",
                     "auto t = absl::Now();", "absl::Mutex m;", "absl::BitGen g;", "absl::SleepFor(d);"):
            self.assertEqual(self.check(line), 1, line)

    def test_the_executors_own_are_let_pass(self):
        for line in ("co_await executor.sleep_for(10);", "executor.random().next();", "clock.now_ns();",
                     "// std::thread", "thread_count = 2;", "const auto time(x);", "service.time(0);"):
            self.assertEqual(self.check(line), 0, line)

    def test_iteration_over_an_unordered_container_is_found(self):
        declaration = "std::unordered_map<std::string, std::vector<int>> names_;\n"
        self.assertEqual(self.check(declaration + "for (auto& [a, b] : names_) {}"), 1)
        self.assertEqual(self.check(declaration + "for (auto& [a, b] : this->names_) {}"), 1)
        self.assertEqual(self.check(declaration + "names_.find(x);"), 0)
        for kind in ("flat_hash_map<int, int>", "node_hash_map<int, int>", "flat_hash_set<int>"):
            self.assertEqual(self.check(f"absl::{kind} names_;\nfor (auto& a : names_) {{}}"), 1, kind)

    def test_files_that_touch_the_operating_system_are_exempt(self):
        self.assertEqual(self.check("std::thread t(f);", "common/fabric/shm/x.cc"), 0)
        self.assertEqual(self.check("std::thread t(f);", "common/reactor/io_uring_loop.cc"), 0)
        self.assertEqual(self.check("std::thread t(f);", "common/reactor/executor.cc"), 1)
        self.assertEqual(self.check("std::thread t(f);", "memory/x_test.cc"), 0)

    def test_an_allowance_needs_a_reason(self):
        finding = banned_calls.check("memory/x.cc", "rand();")[0]
        self.assertTrue(sources.allowed("rand();  // lint: allow banned: a test of the lint", finding))
        self.assertFalse(sources.allowed("rand();  // lint: allow banned:", finding))


class Coroutines(unittest.TestCase):
    def check(self, code):
        return count(coroutines.check("memory/x.cc", code))

    def test_a_capturing_lambda_coroutine_is_found(self):
        self.assertEqual(self.check("auto f = [this](int a) -> Task<void> { co_return; };"), 1)
        self.assertEqual(self.check("auto f = [&] { co_await g(); };"), 1)
        self.assertEqual(self.check("auto f = [](int a) -> Task<void> { co_return; };"), 0)
        self.assertEqual(self.check("auto f = [&](int a) { return a; };"), 0)
        self.assertEqual(self.check("Task<void> g() { auto f = [&] { return 1; }; co_await h(f()); }"), 0)

    def test_references_to_temporaries_are_found(self):
        self.assertEqual(self.check("Task<void> f(std::string&& a);"), 1)
        self.assertEqual(self.check("Task<void> f(const std::string& a);"), 1)
        self.assertEqual(self.check("Task<Result<int>> f(std::string a, Engine& engine);"), 0)

    def test_a_lock_across_an_await_is_found(self):
        self.assertEqual(self.check("{ std::lock_guard g(m); co_await f(); }"), 1)
        self.assertEqual(self.check("{ { std::lock_guard g(m); } co_await f(); }"), 0)

    def test_what_the_compiler_miscompiles_is_found(self):
        self.assertEqual(self.check("co_await f({1, 2});"), 1)
        self.assertEqual(self.check("co_await g.f(1, Options{.a = 1});"), 1)
        self.assertEqual(self.check("co_await f(a, b);"), 0)
        self.assertEqual(self.check("auto x = a ? co_await f() : b;"), 1)
        self.assertEqual(self.check("switch (co_await f(a)) { case 1: break; }"), 1)
        self.assertEqual(self.check("switch (f(a)) { case 1: co_await g(); }"), 0)


class ErrorChains(unittest.TestCase):
    def check(self, code, path="compute/sql/x.cc"):
        return count(error_chains.check(path, code))

    def test_a_call_behind_the_check_of_a_status_is_found(self):
        for line in ("if (status.ok()) status = f();", "if (status.ok()) status = co_await g.f(a, b);", "if (status.ok())\n  status = f();",
                     "if (result.ok()) result = rescale(*result, 2);"):
            self.assertEqual(self.check(line), 1, line)

    def test_checks_and_first_errors_are_let_pass(self):
        for line in ("if (!status.ok()) co_return status;", "if (Status status = f(); !status.ok()) return status;",
                     "if (status.ok()) other = f();", "if (status.ok() && due()) status = f();", "// if (status.ok()) status = f();",
                     "if (status.ok()) status = std::move(other);", "if (status.ok()) status = other;",
                     "if (failure_.ok()) failure_ = Status(ErrorCode::internal, text());", "if (first.ok()) first = named(server, status);"):
            self.assertEqual(self.check(line), 0, line)
        self.assertEqual(self.check("if (status.ok()) status = f();", "memory/x.cc"), 0)

    def test_an_error_as_an_out_parameter_of_a_bool_function_is_found(self):
        for line in ("bool f(Status& status);", "bool A::f(Run& run, Status& status, std::string_view id = {}) {",
                     "virtual bool f(int a,\n       Status &status) = 0;"):
            self.assertEqual(self.check(line), 1, line)
            self.assertEqual(self.check(line, "memory/x.h"), 1, line)
        for line in ("bool f(const Status& status);", "Status f(bool& found);", "Result<bool> f(int a);", "void end(Status& outcome);",
                     "bool f(Status status);", "bool f(int a); Status& g();", "// bool f(Status& status);"):
            self.assertEqual(self.check(line), 0, line)


class Text(unittest.TestCase):
    def test_workplace_words_and_missing_contracts_are_found(self):
        self.assertEqual(count(text.check("a.md", "see /wor" + "k/main\n")), 1)
        self.assertEqual(count(text.check("a.h", "#pragma once\n")), 1)
        self.assertEqual(count(text.check("a.h", "// A.\n#pragma once\n")), 0)
        self.assertEqual(count(text.check("a.cc", "int a;  \n")), 1)

    def test_a_comment_beyond_the_columns_is_found(self):
        self.assertEqual(count(text.check("a.cc", "  // " + "x" * 106 + "\n")), 1)
        self.assertEqual(count(text.check("a.cc", "  // " + "⟨" * 105 + "\n")), 0)


class Prose(unittest.TestCase):
    def check(self, text, path="a.md"):
        return count(prose.check(path, text))

    def test_a_clause_as_a_subject_is_found(self):
        for line in ("Who meets a lock aborts.", "It is locked. What is written is logged.", "- Whoever waits is older.",
                     "**What it costs.** Two READs.", "It ends; who waits is told.", "Locks: what was taken is released.",
                     "| a | Whatever comes is refused. |"):
            self.assertEqual(self.check(line + "\n"), 1, line)

    def test_a_clause_behind_a_conjunction_or_a_comma_is_found(self):
        for line in ("A page is left alone, since who makes it counts it.", "Sort them, so that what follows is ordered.",
                     "So what it shows is stored.", "It says that whatever comes is refused.", "It ends when what it sent is there.",
                     "It is the role now, but who logged in stays the same.", "It is sealed, and what is taken was.",
                     "Once it ends, what is in its lane does not count.", "It waits until what was dropped is free.",
                     "The batch ends, and then whatever is posted fails."):
            self.assertEqual(self.check(line + "\n"), 1, line)

    def test_a_clause_that_is_no_subject_is_let_pass(self):
        for line in ("Roles, groups, and what they may do.", "A record, a bucket, and what waits to be freed.",
                     "It never reads outside, whatever they hold.", "The member, who made the handshake, is answered.",
                     "It says who asked and what it was told.", "The place, what it can do, and its status.",
                     "It was so before what is known now.", "It names the file, or what has been lost."):
            self.assertEqual(self.check(line + "\n"), 0, line)

    def test_a_sentence_over_two_lines_is_found_on_its_line(self):
        found = prose.check("a.md", "The commit ends.\nThen comes more. Who\nwaits is told.\n")
        self.assertEqual([finding.line for finding in found], [2])

    def test_persons_and_avoided_words_are_found(self):
        for line in ("It waits until he has it.", "His lock is held.", "The row is looked at again.", "A CAS goes along with it.",
                     "News that is none is ignored.", "The server stops in order."):
            self.assertEqual(self.check(line + "\n"), 1, line)

    def test_questions_headings_code_and_other_uses_are_let_pass(self):
        for line in ("## What runs", "What may code rely on?", "| What | Where |", "`who` and `what he says` are columns.",
                     "    Who waits is told.", "A client who asks gets it.", "It says what runs.", "Sort them in order of age.",
                     "There is none.", "This, then, is the other one.", "It asks who holds it, e.g. What."):
            self.assertEqual(self.check(line + "\n"), 0, line)
        self.assertEqual(self.check("```\nWho waits is told.\n```\n"), 0)

    def lines(self, path, text):
        return [finding.line for finding in prose.check(path, text)]

    def test_comments_of_sources_are_read_and_code_is_not(self):
        code = 'int a;  // Who waits is told.\n// A lock.\n//\n// What was taken\n// is released.\nconst char* b = "He";\n'
        for path in ("a.cc", "a.h", "a.inc", "a.proto"):
            self.assertEqual(self.lines(path, code), [1, 4], path)
        hashes = "# What was taken\n# is released.\nwho = 'He // is'  # What comes goes.\nhe = 1\n"
        for path in ("CMakeLists.txt", "a.cmake", "a.sh", "docker/Dockerfile", "a.py"):
            self.assertEqual(self.lines(path, hashes), [1, 3], path)
        self.assertEqual(self.lines("tools/run", "#!/bin/sh\n" + hashes), [2, 4])
        self.assertEqual(self.lines("a.sqltest", hashes), [1, 3])
        self.assertEqual(self.lines("a.sql", hashes), [])

    def test_docstrings_are_read(self):
        code = 'def f():\n    """A lock. Who waits\n    is told.\n\n    - What comes goes.\n    """\n    return "He"\n'
        self.assertEqual(self.lines("a.py", code), [2, 5])
        self.assertEqual(self.lines("tools/run", "#!/usr/bin/env python3\n" + code), [3, 6])
        self.assertEqual(self.lines("a.sh", code), [])

    def test_names_of_test_cases_are_sentences(self):
        for name in ("What is no verifier is a password", "a flush ends, and what is free is finished", "a short record is none"):
            self.assertEqual(self.lines("a_test.cc", f'\nTEST_CASE("{name}", "[tag]") {{\n'), [2], name)
            self.assertEqual(self.lines("a_test.cc", f'\nTEST_CASE(\n    "{name}") {{\n'), [3], name)
        for name in ("a verifier is read", "3 where there is none", "it is none of the other three"):
            self.assertEqual(self.lines("a_test.cc", f'TEST_CASE("{name}") {{\n'), [], name)

    def test_string_literals_have_no_avoided_words(self):
        for literal in ("rings are looked at", "the lock goes along with it", 'a \\"key\\" is none'):
            self.assertEqual(self.lines("a.cc", f'f("one",\n  "{literal}");\n'), [2], literal)
            self.assertEqual(self.lines("a.py", f'f("{literal}")\n'), [], literal)
        for code in ('"What each region may grow to"', '"is none of: a, b"', 'R"(that is none)"', '"a" /* "b" is none" */'):
            self.assertEqual(self.lines("a.cc", f"f({code});\n"), [], code)

    def test_an_allowance_needs_a_reason(self):
        line = "He waits. <!-- lint: allow prose: an example -->"
        self.assertTrue(sources.allowed(line, prose.check("a.md", line)[0]))


class Docs(unittest.TestCase):
    TREE = docs.Tree.of({
        "memory/extents.h": "// old_name\nclass Extents { Run allocate(); };",
        "memory/main.cc": 'app.add_option("--data", data); facts.count("free_bytes", 1);',
        "memory/btree/tree.h": "class Tree;",
        "proto/control.proto": "message Hello { string name = 1; }\nmessage Bye { uint32 reason = 1; }",
        "tools/test": 'case "$1" in\n  --all) ;;',
        "docs/a.md": "# A heading\n`no_such_thing`",
    }, ["rdma", "--security-opt"])

    def problems(self, line):
        return [finding.message for finding in docs.check("docs/a.md", line, self.TREE, {"docs/a.md": {"a-heading"}})]

    def test_what_is_in_the_tree_is_let_pass(self):
        for line in ("`memory/extents.h`, `extents.h`, `btree/tree.h`, `memory/`, `memory/*.h`, `tools/test`",
                     "`--data DIR`, `tools/test --all`, `docker --security-opt x`", "`Extents::allocate`, `allocate()`",
                     "`free_bytes` and `Hello.name`", "`rdma`, `08006`, `DIR/log`, `/etc/namdb`, `SELECT no_such FROM t`",
                     "[a](a.md#a-heading), [b](../memory/main.cc), [c](https://example.org/x)", "    `in_a_block`"):
            self.assertEqual(self.problems(line), [], line)

    def test_what_is_not_there_is_found(self):
        for line in ("`memory/moved.h`", "`moved.h`", "`memory/tree.h`", "`other/*.h`", "`nam-memoryd --gone`",
                     "`Extents::vanished`", "`vanished()`", "`vanished(a, b)`", "`Extents::vanished(a)`",
                     "`free_bytes` and `nam-memoryd\n--gone`", "`no_such_thing`", "`old_name`", "`Hello.reason`",
                     "[a](b.md)", "[a](#another)", "[a](../../up.md)", "`cat docs/b.md`"):
            self.assertEqual(len(self.problems(line)), 1, line)


if __name__ == "__main__":
    unittest.main()
