"""Selectors of programs.

They are `pid:N`, `command:NAME`, `unit:NAME`, `cgroup:PATH`, `user:NAME`, `path:DIR` and
`volume:/dev/X`. The children of a process that `pid`, `command`, `path` or `volume` selects belong
to it. The kernel itself keeps children in the control group and with the user of their parent, so
the other selectors name the processes that are there now.
"""

import os
import pwd
import re
import stat
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from penstock.errors import CANNOT_HERE, PenstockError, wrong
from penstock.guard.mounts import MountEntry, mounts
from penstock.guard.processes import GONE, Process

_NEXT = re.compile(r",(?=[a-z]+:)")
"""A comma between two selectors; others belong to a path."""


Match: TypeAlias = Callable[[Process], bool]
"""Whether a process is selected."""


@dataclass(frozen=True)
class Selector:
    """Rule that selects processes."""

    text: str
    """The selector as the user wrote it."""
    match: Callable[[], Match] = field(compare=False, repr=False)
    """Makes the test of processes for a scan."""
    follows: bool = False
    """Whether the children of a selected process belong to it."""
    group: str | None = None
    """The path of the control group that it names, or the name of the unit."""


def selectors(option: str, arguments: Sequence[str]) -> tuple[Selector, ...]:
    """Parse the selectors of an option, which may have several between commas.

    # Errors
    An unknown kind, or a process, user, unit, folder or device that does not exist.
    """
    texts = [text.strip() for argument in arguments for text in _NEXT.split(argument)]
    return tuple(_selector(option, text) for text in dict.fromkeys(texts))


def _selector(option: str, text: str) -> Selector:
    kind, colon, value = text.partition(":")
    if not colon or kind not in _KINDS:
        near = get_close_matches(kind, _KINDS, n=1)
        hint = f"did you mean {near[0]}:{value or 'NAME'}?" if near else "as command:postgres"
        expected = ", ".join(f"{known}:" for known in _KINDS)
        raise wrong(f"{option}: found {text!r}; expected one of {expected}", hint)
    if not value:
        raise wrong(f"{option}: found {text!r}; expected a name behind it", f"as {EXAMPLES[kind]}")
    return _KINDS[kind](option, value)


EXAMPLES = {
    "pid": "pid:4711",
    "command": "command:postgres",
    "unit": "unit:postgresql.service",
    "cgroup": "cgroup:/system.slice/backup.service",
    "user": "user:postgres",
    "path": "path:/srv/backup",
    "volume": "volume:/dev/sdb1",
}
"""Kinds of selectors, each with an example."""


def _pid(option: str, value: str) -> Selector:
    if not value.isdecimal() or int(value) == 0:
        message = f"{option}: found pid:{value}; expected the number of a process"
        raise wrong(message, "as pid:4711; repeat `pid:` for each: pid:4711,pid:4712")
    try:
        chosen = Process(int(value))
    except GONE:
        raise wrong(f"{option}: there is no process {int(value)}", "`ps -e` lists them") from None
    if chosen.is_kernel:
        message = f"{option}: process {chosen.shown} is a thread of the kernel"
        raise wrong(message, "name the program whose work it does")
    leader = _leader(chosen.pid)
    if leader != chosen.pid:
        message = f"{option}: {value} is a thread of process {leader}"
        raise wrong(message, f"all threads of a process go together: pid:{leader}")
    known = (chosen.pid, chosen.start)
    return Selector(
        f"pid:{value}", lambda: lambda process: (process.pid, process.start) == known, follows=True
    )


def _leader(tid: int) -> int:
    """Return the process of a thread."""
    text = Path(f"/proc/{tid}/status").read_text(errors="replace")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Tgid:"))


def _command(_: str, value: str) -> Selector:
    # The kernel keeps 15 bytes of a name.
    return Selector(
        f"command:{value}",
        lambda: lambda process: value in (process.name, process.program),
        follows=True,
    )


def _user(option: str, value: str) -> Selector:
    number = user_number(option, value)
    return Selector(f"user:{value}", lambda: lambda process: process.user == number)


