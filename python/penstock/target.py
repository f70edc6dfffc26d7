"""A target: where a command runs, and what it may do there.

An option of targets is declared here once, for programs and for the command line.
"""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from os import PathLike, fspath
from typing import Annotated, TypedDict, TypeVar, get_type_hints

from penstock import _native

BLOCK = "block:"
"""Prefix of the name of a model that is served as a block device, by a process of its own."""


@dataclass(frozen=True, kw_only=True)
class Flag:
    """An option as the command line shows it; its name is that of the field, with dashes."""

    help: str
    metavar: str | None = None
    """Placeholder of the value; `None` for an option without a value."""
    repeated: bool = False
    """The option may be given several times."""


class TargetOptions(TypedDict, total=False):
    """The options that all commands share: they say what a command may do where it runs."""

    create: Annotated[
        str | None,
        Flag(
            metavar="SIZE",
            help="Make the owned file if it is missing, of this size, as 256MiB. "
            "An existing file that is not penstock's own is never touched.",
        ),
    ]
    i_will_lose_data: Annotated[
        str | PathLike[str] | Sequence[str | PathLike[str]] | None,
        Flag(
            metavar="SERIAL|PATH",
            repeated=True,
            help="The block device of --on once more, by serial number or path: what is on it is "
            "written over. Repeat it for each. "
            "A device that is in use or carries anything is refused all the same. "
            "Or the path of an owned file once more, if what a gate wrote to it may be lost.",
        ),
    ]
    even_if_not_empty: Annotated[
        bool,
        Flag(
            help="Use the device even if it holds unrecognised data. It goes with "
            "--i-will-lose-data.",
        ),
    ]
    read_only: Annotated[
        bool,
        Flag(
            help="Only read the target: it may be any file or disk, also one that is in use. The "
            "job may not write.",
        ),
    ]
    engine: Annotated[
        str | None,
        Flag(
            metavar="NAME",
            help=f"How a real file is driven: {', '.join(json.loads(_native.engines()))}. If not "
            "given, the first that works here.",
        ),
    ]


FLAGS: dict[str, Flag] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(TargetOptions, include_extras=True).items()
}
"""How the command line shows each option of a target."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where a command runs, and what it may do there."""

    on: str | None = None
    """A device's name, a device file, a target's path, `emulated:…`, `block:…` or `null`; by
    default the job's own device, or the targets of its files."""
    options: TargetOptions = field(default_factory=TargetOptions)

    def __post_init__(self) -> None:
        """Check the names of the options, which may be any keywords of a program's call."""
        for name in self.options.keys() - FLAGS.keys():
            raise TypeError(f"got an unexpected keyword argument {name!r}")

    def json(self) -> str:
        """Return the target for the engine; an option that is `None` is left out."""
        options: dict[str, object] = {"on": self.on, **self.options}
        # For block:DEVICE, and for policies behind a served device.
        options["server"] = [sys.executable, "-m", "penstock", "serve"]
        options = {name: value for name, value in options.items() if value is not None}
        return json.dumps(options, default=_plain, ensure_ascii=False)


Call = TypeVar("Call", bound=Callable[..., object])


def with_options(call: Call) -> Call:
    """Give `call`, which ends with `**options`, a signature that shows each option of a target."""
    shown = signature(call)
    *named, _ = shown.parameters.values()
    replaced = shown.replace(parameters=[*named, *_keywords()])
    call.__signature__ = replaced  # type: ignore[attr-defined]
    return call


def _keywords() -> Iterator[Parameter]:
    for name, kind in get_type_hints(TargetOptions).items():
        default = False if kind is bool else None
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def path(name: str | PathLike[str] | None) -> str | None:
    """Return a path as a string for a target."""
    return None if name is None else fspath(name)


def _plain(value: Iterable[object]) -> object:
    """Return a path as a string, and several values as a list."""
    return fspath(value) if isinstance(value, PathLike) else list(value)
