"""Jobs built in Python.

A job here is its TOML text and a name for it. Built from parts, the parts are written out as TOML
and nothing is checked: there is one checker, the engine's, and it says the same of a job in a file
and of one that a program made.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Plain: TypeAlias = "str | int | float | bool | Sequence[Plain] | Mapping[str, Plain]"
"""A value that TOML can say. Quantities are text with their unit, as `4KiB` or `10s`."""


@dataclass(frozen=True, kw_only=True)
class Class:
    """A class of work."""

    name: str
    """As results name it."""
    weight: int | None = None
    """Its part of the device, relative to the other classes' weights: 1 to 10,000, else 100."""
    prio: int | None = None
    ioprio: str | None = None
    """From 0 to 7; the lower goes first."""


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A source of requests: the words are those of `[[agent]]` in a job file."""

    class_: str
    """Name of the class of its requests."""
    op: str
    """`read` or `write`."""
    size: str
    """Bytes of a request, as `4KiB`."""
    pattern: str
    """`random` or `sequential`."""
    arrivals: Mapping[str, Plain]
    """When it asks, as `{"kind": "poisson", "rate": "20/s"}`."""
    name: str | None = None
    """What a change may call it, as `agent.reader.rate`, in the place of its number."""
    sync: bool | None = None
    """Whether a program waits for each of its requests."""
    cache: str | None = None
    """`buffered`, through the page cache, or `direct`; `direct` if not given."""
    region: Sequence[str] | None = None
    """Its part of the file or device, as `("0%", "10%")`; the whole if not given."""
    file: str | Sequence[str] | None = None
    """The files that it works on; all of the job's only name if not given."""
    copies: int | None = None
    """How many of it there are on each of its files; one if not given."""
    share: str | None = None
    """`whole`, the region is that of all copies on a file, or `slices`, each has its part."""
    start: str | None = None
    """When it begins."""
    stop: str | None = None
    """When it stops asking."""


@dataclass(frozen=True, init=False)
class Job:
    """A workload and where it runs."""

    name: str
    """What messages and results call it. A device file that it names lies in its folder."""
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
        """A job of these parts; what is not given keeps the engine's default.

        The words are those of a job file. `policies` holds parameters by the policy's name, as
        `{"size-priority": {"split": "64KiB"}}`. A job has agents, or programs on the processors of
        `cpu`: each a mapping with the words of `[[program]]`. Agents work on `files`, each a
        mapping with the words of `[[file]]`, or on the one device of a job without.
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
        """The job that this TOML says."""
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
    """A line for each that is given."""
    for key, value in table.items():
        if value is not None:
            yield f"{_key(key)} = {plain(value)}"


def _key(key: str) -> str:
    bare = key.isascii() and key.replace("-", "").replace("_", "").isalnum()
    return key if bare else plain(key)


def plain(value: Plain) -> str:
    """A value as TOML writes it, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # TOML's basic strings are JSON's, but for one control character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {plain(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    return f"[{', '.join(plain(item) for item in value)}]"
