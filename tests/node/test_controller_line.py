"""How a broker asks for topics, and what a quota of the controller's may and may not hold up."""

import asyncio
from types import SimpleNamespace
from typing import Any

from regent.model.admin_requests import (
    ControlledShutdown,
    ControlledShutdownAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    NewTopic,
    TopicResult,
)
from regent.model.brokers import Broker, Endpoint
from regent.model.ids import BrokerId
from regent.node.controller_line import ControllerLine
from regent.node.node_api_table import to_node_answer
from regent.node.topic_making import make_topics
from regent.runtime.caller_connection import MutingFrame
from regent.runtime.listener import Listener, bind
from regent.wire.exchange import Call, encode_answer, to_call

HOST = "127.0.0.1"
PATIENCE_S = 30.0
#: What no test here may need.
NOTHING: Any = None
TOPIC = NewTopic("t", 1, 1)


class MutingController:
    """Answers everything, and mutes whoever has asked for a topic for longer than a test takes."""

    def __init__(self) -> None:
        self.heard: list[Call] = []
        self.listener = Listener(NOTHING, answering=self._answer)

    async def _answer(self, call: Call, _peer: str) -> bytes | MutingFrame:
        self.heard.append(call)
        if isinstance(call.request, CreateTopics):
            answer = CreateTopicsAnswer((TopicResult("t"),))
            return MutingFrame(encode_answer(call, answer), 3_600_000)
        return encode_answer(call, ControlledShutdownAnswer())


def test_a_broker_that_waits_for_its_quota_still_reports_to_the_controller() -> None:
    """It asks for topics on a connection of its own, and in a version that is never refused."""

    async def script() -> tuple[Any, list[Call]]:
        controller = MutingController()
        bound = bind(HOST, 0)
        port = bound.getsockname()[1]
        await controller.listener.start(bound)
        metadata: Any = SimpleNamespace(
            controller_id=BrokerId(2),
            live_brokers={2: Broker(BrokerId(2), (Endpoint(HOST, port),))},
            topics={"t": None},
        )
        line = ControllerLine(BrokerId(1), metadata, NOTHING)
        host: Any = SimpleNamespace(controller=line, core=SimpleNamespace(metadata=metadata))
        try:
            await make_topics([TOPIC], host, PATIENCE_S)
            return await line.ask(
                ControlledShutdown(BrokerId(1)), timeout_s=PATIENCE_S
            ), controller.heard
        finally:
            line.close()
            await controller.listener.stop()

    answer, heard = asyncio.run(script())

    assert answer == ControlledShutdownAnswer()
    assert [(call.header.client_id, call.header.api_version) for call in heard] == [
        ("1", 5),
        ("1", 3),
    ]


def test_a_node_mutes_like_a_controller_that_is_nothing_else() -> None:
    """For as long as it tells the caller to wait."""

    async def ask(_to_event: Any) -> CreateTopicsAnswer:
        return CreateTopicsAnswer(throttle_ms=60_000)

    services: Any = SimpleNamespace(desk=SimpleNamespace(ask=ask))
    call = to_call(CreateTopics((TOPIC,)), api_version=7, correlation_id=1)

    answer = asyncio.run(to_node_answer(call, "peer", services))

    assert isinstance(answer, MutingFrame)
    assert 0 < answer.mute_ms <= 60_000


def test_a_controller_of_this_process_that_says_nothing_is_waited_for_as_long_as_others() -> None:
    """It has no session to act in; a broker that ends would else never end."""

    class SilentDesk:
        def __getattr__(self, _name: str) -> Any:
            return self._wait

        async def _wait(self, *_arguments: Any, **_named: Any) -> None:
            await asyncio.Event().wait()

    async def script() -> Any:
        metadata: Any = SimpleNamespace(controller_id=BrokerId(1), live_brokers={})
        desk: Any = SilentDesk()
        line = ControllerLine(BrokerId(1), metadata, desk)
        async with asyncio.timeout(PATIENCE_S):
            return await line.ask(ControlledShutdown(BrokerId(1)), timeout_s=0.05)

    assert asyncio.run(script()) is None
