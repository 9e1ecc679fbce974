"""The steps of tools/test: which preset builds what, and which tests run there (docs/testing.md says why).

`typical_minutes` is what a step took on two cores with a warm compiler cache; a run on this machine replaces it.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    name: str
    preset: str
    target: str
    ctest: tuple
    typical_minutes: float
    about: str
    by_default: bool = False


STEPS = (
    Step("release", "release", "all", ("-LE", "long|whole"), 12,
         "g++ 12: build everything; all tests, lints and end-to-end tests, and RDMA in a virtual machine "
         "(tools/dev/verbs-vm), which is skipped with a reason where that cannot run", by_default=True),
    Step("asan", "asan", "namdb_sanitized_tests", ("-LE", "lint|e2e|long|whole|verbs|plain"), 5,
         "clang 19, address and undefined-behaviour sanitizers: the tests in which these can find something",
         by_default=True),
    Step("tsan", "tsan", "namdb_threaded_tests", ("-L", "threaded", "-LE", "lint|e2e|long|whole"), 2,
         "clang 19, thread sanitizer: the tests labelled `threaded`", by_default=True),
    Step("whole", "release", "all", ("-L", "whole"), 40,
         "release again: the matrices of which the steps above run a covering sample, whole"),
    Step("verbs-asan", "asan", "namdb_verbs_tests", ("-L", "verbs"), 15,
         "asan again, RDMA in the virtual machine, with real daemons too"),
    Step("verbs-tsan", "tsan", "namdb_verbs_tests", ("-L", "verbs"), 20,
         "the same under the thread sanitizer"),
    Step("release-clang", "release-clang", "all", ("-LE", "lint|long|whole"), 25,
         "clang 19: build everything, all tests"),
    Step("debug", "debug", "namdb_tests", ("-LE", "lint|e2e|long|whole|verbs"), 25,
         "clang 19, no optimisation: all tests that need no second process"),
    Step("tidy", "debug", "namdb_generated", (), 60,
         "clang-tidy over every source file"),
    Step("fuzz", "fuzz", "namdb_fuzzer", (), 16,
         "clang 19, libFuzzer with the sanitizers of asan: each target of tools/fuzz for a minute"),
    Step("long", "release", "all", ("-L", "long"), 120,
         "release again, tests labelled `long`: many more simulator seeds"),
    Step("huge-pages", "release", "all", ("-R", "e2e_huge_pages"), 1,
         "release again, a cluster on 2 MiB pages; as root it reserves them for the time of the test"),
)
