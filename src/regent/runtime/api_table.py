"""Which of Kafka's APIs this node answers, and by what: the table, and nothing else.

What a controller sends to brokers it does not answer itself. Where the core has the answer, the
request becomes its event; everything else has a file of its own under `apis`.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from msgspec import Struct

from regent.core.events import (
    AlterPartitionRequested,
    ControlledShutdownRequested,
    ElectLeadersRequested,
    ReassignmentListRequested,
    ReassignmentsRequested,
)
from regent.errors import ProtocolError
from regent.runtime.apis import (
    k00_produce,
    k03_metadata,
    k10_find_coordinator,
    k16_list_groups,
    k19_create_topics,
    k20_delete_topics,
    k22_init_producer_id,
    k32_describe_configs,
    k33_k44_alter_configs,
    k35_describe_log_dirs,
    k37_create_partitions,
    k60_describe_cluster,
    k67_allocate_producer_ids,
)
from regent.runtime.caller_connection import Frame, MutingFrame
from regent.runtime.desk import Desk
from regent.runtime.quota_waits import muting
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.exchange import Call, encode_answer, encode_api_versions_answer

#: An answer of the model, or a whole frame where the model's would take too long to write.
Answering: TypeAlias = Callable[[Call, Desk], Awaitable[Struct | bytes]]


def asked_of_the_core(event: Callable[..., Any]) -> Answering:
    """The core answers it, refusals by a node that is not the controller included."""

    async def answer(call: Call, desk: Desk) -> Struct:
        answered: Struct = await desk.ask(partial(event, request=call.request))
        return answered

    return answer


# fmt: off
ANSWERING: Final[Mapping[ApiKey, Answering]] = {
    ApiKey.PRODUCE:                       k00_produce.answer,
    ApiKey.METADATA:                      k03_metadata.answer,
    ApiKey.CONTROLLED_SHUTDOWN:           asked_of_the_core(ControlledShutdownRequested),
    ApiKey.FIND_COORDINATOR:              k10_find_coordinator.answer,
    ApiKey.LIST_GROUPS:                   k16_list_groups.answer,
    ApiKey.CREATE_TOPICS:                 k19_create_topics.answer,
    ApiKey.DELETE_TOPICS:                 k20_delete_topics.answer,
    ApiKey.INIT_PRODUCER_ID:              k22_init_producer_id.answer,
    ApiKey.DESCRIBE_CONFIGS:              k32_describe_configs.answer,
    ApiKey.ALTER_CONFIGS:                 k33_k44_alter_configs.answer_replacing,
    ApiKey.DESCRIBE_LOG_DIRS:             k35_describe_log_dirs.answer,
    ApiKey.CREATE_PARTITIONS:             k37_create_partitions.answer,
    ApiKey.ELECT_LEADERS:                 asked_of_the_core(ElectLeadersRequested),
    ApiKey.INCREMENTAL_ALTER_CONFIGS:     k33_k44_alter_configs.answer_changing,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: asked_of_the_core(ReassignmentsRequested),
    ApiKey.LIST_PARTITION_REASSIGNMENTS:  asked_of_the_core(ReassignmentListRequested),
    ApiKey.ALTER_PARTITION:               asked_of_the_core(AlterPartitionRequested),
    ApiKey.DESCRIBE_CLUSTER:              k60_describe_cluster.answer,
    ApiKey.ALLOCATE_PRODUCER_IDS:         k67_allocate_producer_ids.answer,
}
# fmt: on

#: What clients are told that they may ask.
SERVED: Final[tuple[Api, ...]] = tuple(
    api for api in APIS.values() if api.key in ANSWERING or api.key is ApiKey.API_VERSIONS
)


async def to_answer(call: Call, desk: Desk) -> Frame | MutingFrame:
    """The frame that answers a request; `ProtocolError` for what is not answered here."""
    if call.header.api_key == ApiKey.API_VERSIONS:
        return encode_api_versions_answer(call.header, SERVED)
    answering = ANSWERING.get(call.header.api.key)
    if answering is None:
        raise ProtocolError(f"{call.header.api.name} is for brokers, and this is none")
    answer = await answering(call, desk)
    return answer if isinstance(answer, bytes) else muting(encode_answer(call, answer), answer)
