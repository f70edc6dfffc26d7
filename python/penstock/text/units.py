"""Formatting of figures: three significant digits, always with the unit."""

LENGTHS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
"""Units of time, each with its length in nanoseconds."""


def digits(value: float, significant: int = 3) -> str:
    """Format a figure to `significant` digits, without an exponent, with thousands separators."""
    if value == 0:
        return "0"
    text = f"{value:.{significant - 1}e}"
    exponent = int(text.partition("e")[2])
    return f"{float(text):,.{max(significant - 1 - exponent, 0)}f}"


def unit_of(ns: float) -> tuple[float, str]:
    """Return the length in ns and the name of the unit that keeps a time between 1 and 1000."""
    for length, unit in LENGTHS[:-1]:
        # Rounding may reach 1000: the next unit then.
        if float(f"{abs(ns) / length:.2e}") < 1000:
            return length, unit
    return LENGTHS[-1]


def latency(ns: float) -> str:
    """Format a time in the unit that keeps it between 1 and 1000."""
    length, unit = unit_of(ns)
    return f"{digits(ns / length)} {unit}"


def seconds(s: float) -> str:
    """Format a long time in seconds, minutes or hours."""
    for length, unit in ((3600, "h"), (60, "min")):
        if s >= 2 * length:
            return f"{digits(s / length)} {unit}"
    return latency(s * 1e9)


def count(n: int) -> str:
    """Format a whole number with thousands separators."""
    return f"{n:,}"


def many(n: int, noun: str) -> str:
    """Format a number with its noun; the plural ends in s."""
    return f"{count(n)} {noun}" if n == 1 else f"{count(n)} {noun}s"


def rate(per_second: float) -> str:
    """Format events a second: three digits, and whole above a hundred."""
    return digits(per_second) if per_second < 100 else f"{per_second:,.0f}"


def megabytes(bytes_per_second: float) -> str:
    """Format throughput in MB/s, without the unit, which the heading has."""
    return rate(bytes_per_second / 1e6)


def size(n: float) -> str:
    """Format bytes in the decimal unit that keeps them between 1 and 1000."""
    for length, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n >= length:
            return f"{digits(n / length)} {unit}"
    return f"{digits(n)} B"


def ratio(value: float) -> str:
    """Format a ratio, which may be infinite."""
    return "∞" if value == float("inf") else digits(value)


def percent(share: float) -> str:
    """Format a share of 1 as a percentage with one decimal."""
    return f"{100 * share:.1f} %"
