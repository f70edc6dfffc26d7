"""The pictures of the merge-placement paper's experiments."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.advise.merge import RACE
from penstock.papers.merge_placement import race
from penstock.papers.merge_placement.rings import READ_MS
from penstock.papers.merge_placement.setting import PLACEMENTS, POLICIES
from penstock.papers.pictures import Gallery
from penstock.papers.published import Row
from penstock.papers.rows import select

if TYPE_CHECKING:
    import altair as alt

    from penstock.papers.merge_placement.drawing import Area

Ours = Mapping[str, Any]

QUEUED_MOST, STEPS = 200, 100
"""To how much queued work the rate curves go, in milliseconds, and over how many points."""

F_STEPS = 40


def _layouts(ours: Ours) -> "alt.TopLevelMixin | None":
    from penstock.papers.merge_placement import drawing

    if not ours["layouts"]:
        return None
    panels = [
        (f"Case {layout['case']}: {PLACEMENTS[layout['case']]}", list(_areas(layout)))
        for layout in ours["layouts"]
    ]
    jobs = range(len(ours["layouts"][0]["jobs"]))
    kinds = [f"job {job}, {part}" for job in jobs for part in ("runs", "output")]
    return drawing.disks(panels, kinds)


def _areas(layout: Row) -> "Iterator[Area]":
    from penstock.papers.merge_placement.drawing import Area

    for job, places in enumerate(layout["jobs"]):
        lengths = {"runs": layout["run"], "output": layout["output"]}
        parts = [("runs", run) for run in places["runs"]] + [("output", places["output"])]
        for part, place in parts:
            begins = place["block"]
            yield Area(f"job {job}, {part}", f"{place['disk']}", begins, begins + lengths[part])
    for disk in range(len(layout["used"])):
        if not layout["used"][disk]:
            yield Area("job 0, runs", f"{disk}", 0, 0)


def _completion(ours: Ours) -> "alt.TopLevelMixin | None":
    """The time by the number of jobs, a panel for each number of disks."""
    rows = select(_ended(ours), policy=POLICIES[0], buffer=None)
    return _by_jobs(rows, lambda row: f"case {row['case']}")


def _policies(ours: Ours) -> "alt.TopLevelMixin | None":
    rows = select(_ended(ours), case=2, buffer=None)
    with_others = {row["disks"] for row in rows if row["policy"] != POLICIES[0]}
    return _by_jobs([row for row in rows if row["disks"] in with_others], lambda row: row["policy"])


def _ended(ours: Ours) -> list[Row]:
    return [row for row in ours["rows"] if row["time_s"] is not None]


def _by_jobs(rows: Sequence[Row], series: Callable[[Row], str]) -> "alt.TopLevelMixin | None":
    from penstock.papers.merge_placement import drawing

    panels = []
    for disks in dict.fromkeys(row["disks"] for row in rows):
        points = [
            (series(row), row["jobs"], row["time_s"], row["sd_s"])
            for row in rows
            if row["disks"] == disks
        ]
        x = drawing.axis_x("jobs", ticks=sorted({jobs for _, jobs, *_ in points}))
        y = drawing.axis_y("time, s")
        panels.append(drawing.Panel(points, x, y, f"{disks} disk{'s' if disks > 1 else ''}"))
    return drawing.marked(panels) if panels else None


def _buffers(ours: Ours) -> "alt.TopLevelMixin | None":
    """The time by the buffer of each job, in case 2."""
    from penstock.papers.merge_placement import drawing

    rows = [
        row
        for row in _ended(ours)
        if (row["case"], row["policy"]) == (2, POLICIES[0])
        and row["jobs"] > 1
        and not row["deadlocks"]
    ]

    def series(row: Row) -> str:
        return f"{row['disks']} disks, {row['jobs']} jobs"

    limited = [row for row in rows if row["buffer"] is not None]
    points = [(series(row), row["buffer"], row["time_s"], row["sd_s"]) for row in limited]
    drawn = {name for name, *_ in points}
    across = [
        (series(row), row["time_s"])
        for row in rows
        if row["buffer"] is None and series(row) in drawn
    ]
    if not points:
        return None
    x = drawing.axis_x("blocks of each job", ticks=(500, 600, 800, 1000, 2000, 3000), log=True)
    y = drawing.axis_y("time, s", zero=False)
    return drawing.marked([drawing.Panel(points, x, y, across=across)], height=300)


def _threshold(ours: Ours) -> "alt.TopLevelMixin | None":
    from penstock.papers.merge_placement import drawing

    measured = [row for row in ours["threshold"] if row["f_eff"] is not None]
    points = [
        (f"{row['disks']} disks, {row['jobs']} jobs", row["f_eff"], row["divergence"], 0.0)
        for row in sorted(measured, key=lambda row: (row["jobs"], row["disks"], row["f_eff"]))
    ]
    if not points:
        return None
    x = drawing.axis_x("f = w (D - 1) / r")
    y = drawing.axis_y("apart at most, part of a job", ends=(0, 1))
    panel = drawing.Panel(points, x, y, rule=drawing.upright(RACE))
    return drawing.marked([panel], height=300)


def _geometry(ours: Ours) -> "alt.TopLevelMixin | None":
    from penstock.papers.merge_placement import drawing

    times_by_blocks: dict[tuple[int, int], dict[int, float]] = {}
    for row in ours["variants"]:
        if row["variant"].endswith("in a cylinder"):
            at = (row["jobs"], int(row["variant"].split()[0]))
            times_by_blocks.setdefault(at, {})[row["case"]] = row["time_s"]
    points = [
        (f"{jobs} jobs", blocks, times[2] / times[3], 0.0)
        for (jobs, blocks), times in sorted(times_by_blocks.items())
    ]
    if not points:
        return None
    x = drawing.axis_x("blocks of a cylinder", ticks=(16, 32, 64, 128, 256), log=True)
    y = drawing.axis_y("case 2 over case 3", zero=False)
    return drawing.marked([drawing.Panel(points, x, y, rule=drawing.level(1.0))])


def _courses(figure: str, title: str) -> "Callable[[Ours], alt.TopLevelMixin | None]":
    """Returns a function that draws the runs over time, a panel for each."""

    def draw(ours: Ours) -> "alt.TopLevelMixin | None":
        from penstock.papers.merge_placement import drawing

        courses, noun = ours["courses"], "job" if figure == "used" else "disk"
        if not courses:
            return None
        most = max(value for course in courses for curve in course[figure] for value in curve)
        until = max(course["every_s"] * (len(course[figure][0]) - 1) for course in courses)
        x, y = drawing.axis_x("time, s", until=until), drawing.axis_y(title, ends=(0, most))
        return drawing.lines(
            [
                drawing.Panel(
                    list(_over_time(course[figure], course["every_s"], noun)),
                    x,
                    y,
                    f"Case {course['case']}",
                )
                for course in courses
            ]
        )

    return draw


def _over_time(
    of_each: Sequence[Sequence[float]], every_s: float, name: str
) -> Iterator[tuple[str, float, float, float]]:
    for number, values in enumerate(of_each):
        for at, value in enumerate(values):
            yield f"{name} {number}", at * every_s, value, 0.0


def _rates(_: Ours) -> "alt.TopLevelMixin":
    from penstock.papers.merge_placement import drawing

    panels = []
    for f in (3.0, 1.5):
        curves = (("disk 1, grows", race.rises), ("disk 2, shrinks", race.falls))
        points = [
            (name, at, rate(at, f=f, read=READ_MS), 0.0)
            for name, rate in curves
            for at in (QUEUED_MOST * step / STEPS for step in range(STEPS + 1))
        ]
        x = drawing.axis_x("service demand that is queued, ms")
        panels.append(drawing.Panel(points, x, drawing.axis_y("rate"), f"f = {f:g}"))
    return drawing.lines(panels)


def _queues(ours: Ours) -> "alt.TopLevelMixin":
    from penstock.papers.merge_placement import drawing

    queues = ours["queues"]
    points = list(_over_time(queues["writes"], queues["every_s"], "disk"))
    x, y = drawing.axis_x("time, s"), drawing.axis_y("writes")
    return drawing.lines([drawing.Panel(points, x, y)])


def _rings(ours: Ours) -> "alt.TopLevelMixin | None":
    """Draws the factor by which peaks grow: predicted as lines, simulated as marks."""
    from penstock.papers.merge_placement import drawing

    rows = [row for row in ours["ring"] if row["simulated"] is not None]
    if not rows:
        return None
    most = max(row["f"] for row in rows)
    steps = [1 + (most - 1) * step / F_STEPS for step in range(F_STEPS + 1)]
    points = [(f"{row['disks']} disks", row["f"], row["simulated"], 0.0) for row in rows]
    curves = [
        (f"{disks} disks", f, race.growth(disks, f=f) or 1.0, 0.0)
        for disks in sorted({row["disks"] for row in rows})
        for f in steps
    ]
    x, y = drawing.axis_x("f"), drawing.axis_y("growth from peak to peak", zero=False)
    return drawing.marked([drawing.Panel(points, x, y, curves=curves)])


FIGURES: Mapping[str, tuple[str, "Callable[[Ours], alt.TopLevelMixin | None]"]] = {
    "layouts": ("Figure 2.1: four placements of two jobs on five disks", _layouts),
    "completion": ("Figure 2.2: completion time of all jobs", _completion),
    "policies": ("Figure 2.3: case 2 with other schedulers of the disks", _policies),
    "buffers": ("Figure 2.4: case 2 by the buffer; dashed: no limit", _buffers),
    "progress": ("Blocks that each job has used up", _courses("used", "blocks")),
    "writes": ("Writes at the disk of each output", _courses("writes", "writes")),
    "threshold": ("Where the race begins: two jobs of case 2 and more", _threshold),
    "geometry": ("Case 2 over case 3 by the blocks of a cylinder", _geometry),
    "rates": ("Figure 3.5: rates of change on two of three disks", _rates),
    "queues": ("Figure 3.6: writes at each of three disks, f = 3", _queues),
    "rings": ("Rings of disks: growth of peaks; lines are predicted", _rings),
}
"""The title of each picture, and what draws it if our figures are enough."""


def _charts(ours: Ours) -> "Iterator[tuple[str, alt.TopLevelMixin]]":
    for name, (_, draw) in FIGURES.items():
        chart = draw(ours)
        if chart is not None:
            yield name, chart


PICTURES = Gallery(
    title="Placements and the race",
    about=(
        "Figures 2.1 to 2.4, 3.5 and 3.6 of the paper, made again, with the spread over the seeds: "
        "a bar is as long as two standard deviations. The others show how jobs and queues go on, "
        "and what the figures depend on."
    ),
    titles={name: title for name, (title, _) in FIGURES.items()},
    charts=_charts,
)
