"""The drive with the facts of another simulator: what chips of several dies cost."""

from typing import Any

import pytest

import penstock
from command import ROOT

DEVICE = ROOT / "examples/devices/mqsim.toml"

JOB = """
duration = "200ms"
warmup = "20ms"

[class.readers]

[[agent]]
class = "readers"
op = "read"
size = "8KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 1 }
"""


@pytest.mark.parametrize(
    ("dies_per_chip", "rates"),
    [(1, {1: 9_840, 32: 217_000, 256: 316_000}), (2, {1: 9_840, 32: 156_000, 256: 222_000})],
)
def test_the_rates_are_those_of_its_page(dies_per_chip: int, rates: dict[int, float]) -> None:
    job = penstock.Job.from_toml(JOB)
    for depth, rate in rates.items():
        keys: dict[str, Any] = {
            "device.dies_per_chip": dies_per_chip,
            "agent.0.depth": depth,
        }
        found = penstock.compare(job, policies="noop", on=DEVICE, set=keys, detail=False)
        assert found["noop"]["readers"].iops == pytest.approx(rate, rel=0.01)
