"""Lines about the place of a run: a model, a model in real time, a file, or the null device."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.results.json_types import Comparison, Run
from penstock.text.units import count, digits, latency

NULL = "null"
"""The device that does nothing."""


def kind(comparison: Comparison) -> str:
    """Return the kind of device."""
    if comparison["world"] == "simulated":
        return "a model"
    if comparison["world"] == "emulated":
        return "a model that answers in real time"
    return "does nothing" if comparison["device"] == NULL else "a real file"


def explained(comparison: Comparison) -> Iterator[str]:
    """Explain the place of the run, as far as it matters for the figures."""
    if comparison["world"] == "emulated":
        yield (
            "a model of the device answers in real time: the figures are of the model, "
            "and of this machine as far as it is late"
        )
    elif comparison["device"] == NULL:
        yield "nothing is behind it: what is measured is what asks and decides, not a disk"


def schedulers(runs: Sequence[Run]) -> str | None:
    """Describe the kernel's schedulers of the disks, if they were the same in all runs."""
    per_run = [run.get("schedulers", {}) for run in runs]
    return below(per_run[0]) if per_run and all(disks == per_run[0] for disks in per_run) else None


def below(disks: Mapping[str, str | None]) -> str | None:
    """Describe the disks of a target and the kernel's schedulers; `None` if no disk is known."""
    descriptions = (
        f"{disk} under the kernel's scheduler {name}" if name else f"{disk} without a scheduler"
        for disk, name in disks.items()
    )
    return ", ".join(descriptions) or None


def kernel(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the kernel's counts for each disk, summed over rounds."""
    counted = [run["kernel"]["disks"] for run in runs if "kernel" in run]
    for disk in dict.fromkeys(name for disks in counted for name in disks):
        counters = [disks[disk] for disks in counted if disk in disks]
        reads = _moved(
            "reads",
            sum(run["reads"] for run in counters),
            sum(run["reads_merged"] for run in counters),
            sum(run["read_bytes"] for run in counters),
        )
        writes = _moved(
            "writes",
            sum(run["writes"] for run in counters),
            sum(run["writes_merged"] for run in counters),
            sum(run["write_bytes"] for run in counters),
        )
        waiting = sum(run["in_flight"] for run in counters) / len(counters)
        yield f"the kernel counted on {disk}: {reads}, {writes}; {digits(waiting)} in flight"


def _moved(operation: str, requests: int, merged: int, moved: int) -> str:
    merges = f" ({count(merged)} merged)" if merged else ""
    return f"{count(requests)} {operation}{merges} of {digits(moved / 1e6)} MB"


def emulation(runs: list[Run]) -> str | None:
    """Describe how late an emulated device answered, in the worst of several rounds."""
    late = [run["emulation"] for run in runs if "emulation" in run]
    if not late:
        return None
    worst = max(late, key=lambda run: run["p99_ns"])
    spread = f"p50 {latency(worst['p50_ns'])}, p99 {latency(worst['p99_ns'])}"
    lateness = f"the model answered late by {spread}, worst {latency(worst['max_ns'])}"
    rounds = ", in the round that did worst" if len(late) > 1 else ""
    text = f"{lateness} ({count(worst['completions'])} completions){rounds}"
    if "head_start_ns" in worst:
        text += f"; {head_start(worst['head_start_ns'])}"
    return text


def served(report: Mapping[str, Any]) -> str:
    """Describe what a served device answered, and how late."""
    late = report["emulation"]
    if not late["completions"]:
        return "no request"
    return (
        f"{count(report['requests'])} requests, at most {report['most_at_once']} at once; "
        f"answered late by {latency(late['p50_ns'])} (median), "
        f"{latency(late['p99_ns'])} (p99); {head_start(late['head_start_ns'])}"
    )


def head_start(ns: int) -> str:
    """Describe how the kernel's way to a served device is made up for."""
    return f"idle, it began {latency(ns)} before a request came, the kernel's way there and back"
