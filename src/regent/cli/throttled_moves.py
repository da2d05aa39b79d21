"""Moves that are slowed down: started under a throttle, which is removed when they have ended."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from msgspec import Struct

from regent.cli.bootstrap import complain
from regent.cli.outcomes import ItemOutcome, to_outcomes
from regent.cli.quantities import read_bytes
from regent.client.refusals import explain
from regent.errors import BadInput, NotSupported, RequestRefused
from regent.model.admin_requests import ReassignmentTarget
from regent.model.config_requests import ConfigResource, ConfigResult, ResourceType
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition

if TYPE_CHECKING:
    from regent.client.admin import Admin

STAYS: Final = (
    "the throttle stays until `regent reassign verify` finds that nothing is being moved any more"
)

# fmt: off
ThrottleOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="BYTES",
        help="Copy no more than this in a second from and to each broker, such as 10MB. Start"
        " again with another one to change it.",
    ),
]
PreserveOption: TypeAlias = Annotated[
    bool, typer.Option("--preserve-throttles", help="Leave throttles as they are.")
]
# fmt: on


class ThrottlesLifted(Struct, frozen=True):
    """What a throttle was removed from, and what it could not be removed from."""

    names: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()

    def say(self) -> str:
        """A line, or nothing if there was no throttle."""
        return f"throttles are removed from {', '.join(self.names)}" if self.names else ""


def read_throttle(text: str | None) -> int | None:
    """In bytes per second."""
    if text is None:
        return None
    rate = int(read_bytes(text, "--throttle"))
    if rate <= 0:
        raise BadInput(f"--throttle {text}: with that nothing would ever arrive; give it more")
    return rate


def begin_moves(
    admin: "Admin", targets: Sequence[ReassignmentTarget], throttle: int | None
) -> list[ItemOutcome]:
    """Start moves, under a throttle if there is one; what is on its way already goes on."""
    if throttle is None:
        return to_outcomes(admin.reassign(targets), done="started", content_with={})
    _set_throttle(admin, targets, throttle)
    under_way = admin.moving()
    news: list[ReassignmentTarget] = []
    known: list[ReassignmentTarget] = []
    for target in targets:
        move = under_way.get(TopicPartition(target.topic, target.partition))
        is_known = move is not None and move.target == target.replicas
        (known if is_known else news).append(target)
    results = admin.reassign(news) if news else []
    return to_outcomes(results, done="started", content_with={}) + [
        ItemOutcome(str(TopicPartition(each.topic, each.partition)), "goes on", is_good=True)
        for each in known
    ]


def _set_throttle(admin: "Admin", targets: Sequence[ReassignmentTarget], throttle: int) -> None:
    for result in admin.throttle(targets, throttle):
        if result.error is not ErrorCode.NONE:
            raise RequestRefused(
                f"the throttle cannot be set on {_trouble(result)}; nothing was started",
                result.error,
            )


def lift_throttles(admin: "Admin", topics: Sequence[str]) -> ThrottlesLifted:
    """Remove throttles where nothing is being moved: rates only if that is so everywhere."""
    moving = admin.moving()
    busy = {name.topic for name in moving}
    idle = [topic for topic in dict.fromkeys(topics) if topic not in busy]
    try:
        results = admin.lift_throttles(idle, with_brokers=not moving)
    except NotSupported as error:
        return ThrottlesLifted(troubles=(str(error),))
    good = [_say(each.resource) for each in results if each.error is ErrorCode.NONE]
    bad = [_trouble(each) for each in results if each.error is not ErrorCode.NONE]
    return ThrottlesLifted(tuple(good), tuple(f"a throttle may be left on {each}" for each in bad))


def complain_of(lifted: ThrottlesLifted) -> None:
    """One sentence for each trouble."""
    for trouble in lifted.troubles:
        complain(trouble)


def _trouble(result: ConfigResult) -> str:
    told = explain(result.error, result.message)
    return f"{_say(result.resource)}: {result.error.name}: {told}"


def _say(resource: ConfigResource) -> str:
    kind = "topic" if resource.kind == ResourceType.TOPIC else "broker"
    return f"{kind} {resource.name}"
