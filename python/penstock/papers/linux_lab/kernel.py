"""The lab under the kernel of this machine, on a modelled disk that is served and on a loop device.

It is shorter than on models, as it takes real time: runs are of some seconds, and the files of the
exercise smaller.
"""

import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock import _native
from penstock.answer.table import Table
from penstock.errors import CANNOT_HERE, PenstockError, translated
from penstock.experiment.bench import run_all
from penstock.experiment.trial import Setup
from penstock.iozone.figures import figures
from penstock.iozone.measured import result
from penstock.iozone.runner import IozonePoint
from penstock.papers import files
from penstock.papers.linux_lab import modelled, tables
from penstock.papers.linux_lab.claims import KERNEL_NAMES, claims
from penstock.papers.linux_lab.modelled import FLOODS, Rows, tests
from penstock.papers.linux_lab.setting import DEVICE, NAME, PLACES
from penstock.papers.study import Ours, Say, UnderKernel
from penstock.passes import PassSettings
from penstock.results.json_types import Run
from penstock.served.process import served
from penstock.session import Variant
from penstock.target import Target

SCHEDULERS = ("none", "mq-deadline", "bfq", "kyber")
"""The schedulers of today's kernel, of which a machine may lack some."""

TUNABLES = {"bfq": {"low_latency": "0"}}
"""What is set: with it bfq does not raise new programs, which hides for seconds what it does."""

MODELLED = "all modelled"

DEPTH = 4
"""Requests of a served disk at once: the fewer, the more a scheduler has to decide."""

MIB = 1 << 20

APART = 256 * MIB
"""Bytes between the files of two schedulers: what one leaves in the cache of the drive is of no use
to the next."""

RECORDS = {"exercise": 5 << 10, "example": 512 << 10}
"""Bytes of a record, as on models."""


@dataclass(frozen=True, kw_only=True)
class World:
    """A kind of disk, and how long the experiments on it take."""

    name: str
    threads: Sequence[int]
    seconds: int
    sizes: Mapping[str, int]
    """Bytes of the file of the exercise and of the example."""


SERVED_DISK = World(
    name="this kernel, modelled disk",
    threads=(1, 32),
    seconds=5,
    sizes={"exercise": 8 * MIB, "example": 64 * MIB},
)

LOOP_DEVICE = World(
    name="this machine",
    threads=(1, 32),
    seconds=2,
    sizes={"exercise": 64 * MIB, "example": 128 * MIB},
)

LOOP_SIZE = "1GiB"


def under_kernel(_: Mapping[str, str], ours: Ours, say: Say) -> UnderKernel:
    """Run the lab on both kinds of disk, as far as this machine can."""
    if os.geteuid() != 0:
        why = "the lab under the kernel of this machine takes root: sudo penstock paper linux-lab"
        return UnderKernel(missing=[why])
    worlds: dict[str, Rows] = {}
    missing: list[str] = []
    for world, place in ((SERVED_DISK, _served), (LOOP_DEVICE, _looped)):
        try:
            with place() as lab:
                worlds[world.name] = lab.run(world, say)
        except PenstockError as error:
            if error.exit_code != CANNOT_HERE:
                raise
            missing.append(f"{world.name}: {str(error).removeprefix('error: ')}")
    data = {"release": platform.release(), "worlds": worlds}
    return UnderKernel(tables=kernel_tables(worlds, ours), data=data, missing=missing)


def kernel_tables(worlds: Mapping[str, Rows], ours: Ours) -> list[Table]:
    """Return the tables of what ran under the kernel, the statements last."""
    if not worlds:
        return []
    of_worlds = [
        tables.placed(table, name) for name, rows in worlds.items() for table in tables.tables(rows)
    ]
    return [*of_worlds, *comparison(worlds, ours)]


def comparison(worlds: Mapping[str, Rows], ours: Ours) -> tuple[Table, Table]:
    """Return the exercise and the statements, on each kind of disk and on models."""
    judged = {MODELLED: claims(ours)}
    judged |= {name: claims(rows, KERNEL_NAMES) for name, rows in worlds.items()}
    return tables.side_by_side({MODELLED: ours, **worlds}), tables.statements(judged)


