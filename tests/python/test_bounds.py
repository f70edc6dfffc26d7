"""Jobs at the bounds of what a file may say run in the memory that the bounds are made for.

Each runs in a process of its own that may map so much and no more, as under `ulimit -v`: where a
bound is too high, the process aborts.
"""

import subprocess
import sys
from pathlib import Path

import pytest

MOST = 3 << 30
"""Bytes that the process may map; its libraries map one or two of them."""

COMMAND = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))
from penstock.command import main
sys.argv = ["penstock", *{words!r}]
main()
"""

HEAD = """
duration = "1ms"
stop = "last-arrival"
{head}

[class.a]

[[agent]]
class = "a"
op = "write"
size = "{size}"
cache = "{cache}"
pattern = "random"
arrivals = {{ kind = "closed", depth = {depth} }}
"""


def job(head: str, *, size: str = "4KiB", depth: int = 1, cache: str = "direct") -> str:
    return HEAD.format(head=head, size=size, depth=depth, cache=cache)


def classes(count: int) -> str:
    agent = job("").partition("[[agent]]")[2]
    names = [f"c{number}" for number in range(count - 1)]
    text = job('device = "flash"').replace('"1ms"', '"100ms"')
    text += "".join(f"\n[class.{name}]" for name in names)
    agents = [agent.replace('class = "a"', f'class = "{name}"') for name in names]
    return text + "".join(f"\n[[agent]]{agent}" for agent in agents)


FLASH = """
device = { model = "ssd", capacity = "1TB", read_time = "60us", program_time = "700us",
link_rate = "100GB/s", dies = 16, queue_depth = 65536, page = "512B", write_buffer = "8GiB" }
""".replace("\n", " ")

MIRRORS = """
device = { model = "fixed", base = "1ms", depth = 8192, array = { level = "raid1", disks = 256 } }
"""

STRIPES = """
device = { model = "fixed", base = "1ms", depth = 8192,
array = { level = "raid0", disks = 256, stripe = "512B", max_extent = "512B" } }
""".replace("\n", " ")

JOBS = {
    "classes": classes(256),
    "outstanding": job("max_outstanding = 4194304\ndevice = 'flash'", depth=4_194_304),
    "page cache": job(
        "page_cache = { memory = '64GiB', per_mb = '1us', dirty_ratio = '100%',"
        " dirty_background_ratio = '99%' }\n"
        "device = { model = 'fixed', base = '1us', capacity = '64GiB' }",
        size="1GiB",
        cache="buffered",
    )
    .replace('"1ms"', '"75ms"')
    .replace("random", "sequential"),
    "flash": job(FLASH, depth=65536),
    "mirrors": job(MIRRORS, depth=65536),
    "stripes": job(STRIPES, depth=65536),
    "long requests in stripes": job(STRIPES, size="1GiB", depth=4),
}


@pytest.mark.parametrize("text", JOBS.values(), ids=JOBS)
def test_a_job_at_the_bounds_runs_in_the_memory_that_they_are_made_for(
    text: str, tmp_path: Path
) -> None:
    (tmp_path / "job.toml").write_text(text)
    words = ["run", "job.toml", "--policy", "fcfs", "--json"]
    if text == JOBS["classes"]:
        words += ["--xlsx", "figures.xlsx"]
    program = COMMAND.format(most=MOST, words=words)
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
