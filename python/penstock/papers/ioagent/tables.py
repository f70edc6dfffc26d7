"""The tables of the IOAgent paper, and ours of its models, as a reader has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.answer.table import NONE, Table
from penstock.papers import files
from penstock.papers.ioagent.claims import means
from penstock.papers.ioagent.setting import FACTORS, NAME, PATTERNS
from penstock.papers.published import Row
from penstock.papers.rows import number, text

SNS = "SNS"

SET = ("O", "A", "S", "B")
"""The factors of Table 3. Disks are what there is."""


def tables(ours: Mapping[str, Any]) -> list[Table]:
    """All tables, the main one first."""
    found = [_table3(ours), _models(ours), _chosen(ours), _means(ours), _checks(ours)]
    return [block for block in found if block.rows]


def table3(ours: Mapping[str, Any]) -> list[Row]:
    """Which levels our runs recommend, as Table 3 has them: `small` or `large`, or a name."""
    found: list[Row] = []
    for one in ours["patterns"]:
        advice = {each["factor"]: each for each in one["analysis"]["recommend"]}
        words = {name: _word(name, advice[name]) for name in SET if name in advice}
        found.append({"pattern": one["pattern"], **words})
    return found


def _word(factor: str, advice: Mapping[str, Any]) -> str:
    if advice["sns"]:
        return SNS
    levels = FACTORS[factor]
    best = advice["best"][0]
    if factor == "O":
        return str(best)
    return "small" if levels.index(best) < len(levels) / 2 else "large"


def _table3(ours: Mapping[str, Any]) -> Table:
    paper = {row["pattern"]: row for row in files.published(NAME)["table3"]}
    ours_of = {row["pattern"]: row for row in table3(ours)}
    cells = []
    for one in ours["patterns"]:
        name = one["pattern"]
        for factor in one["analysis"]["recommend"]:
            of = factor["factor"]
            if of not in SET:
                continue
            best = ", ".join(map(str, factor["best"]))
            word = ours_of[name][of]
            same = "as the paper" if word == paper[name][of] else ""
            cells.append(
                [name, of, paper[name][of], word, best, f"{factor['effect_pct']:+.1f}", same]
            )
    headings = ["pattern", "factor", "paper", "ours", "best levels", "best to worst, %", ""]
    remarks = [
        "SNS: statistically not significant, in the paper. Here levels are as good as the best if "
        "Tukey's HSD on the residual of the model does not separate them, or if they differ by "
        "less than 5 % of the rate; SNS if that is so of all of them. Best to worst: what the rate "
        "gains from the worst level to the best one, on average over all others.",
    ]
    title = "Table 3: recommended configurations"
    return Table(headings, cells, words=5, name="table3", title=title, notes=remarks)


def _models(ours: Mapping[str, Any]) -> Table:
    paper = files.published(NAME)["r2"]
    analyses = {one["pattern"]: one["analysis"] for one in ours["patterns"]}
    cells = []
    for one in ours["fits"]:
        name = one["pattern"]
        of = analyses.get(name)
        cells.append([name, f"{paper[name]:.2f}", f"{one['r2']:.4f}", *_quality(of)])
    headings = ["pattern", "R², paper", "R², ours", "Box-Cox λ", "F of lack of fit", "pure error"]
    remarks = [
        "R² is of the mean rate of each cell, as in the paper; λ is the power of the rate that a "
        "model of all runs asks for, where 0 is the logarithm. The pure error is what runs of one "
        "cell differ by. Where it is next to nothing, what a model leaves over is what it lacks, "
        "not noise: no p of such a model says that an effect matters.",
    ]
    title = "Section 4.1: the models"
    return Table(headings, cells, name="models", title=title, notes=remarks)


def _quality(row: Mapping[str, Any] | None) -> list[str]:
    if row is None:
        return [NONE] * 3
    power, lack = row["boxcox"], row["lack_of_fit"]
    lam = number(power and power["lambda"], ".2f")
    if lack is None:
        return [lam, NONE, NONE]
    f = "no noise" if lack["f"] is None else f"{lack['f']:.3g}"
    return [lam, f, f"{100 * lack['pure_error_sd']:.2f} %"]


def _chosen(ours: Mapping[str, Any]) -> Table:
    paper = {one["pattern"]: one["model"].split(" + ") for one in ours["fits"]}
    cells = []
    for one in ours["chosen"]:
        for how, model in (("F", one["by_f"]), ("error", one["by_error"])):
            if model is not None:
                terms = model.split(" + ")
                cells.append([one["pattern"], how, *_compared(terms, paper[one["pattern"]])])
    headings = ["pattern", "by", "of the paper's, not needed", "needed, not in the paper's"]
    remarks = [
        "Which models the means of the cells ask for, from all interactions of two factors down: "
        "by F at 5 %, and by the error of cells that the model has not seen.",
    ]
    return Table(
        headings, cells, words=4, name="chosen", title="Section 4.1: parsimony", notes=remarks
    )


def _compared(terms: Sequence[str], paper: Sequence[str]) -> tuple[str, str]:
    def listed(some: Sequence[str]) -> str:
        return ", ".join(some) or NONE

    # Both name the factors of a term in the order of the table, or of the paper.
    ours = {frozenset(one.split(":")): one for one in terms}
    theirs = {frozenset(one.split(":")): one for one in paper}
    gone = [theirs[one] for one in theirs if one not in ours]
    more = [ours[one] for one in ours if one not in theirs]
    return listed(gone), listed(more)


def _means(ours: Mapping[str, Any]) -> Table:
    cells = []
    for name in PATTERNS:
        for factor in FACTORS:
            rates = means(ours["cells"], name, factor)
            if len(rates) > 1:
                levels = sorted({one[factor] for one in ours["cells"]})
                each = ", ".join(
                    f"{level}: {rate:.1f}" for level, rate in zip(levels, rates, strict=True)
                )
                cells.append([name, factor, each])
    headings = ["pattern", "factor", "mean rate at each level, MB/s"]
    remarks = ["Geometric means over all cells with that level."]
    return Table(
        headings, cells, words=3, name="means", title="Section 5.1: single factors", notes=remarks
    )


def _checks(ours: Mapping[str, Any]) -> Table:
    cells = []
    for one in ours["patterns"]:
        for check in one["analysis"]["checks"]:
            holds = {True: "holds", False: "does not hold", None: "not tested"}[check["holds"]]
            cells.append(
                [one["pattern"], check["what"], check["test"], holds, text(check, "p", ".2g")]
            )
    headings = ["pattern", "of the errors", "test", "here", "p"]
    title = "Section 4.1: the errors"
    return Table(headings, cells, words=4, name="errors", title=title)
