"""Search for a setting that meets a goal: policies and parameters are tried on a model first.

Every policy is tried as it is, and with each parameter set otherwise, in short runs. Around the
best of several policies further settings are tried, until none is better. The best of all run
longer and from other seeds; what they give then is the answer. What is tried does not depend on how
fast the machine is, so equal jobs get equal answers.
"""

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock import _native
from penstock.advise.goal import Goal, Standing, rounds_met, standing
from penstock.advise.levels import around, every
from penstock.errors import wrong
from penstock.experiment.bench import Bench
from penstock.experiment.trial import Setup, whole
from penstock.results import json_types, rounds
from penstock.results.figure import Figure, check
from penstock.results.rounds import Rounds
from penstock.results.steps import Progress, as_part
from penstock.session import Variant
from penstock.sweeps.run import measured
from penstock.sweeps.vary import Setting, known_policies
from penstock.target import Target

SCOUTED = 50_000
"""Requests of a short run, if `SCOUTED_OF_CLASS` of the classes in question are among them."""

SCOUTED_OF_CLASS = 200

CONFIRMED = 200_000
"""Requests of a run that confirms."""

CONFIRMED_OF_CLASS = 1_000

PARENTS = 3
"""Number of the best settings, of different policies, around which further ones are tried."""

PASSES = 3
"""Largest number of rounds of trying further settings."""

FINALISTS = 8
"""Number of settings that run longer, and from other seeds."""

SEEDS = 3

ROUNDS_LIVE = 3
"""Rounds on a real target."""

LIVE = 3
"""Number of the best settings that run on a target."""

ENOUGH = 0.01
"""Relative difference that does not count; the setting with the fewest changes is then taken."""


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A setting that was confirmed."""

    setting: Setting
    rounds: Rounds
    standing: Standing
    met: int
    """Rounds in which all goals were met."""


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The best settings, the best of all first."""

    goals: Sequence[Goal]
    best: Figure
    candidates: Sequence[Candidate]
    comparison: json_types.Comparison
    """Results of the candidates, each where a policy stands."""
    model: str
    """The device that settings were tried on."""
    tried: int
    """Settings."""
    first_seed: int
    """Seed of the runs by which settings were chosen; those that confirm have the next."""

    @property
    def found(self) -> Candidate | None:
        """The answer; nothing if no setting meets the goals."""
        first = self.candidates[0]
        return first if first.standing.meets else None

    @property
    def runner_up(self) -> Candidate | None:
        """The best setting of another policy."""
        first, *rest = self.candidates
        of_other_policies = (
            candidate for candidate in rest if candidate.setting.policy != first.setting.policy
        )
        return next(of_other_policies, None)

    @property
    def as_it_is(self) -> Candidate | None:
        """The best without any parameter, if the answer has one."""
        first, *rest = self.candidates
        plain = (candidate for candidate in rest if not candidate.setting.changes)
        return next(plain, None) if first.setting.changes else None


@dataclass
class _Search:
    """State of the search: the settings tried so far."""

    job: Variant
    on: Target
    goals: Sequence[Goal]
    best: Figure
    tried: dict[str, tuple[Setting, Standing]]
    model: str = ""

    def tries(self, settings: Iterable[Setting], progress: Progress, share: float) -> None:
        """Try those that were not yet tried, and whose parameters go together.

        `share` of the whole search is done when they have run.
        """
        fresh = {
            setting.label: setting
            for setting in settings
            if setting.label not in self.tried and self.goes_together(setting)
        }
        if not fresh:
            return
        step = as_part(progress, f"trying {len(fresh)}", 0.0, share)
        ran = measured(self.job, list(fresh.values()), self.on, progress=step)
        self.model = ran["device"]
        for policy in rounds.by_policy(ran):
            stands = standing(policy, self.goals, self.best)
            self.tried[policy.label] = fresh[policy.label], stands

    def goes_together(self, setting: Setting) -> bool:
        """Whether its changes are right together: some belong to one mode of a policy only."""
        job = setting.of(self.job)
        return not setting.changes or _native.is_right(job.name, job.text, job.sets)

    def ranked(self) -> list[tuple[Setting, Standing]]:
        """The best first; of equals the one with the fewest changes."""
        return sorted(
            self.tried.values(),
            key=lambda result: (*result[1].key(), -len(result[0].changes)),
            reverse=True,
        )

    def parents(self) -> list[Setting]:
        """The best settings of the best policies."""
        by_policy: dict[str, Setting] = {}
        for setting, _ in self.ranked():
            by_policy.setdefault(setting.policy, setting)
        return list(by_policy.values())[:PARENTS]

    def finalists(self) -> list[Setting]:
        """The best of all, and the best of policies and of defaults, which may be as good."""
        # Parameters that change nothing make one setting of many.
        alike = {(setting.policy, stands): setting for setting, stands in reversed(self.ranked())}
        ranked = [
            setting for setting, stands in self.ranked() if alike[setting.policy, stands] is setting
        ]
        plain = [setting for setting in ranked if not setting.changes]
        chosen = [*ranked[: FINALISTS - 4], *self.parents()[1:], *plain[:2], *ranked]
        return list({setting.label: setting for setting in chosen}.values())[:FINALISTS]


