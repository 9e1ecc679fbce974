#!/usr/bin/env python3
"""No units include each other, directly or through others. A unit is a header together with the source file of its name."""
import re
import sys
from pathlib import Path

import sources
from sources import Finding

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def unit_of(path):
    return str(Path(path).with_suffix(""))


def graph_of(texts):
    """Of {path: text}: {unit: {unit that it includes: (path, line) of the first such include}}."""
    graph = {unit_of(path): {} for path in texts}
    for path, text in texts.items():
        for match in INCLUDE.finditer(text):
            included = unit_of(match.group(1))
            if included in graph and included != unit_of(path):
                graph[unit_of(path)].setdefault(included, (path, sources.line_of(text, match.start(1))))
    return graph


def reach(graph, start):
    """The units that the unit includes, directly or through others."""
    seen, open_units = set(), [start]
    while open_units:
        for unit in graph[open_units.pop()]:
            if unit not in seen:
                seen.add(unit)
                open_units.append(unit)
    return seen


def circles(graph):
    """The sets of units that all include each other, each sorted."""
    reached = {unit: reach(graph, unit) for unit in graph}
    found, placed = [], set()
    for unit in sorted(graph):
        if unit in reached[unit] and unit not in placed:
            members = sorted(other for other in reached[unit] if unit in reached[other])
            placed.update(members)
            found.append(members)
    return found


def way_round(graph, circle):
    """A shortest way from the circle's first unit back to it."""
    before, open_units = {}, [circle[0]]
    for unit in open_units:
        for included in sorted(graph[unit]):
            if included == circle[0]:
                way = [unit]
                while way[-1] != circle[0]:
                    way.append(before[way[-1]])
                return [*reversed(way), circle[0]]
            if included in circle and included not in before:
                before[included] = unit
                open_units.append(included)
    raise AssertionError("not a circle")


def check(texts):
    graph = graph_of(texts)
    findings = []
    for circle in circles(graph):
        way = way_round(graph, circle)
        path, line = graph[way[0]][way[1]]
        findings.append(Finding(path, line, "circles", f"{len(circle)} units include each other: {' -> '.join(way)}"))
    return findings


def main():
    texts = {path: (sources.ROOT / path).read_text(errors="replace") for path in sources.files(sources.CPP)}
    return sources.report("circles", check(texts), len(texts))


if __name__ == "__main__":
    sys.exit(main())
