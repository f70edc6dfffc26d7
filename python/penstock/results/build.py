"""Builds frozen dataclasses from JSON: members of the same name, converted by type.

A member that the JSON omits is None, false or empty, as the type allows. If names or shapes differ,
a small function renames the members first; `shaped` binds it to the dataclass.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Self, TypeAlias, TypeVar, Union, get_args, get_origin

Json: TypeAlias = Mapping[str, Any]
"""A JSON object."""

Value: TypeAlias = Any
"""A JSON value, or the value of an attribute."""

Hint: TypeAlias = Any
"""A type annotation."""

Shape: TypeAlias = Callable[[Json], Json]
"""Renames the members of an object to the attributes of a dataclass."""

T = TypeVar("T")

_SHAPES: dict[type, Shape] = {}


def shaped(by: Shape) -> Callable[[type[T]], type[T]]:
    """Binds a function that renames members to the dataclass below it."""

    def bind(cls: type[T]) -> type[T]:
        _SHAPES[cls] = by
        return cls

    return bind


def lifted(name: str) -> Shape:
    """Make a shape that copies the members of the object `name` next to it as `name_member`."""
    return lambda members: {
        **members,
        **{f"{name}_{key}": value for key, value in members[name].items()},
    }


def build(cls: type[T], source: Json) -> T:
    """Build a `cls` from a JSON object."""
    members = _SHAPES[cls](source) if cls in _SHAPES else source
    values = {}
    for field in fields(cls):  # type: ignore[arg-type]
        name, hint = field.name, field.type
        values[name] = _value(cls, hint, members[name]) if name in members else _nothing(name, hint)
    return cls(**values)


def _value(cls: type, hint: Hint, value: Value) -> Value:
    """Convert a JSON value to the type `hint` of an attribute of `cls`."""
    if value is None:
        return None
    if hint is Self:
        return build(cls, value)
    if isinstance(hint, type) and is_dataclass(hint):
        return build(hint, value)
    inner = [argument for argument in get_args(hint) if argument is not NoneType]
    kind: Hint = get_origin(hint)
    if kind in (Union, UnionType) and len(inner) == 1:
        return _value(cls, inner[0], value)
    if kind is tuple:
        return tuple(_value(cls, inner[0], item) for item in value)
    if kind is Mapping:
        return {key: _value(cls, inner[1], item) for key, item in value.items()}
    return value


def _nothing(name: str, hint: Hint) -> Value:
    """Return the value of an attribute that the JSON omits."""
    if NoneType in get_args(hint):
        return None
    kind: Hint = get_origin(hint) or hint
    if kind is tuple:
        return ()
    if kind is Mapping:
        return {}
    if kind is bool:
        return False
    raise KeyError(name)
