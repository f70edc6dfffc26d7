"""Check the words of doc comments and the names in Python: part of `make lint`.

A doc comment begins with a verb or with a noun phrase that stands alone. A parameter or a local is
called after what it holds, and a class of the package has a name for itself. Each limit is what was
left when it was set, and may only fall.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

RUST = ("crates", "tests", "benches", "validation", "fuzz", "examples")

PYTHON = ("python", "tools", "docs")

FRAGMENT = re.compile(
    r"(?:Of|That|Those|The same|So many|Such|What|Who|Whose|Whom|As|One|All that|Nothing|None)\b"
    r"(?! (?:happens|if|is this)\b)"
)
"""Openings that need what stands before them."""

VAGUE = frozenset(
    [
        "of",
        "one",
        "told",
        "seen",
        "so",
        "what",
        "who",
        "asked",
        "whole",
        "given",
        "whose",
        "thing",
        "other",
    ]
)
"""Names of parameters that say nothing about what these hold."""

VAGUE_LOCALS = frozenset(
    ["each", "found", "given", "it", "of", "one", "other", "own", "two", "what"]
)
"""Names of locals that say as little."""

JSON_TYPES = ("file_test_types.py", "json_types.py", "merge_types.py")
"""Modules of generated types, which are called as the dataclasses of the same results."""

LIMITS = {
    "doc comments of Rust that open with a fragment": 0,
    "docstrings that open with a fragment": 0,
    "parameters with a vague name": 0,
    "locals with a vague name": 0,
    "names of classes that several modules use": 0,
}


def rust_openings() -> Iterator[tuple[str, str]]:
    """Each first line of a doc comment, with its place."""
    for folder in RUST:
        for path in sorted((ROOT / folder).rglob("*.rs")):
            before = ""
            for number, line in enumerate(path.read_text().splitlines(), 1):
                text = line.strip()
                if text.startswith("///") and not before.startswith("///"):
                    yield f"{path.relative_to(ROOT)}:{number}", text[3:].strip()
                before = text


def python_trees() -> Iterator[tuple[Path, ast.AST]]:
    """Each module of the package, the tools and the site."""
    for folder in PYTHON:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_text())


def vague_locals(tree: ast.AST) -> Iterator[str]:
    """Each vague name that is bound, with its line; fields of classes may have such names."""
    nodes = list(ast.walk(tree))
    bodies = (node.body for node in nodes if isinstance(node, ast.ClassDef))
    fields = {line.target for body in bodies for line in body if isinstance(line, ast.AnnAssign)}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in fields:
            names = [node.id]
        elif isinstance(node, ast.Lambda):
            names = [argument.arg for argument in node.args.args]
        else:
            continue
        yield from (f"{node.lineno}: {name}" for name in names if name in VAGUE_LOCALS)


def findings() -> dict[str, list[str]]:
    """Return a line for each finding, by its name in `LIMITS`."""
    rust, docs, parameters, bound, classes = (list[str]() for _ in LIMITS)
    rust += [f"{place}: {text}" for place, text in rust_openings() if FRAGMENT.match(text)]
    names: Counter[str] = Counter()
    for path, tree in python_trees():
        bound += [f"{path}:{place}" for place in vague_locals(tree)]
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            text = ast.get_docstring(node) or ""
            if FRAGMENT.match(text):
                docs.append(f"{path}:{node.lineno}: {text.splitlines()[0]}")
            if isinstance(node, ast.ClassDef):
                names[node.name] += path.name not in JSON_TYPES
                continue
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            parameters += [
                f"{path}:{node.lineno}: {node.name}({argument.arg})"
                for argument in arguments
                if argument.arg in VAGUE
            ]
    classes += [f"{name}: {count} classes" for name, count in sorted(names.items()) if count > 1]
    return dict(zip(LIMITS, (rust, docs, parameters, bound, classes), strict=True))


def main() -> int:
    """Print what is above its limit, and return the exit code."""
    above = {name: lines for name, lines in findings().items() if len(lines) > LIMITS[name]}
    for name, lines in above.items():
        print("\n".join(lines))
        print(f"{len(lines)} {name}, at most {LIMITS[name]}: say what each is, in plain words")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
