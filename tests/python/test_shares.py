"""Shares of a device: what a job's result has of them, and what is said of them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from command import ROOT, penstock
from forking import Ended
from penstock import _native
from penstock.advise.shares import (
    BY_LAW,
    BY_TIME,
    PLAIN,
    LawOfReads,
    Shares,
    SharesRow,
    WeighedClass,
    law,
)
from penstock.advise.shares_runs import SCHEDULERS, STEADY, classes_of
from penstock.advise.shares_words import NOT_IN_FORCE, RAISED, REASONS, lines
from penstock.errors import PenstockError
from penstock.results.json_types import Class, Comparison
from penstock.text.verdict import verdict
from sample import comparison, one_class, one_run
from test_devices import losetup


def _pair(small: float, *, felt: float | None = None, limited: bool = False) -> list[Class]:
    """Two classes of weights 1 and 3, the first of which has so much of the device."""
    return [
        one_class("small", share=small, ideal_share=0.25, felt_error_pct=felt),
        one_class(
            "large",
            share=1 - small,
            weight=300,
            weight_is_given=True,
            ideal_share=0.75,
            felt_error_pct=None if felt is None else -felt,
            limited_by_demand=limited,
        ),
    ]


def _said(**runs: list[Class]) -> list[str]:
    ran: Comparison = comparison(*(one_run(policy, classes) for policy, classes in runs.items()))
    return [line for line in verdict(ran) if "share" in line or "weight" in line]


def test_policies_keep_weights_or_are_off() -> None:
    said = _said(fcfs=_pair(0.39), sptf=_pair(0.254))
    assert said == ["shares by weight: fcfs off by 14 points, sptf within 0.4"]


def test_what_classes_feel_is_told_too() -> None:
    said = _said(fcfs=_pair(0.39, felt=30.2), sptf=_pair(0.254, felt=1.5))
    assert said[1] == (
        "throughput relative to each class alone, by weight: fcfs off by 30 points, sptf within 1.5"
    )


def test_a_class_that_asked_for_less_is_named() -> None:
    said = _said(fcfs=_pair(0.30), sptf=_pair(0.30, limited=True))
    assert said[1:] == [
        "large asked for less than its share under sptf: it mostly has nothing waiting, so more "
        "outstanding would help"
    ]


def test_weights_that_nobody_gave_are_no_matter_whoever_uses_them() -> None:
    shares = {"one": 0.2, "two": 0.8}
    classes = [one_class(name, share=part, ideal_share=0.5) for name, part in shares.items()]
    assert not _said(fcfs=classes, bfq=classes)


def test_the_page_names_the_policies_that_use_weights() -> None:
    page = (ROOT / "docs/how-to/shares.md").read_text().partition("```")[0]
    for policy in json.loads(_native.policies()):
        assert (f"`{policy['name']}`" in page) == policy["weights"], policy["name"]


def _job(duration: str, large: int, agents: Sequence[tuple[str, int]], device: str = "") -> str:
    """A job of two classes of weights 100 and `large`, which read at random.

    `agents` has the length of a request, and how many are outstanding, of each class.
    """
    names = ("small", "large")
    reads = [
        f'''
[[agent]]
class = "{name}"
op = "read"
size = "{size}"
pattern = "random"
arrivals = {{ kind = "closed", depth = {depth} }}
'''
        for name, (size, depth) in zip(names, agents, strict=True)
    ]
    head = [f'duration = "{duration}"\n', f'device = "{device}"\n' if device else ""]
    classes = f"\n[class.small]\n\n[class.large]\nweight = {large}\n"
    return "".join([*head, classes, *reads])


JOB = _job("20s", 300, [("16KiB", 8), ("16KiB", 2)], device="hdd-7200")

SIZES = _job("1s", 200, [("4KiB", 32), ("64KiB", 32)])
"""Requests of unlike lengths, which a drive of many dies serves at once."""


def test_shares_of_a_run(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    ended = penstock("compare", job, "--policies", "fcfs,alone:small,alone:large", "--json")
    assert ended.code == 0, ended.err
    shared, small, large = (run["classes"] for run in json.loads(ended.out)["runs"])
    assert [one["weight"] for one in shared] == [100, 300]
    assert [one["ideal_share"] for one in shared] == [0.25, 0.75]
    for one, alone in zip(shared, [*small, *large], strict=True):
        error = 100 * (one["share"] - one["ideal_share"])
        assert one["share_error_pct"] == pytest.approx(error)
        assert one["of_alone"] == pytest.approx(one["bw_bytes"] / alone["bw_bytes"])
        assert alone["ideal_share"] == 1
        assert alone["of_alone"] is None
    # First come, first served: shares are those of the requests outstanding, 8 and 2.
    assert shared[0]["share"] == pytest.approx(0.8, abs=0.02)
    assert sum(one["felt_error_pct"] for one in shared) == pytest.approx(0)


def test_weights_are_a_column_of_the_table_and_a_picture(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    words = ("--policies", "fcfs,noop", "--plots", tmp_path / "plots")
    ended = penstock("compare", job, *words, "--detail", env={"COLUMNS": "200"})
    assert ended.code == 0, ended.err
    assert "by weight is the share that a class's weight promises" in ended.out
    assert "25.0 %" in ended.out
    assert "75.0 %" in ended.out
    assert (tmp_path / "plots" / "share-large.png").exists()
    job.write_text(JOB.replace("weight = 300\n", 'ioprio = "be:0"\n'))
    plain = penstock("compare", job, "--policies", "bfq,noop", "--set", "duration=1s")
    assert "by weight" not in plain.out
    equal = penstock("compare", job, "--policies", "noop", "--set", "class.large.weight=100")
    assert "by weight" in equal.out


@pytest.mark.parametrize("device", ["ssd-sata", "ssd-nvme"])
def test_charged_by_a_law_classes_have_their_part_of_what_each_has_alone(
    tmp_path: Path, device: str
) -> None:
    job = tmp_path / "job.toml"
    job.write_text(SIZES)
    felt = {}
    for charge in ("law", "time"):
        policies = "fairio,alone:small,alone:large"
        words = ("--on", device, "--set", f"policy.fairio.charge={charge}", "--json")
        ended = penstock("compare", job, "--policies", policies, *words)
        assert ended.code == 0, ended.err
        run, *_ = json.loads(ended.out)["runs"]
        assert (run["params"]["law"] == "off") == (charge == "time"), "the costs were probed"
        felt[charge] = max(abs(one["felt_error_pct"]) for one in run["classes"])
    assert felt["law"] <= 2
    assert felt["time"] > felt["law"] + 2


def test_costs_of_a_real_target_are_stated(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(SIZES)
    target = ("--on", "disk.img", "--create", "64MiB", "--policies", "fairio")
    ended = penstock("compare", job, *target, "--set", "policy.fairio.charge=law", cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.startswith(
        'error: policy.fairio.charge is "law", and what commands cost on disk.img is not known\n'
        "hint: "
    )
    assert 'as in policy.fairio.law = "disk.toml"' in ended.err
    assert not (tmp_path / "disk.img").exists()


LAW = ("--policies", "fairio", "--set", "duration=100ms", "--set", "policy.fairio.charge=law")
"""A short run that charges by a law."""


def costs(ended: Ended) -> Any:  # noqa: ANN401 - JSON
    """The law that a run has charged by."""
    assert ended.code == 0, ended.err
    return json.loads(ended.out)["runs"][0]["params"]["law"]


def test_costs_of_a_real_target_are_those_of_a_device_file(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    device = tmp_path / "jobs" / "disk.toml"
    device.write_text('[device]\nmodel = "fixed"\nbase = "50us"\nper_mb = "1ms"\n')
    law = '[policy.fairio]\ncharge = "law"\nlaw = "disk.toml"\n'
    job = tmp_path / "jobs" / "job.toml"
    job.write_text(SIZES + law)
    target = ("--on", "disk.img", "--create", "64MiB", "--json")
    # The file of a job lies next to the job, that of an argument where the command runs.
    found = costs(penstock("compare", job, *LAW, *target, cwd=tmp_path))
    assert float(found["read"]["base"].removesuffix("us")) == pytest.approx(50, rel=0.01)
    assert found["read"]["per_mb"] == "1ms"
    argument = ("--set", "policy.fairio.law=jobs/disk.toml")
    job.write_text(SIZES)
    assert costs(penstock("compare", job, *LAW, *argument, *target, cwd=tmp_path)) == found
    assert costs(penstock("compare", job, *LAW, "--on", device, "--json")) == found


def test_costs_of_an_emulated_device_are_those_of_its_model(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(SIZES)
    on = [
        costs(penstock("compare", job, *LAW, "--on", device, "--json"))["read"]["base"]
        for device in ("ssd-nvme", "emulated:ssd-nvme", "emulated:ssd-nvme@0.5")
    ]
    modelled, emulated, slower = (float(base.removesuffix("us")) for base in on)
    assert emulated == modelled
    assert slower == pytest.approx(2 * modelled, rel=1e-3)


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("ssd-nvm", "unknown device `ssd-nvm`"),
        ("gone.toml", "there is no such file"),
        ("job.toml", "unknown key `duration` in the device file"),
    ],
)
def test_a_law_of_no_device_is_refused(tmp_path: Path, device: str, said: str) -> None:
    job = tmp_path / "job.toml"
    job.write_text(SIZES)
    words = ("--set", f"policy.fairio.law={device}", "--on", "hdd-7200")
    ended = penstock("compare", job, *LAW, *words, cwd=tmp_path)
    assert ended.code == 2
    assert said in ended.err


def test_a_cycle_that_holds_no_request_is_told(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    said = {
        cycle: penstock("run", job, "--policy", "fairio", "--set", f"fairio.cycle={cycle}").out
        for cycle in ("20ms", "1s")
    }
    assert (
        "fairio: the cycle of 20.0 ms is too short: small's part of it is 5.00 ms" in said["20ms"]
    )
    assert "too short" not in said["1s"]


def test_one_class_has_nothing_to_share(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    begin, _, rest = JOB.partition("[class.large]")
    job.write_text(begin + rest.partition("[[agent]]")[1] + rest.split("[[agent]]")[1])
    ended = penstock("run", job, "--policy", "fairio")
    assert ended.code == 0, ended.err
    assert "nothing to share: fairio divides a device among classes" in ended.out


def test_advice_on_shares_has_the_costs_of_commands() -> None:
    words = ("advise", "shares", "--on", "ssd-sata", "--weights", "1,2", "--rounds", "1")
    ended = penstock(*words, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    rows = {row["policy"]: row for row in found["rows"]}
    assert list(rows) == ["fcfs", "fairio by time", "fairio by law"]
    assert max(map(abs, rows["fairio by law"]["felt_error_pct"])) <= 2
    assert max(map(abs, rows["fairio by time"]["felt_error_pct"])) > 5
    # 98,000 reads of 4 KiB a second.
    read = found["law"]["read"]
    assert read["base_ns"] + 4096e-6 * read["per_mb_ns"] == pytest.approx(1e9 / 98_000, rel=0.05)


def _row(policy: str, felt: Sequence[float], kernel: Sequence[int] | None = None) -> SharesRow:
    """A row of two classes of weight 1 that have these parts of what each has alone."""
    off = [100 * (part / sum(felt) - 0.5) for part in felt]
    flat = [0.0, 0.0]
    return SharesRow(policy, [1, 1], kernel, None, None, felt, off, flat, flat, 1)


def _named(*rows: SharesRow) -> list[str]:
    """What is said of policies that do not keep the weights."""
    kept = [_row(name, [0.5, 0.5]) for name in (PLAIN, BY_TIME, BY_LAW)]
    shares = Shares("emulated", "block:hdd-7200", [*kept, *rows], LawOfReads(1.0, 1.0))
    return [line for line in lines(shares) if " gives " in line]


def test_a_scheduler_that_does_not_keep_weights_is_named_with_the_reason() -> None:
    assert _named(_row("kernel:mq-deadline", [0.68, 0.32])) == [
        f"kernel:mq-deadline gives 68 : 32 for 1 : 1: {REASONS['kernel:mq-deadline']}"
    ]
    assert not _named(_row("kernel:none", [0.52, 0.48])), "within the limit"
    bfq, steady = "kernel:bfq", f"kernel:bfq {STEADY}"
    (line,) = _named(_row(bfq, [0.6, 0.4], [1, 1]), _row(steady, [0.5, 0.5], [1, 1]))
    assert line == f"kernel:bfq gives 60 : 40 for 1 : 1: {RAISED}"
    both = _named(_row(bfq, [0.6, 0.4], [1, 1]), _row(steady, [0.7, 0.3], [1, 1]))
    assert [line.partition(": 1: ")[2] for line in both] == [REASONS[bfq]] * 2
    (line,) = _named(_row(bfq, [0.6, 0.4]))
    assert line.endswith(NOT_IN_FORCE)


def test_every_scheduler_that_is_tried_has_a_reason() -> None:
    tried = {f"kernel:{name}" for name in SCHEDULERS}
    assert set(REASONS) == {PLAIN, BY_TIME, BY_LAW} | tried


@pytest.mark.usefixtures("leftovers")
def test_advice_on_shares_has_the_schedulers_of_the_kernel_on_a_block_device(
    tmp_path: Path, disk: Path
) -> None:
    losetup("--list")
    job = tmp_path / "job.toml"
    job.write_text(JOB)
    words = ("advise", "shares", job, "--on", f"loop:{disk}", "--create", "16MiB")
    ended = penstock(*words, "--rounds", "1", "--json")
    assert ended.code == 0, ended.err
    answer = json.loads(ended.out)
    rows = {row["policy"]: row for row in answer["rows"]}
    assert all(row["weights"] == [100, 300] for row in rows.values())
    ours = [PLAIN, BY_TIME, BY_LAW]
    assert list(rows)[:3] == ours
    kernels = list(rows)[3:]
    assert "kernel:none" in kernels
    assert set(kernels) <= {*(f"kernel:{name}" for name in SCHEDULERS), f"kernel:bfq {STEADY}"}
    for policy, row in rows.items():
        assert (row["share"] is None) == (policy in kernels)
        assert sum(row["felt_error_pct"]) == pytest.approx(0, abs=1e-6)
    checks = json.loads(penstock("doctor", "--json").out)["checks"]
    (weights,) = (check for check in checks if check["name"] == "cgroup weights")
    for policy in (name for name in kernels if name.startswith("kernel:bfq")):
        in_force = [100, 300] if weights["state"] == "ok" else None
        assert rows[policy]["kernel_weights"] == in_force
    assert rows["kernel:none"]["kernel_weights"] is None
    did_not = "the weights of classes did not apply: kernel:none does not divide by weights"
    assert did_not in answer["remarks"]


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ((), "neither a job nor --weights"),
        (("job.toml", "--weights", "1,2"), "a job and --weights"),
    ],
)
def test_shares_are_of_a_job_or_of_weights(words: Sequence[str], given: str) -> None:
    ended = penstock("advise", "shares", *words, "--on", "ssd-sata")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [
        f"error: found {given}; expected one of the two",
        "hint: as --weights 1,2, or job.toml",
    ]


def test_the_weights_of_a_job_are_those_of_its_classes(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB.replace("weight = 300", 'weight = 300\nioprio = "be:0"'))
    classes = classes_of(str(job))
    assert classes == [WeighedClass("small", 100), WeighedClass("large", 300, "be:0")]
    single = tmp_path / "single.toml"
    single.write_text(
        JOB.replace("[class.large]\nweight = 300\n", "").replace('"large"', '"small"')
    )
    ended = penstock("advise", "shares", single, "--on", "ssd-sata")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: weights: found 1, expected two or more\n")


@pytest.mark.parametrize(
    ("weights", "said", "hint"),
    [
        ("1", "weights: found 1, expected two or more", "one for each class, as 1,2"),
        ("1,x", "--weights: found '1,x'; expected whole numbers", "as --weights 1,2,5"),
        ("0,1", "--weights: found 0; expected 1 or more", "as --weights 1,2"),
    ],
)
def test_weights_that_are_none(weights: str, said: str, hint: str) -> None:
    ended = penstock("advise", "shares", "--on", "ssd-sata", "--weights", weights)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.splitlines() == [f"error: {said}", f"hint: {hint}"]


def test_the_law_goes_through_what_reads_cost_alone() -> None:
    requests = {"short": 100_000, "long": 20_000, "other": 100_000}
    alone = [one_class(name, requests=many, duration_s=1.0) for name, many in requests.items()]
    sizes = [10_000, 50_000, 10_000]
    found = law(alone, sizes)
    # 10 µs and 50 µs: a nanosecond a byte, and nothing else.
    assert found.costs() == {"base": "0ns", "per_mb": "1000000ns"}
    assert found.text() == '{ read = { base = "0ns", per_mb = "1000000ns" } }'
    alone[1] = one_class("long", requests=0)
    with pytest.raises(PenstockError, match="error: class long finished no read while"):
        law(alone, sizes)
