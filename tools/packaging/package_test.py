#!/usr/bin/env python3
"""The Debian package: made from this build, it has what it should, its dependencies bring every library that its programs need,
and its programs run with its configuration. With NAMDB_WHOLE=1 it is installed into a Debian system that has nothing else.

The files of other packages are those of this machine, which runs the same Debian.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools/e2e"))
from harness import Daemon, TestCase, free_port, main  # noqa: E402

BUILD = Path(os.environ.get("NAMDB_BIN", ROOT / "build/release/bin")).parent
PROGRAMS = ("nam-memoryd", "nam-computed", "namctl", "namsql", "nambench")
# A part of every Debian system, with what they depend on; apt brings the libraries of g++ with it.
BASE = ("apt",)
LIBRARY_FOLDERS = re.compile(r"^(/usr)?/lib(64|/[a-z0-9_]+-linux-gnu)?/[^/]+$")


def output(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


@lru_cache(maxsize=None)
def installed():
    """Name -> (its real name, what it depends on, essential?) of each package of this machine, virtual ones among them."""
    fields = ("${db:Status-Abbrev}", "${Package}", "${Depends}", "${Pre-Depends}", "${Provides}", "${Essential}")
    packages = {}
    provided = {}
    for line in output("dpkg-query", "-W", "-f", "\t".join(fields) + "\n").splitlines():
        status, name, depends, pre_depends, provides, essential = line.split("\t")
        if not status.startswith("ii"):
            continue
        packages[name] = (name, alternatives(f"{depends},{pre_depends}"), essential == "yes")
        for virtual in filter(None, (part.strip().split(" ")[0] for part in provides.split(","))):
            provided.setdefault(virtual, name)
    for virtual, name in provided.items():
        packages.setdefault(virtual, packages[name])
    return packages


def alternatives(depends):
    """The choices of each dependency, without versions."""
    return [[re.split(r"[\s:(]", choice.strip())[0] for choice in part.split("|")]
            for part in depends.split(",") if part.strip()]


def closure(needs):
    """The packages, all that they depend on, and what each Debian system has."""
    packages = installed()
    found = set()
    left = [name for name, (_, _, essential) in packages.items() if essential] + list(BASE)
    left += [choice for choices in needs for choice in choices if choice in packages]
    while left:
        name, depends, _ = packages[left.pop()]
        if name in found:
            continue
        found.add(name)
        for choices in depends:
            # apt takes the first choice unless another one is there; here only those that are there are known.
            left += [choice for choice in choices if choice in packages][:1]
    return found


def libraries_of(packages):
    """File name -> path of each shared library that the packages put where the loader looks."""
    listing = subprocess.run(["dpkg", "-L", *sorted(packages)], capture_output=True, text=True, check=False).stdout
    return {Path(line).name: line for line in listing.splitlines() if ".so" in line and LIBRARY_FOLDERS.match(line)}


def missing(programs, libraries):
    """`LIBRARY (needed by FILE)` for each that no package brings, also of those that libraries need."""
    lines, seen, left = [], set(), list(programs)
    while left:
        file = left.pop()
        for name in re.findall(r"\(NEEDED\)\s+Shared library: \[([^\]]+)\]", output("readelf", "-d", file)):
            if name in seen:
                continue
            seen.add(name)
            if name in libraries:
                left.append(libraries[name])
            else:
                lines.append(f"{name} (needed by {file})")
    return lines


class Package(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="namdb-package-")
        place = Path(cls.folder.name)
        output("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", place / "made")
        (cls.package,) = (place / "made").glob("*.deb")
        cls.root = place / "root"
        output("dpkg-deb", "-x", cls.package, cls.root)
        cls.control = place / "control"
        output("dpkg-deb", "-e", cls.package, cls.control)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def field(self, name):
        return output("dpkg-deb", "-f", self.package, name).strip()

    def test_its_dependencies_bring_every_library_that_its_programs_need(self):
        programs = [self.root / "usr/bin" / name for name in PROGRAMS] + [self.root / "usr/lib/libnamdb_workloads.so"]
        for program in programs:
            self.assertTrue(program.exists(), f"{program.name} is not in the package")
        needs = alternatives(self.field("Depends"))
        self.assertEqual(missing(programs, libraries_of(closure(needs))), [])
        without = [choices for choices in needs if "libtomlplusplus3" not in choices]
        self.assertTrue(any(line.startswith("libtomlplusplus")
                            for line in missing(programs, libraries_of(closure(without)))))

    def test_programs_have_the_names_of_functions_for_stacks_of_crashes(self):
        for name in PROGRAMS:
            sections = output("readelf", "-S", "-W", self.root / "usr/bin" / name)
            self.assertIn(" .symtab ", sections, name)
            self.assertNotIn(" .debug_info ", sections, name)

    def test_units_are_those_of_programs_and_folders_that_it_has(self):
        units = self.root / "usr/lib/systemd/system"
        for name in ("nam-memoryd", "nam-computed"):
            unit = (units / f"{name}.service").read_text()
            template = (units / f"{name}@.service").read_text()
            program, _, config = re.search(r"^ExecStart=(\S+) (--config) (\S+)$", unit, re.M).groups()
            self.assertTrue((self.root / program[1:]).exists())
            self.assertTrue((self.root / config[1:]).exists())
            self.assertIn(f"--config {config.replace('.toml', '-%i.toml')}\n", template)
            for kind in ("StateDirectory", "RuntimeDirectory"):
                value = re.search(f"^{kind}=(.*)$", unit, re.M).group(1)
                self.assertIn(f"\n{kind}={value}-%i\n", template)
            self.assertIn("\nWatchdogSec=", template)
        self.assertTrue((self.root / "usr/lib/sysusers.d/namdb.conf").exists())

    def test_configuration_files_are_the_administrators(self):
        names = (self.control / "conffiles").read_text().split()
        self.assertEqual(sorted("/" + str(path.relative_to(self.root)) for path in (self.root / "etc").rglob("*.toml")),
                         sorted(names))

    def test_maintainer_scripts_are_scripts(self):
        for name in ("postinst", "prerm", "postrm"):
            self.assertTrue(os.access(self.control / name, os.X_OK), name)
            output("sh", "-n", self.control / name)

    def test_the_image_has_the_package(self):
        last_stage = (ROOT / "docker/Dockerfile").read_text().rpartition("\nFROM ")[2]
        self.assertRegex(last_stage, r"apt-get install [^&]*/namdb\.deb")

    def test_its_configuration_runs_a_database(self):
        with tempfile.TemporaryDirectory(prefix="namdb-package-") as place:
            port = free_port()
            socket = f"unix:{place}/memory.sock"
            binary = self.root / "usr/bin"
            with Daemon(place, "nam-memoryd", "--config", self.root / "etc/namdb/memoryd.toml", "--listen", socket,
                        "--region-bytes", "64MiB", binary=binary) as memory:
                memory.until_told("READY=1")
                with Daemon(place, "nam-computed", "--config", self.root / "etc/namdb/computed.toml",
                            "--memory-server", socket, "--listen", f"127.0.0.1:{port}", "--unix-socket-dir", place,
                            "--procedure-library", self.root / "usr/lib/libnamdb_workloads.so", binary=binary) as compute:
                    compute.until_told("READY=1")
                    answer = output("psql", "-h", place, "-p", port, "-U", "root", "-Atc", "SELECT 1 + 1", "namdb")
                    self.assertEqual(answer, "2\n")
                    self.assertEqual(compute.end(), 0)
                self.assertEqual(memory.end(), 0)


@unittest.skipUnless(os.environ.get("NAMDB_WHOLE"), "with NAMDB_WHOLE=1")
@unittest.skipUnless(shutil.which("debootstrap"), "debootstrap is not installed")
@unittest.skipUnless(os.geteuid() == 0, "chroot is for root")
class BareSystem(TestCase):
    def test_the_package_is_all_that_it_takes(self):
        with tempfile.TemporaryDirectory(prefix="namdb-package-") as place:
            root = Path(place) / "root"
            output("debootstrap", "--variant=minbase", "bookworm", root, "http://deb.debian.org/debian")
            output("cpack", "-G", "DEB", "--config", BUILD / "CPackConfig.cmake", "-B", Path(place) / "made")
            (package,) = (Path(place) / "made").glob("*.deb")
            shutil.copy(package, root / "namdb.deb")
            for path in ("etc/resolv.conf", "etc/hosts"):
                shutil.copy(f"/{path}", root / path)
            for path in Path("/etc/apt/apt.conf.d").iterdir():
                shutil.copy(path, root / "etc/apt/apt.conf.d")

            def inside(command):
                return output("chroot", root, "sh", "-c", command)

            inside("apt-get update -qq && DEBIAN_FRONTEND=noninteractive "
                   "apt-get install -y --no-install-recommends /namdb.deb")
            self.assertIn("(namdb)", inside("id namdb"))
            self.assertEqual(inside("stat -c '%U %G %a' /etc/namdb").strip(), "root namdb 750")
            inside("systemd-analyze verify nam-memoryd.service nam-computed.service nam-memoryd@a.service "
                   "nam-computed@a.service")
            inside("mount -t proc proc /proc; status=0; "
                   "su -s /bin/sh namdb -c 'namctl dev up --data /tmp/a --port 5499 --region-bytes 64MiB && "
                   "namctl status --data /tmp/a && namctl dev down --data /tmp/a' || status=1; umount /proc; exit $status")
            inside("DEBIAN_FRONTEND=noninteractive apt-get purge -y namdb")
            self.assertFalse((root / "usr/bin/nam-memoryd").exists())


if __name__ == "__main__":
    main()
