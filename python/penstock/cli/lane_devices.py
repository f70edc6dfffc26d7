"""`--on`: where all of a job or of a trace is, or what each file or device of a trace is on."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from penstock import _native
from penstock.errors import PenstockError, wrong

_SCHEMES = ("emulated:", "loop:")
"""What begins a target that is no path by itself."""

_FILE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(\.[0-9]+)?")
"""What a file of a job is called."""


class InputKind(NamedTuple):
    """A kind of input that `--on` places as a whole, or part by part."""

    name: str
    part: str
    example: str

    def conflict(self, first: str, second: str, reason: str) -> PenstockError:
        """The error for two arguments that do not go together."""
        return wrong(
            f"--on {first} and --on {second} {reason}",
            f"name one place for all, or one for each {self.part}, as in --on {self.example}",
        )


TRACE = InputKind("trace", "device", "sda=hdd-7200")
JOB = InputKind("job", "file", "data=hdd-7200")


def divided(arguments: Sequence[str], kind: InputKind) -> tuple[str | None, dict[str, str]]:
    """Where all is, if that is named, and what each part is on."""
    devices: dict[str, str] = {}
    place: str | None = None
    for text in arguments:
        pair = _named(text) if kind is TRACE else _file(text)
        if pair is None:
            if place is not None:
                raise kind.conflict(place, text, f"are two places for the whole {kind.name}")
            place = text
            continue
        name, model = pair
        if name in devices:
            reason = f"are for the same {kind.part} of the {kind.name}"
            raise kind.conflict(f"{name}={devices[name]}", text, reason)
        devices[name] = model
    if place is not None and devices:
        (name, model), *_ = devices.items()
        reason = f"are for the whole {kind.name} and for one {kind.part} of it"
        raise kind.conflict(place, f"{name}={model}", reason)
    return place, devices


def of_files(devices: dict[str, str]) -> list[str]:
    """The arguments of `--set` that put each of these files of a job on its device or target."""
    return [f"{_key(name, place)}={place}" for name, place in devices.items()]


def _key(name: str, place: str) -> str:
    section, _, number = name.partition(".")
    if number:
        return f"file.{section}.on.{number}"
    return f"file.{section}.{'path' if _is_path(place) else 'device'}"


def _is_path(place: str) -> bool:
    """Whether it names real targets, and no model."""
    if place.endswith(".toml") or place.startswith("emulated:"):
        return False
    return "/" in place or place.startswith("loop:")


def _file(text: str) -> tuple[str, str] | None:
    """The name of a file of a job and that of a model or a target, if that is what it is.

    The path of a target may have an equals sign too: there is such a file, or what stands behind
    the sign looks like a name of a file and not like a path.
    """
    name, equals, place = text.partition("=")
    if not equals or not _FILE.fullmatch(name) or Path(text).exists():
        return None
    path = "/" in place or place.startswith(_SCHEMES)
    return None if "." in place and not path and not place.endswith(".toml") else (name, place)


def _named(text: str) -> tuple[str, str] | None:
    """The name of a device of the trace and that of a model, if that is what it is.

    The path of a target may have an equals sign too: there a slash stands before it, and no model
    behind it.
    """
    name, equals, model = text.rpartition("=")
    if not equals or text.startswith(_SCHEMES) or Path(text).exists():
        return None
    if "/" in name and not model.endswith(".toml") and model not in _models():
        return None
    return name, model


def _models() -> set[str]:
    return {device["name"] for device in json.loads(_native.devices())}


def step(name: str) -> str:
    """The name as a step of a key of `--set`."""
    return f'"{name}"' if "." in name or "=" in name else name
