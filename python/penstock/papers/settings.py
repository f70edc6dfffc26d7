"""What `--set` may change of a paper's model, and what of its job that is."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.errors import PenstockError, wrong


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
        """What `--set` says, checked by name; the engine checks the values."""
        found: dict[str, str] = {}
        for one in sets:
            key, equals, value = (part.strip() for part in one.partition("="))
            if not equals:
                raise wrong(f"--set {one}: expected KEY=VALUE", f"as --set {self.examples[0]}")
            if key not in self.names:
                raise wrong(f"--set {one}: unknown key {key}", f"known are {', '.join(self.names)}")
            found[key] = value
        for key, words in self.choices.items():
            value = found.get(key, words[0])
            if value not in words:
                expected = f"expected {' or '.join(words)}"
                raise wrong(f"--set {key}={value}: {expected}", f"{words[0]} is the paper's")
        return found

    def of_job(self, given: Mapping[str, str]) -> Iterator[str]:
        """The same for the engine."""
        for key, value in given.items():
            yield from (f"{one}={value}" for one in self.keys.get(key, ()))

    @contextmanager
    def errors(self, given: Mapping[str, str]) -> Iterator[None]:
        """Within this, the engine's errors show the arguments as they were given."""
        try:
            yield
        except PenstockError as error:
            message = self._as_given(str(error), given)
            raise PenstockError(message, exit_code=error.exit_code) from error

    def _as_given(self, message: str, given: Mapping[str, str]) -> str:
        """The engine's message with the argument as it was given, and the caret below it."""
        lines = message.split("\n")
        for key, value in given.items():
            for one in self.keys.get(key, ()):
                engine, ours = f"--set {one}={value}", f"--set {key}={value}"
                for at, line in enumerate(lines):
                    if engine in line:
                        lines[at] = line.replace(engine, ours)
                        lines[at + 1] = _moved(lines[at + 1], len(ours) - len(engine))
        return "\n".join(lines)


def _moved(line: str, by: int) -> str:
    """A line with a caret, which stands so many columns further right."""
    bar, caret, rest = line.partition("^")
    bar = bar.ljust(len(bar) + by)
    return bar[: len(bar) + min(0, by)] + caret + rest
