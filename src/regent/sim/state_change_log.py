"""A simulated run as Kafka 3.9 brokers would have logged it, at TRACE.

Every node has a `state-change.log`, with what it did as controller and as broker, and a
`controller.log`, each line stamped by that node's own clock. What the lines say is in `log_lines`;
here is when they are written and where to. Like the journal this only watches: a run that is logged
is the same run.
"""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from regent.core.effects import Send
from regent.errors import BadInput
from regent.journal.record import Record
from regent.model import facts
from regent.model.brokers import Broker
from regent.model.control_requests import ControlAnswer, ControlRequest
from regent.model.ids import BrokerId, ControllerEpoch, TopicPartition
from regent.sim.log_lines import broker_lines, channel_lines, controller_lines
from regent.sim.log_lines.channel_lines import Attempt
from regent.sim.log_lines.controller_lines import Scene
from regent.sim.log_lines.line import KafkaLogFile, KafkaLogLine
from regent.sim.observer import Observer

if TYPE_CHECKING:
    from regent.sim.process import Process

#: A path that ends so is one file for everything; any other is a directory.
MERGED_SUFFIX: Final = ".log"


def is_merged(path: Path) -> bool:
    """Whether everything goes into one file."""
    return path.suffix == MERGED_SUFFIX


def log_place(root: Path, seed: int) -> Path:
    """Where the logs of a run are kept: a file, or a directory with one for each broker."""
    return root if is_merged(root) else root / f"seed-{seed}"


class LogFiles:
    """The files of all nodes, or one for everything in the order in which it happened."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._open: dict[Path, TextIO] = {}
        if place.is_file() or (place.is_dir() and (is_merged(place) or any(place.iterdir()))):
            raise BadInput(f"{place} is there already; remove it, or keep the logs elsewhere")
        # An empty file is a log too: of a run in which nothing was said.
        self._file(self._place) if is_merged(place) else self._make(place)

    def write(self, node: BrokerId, file: KafkaLogFile, text: str) -> None:
        """Append to a node's file."""
        path = self._place if is_merged(self._place) else self._place / f"broker-{node}" / file
        try:
            self._file(path).write(text)
        except OSError as error:
            raise self._trouble(error) from error

    def close(self) -> None:
        """Write what is left."""
        for file in self._open.values():
            try:
                file.close()
            except OSError as error:
                raise self._trouble(error) from error

    def _file(self, path: Path) -> TextIO:
        if path not in self._open:
            self._make(path.parent)
            try:
                self._open[path] = path.open("w", encoding="utf-8", newline="\n")
            except OSError as error:
                raise self._trouble(error) from error
        return self._open[path]

    def _make(self, directory: Path) -> None:
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._trouble(error) from error

    def _trouble(self, error: OSError) -> BadInput:
        return BadInput(f"cannot keep logs in {self._place}: {error.strerror}; choose another path")


