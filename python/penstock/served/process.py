"""Serves a modelled disk as a block device from a process of its own, for as long as a block."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from penstock.errors import RUN_FAILED, PenstockError

OURS = (sys.executable, "-m", "penstock")
"""Words of the command that runs a part of it in a process of its own."""


class ServedNode(NamedTuple):
    """A served device."""

    node: Path
    report: Path
    """The file with its report, as JSON."""


@contextmanager
def served(device: str, *options: str) -> Iterator[ServedNode]:
    """Yield a served device, which is taken down after the block, or when this process ends.

    # Errors
    What the command said that could not serve it, with its exit code.
    """
    with subprocess.Popen(
        [*OURS, "serve", device, *options, "--json", "--until-stdin-ends"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ctrl-C is for this process, which takes all down in order.
        start_new_session=True,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert server.stderr is not None
        try:
            line = server.stdout.readline()
            if not line:
                said, code = server.stderr.read().rstrip(), server.wait()
                raise PenstockError(said, exit_code=code or RUN_FAILED)
            yield ServedNode(**{key: Path(path) for key, path in json.loads(line).items()})
        finally:
            server.stdin.close()
            server.wait()
