#!/usr/bin/env python3
"""verbs-vm from outside: exit statuses, logs, the shell, an ordinary user; and it leaves nothing, however it ends."""
import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "verbs-vm"
sys.path.insert(0, str(PROGRAM.parent))
sys.path.insert(0, str(PROGRAM.parent / "testing"))
import unittest_cases  # noqa: E402
from verbs_vm import machine  # noqa: E402

SKIPPED = 77
NOBODY = 65534
PATIENCE_S = 120


def until(condition, what):
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not in {PATIENCE_S} s: {what}")
        time.sleep(0.05)


class VirtualMachine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="verbs-vm-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.logs = self.folder / "logs"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        # Runs have their folders here, where no other run's are.
        self.environment = {**os.environ, "TMPDIR": str(self.temporary)}

    def command(self, *arguments):
        return [sys.executable, str(PROGRAM), *(str(argument) for argument in arguments)]

    def run_machine(self, *arguments, user=(), **environment):
        return subprocess.run([*user, *self.command(*arguments)], env={**self.environment, **environment},
                              capture_output=True, text=True, timeout=PATIENCE_S)

    def machines(self):
        """Processes that name the folder of this test's runs."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.temporary).encode() in process.read_bytes():
                    found.append(process.parent.name)
            except OSError:
                pass  # it has ended
        return found

    def assert_nothing_is_left(self):
        self.assertEqual(self.machines(), [])
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_the_command_has_the_devices_its_environment_and_logs_and_its_status_comes_back(self):
        done = self.run_machine("--logs", self.logs, "--env", "SAID=two words", "--", "bash", "-c",
                                "rdma link show; pwd; cat <(echo $SAID) >$VERBS_VM_LOGS/said; : >/usr/mine; exit 5")
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertEqual(done.stdout.count("state ACTIVE"), 3, done.stdout)
        self.assertIn(os.getcwd(), done.stdout)
        self.assertEqual((self.logs / "said").read_text(), "two words\n")
        for name in ("console.log", "dmesg.log", "devices.log"):
            self.assertTrue((self.logs / name).exists(), name)
        # This machine's files are under a layer in memory.
        self.assertFalse(pathlib.Path("/usr/mine").exists())
        self.assert_nothing_is_left()

    def test_a_command_that_takes_too_long_is_ended(self):
        done = self.run_machine("--timeout", 8, "--", "sleep", "1000")
        self.assertEqual((done.returncode, "no end after 8 s" in done.stderr), (124, True), done.stderr)
        self.assert_nothing_is_left()

    def test_a_signal_ends_the_machine_and_its_logs_are_kept(self):
        arguments = ("--logs", self.logs, "--", "bash", "-c", "echo runs >$VERBS_VM_LOGS/state; sleep 1000")
        with subprocess.Popen(self.command(*arguments), env=self.environment, stderr=subprocess.PIPE) as running:
            until(lambda: any(path.read_text() == "runs\n" for path in self.temporary.glob("*/state")), "it runs")
            self.assertNotEqual(self.machines(), [])
            running.send_signal(signal.SIGTERM)
            self.assertEqual(running.wait(PATIENCE_S), 128 + signal.SIGTERM)
        self.assertTrue((self.logs / "state").exists())
        self.assert_nothing_is_left()

    def test_keep_is_a_shell_on_this_terminal(self):
        child, terminal = pty.fork()
        if child == 0:
            command = self.command("--keep", "--logs", self.logs)
            os.execvpe(command[0], command, self.environment)
        said = b""

        def says(words):
            nonlocal said
            if select.select([terminal], [], [], 0.05)[0]:
                said += os.read(terminal, 4096)
            return words in said

        until(lambda: says(b"# "), "a prompt")
        self.assertIn(b"rx0 10.2.0.1", said)
        os.write(terminal, b"echo wai''ts; sleep 1000\r")
        until(lambda: says(b"waits"), "the shell runs a command")
        os.write(terminal, b"\x03")
        os.write(terminal, b"echo was $?\r")
        until(lambda: says(b"was 130"), "ctrl-C ends what runs in the shell")
        os.write(terminal, b"pwd >/run/verbs-vm/place; exit 6\r")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 6, said)
        self.assertEqual((self.logs / "place").read_text(), f"{os.getcwd()}\n")
        self.assert_nothing_is_left()

    def test_a_tree_below_a_folder_that_the_machine_has_for_itself_is_there(self):
        tools = self.folder / "tree" / "tools" / "dev"
        build = self.folder / "tree" / "build"
        build.mkdir(parents=True)
        shutil.copytree(PROGRAM.parent / "verbs_vm", tools / "verbs_vm")
        shutil.copy(PROGRAM, tools)
        self.assertTrue(str(self.folder).startswith(machine.OWN_FOLDERS), self.folder)
        command = [sys.executable, tools / PROGRAM.name, "--", "bash", "-c",
                   f"pwd; ls {tools}; echo made >mine && cat mine"]
        done = subprocess.run(command, cwd=build, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), [str(build), "verbs-vm", "verbs_vm", "made"])
        self.assertEqual(list(build.iterdir()), [])
        self.assert_nothing_is_left()

    def test_folders_inside_of_shared_ones_are_not_shared_again(self):
        self.assertEqual(machine.hidden_folders("/tmp/tree/build", "/tmp/tree"), ["/tmp/tree"])
        self.assertEqual(machine.hidden_folders("/tmp", "/usr/tree", "/tmpfile", "/run/a", "/run/ab"), ["/run/a", "/run/ab"])

    def test_without_debians_tools_there_is_none_and_the_reason_is_printed(self):
        for flags, status in (((), machine.ENVIRONMENT), (("--skip-unavailable",), SKIPPED)):
            done = self.run_machine(*flags, "--", "true", XDG_CACHE_HOME=str(self.folder), PATH="/nonexistent")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn("there is no apt-get: the machine is made of Debian packages", done.stderr)
        self.assert_nothing_is_left()

    def test_an_ordinary_user_may_run_it(self):
        user = ()
        cache = machine.cache_folder().parents[1]
        if os.geteuid() == 0:
            user = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
            if subprocess.run([*user, "test", "-r", PROGRAM]).returncode != 0:
                self.skipTest(f"nobody but this user may read {PROGRAM}")
            # Nobody's own copy of the cache; there is nothing to learn from the download.
            cache = self.folder
            shutil.copytree(machine.cache_folder(), cache / "namdb" / "verbs-vm", symlinks=True)
            for path in (self.folder, *(cache / "namdb").rglob("*"), self.temporary):
                os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
            os.chown(cache / "namdb", NOBODY, NOBODY)
        done = self.run_machine("--logs", self.folder / "logs", "--", "bash", "-c", "rdma link show; exit 4",
                                user=user, XDG_CACHE_HOME=str(cache))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stdout.count("state ACTIVE"), 3, done.stdout)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    # Skipped, with the reason that this prints, where the machine is not available.
    status = subprocess.run([sys.executable, str(PROGRAM), "--skip-unavailable", "--prepare"]).returncode
    if status != 0:
        sys.exit(status)
    unittest_cases.main()
