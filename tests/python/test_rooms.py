"""Modules of the package import one way: no circle of them, and none that imports from above."""

import ast
from fnmatch import fnmatchcase
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from command import ROOT


def imports(root: Path) -> dict[str, set[str]]:
    """Each module below `root` with the modules that it imports, in functions too."""
    files = {}
    for file in root.rglob("*.py"):
        parts = file.relative_to(root).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        found[module] = set()
        for node in ast.walk(ast.parse(file.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [name.name for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{name.name}" for name in node.names]
            for name in names:
                # The engine is a module of its own below the package.
                if name.startswith("penstock._native"):
                    continue
                path = name.split(".")
                prefixes = (".".join(path[:length]) for length in range(len(path), 0, -1))
                owner = next((prefix for prefix in prefixes if prefix in files), module)
                found[module] |= {owner} - {module}
    return found


FLOORS = (
    {"errors", "signals", "target"},
    {"results"},
    {"answer", "text"},
    {"charts"},
    {"report"},
    {"comparison", "metrics"},
    {"api", "gate", "job", "policy", "session"},
    {"experiment"},
    {"sweeps"},
    {""},
    {"capturing", "metering", "passes", "served", "tracing"},
    {"advise", "agreement", "calibrate", "diff", "guard", "iozone", "merging", "papers"}
    | {"study", "watch"},
    {"cli", "papers.*.live_command"},
    {"command", "__main__"},
)
"""Rooms of the package, the lowest first: a module imports from its own floor or from below it.

The package's own names (``""``) are what programs import; ``*`` stands for a paper.
"""


def floor(module: str) -> int:
    """The floor of a module, by the longest name that stands on one."""
    parts = module.split(".")[1:]
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)] or [""]
    for name in names:
        for number, rooms in enumerate(FLOORS):
            if any(fnmatchcase(name, room) for room in rooms):
                return number
    raise AssertionError(f"{module} is on no floor of FLOORS")


def climbing(root: Path) -> list[str]:
    """Imports that go up."""
    return [
        f"{module} imports {other}"
        for module, others in imports(root).items()
        for other in sorted(others)
        if floor(other) > floor(module)
    ]


def test_no_module_imports_from_above() -> None:
    assert climbing(ROOT / "python") == []


def test_an_import_from_above_is_found(tmp_path: Path) -> None:
    for name, text in {
        "report/page.py": "def page():\n    import penstock.cli.run\n",
        "cli/run.py": "from penstock.report import page\n",
    }.items():
        file = tmp_path / "penstock" / name
        file.parent.mkdir(parents=True)
        file.write_text(text)
    assert climbing(tmp_path) == ["penstock.report.page imports penstock.cli.run"]


def test_a_papers_command_stands_on_the_floor_of_the_command_line() -> None:
    assert floor("penstock.papers.any.live_command") == floor("penstock.cli.run")
    assert floor("penstock.papers.any.live") == floor("penstock.papers.result")


def test_there_is_no_circle_of_modules() -> None:
    TopologicalSorter(imports(ROOT / "python")).prepare()


def test_a_circle_is_found(tmp_path: Path) -> None:
    package = tmp_path / "house"
    package.mkdir()
    (package / "__init__.py").write_text("from house import hall\n")
    (package / "hall.py").write_text("def go():\n    from house.stairs import up\n")
    (package / "stairs.py").write_text("")
    TopologicalSorter(imports(tmp_path)).prepare()
    (package / "stairs.py").write_text("import house.hall\n")
    with pytest.raises(CycleError):
        TopologicalSorter(imports(tmp_path)).prepare()
