"""Cells of the FAIRIO report's experiments: a job, a policy, an array and a seed each.

All run in one session, so that both modes and all cycle lengths share the processors.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

from penstock.errors import wrong
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup, only_run
from penstock.papers import files
from penstock.papers.fairio.setting import NAME, SETTINGS, FairioSetting
from penstock.session import Variant
from penstock.target import Target

MIB = 1 << 20


@dataclass(frozen=True)
class PolicyRun:
    """Run of the report's experiments."""

    job: str
    policy: str
    params: tuple[tuple[str, str], ...] = ()
    """Of the policy."""
    sets: tuple[str, ...] = ()
    """Changes of the job and its device."""
    seed: int = 1

    def variant(self) -> Variant:
        """Returns the session variant that runs this cell."""
        # The driver of the report's simulator merges nothing.
        params = {"max_sectors": "off", **dict(self.params)} if self.params else {}
        sets = [f"{self.policy}.{key}={value}" for key, value in params.items()]
        return Variant(
            name=f"{self.job}.toml",
            text=files.text(NAME, f"{self.job}.toml"),
            sets=[*self.sets, *sets, f"seed={self.seed}"],
            policies=[self.policy],
        )


@dataclass(frozen=True, kw_only=True)
class RunFigures:
    """Results of one run; lists have a figure for each class."""

    error_pct: Sequence[float]
    throughput_mib_s: float
    service_ms: Sequence[float]
    requests: int
    device_time_s: float
    busy: float
    limited: Sequence[bool]
    stats: Mapping[str, int]

    @classmethod
    def of(cls, run: Mapping[str, Any], cell: PolicyRun) -> "RunFigures":
        """The figures of a run."""
        classes = run["classes"]
        silent = [class_["name"] for class_ in classes if not class_["requests"]]
        if silent:
            problem = f"no request of class {silent[0]} completes in the measured time"
            raise wrong(f"{cell.job}: {problem}", "measure for longer: --set horizon=60s")
        return cls(
            error_pct=[class_["share_error_pct"] for class_ in classes],
            throughput_mib_s=sum(class_["bw_bytes"] for class_ in classes) / MIB,
            service_ms=[class_["service_ns"]["mean"] / 1e6 for class_ in classes],
            requests=sum(class_["requests"] for class_ in classes),
            device_time_s=sum(class_["device_time_s"] for class_ in classes),
            busy=run["device_busy"],
            limited=[class_["limited_by_demand"] for class_ in classes],
            stats=run.get("policy_stats", {}),
        )


Found: TypeAlias = Mapping[PolicyRun, RunFigures]
"""Results by cell."""


def run(cells: Iterable[PolicyRun], setting: FairioSetting) -> Found:
    """Run the cells, each once."""
    every = list(dict.fromkeys(cells))
    setup = Setup(target=Target(), reduce=only_run)
    with SETTINGS.errors(setting.given):
        runs = run_all(setup, [cell.variant() for cell in every])
    return {cell: RunFigures.of(run, cell) for cell, run in zip(every, runs, strict=True)}


def illustration(
    number: int,
    setting: FairioSetting,
    policy: str,
    params: Mapping[str, str],
    *,
    seeds: Sequence[int] | None = None,
    sets: Sequence[str] = (),
) -> list[PolicyRun]:
    """The cells of a row: an Illustration at each seed. Nothing in the second is random."""
    changes = (*setting.of_device, *setting.of_job, *sets)
    seeds = [1] if number == 2 else setting.seeds if seeds is None else seeds
    job = f"illustration-{number}"
    return [PolicyRun(job, policy, tuple(params.items()), changes, seed) for seed in seeds]


def fairio(setting: FairioSetting, mode: str, cycle_ms: float) -> dict[str, str]:
    """Parameters of `fairio`."""
    return {"mode": mode, "cycle": _written(cycle_ms), **setting.of_policy}


def _written(cycle_ms: float) -> str:
    """The length of a cycle as a parameter."""
    whole = cycle_ms == int(cycle_ms)
    return f"{int(cycle_ms)}ms" if whole else f"{round(1e6 * cycle_ms)}ns"


def error(measured: Sequence[RunFigures]) -> list[float]:
    """The mean error of each class."""
    return [
        fmean(errors) for errors in zip(*(figures.error_pct for figures in measured), strict=True)
    ]


def spread(measured: Sequence[RunFigures]) -> float:
    """How far the errors of the first class lie apart."""
    errors = [figures.error_pct[0] for figures in measured]
    return max(errors) - min(errors)


def throughput(measured: Sequence[RunFigures]) -> float:
    """The mean throughput."""
    return fmean(figures.throughput_mib_s for figures in measured)


def mb(mib: float) -> float:
    """MiB in millions of bytes."""
    return mib * MIB / 1e6


def stats(measured: Sequence[RunFigures]) -> dict[str, float]:
    """The mean of each figure that the policy has of itself."""
    return {
        key: fmean(figures.stats.get(key, 0) for figures in measured) for key in measured[0].stats
    }
