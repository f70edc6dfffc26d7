"""Arrays from a device file, through the command, as an independent simulator has them."""

import json
from pathlib import Path

import pytest

from command import ROOT, penstock

DATA = ROOT / "tests/data/disksim"

#: Disks, their queues and their facts, the stripe unit, and the trace of each case.
WHOLE = 'cache = "none"'
ARM = f'{WHOLE}\noverheads = "none"\nbus = "none"'
QUEUE = 'queue = { policy = "sstf", depth = 16 }'
CASES = {
    "raid0x4_16k_200": (4, ARM, "32KiB", "raid0x4_16k_200"),
    "fairio1_su16_mech": (8, f"{ARM}\n{QUEUE}", "8KiB", "fairio1"),
    "fairio1_su16_nocache": (8, f"{WHOLE}\n{QUEUE}", "8KiB", "fairio1"),
    "fairio1_su128_nocache": (8, f"{WHOLE}\n{QUEUE}", "64KiB", "fairio1"),
    "fairio2_su16_nocache": (8, f"{WHOLE}\n{QUEUE}", "8KiB", "fairio2"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_queue_before_each_disk_is_disksims_array(case: str, tmp_path: Path) -> None:
    disks, facts, stripe, trace = CASES[case]
    device = tmp_path / "array.toml"
    device.write_text(
        f'[device]\nmodel = "hdd"\ndrive = "ibm18es"\n{facts}\n[device.array]\n'
        f'level = "raid0"\ndisks = {disks}\nstripe = "{stripe}"\nscheduler = "each"\n'
    )
    words = ("--format", "disksim", "--policy", "fcfs", "--set", "stop=last-arrival", "--json")
    ended = penstock("replay", DATA / "traces" / f"{trace}.trace.gz", "--on", device, *words)
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)["runs"][0]["classes"][0]
    expected = json.loads((DATA / "results.json").read_text())[case]["response_ms"]
    assert found["requests"] == pytest.approx(expected["n"], rel=0.001)
    assert found["lat_ns"]["mean"] / 1e6 == pytest.approx(expected["mean"], rel=0.015)
    for name in ("50", "95"):
        ours = found["lat_ns"]["percentile"][f"{name}.000000"] / 1e6
        assert ours == pytest.approx(expected[f"p{name}"], rel=0.015)
