"""Figure 5 and section III.D of the online-batch paper against what programs met in real time.

The figure shows the mean time in which 1,000 bytes are written against the number of programs, with
nothing controlled. It is drawn without numbers: the text gives two points, and sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypedDict

from penstock.answer.table import NONE, Table
from penstock.papers import files
from penstock.papers.claims import Claim, alike, grow
from penstock.papers.online_batch.live import MODES, Figures
from penstock.papers.online_batch.simulation import NAME
from penstock.papers.published import percent
from penstock.results.rounds import Spread

PLAIN = "fifo"
"""The control of the paper's disk: none."""

PROPOSED = "split+prio"
"""The control that the paper proposes, and did not measure."""

NOTE = (
    "Figure 5 is drawn without numbers. Section III.D gives two of its points: one program, "
    "nothing controlled."
)


_Figure: TypeAlias = Callable[[Figures], Spread | None]


class PublishedPoint(TypedDict):
    """A point of the figure."""

    program: Literal["online", "batch"]
    concurrency: int
    ms_per_1000_bytes: float


@dataclass(frozen=True, kw_only=True)
class FigurePoint:
    """A published point, and ours of the same control and number of programs."""

    program: str
    mode: str
    concurrency: int
    paper_ms: float
    ours_ms: float

    @property
    def deviation_pct(self) -> float:
        """How far ours is from the paper's, in percent of that."""
        return percent(self.ours_ms, self.paper_ms)


def published() -> list[PublishedPoint]:
    """The points that the paper gives."""
    published_points: list[PublishedPoint] = files.published(NAME)["figure5"]
    return published_points


def points(figures: Sequence[Figures]) -> list[FigurePoint]:
    """Returns the published points that were measured too: programs of one kind alone."""
    measured = []
    for point in published():
        program, many = point["program"], point["concurrency"]
        if program == "online":
            ours = _series(figures, PLAIN, _short, online=many, batch=0)
        else:
            ours = _series(figures, PLAIN, _long, online=0, batch=many)
        # Alone no other program wants a processor: who goes first makes no difference.
        measured += [
            FigurePoint(
                program=program,
                mode=PLAIN,
                concurrency=many,
                paper_ms=point["ms_per_1000_bytes"],
                ours_ms=ms,
            )
            for ms in ours[:1]
        ]
    return measured


def table(points: Sequence[FigurePoint]) -> Table:
    """The points as people read them."""
    rows = [
        [
            f"{point.concurrency} {point.program}, alone",
            point.mode,
            f"{point.paper_ms:.3g}",
            f"{point.ours_ms:.3g}",
            f"{point.deviation_pct:+.1f} %",
        ]
        for point in points
    ]
    return Table(["figure 5", "control", "paper, ms", "here, ms", "deviation"], rows, words=2)


def short_times(figures: Sequence[Figures], batch: int) -> Table:
    """Returns a table of short writes' times beside the batch, in ms, with the paper's if any."""
    online = [point for point in points(figures) if point.program == "online" and not batch]
    paper = {point.concurrency: point for point in online}
    many = sorted({cell.online for cell in figures if cell.online})

    def cell(mode: str, n: int) -> str:
        text = _milliseconds(figures, mode, _short, n, batch)
        if mode == PLAIN and n in paper:
            text += f" / {paper[n].paper_ms} ({paper[n].deviation_pct:+.1f} %)"
        return text

    rows = [[mode, *(cell(mode, n) for n in many)] for mode in MODES]
    return Table(["control", *(f"{n} online" for n in many)], rows)


def long_times(figures: Sequence[Figures], batch: int) -> Table:
    """Returns a table of the time of 1,000 bytes of a batch program's long write, in ms."""
    many = sorted({cell.online for cell in figures if cell.batch == batch})
    rows = [
        [mode, *(_milliseconds(figures, mode, _long, n, batch) for n in many)] for mode in MODES
    ]
    return Table(["control", *(f"{n} online" for n in many)], rows)


def _milliseconds(
    figures: Sequence[Figures], mode: str, figure: _Figure, online: int, batch: int
) -> str:
    """A figure of a cell in ms, with * if the batch had not ended in time."""
    wanted = (mode, online, batch)
    cells = [cell for cell in figures if (cell.mode, cell.online, cell.batch) == wanted]
    spread = figure(cells[0]) if cells else None
    if spread is None:
        return NONE
    return f"{spread.median / 1e6:.3g}{'*' if cells[0].outlasted else ''}"


def claims(figures: Sequence[Figures]) -> list[Claim]:
    """Returns the paper's claims about its measurement, as far as these cells decide them.

    Numbers are ms for 1,000 bytes, the fewest programs first. Of several settings of the processors
    the first is looked at.
    """
    return list(_claims([cell for cell in figures if cell.cpu_priority == figures[0].cpu_priority]))


def _claims(figures: Sequence[Figures]) -> Iterator[Claim]:
    batches = sorted({cell.batch for cell in figures if cell.batch})
    few = min((cell.online for cell in figures if cell.online), default=0)
    alone = _series(figures, PLAIN, _short, batch=0)
    if len(alone) > 1:
        text = "online programs write more slowly the more of them there are"
        yield _claim("III.D-online", text, grow(alone), {"fifo, no batch": alone})
    for batch in batches[:1]:
        long = _series(figures, PLAIN, _long, batch=batch)
        text = "batch programs are not affected by the number of online programs"
        yield _claim("III.D-batch", text, alike(long), {f"fifo, {batch} batch": long})
    stuck = _series(figures, PLAIN, _short, online=few)
    if few and len(stuck) > 1:
        text = "online programs write more slowly the more batch programs there are"
        yield _claim("III.D-stuck", text, grow(stuck), {f"fifo, {few} online": stuck})
    for batch in batches[-1:]:
        plain, ours = (_series(figures, mode, _short, batch=batch) for mode in (PLAIN, PROPOSED))
        if plain and len(plain) == len(ours):
            text = "the control shortens the writes of online programs beside batch programs"
            holds = all(new < old for new, old in zip(ours, plain, strict=True))
            yield _claim("IV", text, holds, {f"fifo, {batch} batch": plain, PROPOSED: ours})


def _short(cell: Figures) -> Spread | None:
    return cell.short_ns


def _long(cell: Figures) -> Spread | None:
    return cell.long_per_1000_bytes_ns


def _series(
    figures: Sequence[Figures],
    mode: str,
    figure: _Figure,
    *,
    online: int | None = None,
    batch: int | None = None,
) -> list[float]:
    """A figure of the cells of one control, in ms, the fewest programs first."""
    cells = [
        cell
        for cell in figures
        if cell.mode == mode and online in (None, cell.online) and batch in (None, cell.batch)
    ]
    cells.sort(key=lambda cell: (cell.online, cell.batch))
    return [spread.median / 1e6 for spread in map(figure, cells) if spread is not None]


def _claim(name: str, text: str, holds: bool, numbers: dict[str, list[float]]) -> Claim:
    return {"id": name, "text": text, "holds": holds, "numbers": numbers}
