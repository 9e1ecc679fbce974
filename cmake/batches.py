#!/usr/bin/env python3
"""Writes the sources that include others: batches of files that are compiled together, and checks of headers.

    batches.py ROOT BUILD STEP FOLDER...

BUILD/batches.txt has a line for each file that the compiler is given in a step of tools/test's default run:
`STEP|built|FILE|SOURCE|SOURCE...`, a batch to write and the sources that it includes, or `STEP|built||SOURCE`, a source that
is compiled alone. Instead of `built` it is `other` if the step does not compile it. Steps come in the order in which they
run. Paths of sources are relative to ROOT, of batches to BUILD. The batches of STEP are written, and sources of checks
into the folder BUILD/header_check, whose names are printed; headers are those in the FOLDERs of ROOT. A file that has not
changed is not written again.

A header compiles alone if all that it uses comes from headers that it includes. So a compilation checks a header if
nothing has been read where the header's text begins but headers that it includes, directly or through others: as where
it is the first include. A chain of headers, each of which includes the one before, is checked as a whole. Therefore each
batch begins with a chain of headers of its part of the tree that it includes anyway, which costs next to nothing. The
batches of the first step come first, and those of another step have chains of the headers that are left.

A header that no batch of its part has room for is a guest of a batch of another part, or of one that does not include it
but nearly all that it includes, which costs little. Only steps behind the first have guests, so that each object of the
first depends on the files that its sources include, and on no others. For the headers that are left then there are
checks, each of a chain.

The batches and checks of a part depend on its own files and on what they include, and but for guests on no other part's
chains: a new include changes few of them, and the compiler cache keeps the others.
"""
import functools
import re
import sys
import zlib
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s+(?:"([^"]+)"|(<[^>]+>))', re.M)


GUEST_FILES = 4  # at most, that a batch reads for a guest only: the header and what else it includes


class Includes:
    """The files that each file includes. A file that is not below the root (<vector>, a generated one) includes none."""

    def __init__(self, read):
        """`read`: the text of a file by its path, None if it is not in the tree."""
        self.read = read

    @functools.cache
    def in_tree(self, path):
        return not path.startswith("<") and self.read(path) is not None

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


class Batch:
    """Sources that are compiled as one file, behind a chain of headers."""

    def __init__(self, includes, name, sources):
        self.includes = includes
        self.name = name
        self.sources = sources
        self.parts = {part_of(path) for path in sources}
        self.included = frozenset().union(*map(includes.all, sources))
        self.chain = []
        self.checks = set()

    def check(self, left):
        """The best chain of the headers that are left in its parts; returns those that it checks."""
        near = {one for one in left if part_of(one) in self.parts}
        self.chain = self.includes.best_chain(near & self.included)
        self.checks = near & self.includes.checked_by([*self.chain, *self.sources])
        return self.checks

    def welcomes(self, header):
        """As a guest: it brings few files, all of them of the tree, since the batch's target may know no other folders, and
        none for tests, since these define what must be linked with more."""
        brings = ({header} | self.includes.all(header)) - self.included
        return len(brings) <= GUEST_FILES and all(
            self.includes.in_tree(one) and "testing" not in one.split("/") for one in brings)

    def take(self, header):
        """A guest, into the chain, if all that is checked stays so; whether it did."""
        if not self.welcomes(header):
            return False
        behind = [one for one in self.chain if header in self.includes.all(one)]
        before = self.chain[:len(self.chain) - len(behind)]
        if not self.includes.all(header).issuperset(before):
            return False
        chain = [*before, header, *behind]
        if not self.includes.checked_by([*chain, *self.sources]) >= self.checks | {header}:
            return False
        self.chain = chain
        self.checks = self.checks | {header}
        return True


def distance(header, batch):
    """Batches of the header's own part are the nearest, then those of its folder. Among those as near each header has an
    order of its own, so that one that comes or goes moves few others."""
    part = part_of(header)
    return (part not in batch.parts, all(one.split("/")[0] != part.split("/")[0] for one in batch.parts),
            zlib.crc32("|".join([header, *batch.name]).encode()))


def guests(includes, headers, batches):
    """Of the headers those that a batch took; those that include most come first."""
    return {header for header in sorted(headers, key=lambda one: (-len(includes.all(one)), one))
            if any(batch.take(header) for batch in sorted(batches, key=lambda one: distance(header, one)))}


def arrange(includes, headers, plan):
    """(batches, checks): of {name: paths to include} each; a check is named by its last header. `plan`: (name, sources);
    the name (step, file) of a source that is compiled alone has no file."""
    left = set(headers)
    for (_, file), sources in plan:
        if not file:
            left -= includes.checked_by(includes.direct(sources[0]))
    batches = [Batch(includes, name, sources) for name, sources in plan if name[1]]
    for batch in batches:
        left -= batch.check(left)
    left -= guests(includes, left, [batch for batch in batches if batch.name[0] != batches[0].name[0]])
    checks = {}
    for part in sorted({part_of(path) for path in left}):
        while chain := includes.best_chain({path for path in left if part_of(path) == part}):
            checks[chain[-1]] = chain
            left -= includes.checked_by(chain)
    return {batch.name: [*batch.chain, *batch.sources] for batch in batches}, checks


def write(path, paths):
    text = "".join(f'#include "{one}"\n' for one in paths)
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main(root, build, step, *folders):
    root, build = Path(root), Path(build)

    def read(path):
        return (root / path).read_text(errors="replace") if (root / path).is_file() else None

    lines = [line.split("|") for line in (build / "batches.txt").read_text().splitlines()]
    headers = [str(path.relative_to(root)) for folder in folders
               for path in (root / folder).rglob("*.h")]
    plan = [((line[0], line[2]), line[3:]) for line in lines if line[1] == "built"]
    batches, checks = arrange(Includes(read), headers, plan)
    for line in lines:
        if line[0] == step and line[2]:
            write(build / line[2], batches.get((step, line[2]), line[3:]))
    for name, paths in checks.items():
        source = build / "header_check" / f"{name}.cc"
        write(source, paths)
        print(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
