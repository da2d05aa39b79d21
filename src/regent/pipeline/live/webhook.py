"""Alerts to somebody else's server: at least once, and never in the way.

What is to be sent lies in the files of alerts, and how far it was sent beside them. So neither a
server that is down nor a crash loses anything, and the stream does not wait for either.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Final
from urllib.error import URLError
from urllib.parse import urlparse
from urllib.request import Request, urlopen

import msgspec
from msgspec import Struct

from regent.errors import BadInput
from regent.pipeline.live.folder import LiveFolder, put

TIMEOUT_S: Final = 5.0
#: The wait before each new try; the last one is for ever.
WAITS_S: Final = (1.0, 2.0, 5.0, 15.0, 60.0)
LOOK_EVERY_S: Final = 0.5


class Sent(Struct, frozen=True):
    """How far the alerts were sent."""

    batch: int = -1


class Webhook:
    """Posts each file of alerts as one JSON document: `{"batch": 7, "alerts": [...]}`."""

    def __init__(self, url: str, folder: LiveFolder, tell: Callable[[str], None]) -> None:
        if urlparse(url).scheme not in {"http", "https"}:
            raise BadInput(f"{url}: a webhook is an address that begins with http:// or https://")
        self._url = url
        self._folder = folder
        self._tell = tell
        self._cursor = folder.directory / "webhook.json"
        self._stopping = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Send in the background; at the end try once more what is left."""
        thread = threading.Thread(target=self._run, name="webhook", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()
            self._send_the_rest()

    def _run(self) -> None:
        failures = 0
        while not self._stopping.is_set():
            trouble = self._send_next()
            if trouble is None:
                if failures:
                    self._tell(f"the webhook {self._url} answers again")
                failures = 0
                self._stopping.wait(LOOK_EVERY_S)
                continue
            if not failures:
                self._tell(f"the webhook {self._url} fails and will be tried again: {trouble}")
            self._stopping.wait(WAITS_S[min(failures, len(WAITS_S) - 1)])
            failures += 1

    def _send_the_rest(self) -> None:
        trouble = self._send_next()
        left = len(self._unsent())
        if left:
            self._tell(
                f"{left} files of alerts did not reach the webhook ({trouble}); the next watch"
                " with this --out sends them"
            )

    def _unsent(self) -> list[int]:
        sent = self._sent()
        return [batch for batch, _ in self._folder.alert_files() if batch > sent]

    def _sent(self) -> int:
        try:
            return msgspec.json.decode(self._cursor.read_bytes(), type=Sent).batch
        except FileNotFoundError:
            return -1

    def _send_next(self) -> str | None:
        """Send all that is unsent, until one fails; why it did, or None."""
        for batch in self._unsent():
            lines = self._folder.alerts_file(batch).read_bytes().splitlines()
            alerts = [msgspec.Raw(line) for line in lines]
            trouble = self._post(msgspec.json.encode({"batch": batch, "alerts": alerts}))
            if trouble is not None:
                return trouble
            put(self._cursor, msgspec.json.encode(Sent(batch)))
        return None

    def _post(self, body: bytes) -> str | None:
        request = Request(  # noqa: S310 - only http and https get here
            self._url, data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        try:
            with urlopen(request, timeout=TIMEOUT_S):  # noqa: S310 - see above
                return None
        except (URLError, HTTPException, OSError) as error:
            return str(error)
