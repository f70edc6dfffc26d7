"""`make` as a person runs it, also where `make test` runs the tests."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from command import ROOT
from forking import Ended

OUTER = {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
"""Variables that a `make` hands down to the commands that it runs."""


def make(*words: str, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> Ended:
    """Run `make` to its end, with `env` added to the usual environment."""
    usual = {name: value for name, value in os.environ.items() if name not in OUTER}
    done = subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=cwd,
        env=usual | dict(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
