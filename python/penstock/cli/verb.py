"""What the application of every verb has in common."""

from functools import partial

import typer

verb = partial(typer.Typer, add_completion=False, rich_markup_mode=None)
"""Makes the application of a verb."""

group = partial(verb, no_args_is_help=True)
"""Makes the application of a verb that has verbs of its own."""
