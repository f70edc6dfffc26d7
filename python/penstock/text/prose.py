"""Folding of lines that are longer than a terminal is wide."""

HANGING = 2
"""Additional indentation of continuation lines."""


def fold(text: str, width: int) -> list[str]:
    """Fold `text` into lines of at most `width` characters, all but the first indented.

    A line is broken between clauses if it can be, else between words; a longer word stays whole.
    """
    lines = []
    while len(text) > width:
        clause = max(text.rfind(end, width // 2, width) for end in ("; ", ", "))
        word = text.rfind(" ", HANGING, width)
        end = next((end for end in (clause, word, text.find(" ", width)) if end > HANGING), -1)
        if end < 0:
            break
        end += 0 if text[end] == " " else 1
        lines.append(text[:end])
        text = " " * HANGING + text[end:].lstrip()
    return [*lines, text]
