#!/usr/bin/env python3
"""Rules for every text file of the tree: headers and mains open with their contract, headers have include guards, no tabs
or trailing blanks, no comment beyond the columns (clang-format does not reflow comments), no words that only mean
something at a workplace. It warns of long files.
"""
import re
import sys

import sources
from sources import Finding

LONG_LINES = 500
COLUMNS = 110
# Not text, or text in which blanks matter: bytes, and expected results.
SKIPPED = (".png", ".bin", ".sqltest")
# Spelled in pieces, so that this file passes its own lint.
WORKPLACE = re.compile("|".join((
    "/wor" + "k/", r"\.\./sha" + "red", "/far" + "m/", r"\.libr" + "ary", r"\bhel" + r"per h\d\b", r"\bissue #?\d+\b",
    r"/ho" + r"me/\w+", r"/ro" + r"ot/", r"design\." + "md", r"habits\." + "md", r"\bTO" + "DO\\b|\\bFIX" + "ME\\b")))


def check(path, text):
    findings = []
    lines = text.splitlines()
    if path.endswith((".h", "/main.cc")) and not (lines and lines[0].startswith("//")):
        findings.append(Finding(path, 1, "text", "a file opens with a comment that says what it is and guarantees"))
    if path.endswith(".h") and "#pragma once" not in text:
        findings.append(Finding(path, 1, "text", "a header has #pragma once"))
    for number, line in enumerate(lines, 1):
        if WORKPLACE.search(line):
            findings.append(Finding(path, number, "text", f"a word of a workplace: {line.strip()[:80]}"))
        if line != line.rstrip() and not path.endswith((".md", ".sqltest")):
            findings.append(Finding(path, number, "text", "blanks at the end of the line"))
        if "\t" in line and path.endswith(sources.CPP + (".py", ".cmake")):
            findings.append(Finding(path, number, "text", "a tab"))
        if len(line) > COLUMNS and path.endswith((".h", ".cc")) and line.lstrip().startswith("//"):
            findings.append(Finding(path, number, "text", f"a comment of more than {COLUMNS} columns"))
    return findings


def main():
    paths = [p for p in (sys.argv[1:] or sources.files()) if not p.endswith(SKIPPED) and p != "LICENSE"]
    findings, warnings = [], []
    for path in paths:
        text = (sources.ROOT / path).read_text(errors="replace")
        findings += [f for f in check(path, text) if not sources.allowed(text, f)]
        length = text.count("\n")
        if length > LONG_LINES and path.endswith((".h", ".cc", ".py", ".sh")):
            warnings.append(f"{path}: {length} lines; one idea a file")
    return sources.report("text", findings, len(paths), warnings)


if __name__ == "__main__":
    sys.exit(main())
