"""The Illustrations of the FAIRIO report in real time: their shares on a disk of today.

The report's array serves about 115 requests a second of the 200 that both classes ask for. Another
target serves more or fewer, so it is measured first, with 8 requests of each class outstanding,
and is then asked for 200/115 of what it served. Where requests grow, they grow from the beginning
of a run to its end as they do in a minute of the report's. Places are parts of the target.

Policies run in rounds of all of them. Shares are compared with those of the simulated array;
times and rates are those of the target, and are compared with nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from penstock.errors import wrong
from penstock.experiment.bench import Bench, run_all
from penstock.experiment.trial import Setup, whole
from penstock.papers import files
from penstock.papers.fairio import cells, setting
from penstock.papers.fairio.cells import PolicyRun, RunFigures
from penstock.papers.fairio.setting import NAME, SETTINGS, FairioSetting
from penstock.papers.settings import milliseconds
from penstock.results.json_types import Run
from penstock.results.percentile import percentile
from penstock.results.rounds import Spread
from penstock.results.steps import Progress, Step, as_part
from penstock.session import Variant
from penstock.target import Target
from penstock.text import places

KEYS = ("mode", "weights", "cycles", "load", "cap", "window", "horizon")
"""What `--set` changes; the other keys are of the simulated array, or of its seeds."""

CYCLES, HORIZON = "500ms", "10s"
"""The length of a cycle and of a run, if nothing else is said."""

ROUNDS = 3

TIME, LAW = "time", "law"
"""What fairio charges."""

EMULATED = "emulated:"
"""What begins the name of a model in real time, whose costs are known."""

OFFERED = 200 / 115
"""What both classes ask for, as a part of what the report's array serves."""

REPORTS = 6_000
"""Requests of a class in the minute of the report's that is simulated."""

REQUESTS_MOST = 500_000
"""Requests of a class in one run: all of them may wait."""

DEPTH = 16
"""Requests at the disk, as in the report, where no more are asked for."""

PROBE_S = 1.0
"""How long the target is measured before, for each load."""

PROBE_ARRIVALS = 'arrivals = { kind = "closed", depth = 8, count = 1000000 }'

ILLUSTRATIONS = (1, 2)


@dataclass(frozen=True, kw_only=True)
class LiveRow:
    """Results of a policy under a load; lists have a figure per class, the median of the rounds."""

    illustration: int
    policy: str
    mode: str | None
    """Of `fairio`: `paper` or `plus`; null of other policies."""
    charge: str | None
    """Of `fairio`: `time` or `law`; null of other policies."""
    cycle_ms: float | None
    """Of `fairio`: the length of a cycle; null of other policies."""
    error_pct: Sequence[float]
    """Shares less what weights promise, in percentage points."""
    spread_pct: float
    """How far the errors of the first class lie apart over the rounds."""
    throughput_mib_s: float
    p99_ms: Sequence[float]
    """Of latencies, which grow while more is asked for than is served."""
    limited_by_demand: bool
    """In some round a class asked for less than its share."""
    simulated_error_pct: Sequence[float] | None
    """The errors of the simulated array; null where costs are charged, which it has not."""


@dataclass(frozen=True, kw_only=True)
class LiveRows:
    """All rows, and where they were measured."""

    world: str
    """`measured` or `emulated`."""
    target: str
    rounds: int
    horizon_s: float
    offered_per_s: Sequence[float]
    """Requests a second of each class, of each Illustration."""
    rows: Sequence[LiveRow]
    notes: Sequence[str]
    """What has to be known of the target to read the figures."""


@dataclass(frozen=True)
class Plan:
    """Settings of the run of one row."""

    illustration: int
    policy: str
    mode: str | None = None
    charge: str | None = None
    cycle_ms: float | None = None

    def params(self, setting: FairioSetting, law: str | None) -> Mapping[str, str]:
        """Parameters of the policy, with costs of the device `law`, if that is named."""
        if self.mode is None or self.cycle_ms is None:
            return {"depth": f"{DEPTH}"} if self.policy == "sfq" else {}
        params = cells.fairio(setting, self.mode, self.cycle_ms)
        if self.charge == LAW:
            params["charge"] = LAW
            if law is not None:
                params["law"] = law
        return params

    def simulated(self, setting: FairioSetting) -> PolicyRun | None:
        """The run of the simulated array that shares are compared with."""
        if self.charge == LAW:
            return None
        params = self.params(setting, None)
        (cell,) = cells.illustration(self.illustration, setting, self.policy, params, seeds=[1])
        return cell