def search(
    job: Variant,
    goals: Sequence[Goal],
    best: Figure,
    target: Target,
    *,
    policies: Sequence[str] = (),
    progress: Progress | None = None,
) -> Advice:
    """Find the setting that meets all `goals` and has the best of one figure.

    On a modelled device everything runs there. On a real target settings are tried on the job's own
    device, and the best are measured in rounds.
    """
    report = progress or (lambda _what, _share: None)
    modelled = not is_real(target)
    model = target if modelled else Target()
    written = _Written.of(job, model)
    rates = _rates(job, model, written, goals, best)
    short = written.for_requests(rates, SCOUTED, SCOUTED_OF_CLASS)
    search_state = _Search(_lasting(job, short), model, goals, best, {})
    search_state.tries(every(policies or known_policies()), report, 0.4)
    for number in range(PASSES):
        before = search_state.ranked()[0]
        next_to = [setting for parent in search_state.parents() for setting in around(parent)]
        search_state.tries(next_to, report, 0.6 + 0.1 * number)
        if search_state.ranked()[0] == before:
            break
    longer = written.for_requests(rates, CONFIRMED, CONFIRMED_OF_CLASS)
    sets = [*_lasting(job, longer).sets, f"seed={written.seed + 1}"]
    finals = replace(job, sets=sets)
    settings = search_state.finalists()
    step = as_part(report, "confirming", 0.0, 1.0)
    ran = measured(finals, settings, model, repeat=SEEDS, progress=step)
    candidates = _ranked(settings, ran, goals, best)
    if not modelled:
        settings = [candidate.setting for candidate in candidates[:LIVE]]
        step = as_part(report, "measuring", 0.0, 1.0)
        ran = measured(job, settings, target, repeat=ROUNDS_LIVE, progress=step)
        candidates = _ranked(settings, ran, goals, best)
    # What the search itself has set is no change of the job.
    ran = {**ran, "job": {**ran["job"], "set": list(job.sets)}}
    return Advice(
        goals=goals,
        best=best,
        candidates=candidates,
        comparison=ran,
        model=search_state.model,
        tried=len(search_state.tried),
        first_seed=written.seed,
    )


def is_real(target: Target) -> bool:
    """Whether it is no model in virtual time."""
    if target.on is None or target.on.endswith(".toml"):
        return False
    return target.on not in {device["name"] for device in json.loads(_native.devices())}


def _ranked(
    settings: Sequence[Setting],
    ran: json_types.Comparison,
    goals: Sequence[Goal],
    best: Figure,
) -> list[Candidate]:
    """The best first; of those that are as good the one with the fewest changes."""
    candidates = [
        Candidate(
            setting=setting,
            rounds=policy,
            standing=standing(policy, goals, best),
            met=rounds_met(policy, goals),
        )
        for setting, policy in zip(settings, rounds.by_policy(ran), strict=True)
    ]
    candidates.sort(key=lambda candidate: candidate.standing.key(), reverse=True)
    top = candidates[0].standing

    def as_good(candidate: Candidate) -> bool:
        return candidate.standing.meets and abs(
            candidate.standing.score - top.score
        ) <= ENOUGH * abs(top.score)

    if top.meets:
        simplest = min(
            filter(as_good, candidates), key=lambda candidate: len(candidate.setting.changes)
        )
        candidates.remove(simplest)
        candidates.insert(0, simplest)
    return candidates


@dataclass(frozen=True)
class _Written:
    """Duration and warm-up that the job sets, in nanoseconds; a trace may set none."""

    duration: int | None
    warmup: int
    seed: int

    @classmethod
    def of(cls, job: Variant, on: Target) -> "_Written":
        """Reads the durations of the job on its target, with its changes."""
        with Bench(Setup(target=on, reduce=whole, policies=["fcfs"])) as bench:
            (known,) = bench.check([job])
        said = tomllib.loads(known["job"]["text"])

        def ns(key: str) -> int | None:
            return _native.duration(said[key]) if key in said else None

        return cls(ns("duration"), ns("warmup") or 0, known["seed"])

    def for_requests(self, rates: tuple[float, float], requests: int, of_class: int) -> int | None:
        """Returns the duration for `requests`, and for `of_class` of the class with the fewest."""
        if self.duration is None:
            return None
        every, fewest = rates
        needed = max(requests / every, of_class / fewest) if fewest else self.duration / 1e9
        return min(self.duration, self.warmup + round(1e9 * needed))


def _lasting(job: Variant, ns: int | None) -> Variant:
    """Returns the job with the duration set to `ns`."""
    return job if ns is None else replace(job, sets=[*job.sets, f"duration={ns // 10**6}ms"])


def _rates(
    job: Variant, on: Target, written: _Written, goals: Sequence[Goal], best: Figure
) -> tuple[float, float]:
    """Requests a second of all classes, and of the one in question that has the fewest."""
    if written.duration is None:
        return 0.0, 0.0
    probe = min(written.duration, written.warmup + max(10**9, written.duration // 20))
    ran = measured(_lasting(job, probe), [Setting(policy="fcfs", changes={})], on)
    if on.on is None and ran["world"] == "measured":
        hint = "name a model with --on, as in --on hdd-7200: settings are tried there"
        raise wrong("the files of the job are on real targets", hint)
    classes = {class_["name"]: class_ for class_ in ran["runs"][0]["classes"]}
    asked = [goal.figure for goal in goals] + [best]
    for figure in asked:
        check(figure, list(classes))
    seconds = (probe - written.warmup) / 1e9
    counts = [classes[figure.of]["requests"] / seconds for figure in asked]
    if min(counts) == 0:
        name = asked[counts.index(0)].of
        raise wrong(f"{name} finishes nothing in a probe of the job", "look at it with `compare`")
    return sum(class_["requests"] for class_ in classes.values()) / seconds, min(counts)
