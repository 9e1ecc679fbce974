"""Runs unittest's cases as unittest.main() does, and says of each in one line how it ended and how long it took, for
results.py: a case that was skipped is not one that passed.

A class's set-up is part of its first case.
"""
import sys
import time
import unittest

MARK = "case:"


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self._ended_s = time.monotonic()
        self._failed = set()

    def _say(self, test, outcome, reason=""):
        now_s = time.monotonic()
        name = test.id().removeprefix("__main__.").replace(":", ";")
        reason = f": {' '.join(reason.split())}" if reason else ""
        print(f"{MARK} {now_s - self._ended_s:.3f} {outcome} {name}{reason}", file=sys.stderr, flush=True)
        self._ended_s = now_s

    def addSuccess(self, test):
        super().addSuccess(test)
        self._say(test, "passed")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._say(test, "skipped", reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._fail(test)

    def addError(self, test, error):
        super().addError(test, error)
        self._fail(test)

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._fail(test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self._fail(test)

    def _fail(self, test):
        """A case with several failures failed once."""
        if test.id() not in self._failed:
            self._failed.add(test.id())
            self._say(test, "failed")


def main():
    unittest.main(module="__main__", testRunner=unittest.TextTestRunner(verbosity=2, resultclass=Result))
