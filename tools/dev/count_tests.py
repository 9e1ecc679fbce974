#!/usr/bin/env python3
"""Counts what a ctest run did: count_tests.py LastTest.log

Prints `PASSED FAILED PROGRAMS`. A program of Catch2 or of Python's unittest counts as many tests as it has
cases, any other as one; one that was skipped (it says `skipped: REASON`) counts as none, and the reason goes to the
standard error stream. A program that failed without saying which case did (a crash, a time-out) counts as one failure. Lines
that name the failed programs follow, one each.
"""
import re
import sys


def main() -> int:
    try:
        text = open(sys.argv[1], errors="replace").read()
    except OSError:
        print("0 1 0")
        return 0
    passed = failed = programs = 0
    names = []
    for block in re.split(r"^\d+/\d+ Testing: ", text, flags=re.M)[1:]:
        programs += 1
        name = block.splitlines()[0].strip()
        ok = re.search(r"^Test Passed\.$", block, flags=re.M) is not None
        all_passed = re.search(r"^All tests passed \([\d,]+ assertions? in (\d+) test cases?\)", block, flags=re.M)
        some = re.search(r"^test cases:\s+(\d+) \|(.*)$", block, flags=re.M)
        python = re.search(r"^Ran (\d+) tests? in", block, flags=re.M)
        skipped = re.search(r"^(?:\S+: )?skipped: (.+)$", block, flags=re.M)
        if ok and skipped:
            programs -= 1
            print(f"skipped: {name.split(': ')[-1]}: {skipped.group(1)}", file=sys.stderr)
            continue
        if ok:
            cases = all_passed or python
            passed += int(cases.group(1)) if cases else 1
            continue
        names.append(name)
        bad = sum(int(n) for n in re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", block))
        if python and bad:
            passed += max(0, int(python.group(1)) - bad)
            failed += bad
        elif some:
            good = re.search(r"(\d+) passed", some.group(2))
            good_count = int(good.group(1)) if good else 0
            passed += good_count
            failed += max(1, int(some.group(1)) - good_count)
        else:
            failed += 1
    print(passed, failed, programs)
    for name in names:
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
