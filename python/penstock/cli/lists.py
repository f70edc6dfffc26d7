"""Options that are lists: words or numbers with commas between them."""

from collections.abc import Iterable

from penstock.errors import wrong


def words(option: str, text: str, known: Iterable[str]) -> list[str]:
    """The words, each of them a known one."""
    known = list(known)
    named = [word.strip() for word in text.split(",")]
    for word in named:
        if word not in known:
            raise wrong(
                f"{option}: found {word!r}; expected one of {', '.join(known)}",
                f"as {option} {known[0]}",
            )
    return named


def numbers(option: str, text: str) -> list[int]:
    """The whole numbers."""
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        hint = f"as {option} 1,2,5"
        raise wrong(f"{option}: found {text!r}; expected whole numbers", hint) from None


def positive(option: str, text: str) -> list[int]:
    """The whole numbers, each above zero."""
    counts = numbers(option, text)
    for number in counts:
        if number < 1:
            raise wrong(f"{option}: found {number}; expected 1 or more", f"as {option} 1,2")
    return counts


def share(option: str, text: str) -> float:
    """The share of 1 that a percentage is."""
    number = text.strip().removesuffix("%")
    try:
        value = float(number) / 100
    except ValueError:
        value = -1.0
    if number == text.strip() or not 0 <= value <= 1:
        raise wrong(f"{option}: found {text}; expected 0% to 100%", f"as {option} 60%")
    return value
