"""Which facts a person who watches the log should see, and how they are put.

The journal has all of them. Here are those that say who rules, who is there, and what went wrong;
the moves of single partitions are not.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from regent.journal.record import Record
from regent.model.facts import (
    BrokerDown,
    BrokerUp,
    ControllerElected,
    ControllerResigned,
    DeletionAdvanced,
    EventFailed,
    FactBase,
    LogDirFailed,
    ReassignmentAdvanced,
    ShutdownAdvanced,
    ZnodeIsolated,
)

logger = logging.getLogger("regent.controller")


class Wording(NamedTuple):
    """How loud a fact is, and its sentence."""

    level: int
    # Any: each sentence takes just its own kind of fact.
    sentence: Callable[[Any], str]


# fmt: off
# ruff: noqa: E501 - a table is read by its columns
WORDINGS: Final[Mapping[type[FactBase], Wording]] = {
    ControllerElected:    Wording(logging.INFO, lambda _: "elected"),
    ControllerResigned:   Wording(logging.INFO, lambda f: f"resigned: {f.reason}"),
    EventFailed:          Wording(logging.ERROR, lambda f: f"an event failed: {f.reason}"),
    ZnodeIsolated:        Wording(logging.WARNING, lambda f: f"{f.path} cannot be used: {f.reason}"),
    BrokerUp:             Wording(logging.INFO, lambda f: f"broker {f.broker_id} is up"),
    BrokerDown:           Wording(logging.WARNING, lambda f: f"broker {f.broker_id} is down"),
    LogDirFailed:         Wording(logging.WARNING, lambda f: f"{f.topic}-{f.partition}: log directory of broker {f.broker_id} failed"),
    ReassignmentAdvanced: Wording(logging.INFO, lambda f: f"{f.topic}-{f.partition}: reassignment in phase {f.phase}"),
    DeletionAdvanced:     Wording(logging.INFO, lambda f: f"deletion of {f.topic}: {f.phase}{f': {f.reason}' if f.reason else ''}"),
    ShutdownAdvanced:     Wording(logging.INFO, lambda f: f"broker {f.broker_id} is shutting down and leads {f.partition_count} partitions"),
}
# fmt: on


def log_record(record: Record) -> None:
    """Put a record's fact into the log, if it is one of those."""
    wording = WORDINGS.get(type(record.fact))
    if wording is not None and logger.isEnabledFor(wording.level):
        sentence = wording.sentence(record.fact)
        logger.log(wording.level, "epoch %d: %s", record.controller_epoch, sentence)
