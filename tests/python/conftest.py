"""What the tests of the command have in common."""

import fcntl
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from command import JOB, ROOT, WRITES, penstock
from penstock import _native
from penstock.papers import PAPERS
from test_devices import reset_depth

# Equal on every machine, and nothing is left behind.
settings.register_profile("penstock", derandomize=True, database=None)
settings.load_profile("penstock")


# As in a terminal: what `nohup` or a shell's background starts inherits these ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A job of five seconds: people and a batch on a modelled disk."""
    path = tmp_path / "job.toml"
    path.write_text(JOB)
    return path


@pytest.fixture
def writes(tmp_path: Path) -> Path:
    """A job that writes all over its target for an hour."""
    path = tmp_path / "writes.toml"
    path.write_text(WRITES)
    return path


@pytest.fixture
def disk() -> Iterator[Path]:
    """A place for an owned file, on the file system of the repository: /tmp may be memory."""
    base = ROOT / "demo-data"
    base.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=base) as folder:
        yield Path(folder) / "disk.img"


@pytest.fixture(scope="session")
def made_once(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, Callable[[Path], None]], Path]:
    """Makes a file or folder of a name once for all processes of a test run."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def made(name: str, make: Callable[[Path], None]) -> Path:
        path = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                make(path)
        return path

    return made


@pytest.fixture
def leftovers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Lets one test at a time set queues of the kernel, or remove what killed runs have left."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with (folder / "leftovers.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture
def node(disk: Path, leftovers: None) -> Iterator[str]:
    """A loop device over a file of 32 MiB, where the kernel can trace."""
    if os.geteuid() != 0:
        pytest.skip("tracing needs root")
    try:
        os.close(_native.tracefs())
    except OSError as error:
        pytest.skip(f"tracefs cannot be mounted here: {error}")
    with disk.open("wb") as file:
        file.truncate(32 << 20)
    made = ("losetup", "--find", "--show", str(disk))
    name = subprocess.run(made, capture_output=True, text=True, check=True).stdout.strip()
    reset_depth(name)
    yield name
    subprocess.run(["losetup", "--detach", name], check=True)


@pytest.fixture(scope="session")
def paper_report(made_once: Callable[[str, Callable[[Path], None]], Path]) -> Callable[[str], Path]:
    """Makes the report of a paper in its usual settings, once."""

    def report(name: str) -> Path:
        def make(path: Path) -> None:
            models = ["--without-root"] if PAPERS[name].kernel else []
            ended = penstock("paper", name, *models, "--report", path)
            assert (ended.code, ended.err.splitlines()[-1]) == (0, f"wrote {path}")

        return made_once(f"{name}.html", make)

    return report
