"""What papers published, and the jobs that model them: the files in `papers/NAME`.

`data` links to that folder of the repository; an installed package has the files themselves there.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def text(paper: str, file: str) -> str:
    """The text of a file of a paper."""
    return files("penstock.papers").joinpath("data", paper, file).read_text("utf-8")


@cache
def published(paper: str) -> dict[str, Any]:
    """Data that a paper published."""
    return tomllib.loads(text(paper, "published.toml"))


def source(paper: str) -> str:
    """Reference to the publication."""
    about = published(paper)
    return f"{about['authors']}: {about['title']}. {about['published']}"
