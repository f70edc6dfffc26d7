"""What failed in a run, in words: requests with errors, and targets that could not go on.

A run in which some requests failed is a result: their errors stand next to it. It failed if the
target is gone or could not go on, or if a class asked and nothing but errors came back; modelled
faults are judged alike.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from penstock.results.json_types import Class, ErrorCount, Run
from penstock.results.judge import mostly_failed
from penstock.text.units import count, many, seconds

ENDED = {
    "asked": "interrupted",
    "timeout": "the target did not answer",
    "resized": "the target's length changed",
    "differs": "data was not what was written",
    "record-lost": "the record of verified writes was lost",
}
"""Why a run ended early."""

GONE = ("ENODEV", "ENXIO")
"""What a device says that is not there any more."""


def why_partial(run: Run) -> str:
    """Why it ended early; an older result says no more than that it did."""
    return ENDED[run.get("ended", "asked")]


def errors(*rounds: Class) -> str:
    """The errors of a class that has some, of all its rounds: which, how many, and the first."""
    requests: dict[str, int] = {}
    for name, of in (item for one in rounds for item in one["error_codes"].items()):
        requests[name] = requests.get(name, 0) + of["requests"]
    codes = sorted(requests.items(), key=lambda item: -item[1])
    names = codes[0][0] if len(codes) == 1 else ", ".join(f"{count(n)} {name}" for name, n in codes)
    kinds = next(one["error_codes"] for one in rounds if one["error_codes"])
    return f"{names}; first {_first(iter(kinds.values()))}"


def most_failed(runs: Sequence[Run]) -> Iterator[str]:
    """A line for each class under each policy of whose requests most failed."""
    classes: dict[tuple[str, str], list[Class]] = {}
    for run in runs:
        for one in run["classes"]:
            classes.setdefault((run["policy"], one["name"]), []).append(one)
    for (policy, name), rounds in classes.items():
        if mostly_failed(*rounds):
            failed = sum(one["errors"] for one in rounds)
            ended = failed + sum(one["requests"] for one in rounds)
            yield (
                f"MOST FAILED: {count(failed)} of {count(ended)} requests of {name} under {policy} "
                f"({errors(*rounds)})"
            )


def some_failed(of: Class) -> str:
    """How many requests failed of a class that has some, and how."""
    ended = many(of["errors"] + of["requests"], "request")
    return f"{count(of['errors'])} of {ended} of {of['name']} failed ({errors(of)})"


def _first(kinds: Iterator[ErrorCount]) -> str:
    first = min((of["first"] for of in kinds), key=lambda first: first["at_s"])
    what: str = first["op"]
    if what != "flush":
        what += f" of {count(first['len'])} bytes at byte {count(first['start'])}"
    return f"a {what} after {seconds(first['at_s'])}"


def differs(run: Run) -> bool:
    """Whether data was not what was written."""
    return "verify" in run and run["verify"]["different"] > 0


def fatal(run: Run) -> Iterator[str]:
    """Why this run failed; nothing if it did not."""
    if "failure" in run:
        yield run["failure"]
    for one in run["classes"]:
        if one["errors"] and not one["requests"]:
            yield f"under {run['policy']} every request of {one['name']} failed: {errors(one)}"
    gone = (name for one in run["classes"] for name in one["error_codes"] if name in GONE)
    for name in islice(gone, 1):
        yield f"under {run['policy']} the device went away ({name})"
