"""What a user gets: simulated requests a second of `penstock run`, from its start to its last line.

Three million random reads of 4 KiB, 32 outstanding, for each model and policy; best of two runs. A
run of one request shows how much of that is the start.
"""

import json
import tempfile
from pathlib import Path

from timed import timed

DEVICES = ("flash", "hdd-7200", "hdd-7200-ncq", "atlas10k", "ssd-sata", "ssd-nvme")
POLICIES = ("fcfs", "noop", "deadline", "cfq", "class-priority", "size-priority")
REQUESTS = 3_000_000
RUNS = 2

JOB = """\
duration = "1s"

[class.all]

[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 32 }
"""


def run(job: Path, device: str, policy: str, duration: str) -> tuple[float, int]:
    """How long the command takes in seconds, and how many requests it simulates."""
    words = ("run", str(job), "--json", "--on", device, "--policy", policy)
    ended = timed(*words, "--set", f"duration={duration}")
    return ended.seconds, json.loads(ended.out)["runs"][0]["classes"][0]["requests"]


def rate(job: Path, device: str, policy: str) -> float:
    """Requests a second; of some runs the fastest, as whatever disturbs a run only slows it."""
    _, in_a_second = run(job, device, policy, "1s")
    duration = f"{1000 * REQUESTS // in_a_second}ms"
    return max(
        requests / took
        for took, requests in (run(job, device, policy, duration) for _ in range(RUNS))
    )


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        job = Path(folder) / "job.toml"
        job.write_text(JOB)
        start = min(run(job, "flash", "fcfs", "1ms")[0] for _ in range(RUNS))
        print(f"start and end of a command: {1000 * start:.0f} ms")
        print("thousands of requests a second through the command:")
        print(f"{'':14}" + "".join(f"{policy:>16}" for policy in POLICIES))
        for device in DEVICES:
            rates = (f"{rate(job, device, policy) / 1e3:16,.0f}" for policy in POLICIES)
            print(f"{device:14}" + "".join(rates))


if __name__ == "__main__":
    main()
