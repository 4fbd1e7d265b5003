"""A real PostgreSQL server for the tests: started when the first test needs it, stopped at the end, a fresh database each time.

Its files are in a temporary folder, it listens on 127.0.0.1 and on a socket in that folder, and it writes nothing through to the
disk, which makes it quick. A server cannot run as root, so there it runs as ``postgres`` or ``nobody``.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

USER, PASSWORD = "ada", "not-in-any-message"
PATIENCE = 120.0


def binaries() -> Path | None:
    """Return the folder with the server's programs; None where it is not installed."""
    results = [Path(name).parent for name in [shutil.which("postgres") or ""] if name]
    results += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    whole = [folder for folder in results if (folder / "initdb").exists() and (folder / "postgres").exists()]
    return whole[0] if whole else None


class Server:
    """One server and its folder. ``start`` after ``stop`` or ``kill`` goes on with the same files on the same port."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="driftpace-pg-"))
        self._programs, self._data = programs, self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._log = self.folder / "log"
        self._before = self._unprivileged()
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self.folder, secret):
                os.chown(path, self._owner.pw_uid, self._owner.pw_gid)
        made = [
            str(programs / "initdb"),
            "-D",
            str(self._data),
            "-U",
            USER,
            "-A",
            "scram-sha-256",
            f"--pwfile={secret}",
        ]
        made += ["--no-sync", "--encoding=UTF8", "--locale=C"]
        done = subprocess.run([*self._before, *made], cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        self.port = _free_port()
        self.start()

    def _unprivileged(self) -> list[str]:
        """Return what to put before a command so that it is not run as root, and ends when the tests do."""
        if os.geteuid() != 0:
            return ["setpriv", "--pdeathsig", "INT"] if shutil.which("setpriv") else []
        names = {user.pw_name: user for user in pwd.getpwall()}
        self._owner = names.get("postgres") or names["nobody"]
        who = [f"--reuid={self._owner.pw_uid}", f"--regid={self._owner.pw_gid}", "--clear-groups"]
        return ["setpriv", *who, "--pdeathsig", "INT"]

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/{database}"

    def socket_url(self, database: str) -> str:
        return f"postgresql://{USER}:{PASSWORD}@/{database}?host={self.folder}&port={self.port}"

    def start(self) -> None:
        settings = {"listen_addresses": "127.0.0.1", "fsync": "off", "max_connections": "120"}
        command = [
            str(self._programs / "postgres"),
            "-D",
            str(self._data),
            "-k",
            str(self.folder),
            "-p",
            str(self.port),
        ]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen([*self._before, *command], cwd=self.folder, stdout=log, stderr=log)
        import psycopg

        deadline = time.monotonic() + PATIENCE
        while True:
            assert self._process.poll() is None, self._log.read_text()
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
            except psycopg.OperationalError:
                assert time.monotonic() < deadline, self._log.read_text()
                time.sleep(0.02)
            else:
                return

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT breaks every connection first, SIGQUIT does so without tidying up, as a crash does."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(timeout=PATIENCE)
            self._process = None

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement.encode())
            return done.fetchall() if done.description else []

    def remove(self) -> None:
        try:
            self.stop()
        finally:
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            shutil.rmtree(self.folder)


def _free_port() -> int:
    """Return a port below those that the system hands out, so that nobody gets it while the server is stopped."""
    while True:
        port = 20_000 + secrets.randbelow(12_000)
        with socket.socket() as free, suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A server for all tests of a process."""
    server = _server()
    yield server
    server.remove()


@pytest.fixture
def own_postgres_server() -> Iterator[Server]:
    """A server for one test that stops it."""
    server = _server()
    yield server
    server.remove()


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """The address of an empty database; emptying one is quicker than making one."""
    server = postgres_server
    if not server.execute("SELECT 1 FROM pg_database WHERE datname = 'labels'"):
        server.execute("CREATE DATABASE labels")
    yield server.url("labels")
    server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'labels'")
    server.execute("ALTER DATABASE labels RESET ALL")
    emptied = "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC"
    server.execute(emptied, "labels")


def _server() -> Server:
    programs = binaries()
    if programs is None:
        reason = "no PostgreSQL server is installed (initdb and postgres are on no PATH, nor in /usr/lib/postgresql)"
        if os.environ.get("CI", "").lower() in {"true", "1"}:
            pytest.fail(reason)
        pytest.skip(reason)
    return Server(programs)