class StateChangeLogKeeper(Observer):
    """Writes the logs of a run."""

    def __init__(self, place: Path) -> None:
        self._files = LogFiles(place)
        #: Things that may yet share a line, what they have in common, and where they were said.
        self._held: list[Any] = []
        self._held_key: tuple[Any, ...] = ()
        self._held_scene: Scene | None = None
        #: The cause that each controller's last record named, and what it has told of it.
        self._causes: dict[BrokerId, str] = {}
        self._told: dict[BrokerId, set[type]] = {}
        self._taking_office: set[BrokerId] = set()
        #: The brokers that each controller knows.
        self._known: dict[BrokerId, dict[BrokerId, Broker]] = {}
        self._numbers: Counter[tuple[BrokerId, BrokerId]] = Counter()
        #: Every request that was sent, by its identity: the attempts, and those not arrived yet.
        self._attempts: dict[int, list[Attempt]] = {}
        self._under_way: dict[int, list[Attempt]] = {}
        self._began: dict[BrokerId, set[TopicPartition]] = {}
        self._roles: dict[BrokerId, dict[TopicPartition, broker_lines.Role]] = {}

    def close(self) -> None:
        """Write what is left."""
        self._release()
        self._files.close()

    # --- a controller -------------------------------------------------------------------------

    def recorded(self, process: "Process", record: Record) -> None:
        """Something took hold."""
        node = process.broker_id
        if self._causes.get(node) != record.cause:
            self._causes[node] = record.cause
            self._told[node] = set()
        if isinstance(record.fact, facts.ControllerElected):
            self._known[node] = {}
            self._taking_office.add(node)
        self._tell(process, record.controller_epoch, record.fact, type(record.fact))

    def request_queued(
        self, process: "Process", broker_id: BrokerId, request: ControlRequest
    ) -> None:
        """Kafka logs a request when it is queued, not when it goes out."""
        self._tell(process, request.controller_epoch, Send(broker_id, request), type(request))

    def event_handled(self, process: "Process") -> None:
        """After its first event a new controller is ready, if it is one still."""
        node = process.broker_id
        if node in self._taking_office:
            self._release()
            state = process.controller.state
            if state.is_active:
                scene = self._scene(process, state.controller_epoch, is_first=True)
                self._write(node, controller_lines.ready(scene), process.now_ms)
            self._taking_office.discard(node)

    def _tell(self, process: "Process", epoch: ControllerEpoch, thing: Any, kind: type) -> None:
        """Say it now, or hold it back while the next may belong to the same line."""
        if kind not in controller_lines.WORDS:
            return
        node = process.broker_id
        shared = controller_lines.SHARED.get(kind)
        content = thing.request if isinstance(thing, Send) else thing
        key = (node, epoch, kind, *(getattr(content, name) for name in shared or ()))
        if shared is None or key != self._held_key:
            self._release()
            told = self._told[node]
            self._held_scene = self._scene(process, epoch, is_first=kind not in told)
            told.add(kind)
        self._held.append(thing)
        self._held_key = key
        if shared is None:
            self._release()

    def _scene(self, process: "Process", epoch: ControllerEpoch, *, is_first: bool) -> Scene:
        node = process.broker_id
        return Scene(
            node=node,
            epoch=epoch,
            at_ms=process.now_ms,
            event=self._causes[node].partition("#")[0],
            state=process.controller.state,
            is_taking_office=node in self._taking_office,
            is_first=is_first,
            known=self._known[node],
        )

    def _release(self) -> None:
        held, self._held = self._held, []
        scene = self._held_scene
        if not held or scene is None:
            return
        kind = self._held_key[2]
        things = held if kind in controller_lines.SHARED else held[0]
        for line in controller_lines.WORDS[kind](scene, things):
            self._files.write(scene.node, line.file, line.at(scene.at_ms))
        self._held_key = ()
        self._learn(scene, held)

    def _learn(self, scene: Scene, said: list[Any]) -> None:
        """Remember the brokers as this controller knows them from now on."""
        known = self._known[scene.node]
        for fact in said:
            if isinstance(fact, facts.BrokerDown) and not fact.bounced:
                known.pop(fact.broker_id, None)
            elif isinstance(fact, facts.BrokerUp | facts.BrokerUpdated):
                known[fact.broker_id] = scene.state.brokers[fact.broker_id].broker

    # --- a controller's channels --------------------------------------------------------------

    def request_sent(
        self, process: "Process", broker_id: BrokerId, number: int, request: ControlRequest
    ) -> None:
        """The first request of a channel, and each one that goes again, needs a connection."""
        node = process.broker_id
        to = process.world.registration_of(broker_id)
        attempt = Attempt(node, to, self._numbers[node, broker_id], request)
        self._numbers[node, broker_id] += 1
        earlier = self._attempts.setdefault(id(request), [])
        # These may come between requests that are queued together and share a line.
        if earlier:
            self._write(node, channel_lines.not_sent(earlier[-1]), process.now_ms)
        if earlier or number == 1:
            self._write(node, channel_lines.connected(attempt), process.now_ms)
        earlier.append(attempt)
        self._under_way.setdefault(id(request), []).append(attempt)

    def request_answered(
        self, process: "Process", request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """Only the last attempt is still listened to."""
        for line in channel_lines.answered(self._attempts[id(request)][-1], answer):
            self._say(process, line)

    # --- a broker -----------------------------------------------------------------------------

    def node_started(self, process: "Process") -> None:
        """A new life remembers no roles."""
        self._roles[process.broker_id] = {}
        self._began[process.broker_id] = set()

    def leader_began(self, process: "Process", name: TopicPartition, leader_epoch: int) -> None:  # noqa: ARG002 - the request tells it
        """It is said with the request that made it lead, which is judged next."""
        self._began[process.broker_id].add(name)

    def control_answered(
        self, process: "Process", request: ControlRequest, answer: ControlAnswer
    ) -> None:
        """A broker has done what it will do about a request."""
        node, hosted = process.broker_id, process.broker.hosted
        receipt = broker_lines.Receipt(
            node=node,
            correlation_id=self._arrived(request).correlation_id,
            request=request,
            answer=answer,
            latest_epoch=process.broker.controller_epoch,
            hosted=hosted,
            began=frozenset(self._began[node]),
            before=self._roles[node],
        )
        for line in broker_lines.received(receipt):
            self._say(process, line)
        self._began[node].clear()
        for entry in request.partitions:
            name = TopicPartition(entry.topic, entry.partition)
            if name in hosted:
                self._roles[node][name] = broker_lines.role_after(hosted[name])

    def _arrived(self, request: ControlRequest) -> Attempt:
        """Which attempt has arrived: the last that has not.

        The wire does not tell which it was when a late one and its repetition are both under way,
        and so none is received after its answer.
        """
        under_way = self._under_way[id(request)]
        return under_way.pop() if under_way else self._attempts[id(request)][0]

    # --- writing ------------------------------------------------------------------------------

    def _say(self, process: "Process", line: KafkaLogLine) -> None:
        self._release()
        self._write(process.broker_id, line, process.now_ms)

    def _write(self, node: BrokerId, line: KafkaLogLine, at_ms: int) -> None:
        self._files.write(node, line.file, line.at(at_ms))
