"""Advice in words: which setting meets the goals, what it gives, and how sure that is."""

from collections.abc import Iterator

from penstock.advise.search import Advice, Candidate
from penstock.answer.table import Table
from penstock.results.figure import Figure
from penstock.text import prose
from penstock.text.tradeoff import figure
from penstock.text.units import digits
from penstock.text.verdict import WIDTH


def figures(advice: Advice) -> list[Figure]:
    """Returns the figures asked for, each once."""
    return list(dict.fromkeys([*(goal.figure for goal in advice.goals), advice.best]))


def table(advice: Advice) -> Table:
    """Every candidate that was confirmed."""
    rows = []
    for candidate in advice.candidates:
        said = [figure(wanted, wanted.over(candidate.rounds)) for wanted in figures(advice)]
        rows.append(
            [candidate.rounds.label, *said, f"{candidate.met} of {len(candidate.rounds.whole())}"]
        )
    return Table(["setting", *map(str, figures(advice)), "goals met"], rows)


def lines(advice: Advice) -> list[str]:
    """The answer, what it is compared with, and how it was found."""
    said = [*_answer(advice), *_others(advice), _how(advice)]
    return [part for line in said for part in prose.fold(line, WIDTH)]


def setting(advice: Advice) -> str | None:
    """The answer as a part of a job file; nothing if there are no parameters to set."""
    best = advice.found
    if best is None or not best.setting.changes:
        return None
    policy = best.setting.policy
    pairs = {key.removeprefix(f"{policy}."): value for key, value in best.setting.changes.items()}
    return "\n".join([f"[policy.{policy}]", *(f"{key} = {_toml(v)}" for key, v in pairs.items())])


def _toml(value: str) -> str:
    return value if value in ("true", "false") or value.isdigit() else f'"{value}"'


def _answer(advice: Advice) -> Iterator[str]:
    first = advice.candidates[0]
    asked = " and ".join(goal.text for goal in advice.goals)
    if advice.found is None:
        yield f"no setting meets {asked}; the nearest is {_said(advice, first)}"
        return
    many = len(first.rounds.whole())
    sure = f"in each of {many} rounds" if first.met == many else f"in {first.met} of {many} rounds"
    met = f"it meets {asked} {sure}" if advice.goals else f"of {many} rounds"
    yield f"take {_said(advice, first)}; {met}"
    if first.met < many:
        yield "the goal is met by the median only: a stricter one, or a longer run, would be safer"


def _others(advice: Advice) -> Iterator[str]:
    first = advice.candidates[0]
    if (plain := advice.as_it_is) is not None:
        yield f"without any parameter: {_said(advice, plain)}{_compared(advice, plain)}"
    runner_up = advice.runner_up
    if runner_up is not None and runner_up is not plain:
        yield f"best of another policy: {_said(advice, runner_up)}{_compared(advice, runner_up)}"
    ours, theirs = (
        advice.best.over(candidate.rounds) if candidate else None
        for candidate in (first, runner_up)
    )
    alike = ours and theirs and ours.overlaps(theirs) and runner_up and runner_up.standing.meets
    if alike and runner_up and first.standing.meets:
        labels = f"{first.rounds.label} and {runner_up.rounds.label}"
        yield f"noise hides how {labels} differ in {advice.best}"


def _said(advice: Advice, candidate: Candidate) -> str:
    said = (
        f"{wanted} {figure(wanted, wanted.over(candidate.rounds))}" for wanted in figures(advice)
    )
    return f"{candidate.rounds.label} ({', '.join(said)})"


def _compared(advice: Advice, candidate: Candidate) -> str:
    """Returns by how much it is worse in what is to be best, or that it misses a goal."""
    if not candidate.standing.meets:
        return ", which misses a goal" if advice.found is not None else ""
    ours, theirs = (advice.best.over(choice.rounds) for choice in (advice.candidates[0], candidate))
    if ours is None or theirs is None or advice.found is None:
        return ""
    ratio = theirs.median / ours.median
    share = 100 * abs(ratio - 1)
    if share < 1:
        return ", which is as good"
    return f": {digits(share, 2)} % {'more' if ratio > 1 else 'less'}"


def _how(advice: Advice) -> str:
    first = advice.candidates[0].rounds.runs[0]["seed"]
    last = advice.candidates[0].rounds.runs[-1]["seed"]
    where = advice.comparison["device"]
    tried = f"{advice.tried} settings were tried on {advice.model} with seed {advice.first_seed}"
    if advice.comparison["world"] == "simulated":
        many = len(advice.candidates)
        return f"{tried}, in short runs; the {many} above ran longer, with seeds {first}–{last}"
    return f"{tried}; the {len(advice.candidates)} best were measured on {where}, in rounds"
