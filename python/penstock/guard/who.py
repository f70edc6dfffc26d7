"""Programs that a guard protects or holds back, and their threads.

Selectors name them. The children of a process that a selector with `follows` names belong to it,
and stay when they run another program or when their parent ends, unless a selector names them
themselves. Threads of the kernel are never members, nor is the process that asks.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.errors import wrong
from penstock.guard.processes import GONE, Process, Thread, processes, tasks
from penstock.guard.selectors import Match, Selector

ONLINE = "online"

BATCH = "batch"


class Membership(NamedTuple):
    """Class of a process, and the selector by which it belongs to it."""

    name: str
    selector: Selector


@dataclass(frozen=True, kw_only=True)
class Scan:
    """Threads of each class at a moment."""

    threads: Mapping[str, Sequence[Thread]]
    waiting: Sequence[Selector]
    """Selectors that no process matches."""
    unreadable: int
    """Number of processes of which this user may not know whether a selector matches."""
    selectors: Mapping[int, Selector] = field(default_factory=dict)
    """The selector by which each process belongs to its class."""

    def class_of(self) -> dict[int, str]:
        """Return the class of each thread, and of those that its process has started since.

        It looks at the members alone, so it may be called far more often than there are scans.
        """
        classes = {thread.tid: name for name, group in self.threads.items() for thread in group}
        pids = {thread.pid: name for name, group in self.threads.items() for thread in group}
        known = {os.getpid(), *pids}
        members = list(pids.items())
        for pid, name in members:
            selector = self.selectors.get(pid)
            for tid, started in tasks(pid):
                classes[tid] = name
                if selector is None or selector.follows:
                    members += [(child, name) for child in started if child not in known]
        return classes


class Members:
    """Processes of classes that selectors name, followed from scan to scan."""

    def __init__(self, classes: Mapping[str, Sequence[Selector]]) -> None:
        """Begin with the selectors of each class; nothing is read yet."""
        self._selectors = [
            Membership(name, selector) for name, group in classes.items() for selector in group
        ]
        self._classes = list(classes)
        self._followed: dict[tuple[int, int], Membership] = {}

    def scan(self) -> Scan:
        """Find the members, in one pass over `/proc`.

        # Errors
        A process that selectors of two classes name.
        """
        running = {process.pid: process for process in processes()}
        tests = [(member, member.selector.match()) for member in self._selectors]
        unreadable = 0
        matched: set[Selector] = set()
        members: dict[int, Membership | None] = {}
        for pid, process in running.items():
            try:
                named = list(_named(process, tests))
            except GONE:
                members[pid] = None
                continue
            except PermissionError:
                unreadable += 1
                continue
            matched |= {member.selector for member in named}
            if named:
                _check_class(process, named)
                members[pid] = max(named, key=lambda member: member.selector.follows)
        self._follow(running, members)
        threads: dict[str, list[Thread]] = {name: [] for name in self._classes}
        for pid, member in members.items():
            if member is not None:
                matched.add(member.selector)
                try:
                    threads[member.name] += running[pid].threads()
                except GONE:
                    continue
        selectors = [member.selector for member in self._selectors]
        return Scan(
            threads=threads,
            waiting=[selector for selector in selectors if selector not in matched],
            unreadable=unreadable,
            selectors={pid: member.selector for pid, member in members.items() if member},
        )

    def _follow(
        self, running: Mapping[int, Process], members: dict[int, Membership | None]
    ) -> None:
        """Complete `members`: those that were followed before, and children of members."""
        for pid in running:
            line = []
            while pid in running and pid not in members:
                line.append(pid)
                process = running[pid]
                before = self._followed.get((pid, process.start))
                if before is not None:
                    members[pid] = before
                    line.pop()
                else:
                    pid = process.parent
            ancestor = members.get(pid)
            follows = ancestor is not None and ancestor.selector.follows
            members.update(dict.fromkeys(line, ancestor if follows else None))
        self._followed = {
            (pid, running[pid].start): member
            for pid, member in members.items()
            if member is not None and member.selector.follows
        }


def _named(process: Process, tests: Sequence[tuple[Membership, Match]]) -> Iterator[Membership]:
    """Yield what names a process.

    # Errors
    `PermissionError` if nothing does as far as this user may know.
    """
    is_named, refusal = False, None
    for member, matches in tests:
        try:
            if matches(process):
                is_named = True
                yield member
        except PermissionError as error:
            refusal = error
    if refusal is not None and not is_named:
        raise refusal


def _check_class(process: Process, named: Sequence[Membership]) -> None:
    first = named[0]
    for member in named:
        if member.name != first.name:
            message = (
                f"process {process.shown} is {first.name} by {first.selector.text} and "
                f"{member.name} by {member.selector.text}; expected one class"
            )
            raise wrong(message, "name fewer processes in one of them, as with pid:")
