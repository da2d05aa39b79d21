"""Brokers on real sockets that answer from tables, and can be told to misbehave.

They speak through `regent.wire`, at the other end from the client under test. Metadata comes from
the cluster's own table; every other answer is what the test put there.
"""

import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum, auto
from typing import Any, Final

from kio.schema.errors import ErrorCode as KioErrorCode
from msgspec import Struct
from msgspec.structs import replace

from regent.model.admin_requests import (
    AlterReassignments,
    AlterReassignmentsAnswer,
    CreatePartitions,
    CreatePartitionsAnswer,
    CreateTopics,
    CreateTopicsAnswer,
    DeleteTopics,
    DeleteTopicsAnswer,
    ElectLeaders,
    ElectLeadersAnswer,
    ListReassignments,
    ListReassignmentsAnswer,
    TopicResult,
)
from regent.model.cluster_requests import (
    NO_CONTROLLER,
    Metadata,
    MetadataAnswer,
    NodeAddress,
    PartitionDescription,
    TopicDescription,
)
from regent.model.error_codes import ErrorCode
from regent.model.ids import BrokerId
from regent.wire.apis import APIS, Api, ApiKey
from regent.wire.exchange import (
    Call,
    decode_request,
    encode_answer,
    encode_answer_values,
    encode_api_versions_answer,
)
from regent.wire.frames import FrameReader
from regent.wire.headers import RequestHeader
from regent.wire.values import NOT_THROTTLED
from tests.support.builders import ids

HOST: Final = "127.0.0.1"


class Fault(Enum):
    """What a broker does instead of answering; each is done once for each time it was planned."""

    NOT_CONTROLLER = auto()
    CLOSE = auto()
    CLOSE_MID_ANSWER = auto()
    GARBAGE = auto()
    OTHER_REQUESTS_ANSWER = auto()
    LEFTOVER_BYTES = auto()
    SPEAK_HTTP = auto()
    WANT_TLS = auto()
    SILENCE = auto()


#: What goes out for faults that are bytes.
NOISE: Final[Mapping[Fault, bytes]] = {
    Fault.GARBAGE: b"\x00\x00\x00\x03\xff\xfe\xfd",
    Fault.SPEAK_HTTP: b"HTTP/1.1 400 Bad Request\r\n\r\n",
    Fault.WANT_TLS: b"\x15\x03\x03\x00\x02\x02\x46",
}

_ERROR: Final = ErrorCode.NOT_CONTROLLER
#: How each request is refused by a broker that is not the controller.
REFUSALS: Final[Mapping[type[Struct], Callable[[Any], Struct]]] = {
    CreateTopics: lambda request: CreateTopicsAnswer(
        tuple(TopicResult(topic.name, _ERROR) for topic in request.topics)
    ),
    CreatePartitions: lambda request: CreatePartitionsAnswer(
        tuple(TopicResult(topic.name, _ERROR) for topic in request.topics)
    ),
    DeleteTopics: lambda request: DeleteTopicsAnswer(
        tuple(TopicResult(topic, _ERROR) for topic in request.topics)
    ),
    ElectLeaders: lambda _: ElectLeadersAnswer(_ERROR),
    AlterReassignments: lambda _: AlterReassignmentsAnswer(_ERROR),
    ListReassignments: lambda _: ListReassignmentsAnswer(_ERROR),
}


def partition(
    number: int,
    *replicas: int,
    leader: int | None = None,
    isr: tuple[int, ...] | None = None,
    offline: tuple[int, ...] = (),
) -> PartitionDescription:
    """Led by its first replica and with all in sync, unless the test says otherwise."""
    return PartitionDescription(
        partition=number,
        leader=BrokerId(replicas[0] if leader is None else leader),
        replicas=ids(*replicas),
        isr=ids(*(replicas if isr is None else isr)),
        offline_replicas=ids(*offline),
    )


def topic(name: str, *partitions: PartitionDescription) -> TopicDescription:
    """A topic that is there."""
    return TopicDescription(name, partitions=partitions)


