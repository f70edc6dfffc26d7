"""The disks of merges, all alike: a named device, a device file, or a target that is probed."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock import _native
from penstock.advise.search import is_real
from penstock.calibrate import calibrate_on
from penstock.errors import translated, wrong
from penstock.results.steps import Progress
from penstock.target import Target

USUAL = "linear-1992"
"""The disk of the paper that placements are from."""


@dataclass(frozen=True, kw_only=True)
class Disks:
    """Disks of one model, each with its own queue."""

    count: int
    name: str
    device: str
    """The device as TOML."""
    remarks: Sequence[str] = ()

    def job(self, jobs: int) -> str:
        """Returns a job with `jobs` merges on these disks, as TOML."""
        return (
            f"{self.device}\n[device.array]\n"
            f'level = "jbod"\ndisks = {self.count}\nscheduler = "each"\n\n'
            f"[merge]\njobs = {jobs}\n"
        )


def found(
    named: Sequence[str], count: int | None, target: Target, *, progress: Progress | None = None
) -> list[Disks]:
    """Returns `count` disks for each name in `named`, in its order.

    A target is probed, with the options of `target`.
    """
    names = list(named) or [USUAL]
    if count is None and len(names) < 2:
        raise wrong("found no --disks; expected how many disks there are", "as --disks 5")
    disks = count or len(names)
    if len(names) not in (1, disks):
        raise wrong(
            f"found --on {len(names)} times and --disks {disks}; expected one for all disks, or "
            "one for each",
            "leave --disks out, or name as many",
        )
    return [_of(name, disks, target, progress) for name in dict.fromkeys(names)]


def _of(name: str, count: int, target: Target, progress: Progress | None) -> Disks:
    on = replace(target, on=name)
    if not is_real(on):
        with translated():
            text = _native.device(name)
        _check_single(name, text)
        return Disks(count=count, name=name, device=text)
    calibrated = calibrate_on(on, progress=progress)
    good = sum(job.good for job in calibrated.unseen)
    remarks = [
        f"{name} was probed: model {calibrated.model.name} predicts {good} of "
        f"{len(calibrated.unseen)} jobs that it was not fitted to",
        *calibrated.remarks,
    ]
    return Disks(count=count, name=name, device=calibrated.to_toml(), remarks=remarks)


def _check_single(name: str, text: str) -> None:
    """Checks that it is a single disk and not an array."""
    device: Mapping[str, object] = tomllib.loads(text)["device"]
    if "array" in device:
        raise wrong(
            f"{name}: found an array; expected one disk, of which --disks says how many there are",
            "name the device of its disks",
        )
