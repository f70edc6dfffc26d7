"""A capacity as JSON, as pictures and as a page."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock import __version__
from penstock.advise import capacity_words as words
from penstock.advise.capacity import Capacity, LoadPoint, PolicyCapacity
from penstock.answer.picture import Picture
from penstock.report.outputs import Contents
from penstock.report.page import Bullets, Page, Section, Source, date, of_pictures
from penstock.results.figure import Figure

if TYPE_CHECKING:
    from penstock.charts.capacity import CapacityCurve

CURVES = "capacity"
"""Name and kind of the pictures."""

MARKS = (
    "Diamond: the largest load at which every goal holds. Ring: the knee.",
    "Dashed: the limit of the goal. Thin vertical lines: ranges over seeds.",
)
"""Explanation of the marks of a picture, in lines."""

KNEE = "The knee is the load with the most load for each unit of latency."


def plain(capacity: Capacity) -> Mapping[str, Any]:
    """Returns the answer as JSON has it."""
    load = capacity.load
    return {
        "class": load.class_,
        "by": load.by,
        "goals": [goal.text for goal in capacity.goals],
        "world": capacity.world,
        "device": capacity.device,
        "fits": capacity.fits,
        "up_to": load.number(load.most),
        "seeds": [capacity.first_seed + seed for seed in range(capacity.seeds)],
        "runs": capacity.runs,
        "policies": [_policy(capacity, policy) for policy in capacity.policies],
        "lines": words.lines(capacity),
    }


def contents(capacity: Capacity) -> Contents:
    """Returns what can be written of an answer."""
    return Contents(
        page=lambda command: page(capacity, command),
        pictures=lambda: pictures(capacity),
    )


def page(capacity: Capacity, command: str | None) -> Page:
    """Returns the page of an answer."""
    facts = [
        ("Job", capacity.job),
        *(("Changed", change) for change in capacity.changes),
        ("Device", capacity.device),
        ("Goals", words.goal_texts(capacity)),
        ("Date", date()),
        *([("Command", command)] if command is not None else []),
        ("Penstock", __version__),
    ]
    title = f"The goals against {capacity.load.by} of {capacity.load.class_}"
    every = [words.curve(capacity, policy) for policy in capacity.ranked]
    return Page(
        world=capacity.world.upper(),
        title=words.title(capacity),
        facts=facts,
        sections=[
            Section(
                "summary",
                "How much fits",
                [Bullets(words.statements(capacity), "verdict"), words.table(capacity)],
            ),
            *of_pictures(pictures(capacity), [(CURVES, title, " ".join([*MARKS, KNEE]))]),
            *(Section.of_table(table) for table in every),
            Section("job", "The job", [Source(capacity.text)], "With every default in place."),
        ],
        data=plain(capacity),
    )


def pictures(capacity: Capacity) -> list[Picture]:
    """Returns a picture for each figure of the goals, against the load."""
    from penstock.charts import capacity as charts

    load = capacity.load
    about = [f"{capacity.world.upper()}: {words.title(capacity)}, {date()}", *MARKS]
    drawn = []
    for figure in capacity.figures:
        curves = [_curve(capacity, policy, figure) for policy in capacity.policies]
        goals = [goal for goal in capacity.goals if goal.figure == figure]
        limits = [goal.limit for goal in goals]
        if any(curve.points for curve in curves):
            texts = " and ".join(goal.text for goal in goals)
            picture = Picture(
                name=f"{CURVES}-{figure}",
                title=f"{figure} against {load.by} of {load.class_}: {texts}",
                chart=charts.capacity(curves, load=load.title, figure=figure, limits=limits),
                kind=CURVES,
                caption=str(figure),
                about=about,
            )
            drawn.append(picture)
    return drawn


def _curve(capacity: Capacity, policy: PolicyCapacity, figure: Figure) -> "CapacityCurve":
    from penstock.charts.capacity import CapacityCurve

    load, knee = capacity.load, policy.knee(figure)
    return CapacityCurve(
        f"{policy.policy}: {load.bare(policy.answer) if policy.answer else 'none'}",
        [(load.number(steps), spread) for steps, spread in policy.curve(figure)],
        load.number(policy.answer),
        None if knee is None else load.number(knee),
    )


def _policy(capacity: Capacity, policy: PolicyCapacity) -> Mapping[str, Any]:
    load = capacity.load
    beyond = policy.beyond
    return {
        "policy": policy.policy,
        "capacity": policy.steps.map(lambda steps: load.number(int(steps)))._asdict(),
        "set": load.sets(policy.answer) if policy.answer else [],
        "never_fails": policy.never_fails,
        "monotone": not policy.contradictions,
        "fails_at": None if beyond is None else _failure(capacity, beyond),
        "without_class": None
        if policy.without is None
        else _point(policy.without, capacity.figures),
        "knee": {
            str(figure): None if knee is None else load.number(knee)
            for figure in capacity.figures
            for knee in [policy.knee(figure)]
        },
        "curve": [
            {"load": load.number(point.steps), **_point(point, capacity.figures)}
            for point in policy.points
        ],
    }


def _failure(capacity: Capacity, point: LoadPoint) -> Mapping[str, Any]:
    return {
        "load": capacity.load.number(point.steps),
        "goal": point.worst.text,
        "disk": point.disk.name,
        "utilisation": point.disk.utilisation,
    }


def _point(point: LoadPoint, figures: Sequence[Figure]) -> Mapping[str, Any]:
    return {
        "met_in": point.met,
        "runs": len(point.rounds.runs),
        "disk": point.disk.name,
        "utilisation": point.disk.utilisation,
        "figures": {
            str(figure): (spread := figure.over(point.rounds)) and spread._asdict()
            for figure in figures
        },
    }
