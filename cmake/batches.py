#!/usr/bin/env python3
"""Writes the sources that include others: batches of files that are compiled together, and checks of headers.

    batches.py ROOT PLAN CHECKS FOLDER...

PLAN has a line for each file that the compiler is given: `FILE|SOURCE|SOURCE...`, a batch to write and the sources that
it includes, or `|SOURCE`, a source that is compiled alone. Paths of sources are relative to ROOT. Sources of checks are
written into the folder CHECKS, and their names printed; headers are those in the FOLDERs of ROOT. A file that has not changed is not written again.

A header compiles alone if all that it uses comes from headers that it includes. So a compilation checks a header if
nothing has been read where the header's text begins but headers that it includes, directly or through others: as where
it is the first include. A chain of headers, each of which includes the one before, is checked as a whole. Therefore each
batch begins with a chain of headers of its part of the tree that it includes anyway, which costs next to nothing. For the
headers that are left there are checks, each of a chain.

The batches and checks of a part depend on its own files and on what they include, and on no other part's chains: a new
include changes few of them, and the compiler cache keeps the others.
"""
import functools
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|(<[^>]+>))', re.M)


class Includes:
    """The files that each file includes. A file that is not below the root (<vector>, a generated one) includes none."""

    def __init__(self, read):
        """`read`: the text of a file by its path, None if it is not in the tree."""
        self.read = read

    @functools.cache
    def direct(self, path):
        """In their order."""
        text = None if path.startswith("<") else self.read(path)
        return [] if text is None else [quoted or system for quoted, system in INCLUDE.findall(text)]

    @functools.cache
    def all(self, path):
        """Directly and through others."""
        found, open_paths = set(), [path]
        while open_paths:
            for included in self.direct(open_paths.pop()):
                if included not in found:
                    found.add(included)
                    open_paths.append(included)
        return frozenset(found)

    def checked_by(self, paths):
        """The headers that compiling a file checks which includes `paths` in this order."""
        checked, entered, done = set(), set(), set()

        def enter(path):
            if path in entered:
                return
            entered.add(path)
            if done <= self.all(path):
                checked.add(path)
            for included in self.direct(path):
                enter(included)
            done.add(path)

        for path in paths:
            enter(path)
        return {path for path in checked if path.endswith(".h")}

    def best_chain(self, headers):
        """Of these headers some, each of which includes the one before, that include as much as possible one by one."""
        best = {}
        for header in sorted(headers, key=lambda one: (len(self.all(one)), one)):
            included, chain = max((best[one] for one in best if one in self.all(header)), key=lambda one: one[0], default=(0, []))
            best[header] = included + len(self.all(header)), [*chain, header]
        return max(best.values(), key=lambda one: one[0], default=(0, []))[1]


def part_of(path):
    """Of the tree: compute/sql, for instance, with all below it."""
    return "/".join(path.split("/")[:-1][:2])


def arrange(includes, headers, plan):
    """(batches, checks): of {file: paths to include} each; a check is named by its last header. `plan`: (file, sources)."""
    batches, checks = {}, {}
    left = set(headers)
    for file, paths in plan:
        if not file:
            left -= includes.checked_by(includes.direct(paths[0]))
    for file, paths in plan:
        if file:
            parts = {part_of(path) for path in paths}
            near = {one for one in left if part_of(one) in parts}
            batches[file] = [*includes.best_chain(near & frozenset().union(*map(includes.all, paths))), *paths]
            left -= near & includes.checked_by(batches[file])
    for part in sorted({part_of(path) for path in left}):
        while chain := includes.best_chain({path for path in left if part_of(path) == part}):
            checks[chain[-1]] = chain
            left -= includes.checked_by(chain)
    return batches, checks


def write(path, paths):
    text = "".join(f'#include "{one}"\n' for one in paths)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(root, plan, target, *folders):
    root, target = Path(root), Path(target)

    def read(path):
        return (root / path).read_text(errors="replace") if (root / path).is_file() else None

    lines = [line.split("|") for line in Path(plan).read_text().splitlines()]
    headers = [str(path.relative_to(root)) for folder in folders
               for path in (root / folder).rglob("*.h")]
    batches, checks = arrange(Includes(read), headers, [(line[0], line[1:]) for line in lines])
    for file, paths in batches.items():
        write(Path(file), paths)
    for name, paths in checks.items():
        write(target / f"{name}.cc", paths)
        print(target / f"{name}.cc")


if __name__ == "__main__":
    main(*sys.argv[1:])
