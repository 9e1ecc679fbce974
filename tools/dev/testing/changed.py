"""tools/test --changed [REF]: builds and runs what depends on the files that have changed since REF.

Ninja's dependency log tells what depends on a file (which objects were made from it) and its graph (which programs are
made from these objects); READERS tells which tests read a file when they run. The fewer objects a test program is made of,
the nearer it is to each of them; a test beside the changed file is nearest, and of the simulator the runs that NEAREST
names come before the others. Tests run in that order until their time, as the last run had it, is used up. The rest is
named.
"""
import functools
import json
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import build
import results
import times

PRESET = "release"
# Of a test that has never run here.
UNKNOWN_SECONDS = 10.0
LINTS = ("format", "layering", "banned_calls", "coroutines", "error_chains", "prose", "text")
# A change of any file may break what these say of another one, so they look at the whole tree.
WHOLE_LINTS = ("declarations", "circles", "docs")
# Which runs of the simulator and of real daemons look at a folder most closely.
NEAREST = (
    ("compute/sql/", r"namsim_wire|e2e_sql"),
    ("compute/pgwire/", r"namsim_wire|e2e_sql"),
    ("compute/protocol/", r"namsim_protocols_.*|namsim_costs|namsim_isolation"),
    ("compute/txn/", r"namsim_costs|namsim_isolation"),
    ("compute/commit/", r"namsim_protocols_.*|namsim_costs|namsim_isolation"),
    ("compute/index/", r"namsim_index.*"),
    ("compute/schema/", r"namsim_index.*"),
    ("compute/recovery/", r"namsim_faults.*|namsim_growth|namsim_crash_.*"),
    ("compute/cluster/", r"namsim_costs|namsim_isolation"),
    ("compute/", r"namsim_wire|namsim_costs|e2e_daemons"),
    ("memory/index/", r"namsim_index.*"),
    ("memory/opening/", r"namsim_crash_.*|e2e_restart_.*"),
    ("memory/log/", r"namsim_crash_.*"),
    ("memory/checkpoint/", r"namsim_crash_.*"),
    ("memory/journals/", r"namsim_crash_.*"),
    ("memory/", r"namsim_growth|namsim_costs|e2e_daemons"),
    ("common/fabric/tcp/", r"e2e_daemons"),
    ("common/fabric/sim/", r"namsim_faults.*"),
    ("common/reactor/", r"e2e_daemons"),
    ("tools/namctl/", r"e2e_namctl_.*"),
    ("tools/namsql/", r"namsql_test|e2e_namsql"),
    ("tools/nambench/", r"e2e_nambench_.*"),
    ("tools/support/", r"e2e_nambench_.*"),
    ("tools/sqltest/", r"e2e_corpus"),
)
# Files that no program is made from, and the tests that read them.
READERS = (
    ("tools/sqltest/corpus/", r"sqltest_test|e2e_corpus"),
    ("tools/sqltest/isolation/", r"e2e_isolation_spec_.*"),
    ("tools/sqltest/regress/", r"e2e_regress"),
    ("tools/fuzz/seeds/", r"fuzz_test"),
    ("tools/namsim/faults/", r"namsim_faults_.*"),
    ("tools/nambench/", r"e2e_nambench_.*"),
    ("tools/monitoring/", r"e2e_metrics"),
    ("tools/packaging/", r"e2e_package"),
    ("tools/systemd/", r"e2e_package"),
    ("docker/", r"e2e_package"),
    ("cmake/", r"batches_test"),
)
# Programs that tests of real daemons start: all of these tests the first, the others those that name them.
DAEMONS = ("nam-memoryd", "nam-computed", "namctl")
TOOLS = ("nambench", "namsql", "sqltest", "namdb_store_probe", "libnamdb_workloads.so", "libnamdb_sqltest_procedures.so")
NOT_HERE = {"long", "whole", "verbs"}


