"""Which of Kafka's APIs a node answers, and by what: the table, and nothing else.

What concerns the controller is answered as a node answers it that is nothing but one.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct

from regent.errors import ProtocolError
from regent.node.apis import (
    groups,
    k00_produce,
    k01_fetch,
    k02_list_offsets,
    k03_metadata,
    k04_k05_k06_control,
    k10_find_coordinator,
    k21_delete_records,
    k22_init_producer_id,
    k23_offset_for_leader_epoch,
    k33_k44_alter_configs,
    k35_describe_log_dirs,
)
from regent.node.services import Services
from regent.runtime import api_table
from regent.runtime.caller_connection import Frame, MutingFrame
from regent.runtime.quota_waits import muting
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.exchange import Call, encode_answer_parts, encode_api_versions_answer

#: An answer of the model, a whole frame, or None: nothing is answered at all.
NodeAnswering: TypeAlias = Callable[[Call, Services], Awaitable[Struct | bytes | None]]

# fmt: off
BROKER_ANSWERING: Final[Mapping[ApiKey, NodeAnswering]] = {
    ApiKey.PRODUCE:                 k00_produce.answer,
    ApiKey.FETCH:                   k01_fetch.answer,
    ApiKey.LIST_OFFSETS:            k02_list_offsets.answer,
    ApiKey.METADATA:                k03_metadata.answer,
    ApiKey.LEADER_AND_ISR:          k04_k05_k06_control.answer,
    ApiKey.STOP_REPLICA:            k04_k05_k06_control.answer,
    ApiKey.UPDATE_METADATA:         k04_k05_k06_control.answer,
    ApiKey.FIND_COORDINATOR:        k10_find_coordinator.answer,
    ApiKey.DELETE_RECORDS:          k21_delete_records.answer,
    ApiKey.INIT_PRODUCER_ID:        k22_init_producer_id.answer,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: k23_offset_for_leader_epoch.answer,
    ApiKey.ALTER_CONFIGS:           k33_k44_alter_configs.answer_replacing,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: k33_k44_alter_configs.answer_changing,
    ApiKey.DESCRIBE_LOG_DIRS:       k35_describe_log_dirs.answer,
}
# fmt: on

#: What clients are told that they may ask.
NODE_SERVED: Final[tuple[Api, ...]] = tuple(
    api
    for api in APIS.values()
    if api.key in BROKER_ANSWERING
    or api.key in groups.GROUP_APIS
    or api.key in api_table.ANSWERING
    or api.key is ApiKey.API_VERSIONS
)


async def to_node_answer(call: Call, peer: str, services: Services) -> Frame | MutingFrame:
    """The frame that answers a request; `ProtocolError` for what is not answered here."""
    key = call.header.api_key
    if key == ApiKey.API_VERSIONS:
        return encode_api_versions_answer(call.header, NODE_SERVED)
    answer: Struct | bytes | None
    if key in BROKER_ANSWERING:
        answer = await BROKER_ANSWERING[ApiKey(key)](call, services)
    elif key in groups.GROUP_APIS:
        answer = await groups.answer(call, peer, services)
    elif key in api_table.ANSWERING:
        answer = await api_table.ANSWERING[ApiKey(key)](call, services.desk)
    else:
        raise ProtocolError(f"{call.header.api.name} is not answered here")
    if answer is None:
        return ()
    if isinstance(answer, bytes):
        return answer
    return muting(encode_answer_parts(call, answer), answer)
