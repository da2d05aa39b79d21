"""The JSON of `kafka-leader-election`: partitions, from a file that a person may have edited."""

from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from regent.errors import BadInput
from regent.model.ids import TopicPartition

_EXAMPLE: Final = '{"partitions": [{"topic": "orders", "partition": 0}]}'


class _Wanted(Struct, forbid_unknown_fields=True):
    topic: Annotated[str, Meta(min_length=1)]
    partition: Annotated[int, Meta(ge=0)]


class _ElectionFile(Struct, forbid_unknown_fields=True):
    partitions: Annotated[list[_Wanted], Meta(min_length=1)]
    version: int = 1


def read_partitions(path: Path) -> tuple[TopicPartition, ...]:
    """The partitions in a file, each once and in its order."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_ElectionFile)
    except OSError as error:
        raise BadInput(
            f"cannot read {path}: {error.strerror}; write the partitions there, like {_EXAMPLE}"
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(
            f"{path} lists no partitions: {error}; it must be like {_EXAMPLE}"
        ) from error
    return tuple(dict.fromkeys(TopicPartition(w.topic, w.partition) for w in found.partitions))
