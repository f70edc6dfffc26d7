"""How the schedule was held, in words."""

from penstock.results.json_types import Run
from penstock.text.schedule import sentence
from penstock.text.verdict import verdict
from sample import comparison, one_class, one_run, one_schedule

LATE = "the generator was late"
FULL = "the device's queue was full (live.depth) and held the generator up"
BUSY = "the machine was busy elsewhere: no processor for 60.0 s"


def said(run: Run, *, measured: bool = True) -> str | None:
    return sentence(comparison(run, measured=measured), run)


def test_a_schedule_that_was_held() -> None:
    run = one_run("noop", [], schedule=one_schedule(p99=56_000, within_1ms=0.99989))
    assert said(run) == (
        "the schedule was held: 99.98 % of arrivals within 1 ms (p99 56.0 µs, worst 112 µs)"
    )
    assert verdict(comparison(run, measured=True)) == []


def test_one_that_was_not_names_the_classes_and_likely_why() -> None:
    held, late = (one_schedule(p99=8_000_000, within_1ms=share) for share in (0.995, 0.9))
    classes = [one_class("tellers", schedule=held), one_class("batch", schedule=late)]
    words = "the schedule was not held: 90 % of arrivals within 1 ms (p99 8.00 ms, worst 16.0 ms)"
    run = one_run("noop", classes, schedule=late)
    assert said(run) == f"{words}, of batch 90 %; likely because {LATE}"
    assert verdict(comparison(run, measured=True)) == [f"under noop {said(run)}"]
    late["late_while_full"] = 501
    assert said(run) == f"{words}, of batch 90 %; likely because {FULL}"
    late["processor_wait_s"] = 60.0
    assert said(run) == f"{words}, of batch 90 %; likely because {BUSY}"
    words = "the schedule was held but for batch: 99.5 % of arrivals within 1 ms"
    line = said(one_run("noop", classes, schedule=held))
    assert line is not None
    assert line.startswith(words)


def test_the_only_class_is_not_named() -> None:
    late = one_schedule(p99=8_000_000, within_1ms=0.9)
    words = "the schedule was not held: 90 % of arrivals within 1 ms (p99 8.00 ms, worst 16.0 ms)"
    run = one_run("noop", [one_class("all", schedule=late)], schedule=late)
    assert said(run) == f"{words}; likely because {LATE}"


def test_where_there_is_none() -> None:
    run = one_run("noop", [])
    assert said(run, measured=False) is None
    assert said(run) == "no schedule to hold: requests came as fast as they were served"


def test_what_was_not_played() -> None:
    held = one_schedule(p99=1_000, made=0)
    words = "the schedule was held: nothing was due; interrupted after 0 of 10,000 arrivals"
    assert said(one_run("noop", [], interrupted=True, schedule=held)) == words