class ScriptedCluster:
    """Brokers, who of them is controller, the topics, and what is answered to what."""

    def __init__(self, broker_count: int) -> None:
        self.topics: list[TopicDescription] = []
        #: Whom each Metadata names, in turn; the last one stays.
        self.controllers: deque[int] = deque([1])
        #: By type of request: the answer, or answers in turn of which the last one stays.
        self.answers: dict[type[Struct], deque[Struct]] = {}
        #: By type of request (None: ApiVersions): what happens before answers.
        self.faults: dict[type[Struct] | None, deque[Fault]] = {}
        #: Every request that was understood, and by whom.
        self.heard: list[tuple[int, Any]] = []
        #: Called with each of them before it is answered.
        self.on_heard: Callable[[Any], None] = lambda _: None
        #: What brokers say that they speak.
        self.served: dict[int, Api] = dict(APIS)
        #: The last version of ApiVersions that brokers know; an older one names nothing else.
        self.api_versions_last = APIS[ApiKey.API_VERSIONS].last_version
        self.is_ending = threading.Event()
        self.lock = threading.Lock()
        self.brokers = {
            number: ScriptedBroker(number, self) for number in range(1, broker_count + 1)
        }

    def answer(self, *answers: Struct, to: type[Struct]) -> None:
        """Answer a type of request; several answers are given in turn."""
        self.answers[to] = deque(answers)

    def fail(self, *faults: Fault, to: type[Struct] | None) -> None:
        """Misbehave on the next requests of this type."""
        self.faults[to] = deque(faults)

    def serve(self, api_key: ApiKey, *, last_version: int | None) -> None:
        """Speak an API only up to this version, or with None not at all."""
        if last_version is None:
            del self.served[api_key]
        else:
            self.served[api_key] = replace(APIS[api_key], last_version=last_version)

    def heard_of(self, kind: type[Struct]) -> list[Any]:
        """The requests of one type, in their order."""
        return [request for _, request in self.heard if isinstance(request, kind)]

    def hearers_of(self, kind: type[Struct]) -> list[int]:
        """The brokers that heard a type of request, in their order."""
        return [number for number, request in self.heard if isinstance(request, kind)]

    @property
    def bootstrap(self) -> str:
        """The address of the first broker, as a person types it."""
        return f"{HOST}:{self.brokers[1].port}"

    def close(self) -> None:
        """End all brokers."""
        self.is_ending.set()
        for broker in self.brokers.values():
            broker.close()

    # --- what brokers ask of it ---------------------------------------------------------------

    def take(self, queues: dict[Any, deque[Any]], kind: Any, *, keep_last: bool) -> Any:
        """The next of a queue, or None."""
        with self.lock:
            queue = queues.get(kind)
            if not queue:
                return None
            return queue[0] if keep_last and len(queue) == 1 else queue.popleft()

    def metadata(self, request: Metadata) -> MetadataAnswer:
        """From the tables."""
        with self.lock:
            number = self.controllers[0]
            if len(self.controllers) > 1:
                self.controllers.popleft()
        there = {each.topic: each for each in self.topics}
        missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return MetadataAnswer(
            nodes=tuple(
                NodeAddress(BrokerId(each.broker_id), HOST, each.port, f"rack-{each.broker_id}")
                for each in self.brokers.values()
                if each.is_named
            ),
            cluster_id="scripted",
            controller_id=BrokerId(number) if number else NO_CONTROLLER,
            topics=tuple(self.topics)
            if request.topics is None
            else tuple(there.get(name, TopicDescription(name, missing)) for name in request.topics),
        )


class ScriptedBroker:
    """One listening socket, and a thread for each connection."""

    def __init__(self, broker_id: int, cluster: ScriptedCluster) -> None:
        self.broker_id = broker_id
        self._cluster = cluster
        self._listening = socket.create_server((HOST, 0))
        self.port: int = self._listening.getsockname()[1]
        self.is_alive = True
        #: Whether Metadata has it; a dead broker stays there for a while.
        self.is_named = True
        self._links: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def close(self, *, is_named: bool = False) -> None:
        """As if killed: the port is closed and every connection with it."""
        if not self.is_alive:
            return
        self.is_alive = False
        self.is_named = is_named
        self._listening.shutdown(socket.SHUT_RDWR)
        self._threads[0].join()
        self._listening.close()
        for link in self._links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join()

    def _accept(self) -> None:
        while self.is_alive:
            try:
                link, _ = self._listening.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(link,))
            self._links.append(link)
            self._threads.append(thread)
            thread.start()

    def _serve(self, link: socket.socket) -> None:
        frames = FrameReader()
        with link, suppress(OSError):
            while piece := link.recv(65_536):
                for message in frames.feed(piece):
                    frame = self._answer_to(message, link)
                    if frame is None:
                        return
                    link.sendall(frame)

    def _answer_to(self, message: bytes | bytearray, link: socket.socket) -> bytes | None:
        """A frame to send, or None to hang up."""
        call = decode_request(message)
        kind = None if call.header.api_key == ApiKey.API_VERSIONS else type(call.request)
        if kind is not None:
            self._cluster.heard.append((self.broker_id, call.request))
            self._cluster.on_heard(call.request)
        fault = self._cluster.take(self._cluster.faults, kind, keep_last=False)
        if fault is None:
            return self._honest_answer(call)
        return self._misbehave(fault, call, link)

    def _misbehave(self, fault: Fault, call: Call, link: socket.socket) -> bytes | None:
        if fault in NOISE:
            return NOISE[fault]
        match fault:
            case Fault.NOT_CONTROLLER:
                return encode_answer(call, REFUSALS[type(call.request)](call.request))
            case Fault.OTHER_REQUESTS_ANSWER:
                other = replace(call.header, correlation_id=call.header.correlation_id + 1)
                return self._honest_answer(replace(call, header=other))
            case Fault.LEFTOVER_BYTES:
                frame = self._honest_answer(call)
                return (len(frame) - 3).to_bytes(4) + frame[4:] + b"!"
            case Fault.CLOSE_MID_ANSWER:
                link.sendall(self._honest_answer(call)[:-1])
            case Fault.SILENCE:
                self._cluster.is_ending.wait()
            case _:
                assert fault is Fault.CLOSE, fault
        return None

    def _honest_answer(self, call: Call) -> bytes:
        if call.header.api_key == ApiKey.API_VERSIONS:
            return self._say_versions(call.header)
        api = self._cluster.served[call.header.api_key]
        assert api.speaks(call.header.api_version), f"{call.header} was not agreed on"
        if isinstance(call.request, Metadata):
            return encode_answer(call, self._cluster.metadata(call.request))
        answers: dict[Any, deque[Any]] = self._cluster.answers
        answer = self._cluster.take(answers, type(call.request), keep_last=True)
        assert answer is not None, f"the test has no answer to {call.request}"
        return encode_answer(call, answer)

    def _say_versions(self, header: RequestHeader) -> bytes:
        served: Iterable[Api] = self._cluster.served.values()
        if header.api_version <= self._cluster.api_versions_last:
            return encode_api_versions_answer(header, served)
        last = self._cluster.api_versions_last
        told = {"api_key": ApiKey.API_VERSIONS, "min_version": 0, "max_version": last}
        values = {
            "error_code": KioErrorCode.unsupported_version,
            "api_keys": [told] if last else [],
            "throttle_time": NOT_THROTTLED,
        }
        return encode_answer_values(RequestHeader(header.api_key, 0, header.correlation_id), values)