def settings(sets: Sequence[str]) -> dict[str, str]:
    """Returns the values of `--set`, checked: the keys of the simulated array are refused."""
    return {"cycles": CYCLES, "horizon": HORIZON} | SETTINGS.read_live(sets, KEYS)


def fairio_live(
    target: Target,
    arguments: Mapping[str, str],
    *,
    law: str | None = None,
    rounds: int = ROUNDS,
    progress: Progress | None = None,
) -> LiveRows:
    """Run both Illustrations under each policy in `rounds` of all, with what is `given` set."""
    run_setting = setting.read(arguments)
    horizon_ms = _horizon(run_setting)
    known = law is not None or (target.on or "").startswith(EMULATED)
    plans = list(_plans(run_setting, [TIME, LAW] if known else [TIME]))
    with SETTINGS.errors(arguments):
        # Whatever is wrong is found before anything is measured.
        checked = _variants(plans, run_setting, law, dict.fromkeys(ILLUSTRATIONS, 1.0))
        rates = _offered(target, checked, as_part(progress, "what the target serves", 0.0, 0.1))
        variants = _variants(plans, run_setting, law, rates)
        setup = Setup(target=target, reduce=whole, repeat=rounds)
        comparisons = run_all(setup, variants, progress=as_part(progress, "rounds", 0.1, 1.0))
    # The array has a minute, as its tables have, however short the runs here are.
    usual = setting.read({key: value for key, value in arguments.items() if key != "horizon"})
    simulated = [plan.simulated(usual) for plan in plans]
    theirs = cells.run([cell for cell in simulated if cell is not None], usual)
    rows = [
        _row(plan, comparison["runs"], theirs[cell] if cell is not None else None)
        for plan, comparison, cell in zip(plans, comparisons, simulated, strict=True)
    ]
    runs = [run for comparison in comparisons for run in comparison["runs"]]
    return LiveRows(
        world=comparisons[0]["world"],
        target=comparisons[0]["device"],
        rounds=rounds,
        horizon_s=horizon_ms / 1e3,
        offered_per_s=[rates[number] for number in ILLUSTRATIONS],
        rows=rows,
        notes=list(_notes(runs)),
    )


def _horizon(run_setting: FairioSetting) -> float:
    """Returns the duration of a run, in milliseconds."""
    text = run_setting.given["horizon"]
    if text == setting.SENT:
        message = f"--set horizon={text} belongs to the simulation"
        raise wrong(message, f"name a length of time, as horizon={HORIZON}")
    horizon_ms = milliseconds("horizon", text, HORIZON)
    longest = max(run_setting.cycles_ms)
    if longest > horizon_ms:
        message = f"--set horizon={text} is shorter than a cycle of {longest:g} ms"
        raise wrong(message, "shares hold over some cycles: measure for longer")
    return horizon_ms


def _plans(setting: FairioSetting, charges: Sequence[str]) -> Iterator[Plan]:
    """The rows in their order."""
    for number in ILLUSTRATIONS:
        yield Plan(number, "fcfs")
        yield Plan(number, "sfq")
        for charge, mode, cycle_ms in product(charges, setting.modes, setting.cycles_ms):
            yield Plan(number, "fairio", mode, charge, cycle_ms)


