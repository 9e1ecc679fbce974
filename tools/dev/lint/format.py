#!/usr/bin/env python3
"""Every C++ file is as clang-format 19 writes it. `--fix` rewrites those that are not."""
import subprocess
import sys

import sources
from sources import Finding


def main():
    fix = "--fix" in sys.argv[1:]
    paths = sources.wanted([p for p in sys.argv[1:] if p != "--fix"], (".h", ".cc"))
    if fix and paths:
        return subprocess.run(["clang-format-19", "-i", *paths], cwd=sources.ROOT).returncode
    findings = []
    for start in range(0, len(paths), 50):
        group = paths[start:start + 50]
        done = subprocess.run(["clang-format-19", "--dry-run", *group], cwd=sources.ROOT, capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stderr)
            return 1
        wrong = {line.split(":")[0]: int(line.split(":")[1]) for line in reversed(done.stderr.splitlines())
                 if "[-Wclang-format-violations]" in line}
        findings += [Finding(path, wrong[path], "format", "run tools/dev/lint/format.py --fix") for path in sorted(wrong)]
    return sources.report("format", findings, len(paths))


if __name__ == "__main__":
    sys.exit(main())
