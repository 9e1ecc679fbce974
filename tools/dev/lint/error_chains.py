#!/usr/bin/env python3
"""In compute/ an error is passed on at once: `if (!status.ok()) return status;`, or co_return.

Findings: `if (status.ok()) status = f();`, which goes on to the end of the function with the error in hand. Code that runs
after an error too belongs into the caller of a function that returns early. Let pass: of several calls that all run, a
status keeps the first error, as in `if (first.ok()) first = std::move(other);`.
"""
import re
import sys

import sources
from sources import Finding

CHAIN = re.compile(r"\bif\s*\(\s*(\w+)\.ok\(\)\s*\)\s*\1\s*=\s*([^=;][^;]*);")
# No call is skipped.
AT_HAND = re.compile(r"std::move\(\w+\)|\w+|Status\(.*\)", re.S)


def check(path, text):
    if not path.startswith("compute/"):
        return []
    code = sources.strip_cpp(text)
    return [Finding(path, sources.line_of(code, match.start()), "errors",
                    f"a chained error: if (!{match.group(1)}.ok()) return {match.group(1)};")
            for match in CHAIN.finditer(code)
            if match.group(1) != "first" and not AT_HAND.fullmatch(match.group(2).strip())]


if __name__ == "__main__":
    sys.exit(sources.main("error_chains", sources.CPP, check))
