"""Units of systemd that make lanes again when the machine starts.

Source: systemd.unit(5), systemd.service(5).
"""

from contextlib import suppress
from pathlib import Path

from penstock.errors import CANNOT_HERE, UNSAFE_TARGET, PenstockError
from penstock.guard.lane_changes import UnitFile
from penstock.served.process import OURS

FOLDER = Path("/etc/systemd/system")

MARK = "# Made by penstock for a lane."
"""First line of every unit of ours."""

TEXT = """\
{mark} `penstock guard lane remove {name}` removes both.

[Unit]
Description=Lane {name} of penstock
RequiresMountsFor={folder} {parent}

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart={penstock} guard lane make {file} --at {at} --depth {depth} --piece {kib}KiB
ExecStop={penstock} guard lane remove {at} --keep-unit

[Install]
WantedBy=multi-user.target
"""


def unit(name: str, file: Path, at: Path, *, depth: int, piece: int) -> UnitFile:
    """Return the change that writes the unit of a lane.

    # Errors
    systemd is not there, or another program has a unit of this name.
    """
    if not FOLDER.is_dir():
        message = f"error: --unit: there is no {FOLDER}: systemd does not run here"
        hint = "hint: leave out --unit, and make the lane when the machine has started"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)
    path = _path(name)
    had = _text(path)
    if path.exists() and (had is None or not had.startswith(MARK)):
        message = f"error: --unit: {path} exists and is not penstock's"
        hint = "hint: nothing else is overwritten: move it away, or name another mount point"
        raise PenstockError(f"{message}\n{hint}", exit_code=UNSAFE_TARGET)
    text = TEXT.format(
        mark=MARK,
        name=name,
        at=_argument(str(at)),
        folder=_word(str(file.parent)),
        parent=_word(str(at.parent)),
        penstock=" ".join(map(_argument, OURS)),
        file=_argument(str(file)),
        depth=depth,
        kib=piece >> 10,
    )
    return UnitFile(path=str(path), had=had, gets=text)


def path_of(name: str) -> str | None:
    """Return the path of the unit of a lane; `None` if it has none."""
    path = _path(name)
    text = _text(path)
    return str(path) if text is not None and text.startswith(MARK) else None


def remove(name: str) -> None:
    """Remove the unit of a lane, and the links that enable it, if it has one."""
    if path_of(name) is None:
        return
    path = _path(name)
    for link in FOLDER.glob(f"*.wants/{path.name}"):
        link.unlink(missing_ok=True)
    path.unlink(missing_ok=True)


def name_of(name: str) -> str:
    """Return the name of the unit of a lane."""
    return f"penstock-lane-{name}.service"


def _path(name: str) -> Path:
    return FOLDER / name_of(name)


def _text(path: Path) -> str | None:
    with suppress(OSError):
        return path.read_text(errors="surrogateescape")
    return None


def _argument(text: str) -> str:
    """Return an argument of a command as systemd reads it, which would replace variables."""
    return _word(text.replace("$", "$$"))


def _word(text: str) -> str:
    """Return a word as systemd reads it: in quotes, without specifiers."""
    for sign, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%")):
        text = text.replace(sign, escaped)
    return f'"{text}"'
