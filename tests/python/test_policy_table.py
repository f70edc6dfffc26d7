"""The tables of recorded traces under policies are what comes out."""

import pytest

import policy_table
from policy_table import DEVICES, PAGE, TRACES, Recorded

#: The longest trace is played on one device only: `make accept` plays it on all.
PLAYED = [(trace, device) for trace in TRACES for device in DEVICES if trace != TRACES[0]] + [
    (TRACES[0], "ssd-sata")
]


@pytest.mark.parametrize(("trace", "device"), PLAYED)
def test_a_row_is_what_comes_out(trace: Recorded, device: str) -> None:
    heading, *_ = policy_table.table(trace, devices=())
    section = PAGE.read_text().split(f"{heading}\n")[1].split("\n### ")[0]
    assert policy_table.row(trace, device) in section.splitlines()
