"""What the merge-placement paper says, held to our figures.

Some of its sentences contradict others of it, or its own formulas. They stand here as they are
written, with the numbers that they contradict.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from penstock.papers.claims import Claim, Numbers, Statement, decided
from penstock.papers.merge_placement import evidence
from penstock.papers.merge_placement.evidence import ABOVE, BELOW, Ours

EQUAL = 0.001
"""Times that differ by less are of the same run."""

RACES = 0.6
"""Jobs that are further apart than this part of a job race."""

TOGETHER = 0.15
"""Jobs that are nearer than that do not."""

MATTERS = 1.10
"""One time is significantly longer than another if it is so many times that."""

STEEP = 2.5

SLIGHT = 0.02
"""Times that differ by less are insensitive to what differs."""

GROWTH = 0.03
"""By how much a growth may be away from a prediction."""

STEADY = 0.15
"""By how much the mean of peaks may be."""

APART_BELOW, APART_ABOVE = 0.12, 0.3
"""How far two jobs are apart at most where they do not race, and at least where they do."""

SHORT = 10
"""Work in a short queue at most, in that of a read."""


def claims(ours: Ours) -> list[Claim]:
    """Each sentence that our figures can decide."""
    return decided(STATEMENTS, ours)


def _write_bound(figures: Numbers) -> bool:
    *apart, together = figures["cases 1 to 4, s"]
    equal = max(apart) / min(apart) - 1 < EQUAL
    return equal and together > MATTERS * apart[0] and figures["writes queued in case 2"][0] > 100


def _near(pair: Sequence[float], within: float) -> bool:
    return abs(pair[0] / pair[1] - 1) <= within


def _statements() -> Iterator[Statement]:
    yield Statement(
        id="2.2-alone",
        text="a single job is write bound",
        numbers=evidence.alone,
        holds=_write_bound,
    )
    yield Statement(
        id="2.2-few",
        text="case 1 is suitable for up to D/2 jobs: here over case 3",
        numbers=evidence.dedicated(lambda jobs, disks: 1 < jobs <= disks / 2),
        holds=lambda figures: all(ratio < 1 for ratios in figures.values() for ratio in ratios),
    )
    yield Statement(
        id="2.2-steep",
        text="with more jobs case 1 degrades steeply: here over case 3",
        numbers=evidence.dedicated(lambda jobs, disks: jobs > disks / 2),
        holds=lambda figures: all(ratios[-1] > STEEP for ratios in figures.values()),
    )
    yield Statement(
        id="2.2-load",
        text="in case 2 the time grows by more than the load of a disk accounts for",
        numbers=evidence.load,
        holds=lambda figures: figures["2 jobs over 1"][0] > 1.5 and figures["disks busy"][0] < 0.75,
    )
    yield Statement(
        id="2.2-serial",
        text="in case 2 jobs that are alike are serialized",
        numbers=evidence.serial,
        holds=lambda figures: (
            figures["first to finish, s"][0] < MATTERS * figures["alone, s"][0]
            and min(figures["apart"]) > RACES
        ),
    )
    yield Statement(
        id="2.2-case-3",
        text="case 3 is a significant improvement over case 2",
        numbers=evidence.shared,
        holds=lambda figures: min(figures["case 2 over case 3"]) > MATTERS,
    )
    yield Statement(
        id="2.2-seeks",
        text="it is, whatever seeks cost: here case 2 over case 3 by the blocks of a cylinder",
        numbers=evidence.geometry,
        holds=lambda figures: (
            min(ratio for ratios in figures.values() for ratio in ratios) > MATTERS
        ),
    )
    yield Statement(
        id="2.2-no-race",
        text="in cases 3 and 4 no race develops",
        numbers=evidence.apart(3, 4),
        holds=lambda figures: all(max(apart) < TOGETHER for apart in figures.values()),
    )
    yield Statement(
        id="2.2-case-4",
        text="case 4 is consistent, albeit suboptimal, over the entire range",
        numbers=evidence.suboptimal,
        holds=lambda figures: (
            max(figures["case 4"]) < TOGETHER
            and min(figures["case 4 over case 3"]) > 1 - GROWTH
            and max(figures["case 4 over case 3"]) > MATTERS
        ),
    )
    yield Statement(
        id="2.3-policies",
        text="round robin and read priority are very effective against the race",
        numbers=evidence.policies,
        holds=lambda figures: all(max(ratios) * MATTERS < 1 for ratios in figures.values()),
    )
    yield Statement(
        id="2.3-buffer",
        text="under them the time is quite insensitive to the buffer size",
        numbers=evidence.insensitive,
        holds=lambda figures: all(
            abs(ratio - 1) < SLIGHT for ratios in figures.values() for ratio in ratios
        ),
    )
    yield Statement(
        id="2.4-more",
        text="a small increase of the buffer may degrade performance significantly",
        numbers=evidence.degrades,
        holds=lambda figures: all(
            small > 1.08 and most > 1.2 for _, small, most in figures.values()
        ),
    )
    yield Statement(
        id="2.4-single",
        text="for a single merge more buffer is never worse",
        numbers=evidence.single,
        holds=lambda figures: all(
            more < (1 + SLIGHT) * less
            for times in figures.values()
            for less, more in pairwise(times)
        ),
    )
    yield Statement(
        id="4-difference",
        text="different times of reads and writes, or input parallelism, result in a race",
        numbers=evidence.difference,
        holds=lambda figures: (
            max(figures[f"apart with f below {BELOW}"]) < APART_BELOW
            and min(figures[f"above {ABOVE}"]) >= APART_ABOVE
        ),
    )
    yield Statement(
        id="3-two",
        text="of two disks N_1 = N_0 f + w b_r (1 - f)",
        numbers=evidence.recurrence,
        holds=lambda figures: figures["found, ms"] == figures["predicted, ms"],
    )
    yield Statement(
        id="3-two-low",
        text="two disks are stable if f <= 1 and w b_r < N_0",
        numbers=evidence.settles,
        holds=lambda figures: figures["N, ms"][-1] == figures["w b_r, ms"][0],
    )
    yield Statement(
        id="3-two-high",
        text="two disks are stable if f > 1 and w b_r > N_0",
        numbers=evidence.unstable,
        holds=lambda figures: max(figures["N, ms"]) <= figures["w b_r, ms"][0],
    )
    yield Statement(
        id="3-requests",
        text="as a read is serviced, b_w/b_r write requests are sent",
        numbers=evidence.requests,
        holds=lambda figures: (
            figures["blocks read"] == figures["blocks written by b_w/b_r requests"]
        ),
    )
    yield Statement(
        id="3-cycle",
        text="N_1 is queued on d_1 when the initial demand in d_0's queue is serviced",
        numbers=evidence.cycle,
        holds=lambda figures: (
            figures["when what d_0 began with is served, at most"][0]
            > figures["(f - 1) N_0, ms"][0]
        ),
    )
    yield Statement(
        id="3-growth",
        text="of three disks with f > 2, N_1 is about (f - 1) N_0",
        numbers=evidence.growth,
        holds=lambda figures: all(_near(pair, GROWTH) for pair in figures.values()),
    )
    yield Statement(
        id="3.6-peaks",
        text="in Figure 3.6 peaks eventually grow by a factor of 2",
        numbers=evidence.figure36,
        holds=lambda figures: _near([*figures["found"], *figures["the paper's"]], GROWTH),
    )
    yield Statement(
        id="3-steady",
        text="with 1 < f < 2 the lengths of all read periods are approximately the same",
        numbers=evidence.steady,
        holds=lambda figures: all(_near(pair, STEADY) for pair in figures.values()),
    )
    yield Statement(
        id="3-short",
        text="with a small f queues are always quite short",
        numbers=evidence.short,
        holds=lambda figures: all(most <= SHORT for (most,) in figures.values()),
    )
    yield Statement(
        id="3-bound",
        text="they are for f < 1 - f b_w/b_r",
        numbers=evidence.bound,
        holds=lambda figures: figures["f by the bound"] == figures["by the curves"],
    )
    yield Statement(
        id="3-more",
        text="with more disks and jobs a race may still exist",
        numbers=evidence.more,
        holds=lambda figures: all(
            _near(growths, GROWTH) if len(growths) == 2 else growths[0] * 20 < 1
            for growths in figures.values()
        ),
    )


STATEMENTS: Sequence[Statement] = tuple(_statements())
