"""The work of a command: the tests of its plan, one after another, and what is made of them."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from penstock.iozone.lines import IozoneLines, header
from penstock.iozone.machine import disk_below, machine
from penstock.iozone.options import IozoneOptions
from penstock.iozone.plan import check_files, plan
from penstock.iozone.remarks import remarks
from penstock.iozone.result import RunFacts, document
from penstock.iozone.runner import MeasuredTest, Runner
from penstock.iozone.sheets import ending
from penstock.report import files
from penstock.report.outputs import check_workbook

Progress = Callable[[str, float], None]
"""Takes the name of the part that goes on, and the share of all that is done."""


@dataclass(frozen=True)
class IozoneResult:
    """The results of all tests of a command."""

    options: IozoneOptions
    facts: RunFacts
    remarks: tuple[str, ...]
    tests: tuple[MeasuredTest, ...]

    def json(self) -> str:
        """Return the whole result as JSON."""
        value = document(self.options, self.facts, self.tests, self.remarks)
        return json.dumps(value, indent=2, ensure_ascii=False)

    def write(self) -> Iterator[str]:
        """Write the workbook, if it was asked for, and yield its name."""
        path = self.options.workbook
        if path is None:
            return
        from penstock.iozone.workbook import workbook

        content = workbook(self.options, self.facts, self.tests, self.remarks)
        check_workbook(path)
        files.write(path, content)
        yield str(path)


def check(options: IozoneOptions) -> None:
    """Raise a `PenstockError` if something is known to be in the way, before a test runs."""
    plan(options)
    check_files(options)
    if options.workbook is not None:
        check_workbook(options.workbook)


def measure(
    options: IozoneOptions,
    runner: Runner,
    *,
    command: str,
    write: Callable[[str], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda _part, _share: None,
) -> IozoneResult:
    """Run the tests of a command.

    `write` gets the lines, those of a test as soon as it has ended, and `say` what has to be known
    before the tests begin.
    """
    steps = plan(options)
    facts = _facts(options, runner, command)
    said = tuple(remarks(options, runner.world, facts.machine.memory_bytes))
    results: list[MeasuredTest] = []
    with closing(runner):
        for remark in said:
            say(remark)
        write(header(options, facts))
        lines = IozoneLines(options)
        for number, (test, point) in enumerate(steps):

            def report(share: float, number: int = number, name: str = test.label) -> None:
                progress(name, (number + share) / len(steps))

            results.append(runner.run(test, point, report))
            write(lines.add(results[-1]))
        if (late := runner.remark()) is not None:
            say(late)
            said += (late,)
    write(ending(options, results))
    return IozoneResult(options, facts, said, tuple(results))


def _facts(options: IozoneOptions, runner: Runner, command: str) -> RunFacts:
    below = None if options.on is not None else disk_below(options.files[0])
    subject = ", ".join(options.files) if options.on is None else options.on
    scheduler = options.scheduler if below is None else below[1]
    if options.on is not None and scheduler is not None:
        subject += f" under {scheduler}"
    return RunFacts(
        world=runner.world,
        subject=subject,
        scheduler=scheduler,
        disk=None if below is None else below[0],
        began=None if runner.world == "simulated" else datetime.now().astimezone(),
        command=command,
        resolution_s=time.get_clock_info("monotonic").resolution,
        machine=machine(),
    )
