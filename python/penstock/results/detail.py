"""The detail of a run within the engine's JSON, and the JSON without it."""

import re

_DETAIL = re.compile(r',\n {6}"detail": \{\n.*?\n {6}\}', re.DOTALL)
"""A run's detail in the engine's JSON, which indents by two: no text holds a line's end."""


def without_detail(text: str) -> str:
    """The engine's JSON as it is without the detail, byte for byte."""
    return _DETAIL.sub("", text)