@dataclass
class Test:
    name: str
    program: str  # of C++: path of the executable relative to the build folder; else ""
    script: str  # of Python: path relative to the root; else ""
    labels: set


def git(root, *arguments):
    done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"tools/test: git {' '.join(arguments)}: {done.stderr.strip()}")
    return [line for line in done.stdout.split("\0") if line]


def files_since(root, ref):
    """(what they are compared with, the files): those that differ, and those that git does not know yet."""
    untracked = git(root, "ls-files", "-z", "--others", "--exclude-standard")
    if ref:
        return ref, sorted({*git(root, "diff", "--name-only", "-z", ref, "--"), *untracked})
    found = {*git(root, "diff", "--name-only", "-z", "HEAD", "--"), *untracked}
    if found:
        return "HEAD", sorted(found)
    return "HEAD~1", git(root, "diff", "--name-only", "-z", "HEAD~1", "--")


def read_tests(listing, folder, root):
    """The tests that ctest knows, from its --show-only=json-v1."""
    tests = []
    for one in listing["tests"]:
        command = one.get("command", [])
        labels = next((set(p["value"]) for p in one.get("properties", []) if p["name"] == "LABELS"), set())
        program = script = ""
        for part in command:
            path = Path(part)
            if path.is_relative_to(folder / "bin") and not program:
                program = str(path.relative_to(folder))
            elif part.endswith(".py") and path.is_relative_to(root):
                script = str(path.relative_to(root))
        if not command:  # ctest names none that is not built yet
            program = f"bin/{one['name']}"
        tests.append(Test(one["name"], program, script, labels))
    return tests


def read_deps(text, folder):
    """Of `ninja -t deps`: {object: {files}}."""
    deps, current = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            current.add(str((folder / line.strip()).resolve()))
        elif ": #deps" in line:
            current = deps.setdefault(line.partition(": #deps")[0], set())
    return deps


def distance(test, files, object_count):
    """How far a test is from the changed files: the smaller, the nearer."""
    # A room's tests may be in a program of the folder above it.
    folders = {str(folder) for file in files for folder in Path(file).parents}
    beside = test.script in files or reads(test, files) or any(
        re.fullmatch(pattern, test.name) for prefix, pattern in NEAREST for file in files if file.startswith(prefix))
    own = test.program and any(Path(test.program).name.removesuffix("_test") in
                               (folder.replace("/", "_"), Path(folder).name) for folder in folders)
    return (0 if own or test.script in files else 1 if beside else 2, object_count)


def reads(test, files):
    """Whether the test reads one of the files when it runs."""
    return any(re.fullmatch(pattern, test.name) for prefix, pattern in READERS for file in files if file.startswith(prefix))


def started_by(script_text):
    """The targets whose programs and libraries a test of real daemons runs."""
    named = [tool for tool in TOOLS if re.search(rf"(?<![\w-]){re.escape(tool)}(?![\w-])", script_text)]
    return [f"{'lib' if one.endswith('.so') else 'bin'}/{one}" for one in (*DAEMONS, *named)]


def choose(candidates, seconds, budget_s):
    """The tests, nearest first, that fit into the time, and those that do not. The nearest one always runs."""
    chosen, left, used_s = [], [], 0.0
    for test in candidates:
        cost_s = seconds.get(test.name, UNKNOWN_SECONDS)
        if chosen and used_s + cost_s > budget_s:
            left.append(test)
        else:
            chosen.append(test)
            used_s += cost_s
    return chosen, left


def run_lints(root, files, outcome_type):
    """The lints that look at files one by one, over those that have changed, and the others."""
    there = [file for file in files if (root / file).is_file()]
    outcome = outcome_type("lints")
    for lint in (*LINTS, *WHOLE_LINTS) if there else WHOLE_LINTS:
        done = subprocess.run(["/usr/bin/python3", str(root / f"tools/dev/lint/{lint}.py"),
                               *(there if lint in LINTS else ())], cwd=root)
        program = results.Program(f"lint_{lint}", 0.0, passed=int(done.returncode == 0), failed=int(done.returncode != 0))
        outcome.programs.append(program)
        outcome.passed += program.passed
        outcome.failed += program.failed
    return outcome


