"""Pages for files of the repository that lie outside docs/ and that pages link to.

A link from docs/ to `../examples/bank-day.toml` works where the repository is read as files. In the
site it leads to a page that shows the file. The documents at the root become pages of their own.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from markdown_parts import page

ROOT = Path(__file__).parents[2]

DOCUMENTS = ("ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "README.md")
"""Files at the root that are pages of the site."""

LANGUAGES = {
    ".c": "c",
    ".go": "go",
    ".json": "json",
    ".py": "python",
    ".rs": "rust",
    ".toml": "toml",
}

LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)\s#]+)(#[^)\s]*)?(?=\))")
"""A link to a file, and the place in it."""


def place(path: str) -> str:
    """Where in the site the file `path` of the repository is shown; paths as in docs/."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"project/{path}" if path in DOCUMENTS else f"files/{path}.md"


def outside(text: str, path: str) -> Iterator[str]:
    """Files of the repository outside docs/ that the page at `path` links to."""
    for link in LINK.finditer(text):
        target = _target(path, link[1])
        if not target.startswith("docs/") and (ROOT / target).exists():
            yield target


def rewritten(text: str, path: str) -> str:
    """The text of `path` with its links as they are in the site."""
    here = os.path.dirname(place(path))

    def relative(link: re.Match[str]) -> str:
        target = _target(path, link[1])
        if (ROOT / target).is_dir() and target.startswith("docs"):
            target += "/README.md"
        return os.path.relpath(place(target), here or ".") + (link[2] or "")

    return LINK.sub(relative, text)


def shown(path: str) -> str:
    """The page that shows the file `path`."""
    file = ROOT / path
    if path in DOCUMENTS:
        return rewritten(file.read_text(), path)
    if file.is_dir():
        names = sorted(entry.name for entry in file.iterdir() if entry.is_file())
        links = "\n".join(f"- [`{name}`]({file.name}/{name}.md)" for name in names)
        return page(f"# {path}", "Files of this folder:", links)
    if file.suffix not in LANGUAGES:
        return page(f"# {path}", f"`{path}` in the repository, {file.stat().st_size:,} bytes.")
    return page(f"# {path}", f"````{LANGUAGES[file.suffix]}\n{file.read_text()}````")


def linked(text: str, path: str) -> Iterator[str]:
    """The files that the page of `path` links to in turn."""
    file = ROOT / path
    if path in DOCUMENTS:
        yield from outside(text, path)
    elif file.is_dir():
        yield from (f"{path}/{entry.name}" for entry in file.iterdir() if entry.is_file())


def _target(path: str, link: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(path), link))
