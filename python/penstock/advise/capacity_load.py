"""The load of a class: its copies, its rate or its weight, in steps from 1 on.

A step is one copy, a weight of one, or less than a hundredth of the rate that the job states.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import floor, gcd, log10
from typing import Any, Literal, TypeAlias, get_args

from penstock.errors import wrong

By: TypeAlias = Literal["copies", "rate", "weight"]
"""What grows with the load of a class."""

KINDS: tuple[By, ...] = get_args(By)

COPIES_MOST = 1000
"""Copies up to which a search goes if nothing else is asked for, and ten times those of the job."""

RATE_MOST = 100
"""Multiple of a job's rate up to which a search goes if nothing else is asked for."""

WEIGHT = 100
"""Weight of a class that states none."""

WEIGHT_MOST = 10_000
"""Largest weight of a class."""


@dataclass(frozen=True, kw_only=True)
class ClassLoad:
    """How a class grows, from one step on."""

    class_: str
    by: By
    step: float
    """The load of one step: a number of copies, requests a second, or a weight."""
    start: int
    """Steps of the job as it is."""
    most: int
    """Most steps of a search."""
    keys: Mapping[str, float]
    """Value of each key of the job at one step."""

    def sets(self, steps: int) -> list[str]:
        """Returns the changes of the job that give it a load."""
        return [f"{key}={self._value(value * steps)}" for key, value in self.keys.items()]

    def number(self, steps: int) -> float:
        """Returns a load in its unit, without the last digits of floating point."""
        return float(f"{self.step * steps:.9g}")

    def bare(self, steps: int) -> str:
        """Returns a load as a number, whose unit the title has."""
        return f"{steps:,}" if self.by != "rate" else self._value(self.number(steps))[:-2]

    def text(self, steps: int) -> str:
        """Returns a load with its unit."""
        if self.by == "rate":
            return f"{self.bare(steps)}/s"
        if self.by == "weight":
            return f"weight {self.bare(steps)}"
        return f"{self.bare(steps)} {'copy' if steps == 1 else 'copies'}"

    def amount(self, steps: int) -> str:
        """Returns a load with its unit and the class."""
        return f"{self.text(steps)} {'for' if self.by == 'weight' else 'of'} {self.class_}"

    def least(self) -> str:
        """Returns the least load in words."""
        return self.amount(1).replace("1 copy", "one copy")

    @property
    def title(self) -> str:
        """Name of its axis and column, with the unit."""
        return f"{self.by} of {self.class_}{', 1/s' if self.by == 'rate' else ''}"

    def up_to(self, text: str | None) -> "ClassLoad":
        """Returns the load with the limit of a search; without one, as it is."""
        if text is None:
            return self
        try:
            number = float(text.strip().removesuffix("/s" if self.by == "rate" else ""))
        except ValueError:
            number = 0.0
        whole = self.by == "rate" or number.is_integer()
        steps = floor(number / self.step + 1e-6) if 0 < number < 1e12 and whole else 0
        if steps < 1 or (self.by == "weight" and steps > WEIGHT_MOST):
            examples = {"copies": "a number, as 200", "rate": "a rate, as 500/s"}
            expected = examples.get(self.by, f"a weight from 1 to {WEIGHT_MOST}")
            hint = f"with --by {self.by} it is the largest load of {self.class_} that is tried"
            raise wrong(f"--up-to: found {text!r}; expected {expected}", hint)
        return replace(self, most=steps, start=min(self.start, steps))

    def _value(self, value: float) -> str:
        if self.by != "rate":
            return str(round(value))
        # Without an exponent, which a job does not take.
        return f"{Decimal(f'{value:.9g}').normalize():f}/s"


def load_of(job: str, name: str, by: By | None) -> ClassLoad:
    """Returns how the class `name` of a job grows, from the job's text with all its defaults.

    Agents have copies and may have a rate; programs may have a rate. Every class has a weight.
    """
    written = tomllib.loads(job)
    names = list(written.get("class", {}))
    if name not in names:
        known = f"one of {', '.join(names)}" if names else "the job has none"
        raise wrong(f"--class: found {name!r}; the job has no such class", known)
    if by == "weight":
        weight = written["class"][name].get("weight", WEIGHT)
        return _load(name, by, 1, weight, WEIGHT_MOST, {f"class.{name}.weight": 1})
    kind = "agent" if "agent" in written else "program"
    members = {
        f"{kind}.{member.get('name', number)}": member
        for number, member in enumerate(written.get(kind, ()))
        if member["class"] == name
    }
    if not members or (kind == "program" and _without_rate(members)):
        reason = f"its programs arrive without a rate: {', '.join(members)}"
        if not members:
            reason = "no agent and no program of the job belongs to it"
        hint = "name a class of agents, or of programs that arrive at a rate; --by weight also goes"
        raise wrong(f"class {name} does not scale with copies or a rate: {reason}", hint)
    if (by or ("copies" if kind == "agent" else "rate")) == "rate":
        return _by_rate(name, members, written.get("file", ()))
    if kind == "program":
        message = f"--by copies: class {name} consists of programs, which have no copies"
        raise wrong(message, "as --by rate")
    return _by_copies(name, members)


def _load(
    name: str, by: By, step: float, start: int, most: int, keys: Mapping[str, float]
) -> ClassLoad:
    return ClassLoad(class_=name, by=by, step=step, start=start, most=most, keys=keys)


def _by_copies(name: str, agents: Mapping[str, Mapping[str, Any]]) -> ClassLoad:
    """Returns a load in copies; several agents keep the ratio of theirs."""
    copies = {key: agent.get("copies", 1) for key, agent in agents.items()}
    start = gcd(*copies.values())
    keys = {f"{key}.copies": count // start for key, count in copies.items()}
    return _load(name, "copies", 1, start, max(COPIES_MOST, 10 * start), keys)


def _by_rate(
    name: str, members: Mapping[str, Mapping[str, Any]], files: Sequence[Mapping[str, Any]]
) -> ClassLoad:
    """Returns a load in requests a second of the whole class; its members keep their ratios."""
    if without := _without_rate(members):
        listed = ", ".join(without)
        message = f"--by rate: found no rate of {listed} in class {name}; expected one of each"
        raise wrong(message, 'as arrivals = { kind = "poisson", rate = "20/s" }, or --by copies')
    rates = {
        key: float(member["arrivals"]["rate"].removesuffix("/s")) for key, member in members.items()
    }
    streams = {key: _streams(member, files) for key, member in members.items()}
    whole = sum(rate * streams[key] for key, rate in rates.items())
    # Between 100 and 1000 steps for the rate of the job.
    step = 10.0 ** (floor(log10(whole)) - 2)
    start = round(whole / step)
    keys = {f"{key}.arrivals.rate": rate / whole * step for key, rate in rates.items()}
    return _load(name, "rate", step, start, RATE_MOST * start, keys)


def _without_rate(members: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    return [key for key, member in members.items() if "rate" not in member["arrivals"]]


def _streams(member: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> int:
    """Returns the number of streams with the rate of a member: its copies on each of its files."""
    counts = {file["name"]: file.get("count", 1) for file in files}
    copies: int = member.get("copies", 1)
    return copies * (sum(counts.get(name, 1) for name in member.get("file", counts)) or 1)
