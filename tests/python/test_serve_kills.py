"""Databases on a served target: no commit is lost by kills of the server or of the database."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from command import Running, penstock, running
from test_serve import HERE
from test_serve_target import make_file_system, mounted, served

pytestmark = [
    pytest.mark.skipif(not HERE, reason="needs root, FUSE and loop devices"),
    pytest.mark.usefixtures("leftovers"),
]

MANY = [pytest.mark.soak, pytest.mark.timeout(3600)]

SQLITE = """
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
database.execute("CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, text)")
(number,) = database.execute("SELECT coalesce(max(number), 0) FROM entries").fetchone()
while True:
    number += 1
    database.execute("INSERT INTO entries VALUES (?, ?)", (number, "x" * 500))
    print(number, flush=True)
"""
"""Prints the number of each entry once it is committed."""

POSTGRES = """
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
    while True:
        print("INSERT INTO entries (text) VALUES (repeat('x', 500)) RETURNING number;",
              file=it.stdin, flush=True)
        line = it.stdout.readline()
        if not line:
            break
        print(line, end="", flush=True)
"""
"""The same by way of psql."""


class Sqlite:
    """A database in a file; it dies with its program."""

    size = "64MiB"

    def __init__(self, at: Path) -> None:
        """Take the folder of its file system."""
        self._file = at / "database"

    @contextmanager
    def writing(self, folder: Path) -> Iterator[Running]:
        """A program that writes to it, the number of each entry on its output."""
        with running(folder, self._file, script=SQLITE) as program:
            yield program

    def kill(self, program: Running) -> None:
        """Kill it."""
        program.process.send_signal(signal.SIGKILL)
        program.process.wait(60)

    def numbers(self) -> set[int]:
        """The numbers of its entries."""
        if not self._file.exists():
            return set()
        with closing(sqlite3.connect(self._file)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            return {number for (number,) in database.execute("SELECT number FROM entries")}


class Postgres:
    """A database with a server, which recovers when it starts again."""

    size = "512MiB"

    def __init__(self, at: Path) -> None:
        """Take the folder of its file system."""
        self._at, self._data = at, at / "data"
        (self._bin,) = Path("/usr/lib/postgresql").glob("*/bin")

    def _as(self, *words: str | Path) -> list[str]:
        home = ("env", f"PGHOST={self._at}", f"PATH={self._bin}:{os.environ['PATH']}")
        return ["runuser", "-u", "postgres", "--", *home, *map(str, words)]

    def _run(self, *words: str | Path) -> str:
        done = subprocess.run(
            self._as(*words), check=True, stdout=subprocess.PIPE, text=True, cwd="/"
        )
        return done.stdout

    @contextmanager
    def _started(self) -> Iterator[None]:
        log, options = self._data / "log.txt", f"-c listen_addresses= -k {self._at}"
        # After a kill it finds its old number, which another process may have by now.
        (self._data / "postmaster.pid").unlink(missing_ok=True)
        self._run("pg_ctl", "-D", self._data, "-l", log, "-w", "-o", options, "start")
        self._pid = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        try:
            yield
        finally:
            # What was killed has ended.
            with suppress(subprocess.CalledProcessError):
                self._run("pg_ctl", "-D", self._data, "-m", "fast", "stop")

    def _begin(self) -> None:
        shutil.chown(self._at, "postgres", "postgres")
        self._run("initdb", "-D", self._data)
        with self._started():
            table = "CREATE TABLE entries (number bigserial PRIMARY KEY, text text)"
            self._run("psql", "-qc", table, "postgres")

    @contextmanager
    def writing(self, folder: Path) -> Iterator[Running]:
        """A program that writes to it, the number of each entry on its output."""
        if not self._data.exists():
            self._begin()
        with self._started():
            words = self._as("psql", "-qAt", "postgres")
            with running(folder, *words, script=POSTGRES, cwd=Path("/")) as program:
                yield program

    def kill(self, program: Running) -> None:
        """Kill its server."""
        words = ["pgrep", "-P", str(self._pid)]
        children = subprocess.run(words, check=False, capture_output=True, text=True).stdout
        for victim in (self._pid, *map(int, children.split())):
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
        program.process.wait(60)

    def numbers(self) -> set[int]:
        """The numbers of its entries."""
        if not self._data.exists():
            return set()
        with self._started():
            words = ("psql", "-qAtc", "SELECT number FROM entries", "postgres")
            return set(map(int, self._run(*words).split()))


def committed(program: Running) -> set[int]:
    """The numbers that a program has printed."""
    lines = program.out.read_text().splitlines(keepends=True)
    return {int(line) for line in lines if line.endswith("\n")}


@pytest.mark.parametrize(
    ("kind", "kills"),
    [
        (Sqlite, 3),
        pytest.param(Sqlite, 50, marks=MANY),
        pytest.param(Postgres, 50, marks=MANY),
    ],
    ids=["sqlite-few", "sqlite-many", "postgres-many"],
)
def test_no_commit_is_lost(tmp_path: Path, kind: type[Sqlite | Postgres], kills: int) -> None:
    if kind is Postgres and not Path("/usr/lib/postgresql").exists():
        pytest.skip("needs Debian's postgresql")
    seed = random.randrange(2**32)
    print("seed", seed)
    choose = random.Random(seed)
    at, programs = tmp_path / "at", tmp_path / "programs"
    at.mkdir()
    programs.mkdir()
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    words: tuple[str, ...] = ("--create", kind.size)
    acknowledged: set[int] = set()
    for _ in range(kills):
        with served(tmp_path, *words, "--policy", "size-priority") as ((node,), server):
            if words[0] == "--create":
                make_file_system(node)
            with mounted(node, at):
                database = kind(at)
                assert acknowledged <= database.numbers()
                with database.writing(programs) as program:
                    few = choose.randrange(200)

                    def has_enough(program: Running = program, few: int = few) -> bool:
                        return len(committed(program)) > few

                    program.wait_for(has_enough)
                    server_dies = choose.random() < 0.5
                    if server_dies:
                        server.process.send_signal(signal.SIGKILL)
                    # What has lost its device cannot end in order.
                    database.kill(program)
                    acknowledged |= committed(program)
            if not server_dies:
                server.end(signal.SIGINT)
        assert penstock("doctor", "--clean", tmp_path).code in (0, 77)
        words = ("--keep-data",)
    with (
        served(tmp_path, *words, "--policy", "noop") as ((node,), server),
        mounted(node, at),
    ):
        assert acknowledged <= kind(at).numbers()
    assert len(acknowledged) > kills
