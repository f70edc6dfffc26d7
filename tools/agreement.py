"""Writes docs/linux-agreement.md: how the models of the kernel's schedulers agree with the kernel.

Root runs it on a Linux with FUSE and loop devices: `make agreement`. It takes twenty minutes.
"""

import json
import platform
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/linux-agreement.md"

TEXT = ROOT / "tools/agreement.md"
"""The page without its figures."""


class Row(NamedTuple):
    """A run of `penstock linux agree`."""

    scheduler: str
    device: str
    job: str
    duration: str
    sets: Sequence[str] = ()


ODD = ("fifo_batch=1", "read_expire=50", "writes_starved=4")
"""Tunables far from their defaults, as the kernel has them."""

JOBS = ("reads-and-writes", "three-classes", "two-streams")

ROWS = [
    Row("mq-deadline", "hdd-7200", "reads-and-writes", "40s"),
    Row("mq-deadline", "hdd-7200", "three-classes", "40s"),
    Row("mq-deadline", "hdd-7200", "three-classes", "40s", ODD),
    Row("mq-deadline", "hdd-7200-ncq", "reads-and-writes", "20s"),
    Row("mq-deadline", "ssd-sata", "reads-and-writes", "3s"),
    Row("none", "hdd-7200", "reads-and-writes", "20s"),
    Row("none", "hdd-7200-ncq", "reads-and-writes", "20s"),
    Row("none", "ssd-sata", "reads-and-writes", "3s"),
    *(Row(name, "hdd-7200", job, "20s") for name in ("bfq", "kyber") for job in JOBS),
    *(
        Row(name, device, "reads-and-writes", duration)
        for name in ("bfq", "kyber")
        for device, duration in (("hdd-7200-ncq", "20s"), ("ssd-sata", "3s"))
    ),
]


def agree(row: Row, *more: str) -> dict[str, Any]:
    """Return the result of a row."""
    job = ROOT / f"examples/agreement/{row.job}.toml"
    words = [row.scheduler, str(job), "--on", f"block:{row.device}", "--buffer", "64MiB"]
    sets = [f"duration={row.duration}", *more]
    for text in row.sets:
        sets += [f"kernel:{row.scheduler}.{text}"]
        sets += [f"{row.scheduler}.{text}{'ms' if text.startswith('read_expire') else ''}"]
    command = [sys.executable, "-m", "penstock", "linux", "agree", *words, "--json"]
    done = subprocess.run(
        [*command, *(word for text in sets for word in ("--set", text))],
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(json.loads(done.stdout))


def name(row: Row) -> str:
    """The job of a row, with what was set."""
    return f"{row.job}, {', '.join(row.sets)}" if row.sets else row.job


def percent(part: float, total: float) -> str:
    """A share in per cent, or a dash if there is no whole."""
    return f"{100 * part / total:.2f} %" if total else "–"


def decisions(results: Sequence[tuple[Row, dict[str, Any]]]) -> Iterator[str]:
    """Yield the lines of the table of decisions."""
    yield (
        "| scheduler | device | job | decisions | the model's | in order of arrival | at random | "
        "idle |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for row, result in results:
        agreed = result["agreement"]
        if agreed is None:
            continue
        count = agreed["decisions"]
        idle = percent(agreed["kernel_idle_s"], agreed["duration_s"])
        model_idle = percent(agreed["model_idle_s"], agreed["duration_s"])
        yield (
            f"| {row.scheduler} | {row.device} | {name(row)} | {count:,} | "
            f"**{percent(agreed['agreed'], count)}** | "
            f"{percent(agreed['agreed_by_arrival'], count)} | "
            f"{percent(agreed['agreed_by_chance'], count)} | {idle} ({model_idle}) |"
        )


def classes(results: Sequence[tuple[Row, dict[str, Any]]], apart: list[str]) -> Iterator[str]:
    """Yield the lines of the table of classes, and add what is far apart to `apart`."""
    yield (
        "| scheduler | device | job | class | kernel, requests/s | model | differs "
        "| kernel, share | model | kernel, mean | model |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|"
    for row, result in results:
        kernel, ours = result["kernel"]["classes"], result["ours"]["classes"]
        sums = [sum(side["bw_bytes"] for side in run) for run in (kernel, ours)]
        for kernels, models in zip(kernel, ours, strict=True):
            differs = models["iops"] / kernels["iops"] - 1
            shares = [
                side["bw_bytes"] / total
                for side, total in zip((kernels, models), sums, strict=True)
            ]
            means = [f"{side['lat_ns']['mean'] / 1e6:.3g} ms" for side in (kernels, models)]
            subject = f"{row.scheduler} | {row.device} | {name(row)} | {kernels['name']}"
            yield (
                f"| {subject} | {kernels['iops']:.1f} | {models['iops']:.1f} | {differs:+.1%} | "
                f"{shares[0]:.3f} | {shares[1]:.3f} | {means[0]} | {means[1]} |"
            ).replace("%", " %")
            if abs(differs) > 0.15 or abs(shares[1] - shares[0]) > 0.05:
                rate = f"{differs:+.1%}".replace("%", " %")
                apart.append(
                    f"- {row.scheduler} on {row.device}, {name(row)}, {kernels['name']}: "
                    f"{rate} of the rate, share {shares[1]:.3f} for {shares[0]:.3f}"
                )


def main() -> None:
    """Run all rows and write the page."""
    results = []
    for row in ROWS:
        results.append((row, agree(row)))
        print(*decisions(results[-1:]), *classes(results[-1:], []), sep="\n", flush=True)
    wrong = agree(ROWS[0], "mq-deadline.fifo_batch=15")["agreement"]
    apart: list[str] = []
    table = "\n".join(classes(results, apart))
    PAGE.write_text(
        TEXT.read_text().format(
            linux=platform.release().split("-")[0],
            decisions="\n".join(decisions(results)),
            wrong=percent(wrong["agreed"], wrong["decisions"]),
            classes=table,
            apart="\n".join(apart) or "none.",
        )
    )


if __name__ == "__main__":
    main()
