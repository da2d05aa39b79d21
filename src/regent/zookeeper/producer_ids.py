"""Blocks of ids for producers: `/latest_producer_id_block` remembers the last one given out.

Nothing here is fenced by the controller epoch, as in Kafka: the version of the znode sees to it
that no id is given out twice, whoever gives.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from regent.errors import CorruptZnode, RegentError, SessionLost
from regent.model.ids import BrokerId
from regent.zookeeper.decoding import Int32, VersionOne, read_json
from regent.zookeeper.exchange import (
    RACES_MAX,
    Exchange,
    data_or_none,
    is_lost,
    read_one,
    send,
    unexpected,
)
from regent.zookeeper.store import Create, Done, Failed, GetData, SetData, ZkError

PRODUCER_IDS: Final = "/latest_producer_id_block"
BLOCK_SIZE: Final = 1_000
_LAST_ID: Final = 2**63 - 1

#: The only numbers that Kafka writes as text.
_Digits = Annotated[str, Meta(pattern=r"^[0-9]{1,19}$")]


class _BlockRecord(Struct):
    version: VersionOne
    broker: Int32
    block_start: _Digits
    block_end: _Digits


_BLOCK_DECODER = msgspec.json.Decoder(_BlockRecord)


class ProducerIdBlock(Struct, frozen=True):
    """Ids that one broker may give out, both ends included."""

    broker_id: BrokerId
    first_id: int
    last_id: int


def encode_producer_ids(block: ProducerIdBlock) -> bytes:
    """The block as Kafka writes it."""
    return msgspec.json.encode(
        _BlockRecord(1, block.broker_id, str(block.first_id), str(block.last_id))
    )


def decode_producer_ids(raw: bytes | None) -> ProducerIdBlock | None:
    """The last block given out; no data means that there was none."""
    if raw is None:
        return None
    record = read_json(_BLOCK_DECODER, PRODUCER_IDS, raw)
    block = ProducerIdBlock(BrokerId(record.broker), int(record.block_start), int(record.block_end))
    if not block.first_id <= block.last_id <= _LAST_ID:
        raise CorruptZnode(PRODUCER_IDS, f"expected a block of ids, found {raw.decode()}")
    return block


def take_producer_ids(broker_id: BrokerId) -> Exchange[ProducerIdBlock]:
    """The next block, for this broker.

    When nobody knows whether a write arrived, the block is left alone and the next one taken:
    ids may be skipped, and must not come twice.
    """
    for _ in range(RACES_MAX):
        found = data_or_none((yield from read_one(GetData(PRODUCER_IDS))))
        block = _next_block(broker_id, decode_producer_ids(found.data if found else None))
        content = encode_producer_ids(block)
        write: Create | SetData
        if found is None:
            write = Create(PRODUCER_IDS, content)
        else:
            write = SetData(PRODUCER_IDS, content, found.stat.version)
        (reply,) = yield from send((write,))
        if isinstance(reply, Done):
            return block
        if not is_lost(reply) and not _is_race(reply):
            raise unexpected(reply)
    raise SessionLost(f"somebody else was faster at {PRODUCER_IDS} {RACES_MAX} times in a row")


def _next_block(broker_id: BrokerId, last: ProducerIdBlock | None) -> ProducerIdBlock:
    first_id = 0 if last is None else last.last_id + 1
    if first_id > _LAST_ID - BLOCK_SIZE:
        raise RegentError(f"all ids for producers are used up: {PRODUCER_IDS} is at {first_id}")
    return ProducerIdBlock(broker_id, first_id, first_id + BLOCK_SIZE - 1)


def _is_race(reply: object) -> bool:
    races = (ZkError.BAD_VERSION, ZkError.NODE_EXISTS, ZkError.NO_NODE)
    return isinstance(reply, Failed) and reply.error in races
