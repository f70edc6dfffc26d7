"""What `--set` may change of a paper's model, and what of its job that is."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product

from penstock.errors import PenstockError, wrong
from penstock.text.units import LENGTHS

SEEDS_MOST = 1000

ARROW = "  --> --set "
"""What stands before the key of an argument in the engine's errors."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The keys of a paper's model."""

    keys: Mapping[str, Sequence[str]]
    """Each key, and the keys of the job that it sets."""
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Keys that the simulation itself reads, and their words; the first is the paper's."""
    examples: Sequence[str]

    @property
    def names(self) -> list[str]:
        """All keys."""
        return [*self.keys, *self.choices]

    def read(self, sets: Sequence[str]) -> dict[str, str]:
        """Returns the values of `--set`, checked by name; the engine checks the values."""
        values: dict[str, str] = {}
        for text in sets:
            key, equals, value = (part.strip() for part in text.partition("="))
            if not equals:
                raise wrong(f"--set {text}: expected KEY=VALUE", f"as --set {self.examples[0]}")
            if key not in self.names:
                raise wrong(
                    f"--set {text}: unknown key {key}", f"known are {', '.join(self.names)}"
                )
            values[key] = value
        for key, words in self.choices.items():
            value = values.get(key, words[0])
            if value not in words:
                expected = f"expected {' or '.join(words)}"
                raise wrong(f"--set {key}={value}: {expected}", f"{words[0]} is the paper's")
        return values

    def read_live(self, sets: Sequence[str], keys: Sequence[str]) -> dict[str, str]:
        """Returns the values of `--set` for real time; refuses other keys than `keys`."""
        values = self.read(sets)
        for key, value in values.items():
            if key not in keys:
                known = f"known in real time are {', '.join(keys)}"
                raise wrong(f"--set {key}={value} belongs to the simulation", known)
        return values

    def of_job(self, arguments: Mapping[str, str]) -> Iterator[str]:
        """Yields the arguments as settings of the job, for the engine."""
        for key, value in arguments.items():
            yield from (f"{path}={value}" for path in self.keys.get(key, ()))

    @contextmanager
    def errors(self, arguments: Mapping[str, str]) -> Iterator[None]:
        """Within this, the engine's errors show the arguments as they were given."""
        try:
            yield
        except PenstockError as error:
            message = self._as_given(str(error), arguments)
            raise PenstockError(message, exit_code=error.exit_code) from error

    def _as_given(self, message: str, arguments: Mapping[str, str]) -> str:
        """The engine's message with the argument as it was given, and the caret below it."""
        lines = message.split("\n")
        for key, value in arguments.items():
            # Of a list each part may be a job's.
            for path, part in product(self.keys.get(key, ()), (value, *listed(value))):
                engine, ours = f"--set {path}={part}", f"--set {key}={part}"
                for at, line in enumerate(lines):
                    if engine in line:
                        lines[at] = line.replace(engine, ours)
                        lines[at + 1] = _moved(lines[at + 1], len(ours) - len(engine))
        return "\n".join(lines)


def _moved(line: str, by: int) -> str:
    """A line with a caret, which stands so many columns further right, below the argument."""
    bar, caret, rest = line.partition("^")
    columns = max(len(bar) + by, len(ARROW))
    return bar[:columns].ljust(columns) + caret + rest


def listed(text: str) -> list[str]:
    """The parts of a list."""
    return [part.strip() for part in text.split(",")]


def milliseconds(key: str, text: str, example: str) -> float:
    """A length of time above zero, as `--set` of `key` has it."""
    units = {unit: ns / 1e6 for ns, unit in LENGTHS} | {"us": 1e-3, "min": 6e4}
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w+)", text)
    if match is None or match[2] not in units or not float(match[1]):
        raise wrong(f"--set {key}: found {text}; expected times above zero", f"as {example}")
    ms = float(match[1]) * units[match[2]]
    return int(ms) if ms == int(ms) else ms


def seeds(arguments: Mapping[str, str], usual: int) -> range:
    """The seeds of each figure, as `--set seeds` has their number."""
    text = arguments.get("seeds", f"{usual}")
    if not text.isdecimal() or not 1 <= int(text) <= SEEDS_MOST:
        expected = f"expected how many there are, from 1 to {SEEDS_MOST}"
        raise wrong(f"--set seeds={text}: {expected}", f"{usual} are usual")
    return range(1, int(text) + 1)
