"""The virtual machine: its cache, one run of it, and what that run left."""
import fcntl
import hashlib
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from . import boot_image, packages
from .packages import Unavailable

HERE = pathlib.Path(__file__).resolve().parent
# Rebuilt when one of these changes, or Debian has a newer kernel.
SOURCES = ("packages.py", "boot_image.py", "init.sh")
SANITIZER_OPTIONS = "halt_on_error=1:print_stacktrace=1:log_path=/run/verbs-vm/sanitizer"
# Folders that the machine has for itself, in memory (init.sh).
OWN_FOLDERS = ("/tmp", "/run", "/dev/shm")
TIMED_OUT = 124
ENVIRONMENT = 3
# Without the features that make the kernel copy by single bytes: a card never tears an aligned word, so rxe may not.
CPU = "max,-erms,-fsrm"
# The clock is the processor's counter, which QEMU keeps the same for all: the watchdog of an emulated machine that waits
# for its turn would take it away, and reading the one that is left (hpet) takes a third of the time of all that runs here.
ARGUMENTS = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off tsc=reliable random.trust_cpu=on"


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(base) / "namdb" / "verbs-vm"


def version():
    digest = hashlib.sha256()
    for name in SOURCES:
        digest.update((HERE / name).read_bytes())
    return digest.hexdigest()[:16]


def prepare(say):
    """The folder with root, vmlinux and initramfs; built if it is not there. One process builds at a time."""
    cache = cache_folder()
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = cache / version()
        if ready.is_dir():
            return ready
        for old in cache.iterdir():
            if old.is_dir():
                shutil.rmtree(old)
        building = cache / "building"
        building.mkdir()
        packages.build(building, say)
        busybox = find(building, "usr/bin/busybox")
        boot_image.uncompress_kernel(building / "kernel", building / "vmlinux")
        boot_image.build_initramfs(building / "kernel", busybox, HERE / "init.sh", building / "initramfs")
        shutil.rmtree(building / "kernel")
        building.rename(ready)
        return ready


def find(ready, path):
    """A file of the cache's packages, or the system's own where that was installed already."""
    for root in (ready / "root", pathlib.Path("/")):
        if (root / path).exists():
            return root / path
    raise Unavailable(f"there is no /{path}")


def hidden_folders(*wanted):
    """Those of the folders that lie below the machine's own ones, and so are shared one by one; none inside of another."""
    below = sorted({path for path in wanted if any(path.startswith(own + "/") for own in OWN_FOLDERS)})
    return [path for path in below if not any(path.startswith(other + "/") for other in below)]


