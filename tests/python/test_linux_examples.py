"""The jobs of `examples/linux` show what their comments say."""

import re

import pytest

import linux_examples
from command import penstock

NAMES = sorted(path.stem for path in linux_examples.FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_table_in_a_comment_has_the_figures_of_the_run(name: str) -> None:
    example = linux_examples.read(name)
    assert example.lines < 40
    assert list(example.rows) == example.policies
    printed = penstock(*example.command.split(), "--detail").out
    begins = {policy: printed.rindex(f"\n{policy}  ") for policy in example.rows}
    for policy, figures in example.rows.items():
        end = min((at for at in begins.values() if at > begins[policy]), default=len(printed))
        own = printed[begins[policy] : end]
        for figure in re.split(r"  +", figures):
            assert re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d.]|,\d)", own), (policy, figure)
