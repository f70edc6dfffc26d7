"""Answers of verbs: values that one place draws."""

from io import StringIO

from rich.console import Console

from command import ROOT
from penstock.answer.table import Table, markdown
from penstock.answer.terminal import show
from penstock.answer.value import Blocks, Line


def shown(blocks: Blocks, *, width: int = 80) -> str:
    """What stands on a console so many columns wide."""
    stream = StringIO()
    show(Console(file=stream, width=width, highlight=False), blocks)
    return stream.getvalue()


def test_one_module_draws_tables() -> None:
    """The full screen of `watch` has tables of its own."""
    package = ROOT / "python/penstock"
    drawing = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if "rich.table" in file.read_text() or "rich import table" in file.read_text()
    ]
    assert drawing == ["answer/terminal.py"]


def test_blocks_have_an_empty_line_between_two() -> None:
    table = Table(["name", "figure"], [["a", "1"], ["b", "10"]], notes=["of two rounds"])
    assert shown([["one", Line(("TWO", "bold"), "  three")], [], [table]]) == (
        "one\nTWO  three\n\nname  figure\n────────────\na          1\nb         10\nof two rounds\n"
    )


def test_a_title_stands_above_a_table_and_a_table_without_rows_is_its_notes() -> None:
    assert shown([[Table(["a"], [], title="What", notes=["nothing"])]]) == "What\nnothing\n"


def test_figures_are_never_cut_and_sentences_take_several_lines() -> None:
    wide = Table(["name", "figure"], [["a" * 30, "1" * 30]])
    assert "a" * 30 + "  " + "1" * 30 in shown([[wide]], width=20)
    text = shown([[Table(["name", "why"], [["a", "so many words"]], sentences=1)]], width=14)
    assert [line.rstrip() for line in text.splitlines()[2:]] == ["a     so many", "      words"]


def test_the_cells_of_a_table_of_markdown_are_escaped() -> None:
    table = Table(["a|b"], [["2*"], ["x | y"]])
    assert markdown(table) == "| a\\|b |\n| --- |\n| 2\\* |\n| x \\| y |"
