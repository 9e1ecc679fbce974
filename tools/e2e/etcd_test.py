"""The configuration store against real etcd servers, as namdb_store_probe calls it: compare-and-swap among processes; etcd
that is killed, starts anew, hangs, or loses a member; certificates and users that fit, and others; and its folder among
processes of one machine."""
import base64
import signal
import subprocess
import tempfile
import time
import unittest
from contextlib import ExitStack
from pathlib import Path

from etcd_server import MISSING, Authority, Etcd, Three
from harness import PATIENCE_S, TestCase, main, program, until


class Probe:
    """A process with one store; a context manager."""

    def __init__(self, location, **files):
        words = [program("namdb_store_probe"), location, *(f"{name}={path}" for name, path in files.items())]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def receive(self):
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, *words):
        self.send(*words)
        return self.receive()

    def revision(self):
        return int(until(lambda: [words for words in [self.ask("read")] if words.startswith("read")], "a value")[0].split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE_S)
        self.process.stdout.close()


def compete(case, location, processes, each, **files):
    """They raise one number, and each raise counts."""
    with ExitStack() as stack:
        probes = [stack.enter_context(Probe(location, **files)) for _ in range(processes)]
        for probe in probes:
            probe.send("add", each)
        for probe in probes:
            case.assertEqual(probe.receive(), f"added {each}")
        case.assertEqual(probes[0].ask("read").split()[2:], [str(processes * each), "adder"])


class Folder(TestCase):
    def test_processes_compete(self):
        with tempfile.TemporaryDirectory() as folder:
            compete(self, f"file:{folder}/store", 3, 30)

    def test_a_killed_process_holds_nothing(self):
        with tempfile.TemporaryDirectory() as folder, Probe(f"file:{folder}/store") as probe:
            for _ in range(5):
                with Probe(f"file:{folder}/store") as victim:
                    before = probe.revision()
                    victim.send("add", 1_000_000)
                    until(lambda: probe.revision() > before + 10, "it writes")  # pylint: disable=cell-var-from-loop
                    victim.process.kill()
                    victim.process.wait(PATIENCE_S)
                now = probe.revision()
                self.assertEqual(probe.ask("replace", now, 7, "here:1"), "changed")


