#!/usr/bin/env python3
"""clang-tidy over every source file of a configured clang build: run_clang_tidy.py --build DIR [--jobs N] [FILE...]

Prints what it finds and progress; the last line is `CLEAN UNCLEAN`, in files. Exit code 1 if any is unclean.
"""
import argparse
import concurrent.futures
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    commands = json.loads((arguments.build / "compile_commands.json").read_text())
    build = arguments.build.resolve()
    files = sorted({Path(entry["file"]).resolve() for entry in commands})
    files = [file for file in files if not file.is_relative_to(build) and file.is_relative_to(ROOT)]
    if arguments.files:
        wanted = {Path(file).resolve() for file in arguments.files}
        files = [file for file in files if file in wanted]

    def tidy(file):
        return file, subprocess.run(["clang-tidy-19", "-quiet", "-p", str(build), str(file)], capture_output=True,
                                    text=True)

    unclean = done = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for file, result in pool.map(tidy, files):
            done += 1
            if result.returncode != 0:
                unclean += 1
                print(result.stdout, flush=True)
            if done % 20 == 0 or done == len(files):
                print(f"[{done}/{len(files)}] {file.relative_to(ROOT)}", flush=True)
    print(len(files) - unclean, unclean)
    return 1 if unclean else 0


if __name__ == "__main__":
    sys.exit(main())
