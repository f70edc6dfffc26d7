"""`penstock advise merge`: where runs should lie, under which policy, with how much memory."""

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.advise import merge_disks, merge_words
from penstock.advise.merge import PLACEMENTS, POLICIES, Choice, PlacementAdvice, Question
from penstock.advise.merge_runs import advise
from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli import lists
from penstock.cli.answering import answer
from penstock.cli.options import Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.target import Target

Count = Annotated[
    int | None,
    typer.Option("--disks", metavar="D", min=1, max=256, help="How many disks there are."),
]

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="J",
        min=1,
        help="How many merges go on at a time. If not given, that is not known.",
    ),
]

On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="DEVICE|PATH",
        help="What the disks are like: a named device, a device file (.toml), or a target, which "
        "is probed as `penstock calibrate` does. Given once for all disks, or for each. If not "
        f"given, {merge_disks.USUAL}.",
    ),
]

Runs = Annotated[
    int | None,
    typer.Option("--runs", metavar="R", min=1, help="Runs of each merge. If not given, 20."),
]

Run = Annotated[
    str | None,
    typer.Option(
        "--run",
        metavar="LENGTH",
        help="How long a run is, as 1000blocks or 4MiB. If not given, 1000blocks.",
    ),
]

Block = Annotated[
    str | None, typer.Option("--block", metavar="SIZE", help="Of a block. If not given, 4KiB.")
]

N = Annotated[
    int | None,
    typer.Option("--n", metavar="N", min=1, help="Blocks that are read at once. If not given, 12."),
]

M = Annotated[
    int | None,
    typer.Option(
        "--m", metavar="M", min=1, help="Blocks that are written at once. If not given, 40."
    ),
]

Memory = Annotated[
    int | None,
    typer.Option(
        "--memory",
        metavar="BLOCKS",
        min=1,
        help="Blocks of memory that each merge may have. If not given, any number.",
    ),
]

Placed = Annotated[
    str | None,
    typer.Option(
        "--placement",
        metavar="|".join(PLACEMENTS),
        help="The only placement that can be. If not given, all are compared.",
    ),
]

Sweep = Annotated[
    bool, typer.Option("--sweep", help="Also find how many blocks to read and write at once.")
]


@targeted(on=On)
def run(
    *,
    disks: Count = None,
    jobs: Jobs = None,
    on: On = None,
    target: Target,
    runs: Runs = None,
    length: Run = None,
    block: Block = None,
    n: N = None,
    m: M = None,
    memory: Memory = None,
    placement: Placed = None,
    sweep: Sweep = False,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Find how merges that share disks should be set: placement, policy and memory.

    Every placement is simulated under fcfs, read-first and round-robin before each disk, with up
    to five amounts of memory, from several seeds. The answer says what the next best would cost,
    whether merges race, and where chance hides which choice is best. The exit code is 1 if every
    choice fails.
    """
    options = {
        "runs": runs,
        "run": length,
        "block": block,
        "read": n,
        "write": m,
    }
    if placement is not None:
        lists.words("--placement", placement, PLACEMENTS)
    changes = [f"merge.{key}={value}" for key, value in options.items() if value is not None]
    question = Question(
        jobs=jobs, memory=memory, placement=placement, sets=[*changes, *(sets or [])]
    )

    def advised(progress: Progress) -> Answer:
        named = merge_disks.found(on or [], disks, target, progress=progress)
        advice = advise(named, question, sweep=sweep, progress=progress)
        return Answer(
            data=lambda: json.dumps(_plain(advice), indent=2),
            blocks=_blocks(advice),
        )

    answer(advised, as_json=as_json)


def _blocks(advice: PlacementAdvice) -> Blocks:
    yield [
        headline("simulated", merge_words.title(advice)),
        *(f"  note: {remark}" for remark in advice.disks.remarks),
    ]
    yield merge_words.lines(advice)
    yield [Table(["time (blocks each)", *POLICIES], list(merge_words.table(advice)))]


def _plain(advice: PlacementAdvice) -> Mapping[str, object]:
    best, facts = advice.best, advice.facts
    return {
        "world": "simulated",
        "device": advice.disks.name,
        "disks": advice.disks.count,
        "jobs": advice.question.jobs,
        "n": facts.read,
        "m": facts.write,
        "f_eff": advice.f_eff,
        "races": advice.races,
        "at_boundary": advice.at_boundary,
        "placement": best.placement,
        "policy": best.policy,
        "buffer_blocks": best.buffer,
        "time_s": best.time,
        "sd_s": best.deviation,
        "certain": advice.certain,
        "runner_up": _other(advice, advice.runner_up),
        "simplest": _other(advice, advice.simplest),
        "always_enough_blocks": facts.enough,
        "shortened": advice.shortened,
        "choices": [_choice(choice) for choice in advice.choices],
        "remarks": list(advice.disks.remarks),
        "lines": merge_words.lines(advice),
    }


def _choice(choice: Choice) -> Mapping[str, object]:
    ended = choice.failure is None
    return {
        "placement": choice.placement,
        "policy": choice.policy,
        "buffer": choice.buffer,
        "time_s": choice.time if ended else None,
        "sd_s": choice.deviation if ended else None,
        "seeds": choice.seeds,
        "times_s": {str(jobs): times for jobs, times in choice.times.items()},
        "failure": choice.failure,
    }


def _other(advice: PlacementAdvice, choice: Choice | None) -> Mapping[str, object] | None:
    if choice is None:
        return None
    return {**_choice(choice), "costs": advice.costs(choice), "alike": choice in advice.alike}
