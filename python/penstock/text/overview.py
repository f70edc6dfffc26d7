"""Comparisons as a terminal shows them: the verdict, and one table over all policies.

The verdict stands first, as it is the answer. The table has a row for each policy and, side by
side, the figures that decide for each class: its median and 99th percentile, its throughput if that
is a result, its share if weights matter. Classes that do not fit into a line go on in a further
table. Tables of each policy are shown on demand; a single policy has its own table at once.
"""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from penstock.answer.table import Table
from penstock.answer.terminal import GAP
from penstock.answer.value import Blocks, Line
from penstock.results import rounds, shares
from penstock.results.json_types import Class, Comparison
from penstock.results.rounds import Rounds
from penstock.text import table
from penstock.text.table import Column

_LONG = 32 << 10
"""Mean length in bytes of requests from which a throughput is in bytes and not in requests."""

_POLICY = "policy"
"""Heading of the names of policies."""

_MORE = "All figures of each policy, its counters and its disks: --detail; with pictures: --report."


def blocks(
    comparison: Comparison, verdict: Sequence[str], width: int, *, detail: bool = False
) -> Blocks:
    """Render a comparison and its verdict in lines of at most `width` characters, if possible.

    `detail` adds the table of each policy, its counters and the figures of each disk.
    """
    policies = rounds.by_policy(comparison)
    if len(policies) < 2:
        yield from table.blocks(comparison, width, detail=detail)
        yield verdict
        return
    first, *setup = table.heading(comparison)
    yield [first, *verdict]
    for part in tables(comparison, policies, width):
        yield [part]
    shown = list(table.columns(comparison))
    if detail:
        yield from table.of_policies(comparison, width)
    else:
        yield list(_notes(policies))
        names = _names(policies)
        shown = [figure for name in names for figure in _figures(comparison, policies, name)]
    explained = table.of_rounds(comparison)
    words = [*([] if explained is None else [explained]), table.legend(shown)]
    words += [] if detail else [_MORE]
    yield [*setup, *(Line(line, style="dim") for line in words)]


def tables(comparison: Comparison, policies: Sequence[Rounds], width: int) -> Iterator[Table]:
    """Yield tables with a row for each policy and as many classes as fit side by side."""
    labels = [policy.label for policy in policies]
    names = max(map(cell_len, [_POLICY, *labels]))
    headings, columns, wide = [_POLICY], [labels], names
    for name in _names(policies):
        shown = _figures(comparison, policies, name)
        cells = [[column.of(policy, name) for policy in policies] for column in shown]
        heads = [column.heading for column in shown]
        heads[0] = f"{name}\n{heads[0]}"
        heads[1:] = [f"\n{heading}" for heading in heads[1:]]
        needs = sum(
            GAP + max(map(cell_len, [*heading.splitlines(), *column]))
            for heading, column in zip(heads, cells, strict=True)
        )
        if len(headings) > 1 and wide + needs > width:
            yield _table(headings, columns)
            headings, columns, wide = [_POLICY], [labels], names
        headings, columns, wide = [*headings, *heads], [*columns, *cells], wide + needs
    yield _table(headings, columns)


def _table(headings: Sequence[str], columns: Sequence[Sequence[str]]) -> Table:
    first, *others = headings
    return Table([f"\n{first}", *others], list(zip(*columns, strict=True)))


def _names(policies: Sequence[Rounds]) -> list[str]:
    return rounds.class_names([run for policy in policies for run in policy.runs])


def _figures(comparison: Comparison, policies: Sequence[Rounds], name: str) -> list[Column]:
    """Return the figures that decide for a class: the same ones under all policies."""
    classes = [class_ for policy in policies for class_ in policy.of(name)]
    headings = ["p50", "p99"]
    if any("added_ns" in class_ for class_ in classes):
        headings.insert(1, "added")
    if any(not class_["open_loop"] or class_["unfinished"] for class_ in classes):
        headings.append(_throughput(classes))
    if shares.at_stake(comparison):
        headings.append("share")
    by_heading = {column.heading: column for column in table.columns(comparison)}
    return [by_heading[heading] for heading in headings]


def _throughput(classes: Sequence[Class]) -> str:
    requests = sum(class_["iops"] for class_ in classes)
    return "MB/s" if sum(class_["bw_bytes"] for class_ in classes) >= _LONG * requests else "IOPS"


def _notes(policies: Sequence[Rounds]) -> Iterator[str]:
    """Yield what a reader of the figures must know: parts of runs, and remarks on runs."""
    under: dict[str, list[str]] = {}
    for policy in policies:
        for line in [*table.parts_only(policy), *table.remarks(policy)]:
            under.setdefault(line, []).append(policy.label)
    for line, labels in under.items():
        under_these = "" if len(labels) == len(policies) else f"{', '.join(labels)}: "
        yield f"{under_these}{line}"
