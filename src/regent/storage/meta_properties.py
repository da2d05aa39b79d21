"""`meta.properties`: whose logs a directory holds. Nobody may start on those of somebody else."""

from pathlib import Path
from typing import Final

from regent.errors import BadInput
from regent.model.ids import BrokerId
from regent.storage.atomic_file import replace_file

META_FILE_NAME: Final = "meta.properties"


def check_owner(directory: Path, broker_id: BrokerId, cluster_id: str) -> None:
    """Write whose directory this is, or refuse it if it says otherwise."""
    path = directory / META_FILE_NAME
    try:
        found = _parse(path.read_text("utf-8"))
    except FileNotFoundError:
        _write(path, broker_id, cluster_id)
        return
    except UnicodeDecodeError as error:
        raise BadInput(f"{path} is not text; if the logs here are yours, delete it") from error
    wanted = {"broker.id": str(broker_id), "cluster.id": cluster_id}
    for key, value in wanted.items():
        if found.get(key) != value:
            raise BadInput(
                f"{path} says {key}={found.get(key, '(nothing)')}, and this broker has {value}; "
                "these are another broker's logs: choose another folder"
            )


def _write(path: Path, broker_id: BrokerId, cluster_id: str) -> None:
    content = f"version=0\nbroker.id={broker_id}\ncluster.id={cluster_id}\n"
    replace_file(path, content.encode(), sync=True)


def _parse(text: str) -> dict[str, str]:
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    return {key.strip(): value.strip() for key, value in pairs}
