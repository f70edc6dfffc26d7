"""`penstock new`: a commented job, after three questions."""

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli import output
from penstock.cli.verb import verb
from penstock.job import plain
from penstock.report import files

app = verb()


class Online(StrEnum):
    """The online work, which people wait for."""

    WRITES = "writes"
    READS = "reads"
    BOTH = "both"


class Background(StrEnum):
    """The work in the background."""

    WRITE = "write"
    READ = "read"
    BOTH = "both"
    NONE = "none"


QUESTIONS: Mapping[str, str] = {
    "--online": "What do people wait for: short synced writes (a log, bookings), short reads "
    "(lookups), or both?",
    "--background": "What works in the background: a long write (a load, a restore), a long read "
    "(a backup, a scan), both, or none?",
    "--device": "On which device is it simulated (`penstock list devices`)?",
}
"""The question for each option that is not given."""

DEVICE = "hdd-7200"

HEAD = """\
# {title}
#
#   penstock compare {path}
#   penstock compare {path} --on ./disk.img --create 1GiB

seed = 1                     # equal seeds give equal results on a modelled device
duration = "1min"            # when the agents stop; the run goes on until all is done
warmup = "5s"                # what is due before is not counted
{device} # a name, a device file, or --on
"""

CLASSES = """
# People. They wait for every request; their latency counts.
[class.online]
"""

BEHIND = """
# Programs. What counts is when they are done: their throughput.
[class.background]
prio = 1                     # behind people, for policies that go by priority: class-priority
"""

AGENTS: Mapping[str, str] = {
    "writes": """
# Short writes anywhere, each on the device before its author goes on: so many a second, on average.
[[agent]]
class = "online"
op = "write"
sync = true
size = "4KiB"
pattern = "random"
region = ["0%", "20%"]
arrivals = { kind = "poisson", rate = "RATE" }
""",
    "reads": """
# Short reads anywhere: so many a second, on average.
[[agent]]
class = "online"
op = "read"
size = "8KiB"
pattern = "random"
region = ["0%", "40%"]
arrivals = { kind = "poisson", rate = "RATE" }
""",
    "write": """
# A long write, one request behind the other: four are always outstanding.
[[agent]]
class = "background"
op = "write"
size = "1MiB"
pattern = "sequential"
region = ["40%", "70%"]
arrivals = { kind = "closed", depth = 4 }
""",
    "read": """
# A long read from end to end: four requests are always outstanding.
[[agent]]
class = "background"
op = "read"
size = "512KiB"
pattern = "sequential"
region = ["70%", "100%"]
arrivals = { kind = "closed", depth = 4 }
""",
}


@app.command("new")
def new(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="JOB.toml", help="The new file; `.toml` may be left out.", show_default=False
        ),
    ],
    *,
    online: Annotated[
        Online | None, typer.Option("--online", help="What people wait for.", show_default=False)
    ] = None,
    background: Annotated[
        Background | None,
        typer.Option("--background", help="What works behind them.", show_default=False),
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            "--device", metavar="NAME", help="Where it is simulated: `penstock list devices`."
        ),
    ] = None,
) -> None:
    """Write a commented job, after three questions.

    What the options answer is not asked, and without a terminal nothing is: the usual answers are
    taken. No file is overwritten.
    """
    if not path.suffix and not path.exists():
        path = path.with_suffix(".toml")
    files.check_new(path)
    ask = _ask if sys.stdin is not None and sys.stdin.isatty() else _usual
    waits = online or Online(ask("--online", Online.BOTH))
    works = background or Background(ask("--background", Background.WRITE))
    where = device or ask("--device", DEVICE)
    files.write_new(path, text(str(path), waits, works, where))
    output.talk(f"wrote {path}; run it with `penstock compare {path}`")


def _ask(option: str, usual: str) -> str:
    """Returns what a person answers to the question of this option."""
    answers = list(type(usual)) if isinstance(usual, StrEnum) else None

    def checked(answer: str) -> str:
        if answers and answer not in answers:
            raise typer.BadParameter(f"{answer} is not one of {', '.join(answers)}")
        return answer

    question = QUESTIONS[option]
    answer: str = typer.prompt(question, default=str(usual), value_proc=checked, err=True)
    return answer


def _usual(option: str, usual: str) -> str:
    """Returns the usual answer, and says that it was taken."""
    output.talk(f"no terminal to ask: {option} {usual}")
    return usual


def text(path: str, online: Online, background: Background, device: str) -> str:
    """The job of these answers."""
    short = {Online.BOTH: ("writes", "reads")}.get(online, (online.value,))
    long: Sequence[str] = {Background.BOTH: ("write", "read"), Background.NONE: ()}.get(
        background, (background.value,)
    )
    titles = {
        Background.WRITE: "a long write",
        Background.READ: "a long read",
        Background.BOTH: "a long write and a long read",
    }
    title = f"People who wait for short {' and '.join(short)}"
    if long:
        title = f"{title}, and {titles[background]} in the background"
    where = f"device = {plain(device)}"
    rate = f"{20 // len(short)}/s"
    parts = [HEAD.format(title=f"{title}.", path=path, device=where.ljust(28)), CLASSES]
    parts += [BEHIND] if long else []
    parts += [AGENTS[agent].replace("RATE", rate) for agent in (*short, *long)]
    return "".join(parts)
