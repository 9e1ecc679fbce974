"""Hosts to which regions of a cluster's memory servers move, and what is asked of them."""
import json
import subprocess
from pathlib import Path

import psycopg

from harness import PATIENCE_S, free_port, namctl, until
from ledger import AWAY


def command_of(cluster, name):
    return Path(f"/proc/{cluster.pid(name)}/cmdline").read_text().split("\0")[:-1]


def option(command, flag):
    return command[command.index(flag) + 1]


def serves(cluster, server=0):
    try:
        return cluster.query("SELECT count(*) FROM ledger", server=server) is not None
    except psycopg.Error as error:
        if error.sqlstate not in AWAY:
            raise
        return False


class NewHost:
    """A host that waits for the region of that memory server; a context manager."""

    def __init__(self, cluster, name, tag="new", **options):
        self.folder = cluster.data / f"{name}-{tag}"
        self.log_path = cluster.data / "log" / f"{name}-{tag}.log"
        self.command = command_of(cluster, name)
        self.old = option(self.command, "--listen")
        unix = self.old.startswith("unix:")
        self.address = f"unix:{cluster.data}/run/{name}-{tag}.sock" if unix else f"127.0.0.1:{free_port()}"
        for flag, value in (("--data", self.folder), ("--listen", self.address)):
            self.command[self.command.index(flag) + 1] = str(value)
        for flag, value in options.items():
            self.command[self.command.index("--" + flag.replace("_", "-")) + 1] = str(value)
        if "--metrics-listen" in self.command:
            at = self.command.index("--metrics-listen")
            del self.command[at:at + 2]
        self.command += ["--join"]
        self.process = None

    def start(self):
        before = self.log().count("ready at")
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log)
        until(lambda: self.log().count("ready at") > before or self.process.poll() is not None, "the new host answers")
        return self

    def log(self):
        return self.log_path.read_text(errors="replace") if self.log_path.exists() else ""

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()


def drain(cluster, host, **options):
    return namctl("memory", "drain", host.old, "--to", host.address, "--data", cluster.data, "--json",
                  timeout=2 * PATIENCE_S, **options)


def states(cluster, *addresses):
    flags = [word for address in addresses for word in ("--memory-server", address)]
    key = cluster.data / "cluster.key"
    if key.exists():
        flags += ["--cluster-key", key]
    done = namctl("memory", "list", *flags, "--json")
    return [(host["address"], host.get("state")) for host in json.loads(done.stdout)["hosts"]]
