"""Whether a process is still there."""

from pathlib import Path


def is_gone(pid: int) -> bool:
    """Dead, though its new parent may not have taken notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"