@unittest.skipIf(MISSING, MISSING)
class Alone(TestCase):
    def test_processes_compete(self):
        with Etcd() as etcd:
            compete(self, f"etcd://{etcd.endpoint}/bank", 3, 20)

    def test_values_of_two_names(self):
        with Etcd() as etcd, Probe(f"etcd://{etcd.endpoint}/bank") as bank, Probe(f"etcd://{etcd.endpoint}/shop") as shop:
            self.assertEqual(bank.ask("read"), "read 0")
            self.assertEqual(bank.ask("replace", 5, 1, "a:1"), "unchanged")
            self.assertEqual(bank.ask("replace", 0, 1, "a:1"), "changed")
            self.assertEqual(bank.ask("replace", 0, 2, "b:1"), "unchanged")
            self.assertEqual(shop.ask("read"), "read 0")
            self.assertEqual(shop.ask("replace", 0, 3, "c:1"), "changed")
            self.assertEqual(bank.ask("read").split()[2:], ["1", "a:1"])
            self.assertEqual(bank.ask("replace", bank.revision(), 4, "d:1"), "changed")
            self.assertEqual(bank.ask("read").split()[2:], ["4", "d:1"])
            self.assertEqual(shop.ask("read").split()[2:], ["3", "c:1"])

    def test_another_value_there(self):
        with Etcd() as etcd, Probe(f"etcd://{etcd.endpoint}/bank") as probe:
            key = base64.b64encode(b"/namdb/bank/configuration").decode()
            etcd.call("kv/put", {"key": key, "value": base64.b64encode(b"hello").decode()})
            self.assertEqual(probe.ask("read"), f"configuration: etcd://{etcd.endpoint}/bank, key /namdb/bank/configuration: it "
                                                "is no configuration of namdb: it is damaged, or something else")

    def test_killed_and_started_anew(self):
        with Etcd() as etcd, Probe(f"etcd://{etcd.endpoint}/bank") as probe:
            self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
            revision = probe.revision()
            etcd.kill()
            self.assertIn("connection_failure: etcd at", probe.ask("read"))
            self.assertIn("connection_failure: etcd at", probe.ask("replace", revision, 2, "b:1"))
            etcd.start()
            self.assertEqual(probe.ask("read"), f"read {revision} 1 a:1")
            self.assertEqual(probe.ask("replace", revision, 2, "b:1"), "changed")

    def test_it_hangs(self):
        with Etcd() as etcd, Probe(f"etcd://{etcd.endpoint}/bank") as probe:
            self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
            revision = probe.revision()
            etcd.signal(signal.SIGSTOP)
            self.assertIn("connection_failure: etcd at", probe.ask("read"))
            self.assertIn("connection_failure: etcd at", probe.ask("replace", revision, 2, "b:1"))
            etcd.signal(signal.SIGCONT)
            # It may make the change now, or not.
            until(lambda: probe.ask("read").startswith("read"), "it answers again")
            self.assertIn(probe.ask("read").split()[2:], (["1", "a:1"], ["2", "b:1"]))

    def test_no_etcd_at_all(self):
        with tempfile.TemporaryDirectory() as folder:
            server = subprocess.Popen(["/usr/bin/python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "0"], cwd=folder,
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            try:
                port = server.stdout.readline().split("port ")[1].split()[0]
                with Probe(f"etcd://127.0.0.1:{port}/bank") as probe:
                    self.assertIn("status 501, so it is no etcd, or older than 3.4", probe.ask("read"))
            finally:
                server.kill()
                server.wait(PATIENCE_S)
                server.stdout.close()


@unittest.skipIf(MISSING, MISSING)
class Guarded(TestCase):
    def test_certificates(self):
        with tempfile.TemporaryDirectory() as folder:
            authority, other = Authority(folder), Authority(folder, "other")
            with Etcd(authority=authority) as etcd:
                location = f"etcd://{etcd.endpoint}/bank"
                certificate, key = authority.issue("namdb")
                with Probe(location, ca=authority.certificate, certificate=certificate, key=key) as probe:
                    self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
                    self.assertEqual(probe.ask("read").split()[2:], ["1", "a:1"])
                with Probe(location, ca=other.certificate, certificate=certificate, key=key) as probe:
                    self.assertRegex(probe.ask("read"), "^configuration: etcd at .*certificate")
                    # Nothing was sent, so nobody need ask what became of it.
                    self.assertRegex(probe.ask("replace", 0, 2, "b:1"), "^configuration: etcd at .*certificate")
                wrong_certificate, wrong_key = other.issue("namdb")
                for files in ({"certificate": wrong_certificate, "key": wrong_key}, {}):
                    with Probe(location, ca=authority.certificate, **files) as probe:
                        self.assertRegex(probe.ask("read"), "^(configuration|connection_failure): etcd at ")
                with Probe(location, ca=Path(folder) / "nothing") as probe:
                    self.assertRegex(probe.ask("read"), "^configuration: etcd at .*nothing")
                with Probe(location) as probe:
                    self.assertRegex(probe.ask("read"), "^(configuration|connection_failure): etcd at ")

    def user_file(self, folder, text, mode=0o600):
        path = Path(folder) / f"user-{len(list(Path(folder).iterdir()))}"
        path.write_text(text, encoding="utf-8")
        path.chmod(mode)
        return path

    def test_users(self):
        with tempfile.TemporaryDirectory() as folder, Etcd() as etcd:
            etcd.want_users(root="secret", namdb="word:with:colons")
            location = f"etcd://{etcd.endpoint}/bank"
            user = self.user_file(folder, "namdb:word:with:colons\n")
            with Probe(location, user=user) as probe:
                self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
                # It knows its tokens no more.
                etcd.kill()
                etcd.spawn()
                until(lambda: probe.ask("read").startswith("read"), "it answers again")
                self.assertEqual(probe.ask("replace", probe.revision(), 2, "b:1"), "changed")
                self.assertEqual(probe.ask("read").split()[2:], ["2", "b:1"])
            for path, expected in (
                    (self.user_file(folder, "namdb:wrong"), "^configuration: etcd at .*invalid user ID or password"),
                    (self.user_file(folder, "namdb:word:with:colons", 0o644), "^configuration: .*can be read by others"),
                    (self.user_file(folder, "namdb"), "^configuration: .*is not one line USER:PASSWORD"),
                    (Path(folder) / "nothing", "^configuration: .*No such file")):
                with Probe(location, user=path) as probe:
                    self.assertRegex(probe.ask("read"), expected)
            with Probe(location) as probe:
                self.assertRegex(probe.ask("read"), "^configuration: etcd at .*user name is empty")


@unittest.skipIf(MISSING, MISSING)
class Members(TestCase):
    def test_one_of_three_is_lost(self):
        with Three() as three, Probe(three.location) as probe:
            self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
            number = 1
            for how in (signal.SIGKILL, signal.SIGSTOP):
                for server in three.servers:
                    server.signal(how)

                    def change():
                        told = probe.ask("read")
                        if not told.startswith("read"):
                            return False
                        # It may be made without an answer: the members elect a leader.
                        probe.ask("replace", told.split()[1], number + 1, "b:1")  # pylint: disable=cell-var-from-loop
                        return probe.ask("read").split()[2:] == [str(number + 1), "b:1"]  # pylint: disable=cell-var-from-loop

                    until(change, "the other two make a change")
                    number += 1
                    if how == signal.SIGKILL:
                        server.process.wait(PATIENCE_S)
                        server.start()
                    else:
                        server.signal(signal.SIGCONT)
                        until(server.answers, "it is back")

    def test_without_a_majority_nothing_changes(self):
        with Three() as three, Probe(three.location) as probe:
            self.assertEqual(probe.ask("replace", 0, 1, "a:1"), "changed")
            revision = probe.revision()
            for server in three.servers[1:]:
                server.kill()
            began = time.monotonic()
            self.assertRegex(probe.ask("read"), "^connection_failure: etcd at ")
            self.assertRegex(probe.ask("replace", revision, 2, "b:1"), "^connection_failure: etcd at ")
            print(f"without a majority two calls took {time.monotonic() - began:.1f} s", flush=True)
            for server in three.servers[1:]:
                server.start()
            until(lambda: probe.ask("read").startswith("read"), "there is a majority again")

    def test_processes_compete_while_members_hang(self):
        with Three() as three, ExitStack() as stack:
            probes = [stack.enter_context(Probe(three.location)) for _ in range(3)]
            for n in range(4):
                server = three.servers[n % 3]
                server.signal(signal.SIGSTOP)
                told = [probe.ask("read") for probe in probes]
                known = [words for words in told if words.startswith("read")]
                revisions = {words.split()[1] for words in known}
                self.assertLessEqual(len(revisions), 1, "nobody changed it meanwhile")
                if revisions:
                    revision = revisions.pop()
                    for i, probe in enumerate(probes):
                        probe.send("replace", revision, 3 * n + i + 1, f"host-{i}:1")
                    answers = [probe.receive() for probe in probes]
                    self.assertLessEqual(answers.count("changed"), 1, answers)
                    server.signal(signal.SIGCONT)
                    until(server.answers, "it is back")
                    now = until(lambda: [words for words in [probes[0].ask("read")] if words.startswith("read")], "a value")[0]
                    if "changed" in answers:
                        self.assertEqual(now.split()[3], f"host-{answers.index('changed')}:1")
                else:
                    server.signal(signal.SIGCONT)
                    until(server.answers, "it is back")


if __name__ == "__main__":
    main()
