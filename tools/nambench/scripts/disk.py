"""The disk below a folder, measured by nambench beside the servers that are compared."""
import json
import os
from pathlib import Path

from scripts.servers import BIN, run


def measure(folder, synced_writes, log_mib):
    """synced_write_us: the median synced write of 4 KiB, F. read_mib_per_second: a plain sequential read."""
    report = json.loads(run([BIN / "nambench", "disk", folder, "--json", "--quiet", "--synced-writes", synced_writes,
                             "--waiters", 1, "--milliseconds", 1, "--log-mib", log_mib]))
    return {"synced_write_us": report["synced_write"]["median_us"],
            "read_mib_per_second": report["reading"]["plain_mib_per_second"]}


def forget(folder):
    """Takes the folder's files out of the page cache, as if the machine had restarted."""
    os.sync()
    for path in Path(folder).rglob("*"):
        if path.is_file() and not path.is_symlink():
            file = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)
