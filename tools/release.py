"""Make a release: check that everything names it, then lint, test, build, and tag at the end.

Usage: python tools/release.py VERSION [--dry]

With `--dry` the tree is checked, and what would run is printed. Exit code 1: the tree is not ready,
and each reason is printed.
"""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

VERSION = re.compile(r"\d+\.\d+\.\d+")

CHANGELOG_DATE = r"\d{4}-\d{2}-\d{2}"


def main() -> int:
    """Release the version that is named, from the folder of the repository."""
    version, *options = sys.argv[1:] or [""]
    if not VERSION.fullmatch(version):
        print(f"error: VERSION is {version!r}, not like 1.2.3", file=sys.stderr)
        return 1
    reasons = [*unready(version, Path()), *untidy(version)]
    for reason in reasons:
        print(f"error: {reason}", file=sys.stderr)
    if reasons:
        return 1
    for command in commands(version):
        print("$", *command, flush=True)
        if "--dry" not in options and subprocess.run(command, check=False).returncode != 0:
            print(f"error: `{' '.join(command)}` failed: no tag was made", file=sys.stderr)
            return 1
    return 0


def unready(version: str, root: Path) -> Iterator[str]:
    """Says which files do not name this version."""
    workspace = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    yield from differs("Cargo.toml", workspace["package"]["version"], version)
    for member in sorted(path for pattern in workspace["members"] for path in root.glob(pattern)):
        manifest = member / "Cargo.toml"
        package = tomllib.loads(manifest.read_text())["package"]
        if package["version"] != {"workspace": True}:
            yield f"{manifest.relative_to(root)} has a version of its own"
    for package in tomllib.loads((root / "Cargo.lock").read_text())["package"]:
        if package["name"].startswith("penstock-"):
            yield from differs(f"Cargo.lock ({package['name']})", package["version"], version)
    cited = re.search(r"^version: (.+)$", (root / "CITATION.cff").read_text(), re.MULTILINE)
    yield from differs("CITATION.cff", cited[1] if cited else "no version", version)
    section = rf"^## \[{re.escape(version)}\] - {CHANGELOG_DATE}$"
    if not re.search(section, (root / "CHANGELOG.md").read_text(), re.MULTILINE):
        yield f"CHANGELOG.md has no section `## [{version}] - DATE`"


def differs(place: str, text: str, version: str) -> Iterator[str]:
    """Says so if a place names another version."""
    if text != version:
        yield f"{place} has {text}, not {version}"


def untidy(version: str) -> Iterator[str]:
    """Says what is not committed, and whether the version was released before."""
    for line in output("git", "status", "--porcelain").splitlines():
        yield f"not committed: {line}"
    if output("git", "tag", "--list", f"v{version}"):
        yield f"the tag v{version} exists"


def commands(version: str) -> Iterator[list[str]]:
    """Yields what a release runs; the tag comes last, when all else has passed."""
    yield ["make", "lint"]
    yield ["make", "test"]
    yield ["make", "wheel", "sdist"]
    yield ["git", "diff", "--exit-code", "HEAD"]
    yield ["git", "tag", "--annotate", f"v{version}", "--message", f"Penstock {version}"]


def output(*command: str) -> str:
    """Returns what a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
