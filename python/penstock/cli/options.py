"""What `run` and `compare` are asked with."""

from typing import Annotated

import typer

from penstock.results.rounds import ROUNDS_MOST

Job = Annotated[
    str,
    typer.Argument(
        metavar="JOB",
        help="The job file (TOML), as examples/bank-day.toml; or - for standard input.",
        show_default=False,
    ),
]

JobFile = Annotated[
    str,
    typer.Argument(metavar="JOB.toml", help="The job file (TOML).", show_default=False),
]

ModelOn = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="DEVICE",
        help="A named device (`penstock list devices`) or a device file (.toml). "
        "If not given, the job's own device.",
    ),
]

On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="DEVICE|PATH|emulated:…|null|FILE=DEVICE|FILE=PATH,PATH…",
        help="Where it runs: a named device (`penstock list devices`), a device file (.toml), "
        "the path of a file that penstock owns, written with a slash as ./data.img, the same "
        "behind a loop device as loop:./data.img, or a block device, with --i-will-lose-data; "
        "emulated:DEVICE[@SPEED][:PATH], a model that answers in real time; or null, which does "
        "nothing. "
        "Files of the job are named singly, as --on data=hdd-7200 --on log=flash, or with a real "
        "target for each in their order, as --on data=./a.img,./b.img --on log.0=/dev/sdb. "
        "If not given, the job's own device, or the targets of its files.",
    ),
]

_ORDER = (
    "Policies in the order in which they run (`penstock list policies`). "
    "alone:CLASS gives that class the device to itself; kernel:NAME lets the classes meet "
    "under that scheduler of the kernel, on a real file, as root, kernel:as-is under its own; "
    "served:NAME on a device that is served through that policy. "
    "The verdict compares each with the first that serves all classes."
)

Policies = Annotated[
    str | None,
    typer.Option(
        "--policies",
        "--policy",
        metavar="A,B,…",
        help=f"{_ORDER} If not given, a few that differ most; all is every one.",
    ),
]

NamedPolicies = Annotated[str, typer.Option("--policies", "--policy", metavar="A,B,…", help=_ORDER)]
"""For a verb that does not run every policy there is."""


def named(policies: str | None) -> list[str]:
    """The policies that `--policies` names; none: the usual ones."""
    return [] if policies is None else [name.strip() for name in policies.split(",")]


Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        metavar="N",
        min=1,
        max=ROUNDS_MOST,
        help="Run every policy N times, in rounds of all of them, and tell medians and ranges. "
        "Each round has the next seed.",
    ),
]

Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="NAME",
        help="The policy that the verdict compares the others with. If not given, the first that "
        "serves all classes.",
    ),
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change the job: a path in it (duration=15s, agent.0.rate=40/s) or a policy's "
        "parameter (size-priority.split=64KiB). May be given again; the last one wins.",
    ),
]

Json = Annotated[
    bool, typer.Option("--json", help="Print the result as one JSON object and nothing else.")
]

Report = Annotated[
    str | None,
    typer.Option(
        "--report",
        metavar="FILE.html",
        help="Write a page with the verdict, the table, pictures and the job: one file that needs "
        "nothing else. An earlier report is replaced, any other file is not.",
    ),
]

Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="FILE|HOST:PORT",
        help="Write metrics for Prometheus once a second, to a file for a node exporter's "
        "textfile collector, or serve them at http://HOST:PORT/metrics.",
    ),
]

Plots = Annotated[
    str | None,
    typer.Option(
        "--plots",
        metavar="DIR",
        help="Write the pictures into this folder, each with a title.",
    ),
]

Requests = Annotated[
    str | None,
    typer.Option(
        "--requests",
        metavar="FILE.parquet",
        help="Write every request as a table: class, when it was due, sent and done, what it asked "
        "for and how it failed.",
    ),
]

Dark = Annotated[bool, typer.Option("--dark", help="Draw those of --plots on dark ground.")]

ArmFrom = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="TIME",
        help="Where the picture of the disk's arm begins, as 1.5s. If not given, with the run.",
    ),
]

ArmFor = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TIME", help="How much of the run that picture shows; if not given, 2s."
    ),
]

Detail = Annotated[
    bool,
    typer.Option(
        "--detail",
        help="Show more: the table of each policy with all its figures, what it counts of itself, "
        "and what each disk of a model did.",
    ),
]

Xlsx = Annotated[
    str | None,
    typer.Option("--xlsx", metavar="FILE.xlsx", help="Write the figures as a workbook."),
]
