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
    every = [_table3(ours), _models(ours), _chosen(ours), _means(ours), _checks(ours)]
    return [block for block in every if block.rows]


def table3(ours: Mapping[str, Any]) -> list[Row]:
    """Which levels our runs recommend, as Table 3 has them: `small` or `large`, or a name."""
    recommended: list[Row] = []
    for pattern in ours["patterns"]:
        advice = {factor["factor"]: factor for factor in pattern["analysis"]["recommend"]}
        words = {name: _word(name, advice[name]) for name in SET if name in advice}
        recommended.append({"pattern": pattern["pattern"], **words})
    return recommended


def _word(factor: str, advice: Mapping[str, Any]) -> str:
    if advice["sns"]:
        return SNS
    if advice.get("unclear"):
        return "unclear"
    levels = FACTORS[factor]
    best = advice["best"][0]
    if factor == "O":
        return str(best)
    return "small" if levels.index(best) < len(levels) / 2 else "large"


def _table3(ours: Mapping[str, Any]) -> Table:
    paper = {row["pattern"]: row for row in files.published(NAME)["table3"]}
    ours_of = {row["pattern"]: row for row in table3(ours)}
    cells = []
    for pattern in ours["patterns"]:
        name = pattern["pattern"]
        for factor in pattern["analysis"]["recommend"]:
            factor_name = factor["factor"]
            if factor_name not in SET:
                continue
            best = ", ".join(map(str, factor["best"]))
            if depends_on := factor.get("depends_on"):
                best += f", by {', '.join(depends_on)}"
            word = ours_of[name][factor_name]
            same = "as the paper" if word == paper[name][factor_name] else ""
            cells.append(
                [
                    name,
                    factor_name,
                    paper[name][factor_name],
                    word,
                    best,
                    f"{factor['effect_pct']:+.1f}",
                    same,
                ]
            )
    headings = ["pattern", "factor", "paper", "ours", "best levels", "best to worst, %", ""]
    remarks = [
        "SNS: statistically not significant, in the paper. Here levels are as good as the best if "
        "Tukey's HSD on the residual of the model does not separate them, or if they differ by "
        "less than 5 % of the rate; SNS if that is so of all of them, and if no comparison of "
        "cells shows a difference. A level `by` other factors is that of a best cell, and others "
        "are best with other levels of those. Best to worst: what the rate "
        "gains from the worst level to the best one, on average over all others.",
    ]
    title = "Table 3: recommended configurations"
    return Table(headings, cells, words=5, name="table3", title=title, notes=remarks)


def _models(ours: Mapping[str, Any]) -> Table:
    paper = files.published(NAME)["r2"]
    analyses = {pattern["pattern"]: pattern["analysis"] for pattern in ours["patterns"]}
    cells = []
    for fit in ours["fits"]:
        name = fit["pattern"]
        analysis = analyses.get(name)
        cells.append([name, f"{paper[name]:.2f}", f"{fit['r2']:.4f}", *_quality(analysis)])
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
    paper = {fit["pattern"]: fit["model"].split(" + ") for fit in ours["fits"]}
    cells = []
    for pattern in ours["chosen"]:
        for how, model in (("F", pattern["by_f"]), ("error", pattern["by_error"])):
            if model is not None:
                terms = model.split(" + ")
                cells.append(
                    [pattern["pattern"], how, *_compared(terms, paper[pattern["pattern"]])]
                )
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
    ours = {frozenset(term.split(":")): term for term in terms}
    theirs = {frozenset(term.split(":")): term for term in paper}
    gone = [theirs[term] for term in theirs if term not in ours]
    more = [ours[term] for term in ours if term not in theirs]
    return listed(gone), listed(more)


def _means(ours: Mapping[str, Any]) -> Table:
    cells = []
    for name in PATTERNS:
        for factor in FACTORS:
            rates = means(ours["cells"], name, factor)
            if len(rates) > 1:
                levels = sorted({cell[factor] for cell in ours["cells"]})
                rates_text = ", ".join(
                    f"{level}: {rate:.1f}" for level, rate in zip(levels, rates, strict=True)
                )
                cells.append([name, factor, rates_text])
    headings = ["pattern", "factor", "mean rate at each level, MB/s"]
    remarks = ["Geometric means over all cells with that level."]
    return Table(
        headings, cells, words=3, name="means", title="Section 5.1: single factors", notes=remarks
    )


def _checks(ours: Mapping[str, Any]) -> Table:
    cells = []
    for pattern in ours["patterns"]:
        for check in pattern["analysis"]["checks"]:
            holds = {True: "holds", False: "does not hold", None: "not tested"}[check["holds"]]
            cells.append(
                [pattern["pattern"], check["what"], check["test"], holds, text(check, "p", ".2g")]
            )
    headings = ["pattern", "of the errors", "test", "here", "p"]
    title = "Section 4.1: the errors"
    return Table(headings, cells, words=4, name="errors", title=title)
