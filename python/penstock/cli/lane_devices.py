"""`--on` of a replay: where all of a trace is played, or what each of its devices is played on."""

import json
from collections.abc import Sequence
from pathlib import Path

from penstock import _native
from penstock.errors import PenstockError, wrong

_SCHEMES = ("emulated:", "loop:")
"""What begins a target that is no path by itself."""


def divided(given: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Where all is played, if that is named, and what each device of the trace is played on."""
    devices: dict[str, str] = {}
    place: str | None = None
    for text in given:
        pair = _named(text)
        if pair is None:
            if place is not None:
                raise _both(place, text, "are two places for the whole trace")
            place = text
            continue
        name, model = pair
        if name in devices:
            raise _both(f"{name}={devices[name]}", text, "are for the same device of the trace")
        devices[name] = model
    if place is not None and devices:
        (name, model), *_ = devices.items()
        raise _both(place, f"{name}={model}", "are for the whole trace and for one device of it")
    return place, devices


def _both(one: str, other: str, what: str) -> PenstockError:
    return wrong(
        f"--on {one} and --on {other} {what}",
        "name one place for all, or one model for each device, as in --on sda=hdd-7200",
    )


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
