"""Messages about failures in a run: requests with errors, and targets that could not continue.

A run in which some requests failed is a result, reported with its errors. The run failed if the
target is gone or could not continue, or if all requests of a class failed. Modelled faults are
treated alike.
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
"""Reasons why a run ended early."""

GONE = ("ENODEV", "ENXIO")
"""Errors of a device that has been removed."""


def why_partial(run: Run) -> str:
    """Return why a run ended early; older results do not say why, and count as interrupted."""
    return ENDED[run.get("ended", "asked")]


def errors(*rounds: Class) -> str:
    """Describe the errors of a class over its rounds: which, how many, and the first."""
    requests: dict[str, int] = {}
    for name, error in (item for class_ in rounds for item in class_["error_codes"].items()):
        requests[name] = requests.get(name, 0) + error["requests"]
    codes = sorted(requests.items(), key=lambda item: -item[1])
    names = codes[0][0] if len(codes) == 1 else ", ".join(f"{count(n)} {name}" for name, n in codes)
    kinds = next(class_["error_codes"] for class_ in rounds if class_["error_codes"])
    return f"{names}; first {_first(iter(kinds.values()))}"


def most_failed(runs: Sequence[Run]) -> Iterator[str]:
    """Yield a line for each class and policy where most requests failed."""
    classes: dict[tuple[str, str], list[Class]] = {}
    for run in runs:
        for class_ in run["classes"]:
            classes.setdefault((run["policy"], class_["name"]), []).append(class_)
    for (policy, name), rounds in classes.items():
        if mostly_failed(*rounds):
            failed = sum(class_["errors"] for class_ in rounds)
            ended = failed + sum(class_["requests"] for class_ in rounds)
            yield (
                f"MOST FAILED: {count(failed)} of {count(ended)} requests of {name} under {policy} "
                f"({errors(*rounds)})"
            )


def some_failed(class_: Class) -> str:
    """Describe how many requests of a class failed, and with which errors."""
    ended = many(class_["errors"] + class_["requests"], "request")
    return f"{count(class_['errors'])} of {ended} of {class_['name']} failed ({errors(class_)})"


def _first(kinds: Iterator[ErrorCount]) -> str:
    first = min((kind["first"] for kind in kinds), key=lambda first: first["at_s"])
    request: str = first["op"]
    if request != "flush":
        request += f" of {count(first['len'])} bytes at byte {count(first['start'])}"
    return f"a {request} after {seconds(first['at_s'])}"


def differs(run: Run) -> bool:
    """Return whether data was not what was written."""
    return "verify" in run and run["verify"]["different"] > 0


def fatal(run: Run) -> Iterator[str]:
    """Yield the reasons why this run failed, if it did."""
    if "failure" in run:
        yield run["failure"]
    for class_ in run["classes"]:
        if class_["errors"] and not class_["requests"]:
            name = class_["name"]
            yield f"under {run['policy']} every request of {name} failed: {errors(class_)}"
    gone = (code for class_ in run["classes"] for code in class_["error_codes"] if code in GONE)
    for code in islice(gone, 1):
        yield f"under {run['policy']} the device went away ({code})"
