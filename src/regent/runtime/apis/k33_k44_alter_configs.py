"""AlterConfigs, versions 0 to 2, and IncrementalAlterConfigs, 0 and 1: for topics and brokers.

Any node may do this, as any of Kafka's brokers may: a config belongs to no reign. What is written
is announced, and brokers and the controller in office hear of it by that.
"""

import logging
from collections import Counter
from collections.abc import Sequence

from regent.errors import RegentError
from regent.model.config_requests import (
    AlterConfigs,
    AlterConfigsAnswer,
    ConfigResource,
    ConfigResult,
    IncrementalAlterConfigs,
)
from regent.model.error_codes import ErrorCode
from regent.runtime.config_decisions import changed, replaced, to_entity
from regent.runtime.desk import Desk
from regent.wire.exchange import Call
from regent.zookeeper.config_writes import ConfigRefusal, Decide, change_config

logger = logging.getLogger(__name__)


async def answer_replacing(call: Call, desk: Desk) -> AlterConfigsAnswer:
    """AlterConfigs: what is not named is set no more."""
    request: AlterConfigs = call.request
    wishes = [
        (each.resource, replaced(each.resource, each.configs)) for each in request.replacements
    ]
    return await _alter(desk, wishes, validate_only=request.validate_only)


async def answer_changing(call: Call, desk: Desk) -> AlterConfigsAnswer:
    """IncrementalAlterConfigs: what is not named stays."""
    request: IncrementalAlterConfigs = call.request
    wishes = [(each.resource, changed(each.resource, each.changes)) for each in request.alterations]
    return await _alter(desk, wishes, validate_only=request.validate_only)


async def _alter(
    desk: Desk, wishes: Sequence[tuple[ConfigResource, Decide]], *, validate_only: bool
) -> AlterConfigsAnswer:
    """One resource after the other; each has a result of its own."""
    times_named = Counter(resource for resource, _ in wishes)
    results: dict[ConfigResource, ConfigResult] = {}
    for resource, decide in wishes:
        if times_named[resource] > 1:
            refusal: ConfigRefusal | None = ConfigRefusal(
                ErrorCode.INVALID_REQUEST, "the request names this resource more than once"
            )
        else:
            refusal = await _alter_one(desk, resource, decide, validate_only=validate_only)
        results[resource] = (
            ConfigResult(resource)
            if refusal is None
            else ConfigResult(resource, refusal.error, refusal.message)
        )
    return AlterConfigsAnswer(tuple(results.values()))


async def _alter_one(
    desk: Desk, resource: ConfigResource, decide: Decide, *, validate_only: bool
) -> ConfigRefusal | None:
    entity = to_entity(resource)
    if isinstance(entity, ConfigRefusal):
        return entity
    try:
        return await desk.run(change_config(entity, decide, validate_only=validate_only))
    except RegentError as failure:
        logger.warning("the config of %s cannot be changed: %s", entity, failure)
        return ConfigRefusal(ErrorCode.UNKNOWN_SERVER_ERROR, f"{failure}; try again")
