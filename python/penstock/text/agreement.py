"""Lines and tables of how a model agrees with a scheduler of the kernel."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.answer.value import Part, headline
from penstock.text import units

KINDS = {
    "class": "another class of I/O priority",
    "direction": "a read for a write, or a write for a read",
    "swapped": "the kernel's next command: two processors changed the order of two",
    "oldest": "the oldest of its direction on one side only",
    "wrap": "one side went back to a lower address",
    "position": "another place",
}
"""Kinds of differences, in the order in which they are looked for."""

DIFFERENCES = ("decision", "at", "kernel", "model", "queued", "difference")

CLASSES = ("class", "kernel IOPS", "model IOPS", "differs", "kernel mean", "model mean", "shares")


def blocks(result: Mapping[str, Any]) -> Iterator[Sequence[Part]]:
    """Yield the agreement, the differences, and the classes under both."""
    subject = f"{result['scheduler']} of Linux {result['kernel_version']} on {result['on']}"
    agreed = result["agreement"]
    head: list[Part] = [headline("emulated" if ":" in result["on"] else "measured", subject)]
    if agreed is None:
        head.append(
            f"{result['scheduler']} decides by times that it measures, so its decisions are not "
            "held against the model's one by one; the classes are."
        )
    else:
        head += _agreement(result["model"], agreed)
    yield head
    yield [_classes(result["kernel"]["classes"], result["ours"]["classes"])]
    if agreed and agreed["first"]:
        yield [_differences(agreed)]


def _agreement(model: str, agreed: Mapping[str, Any]) -> Iterator[str]:
    decisions = agreed["decisions"]
    if not decisions:
        yield "no decision: nothing was queued"
        return

    def share(n: float) -> str:
        return f"{n / decisions:.2%}".replace("%", " %")

    yield (
        f"{share(agreed['agreed'])} of {units.count(decisions)} decisions are those of the model "
        f"{model}; {share(agreed['agreed_by_arrival'])} would be in order of arrival, "
        f"{share(agreed['agreed_by_chance'])} at random"
    )
    idle, model_idle = agreed["kernel_idle_s"], agreed["model_idle_s"]
    yield (
        f"with requests waiting and room at the device, the kernel sent nothing for "
        f"{units.seconds(idle)} of {units.seconds(agreed['duration_s'])}; the model would not have "
        f"sent either for {units.seconds(model_idle)} of these"
    )
    if agreed["untimely"]:
        yield (
            f"the model would have made {units.many(agreed['untimely'], 'decision')} at another "
            "time; they are compared as of the kernel's"
        )


def _classes(kernel: Sequence[Mapping[str, Any]], ours: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    sums = [sum(run["bytes"] for run in runs) for runs in (kernel, ours)]
    for kernels, models in zip(kernel, ours, strict=True):
        shares = [
            f"{run['bytes'] / total:.3f}" if total else NONE
            for run, total in zip((kernels, models), sums, strict=True)
        ]
        rows.append(
            [
                kernels["name"],
                units.digits(kernels["iops"]),
                units.digits(models["iops"]),
                _differs(kernels["iops"], models["iops"]),
                units.latency(kernels["lat_ns"]["mean"]),
                units.latency(models["lat_ns"]["mean"]),
                " and ".join(shares),
            ]
        )
    return Table(CLASSES, rows, title="classes under both")


def _differs(kernel: float, model: float) -> str:
    return f"{model / kernel - 1:+.1%}".replace("%", " %") if kernel else NONE


def _differences(agreed: Mapping[str, Any]) -> Table:
    counts = [
        f"{units.count(agreed['differences'][kind])}: {KINDS[kind]}"
        for kind in KINDS
        if kind in agreed["differences"]
    ]
    rows = [
        [
            units.count(difference["decision"]),
            units.seconds(difference["at_s"]),
            _request(difference["kernel"]),
            _request(difference["model"]),
            units.count(len(difference["queued"])),
            difference["kind"],
        ]
        for difference in agreed["first"]
    ]
    return Table(DIFFERENCES, rows, title="the first differences", notes=counts)


def _request(request: Mapping[str, Any] | None) -> str:
    if request is None:
        return NONE
    return (
        f"{request['op']} at {request['start']:,}, {request['class']}, waited "
        f"{units.seconds(request['waited_s'])}"
    )
