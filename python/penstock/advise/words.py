"""Advice in words: which setting meets the goals, what it gives, and how sure that is."""

from collections.abc import Iterator

from penstock.advise.search import Advice, Candidate
from penstock.answer.table import Table
from penstock.results.figure import Figure
from penstock.text import prose
from penstock.text.tradeoff import figure
from penstock.text.units import digits
from penstock.text.verdict import WIDTH


def figures(of: Advice) -> list[Figure]:
    """Returns the figures asked for, each once."""
    return list(dict.fromkeys([*(goal.figure for goal in of.goals), of.best]))


def table(of: Advice) -> Table:
    """Every candidate that was confirmed."""
    rows = []
    for one in of.candidates:
        said = [figure(asked, asked.over(one.rounds)) for asked in figures(of)]
        rows.append([one.rounds.label, *said, f"{one.met} of {len(one.rounds.whole())}"])
    return Table(["setting", *map(str, figures(of)), "goals met"], rows)


def lines(of: Advice) -> list[str]:
    """The answer, what it is compared with, and how it was found."""
    said = [*_answer(of), *_others(of), _how(of)]
    return [part for line in said for part in prose.fold(line, WIDTH)]


def setting(of: Advice) -> str | None:
    """The answer as a part of a job file; nothing if there are no parameters to set."""
    found = of.found
    if found is None or not found.setting.changes:
        return None
    policy = found.setting.policy
    pairs = {key.removeprefix(f"{policy}."): value for key, value in found.setting.changes.items()}
    return "\n".join([f"[policy.{policy}]", *(f"{key} = {_toml(v)}" for key, v in pairs.items())])


def _toml(value: str) -> str:
    return value if value in ("true", "false") or value.isdigit() else f'"{value}"'


def _answer(of: Advice) -> Iterator[str]:
    first = of.candidates[0]
    asked = " and ".join(goal.text for goal in of.goals)
    if of.found is None:
        yield f"no setting meets {asked}; the nearest is {_said(of, first)}"
        return
    many = len(first.rounds.whole())
    sure = f"in each of {many} rounds" if first.met == many else f"in {first.met} of {many} rounds"
    met = f"it meets {asked} {sure}" if of.goals else f"of {many} rounds"
    yield f"take {_said(of, first)}; {met}"
    if first.met < many:
        yield "the goal is met by the median only: a stricter one, or a longer run, would be safer"


def _others(of: Advice) -> Iterator[str]:
    first = of.candidates[0]
    if (plain := of.as_it_is) is not None:
        yield f"without any parameter: {_said(of, plain)}{_compared(of, plain)}"
    other = of.runner_up
    if other is not None and other is not plain:
        yield f"best of another policy: {_said(of, other)}{_compared(of, other)}"
    ours, theirs = (of.best.over(one.rounds) if one else None for one in (first, other))
    alike = ours and theirs and ours.overlaps(theirs) and other and other.standing.meets
    if alike and other and first.standing.meets:
        yield f"noise hides how {first.rounds.label} and {other.rounds.label} differ in {of.best}"


def _said(of: Advice, one: Candidate) -> str:
    said = (f"{asked} {figure(asked, asked.over(one.rounds))}" for asked in figures(of))
    return f"{one.rounds.label} ({', '.join(said)})"


def _compared(of: Advice, other: Candidate) -> str:
    """Returns by how much it is worse in what is to be best, or that it misses a goal."""
    if not other.standing.meets:
        return ", which misses a goal" if of.found is not None else ""
    ours, theirs = (of.best.over(one.rounds) for one in (of.candidates[0], other))
    if ours is None or theirs is None or of.found is None:
        return ""
    ratio = theirs.median / ours.median
    share = 100 * abs(ratio - 1)
    if share < 1:
        return ", which is as good"
    return f": {digits(share, 2)} % {'more' if ratio > 1 else 'less'}"


def _how(of: Advice) -> str:
    first = of.candidates[0].rounds.runs[0]["seed"]
    last = of.candidates[0].rounds.runs[-1]["seed"]
    where = of.comparison["device"]
    found = f"{of.tried} settings were tried on {of.model} with seed {of.first_seed}"
    if of.comparison["world"] == "simulated":
        many = len(of.candidates)
        return f"{found}, in short runs; the {many} above ran longer, with seeds {first}–{last}"
    return f"{found}; the {len(of.candidates)} best were measured on {where}, in rounds"
