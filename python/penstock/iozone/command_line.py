"""Reading of a command line in IOzone's manner.

An option is a letter behind a dash, or a letter behind `-+`. Letters without a value may share a
dash, and a value may be stuck to its letter: `-Rb out.xls`, `-r512k`, `-t1`. All words behind `-F`
are names of files, up to the next option.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from penstock.errors import PenstockError, wrong
from penstock.iozone.flags import ABSENT, BY_NAME

Values: TypeAlias = dict[str, list[str]]
"""Values of each option that was given, none for one without a value."""

FILES = "-F"


def read(words: Sequence[str]) -> Values:
    """Return the options among `words` with their values, or raise an error at the first wrong."""
    values: Values = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not _is_option(word):
            raise wrong(
                f"the word {word!r} belongs to no option",
                "files are named by -F, one for each thread, or by -f without -t",
            )
        for name, stuck in _options(word):
            flag = BY_NAME.get(name)
            if flag is None:
                raise _unknown(name)
            if name in values and not flag.several:
                raise wrong(f"{name} is given twice", f"give {name} once")
            taken = values.setdefault(name, [])
            if flag.metavar is None:
                continue
            if stuck:
                taken.append(stuck)
            elif rest and not _is_option(rest[0]):
                taken.append(rest.pop(0))
            else:
                raise wrong(f"{name} has no value", f"as {name} {flag.metavar}: {flag.help}")
            while name == FILES and rest and not _is_option(rest[0]):
                taken.append(rest.pop(0))
    return values


def _is_option(word: str) -> bool:
    return len(word) > 1 and word.startswith("-")


def _options(word: str) -> Iterator[tuple[str, str]]:
    """Yield each option of a word, and the value that is stuck to it."""
    letters = word[1:]
    while letters:
        length = 2 if letters.startswith("+") else 1
        name, letters = f"-{letters[:length]}", letters[length:]
        if (flag := BY_NAME.get(name)) is None or flag.metavar is None:
            yield name, ""
        else:
            yield name, letters
            return


def _unknown(name: str) -> PenstockError:
    if (absent := ABSENT.get(name)) is not None:
        return wrong(f"{name} of IOzone is not here, because {absent.because}", absent.instead)
    near = name.swapcase()
    if near not in BY_NAME:
        near = get_close_matches(name, BY_NAME, 1, cutoff=0)[0]
    return wrong(
        f"there is no option {name} here",
        f"the nearest is {near}: {BY_NAME[near].help}",
    )
