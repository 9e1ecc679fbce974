#!/usr/bin/env python3
"""Runs fuzz targets with libFuzzer, each for a given time, from the kept inputs, the SQL corpus, and what earlier runs
here have found. tools/test --only fuzz calls it; README.md says what to do with a finding.

The last line is `N passed, M failed`, of targets; the exit status is 0 only if none failed.
"""
import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CORPUS = ROOT / "tools" / "sqltest" / "corpus"
# By target: the longest input, in bytes. Others: the default.
LONGEST = {"statements": 2048, "wire": 4096}
DEFAULT_LONGEST = 4096
# A turn is a millisecond in the release build. Sanitizers and coverage make it some thirty.
TURN_MS = 1500
INPUT_SECONDS = 60
MEMORY_MIB = 3072
# The first look at an input takes so long.
CORPUS_PER_SECOND = 8
WORD = re.compile(r"[A-Za-z_]\w+|->>?|[#<>=!|&@?~*/%^-]{2,3}")


def corpus_statements(path):
    """The statements of a file of tools/sqltest/corpus, in their order."""
    statement, in_answer = [], False
    for line in path.read_text().splitlines() + [""]:
        if line.startswith("----"):
            if statement:
                yield "\n".join(statement)
            statement, in_answer = [], line.split()[1:2] in ([], ["names"])
        elif in_answer:
            in_answer = line != ""
        elif line.startswith(("#", "@")) and not statement:
            continue
        elif line or statement:
            statement.append(line)


def corpus_inputs():
    """Inputs of the target `statements`: each statement behind those that make the relations that it names."""
    made = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:UNIQUE\s+)?(TABLE|VIEW|SEQUENCE|FUNCTION|PROCEDURE|ROLE|USER)\s+"
                      r"(?:IF\s+NOT\s+EXISTS\s+)?(\w+)", re.I)
    for path in sorted(CORPUS.glob("*.sqltest")):
        makers = {}
        for statement in corpus_statements(path):
            words = set(re.findall(r"\w+", statement))
            before = [one for name, ones in makers.items() if name in words for one in ones]
            text = ";;".join([*before, statement])
            if len(text) <= LONGEST["statements"]:
                yield text
            match = made.match(statement)
            if match:
                makers.setdefault(match.group(2), []).append(statement)
            inserted = re.match(r"INSERT INTO (\w+)", statement)
            if inserted and len(makers.get(inserted.group(1), [])) == 1:
                makers[inserted.group(1)].append(statement)


def write_dictionary(path):
    """The words of the corpus that occur more than twice, as libFuzzer reads them."""
    counts = collections.Counter()
    for file in sorted(CORPUS.glob("*.sqltest")):
        for statement in corpus_statements(file):
            counts.update(WORD.findall(statement))
    words = sorted(word for word, count in counts.items() if count > 2 and len(word) < 30)
    path.write_text("".join(f'"{word} "\n' for word in words) + '";;@"\n";;#"\n";;$"\n')


def prepare(target, folder, seconds):
    """Fills the folder in which the run works. Of the corpus a short run has a sample, another one each time."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir()
    if target == "statements":
        texts = list(dict.fromkeys(corpus_inputs()))
        for number, text in enumerate(random.sample(texts, min(len(texts), CORPUS_PER_SECOND * seconds))):
            (corpus / f"{number:05d}").write_text(text)
        write_dictionary(folder / "dictionary")
    (folder / "found").mkdir(exist_ok=True)
    (folder / "findings").mkdir(exist_ok=True)


def run(program, target, seconds):
    """Whether the target took all inputs."""
    folder = program.parents[1] / "fuzz" / target
    prepare(target, folder, seconds)
    folders = [folder / "found", folder / "corpus", HERE / "seeds" / target]
    command = [program, f"-max_total_time={seconds}", f"-max_len={LONGEST.get(target, DEFAULT_LONGEST)}",
               f"-timeout={INPUT_SECONDS}", f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={folder}/findings/",
               "-print_final_stats=1", "-verbosity=1", "-reload=0"]
    if (folder / "dictionary").exists():
        command.append(f"-dict={folder / 'dictionary'}")
    print(f"== {target}: {seconds} s", flush=True)
    log = folder / "log"
    with log.open("wb") as output:
        done = subprocess.run(command + folders, stdout=output, stderr=subprocess.STDOUT, cwd=folder,
                              env={"UBSAN_OPTIONS": "print_stacktrace=1", **os.environ, "NAMDB_FUZZ_TARGET": target,
                                   "NAMDB_FUZZ_TURN_MS": str(TURN_MS), "NAMDB_FUZZ_INPUTS": str(folder / "corpus")})
    lines = log.read_text(errors="replace").splitlines()
    print("\n".join(lines[-12:] if done.returncode == 0 else lines[-80:]), flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", help="all, if none is named")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (%(default)s)")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz", help="the build folder (%(default)s)")
    options = parser.parse_args()
    known = sorted(entry.name for entry in (HERE / "seeds").iterdir())
    unknown = set(options.targets) - set(known)
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    program = options.build.resolve() / "bin" / "namdb_fuzzer"
    passed = [run(program, target, options.seconds) for target in options.targets or known]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
