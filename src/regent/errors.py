"""The exceptions of Regent: what a caller could not have foreseen.

Expected outcomes (a refused move, a lost race, a Kafka error code) are values and stand in return
types. The tree:

    RegentError
    ├── ControllerMoved      a newer controller epoch exists: resign, write nothing more
    ├── SessionLost          the ZooKeeper session is gone: resign, register again, stand again
    ├── CorruptZnode         a znode's content cannot be read; names the path and what is wrong
    ├── BrokerIdTaken        another process is registered under this broker's id
    ├── ProtocolError        bytes that are not Kafka's protocol, or values that it cannot carry
    ├── CorruptJournal       a journal line, other than a torn last one, cannot be read
    ├── QueryDied            a query of a watch has ended by itself (in pipeline.watch)
    └── BadInput             what a person gave us is wrong; the message says where and what to do
"""


class RegentError(Exception):
    """Anything that Regent itself raises."""


class ControllerMoved(RegentError):  # noqa: N818 - it is news, not an error
    """A newer controller is in office; whatever this one still wanted to do must not happen."""


class SessionLost(RegentError):  # noqa: N818 - it is news, not an error
    """The ZooKeeper session that made this node what it was has ended."""


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


class BadInput(RegentError):  # noqa: N818 - the name says it
    """A file, flag or value given by a person cannot be used; the message says what to do."""
