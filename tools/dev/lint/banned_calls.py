#!/usr/bin/env python3
"""Code that the simulator runs takes clock, randomness, threads and sleep from its Executor only.

Exempt: the transports and the reactor's own files that touch the operating system, mains, tools but for what
the simulator runs itself. Tests may
start threads, but not read clocks or random devices: a test that does is not reproducible.
"""
import re
import sys

import sources
from sources import Finding

# path prefix or exact file -> why it may call the operating system
EXEMPT = (
    "tools/dev/",
    "tools/nambench/",
    "tools/namctl/",
    "tools/namsql/",
    "tools/sqltest/",
    "tools/stress/",
    "tools/support/",
    "tools/namsim/child_run.",
    "tools/namsim/command",
    "tools/namsim/main.cc",
    "tools/namsim/recorder.",
    "tools/namsim/report.",
    "memory/main.cc",
    "memory/daemon/process.",  # draws the seed, and the database's id
    "compute/main.cc",
    "compute/worker/worker_thread.",
    "compute/worker/worker_pool.",
    "compute/pgwire/process_state.",  # shared by the workers' threads
    "compute/sql/system/statistics.",
    "common/config/daemon_log.",  # its thread is the log's own
    "memory/process/region_memory.",  # its thread allocates pages
    "common/fabric/conformance/threaded_fixture.",  # a test on real threads
    "common/fabric/conformance/suite.",
    "common/placement/store/",  # its calls block, on a thread of their own
    "common/fabric/shm/",
    "common/fabric/tcp/",
    "common/fabric/verbs/",
)
# Files of the reactor that the simulator does run; all others of the folder are the real loop.
SIMULATED_REACTOR = ("common/reactor/executor", "common/reactor/task", "common/reactor/frame_pool",
                     "common/reactor/stream.")

CLOCKS = [
    (r"\bclock_gettime\s*\(", "clock_gettime: take the time from the Executor"),
    (r"\bgettimeofday\s*\(", "gettimeofday: take the time from the Executor"),
    (r"\bstd::chrono::(?:system_clock|steady_clock|high_resolution_clock)\b", "a standard clock: use the Executor's"),
    (r"(?<![\w:.>])time\s*\(\s*(?:nullptr|NULL|0|&)", "time(): take the time from the Executor"),
    (r"\b(?:__)?rdtscp?\b|\b__builtin_ia32_rdtsc\b", "rdtsc: take the time from the Executor"),
    (r"\brandom_device\b", "random_device: draw from the Random that was given"),
    (r"(?<![\w:.>])s?rand\s*\(", "rand: draw from the Random that was given"),
    (r"\bgetrandom\s*\(|\bgetentropy\s*\(", "operating-system randomness: draw from the Random that was given"),
    (r"\bmt19937", "a standard generator: draw from common/base/random.h"),
    (r"\babsl::(?:Now|GetCurrentTimeNanos)\s*\(", "abseil's clock: take the time from the Executor"),
    (r"\babsl::(?:Insecure)?BitGen\b", "abseil's randomness: draw from the Random that was given"),
    (r"\babsl::SleepFor\s*\(|(?<![\w.>])(?:u|nano)?sleep\s*\(|\bsleep_(?:for|until)\s*\(\s*std::chrono", "sleep: await the Executor's"),
]
THREADS = [
    (r"\bstd::(?:j?thread|async|this_thread|mutex|shared_mutex|condition_variable)\b",
     "threads and locks: tasks of one Executor need none"),
    (r"\babsl::(?:Mutex|CondVar|Notification|Barrier|BlockingCounter)\b",
     "threads and locks: tasks of one Executor need none"),
    (r"\bpthread_\w+\s*\(", "threads and locks: tasks of one Executor need none"),
    (r"\bthread_local\b", "thread_local: state belongs to the object that the Executor runs"),
]
# abseil's order differs from process to process.
UNORDERED = re.compile(r"\b(?:std::unordered_(?:multi)?(?:map|set)|absl::(?:flat|node)_hash_(?:map|set))\s*<")


def exempt(path):
    if path.startswith(EXEMPT):
        return True
    return path.startswith("common/reactor/") and not path.startswith(SIMULATED_REACTOR)


def unordered_names(code):
    """Names of variables and members that are declared as unordered containers in this text."""
    names = set()
    for match in UNORDERED.finditer(code):
        depth, position = 1, match.end()
        while position < len(code) and depth:
            depth += {"<": 1, ">": -1}.get(code[position], 0)
            position += 1
        declared = re.match(r"[&\s]*(\w+)\s*(?:[;={(]|$)", code[position:position + 120])
        if declared:
            names.add(declared.group(1))
    return names


def check(path, text, header_text=""):
    if exempt(path):
        return []
    code = sources.strip_cpp(text)
    is_test = re.search(r"_(test|bench)\.cc$|/(conformance|testing)/", path) is not None
    findings = []
    for pattern, message in CLOCKS + ([] if is_test else THREADS):
        for match in re.finditer(pattern, code):
            findings.append(Finding(path, sources.line_of(code, match.start()), "banned", message))
    for name in unordered_names(code) | unordered_names(sources.strip_cpp(header_text)):
        for match in re.finditer(rf"for\s*\([^;()]*:\s*(?:\w+(?:\.|->))*{name}\s*\)|\b{name}(?:\.|->)begin\s*\(", code):
            findings.append(Finding(path, sources.line_of(code, match.start()), "banned",
                                    f"iteration over the unordered container {name}: its order is not part of the seed"))
    return findings


def check_file(path, text):
    header = ""
    if path.endswith(".cc"):
        beside = sources.ROOT / (path[:-3] + ".h")
        if beside.is_file():
            header = beside.read_text(errors="replace")
    return check(path, text, header)


if __name__ == "__main__":
    sys.exit(sources.main("banned_calls", sources.CPP, check_file))
