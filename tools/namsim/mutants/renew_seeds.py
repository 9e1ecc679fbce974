#!/usr/bin/env python3
"""Enters the seeds on which the test doubles are found today, where changes of the product have moved them: in this folder's
sources and in the table of docs/internals/simulation.md.

    renew_seeds.py [NAMSIM_MUTANTS_TEST]

Runs the program (by default that of build/release), which searches where a fixed seed no longer fails, and warns.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
TABLE = ROOT / "docs/internals/simulation.md"
WARNING = re.compile(r'"([^"]+)" is not found on seed (\d+) any more, but on (\d+)')


def warnings(output):
    """{name: (old seed, new seed)}. Catch2 breaks lines."""
    return {name: (old, new) for name, old, new in WARNING.findall(" ".join(output.split()))}


def in_source(text, name, old, new):
    """The text with the new seed: the first number behind the name. A literal may be broken at any blank."""
    literal = r'\s+'.join(re.escape(word) for word in name.split()).replace(r'\s+', r'(?:"\s*"\s*|\s+(?:"\s*")?)')
    return re.sub(rf'("{literal}"(?:(?!\n\s+{{").)*?,\s){old}(?=,)', rf"\g<1>{new}", text, count=1, flags=re.S)


def in_table(text, name, _, new):
    return re.sub(rf"^(\| {re.escape(name)} \|.* )\d+( \|[^|\n]*\|[^|\n]*\|)$", rf"\g<1>{new}\g<2>", text, count=1, flags=re.M)


def main(program):
    done = subprocess.run([program, "[mutants]"], capture_output=True, text=True, errors="replace")
    found = warnings(done.stdout)
    files = {path: path.read_text() for path in (*sorted(HERE.glob("*.cc")), TABLE)}
    for name, (old, new) in sorted(found.items()):
        missing = []
        changed = {path: (in_table if path == TABLE else in_source)(text, name, old, new) for path, text in files.items()}
        if changed[TABLE] == files[TABLE]:
            missing.append("in the table")
        if all(changed[path] == files[path] for path in files if path != TABLE):
            missing.append("in the sources")
        print(f"{name}: {old} -> {new}{' (not found ' + ' and '.join(missing) + ')' if missing else ''}")
        files = changed
    for path, text in files.items():
        if path.read_text() != text:
            path.write_text(text)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/bin/namsim_mutants_test")))