def schedulers() -> list[str]:
    """Return the schedulers that loop devices have here."""
    disks = json.loads(_native.disks())["disks"]
    queues = [disk["queue"] for disk in disks if disk["name"].startswith("loop")]
    known = {name.strip("[]") for queue in queues for name in queue.get("scheduler", "").split()}
    return [name for name in SCHEDULERS if name in known]


@contextmanager
def _served() -> "Iterator[Lab]":
    """Yield the modelled disk, served as a block device."""
    with served(DEVICE, "--depth", str(DEPTH)) as (node, _):
        yield Lab(disk=_named(str(node)))


@contextmanager
def _looped() -> "Iterator[Lab]":
    """Yield a loop device over a file of this machine, in the folder of the command."""
    with TemporaryDirectory(prefix="penstock-lab-", dir=".") as folder:
        target = Target(on=f"loop:{Path(folder, 'disk')}", options={"create": LOOP_SIZE})
        yield Lab(disk=target)


def _named(node: str) -> Target:
    return Target(on=node, options={"i_will_lose_data": node, "even_if_not_empty": True})


@dataclass(frozen=True, kw_only=True)
class Lab:
    """A disk on which the lab runs."""

    disk: Target
    names: Sequence[str] = field(default_factory=schedulers)

    def run(self, world: World, say: Say) -> Rows:
        """Return the rows of all experiments that the kernel can make."""
        rows: Rows = {"exercise": []}
        for name, size in world.sizes.items():
            say(f"{world.name}: the {name}")
            rows["exercise"] += self._exercise(name, IozonePoint(1, RECORDS[name], size))
        say(f"{world.name}: readers")
        rows["readers"] = [
            modelled.readers(scheduler, place, threads, run)
            for place, region in PLACES.items()
            for threads in world.threads
            for scheduler, run in self._runs(
                world, "readers.toml", *modelled.reader_sets(region, threads)
            )
        ]
        say(f"{world.name}: programs that think")
        rows["thinking"] = [
            modelled.thinking(scheduler, run)
            for scheduler, run in self._runs(world, "thinking.toml")
        ]
        say(f"{world.name}: floods")
        rows["flood"] = [
            modelled.flood(scheduler, op, run)
            for op in FLOODS
            for scheduler, run in self._runs(world, "flood.toml", *modelled.flood_sets(op))
        ]
        say(f"{world.name}: programs that take what they can get")
        rows["processes"] = [
            row
            for scheduler, run in self._runs(world, "processes.toml")
            for row in modelled.processes(scheduler, run)
        ]
        return rows

    def _runs(self, world: World, file: str, *sets: str) -> Iterator[tuple[str, Run]]:
        """Yield each scheduler with its run of a job."""
        tunables = [
            f"kernel:{name}.{key}={value}"
            for name in self.names
            for key, value in TUNABLES.get(name, {}).items()
        ]
        variant = Variant(
            name=file,
            text=files.text(NAME, file),
            sets=[*sets, *tunables, f"duration={world.seconds}s"],
            policies=[f"kernel:{name}" for name in self.names],
        )
        setup = Setup(target=self.disk, reduce=lambda comparison: comparison["runs"])
        (runs,) = run_all(setup, [variant])
        return zip(self.names, runs, strict=True)

    def _exercise(self, name: str, point: IozonePoint) -> Iterator[dict[str, object]]:
        """Yield the rows of the exercise or the example."""
        for number, scheduler in enumerate(self.names):
            settings = PassSettings(
                tests=[test.key for test in tests()],
                threads=1,
                size=point.size,
                records=[point.record],
                target=self.disk,
                starts=[number * APART],
                scheduler=scheduler,
                tunables=list(TUNABLES.get(scheduler, {}).items()),
                direct=True,
            )
            with translated():
                session = _native.PassSession(settings)
                for test in tests():
                    text = session.run(test.key, threads=1, record=point.record, size=point.size)
                    measured = result(json.loads(text), test, point)
                    yield {
                        "run": name,
                        "scheduler": scheduler,
                        "test": test.key,
                        "kb_s": figures(measured, "kB").children,
                    }
                session.finish()
