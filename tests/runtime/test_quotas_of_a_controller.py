"""Mutation quotas (KIP-599) in a controller's process, on a real ZooKeeper."""

import socket
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from regent.model.admin_requests import CreateTopics, NewTopic
from regent.model.error_codes import ErrorCode
from regent.wire.apis import APIS, ApiKey
from regent.wire.exchange import decode_answer, encode_request, to_call
from regent.zookeeper.config_writes import change_config
from regent.zookeeper.exchange import run
from regent.zookeeper.options import ZooKeeperOptions
from regent.zookeeper.store import Create
from tests.runtime.listener.served_node import read_message
from tests.runtime.test_pages_of_a_controller import HTTP, figure
from tests.support.controllers import Controllers
from tests.support.leading import Leading
from tests.support.obedient_broker import ObedientBrokers
from tests.support.waiting import eventually

WAIT_S = 60
HOLDER = '{client_id="app",user="ANONYMOUS"}'
TOKENS = f"kafka_server_ControllerMutation_tokens{HOLDER}"
ALLOWED = f"regent_controller_mutation_rate_allowed{HOLDER}"


def create(leading: Leading, topic: str) -> Any:
    """Have a topic of one partition created by the client `app`."""
    call = to_call(
        CreateTopics((NewTopic(topic, 1, 1),)),
        api_version=APIS[ApiKey.CREATE_TOPICS].last_version,
        correlation_id=1,
        client_id="app",
        timeout_ms=WAIT_S * 1000,
    )
    with socket.create_connection(leading.address, timeout=WAIT_S) as link:
        link.sendall(encode_request(call))
        message = read_message(link)
    assert message is not None, "it hung up"
    return decode_answer(call, message)


def allow(leading: Leading, rate: str) -> None:
    """Set the quota of all users' clients, and announce it."""
    decided = {"controller_mutation_rate": rate}
    exchange = change_config("users/<default>/clients/<default>", lambda _: decided)
    assert run(leading.controllers.session, exchange) is None


@pytest.mark.behaviour("quo-002")
def test_a_quota_is_shown_from_its_first_use_and_follows_every_change(
    zookeeper_options: ZooKeeperOptions, tmp_path: Path
) -> None:
    """6 a second in 8 samples of 2 seconds, then 12, then next to nothing: it is refused."""
    settings = tmp_path / "server.properties"
    settings.write_text("controller.quota.window.num=8\ncontroller.quota.window.size.seconds=2\n")
    with (
        ObedientBrokers(zookeeper_options, range(1, 2)) as brokers,
        Controllers(zookeeper_options, tmp_path) as controllers,
    ):
        leading = Leading(controllers, brokers, "--config", str(settings), *HTTP)
        default_user = "/config/users/<default>"
        leading.controllers.session.call((Create(default_user), Create(f"{default_user}/clients")))
        allow(leading, "6")
        assert figure(leading.process, ALLOWED) is None

        names = count()

        def used() -> bool:
            answer = create(leading, f"a{next(names)}")
            assert (answer.results[0].error, answer.throttle_ms) == (ErrorCode.NONE, 0)
            return figure(leading.process, ALLOWED) == 6

        eventually(used, "the quota")
        assert 95 <= (figure(leading.process, TOKENS) or 0) <= 96
        allow(leading, "12")
        eventually(lambda: figure(leading.process, ALLOWED) == 12, "the doubled quota")
        eventually(lambda: (figure(leading.process, TOKENS) or 0) > 96, "its larger burst")
        allow(leading, "0.0001")
        eventually(lambda: figure(leading.process, ALLOWED) == 0.0001, "the small quota")
        create(leading, "b")
        assert create(leading, "c").results[0].error is ErrorCode.THROTTLING_QUOTA_EXCEEDED
