"""The results of a run of ctest, read from its log (LastTest.log).

A program of Catch2 (`--durations yes`) or of `unittest_cases` says of each of its cases how long it took; any other
program counts as one case. A program that failed without saying which case did (a crash, a time-out) counts as one
failure more. A case or program that was skipped counts as skipped, never as passed.
"""
import re
from dataclasses import dataclass, field

import unittest_cases

BLOCK = re.compile(r"^\d+/\d+ Testing: ", re.M)
CATCH_CASE = re.compile(r"^(\d+\.\d+) s: (.+)$", re.M)
CATCH_ALL = re.compile(r"^All tests passed \([\d,]+ assertions? in (\d+) test cases?\)", re.M)
CATCH_SOME = re.compile(r"^test cases:\s+(\d+) \|(.*)$", re.M)
# Also inside a virtual machine's output, where several programs run one after another.
PYTHON_CASE = re.compile(re.escape(unittest_cases.MARK) + r" (\d+\.\d+) (passed|failed|skipped) ([^:\n]+?)(?:: (.*))?$", re.M)
# Programs on the virtual machine's console write in colours.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SKIPPED_PROGRAM = re.compile(r"^(?:\S+: )?skipped: (.+)$", re.M)


@dataclass
class Program:
    name: str
    seconds: float
    passed: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)  # (what, reason)
    cases: list = field(default_factory=list)  # (seconds, name)


def read(text):
    """The programs of a log, in its order."""
    return [_read_program(block) for block in BLOCK.split(COLOUR.sub("", text))[1:]]


def _read_program(block):
    name = block.splitlines()[0].strip()
    took = re.search(r"^Test time =\s+([\d.]+) sec", block, re.M)
    ended_well = re.search(r"^Test (?:Passed|Skipped)\.$", block, re.M) is not None
    program = Program(name, float(took.group(1)) if took else 0.0)
    # A case runs once for each of its sections and generated values.
    runs = {}
    for seconds, case in CATCH_CASE.findall(block):
        runs[case.strip()] = runs.get(case.strip(), 0.0) + float(seconds)
    program.cases = [(seconds, case) for case, seconds in runs.items()]
    said = 0
    for every in CATCH_ALL.findall(block):
        program.passed += int(every)
        said += int(every)
    for count, rest in CATCH_SOME.findall(block):
        good = re.search(r"(\d+) passed", rest)
        program.passed += int(good.group(1)) if good else 0
        program.failed += int(count) - (int(good.group(1)) if good else 0)
        said += int(count)
    for seconds, outcome, case, reason in PYTHON_CASE.findall(block):
        said += 1
        program.cases.append((float(seconds), case))
        if outcome == "passed":
            program.passed += 1
        elif outcome == "failed":
            program.failed += 1
        else:
            program.skipped.append((f"{name}: {case}", reason))
    whole = SKIPPED_PROGRAM.search(block)
    if ended_well and whole and said == 0:
        program.skipped.append((name, whole.group(1)))
        return program
    if said == 0:
        program.cases.append((program.seconds, name))
        program.passed += ended_well
    if not ended_well and program.failed == 0:
        program.failed += 1
    return program


def slowest(programs, count):
    """The `count` slowest cases: (seconds, program, case)."""
    every = [(seconds, program.name, case) for program in programs for seconds, case in program.cases]
    return sorted(every, key=lambda one: (-one[0], one[1:]))[:count]
