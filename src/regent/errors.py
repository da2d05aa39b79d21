"""The exceptions of Regent: what a caller could not have foreseen.

Expected outcomes (a refused move, a lost race, a Kafka error code) are values and stand in return
types. The tree:

    RegentError
    ├── ControllerMoved      a newer controller epoch exists: resign, write nothing more
    ├── SessionLost          the ZooKeeper session is gone: resign, register again, stand again
    ├── ZooKeeperUnreachable no session could be opened; says where, why and what to do
    ├── CorruptZnode         a znode's content cannot be read; names the path and what is wrong
    ├── BrokerIdTaken        another process is registered under this broker's id
    ├── ControllerIdTaken    another controller is there under this controller's id
    ├── ProtocolError        bytes that are not Kafka's protocol, or values that it cannot carry
    ├── CorruptJournal       a journal line, other than a torn last one, cannot be read
    ├── CorruptLog           a stored batch, other than a torn last one, cannot be read
    ├── LogDirOffline        a directory of logs cannot be read or written, and is offline
    ├── BrokerGone           a connection to a broker failed, ended, fell silent or made no sense
    ├── ClusterUnreachable   nobody in a cluster could be asked; says who was tried and what to do
    ├── NotSupported         a broker does not speak what was asked of it
    ├── RequestRefused       a cluster refuses a request as a whole; carries Kafka's code
    ├── QueryDied            a query of a watch has ended by itself (in pipeline.watch)
    └── BadInput             what a person gave us is wrong; the message says where and what to do
"""


class RegentError(Exception):
    """Anything that Regent itself raises."""


class ControllerMoved(RegentError):  # noqa: N818 - it is news, not an error
    """A newer controller is in office; whatever this one still wanted to do must not happen."""


class SessionLost(RegentError):  # noqa: N818 - it is news, not an error
    """The ZooKeeper session that made this node what it was has ended."""


class ZooKeeperUnreachable(RegentError):  # noqa: N818 - it is news, not an error
    """No ZooKeeper answered in time; trying again later may help."""


class CorruptZnode(RegentError):  # noqa: N818 - the name says it
    """A znode's content is not what its path promises."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class BrokerIdTaken(RegentError):  # noqa: N818 - the name says it
    """Another session holds the registration of this broker id; this broker must not start."""

    def __init__(self, broker_id: int, owner_session_id: int) -> None:
        super().__init__(f"broker id {broker_id} is registered by session {owner_session_id}")
        self.broker_id = broker_id
        self.owner_session_id = owner_session_id


class ControllerIdTaken(RegentError):  # noqa: N818 - the name says it
    """Another session holds this controller's id: another process, or this one's past life."""

    def __init__(self, node_id: int, address: str, owner_session_id: int) -> None:
        super().__init__(
            f"a controller with id {node_id} is there already, at {address}, in ZooKeeper session"
            f" 0x{owner_session_id:x}; give this one another --id, or wait until that session ends"
        )
        self.node_id = node_id
        self.address = address
        self.owner_session_id = owner_session_id


class ProtocolError(RegentError):
    """Bytes from outside are not what Kafka's protocol says, or a value does not fit into it.

    Whoever reads from a connection closes it on this; nothing else needs to be undone.
    """


class CorruptJournal(RegentError):  # noqa: N818 - the name says it
    """A journal line that is not the torn last one cannot be read."""

    def __init__(self, where: str, line_number: int, reason: str) -> None:
        super().__init__(f"{where}, line {line_number}: {reason}")
        self.where = where
        self.line_number = line_number
        self.reason = reason


class CorruptLog(RegentError):  # noqa: N818 - the name says it
    """Records that were safe on disk are damaged; nothing of that log may be served."""

    def __init__(self, path: str, position: int, offset: int, reason: str) -> None:
        super().__init__(f"{path}, byte {position}, at offset {offset}: {reason}")
        self.path = path
        self.position = position
        self.offset = offset
        self.reason = reason


class LogDirOffline(RegentError):  # noqa: N818 - it is news, not an error
    """A log directory is offline; its replicas are gone until the broker starts again."""

    def __init__(self, directory: str, reason: str) -> None:
        super().__init__(f"log directory {directory} is offline: {reason}")
        self.directory = directory
        self.reason = reason


class BadInput(RegentError):  # noqa: N818 - the name says it
    """A file, flag or value given by a person cannot be used; the message says what to do."""


class BrokerGone(RegentError):  # noqa: N818 - it is news, not an error
    """One connection to a broker is of no more use; another broker may still answer."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: {reason}")
        self.address = address
        self.reason = reason


class ClusterUnreachable(RegentError):  # noqa: N818 - the name says it
    """Nobody who could answer was found, after all attempts; the message says what to do."""


class NotSupported(RegentError):  # noqa: N818 - the name says it
    """A broker does not speak an API, or not in a version that can say what was wanted."""


class RequestRefused(RegentError):  # noqa: N818 - the name says it
    """A whole request was refused; what is refused item by item is in the answer instead."""

    def __init__(self, message: str, error_code: int) -> None:
        super().__init__(message)
        self.error_code = error_code
