#!/usr/bin/env python3
"""In compute/, an error is passed on at once: `if (!status.ok()) return status;`, or co_return.

Findings: `if (status.ok()) status = f();`, which goes on to the end of the function with the error in hand. Code that runs
after an error too belongs into the caller of a function that returns early. Let pass: of several calls that all run, a
status keeps the first error, as in `if (first.ok()) first = std::move(other);`.

A function that may fail answers with its Status or Result. Findings, in the whole tree: `bool f(..., Status& status)`, whose
error is an out parameter beside another answer.
"""
import re
import sys

import sources
from sources import Finding

CHAIN = re.compile(r"\bif\s*\(\s*(\w+)\.ok\(\)\s*\)\s*\1\s*=\s*([^=;][^;]*);")
# No call is skipped.
AT_HAND = re.compile(r"std::move\(\w+\)|\w+|Status\(.*\)", re.S)
BOOL_FUNCTION = re.compile(r"\bbool\s+([\w:]+)\s*\(([^();]*)\)")
OUT_STATUS = re.compile(r"(?<!const )\bStatus\s*&(?!&)")


def chains(path, code):
    return [Finding(path, sources.line_of(code, match.start()), "errors",
                    f"a chained error: if (!{match.group(1)}.ok()) return {match.group(1)};")
            for match in CHAIN.finditer(code)
            if match.group(1) != "first" and not AT_HAND.fullmatch(match.group(2).strip())]


def out_parameters(path, code):
    return [Finding(path, sources.line_of(code, match.start()), "errors",
                    f"an error as an out parameter: {match.group(1)} answers with a Status or a Result")
            for match in BOOL_FUNCTION.finditer(code) if OUT_STATUS.search(match.group(2))]


def check(path, text):
    code = sources.strip_cpp(text)
    return (chains(path, code) if path.startswith("compute/") else []) + out_parameters(path, code)


if __name__ == "__main__":
    sys.exit(sources.main("error_chains", sources.CPP, check))
