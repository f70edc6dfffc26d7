"""Goals that a disk's flushes rule out."""

import dataclasses

from guard_samples import MS, decided, measured, requests
from penstock.advise.goal import Goal
from penstock.guard import words
from penstock.guard.flushes import Flushing, FlushTimes
from penstock.metering import MeterWindow

GOALS = ["online.p50 <= 2ms", "online.p99 <= 2ms", "online.p99 <= 20ms", "online.iops >= 100"]


def window(flushes: int, flush_ms: int) -> MeterWindow:
    """A window of a second in which two classes flush, the online programs half as long."""
    none = measured({"online": requests(0), "others": requests(0)})
    times = {"online": flush_ms // 2, "others": flush_ms}
    classes = {
        name: dataclasses.replace(none.classes[name], flush=requests(flushes, p99=4 * ms * MS))
        for name, ms in times.items()
    }
    return dataclasses.replace(none, classes=classes)


def taken(*windows: MeterWindow) -> Flushing | None:
    """What the flushes of windows rule out."""
    times = FlushTimes([Goal.parse(goal) for goal in GOALS])
    return [times.take(one) for one in windows][-1]


def test_without_a_flush_nothing_is_known() -> None:
    assert taken(window(0, 8)) is None


def test_goals_below_a_flush_are_ruled_out_where_too_much_of_the_time_goes_to_flushes() -> None:
    # A tenth of the time: enough for a 99th percentile, too little for a median.
    assert taken(window(10, 8)) == Flushing(8 * MS, 0.12, ["online.p99 <= 2ms"])
    assert taken(window(50, 8)) == Flushing(8 * MS, 0.6, GOALS[:2])
    assert taken(window(50, 40)) == Flushing(40 * MS, 1.0, GOALS[:3])
    short = taken(window(50, 1))
    assert short is not None
    assert not short.rules_out


def test_the_medians_of_the_windows_count() -> None:
    flushing = taken(window(50, 8), window(50, 40), window(50, 8), window(0, 8))
    assert flushing is not None
    assert flushing.flush_ns == 8 * MS


def test_an_answer_without_means_names_what_the_flushes_rule_out() -> None:
    result = decided(met=False)
    result.flushing = taken(window(50, 8))
    *_, lines = words.blocks(result)
    assert (
        "flushes of the disk's cache took 8.00 ms each and 60.0 % of the time: if it answers "
        "nothing meanwhile, online.p50 <= 2ms and online.p99 <= 2ms can only be met by a batch "
        "that writes less"
    ) in list(map(str, lines))
    result.met = True
    *_, lines = words.blocks(result)
    assert "flushes" not in "\n".join(map(str, lines))