class Machine:
    def __init__(self, options):
        self.options = options
        self.shared = {f"folder{number}": path for number, path in enumerate(hidden_folders(os.getcwd(), str(HERE.parents[2])))}
        self.run_folder = pathlib.Path(tempfile.mkdtemp(prefix="namdb-verbs-vm-"))
        self.process = None

    def write_run(self):
        shutil.copy(HERE / "guest.sh", self.run_folder)
        words = " ".join(shlex.quote(word) for word in self.options.command)
        variables = "".join(f"export {shlex.quote(setting)}\n" for setting in self.options.env)
        # Reports of sanitizers go beside the logs: the test that started a daemon removes the daemon's own log.
        sanitizers = "".join(f"export {name}_OPTIONS={SANITIZER_OPTIONS}\n" for name in ("ASAN", "TSAN", "UBSAN"))
        (self.run_folder / "command.sh").write_text(
            f"export VERBS_VM_LOGS=/run/verbs-vm\n{sanitizers}{variables}cd {shlex.quote(os.getcwd())} || exit 3\nexec {words}\n")
        (self.run_folder / "folders").write_text("".join(f"{name} {path}\n" for name, path in self.shared.items()))
        if self.options.keep:
            size = shutil.get_terminal_size()
            terminal = os.environ.get("TERM", "dumb")
            (self.run_folder / "shell").write_text(f"{terminal} {size.columns} {size.lines} {os.getcwd()}\n")

    def qemu(self, ready):
        root = ready / "root"
        libraries = root / "usr/lib/x86_64-linux-gnu"
        environment = {**os.environ, "QEMU_MODULE_DIR": str(find(ready, "usr/lib/x86_64-linux-gnu/qemu")),
                       "LD_LIBRARY_PATH": ":".join(str(folder) for folder in (
                           libraries, *(p for p in libraries.glob("*") if p.is_dir() and any(p.glob("*.so.*")))))}
        firmware = []
        for folder in ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu"):
            for base in (root, pathlib.Path("/")):
                if (base / folder).is_dir():
                    firmware += ["-L", str(base / folder)]
        accelerator = "tcg,thread=multi" if self.options.accelerator == "tcg" else self.options.accelerator
        return environment, [
            str(find(ready, "usr/bin/qemu-system-x86_64")), *firmware, "-accel", accelerator, "-cpu", CPU, "-M", "q35",
            "-smp", str(self.options.cores), "-m", str(self.options.memory), "-nodefaults", "-display", "none",
            "-no-reboot", "-kernel", str(ready / "vmlinux"), "-initrd", str(ready / "initramfs"),
            "-append", ARGUMENTS,
            "-serial", f"file:{self.run_folder}/console.log",
            "-chardev", f"stdio,id=io,signal={'off' if self.options.keep else 'on'}",
            "-device", "virtio-serial-pci", "-device", "virtconsole,chardev=io",
            *self.share("host", "/", ",readonly=on"), *self.share("packages", root, ",readonly=on"),
            *self.share("run", self.run_folder, ""),
            *(word for name, path in self.shared.items() for word in self.share(name, path, ",readonly=on"))]

    @staticmethod
    def share(name, path, more):
        # A comma in a value of QEMU's options is written twice.
        escaped = str(path).replace(",", ",,")
        return ["-fsdev", f"local,id={name},path={escaped},security_model=none,multidevs=remap{more}",
                "-device", f"virtio-9p-pci,fsdev={name},mount_tag={name}"]

    def run(self, ready):
        """Boots, runs the command; its exit status, which is not 0 if a sanitizer reported something."""
        self.write_run()
        environment, command = self.qemu(ready)
        started = time.monotonic()
        with open(self.run_folder / "qemu.log", "wb") as log:
            # A process group of its own: ctrl-C comes here, and this ends the machine.
            self.process = subprocess.Popen(command, env=environment, stderr=log, start_new_session=not self.options.keep,
                                            stdin=None if self.options.keep else subprocess.DEVNULL)
        try:
            self.process.wait(timeout=None if self.options.keep else self.options.timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            print(f"verbs-vm: no end after {time.monotonic() - started:.0f} s", file=sys.stderr)
            return TIMED_OUT
        try:
            status = int((self.run_folder / "status").read_text())
        except (OSError, ValueError):
            self.explain()
            return ENVIRONMENT
        reports = sorted(self.run_folder.glob("sanitizer.*"))
        for report in reports:
            print(report.read_text(errors="replace"), file=sys.stderr)
        return status or (1 if reports else 0)

    def explain(self):
        for name in ("qemu.log", "console.log"):
            path = self.run_folder / name
            lines = path.read_text(errors="replace").splitlines()[-20:] if path.exists() else []
            if lines:
                print(f"verbs-vm: the machine ended without a status; end of {name}:", *lines, sep="\n  ",
                      file=sys.stderr)

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def close(self):
        """Ends the machine, keeps its logs where they were asked for, and leaves nothing else."""
        self.stop()
        if self.options.logs:
            logs = pathlib.Path(self.options.logs)
            logs.mkdir(parents=True, exist_ok=True)
            for path in self.run_folder.iterdir():
                if path.name not in ("guest.sh", "command.sh", "folders", "shell") and path.is_file():
                    shutil.copy(path, logs)
        shutil.rmtree(self.run_folder, ignore_errors=True)
