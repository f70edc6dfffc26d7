"""Jobs built in Python.

A job is its TOML text and a name. Its parts are written as TOML and not checked here: the engine
checks jobs from files and jobs from programs alike.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain]"
"""A TOML value. Quantities are strings with a unit, such as `4KiB` or `10s`."""


@dataclass(frozen=True, kw_only=True)
class Class:
    """A class of work."""

    name: str
    """Name in results."""
    weight: int | None = None
    """Its share of the device relative to the other classes: 1 to 10,000; 100 by default."""
    prio: int | None = None
    ioprio: str | None = None
    """From 0 to 7; the lower goes first."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A source of requests, with the keys of `[[agent]]` in a job file."""

    class_: str
    """Name of the class of its requests."""
    op: str
    """`read` or `write`."""
    size: str
    """Bytes of a request, such as `4KiB`."""
    pattern: str
    """`random` or `sequential`."""
    arrivals: Mapping[str, Plain]
    """When requests arrive, such as `{"kind": "poisson", "rate": "20/s"}`."""
    name: str | None = None
    """Name for `set`, as in `agent.reader.rate`, in place of its number."""
    sync: bool | None = None
    """Whether a program waits for each of its requests."""
    cache: str | None = None
    """`buffered`, through the page cache, or `direct`, the default."""
    region: Sequence[str] | None = None
    """Its part of the file or device, such as `("0%", "10%")`; all of it by default."""
    file: str | Sequence[str] | None = None
    """Names of the files that it works on; may be omitted if the job has only one name."""
    copies: int | None = None
    """Number of copies on each of its files; 1 by default."""
    share: str | None = None
    """`whole`: all copies on a file use the same region; `slices`: each has a part of it."""
    start: str | None = None
    """Time of its start."""
    stop: str | None = None
    """Time from which it sends no more requests."""


@dataclass(frozen=True, init=False)
class Job:
    """A workload and where it runs."""

    name: str
    """Name in messages and results. A device file that the job names lies in its folder."""
    text: str = field(repr=False)
    """The job as TOML."""

    def __init__(
        self,
        *,
        duration: str,
        agents: Sequence[Agent | Mapping[str, Plain]] = (),
        programs: Sequence[Mapping[str, Plain]] = (),
        cpu: Mapping[str, Plain] | None = None,
        classes: Sequence[Class | str] = (),
        device: str | Mapping[str, Plain] | None = None,
        files: Sequence[Mapping[str, Plain]] = (),
        seed: int | None = None,
        warmup: str | None = None,
        stop: str | None = None,
        max_outstanding: int | None = None,
        live: Mapping[str, Plain] | None = None,
        page_cache: Mapping[str, Plain] | None = None,
        policies: Mapping[str, Mapping[str, Plain]] | None = None,
        name: str = "job",
    ) -> None:
        """Make a job of these parts; omitted parts have the engine's defaults.

        The keys are those of a job file. `policies` has parameters by the policy's name, such as
        `{"size-priority": {"split": "64KiB"}}`. A job has agents, or programs on the processors of
        `cpu`, each a mapping with the keys of `[[program]]`. Agents work on `files`, each a
        mapping with the keys of `[[file]]`, or on the job's device if there are none.
        """
        parts = {
            "seed": seed,
            "duration": duration,
            "warmup": warmup,
            "stop": stop,
            "max_outstanding": max_outstanding,
            "device": device,
            "live": live,
            "page_cache": page_cache,
        }
        lines = [*_pairs(parts)]
        for item in classes:
            class_ = Class(name=item) if isinstance(item, str) else item
            lines += ["", f"[class.{_key(class_.name)}]"]
            lines += _pairs({"weight": class_.weight, "prio": class_.prio, "ioprio": class_.ioprio})
        if cpu is not None:
            lines += ["", "[cpu]", *_pairs(cpu)]
        for program in programs:
            lines += ["", "[[program]]", *_pairs(program)]
        for file in files:
            lines += ["", "[[file]]", *_pairs(file)]
        for agent in agents:
            lines += ["", "[[agent]]", *_pairs(_agent(agent))]
        for policy, params in (policies or {}).items():
            lines += ["", f"[policy.{_key(policy)}]", *_pairs(params)]
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "text", "\n".join([*lines, ""]))

    @classmethod
    def from_toml(cls, text: str, *, name: str = "job") -> "Job":
        """Make a job from its TOML text."""
        job = cls.__new__(cls)
        object.__setattr__(job, "name", name)
        object.__setattr__(job, "text", text)
        return job


def _agent(agent: Agent | Mapping[str, Plain]) -> "Mapping[str, Plain | None]":
    if isinstance(agent, Mapping):
        return agent
    return {
        "name": agent.name,
        "class": agent.class_,
        "op": agent.op,
        "sync": agent.sync,
        "cache": agent.cache,
        "size": agent.size,
        "pattern": agent.pattern,
        "region": agent.region,
        "file": agent.file,
        "copies": agent.copies,
        "share": agent.share,
        "arrivals": agent.arrivals,
        "start": agent.start,
        "stop": agent.stop,
    }


def _pairs(table: "Mapping[str, Plain | None]") -> Iterator[str]:
    """Yield a TOML line for each value that is not `None`."""
    for key, value in table.items():
        if value is not None:
            yield f"{_key(key)} = {plain(value)}"


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else plain(key)


def plain(value: Plain) -> str:
    """Return a value as TOML, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are those of JSON, except for one control character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {plain(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return f"[{', '.join(plain(item) for item in value)}]"
