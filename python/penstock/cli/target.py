"""The options of a target: a verb gets all of them as one `Target`."""

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args

import typer

from penstock.cli.lane_devices import JOB, divided, of_files
from penstock.cli.options import Create, Engine, EvenIfNotEmpty, LoseData, On, ReadOnly
from penstock.target import Target

OPTIONS = {
    "on": On,
    "create": Create,
    "i_will_lose_data": LoseData,
    "even_if_not_empty": EvenIfNotEmpty,
    "read_only": ReadOnly,
    "engine": Engine,
}
"""Every option of a target, by its field."""


def device_or_path(purpose: str) -> object:
    """An option --on that has to be given; its help says what is done there."""
    return Annotated[
        str,
        typer.Option(
            "--on",
            metavar="DEVICE|PATH|emulated:…",
            help=f"{purpose}, as --on of `compare` takes it.",
            show_default=False,
        ),
    ]


def targeted(
    *, on: object = On, read_only: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a verb the options of a target in the place of its parameter `target`.

    `on` is the verb's own declaration of where it runs; a verb with a parameter `on` declares it
    there, and gets it as well. Not every verb may be `read_only`. Without such a declaration the
    files of a job may be named singly, which a verb gets among its `sets`.
    """
    options = {**OPTIONS, "on": on}
    if not read_only:
        del options["read_only"]

    def decorated(verb: Callable[..., None]) -> Callable[..., None]:
        taken = signature(verb).parameters

        def run(**given: object) -> None:
            named: dict[str, Any] = {field: given[field] for field in options}
            named["i_will_lose_data"] = named["i_will_lose_data"] or ()
            own: dict[str, Any] = {one: value for one, value in given.items() if one in taken}
            if on is On and "on" not in taken:
                named["on"], files = divided(named["on"] or [], JOB)
                own["sets"] = [*of_files(files), *(own["sets"] or [])]
            verb(**own, target=Target(**named))

        run.__doc__ = verb.__doc__
        shown = Signature(list(_parameters(signature(verb), options)))
        run.__signature__ = shown  # type: ignore[attr-defined]
        return run

    return decorated


def _parameters(verb: Signature, options: dict[str, Any]) -> Iterator[Parameter]:
    """The parameters of a verb with the options of a target in the place of `target`."""
    for one in verb.parameters.values():
        if one.name != "target":
            yield one
            continue
        for field, declared in options.items():
            if field in verb.parameters:
                continue
            kind = get_args(declared)[0]
            # An option that may be given several times is not given at all by default.
            usual = None if field == "i_will_lose_data" else getattr(Target, field)
            default = Parameter.empty if kind is str else usual
            yield Parameter(field, one.kind, default=default, annotation=declared)