def _offered(
    target: Target, checked: Sequence[Variant], step: Callable[[Step], None] | None
) -> Mapping[int, float]:
    """Requests a second of each class that are more than the target can serve, by Illustration.

    What runs later is checked before.
    """
    variants = [_probe(number) for number in ILLUSTRATIONS]
    with Bench(Setup(target=target, reduce=whole), [*variants, *checked]) as bench:
        comparisons = bench.run(variants, progress=step)
    if comparisons[0]["world"] == "simulated":
        device = comparisons[0]["device"]
        message = f"{device} is a model in virtual time"
        raise wrong(message, f"name a file, a disk or {EMULATED}{device} with --on")
    served = [
        sum(class_["iops"] for class_ in comparison["runs"][0]["classes"])
        for comparison in comparisons
    ]
    return {
        number: max(OFFERED * rate / 2, 1.0)
        for number, rate in zip(ILLUSTRATIONS, served, strict=True)
    }


def _probe(number: int) -> Variant:
    """An Illustration whose classes have eight requests outstanding each."""
    file = f"illustration-{number}.toml"
    text = re.sub(r"arrivals = \{[^}]*\}", PROBE_ARRIVALS, files.text(NAME, file))
    sets = [f"duration={PROBE_S}s", f"stop={PROBE_S}s", "agent.0.start=0s", "agent.1.start=0s"]
    if number == 2:
        sets.append("agent.0.growth.every=10000")
    return Variant(name=file, text=text, sets=sets, policies=["fcfs"])


def _variants(
    plans: Sequence[Plan], setting: FairioSetting, law: str | None, rates: Mapping[int, float]
) -> list[Variant]:
    """Returns the variant of each row, for a target asked for these rates."""
    variants = []
    for plan in plans:
        sets = _changes(setting, rates[plan.illustration], plan)
        params = tuple(plan.params(setting, law).items())
        cell = PolicyRun(f"illustration-{plan.illustration}", plan.policy, params, (*sets,))
        variants.append(cell.variant())
    return variants


def _changes(run_setting: FairioSetting, rate: float, plan: Plan) -> Iterator[str]:
    """Yields the settings that adapt an Illustration to a target asked for `rate` of each class."""
    horizon_ms = _horizon(run_setting)
    requests = min(max(round(rate * horizon_ms / 1e3), 1), REQUESTS_MOST)
    rate = requests / horizon_ms * 1e3
    yield from run_setting.of_job
    for agent in (0, 1):
        yield f"agent.{agent}.arrivals.rate={rate:.3f}/s"
        yield f"agent.{agent}.arrivals.count={requests}"
    # The second class begins half a distance after the first.
    yield f"agent.1.start={round(5e8 / rate)}ns"
    if plan.illustration == 2:
        yield f"agent.0.growth.every={max(round(100 * requests / REPORTS), 1)}"
    depth = run_setting.given.get("cap", run_setting.given.get("load", ""))
    if depth != setting.UNLIMITED:
        yield f"live.depth={max(DEPTH, int(depth) if depth.isdecimal() else 0)}"


def _row(plan: Plan, runs: Sequence[Run], theirs: RunFigures | None) -> LiveRow:
    cell = PolicyRun(f"illustration-{plan.illustration}", plan.policy)
    results = [RunFigures.of(run, cell) for run in runs]
    p99 = [[percentile(class_["lat_ns"], 99) / 1e6 for class_ in run["classes"]] for run in runs]
    return LiveRow(
        illustration=plan.illustration,
        policy=plan.policy,
        mode=plan.mode,
        charge=plan.charge,
        cycle_ms=plan.cycle_ms,
        error_pct=_medians([figures.error_pct for figures in results]),
        spread_pct=cells.spread(results),
        throughput_mib_s=Spread.of(figures.throughput_mib_s for figures in results).median,
        p99_ms=_medians(p99),
        limited_by_demand=any(any(figures.limited) for figures in results),
        simulated_error_pct=None if theirs is None else theirs.error_pct,
    )


def _medians(rounds: Sequence[Sequence[float]]) -> list[float]:
    """Returns the median over the rounds for each class."""
    return [Spread.of(of_class).median for of_class in zip(*rounds, strict=True)]


def _notes(runs: Sequence[Run]) -> Iterator[str]:
    """Returns the remarks on the target, each once."""
    disks = (places.below(run.get("schedulers", {})) for run in runs)
    remarks = (f"note: {remark}" for run in runs for remark in run.get("remarks", []))
    yield from (line for line in dict.fromkeys((*disks, *remarks)) if line is not None)
