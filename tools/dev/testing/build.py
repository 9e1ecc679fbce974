"""Configuring and building a preset, with progress on a terminal and sparse lines elsewhere."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
KIB_PER_JOB = 1536 * 1024
_started_s = time.monotonic()


def say(text):
    print(f"\n== [{time.monotonic() - _started_s:5.0f}s] {text}", flush=True)


def default_jobs():
    """The cores, but no more than one for each 1.5 GiB of memory that is free."""
    available = re.search(r"^MemAvailable:\s+(\d+)", Path("/proc/meminfo").read_text(), re.M)
    return max(1, min(len(os.sched_getaffinity(0)), int(available.group(1)) // KIB_PER_JOB if available else 1))


def configure(preset):
    """cmake, quietly unless it fails."""
    done = subprocess.run(["cmake", "--preset", preset], cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout, done.stderr, flush=True)
    return done.returncode == 0


def targets(preset, jobs, names):
    """ninja: whether it built all of them."""
    command = ["ninja", "-C", str(ROOT / "build" / preset), "-j", str(jobs), *names]
    if sys.stdout.isatty():
        return subprocess.run(command).returncode == 0
    tenth = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace",
                          env={**os.environ, "NINJA_STATUS": "[%f/%t %es] "}) as ninja:
        for line in ninja.stdout:
            progress = re.match(r"\[(\d+)/(\d+) ", line)
            if progress:
                now = 10 * int(progress.group(1)) // int(progress.group(2))
                if now == tenth:
                    continue
                tenth = now
            print(line, end="", flush=True)
    return ninja.returncode == 0
