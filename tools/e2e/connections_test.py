"""Access over real sockets with libpq: TLS, certificates, passwords, rules, and reloads of the configuration."""
import contextlib
import os
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

import psycopg
from harness import Cluster, TestCase, main, program, run, until


class Certificates:
    """An authority in a folder, and what it issues."""

    def __init__(self, folder, name="authority"):
        self.folder = Path(folder)
        self.name = name
        self.authority = self.folder / f"{name}.pem"
        self.openssl("req", "-x509", *self.key_options(name), "-out", self.authority, "-subj", f"/CN={name}", "-days", "2")

    def openssl(self, *arguments):
        subprocess.run(["openssl", *(str(part) for part in arguments)], check=True, capture_output=True)

    def key_options(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.folder / f"{name}.key")

    def issue(self, subject, name=None, days=2):
        """The files of a certificate for that name, with its key."""
        name = name or subject
        request, certificate = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        self.openssl("req", *self.key_options(name), "-out", request, "-subj", f"/CN={subject}",
                     "-addext", f"subjectAltName=DNS:{subject}")
        self.openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", self.folder / f"{self.name}.key",
                     "-days", str(days), "-copy_extensions", "copy", "-out", certificate)
        return certificate, self.folder / f"{name}.key"


class Server:
    """A cluster whose compute server has a configuration file that can be changed; a context manager."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="namdb-e2e-")
        self.path = Path(self.folder.name)
        self.certificates = Certificates(self.path)
        self.others = Certificates(self.path, "others")
        self.certificate, self.key = self.certificates.issue("localhost", "server")
        self.config = self.path / "computed.toml"
        self.configure(self.rules)
        self.cluster = Cluster(compute_flags=[f"--config={self.config}", "--password-delay-seconds=0.2"])

    rules = ["local all all trust", "hostssl all by_certificate all cert", "hostnossl all plain 127.0.0.0/8 scram-sha-256",
             "hostssl all all 127.0.0.0/8 scram-sha-256"]

    def configure(self, rules):
        listed = ", ".join(f"'{rule}'" for rule in rules)
        self.config.write_text(f'tls-certificate = "{self.certificate}"\ntls-key = "{self.key}"\n'
                               f'tls-client-ca = "{self.certificates.authority}"\n'
                               f"access-rule = [{listed}]\n")

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.callback(self.folder.cleanup)
            stack.enter_context(self.cluster)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *details):
        self.stack.__exit__(*details)

    def connect(self, user="app", password="secret", **options):
        return psycopg.connect(**{"host": "localhost", "hostaddr": "127.0.0.1", "port": self.cluster.port, "dbname": "namdb",
                                  "user": user, "password": password, "autocommit": True, "connect_timeout": 20,
                                  "sslmode": "verify-full", "sslrootcert": str(self.certificates.authority), **options})

    def local(self, user="chief"):
        return psycopg.connect(host=str(self.cluster.data / "run"), port=self.cluster.port, dbname="namdb", user=user, autocommit=True)

    def log(self):
        return self.cluster.log("compute-0")

    def reload(self, words="read again"):
        """Has the configuration read again, and waits until the log says so in these words."""
        before = self.log().count(words)
        os.kill(self.cluster.pid("compute-0"), signal.SIGHUP)
        until(lambda: self.log().count(words) > before, f"{words!r} in the log")


class Connections(TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.enterClassContext(cls.server)
        with cls.server.local() as connection:
            # The first one makes a role of the user, too: a superuser.
            for name in ("app", "plain", "limited", "late"):
                connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
            connection.execute("CREATE ROLE by_certificate LOGIN")
            connection.execute("CREATE ROLE no_password LOGIN")
            connection.execute("CREATE ROLE no_login PASSWORD 'secret'")
            connection.execute("ALTER ROLE limited CONNECTION LIMIT 1")
            connection.execute("ALTER ROLE late VALID UNTIL '2001-01-01'")

    def refused(self, **options):
        with self.assertRaises(psycopg.OperationalError) as raised:
            self.server.connect(**options).close()
        return str(raised.exception)

    def test_a_password_over_tls_with_every_mode_of_libpq(self):
        for options in ({"sslmode": "require"}, {"sslmode": "verify-ca"}, {"sslmode": "verify-full"},
                        {"sslmode": "require", "channel_binding": "require"}, {"channel_binding": "disable"},
                        {"sslmode": "require", "ssl_max_protocol_version": "TLSv1.2", "channel_binding": "require"}):
            with self.subTest(options), self.server.connect(**options) as connection:
                self.assertTrue(connection.pgconn.ssl_in_use)
                self.assertEqual(connection.execute("SELECT current_user, 42").fetchone(), ("app", 42))

    def test_clients_notice_another_server(self):
        self.assertIn("server certificate for", self.refused(host="db.example"))
        self.assertIn("certificate verify failed", self.refused(sslrootcert=str(self.server.others.authority)))

    def test_a_wrong_password_and_a_user_who_does_not_exist_hear_the_same(self):
        def text(user, password):
            return self.refused(user=user, password=password).replace(user, "USER")

        wrong = text("app", "wrong")
        self.assertIn('FATAL:  password authentication failed for user "USER"', wrong)
        for user in ("nobody", "no_password", "late"):
            self.assertEqual(text(user, "secret"), wrong)
        # The last of an address within a second is told with the number of those before.
        until(lambda: 'password authentication failed for user "late": the role\'s password has expired' in self.server.log(),
              "the refusal in the log")

    def test_roles_that_may_not_log_in_and_limits(self):
        self.assertIn('role "no_login" is not permitted to log in', self.refused(user="no_login"))
        with self.server.connect(user="limited"):
            self.assertIn('too many connections for role "limited"', self.refused(user="limited"))
        with self.assertRaisesRegex(psycopg.OperationalError, 'role "nobody" does not exist'):
            self.server.local("nobody")

    def test_without_tls_only_what_a_rule_lets_in(self):
        self.assertIn("an access rule", self.refused(sslmode="disable").replace("no access", "an access"))
        with self.server.connect(user="plain", sslmode="disable") as connection:
            self.assertFalse(connection.pgconn.ssl_in_use)
        self.assertIn("channel binding", self.refused(user="plain", sslmode="disable", channel_binding="require"))

    def test_a_certificate_instead_of_a_password(self):
        certificate, key = self.server.certificates.issue("by_certificate")
        shown = {"sslcert": str(certificate), "sslkey": str(key)}
        with self.server.connect(user="by_certificate", password=None, **shown) as connection:
            self.assertEqual(connection.execute("SELECT current_user").fetchone(), ("by_certificate",))
        self.assertIn("requires a valid client certificate", self.refused(user="by_certificate"))
        certificate, key = self.server.others.issue("by_certificate", "stranger")
        self.refused(user="by_certificate", sslcert=str(certificate), sslkey=str(key))

    def test_an_expired_certificate_of_a_client_is_refused(self):
        certificate, key = self.server.certificates.issue("by_certificate", "expired", days=0)
        self.assertIn("expired", self.refused(user="by_certificate", sslcert=str(certificate), sslkey=str(key)))
        until(lambda: "TLS handshake" in self.server.log(), "the refusal in the log")

    def test_a_session_outlives_its_role_without_its_rights(self):
        with self.server.local() as chief:
            chief.execute("CREATE ROLE leaver LOGIN PASSWORD 'secret'")
            chief.execute("CREATE TABLE kept (id int PRIMARY KEY)")
            chief.execute("GRANT SELECT ON kept TO leaver")
            with self.server.connect(user="leaver") as connection:
                self.assertEqual(connection.execute("SELECT count(*) FROM kept").fetchone(), (0,))
                chief.execute("REVOKE ALL ON kept FROM leaver")
                chief.execute("DROP ROLE leaver")
                self.assertEqual(connection.execute("SELECT 1").fetchone(), (1,))
                self.assert_sqlstate("42501", connection.execute, "SELECT count(*) FROM kept")
            self.assertIn('password authentication failed for user "leaver"', self.refused(user="leaver"))

    def test_much_data_over_tls_in_both_directions(self):
        with self.server.local() as connection:
            connection.execute("CREATE TABLE many (id int PRIMARY KEY, words text)")
            connection.execute("GRANT ALL ON many TO app")
        with self.server.connect() as connection:
            with connection.cursor().copy("COPY many FROM STDIN") as copy:
                for number in range(20_000):
                    copy.write_row((number, "word " * 20))
            rows = connection.execute("SELECT id, words FROM many ORDER BY id").fetchall()
            self.assertEqual(rows, [(number, "word " * 20) for number in range(20_000)])
            self.assertEqual(connection.execute("SELECT %s::text", ("x" * 3_000_000,)).fetchone()[0], "x" * 3_000_000)

    def test_a_cancel_request_reaches_a_session_over_tls(self):
        with self.server.connect() as connection:
            connection.cancel()
            self.assertEqual(connection.execute("SELECT 1").fetchone(), (1,))

    def test_reloading_certificates_and_rules(self):
        server = self.server
        with server.connect() as connection:
            files = [(path, path.read_bytes()) for path in (server.certificate, server.key)]
            # Another authority's certificate, in the same files.
            for path, source in zip((server.certificate, server.key), server.others.issue("localhost", "renewed")):
                path.write_bytes(source.read_bytes())
            server.reload()
            self.assertIn("certificate verify failed", self.refused())
            with server.connect(sslrootcert=str(server.others.authority), channel_binding="require"):
                pass
            # Files that do not fit are not taken.
            server.key.write_bytes(files[1][1])
            server.reload("stay as they were: TLS key")
            with server.connect(sslrootcert=str(server.others.authority)):
                pass
            # Nor is one that has expired.
            for path, source in zip((server.certificate, server.key), server.others.issue("localhost", "old", days=0)):
                path.write_bytes(source.read_bytes())
            server.reload("has expired")
            with server.connect(sslrootcert=str(server.others.authority)):
                pass
            for path, content in files:
                path.write_bytes(content)
            server.configure(["host all all all reject"])
            server.reload()
            self.assertIn("an access rule rejects", self.refused())
            server.configure(["host all all everywhere trust"])
            server.reload("stay as they were: --access-rule")
            server.config.write_text("access-rule = [unclosed\n")
            server.reload("stay as they were")
            self.assertIn("an access rule rejects", self.refused())
            # No rules at all let nobody in either: somebody may be writing the file.
            server.config.write_text("")
            server.reload("stay as they were: there are no access rules")
            server.config.unlink()
            server.reload("stay as they were")
            self.assertIn("an access rule rejects", self.refused())
            server.configure(server.rules)
            server.reload()
            with server.connect():
                pass
            # It has lived through all of it.
            self.assertEqual(connection.execute("SELECT 1").fetchone(), (1,))


class WrongStore(TestCase):
    def test_a_server_does_not_start_with_a_configuration_store_that_is_none(self):
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as folder:
            done = run(program("nam-computed"), "--data", f"{folder}/data", "--memory-server", f"unix:{folder}/none",
                       "--configuration-store", "nonsense")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--configuration-store: a configuration store is file:FOLDER", done.stderr)


class WrongCertificates(TestCase):
    def refused(self, word, *arguments):
        done = run(program("nam-computed"), "--data", f"{self.folder}/data", "--memory-server", f"unix:{self.folder}/none",
                   *arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(word, done.stderr)

    def test_a_server_does_not_start_with_files_that_are_of_no_use(self):
        with tempfile.TemporaryDirectory(prefix="namdb-e2e-") as self.folder:
            certificates = Certificates(self.folder)
            certificate, key = certificates.issue("localhost")
            _, other_key = certificates.issue("other")
            expired, expired_key = certificates.issue("expired", days=0)

            def tls(certificate, key, *more):
                return "--tls-certificate", certificate, "--tls-key", key, *more

            self.refused("No such file", *tls(f"{self.folder}/none.pem", key))
            self.refused("No such file", *tls(certificate, f"{self.folder}/none.key"))
            self.refused("mismatch", *tls(certificate, other_key))
            self.refused("has expired", *tls(expired, expired_key))
            self.refused("none.pem", *tls(certificate, key, "--tls-client-ca", f"{self.folder}/none.pem"))
            key.chmod(0o644)
            self.refused("can be read by others", *tls(certificate, key))
            self.refused("go together", "--tls-key", key)
            self.refused("hostssl", "--access-rule", "hostssl all all all trust")
            self.refused("--tls-client-ca", *tls(certificate, key, "--access-rule", "hostssl all all all cert"))
            self.refused("access rule \"host all\"", "--access-rule", "host all")
            self.refused("--trust-remote", "--trust-remote", "--access-rule", "host all all all trust")


if __name__ == "__main__":
    main()
