"""Options that several commands have in common, written once: as the fields of a struct.

Typer reads a command's options from its signature. A command that is `taking` a struct gets one
which names its own parameters and then all fields, and is called with the struct made of them.
"""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, TypeAlias, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct

Command: TypeAlias = Callable[..., None]


def taking(shared: type[Struct]) -> Callable[[Command], Command]:
    """Give a command, beside its own options, those that the fields of this struct describe."""
    hints = get_type_hints(shared, include_extras=True)
    fields = [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is NODEFAULT else field.default,
            annotation=hints[field.name],
        )
        for field in msgspec.structs.fields(shared)
    ]

    def decorate(command: Command) -> Command:
        _options, *own = signature(command, eval_str=True).parameters.values()

        @wraps(command)
        def run(**given: Any) -> None:
            # Who calls it from Python need not say everything.
            names = [field.name for field in fields if field.name in given]
            command(shared(**{name: given.pop(name) for name in names}), **given)

        named = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in own]
        run.__signature__ = Signature([*named, *fields])  # type: ignore[attr-defined]
        return run

    return decorate
