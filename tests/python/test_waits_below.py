"""Classes that wait in the drive's queue, where no policy orders requests."""

from pathlib import Path

import pytest

from command import ROOT, penstock
from penstock.results.json_types import Class, Comparison
from penstock.text.verdict import verdict
from sample import MS, comparison, one_class, one_run

WORDS = "waits below the policy"


def in_the_drive(name: str, *, p99: int = 40 * MS, service: int = MS, **changes: object) -> Class:
    """A class with 1,000 requests a second, which are sent at once and share the device."""
    class_ = one_class(name, requests=600_000, p99=p99, open_loop=True)
    class_["wait_ns"] = {**class_["wait_ns"], "mean": 0.0}
    class_["service_ns"] = {**class_["service_ns"], "mean": float(service)}
    return {**class_, **changes}  # type: ignore[typeddict-item]


def one(class_: Class, policy: str = "noop") -> Comparison:
    """A comparison of one run of one class."""
    return comparison(one_run(policy, [class_]))


def said(result: Comparison) -> list[str]:
    """The lines of the verdict on that."""
    return [line for line in verdict(result) if WORDS in line]


def test_it_is_reported_with_the_time_in_the_queue_and_what_helps() -> None:
    (line,) = said(one(in_the_drive("tellers")))
    assert line == (
        "tellers waits below the policy under noop: 9.00 ms of its 10.0 ms are spent in the "
        "drive's queue, which no policy can reorder;"
    )
    runs = [one_run(policy, [in_the_drive("tellers")]) for policy in ("noop", "cfq")]
    text = " ".join(line.strip() for line in verdict(comparison(*runs)))
    assert "tellers waits below the policy under any policy: 9.00 ms of its 10.0 ms at" in text
    assert "a shorter queue would help (--set live.depth=1)" in text


@pytest.mark.parametrize(
    "class_",
    [
        pytest.param(one_class("a", requests=600_000, open_loop=True), id="waits in the policy"),
        pytest.param(in_the_drive("a", service=6 * MS), id="is served for most of the time"),
        pytest.param(in_the_drive("a", iops=10.0), id="the drive holds one request"),
        pytest.param(in_the_drive("a", p99=400), id="the drive holds none"),
        pytest.param(in_the_drive("a", bytes=600_000 << 20), id="may wait for its pieces"),
        pytest.param(in_the_drive("a", requests=5), id="too few"),
    ],
)
def test_it_is_not_reported_where_that_is_not_clearly_so(class_: Class) -> None:
    assert said(one(class_)) == []


def test_a_drive_that_works_on_many_at_once_does_not_keep_them_waiting() -> None:
    class_ = in_the_drive("a", service=MS // 10)
    class_["lat_ns"]["min"] = 9 * MS
    assert said(one(class_)) == []


def test_neither_a_page_cache_nor_a_scheduler_of_the_kernel_is_the_drive() -> None:
    result = one(in_the_drive("a"))
    result["job"]["text"] = '[[agent]]\ncache = "buffered"\n'
    assert said(result) == []
    assert said(one(in_the_drive("a"), "kernel:bfq")) == []


def test_a_model_says_it_until_its_queue_is_short() -> None:
    words = ("compare", ROOT / "examples/shared-disk.toml", "--on", "hdd-7200-ncq")
    more = ("--policies", "noop,size-priority", "--set", "duration=4s")
    assert f"\ntellers {WORDS} under any policy: " in penstock(*words, *more).out
    assert WORDS not in penstock(*words, *more, "--set", "live.depth=1").out


@pytest.mark.parametrize("online", ["writes", "reads"])
@pytest.mark.parametrize("device", ["ssd-sata", "hdd-7200"])
def test_the_first_comparison_of_six_policies_fits_on_a_screen(
    online: str, device: str, tmp_path: Path
) -> None:
    job = tmp_path / "job.toml"
    assert penstock("new", job, "--online", online, "--device", device).code == 0
    policies = "noop,deadline,cfq,bfq,size-priority,class-priority"
    words = ("--policies", policies, "--set", "duration=4s", "--set", "warmup=1s")
    lines = penstock("compare", job, *words).out.splitlines()
    assert len(lines) <= 40
    answers = ("best for ", "nothing to decide", "size-priority: ")
    assert any(line.startswith(answers) for line in lines[:5]), lines
