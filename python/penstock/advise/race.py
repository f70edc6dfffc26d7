"""Whether merges side by side race: from what a block costs to be read and to be written.

Where each merge writes one disk and reads all others, they race if writing a block takes longer
than reading one from all these disks at once: then a merge that gets ahead fills the queue of a
disk that the others read from faster than the disk can empty it.
"""

RACES_ABOVE = 1.0
"""Merges race if the factor is above this; close to it, it depends on the noise."""


def race_factor(*, read_ms: float, write_ms: float, read_disks: int) -> float:
    """The time of writing a block over that of reading one from so many disks at once.

    Both times are means for one block, of a whole request with its seek and its wait.
    """
    return write_ms * read_disks / read_ms
