"""The jobs of `examples/linux` show what their comments say."""

import re

import pytest

from command import ROOT, penstock

SHOWN = (
    "deceptive-idleness",
    "fair-readers",
    "weights",
    "write-flood",
    "burst",
    "starved-writer",
    "flash-needs-no-sorting",
)

ROW = re.compile(r"^#   (\S+)  +(\d.*)$", re.MULTILINE)
"""A policy, and its figures."""


@pytest.mark.parametrize("name", SHOWN)
def test_a_table_in_a_comment_has_the_figures_of_the_run(name: str) -> None:
    path = f"examples/linux/{name}.toml"
    text = (ROOT / path).read_text()
    assert len(text.splitlines()) < 40
    command = re.search(rf"penstock (compare {re.escape(path)} --policies (\S+))", text)
    assert command is not None
    rows = dict(ROW.findall(text))
    assert list(rows) == command[2].split(",")
    printed = penstock(*command[1].split()).out
    begins = {policy: printed.index(f"\n{policy}  ") for policy in rows}
    for policy, figures in rows.items():
        end = min((at for at in begins.values() if at > begins[policy]), default=len(printed))
        own = printed[begins[policy] : end]
        for figure in re.split(r"  +", figures):
            assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d.]|,\d)", own), (policy, figure)
