"""Modules of the package import one way: there is no circle of them."""

import ast
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
