"""`regent node`, and a leader that wavers: it says at times that it does not lead.

For the batches named in REGENT_LATE_LEADER, by their first sequence number: the answer to the first
is lost on the way after it was stored (none, if it is -1), and the others are turned away once.
It takes its time about it, so that the producer's next batches are on the way meanwhile.
"""

import os
import sys
import time
from typing import Any

from regent.cli.main import main
from regent.errors import ProtocolError
from regent.model.error_codes import ErrorCode
from regent.model.ids import TopicPartition
from regent.node.broker_host import BrokerHost
from regent.storage.record_batch import BatchHeader, read_header

TOPIC = "wavering"
SLOW_S = 0.3


def waver(lost: int, turned_away: list[int]) -> None:
    """Put it between the node and its logs."""
    take, find = BrokerHost.append, BrokerHost.led
    offered: list[int] = []

    def append(host: BrokerHost, name: TopicPartition, records: Any, *, acks_all: bool) -> Any:
        header = read_header(records)
        offered[:] = [header.base_sequence] if isinstance(header, BatchHeader) else []
        outcome = take(host, name, records, acks_all=acks_all)
        nonlocal lost
        if name.topic == TOPIC and offered == [lost]:
            lost = -1
            raise ProtocolError("the answer is lost, as the test wants it")
        return outcome

    def led(host: BrokerHost, name: TopicPartition, leader_epoch: int = -1) -> Any:
        if name.topic == TOPIC and lost == -1 and turned_away[:1] == offered:
            del turned_away[0]
            time.sleep(SLOW_S)
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return find(host, name, leader_epoch)

    BrokerHost.append = append  # type: ignore[method-assign, assignment]
    BrokerHost.led = led  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    first, *others = (int(each) for each in os.environ["REGENT_LATE_LEADER"].split(","))
    waver(first, others)
    sys.exit(main())
