"""How long a piece is, unless the job says: as short as keeps the batch going, on any device."""

import pytest

import penstock
from command import ROOT

FIXED = ("16KiB", "64KiB", "256KiB", "512KiB", "off")


@pytest.mark.parametrize(
    ("device", "duration"),
    [
        ("hdd-7200", "1min"),
        ("hdd-7200-ncq", "1min"),
        ("ssd-sata", "1min"),
        # It serves as many requests in five seconds as a disk does in hours.
        ("ssd-nvme", "5s"),
        ("flash", "1min"),
    ],
)
def test_what_is_learned_is_as_good_as_the_best_that_is_fixed(device: str, duration: str) -> None:
    job = ROOT / "examples/bank-day.toml"

    def run(policy: str, **sets: str) -> tuple[float, float]:
        changes = {
            "duration": duration,
            **{f"{policy}.{key}": value for key, value in sets.items()},
        }
        ran = penstock.compare(job, policies=policy, on=device, set=changes, detail=False)[policy]
        return ran["tellers"].lat_ns.p99, ran["batch"].bw_bytes

    _, whole = run("noop")
    p99, batch = run("size-priority")
    assert batch >= 0.9 * whole
    fixed = [run("size-priority", split=split) for split in FIXED]
    assert p99 <= 1.25 * min(found for found, kept in fixed if kept >= 0.9 * whole)
