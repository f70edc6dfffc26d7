"""The page of the schedulers of Linux is what comes out of its runs."""

import json
import re

import linux_examples
import schedulers
from command import penstock

MARKS = re.compile(rb'<g class="mark-\w+ role-mark concat_[^>]*[^/>]>(.*?)</g>', re.DOTALL)
"""What is drawn in a panel: its place depends on fonts, and names on what was drawn before."""


def marks(svg: bytes) -> list[bytes]:
    """The grounds, lines and marks of a picture, those of each in one."""
    return MARKS.findall(svg)


def test_the_page_and_its_pictures_are_current() -> None:
    pictures = list(schedulers.drawn())
    assert schedulers.PAGE.read_text() == schedulers.page(pictures), "run `make schedulers`"
    there = {path.name: marks(path.read_bytes()) for path in schedulers.FOLDER.iterdir()}
    assert all(there.values())
    assert there == {one.file: marks(one.svg) for one in pictures}, "run `make schedulers`"


def test_it_has_every_scheduler_of_linux_and_every_job() -> None:
    entries = json.loads(penstock("list", "policies", "--json").out)
    of_linux = {entry["name"] for entry in entries if entry["linux"]}
    assert set(schedulers.SCHEDULERS) == of_linux
    assert set(schedulers.JOBS) == {path.stem for path in linux_examples.FOLDER.iterdir()}


KERNEL = {
    "noop": {"nomerges": 0},
    "elevator": {"read_latency": 8192, "write_latency": 16384},
    "deadline": {
        "read_expire": "500ms",
        "write_expire": "5s",
        "writes_starved": 2,
        "fifo_batch": 16,
        "front_merges": True,
    },
    "anticipatory": {
        "read_expire": "125ms",
        "write_expire": "250ms",
        "read_batch_expire": "500ms",
        "write_batch_expire": "125ms",
        "antic_expire": "6ms",
    },
    "cfq": {
        "quantum": 4,
        "slice_sync": "100ms",
        "slice_async": "40ms",
        "slice_async_rq": 2,
        "slice_idle": "8ms",
        "back_seek_max": "16MiB",
        "back_seek_penalty": 2,
        "fifo_expire_sync": "125ms",
        "fifo_expire_async": "250ms",
    },
    "mq-deadline": {
        "read_expire": "500ms",
        "write_expire": "5s",
        "writes_starved": 2,
        "fifo_batch": 16,
        "front_merges": True,
        "prio_aging_expire": "10s",
        "async_depth": 0,
    },
    "kyber": {"read_lat_nsec": "2ms", "write_lat_nsec": "10ms"},
    "bfq": {
        "slice_idle": "8ms",
        "timeout_sync": "125ms",
        "max_budget": "auto",
        "low_latency": True,
        "strict_guarantees": False,
        "back_seek_max": "16MiB",
        "back_seek_penalty": 2,
        "fifo_expire_sync": "125ms",
        "fifo_expire_async": "250ms",
    },
}
"""The parameters of each as the kernel's documentation has them, with their defaults."""

OURS = {"deadline": {"wrap"}, "cfq": {"mode"}, "mq-deadline": {"prio_recheck"}}
"""Parameters that the kernel does not have."""


def test_the_parameters_are_the_kernels() -> None:
    for entry in json.loads(penstock("list", "policies", "--json").out):
        if entry["linux"]:
            found = {param["name"]: param["default"] for param in entry["params"]}
            assert found.pop("max_sectors") == "1280KiB"
            ours = OURS.get(entry["name"], set())
            assert set(found) >= ours
            expected = KERNEL[entry["name"]]
            assert {name: found[name] for name in found.keys() - ours} == expected