def user_number(option: str, value: str) -> int:
    """Return the number of a user.

    # Errors
    There is no such user.
    """
    try:
        return pwd.getpwnam(value).pw_uid
    except KeyError:
        if value.isdecimal():
            return int(value)
        near = get_close_matches(value, [user.pw_name for user in pwd.getpwall()], n=1)
        hint = f"did you mean {near[0]}?" if near else "`getent passwd` lists them"
        raise wrong(f"{option}: there is no user {value}", hint) from None


def _path(option: str, value: str) -> Selector:
    folder = os.path.realpath(value)
    if not Path(folder).is_dir():
        hint = "name a folder: who has it, or a file below it, open is selected"
        raise wrong(f"{option}: {value} is no folder", hint)
    below = folder.rstrip("/") + "/"

    def works_there(process: Process) -> bool:
        return any(path == folder or path.startswith(below) for path in process.paths)

    return Selector(f"path:{value}", lambda: works_there, follows=True)


def _volume(option: str, value: str) -> Selector:
    try:
        status = Path(value).stat()
    except OSError as error:
        raise wrong(f"{option}: {value} cannot be read: {error.strerror}", _A_DEVICE) from None
    if not stat.S_ISBLK(status.st_mode):
        raise wrong(f"{option}: {value} is no block device", _A_DEVICE)

    def match() -> Match:
        numbers = numbers_on(status.st_rdev)
        return lambda process: not process.devices.isdisjoint(numbers)

    return Selector(f"volume:{value}", match, follows=True)


_A_DEVICE = "`lsblk` lists the devices; as volume:/dev/sdb1"


def numbers_on(device: int) -> set[int]:
    """Return the numbers that files on a block device have: its own, and those of its mounts.

    Some file systems, such as btrfs, give their files a number that is no device's.
    """
    numbers = {device}
    for mount in mounts():
        try:
            if mount.source.startswith("/") and os.stat(mount.source).st_rdev == device:
                numbers.add(mount.device)
        except OSError:
            continue
    return numbers


def _cgroup(option: str, value: str) -> Selector:
    if not value.startswith("/"):
        message = f"{option}: found cgroup:{value}; expected a path"
        raise wrong(message, f"as {EXAMPLES['cgroup']}, or a folder below /sys/fs/cgroup")
    group = _in_hierarchy(os.path.normpath(value))
    below = group.rstrip("/") + "/"

    def is_in_it(process: Process) -> bool:
        return any(path == group or path.startswith(below) for path in process.groups)

    return Selector(f"cgroup:{value}", lambda: is_in_it, group=group)


def _hierarchies() -> list[MountEntry]:
    """Return the mounted hierarchies of control groups."""
    return [mount for mount in mounts() if mount.kind in ("cgroup", "cgroup2")]


def _in_hierarchy(path: str) -> str:
    """Return a path of a control group as `/proc` has it; it may be that of its folder."""
    for tree in _hierarchies():
        if path == tree.at or path.startswith(f"{tree.at}/"):
            return os.path.normpath(f"{tree.root}/{path.removeprefix(tree.at)}")
    return path


def _unit(option: str, value: str) -> Selector:
    name = value if "." in value else f"{value}.service"
    if "/" in name:
        raise wrong(f"{option}: {value} is no name of a unit", f"as {EXAMPLES['unit']}")
    if not any(next(Path(tree.at).rglob(name), None) for tree in _hierarchies()):
        _check_unit(option, name)

    def is_of_it(process: Process) -> bool:
        return any(name in path.split("/") for path in process.groups)

    return Selector(f"unit:{value}", lambda: is_of_it, group=name)


def _check_unit(option: str, name: str) -> None:
    """Raise an error unless systemd knows a unit, which may not have started."""
    words = ["systemctl", "show", "--property=LoadState", "--value", "--", name]
    try:
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        message = f"error: {option}: unit:{name} cannot be found: systemd does not answer here"
        hint = "hint: name its programs or its control group, with command: or cgroup:"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE) from None
    if shown == "not-found":
        hint = "`systemctl list-unit-files` lists them"
        raise wrong(f"{option}: there is no unit {name}", hint)


_KINDS: Mapping[str, Callable[[str, str], Selector]] = {
    "pid": _pid,
    "command": _command,
    "unit": _unit,
    "cgroup": _cgroup,
    "user": _user,
    "path": _path,
    "volume": _volume,
}
