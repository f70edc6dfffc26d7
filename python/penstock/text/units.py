"""Figures as people read them: three significant digits, and the unit always there."""

LENGTHS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
"""Units of time, each with its length in nanoseconds."""


def digits(value: float, significant: int = 3) -> str:
    """A figure to so many significant digits, never with an exponent, thousands set apart."""
    if value == 0:
        return "0"
    text = f"{value:.{significant - 1}e}"
    exponent = int(text.partition("e")[2])
    return f"{float(text):,.{max(significant - 1 - exponent, 0)}f}"


def unit_of(ns: float) -> tuple[float, str]:
    """The unit that keeps a length of time between 1 and 1000, and its length in nanoseconds."""
    for length, unit in LENGTHS[:-1]:
        # Rounding may reach 1000: the next unit then.
        if float(f"{ns / length:.2e}") < 1000:
            return length, unit
    return LENGTHS[-1]


def latency(ns: float) -> str:
    """A length of time in the unit that keeps it between 1 and 1000."""
    length, unit = unit_of(ns)
    return f"{digits(ns / length)} {unit}"


def seconds(s: float) -> str:
    """A long time in seconds, minutes or hours."""
    for length, unit in ((3600, "h"), (60, "min")):
        if s >= 2 * length:
            return f"{digits(s / length)} {unit}"
    return latency(s * 1e9)


def count(n: int) -> str:
    """A whole number, thousands set apart."""
    return f"{n:,}"


def many(n: int, noun: str) -> str:
    """A number with its noun; the plural ends in s."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"


def rate(per_second: float) -> str:
    """Events a second: three digits, and whole above a hundred."""
    return digits(per_second) if per_second < 100 else f"{per_second:,.0f}"


def megabytes(bytes_per_second: float) -> str:
    """Throughput in MB/s, the unit left to the heading."""
    return rate(bytes_per_second / 1e6)


def size(n: float) -> str:
    """So many bytes, in the decimal unit that keeps them between 1 and 1000."""
    for length, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= length:
            return f"{digits(n / length)} {unit}"
    return f"{digits(n)} B"


def percent(share: float) -> str:
    """A share of 1 as a percentage with one decimal."""
    return f"{100 * share:.1f} %"
