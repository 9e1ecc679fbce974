"""Real etcd servers on loopback for tests, in temporary folders; each is ended by the test that started it."""
import base64
import json
import os
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.request
from pathlib import Path

from harness import PATIENCE_S, free_port, stands_still, until

ETCD = shutil.which("etcd", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin")
MISSING = None if ETCD else "etcd is not installed (Debian package etcd-server)"


class Etcd:
    """One etcd server, or a member of several; a context manager. `authority`: of TLS, with client certificates."""

    def __init__(self, name="e0", ports=None, members=None, authority=None):
        # In memory: it flushes every change, and a disk that others use may let it wait for longer than clients do.
        self.folder = Path(tempfile.mkdtemp(prefix="namdb-etcd-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.client_port, peer_port = ports or (lambda first: (first, first + 1))(free_port(2))
        self.endpoint = f"127.0.0.1:{self.client_port}"
        self.authority = authority
        self.scheme = "https" if authority else "http"
        peer = f"http://127.0.0.1:{peer_port}"
        self.command = [ETCD, "--name", name, "--data-dir", self.folder / "data", "--logger", "zap",
                        "--listen-client-urls", f"{self.scheme}://{self.endpoint}",
                        "--advertise-client-urls", f"{self.scheme}://{self.endpoint}",
                        "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                        "--initial-cluster", members or f"{name}={peer}", "--initial-cluster-token", "namdb-test"]
        if authority:
            certificate, key = authority.issue("etcd")
            self.command += ["--cert-file", certificate, "--key-file", key, "--client-cert-auth",
                             "--trusted-ca-file", authority.certificate]
        self.process = None

    def spawn(self):
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen([str(word) for word in self.command], stdout=log, stderr=log)

    def start(self):
        self.spawn()
        until(self.answers, "etcd answers")
        return self

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"etcd has ended:\n{self.log()[-2000:]}")
        try:
            return "header" in self.call("kv/range", {"key": base64.b64encode(b"x").decode()})
        except OSError:
            return False

    def call(self, method, body):
        request = urllib.request.Request(f"{self.scheme}://{self.endpoint}/v3/{method}", json.dumps(body).encode())
        context = None
        if self.authority:
            context = ssl.create_default_context(cafile=str(self.authority.certificate))
            context.load_cert_chain(*self.authority.issue("tester"))
        # The proxy of the environment does not serve loopback.
        handlers = [urllib.request.ProxyHandler({})]
        if context:
            handlers.append(urllib.request.HTTPSHandler(context=context))
        with urllib.request.build_opener(*handlers).open(request, timeout=PATIENCE_S) as reply:
            return json.load(reply)

    def want_users(self, **passwords):
        """From now on these have their passwords and all rights; one of them is root."""
        self.call("auth/role/add", {"name": "root"})
        for user, password in passwords.items():
            self.call("auth/user/add", {"name": user, "password": password})
            self.call("auth/user/grant", {"user": user, "role": "root"})
        self.call("auth/enable", {})

    def signal(self, number):
        self.process.send_signal(number)
        if number == signal.SIGSTOP:
            until(lambda: stands_still(self.process.pid), "all its threads stand still")

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class Three:
    """Three etcd servers of one cluster; a context manager."""

    def __init__(self):
        first = free_port(6)
        names = [f"e{i}" for i in range(3)]
        members = ",".join(f"{name}=http://127.0.0.1:{first + 2 * i + 1}" for i, name in enumerate(names))
        self.servers = [Etcd(name, (first + 2 * i, first + 2 * i + 1), members) for i, name in enumerate(names)]
        self.location = "etcd://" + ",".join(server.endpoint for server in self.servers) + "/bank"

    def __enter__(self):
        for server in self.servers:
            server.spawn()
        for server in self.servers:
            until(server.answers, "etcd answers")
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.__exit__()


class Authority:
    """Issues certificates for 127.0.0.1, for servers and clients."""

    def __init__(self, folder, name="authority"):
        self.folder = Path(folder)
        self.name = name
        self.certificate = self.folder / f"{name}.crt"
        self.openssl("req", "-x509", *self.key_options(name), "-out", self.certificate, "-subj", f"/CN={name}", "-days", "2")

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *(str(part) for part in arguments)], check=True, capture_output=True)

    def key_options(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.folder / f"{name}.key"]

    def issue(self, name):
        """The files of a certificate and its key."""
        certificate, key = self.folder / f"{self.name}-{name}.crt", self.folder / f"{self.name}-{name}.key"
        if not certificate.exists():
            request = self.folder / "request"
            self.openssl("req", *self.key_options(f"{self.name}-{name}"), "-out", request, "-subj", f"/CN={name}",
                         "-addext", "subjectAltName=IP:127.0.0.1")
            self.openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.folder / f"{self.name}.key",
                         "-CAcreateserial", "-copy_extensions", "copy", "-days", "2", "-out", certificate)
        return certificate, key
