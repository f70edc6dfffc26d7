"""Studies: factors and levels become runs, and runs become advice that can be checked.

Its modules are attributes of it, and are loaded when they are first used.
"""

from importlib import import_module
from importlib.util import find_spec


def __getattr__(name: str) -> object:
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
