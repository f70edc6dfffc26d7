"""Makes and removes a lane, and kills itself at a step.

The arguments are the mount point and the number of the step; 0 is none.
"""

import fcntl
import os
import sys
from pathlib import Path

from guard_killed import DEADLY, Steps
from penstock.guard import lane_changes, lanes


def main(at: Path, last: int) -> None:
    """Make a lane, and remove it with its file."""
    steps = Steps(last)
    for name in (*DEADLY, "link", "mkdir", "rmdir", "truncate"):
        setattr(os, name, steps.deadly(getattr(os, name)))
    fcntl.flock = steps.deadly(fcntl.flock)
    for module in (lanes, lane_changes):
        module.tool = steps.deadly(lane_changes.tool)  # type: ignore[attr-defined]
    lanes.make(lanes.NewLane(at=at, size=64 << 20))
    lanes.remove(str(at), data=True)
    print(steps.taken)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
