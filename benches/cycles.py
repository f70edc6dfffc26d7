"""What a short cycle costs: processor time a request under `fairio`, by the length of its cycle.

First two classes with eight requests outstanding each on a device that costs nothing to model and
serves a million of them in 60 s: nearly all of the time is the scheduler's and the loop's. Then
Illustration 1 of the FAIRIO report, with its model of eight disks. The smallest of some runs.
"""

import json
import time
from contextlib import closing
from importlib.resources import files

from penstock.session import Session, Variant
from penstock.target import Target

CYCLES = ("1ms", "10ms", "100ms", "1s", "3s")
RUNS = 5

CLOSED = """\
duration = "60s"
device = { model = "fixed", base = "60us" }

[class.one]
weight = 1

[class.two]
weight = 2

[[agent]]
class = "one"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 8 }

[[agent]]
class = "two"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 8 }
"""


def variants(job: str, name: str) -> list[Variant]:
    """The job under `fcfs`, and under `fairio` with each cycle."""
    text = job or files("penstock.papers").joinpath(f"data/fairio/{name}").read_text("utf-8")
    sets = [[f"fairio.cycle={cycle}"] for cycle in CYCLES]
    return [
        Variant(name=name, text=text, policies=["fcfs"]),
        *(Variant(name=name, text=text, policies=["fairio"], sets=one) for one in sets),
    ]


def cost(variant: Variant) -> tuple[float, int]:
    """Microseconds of processor time a request, and how many cycles there were."""
    best, cycles = float("inf"), 0
    with closing(Session(Target(), [variant])) as session:
        for _ in range(RUNS):
            begun = time.process_time()
            (text,) = session.run([variant])
            took = time.process_time() - begun
            run = json.loads(text)["runs"][0]
            best = min(best, 1e6 * took / sum(one["requests"] for one in run["classes"]))
            cycles = run.get("policy_stats", {}).get("cycles", 0)
    return best, cycles


def main() -> None:
    """Measure and print."""
    for name, job in (("fixed.toml", CLOSED), ("illustration-1.toml", "")):
        print(f"{name}: policy, cycle, microseconds of processor time a request, cycles")
        for variant, cycle in zip(variants(job, name), ("", *CYCLES), strict=True):
            best, cycles = cost(variant)
            print(f"  {variant.policies[0]:<7} {cycle:>6} {best:8.2f} {cycles:9,}")


if __name__ == "__main__":
    main()
