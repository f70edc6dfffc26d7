"""The jobs of `examples/linux`, and what the comment of each says."""

import re
import tomllib
from typing import NamedTuple

from command import ROOT

FOLDER = ROOT / "examples/linux"

ROW = re.compile(r"^   (\S+)  +(\d.*)$", re.MULTILINE)
"""A policy, and its figures."""


class Example(NamedTuple):
    """A job, and what the comment at its beginning has: paragraphs, a command and a table."""

    path: str
    """From the repository's root."""
    lines: int
    about: str
    """The first paragraph, as one line."""
    command: str
    """Its words without `penstock`."""
    policies: list[str]
    rows: dict[str, str]
    device: str | dict[str, object]
    """The name of its device, or its keys."""


def read(name: str) -> Example:
    """The job of this name."""
    file = FOLDER / f"{name}.toml"
    text = file.read_text()
    path = file.relative_to(ROOT).as_posix()
    comment = "\n".join(re.findall(r"#(.*)", text.partition("\n\n")[0]))
    command = re.search(rf"penstock (compare {re.escape(path)} --policies (\S+).*)", comment)
    assert command is not None, f"{path} does not say which command shows its table"
    return Example(
        path=path,
        lines=len(text.splitlines()),
        about=" ".join(comment.partition("\n\n")[0].split()),
        command=command[1],
        policies=command[2].split(","),
        rows=dict(ROW.findall(comment)),
        device=tomllib.loads(text)["device"],
    )
