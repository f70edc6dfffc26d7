"""The jobs of `examples/page-cache` show what a page cache is for, and their page has them all."""

import pytest

import penstock
from command import ROOT

FOLDER = ROOT / "examples/page-cache"

WORSE = {
    "sequential-read": {"page_cache.read_ahead": "0B"},
    "random-read": {"page_cache.memory": "16MiB"},
    "sequential-write": {"agent.0.cache": "direct"},
    "random-write": {"page_cache.memory": "16MiB"},
    "mixed": {"page_cache.memory": "16MiB"},
}
"""What takes from each job the help of the cache that its comment names."""


def megabytes(name: str, changes: dict[str, str]) -> float:
    job = FOLDER / f"{name}.toml"
    result = penstock.compare(job, policies="mq-deadline", set=changes, detail=False)
    (run,) = result.runs
    (class_,) = run.classes
    return class_.bw_bytes / 1e6


def test_each_job_has_its_row_and_its_link() -> None:
    names = sorted(path.stem for path in FOLDER.iterdir())
    assert names == sorted(WORSE)
    page = (ROOT / "docs/devices/page-cache.md").read_text()
    for name in names:
        assert f"](../../examples/page-cache/{name}.toml)" in page
        assert f"\n| `{name}` | " in page


@pytest.mark.parametrize("name", WORSE)
def test_the_cache_helps_as_the_comment_says(name: str) -> None:
    assert megabytes(name, {}) > 1.2 * megabytes(name, WORSE[name])
