"""Alerts to somebody else's server: at least once, in order, and never in the way (Q8)."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec
import pytest

from regent.errors import BadInput
from regent.pipeline.live import webhook
from regent.pipeline.live.folder import LiveFolder, alert_lines, put
from regent.pipeline.live.webhook import Webhook

pytestmark = pytest.mark.requirement("Q8")

PATIENCE_S = 30


class Server:
    """Somebody else's server: keeps what it is sent, after refusing some of it."""

    def __init__(self, refusals: int = 0) -> None:
        self.refusals = refusals
        self.posts: list[dict[str, Any]] = []
        #: Set once it has what a test waits for.
        self.has_batch = {number: Event() for number in range(10)}
        self.url = ""

    @contextmanager
    def running(self) -> Iterator[None]:
        """On a port of its own."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(server.answer_to(msgspec.json.decode(body)))
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing on the terminal."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
            self.url = f"http://127.0.0.1:{http.server_port}/alerts"
            thread = Thread(target=http.serve_forever, args=(0.02,))
            thread.start()
            try:
                yield
            finally:
                http.shutdown()
                thread.join()

    def answer_to(self, post: dict[str, Any]) -> int:
        """Refuse as often as was asked for, then accept."""
        if self.refusals:
            self.refusals -= 1
            return 503
        self.posts.append(post)
        self.has_batch[post["batch"]].set()
        return 204


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[LiveFolder]:
    folder = LiveFolder(tmp_path)
    with folder.held():
        yield folder


@pytest.fixture(autouse=True)
def _without_long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "WAITS_S", (0.01,))
    monkeypatch.setattr(webhook, "LOOK_EVERY_S", 0.01)


def alerts(folder: LiveFolder, batch: int, *rules: str) -> None:
    put(folder.alerts_file(batch), alert_lines([{"rule": rule} for rule in rules]))


def test_each_file_of_alerts_is_posted_once_though_the_watch_starts_again(
    folder: LiveFolder,
) -> None:
    server, news = Server(), list[str]()
    alerts(folder, 1, "broker_died", "controller_changed")
    with server.running():
        with Webhook(server.url, folder, news.append).running():
            assert server.has_batch[1].wait(PATIENCE_S)
            alerts(folder, 3, "broker_died")
            assert server.has_batch[3].wait(PATIENCE_S)
        alerts(folder, 4, "event_failed")
        with Webhook(server.url, folder, news.append).running():
            pass

    assert server.posts == [
        {"batch": 1, "alerts": [{"rule": "broker_died"}, {"rule": "controller_changed"}]},
        {"batch": 3, "alerts": [{"rule": "broker_died"}]},
        {"batch": 4, "alerts": [{"rule": "event_failed"}]},
    ]
    assert not news


def test_a_server_that_refuses_is_tried_again_and_spoken_of_once(folder: LiveFolder) -> None:
    server, news = Server(refusals=3), list[str]()
    alerts(folder, 1, "broker_died")
    alerts(folder, 2, "broker_died")
    with server.running(), Webhook(server.url, folder, news.append).running():
        assert server.has_batch[2].wait(PATIENCE_S)

    assert [post["batch"] for post in server.posts] == [1, 2]
    assert news[0].endswith("fails and will be tried again: HTTP Error 503: Service Unavailable")
    assert [line for line in news[1:] if "answers again" not in line] == []


def test_what_reaches_nobody_is_kept_for_the_next_watch(folder: LiveFolder) -> None:
    server, news = Server(), list[str]()
    with server.running():
        pass
    alerts(folder, 1, "broker_died")
    with Webhook(server.url, folder, news.append).running():
        pass

    assert news[-1].startswith("1 files of alerts did not reach the webhook (")
    with server.running(), Webhook(server.url, folder, news.append).running():
        pass
    assert [post["batch"] for post in server.posts] == [1]


def test_an_address_that_is_none_is_refused(folder: LiveFolder) -> None:
    with pytest.raises(BadInput, match="begins with http"):
        Webhook("file:///etc/passwd", folder, lambda _: None)
