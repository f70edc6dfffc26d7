"""The notebook among the examples runs from its top to its end, as Jupyter would run it."""

import ast
import json
from typing import Any

import altair as alt
import polars as pl
import pytest

import penstock
from command import ROOT

NOTEBOOK = ROOT / "examples/notebook.ipynb"


def run(cell: str, names: dict[str, Any]) -> object:
    """Run a cell; what its last expression gives is what it shows."""
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    shown: object = eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), names)
    return shown


def test_it_runs_and_each_cell_shows_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(NOTEBOOK.parent)
    names: dict[str, Any] = {}
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    shown = [run("".join(cell["source"]), names) for cell in cells if cell["cell_type"] == "code"]
    charts = (alt.LayerChart, alt.LayerChart)
    kinds = (penstock.Comparison, pl.DataFrame, *charts, list, pl.DataFrame, list)
    assert len(shown) == len(kinds)
    for one, kind in zip(shown, kinds, strict=True):
        assert isinstance(one, kind)
        if isinstance(one, alt.LayerChart):
            assert "vega-lite" in str(one._repr_mimebundle_())


def test_it_is_kept_without_its_output() -> None:
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
