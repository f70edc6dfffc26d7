"""What the disks of a model did: in the JSON, typed, in the table and in the report."""

from pathlib import Path

import penstock
from command import ROOT
from command import penstock as command
from penstock.comparison import Comparison
from penstock.results import rounds
from penstock.text import disks

JOB = """
duration = "5s"
[class.all]
[[agent]]
class = "all"
op = "read"
size = "64KiB"
pattern = "random"
arrivals = {{ kind = "closed", depth = 4 }}
[device]
{device}
"""

ARRAY = """model = "hdd"
drive = "ibm18es"
array = { level = "raid0", disks = 4, stripe = "16KiB" }"""

CACHED = """model = "hdd"
drive = "ibm18es"
cache = "drive"
"""

FLASH = 'model = "fixed"\nbase = "1ms"'


def compared(folder: Path, device: str, on: str | None = None) -> penstock.Comparison:
    """The job on a device."""
    job = folder / "job.toml"
    job.write_text(JOB.format(device=device))
    return penstock.compare(job, policies=["fcfs"], on=on, set={"duration": "1s"})


def test_the_disks_of_an_array_are_reported_typed(tmp_path: Path) -> None:
    stats = compared(tmp_path, ARRAY)["fcfs"].device_stats
    assert stats is not None
    assert len(stats.disks) == 4
    assert stats.service_ms.n == sum(disk.service_ms.n for disk in stats.disks)
    seek, turn, transfer = stats.seek_ms, stats.rotation_ms, stats.transfer_ms
    assert seek is not None
    assert turn is not None
    assert transfer is not None
    assert seek.percentiles[50.0] <= seek.percentiles[99.0] <= seek.max
    assert seek.mean + turn.mean + transfer.mean < stats.service_ms.mean
    assert 0 < stats.utilisation <= 1


def test_a_disk_with_its_cache_reports_its_accesses_and_its_requests(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(device=CACHED).replace("random", "sequential"))
    comparison = penstock.compare(job, policies=["fcfs"], set={"duration": "1s"})
    stats = comparison["fcfs"].device_stats
    assert stats is not None
    assert stats.seek_ms is not None
    assert 0 < stats.seek_ms.n < stats.service_ms.n
    [policy] = rounds.by_policy(comparison.raw)
    [row] = disks.rows(policy)
    assert row.cells[:2] == [str(stats.service_ms.n), str(stats.seek_ms.n)]


def test_the_table_has_one_line_of_a_device_with_an_arm(tmp_path: Path) -> None:
    for device, label in ((ARRAY, "4 disks"), (CACHED, "disk"), (FLASH, "")):
        job = tmp_path / "job.toml"
        job.write_text(JOB.format(device=device))
        ended = command("run", str(job), "--policy", "fcfs")
        assert ended.code == 0, ended.err
        lines = [line for line in ended.out.splitlines() if ": seek " in line]
        assert len(lines) == bool(label)
        assert all(line.startswith(f"  {label}: ") and " turn " in line for line in lines)
        assert all(" busy " in line for line in lines)


def test_the_report_has_a_row_for_all_disks_and_for_each(tmp_path: Path) -> None:
    comparison = compared(tmp_path, ARRAY)
    comparison.save_report(tmp_path / "array.html")
    page = (tmp_path / "array.html").read_text()
    [policy] = rounds.by_policy(comparison.raw)
    rows = list(disks.rows(policy))
    assert [row.disks for row in rows] == ["4 disks", "disk 0", "disk 1", "disk 2", "disk 3"]
    section = page.partition('<section id="disks">')[2].partition("</section>")[0]
    for row in rows:
        cells = "".join(f'<td class="n">{cell}</td>' for cell in row.cells)
        assert cells in section


def test_what_was_not_modelled_has_no_disks(tmp_path: Path) -> None:
    assert compared(tmp_path, FLASH, on="null")["fcfs"].device_stats is None


def test_a_measured_drive_is_replayed_one_request_at_a_time_and_compared() -> None:
    trace = ROOT / "tests/data/real-drives/ibm18es.csv.gz"
    words = ("replay", str(trace), "--format", "measured", "--on", "ibm18es")
    ended = command(*words)
    assert ended.code == 0, ended.err
    [run] = Comparison.from_json(command(*words, "--json").out).runs
    assert run.against_measured is not None
    assert f"{run.against_measured.measured_mean_ms:.4f}" == "5.2605"
    assert run["all"].requests == 10_000
    share = f"{100 * run.against_measured.rms_relative:.1f} % of its mean"
    assert share in ended.out
    assert "measured 5.26 ms" in ended.out
