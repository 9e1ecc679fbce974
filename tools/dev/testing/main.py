#!/usr/bin/env python3
"""The main part of tools/test, which has installed what is missing: builds, runs the tests, says what they did.

The last line is `N passed, M failed, K skipped`; the exit status is 0 only if none failed.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
import build  # noqa: E402
import changed  # noqa: E402
import results  # noqa: E402
import times  # noqa: E402
from steps import STEPS  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
SLOWEST = 20
# More than this of one program in the default steps is too much: split it, or make it do less.
BUDGET_SECONDS = 60
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")


@dataclass
class Outcome:
    """The result of a step."""
    step: str
    passed: int = 0
    failed: int = 0
    skipped: list = field(default_factory=list)
    programs: list = field(default_factory=list)
    build_seconds: float = 0.0
    seconds: float = 0.0
    note: str = ""

    @staticmethod
    def of_programs(step, programs):
        return Outcome(step, sum(p.passed for p in programs), sum(p.failed for p in programs),
                       [one for p in programs for one in p.skipped], programs)


def parse():
    width = max(len(step.name) for step in STEPS) + 2
    lines = ["steps, in this order:"]
    lines += [f"  {step.name:<{width}}{step.about}" for step in STEPS if step.by_default]
    lines += ["and with --all:"]
    lines += [f"  {step.name:<{width}}{step.about}" for step in STEPS if not step.by_default]
    parser = argparse.ArgumentParser(
        prog="tools/test", formatter_class=argparse.RawDescriptionHelpFormatter, epilog="\n".join(lines),
        description="Installs what is missing, builds, and passes the tests. The last line is `N passed, M failed, K "
                    "skipped`;\nthe exit status is 0 only if none failed. docs/testing.md says which step has what.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--all", action="store_true", help="every step; says beforehand how long that takes")
    which.add_argument("--only", metavar="STEP[,STEP...]", help="these steps")
    which.add_argument("--changed", nargs="?", const="", metavar="REF",
                       help="build and run what depends on the files that have changed since REF (without it: since "
                            "the last commit, or in the last commit where nothing has changed since), the nearest "
                            "tests first, within --minutes")
    parser.add_argument("--minutes", type=float, default=2.0,
                        help="how long the tests of --changed may take, without the build (2)")
    parser.add_argument("--jobs", type=int, default=build.default_jobs(), help="compilations and tests at a time; beside tests of real daemons two more (%(default)s)")
    options = parser.parse_args()
    names = [step.name for step in STEPS]
    options.steps = [step for step in STEPS if step.by_default or options.all]
    if options.only:
        wanted = options.only.split(",")
        unknown = [name for name in wanted if name not in names]
        if unknown:
            parser.error(f"unknown step: {', '.join(unknown)}; there are {', '.join(names)}")
        options.steps = [step for step in STEPS if step.name in wanted]
    if options.jobs < 1:
        parser.error("--jobs must be at least 1")
    return options


def run_ctest(preset, jobs, arguments, environment=None):
    """The programs that ctest ran, and whether it was content."""
    folder = ROOT / "build" / preset
    log = folder / "Testing" / "Temporary" / "LastTest.log"
    log.unlink(missing_ok=True)
    # Tests of real daemons, which only these presets have, wait for most of their time.
    side_by_side = jobs + 2 if preset.startswith("release") and jobs > 1 else jobs
    done = subprocess.run(["ctest", "--test-dir", str(folder), "--output-on-failure", "-j", str(side_by_side),
                           "--no-tests=ignore", *arguments],
                          env={"UBSAN_OPTIONS": "print_stacktrace=1", **os.environ, **(environment or {})})
    try:
        text = log.read_text(errors="replace")
    except OSError:
        text = ""
    return results.read(text), done.returncode == 0


def run_tests(step, jobs):
    started_s = time.monotonic()
    build.say(f"{step.name}: building")
    if not build.configure(step.preset) or not build.targets(step.preset, jobs, [step.target]):
        return Outcome(step.name, failed=1, note="does not build")
    built_s = time.monotonic() - started_s
    build.say(f"{step.name}: testing (built in {built_s:.0f}s)")
    programs, content = run_ctest(step.preset, jobs, step.ctest)
    outcome = Outcome.of_programs(step.name, programs)
    outcome.build_seconds = built_s
    if not content and outcome.failed == 0:
        outcome.failed = 1
        outcome.note = "ctest failed"
    return outcome


def run_tidy(step, jobs):
    build.say("tidy: clang-tidy over every source file")
    if not build.configure(step.preset) or not build.targets(step.preset, jobs, [step.target]):
        return Outcome(step.name, failed=1, note="does not configure")
    last = ""
    with subprocess.Popen([ROOT / "tools/dev/run_clang_tidy.py", "--build", ROOT / "build" / step.preset, "--jobs", str(jobs)],
                          stdout=subprocess.PIPE, text=True) as tidy:
        for last in tidy.stdout:
            print(last, end="", flush=True)
    passed, _, failed = last.strip().partition(" ")
    if not (passed.isdigit() and failed.isdigit()):
        return Outcome(step.name, failed=1, note="clang-tidy did not end")
    return Outcome(step.name, int(passed), int(failed), note="source files")


def run_fuzz(step, jobs):
    build.say("fuzz: libFuzzer on each target")
    if not build.configure(step.preset) or not build.targets(step.preset, jobs, [step.target]):
        return Outcome(step.name, failed=1, note="does not build")
    last = ""
    with subprocess.Popen([ROOT / "tools/fuzz/run.py", "--build", ROOT / "build" / step.preset], stdout=subprocess.PIPE, text=True,
                          errors="replace") as fuzz:
        for last in fuzz.stdout:
            print(last, end="", flush=True)
    counts = re.fullmatch(r"(\d+) passed, (\d+) failed", last.strip())
    if counts is None:
        return Outcome(step.name, failed=1, note="the fuzz targets did not end")
    return Outcome(step.name, int(counts.group(1)), int(counts.group(2)), note="fuzz targets")


def run_huge_pages(step, jobs):
    """The daemons never change how many huge pages there are; a test run on a machine without any does, and puts it
    back."""
    try:
        before = int(HUGE_PAGES.read_text())
    except (OSError, ValueError):
        before = 0
    try:
        if before == 0:
            HUGE_PAGES.write_text("160")
        return run_tests(step, jobs)
    except OSError:
        return run_tests(step, jobs)
    finally:
        if before == 0:
            try:
                HUGE_PAGES.write_text("0")
            except OSError:
                pass  # not root: nothing was reserved


def run_step(step, jobs):
    started_s = time.monotonic()
    special = {"tidy": run_tidy, "fuzz": run_fuzz, "huge-pages": run_huge_pages}
    outcome = special.get(step.name, run_tests)(step, jobs)
    outcome.seconds = time.monotonic() - started_s
    if outcome.failed == 0:
        times.remember(ROOT, step.name, outcome.seconds, outcome.programs)
    return outcome


def announce(steps):
    known = times.of_steps(ROOT)
    expected_s = sum(known.get(step.name, step.typical_minutes * 60) for step in steps)
    build.say(f"{len(steps)} steps: about {expected_s / 60:.0f} minutes, as they took "
              f"{'here' if all(step.name in known for step in steps) else 'here or on another machine of two cores'}; "
              "longer where the compiler cache is cold")
    for step in steps:
        print(f"  {step.name:<14}{known.get(step.name, step.typical_minutes * 60) / 60:6.1f} min")


def report(outcomes):
    build.say(f"the {SLOWEST} slowest cases")
    for outcome_step, seconds, program, case in slowest_of(outcomes):
        print(f"{seconds:8.1f}s  {outcome_step:<8} {program}: {case}")
    over = sorted(((program.seconds, outcome.step, program.name) for outcome in outcomes for program in outcome.programs
                   if program.seconds > BUDGET_SECONDS), reverse=True)
    if over:
        build.say(f"over the budget of {BUDGET_SECONDS} s for a program")
        for seconds, step, name in over:
            print(f"{seconds:8.1f}s  {step:<8} {name}")
    skipped = [(outcome.step, *one) for outcome in outcomes for one in outcome.skipped]
    if skipped:
        build.say("skipped")
        for step, name, reason in skipped:
            print(f"  {step}: {name}: {reason}")
    build.say("summary")
    for outcome in outcomes:
        bad = " ".join(program.name for program in outcome.programs if program.failed)
        print(f"{outcome.step:<14} {outcome.passed:5d} passed {outcome.failed:5d} failed {len(outcome.skipped):5d} skipped "
              f"{outcome.seconds:6.0f}s  {len(outcome.programs)} programs, built in {outcome.build_seconds:.0f}s"
              f"{', ' + outcome.note if outcome.note else ''}{', failed: ' + bad if bad else ''}")
    print(f"{'together':<14} {sum(outcome.seconds for outcome in outcomes):46.0f}s")
    failed = sum(outcome.failed for outcome in outcomes)
    print(f"\n{sum(outcome.passed for outcome in outcomes)} passed, {failed} failed, {len(skipped)} skipped")
    return 1 if failed else 0


def slowest_of(outcomes):
    every = [(outcome.step, *case) for outcome in outcomes for case in results.slowest(outcome.programs, SLOWEST)]
    return sorted(every, key=lambda one: -one[1])[:SLOWEST]


def main():
    options = parse()
    os.chdir(ROOT)
    if options.changed is not None:
        outcomes = changed.run(ROOT, options, run_ctest, Outcome)
        return report(outcomes) if outcomes else 0
    if options.all:
        announce(options.steps)
    return report([run_step(step, options.jobs) for step in options.steps])


if __name__ == "__main__":
    sys.exit(main())
