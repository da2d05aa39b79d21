"""AlterConfigs and IncrementalAlterConfigs: as any node does it, and heeded here at once.

Other brokers hear of a change a little later. Whoever needs a broker to know of it asks that one:
when it answers, it goes by all that was changed before.
"""

from regent.model.config_requests import AlterConfigsAnswer
from regent.node.services import Services
from regent.runtime.apis import k33_k44_alter_configs
from regent.wire.exchange import Call


async def answer_replacing(call: Call, services: Services) -> AlterConfigsAnswer:
    """AlterConfigs."""
    answer = await k33_k44_alter_configs.answer_replacing(call, services.desk)
    await services.configs.announced()
    return answer


async def answer_changing(call: Call, services: Services) -> AlterConfigsAnswer:
    """IncrementalAlterConfigs."""
    answer = await k33_k44_alter_configs.answer_changing(call, services.desk)
    await services.configs.announced()
    return answer
