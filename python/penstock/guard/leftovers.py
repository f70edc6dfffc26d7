"""Changes that killed guards have left behind, and their removal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.errors import PenstockError
from penstock.guard.change import Priorities
from penstock.guard.changes import ENGINE, take_back
from penstock.guard.notes import NOTES, LeftNote, Note, abandoned, owner_of
from penstock.results.answers import DoctorCheck
from penstock.text import units

CLEAN = "`penstock doctor --clean`"


def checks(
    *, clean: bool, priorities: Priorities = ENGINE, folder: Path = NOTES
) -> Iterator[DoctorCheck]:
    """Yield a finding for each note of a guard that is gone; `clean` takes its changes back."""
    for left in abandoned("guard.*", folder):
        disk = left.path.name.removeprefix("guard.")
        shown = f"{units.many(len(left.changes), 'change')} for {disk}, of a guard that is gone"
        yield from _check(left, "guard", {"disk": disk}, shown, clean, priorities)
    for left in abandoned("lane.*", folder):
        name = left.path.name.removeprefix("lane.")
        shown = f"{name}, half made or half removed, of a command that is gone"
        yield from _check(left, "lane", {"lane": name}, shown, clean, priorities)


def _check(
    left: LeftNote,
    name: str,
    subject: Mapping[str, str],
    shown: str,
    clean: bool,
    priorities: Priorities,
) -> Iterator[DoctorCheck]:
    check: DoctorCheck = {
        "group": "leftovers",
        "name": name,
        "state": "limited",
        "found": shown,
        "advice": f"{'remove it' if name == 'lane' else 'put them back'} with {CLEAN}",
        "facts": {**subject, "process": left.owner.pid, "removed": False},
    }
    if clean:
        _clean(check, left, priorities)
    # A process that was killed between making its note and the first change has changed nothing.
    if left.changes:
        yield check


def _clean(check: DoctorCheck, left: LeftNote, priorities: Priorities) -> None:
    shown = check["found"]
    try:
        restore(left.path, priorities)
    except (OSError, PenstockError) as error:
        reason = error.strerror if isinstance(error, OSError) else _reason(error)
        check["found"] = f"{shown}: {reason}"
        check["advice"] = f"as root: {CLEAN}"
        return
    check["state"], check["advice"] = "ok", None
    check["found"] = f"{'removed' if check['name'] == 'lane' else 'put back'}: {shown}"
    check["facts"]["removed"] = True


def _reason(error: PenstockError) -> str:
    return str(error).splitlines()[0].removeprefix("error: ")


def restore(path: Path, priorities: Priorities = ENGINE) -> None:
    """Take back the changes of a note whose process has ended, and remove it.

    A process that has taken it over meanwhile does so itself.

    # Errors
    The system refuses; then the note stays.
    """
    note = Note.lock(path, for_tools=True)
    if note is None:
        return
    owner = owner_of(path)
    try:
        if not owner.stays:
            take_back(note, owner, priorities)
    except BaseException:
        note.release()
        raise
    if owner.stays:
        note.release()
    else:
        note.remove()
