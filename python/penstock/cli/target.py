"""The options of a target: a verb gets all of them as one `Target`."""

from collections.abc import Callable, Collection, Iterator
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, cast, get_args

import typer

from penstock.cli.lane_devices import JOB, divided, of_files
from penstock.cli.options import On
from penstock.target import FLAGS, Flag, Target, TargetOptions


def option(field: str) -> object:
    """The option of the command line for a field of `TargetOptions`."""
    flag, name = FLAGS[field], field.replace("_", "-")
    return typer.Option(f"--{name}", metavar=flag.metavar, help=flag.help)


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
    *, on: object = On, without: Collection[str] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a verb the options of a target in the place of its parameter `target`.

    `on` is the verb's own declaration of where it runs; a verb with a parameter `on` declares it
    there, and gets it as well. `without` has the options that the verb does not take. Without a
    declaration `on` the files of a job may be named singly, which a verb gets among its `sets`.
    """
    fields = [field for field in FLAGS if field not in without]

    def decorated(verb: Callable[..., None]) -> Callable[..., None]:
        taken = signature(verb).parameters

        def run(**arguments: object) -> None:
            where: Any = arguments["on"]
            keywords: dict[str, Any] = {
                name: value for name, value in arguments.items() if name in taken
            }
            if on is On and "on" not in taken:
                where, files = divided(where or [], JOB)
                keywords["sets"] = [*of_files(files), *(keywords["sets"] or [])]
            options = cast(TargetOptions, {field: arguments[field] for field in fields})
            verb(**keywords, target=Target(on=where, options=options))

        run.__doc__ = verb.__doc__
        shown = Signature(list(_parameters(taken.values(), on, fields)))
        run.__signature__ = shown  # type: ignore[attr-defined]
        return run

    return decorated


def _parameters(
    verb: Collection[Parameter], on: object, fields: Collection[str]
) -> Iterator[Parameter]:
    """The parameters of a verb with the options of a target in the place of `target`."""
    names = [parameter.name for parameter in verb]
    for parameter in verb:
        if parameter.name != "target":
            yield parameter
            continue
        if "on" not in names:
            default = Parameter.empty if get_args(on)[0] is str else None
            yield Parameter("on", parameter.kind, default=default, annotation=on)
        for field in fields:
            yield _parameter(field, FLAGS[field])


def _parameter(field: str, flag: Flag) -> Parameter:
    kind: object = list[str] | None if flag.repeated else str | None
    default = None
    if flag.metavar is None:
        kind, default = bool, False
    return Parameter(
        field,
        Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, option(field)],
    )
