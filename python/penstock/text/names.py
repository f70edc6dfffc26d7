r"""Names of files for the eye: a byte that is not UTF-8, a surrogate in Python, is `U+FFFD`.

Paths are opened as they are. What is printed, drawn or written into pages and workbooks goes
through here, as no encoder takes a surrogate.
"""

import re

SURROGATES = {code: "\N{REPLACEMENT CHARACTER}" for code in range(0xDC80, 0xDD00)}
"""What Python makes of bytes that are not UTF-8, and how they are shown."""

_ESCAPED = re.compile(
    r"\\(?:ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(?P<byte>udc[89a-f][0-9a-f])|.)", re.IGNORECASE
)
"""An escape in JSON: of a character in two parts, of a byte, or another one."""


def escaped(text: str) -> str:
    """Return JSON for a file, in which such bytes are escapes, for a reader to open."""
    return "".join(f"\\u{ord(char):04x}" if ord(char) in SURROGATES else char for char in text)


def shown(text: str) -> str:
    """Return a text for the eye."""
    return text if text.isascii() else text.translate(SURROGATES)


def shown_json(text: str) -> str:
    """Return JSON for the eye, in which such bytes may also be escapes."""
    if r"\udc" in text:
        text = _ESCAPED.sub(lambda escape: "\ufffd" if escape["byte"] else escape[0], text)
    return shown(text)
