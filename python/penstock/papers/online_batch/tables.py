"""What the online-batch paper published, and the tables and pictures of our figures."""

from collections.abc import Sequence

from penstock.answer.table import Table
from penstock.papers.online_batch.simulation import CONTROLS, NAME, Control
from penstock.papers.pictures import Bars, of_bars
from penstock.papers.published import FigureColumn, Published, Row

NAMES: dict[Control, str] = {
    "none": "no priority",
    "cpu": "only CPU priority",
    "cpu+io": "CPU+I/O priority",
}
"""Controls as the paper calls them."""

PUBLISHED = Published(
    paper=NAME,
    names={"control": NAMES, "case": {}},
    cells={
        "disk_pct": FigureColumn("disk", "%"),
        "cpu_pct": FigureColumn("CPU", "%"),
        "online_cpu_pct": FigureColumn("CPU online", "%"),
        "batch_cpu_pct": FigureColumn("CPU batch", "%"),
    },
    noun="share",
    suspect_because=("contradict the paper's own disk and total, and are almost surely a slip"),
)
"""Tables IV and V."""

PICTURES = of_bars(
    title="Figures 7 and 8",
    about="Means over what began while batch jobs ran. The paper draws these without numbers.",
    figures=(
        Bars("online-time", "Figure 7, online: mean time of a transaction", "ms", "online_ms"),
        Bars("batch-time", "Figure 7, batch: mean time of a batch job", "s", "batch_s"),
        Bars("online-wait", "Figure 8, online: mean wait of a write", "ms", "online_wait_ms"),
        Bars("batch-wait", "Figure 8, batch: mean wait of a write", "ms", "batch_wait_ms"),
    ),
    series=[NAMES[control] for control in CONTROLS],
    place=lambda row: (NAMES[row["control"]], f"case {row['case']}"),
)


def more(ours: Sequence[Row]) -> list[Table]:
    """Data of figures 7 and 8."""
    headings = ["online, ms", "batch, s", "online wait, ms", "batch wait, ms", "all batch, s"]
    rows = [
        [
            *PUBLISHED.called(row),
            f"{row['online_ms']:.2f}",
            f"{row['batch_s']:.2f}",
            f"{row['online_wait_ms']:.3f}",
            f"{row['batch_wait_ms']:.2f}",
            f"{row['makespan_s']:.2f}",
        ]
        for row in ours
    ]
    return [Table(["control", "case", *headings], rows, name="times", title="Times and waits")]
