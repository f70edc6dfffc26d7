"""Tests on real files, and on a modelled disk that is served as a block device."""

import json
from contextlib import ExitStack
from pathlib import Path

from penstock import _native
from penstock.errors import translated, wrong
from penstock.iozone.options import IozoneOptions
from penstock.iozone.phases import IozoneTest
from penstock.iozone.plan import Plan
from penstock.iozone.runner import IozonePoint, MeasuredTest, Report, Worker
from penstock.passes import PassSettings
from penstock.results.file_test_types import FileTest
from penstock.results.merge_types import World
from penstock.served.process import served
from penstock.target import BLOCK, Target
from penstock.text import places


class FileRunner:
    """Runs the tests of a plan on files, or on a served disk with a part for each worker."""

    def __init__(self, options: IozoneOptions, plan: Plan) -> None:
        """Check and open the files: nothing is written before all of them are known to do."""
        self.world: World = "measured" if options.on is None else "emulated"
        self._all = ExitStack()
        self._report: Path | None = None
        with self._all:
            target = Target()
            if options.on is not None:
                target = self._served(options)
            with translated():
                self._session = _native.PassSession(_settings(options, plan, target))
            self._all = self._all.pop_all()

    def _served(self, options: IozoneOptions) -> Target:
        """Serve the modelled disk."""
        if options.sets:
            raise wrong(
                "--set does not go with a served disk, which is as its file says",
                "write the device into a file: penstock show device hdd-7200 > disk.toml, and "
                "--on block:disk.toml",
            )
        model = str(options.on).removeprefix(BLOCK)
        device = self._all.enter_context(served(model))
        node, self._report = str(device.node), device.report
        return Target(on=node, options={"i_will_lose_data": node, "even_if_not_empty": True})

    def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
        """Run a test on files that the tests before it left."""
        with translated():
            text = self._session.run(
                test.key,
                threads=point.threads,
                record=point.record,
                size=point.size,
                progress=progress,
            )
        return result(json.loads(text), test, point)

    def remark(self) -> str | None:
        """Return how late a served disk answered."""
        if self._report is None:
            return None
        return f"the served disk: {places.served(json.loads(self._report.read_text()))}"

    def close(self) -> None:
        """Remove the files, unless they are to be kept, and take a served disk down."""
        with self._all, translated():
            self._session.finish()


def result(test_result: FileTest, test: IozoneTest, point: IozonePoint) -> MeasuredTest:
    """Return the result of a test of the engine."""
    return MeasuredTest(
        test,
        point,
        test_result["parent_ns"],
        tuple(Worker(**worker) for worker in test_result["workers"]),
    )


def _settings(options: IozoneOptions, plan: Plan, target: Target) -> PassSettings:
    points = [point for _, point in plan]
    return PassSettings(
        tests=list(dict.fromkeys(test.key for test, _ in plan)),
        threads=max(point.threads for point in points),
        size=max(point.size for point in points),
        records=sorted({point.record for point in points}),
        files=options.files if target.on is None else (),
        target=target,
        scheduler=_kernels(options.scheduler),
        form="mmap" if options.mmap else "aio" if options.aio else "calls",
        depth=options.aio or 1,
        copies=options.aio_copies,
        stride=options.stride,
        read_percent=options.mix_reads,
        direct=options.direct,
        sync=options.sync,
        include_flush=options.flush,
        include_close=options.close,
        stonewall=options.stonewall,
        verify=options.verify,
        drop_cache=options.drop is not None,
        keep=options.keep,
        seed=options.seed,
    )


def _kernels(scheduler: str | None) -> str | None:
    """Return the kernel's name of a scheduler."""
    return None if scheduler is None else scheduler.removeprefix("kernel:")
