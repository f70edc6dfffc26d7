"""Advice on merges in words: the answer, its price, and how far it can be trusted."""

from collections.abc import Iterator

from penstock.advise.merge import PLACEMENTS, POLICIES, Advice, Choice
from penstock.answer.table import NONE
from penstock.text import units


def title(found: Advice) -> str:
    """Returns the question as a title."""
    facts, disks = found.facts, found.disks
    jobs = (
        "any number of merges" if found.question.jobs is None else units.many(facts.jobs, "merge")
    )
    return (
        f"{jobs} on {units.many(disks.count, 'disk')} like {disks.name}: "
        f"{units.many(facts.runs, 'run')} of {_blocks(facts.run)} of {facts.block:,} B each, "
        f"{facts.read} read and {facts.write} written at once"
    )


def lines(found: Advice) -> list[str]:
    """The verdict."""
    return list(_lines(found))


def _lines(found: Advice) -> Iterator[str]:
    best = found.best
    yield f"Set {setting(best)}: {_time(found, best)}."
    yield _race(found)
    if not found.certain:
        others = units.many(len(found.alike) - 1, "other choice")
        yield f"Noise hides how it differs from {others}; this one is the simplest."
    if (other := found.runner_up) is not None:
        yield f"Runner-up: {setting(other)}, {_costs(found, other)}."
    if (simple := found.simplest) not in (None, found.runner_up):
        assert simple is not None
        yield f"Simpler, without a scheduler: {setting(simple)}, {_costs(found, simple)}."
    failed = [one for one in found.choices if one.failure is not None]
    if failed:
        yield (
            f"{len(failed)} of {len(found.choices)} choices fail and are not advised, the first "
            f"with {setting(failed[0])}: {_why(failed[0])}"
        )
    if best.buffer is not None and best.buffer < found.facts.enough:
        yield (
            f"{_blocks(best.buffer)} were enough with {best.seeds} seeds, but other seeds may "
            f"deadlock; {found.facts.enough} are always enough."
        )
    if found.shortened > 1:
        yield (
            f"To save time, simulated runs have 1/{found.shortened:.3g} of their blocks; times are "
            "scaled up."
        )


def setting(choice: Choice) -> str:
    """A choice as a job has it."""
    memory = "unlimited memory" if choice.buffer is None else f"{_blocks(choice.buffer)} each"
    return f"placement {choice.placement}, policy {choice.policy}, {memory}"


def table(found: Advice) -> Iterator[list[str]]:
    """For each placement what it takes under each policy, with the memory that is best."""
    for placement in PLACEMENTS:
        rows = [one for one in found.ranked if one.placement == placement]
        if not rows:
            continue
        cells = []
        for policy in POLICIES:
            first = next((one for one in rows if one.policy == policy), None)
            cells.append(NONE if first is None else _cell(first))
        yield [placement, *cells]


def _cell(choice: Choice) -> str:
    memory = "unlimited" if choice.buffer is None else f"{choice.buffer:,}"
    return f"{units.seconds(choice.time)} ({memory})"


def _race(found: Advice) -> str:
    f_eff = f"f_eff is {found.f_eff:.2f}"
    jobs = max(found.question.counts(found.disks.count))
    if jobs == 1:
        return f"{f_eff}; a single merge cannot race."
    if found.at_boundary:
        return (
            f"{f_eff}, near the boundary of 1: with placement separate under fcfs, chance decides "
            "whether merges race."
        )
    if found.races:
        return (
            f"{f_eff}, above 1: with placement separate under fcfs merges race, unless memory is "
            "short."
        )
    return f"{f_eff}, below 1: merges do not race under any placement."


def _time(found: Advice, choice: Choice) -> str:
    jobs = max(found.question.counts(found.disks.count))
    of = "" if found.question.jobs is not None else f" with {jobs} merges"
    spread = f"± {units.seconds(choice.deviation)} from {choice.seeds} seeds"
    return f"{units.seconds(choice.time)} {spread}{of}"


def _costs(found: Advice, choice: Choice) -> str:
    more = 100 * (found.costs(choice) - 1)
    if choice in found.alike:
        return f"as good (differs by {abs(more):.1f} %, within noise or too little to matter)"
    return f"{_time(found, choice)}, {more:.0f} % more"


def _why(choice: Choice) -> str:
    return (choice.failure or "").splitlines()[0].removeprefix("error: ")


def _blocks(count: int) -> str:
    return units.many(count, "block")
