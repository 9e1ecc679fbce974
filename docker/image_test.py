#!/usr/bin/env python3
"""The image holds every shared library that its programs need, without an engine to build it.

Compares what the programs of this build ask the loader for (readelf -d, and so on for each library found) with
the files of the packages that the Dockerfile's last stage installs, of the packages that those depend on, and of
Debian's base system. The packages' files are those of this machine, which runs the same Debian.

NAMDB_BUILD names the build folder, by default build/release of this tree.
"""
import os
import re
import subprocess
import unittest
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("NAMDB_BUILD", ROOT / "build/release"))
# A part of every Debian image, with what they depend on; apt brings the libraries of g++ with it.
BASE = ("apt",)
LIBRARY_FOLDERS = re.compile(r"^(/usr)?/lib(64|/[a-z0-9_]+-linux-gnu)?/[^/]+$")


def last_stage():
    """The instructions of the Dockerfile's last stage, each on one line."""
    text = re.sub(r"\\\n\s*", " ", (ROOT / "docker/Dockerfile").read_text())
    return text[text.rindex("\nFROM "):].splitlines()


def packages_installed(stage):
    """The packages that `apt-get install` is asked for."""
    names = []
    for line in stage:
        for words in re.findall(r"apt-get install ([^&;|]*)", line):
            names += [word for word in words.split() if not word.startswith("-")]
    return names


def programs_copied(stage):
    """The files of the build that end in the image."""
    prefix = "/src/build/release/"
    copied = [word for line in stage if line.startswith("COPY") for word in line.split() if word.startswith(prefix)]
    return [BUILD / word.removeprefix(prefix) for word in copied]


@lru_cache(maxsize=None)
def installed():
    """Name -> (what it depends on, essential?) of each package of this machine; virtual ones lead to the real."""
    fields = ("${db:Status-Abbrev}", "${Package}", "${Depends}", "${Pre-Depends}", "${Provides}", "${Essential}")
    lines = subprocess.run(["dpkg-query", "-W", "-f", "\t".join(fields) + "\n"], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    packages = {}
    provided = {}
    for line in lines:
        status, name, depends, pre_depends, provides, essential = line.split("\t")
        if not status.startswith("ii"):
            continue
        needs = [[re.split(r"[\s:(]", choice.strip())[0] for choice in part.split("|")]
                 for part in f"{depends},{pre_depends}".split(",") if part.strip()]
        packages[name] = (needs, essential == "yes")
        for virtual in filter(None, (part.strip().split(" ")[0] for part in provides.split(","))):
            provided.setdefault(virtual, name)
    for virtual, name in provided.items():
        packages.setdefault(virtual, packages[name])
    return packages


def closure(names):
    """The packages and all that they depend on."""
    packages = installed()
    found, left = set(), list(names)
    while left:
        name = left.pop()
        if name in found:
            continue
        if name not in packages:
            raise LookupError(f"{name} is not installed on this machine, so what it brings is not known")
        found.add(name)
        for choices in packages[name][0]:
            # apt takes the first choice unless another one is there; here only those that are there are known.
            left += [choice for choice in choices if choice in packages][:1]
    return found


def image_packages(asked):
    essential = [name for name, (_, is_essential) in installed().items() if is_essential]
    return closure([*asked, *essential, *BASE])


def libraries_of(packages):
    """File name -> path of each shared library that the packages put where the loader looks."""
    listing = subprocess.run(["dpkg", "-L", *sorted(packages)], capture_output=True, text=True, check=False).stdout
    return {Path(line).name: line for line in listing.splitlines() if ".so" in line and LIBRARY_FOLDERS.match(line)}


@lru_cache(maxsize=None)
def needed_by(path):
    text = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", text)


def missing(programs, libraries):
    """`LIBRARY (needed by FILE)` for each that no package brings, also of those that libraries need."""
    lines, seen, left = [], set(), list(programs)
    while left:
        file = left.pop()
        for name in needed_by(file):
            if name in seen:
                continue
            seen.add(name)
            if name in libraries:
                left.append(libraries[name])
            else:
                lines.append(f"{name} (needed by {file})")
    return lines


class Image(unittest.TestCase):
    def test_its_packages_bring_every_library_that_its_programs_need(self):
        stage = last_stage()
        programs = programs_copied(stage)
        self.assertGreaterEqual(len(programs), 5, programs)
        for program in programs:
            self.assertTrue(program.exists(), f"{program} is not built")
        self.assertEqual(missing(programs, libraries_of(image_packages(packages_installed(stage)))), [])

    def test_a_library_that_no_package_brings_is_found(self):
        program = BUILD / "bin/nam-memoryd"
        libraries = libraries_of(image_packages([]))
        lines = missing([program], libraries)
        self.assertTrue(any(line.startswith("libtomlplusplus") for line in lines), lines)
        self.assertFalse(any(line.startswith(("libc.so", "libstdc++")) for line in lines), lines)


if __name__ == "__main__":
    unittest.main(verbosity=2)