def affected(root, folder, files):
    """The tests that depend on the files, nearest first."""
    changed_paths = {str((root / file).resolve()) for file in files}
    deps = read_deps(subprocess.run(["ninja", "-C", str(folder), "-t", "deps"], capture_output=True, text=True).stdout, folder)
    objects = {name for name, inputs in deps.items() if inputs & changed_paths}
    listing = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1"], capture_output=True, text=True)
    tests = [test for test in read_tests(json.loads(listing.stdout), folder, root) if not test.labels & NOT_HERE]
    inputs = {}

    def inputs_of(target):
        if target not in inputs:
            done = subprocess.run(["ninja", "-C", str(folder), "-t", "inputs", target], capture_output=True, text=True)
            inputs[target] = set(done.stdout.splitlines())
        return inputs[target]

    @functools.lru_cache(maxsize=None)
    def depends(target):
        mine = inputs_of(target)
        return bool(mine & objects) or bool({str(Path(folder, one).resolve()) for one in mine} & changed_paths)

    folders = {Path(file).parent for file in files}
    found = []
    for test in tests:
        script = Path(test.script)
        if test.script and not (root / script).is_file():
            continue
        if test.program and (depends(test.program) or reads(test, files)):
            count = sum(1 for one in inputs_of(test.program) if one.endswith(".o"))
            found.append((distance(test, files, count), test))
        elif test.script and "e2e" in test.labels:
            if (test.script in files or reads(test, files)
                    or any(depends(target) for target in started_by((root / script).read_text()))):
                found.append((distance(test, files, 10_000), test))
        elif test.script and (test.script in files or script.parent in folders or reads(test, files)):
            found.append(((0, 0), test))
    return [test for _, test in sorted(found, key=lambda one: (one[0], one[1].name))]


def run(root, options, run_ctest, outcome_type):
    """The outcomes of the lints and of the tests; none where nothing has changed."""
    against, files = files_since(root, options.changed)
    if not files:
        build.say(f"nothing has changed since {against}")
        return []
    build.say(f"{len(files)} files have changed since {against}")
    folder = root / "build" / PRESET
    started_s = time.monotonic()
    lints = run_lints(root, files, outcome_type)
    lints.seconds = time.monotonic() - started_s
    tests = outcome_type("changed")
    started_s = time.monotonic()
    if not build.configure(PRESET):
        tests.failed, tests.note = 1, "does not configure"
        return [lints, tests]
    if not (folder / ".ninja_deps").exists():
        build.say("this tree was never built: building all of it first")
        if not build.targets(PRESET, options.jobs, ["all"]):
            tests.failed, tests.note = 1, "does not build"
            return [lints, tests]
    chosen, left = choose(affected(root, folder, files), times.of_programs(root, PRESET), options.minutes * 60)
    if not chosen:
        build.say("no test depends on them")
        return [lints]
    targets = sorted({test.program for test in chosen if test.program})
    if any(not test.program for test in chosen):
        targets.append("all")
    build.say(f"building {', '.join(targets)}")
    if not build.targets(PRESET, options.jobs, targets):
        tests.failed, tests.note = 1, "does not build"
        return [lints, tests]
    build_seconds = time.monotonic() - started_s
    build.say(f"testing, nearest first: {', '.join(test.name for test in chosen)}")
    pattern = "^(" + "|".join(re.escape(test.name) for test in chosen) + ")$"
    programs, content = run_ctest(PRESET, options.jobs, ("-R", pattern))
    tests = outcome_type.of_programs("changed", programs)
    tests.failed = tests.failed or int(not content)
    tests.build_seconds, tests.seconds = build_seconds, time.monotonic() - started_s
    if left:
        build.say(f"left to the whole run, being further away: {', '.join(test.name for test in left)}")
    return [lints, tests]
