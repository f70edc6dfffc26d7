"""Advice on merges in words: the answer, its price, and how far it can be trusted."""

from collections.abc import Iterator

from penstock.advise.merge import PLACEMENTS, POLICIES, Choice, PlacementAdvice
from penstock.answer.table import NONE
from penstock.text import units


def title(advice: PlacementAdvice) -> str:
    """Returns the question as a title."""
    facts, disks = advice.facts, advice.disks
    jobs = (
        "any number of merges" if advice.question.jobs is None else units.many(facts.jobs, "merge")
    )
    return (
        f"{jobs} on {units.many(disks.count, 'disk')} like {disks.name}: "
        f"{units.many(facts.runs, 'run')} of {_blocks(facts.run)} of {facts.block:,} B each, "
        f"{facts.read} read and {facts.write} written at once"
    )


def lines(advice: PlacementAdvice) -> list[str]:
    """The verdict."""
    return list(_lines(advice))


def _lines(advice: PlacementAdvice) -> Iterator[str]:
    best = advice.best
    yield f"Set {setting(best)}: {_time(advice, best)}."
    yield _race(advice)
    if not advice.certain:
        count = units.many(len(advice.alike) - 1, "other choice")
        yield f"Noise hides how it differs from {count}; this one is the simplest."
    if (runner_up := advice.runner_up) is not None:
        yield f"Runner-up: {setting(runner_up)}, {_costs(advice, runner_up)}."
    if (simple := advice.simplest) not in (None, advice.runner_up):
        assert simple is not None
        yield f"Simpler, without a scheduler: {setting(simple)}, {_costs(advice, simple)}."
    failed = [choice for choice in advice.choices if choice.failure is not None]
    if failed:
        yield (
            f"{len(failed)} of {len(advice.choices)} choices fail and are not advised, the first "
            f"with {setting(failed[0])}: {_why(failed[0])}"
        )
    if best.buffer is not None and best.buffer < advice.facts.enough:
        yield (
            f"{_blocks(best.buffer)} were enough with {best.seeds} seeds, but other seeds may "
            f"deadlock; {advice.facts.enough} are always enough."
        )
    if advice.shortened > 1:
        yield (
            f"To save time, simulated runs have 1/{advice.shortened:.3g} of their blocks; times "
            "are scaled up."
        )


def setting(choice: Choice) -> str:
    """A choice as a job has it."""
    memory = "unlimited memory" if choice.buffer is None else f"{_blocks(choice.buffer)} each"
    return f"placement {choice.placement}, policy {choice.policy}, {memory}"


def table(advice: PlacementAdvice) -> Iterator[list[str]]:
    """For each placement what it takes under each policy, with the memory that is best."""
    for placement in PLACEMENTS:
        rows = [choice for choice in advice.ranked if choice.placement == placement]
        if not rows:
            continue
        cells = []
        for policy in POLICIES:
            first = next((choice for choice in rows if choice.policy == policy), None)
            cells.append(NONE if first is None else _cell(first))
        yield [placement, *cells]


def _cell(choice: Choice) -> str:
    memory = "unlimited" if choice.buffer is None else f"{choice.buffer:,}"
    return f"{units.seconds(choice.time)} ({memory})"


def _race(advice: PlacementAdvice) -> str:
    f_eff = f"f_eff is {advice.f_eff:.2f}"
    jobs = max(advice.question.counts(advice.disks.count))
    if jobs == 1:
        return f"{f_eff}; a single merge cannot race."
    if advice.at_boundary:
        return (
            f"{f_eff}, near the boundary of 1: with placement separate under fcfs, chance decides "
            "whether merges race."
        )
    if advice.races:
        return (
            f"{f_eff}, above 1: with placement separate under fcfs merges race, unless memory is "
            "short."
        )
    return f"{f_eff}, below 1: merges do not race under any placement."


def _time(advice: PlacementAdvice, choice: Choice) -> str:
    jobs = max(advice.question.counts(advice.disks.count))
    at_most = "" if advice.question.jobs is not None else f" with {jobs} merges"
    spread = f"± {units.seconds(choice.deviation)} from {choice.seeds} seeds"
    return f"{units.seconds(choice.time)} {spread}{at_most}"


def _costs(advice: PlacementAdvice, choice: Choice) -> str:
    more = 100 * (advice.costs(choice) - 1)
    if choice in advice.alike:
        return f"as good (differs by {abs(more):.1f} %, within noise or too little to matter)"
    return f"{_time(advice, choice)}, {more:.0f} % more"


def _why(choice: Choice) -> str:
    return (choice.failure or "").splitlines()[0].removeprefix("error: ")


def _blocks(count: int) -> str:
    return units.many(count, "block")
