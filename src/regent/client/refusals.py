"""Kafka's error codes in sentences: what was refused, why, and what to do about it."""

from collections.abc import Mapping
from typing import Final

from regent.model.error_codes import ErrorCode

#: What to do, for the codes that alone would leave a person at a loss.
# fmt: off
ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        "there is no such topic or partition; `regent topics list` shows what there is",
    ErrorCode.REQUEST_TIMED_OUT:
        "it is not done yet, and may still be done; look again, or give it longer with"
        " --timeout-s",
    ErrorCode.UNSUPPORTED_VERSION:
        "this cluster cannot do it; look at inter.broker.protocol.version of its brokers",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        "its ACLs do not let this client do that",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        "its ACLs do not let this client do that",
    ErrorCode.TOPIC_ALREADY_EXISTS:
        "there is such a topic already; --if-not-exists is content with that",
    ErrorCode.TOPIC_DELETION_DISABLED:
        "set delete.topic.enable=true on the brokers first",
    ErrorCode.REASSIGNMENT_IN_PROGRESS:
        "replicas are being moved; wait for them, or `regent reassign cancel`",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
        "it is not being moved",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE:
        "its first replica is dead or not in sync; `regent topics describe` shows which",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE:
        "no replica that could lead is alive; start one of its brokers",
    ErrorCode.ELECTION_NOT_NEEDED:
        "the leader is the right one already",
    ErrorCode.UNKNOWN_SERVER_ERROR:
        "the log of the controller says more",
}
# fmt: on

DOUBT: Final = (
    "the connection was lost during the first attempt, which may have done it; look before you"
    " try again"
)


def explain(error: ErrorCode, message: str | None) -> str:
    """The broker's own words if it had any, and what to do."""
    told = (message or "").strip().rstrip(".")
    advice = ADVICE.get(error)
    return "; ".join(part for part in (told, advice) if part) or error.name
