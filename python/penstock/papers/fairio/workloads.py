"""Table V of the FAIRIO report: cycle lengths by its heuristic, and six workloads under them."""

from collections.abc import Iterable, Sequence

from penstock.advise.cycle import Share, cycle
from penstock.advise.cycle_inputs import Found as Survey
from penstock.advise.cycle_inputs import of_survey, surveyed
from penstock.papers import files
from penstock.papers.fairio.cells import Found, PolicyRun, fairio
from penstock.papers.fairio.setting import NAME, SETTINGS, FairioSetting
from penstock.papers.published import Row
from penstock.session import Variant
from penstock.target import Target

WEIGHTS = (1, 1, 2, 2)
"""Of the four classes. The report does not publish them; Table V leaves few others."""

DISKS = 8

LOAD = 16
"""Requests at the disks, as in the report."""


def _cells(row: Row, setting: FairioSetting) -> dict[str, PolicyRun]:
    job = row["workload"].lower()
    sets = setting.of_device
    cells = {"fcfs": PolicyRun(job, "fcfs", sets=sets)}
    for mode in setting.modes:
        params = fairio(setting, mode, row["cycle_ms"])
        cells[mode] = PolicyRun(job, "fairio", tuple(params.items()), sets)
    return cells


def cells(setting: FairioSetting) -> Iterable[PolicyRun]:
    """Yields the cells that have to run."""
    for row in files.published(NAME)["table5"]:
        yield from _cells(row, setting).values()


def rows(setting: FairioSetting, results: Found) -> list[Row]:
    """Table V with ours."""
    published = files.published(NAME)["table5"]
    names = [f"{row['workload'].lower()}.toml" for row in published]
    jobs = [
        Variant(name=name, text=files.text(NAME, name), sets=setting.of_device, policies=["fcfs"])
        for name in names
    ]
    with SETTINGS.errors(setting.given):
        surveys = surveyed(jobs, Target(), load=LOAD)
        asked = [of_survey(survey, name) for survey, name in zip(surveys, names, strict=True)]
    return [
        _row(row, survey, setting, results) for row, survey in zip(published, asked, strict=True)
    ]


def _row(row: Row, survey: Survey, setting: FairioSetting, results: Found) -> Row:
    cells = _cells(row, setting)
    main, fcfs = results[cells[setting.modes[0]]], results[cells["fcfs"]]
    return {
        "workload": row["workload"],
        "service_ms": row["service_ms"],
        "requests": row["requests"],
        "cycle_ms": heuristic_ms(row),
        "published_cycle_ms": row["cycle_ms"],
        "service_measured_ms": 1e3 * fcfs.device_time_s / fcfs.requests,
        "service_under_it_ms": 1e3 * main.device_time_s / main.requests,
        "requests_measured": min(class_.requests for class_ in survey.classes),
        "cycle_measured_ms": survey.cycle.eq3_rounded_ns / 1e6,
        "mode": setting.modes[0],
        "error_pct": main.error_pct,
        "bound_pct": bound(main.error_pct),
        "published_bound_pct": row["bound_pct"],
        "limited_by_demand": any(main.limited),
        "limited_classes": [at for at, limited in enumerate(main.limited, 1) if limited],
        "plus_bound_pct": bound(results[cells["plus"]].error_pct) if "plus" in cells else None,
        "fcfs_bound_pct": bound(fcfs.error_pct),
    }


def bound(errors: Sequence[float]) -> float:
    """The largest error of a class."""
    return max(map(abs, errors))


def heuristic_ms(row: Row) -> int:
    """The cycle length of the report's equation (3), of its own figures."""
    shares = [
        Share(f"{at}", weight, round(row["service_ms"] * 1e6), row["requests"])
        for at, weight in enumerate(WEIGHTS)
    ]
    return cycle(shares, disks=DISKS).eq3_rounded_ns // 1_000_000
