"""The Debian packages that the virtual machine is made of, in a cache folder: downloaded by apt-get, unpacked by
dpkg, never installed. A package that the system has is used as it is."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

# Programs of the host, and those of the machine on top of the host's own files.
PROGRAMS = ("qemu-system-x86", "busybox-static", "ibverbs-providers", "ibverbs-utils", "rdmacm-utils", "perftest",
            "iproute2", "rdma-core")
KERNEL = "linux-image-amd64"
# Unpacking a package of a merged /usr into a folder needs these to be links, as they are in the system.
MERGED = ("bin", "sbin", "lib", "lib32", "lib64")


class Unavailable(Exception):
    """The machine cannot be had here; the text says why and what would help."""


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}, **options)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:] or ["no output"]
        raise Unavailable(f"{' '.join(command[:3])} failed: {last[0]}")
    return done.stdout


def kernel_package():
    found = re.search(r"Depends: (linux-image-\S+)", run(["apt-cache", "depends", KERNEL]))
    if not found:
        raise Unavailable(f"apt-cache knows no {KERNEL}; apt-get update may help")
    return found.group(1)


def missing_packages():
    """Those of PROGRAMS and their dependencies that are not installed, as `name=version`."""
    plan = run(["apt-get", "install", "--simulate", "--no-install-recommends", "--no-remove", *PROGRAMS])
    return [f"{name}={version}" for name, version in re.findall(r"^Inst (\S+) (?:\[\S+\] )?\((\S+)", plan, re.M)]


def download(packages, folder):
    try:
        run(["apt-get", "download", *packages], cwd=folder)
    except Unavailable as error:
        raise Unavailable(f"{error}; apt-get update may help, if the mirror can be reached") from error


def unpack(archives, root):
    """One tree of all archives, with /bin, /lib, ... in /usr."""
    root.mkdir(parents=True)
    for archive in archives:
        run(["dpkg-deb", "-x", str(archive), str(root)])
        for name in MERGED:
            top = root / name
            if top.is_dir() and not top.is_symlink():
                shutil.copytree(top, root / "usr" / name, symlinks=True, dirs_exist_ok=True)
                shutil.rmtree(top)


def build(folder, say):
    """Fills `folder` with `root` (programs) and `kernel` (the kernel's package, unpacked)."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise Unavailable(f"there is no {tool}: the machine is made of Debian packages")
    try:
        kernel, programs = kernel_package(), missing_packages()
    except Unavailable:
        if os.geteuid() != 0:
            raise
        run(["apt-get", "update", "-qq"])  # an image whose package lists were removed
        kernel, programs = kernel_package(), missing_packages()
    say(f"downloading {kernel} and {len(programs)} other packages")
    with tempfile.TemporaryDirectory(dir=folder) as archives:
        archives = pathlib.Path(archives)
        (archives / "kernel").mkdir()
        (archives / "programs").mkdir()
        download([kernel], archives / "kernel")
        if programs:
            download(programs, archives / "programs")
        say("unpacking")
        unpack(sorted((archives / "kernel").glob("*.deb")), folder / "kernel")
        unpack(sorted((archives / "programs").glob("*.deb")), folder / "root")
