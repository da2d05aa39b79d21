"""Ask Java once what a name means.

Before each call of a function of Spark, py4j asks Java whether there is a class of that name and
whether it has such a method: two messages of three. The answers cannot change.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JVMView


def remember() -> None:
    """From now on, keep classes and their static methods where they were asked for."""
    for owner in (JVMView, JavaClass):
        if not hasattr(owner.__getattr__, "__wrapped__"):
            owner.__getattr__ = _remembering(owner.__getattr__)


def _remembering(look_up: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    @wraps(look_up)
    def found(owner: Any, name: str) -> Any:
        value = look_up(owner, name)
        if isinstance(value, JavaClass | JavaMember):
            vars(owner)[name] = value
        return value

    return found
