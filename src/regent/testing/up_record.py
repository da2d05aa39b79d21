"""What `regent up` writes down in its folder, for its next start and for other terminals.

The file outlives the cluster: ids, ports and racks are the same next time. While the cluster is up
it also says whom to ask; whether it still has an owner is said by the lock (`up_lock`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from regent.errors import BadInput, RegentError

FILE_NAME: Final = "up.json"


class RecordNotKept(RegentError):  # noqa: N818 - it is news, not an error
    """The folder is gone, or its disk is full; the cluster goes on without the file."""


class BrokerRecord(Struct, frozen=True, kw_only=True):
    """One broker as it was when the file was written."""

    broker_id: int
    address: str
    rack: str | None
    condition: str
    pid: int | None


class ControlAddress(Struct, frozen=True):
    """Whom to ask to do something, and what shows that one may."""

    port: int
    token: str


class UpRecord(Struct, frozen=True, kw_only=True):
    """A cluster of `regent up`."""

    base_port: int
    racks: Sequence[str]
    #: The one that was given; None: the one in the folder.
    zookeeper: str | None
    brokers: Sequence[BrokerRecord]
    #: None: it is down.
    control: ControlAddress | None = None
    launcher_pid: int | None = None


def read_record(folder: Path) -> UpRecord | None:
    """What is known of the cluster in this folder; None if there never was one."""
    path = folder / FILE_NAME
    try:
        return msgspec.json.decode(path.read_bytes(), type=UpRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise BadInput(
            f"{path} cannot be read: {error}; remove it, and `regent up` writes it again"
        ) from error


def write_record(folder: Path, record: UpRecord) -> None:
    """Replace the file as a whole. Nobody else may read it: who can, can stop the cluster."""
    path = folder / FILE_NAME
    draft = path.with_name(f"{FILE_NAME}.new")
    try:
        draft.unlink(missing_ok=True)
        draft.touch(mode=0o600)
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2))
        draft.replace(path)
    except OSError as error:
        raise RecordNotKept(f"{path} cannot be written: {error.strerror}") from error
