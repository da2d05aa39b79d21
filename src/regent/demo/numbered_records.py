"""Records that say which one they are, so that each can be looked for."""

from typing import Final

RECORD_BYTES: Final = 1_000


def to_value(number: int) -> bytes:
    """A record that says which one it is."""
    return str(number).encode().ljust(RECORD_BYTES, b".")


def to_number(value: bytes | str | None) -> int:
    """Which record this is; -1 for none of ours."""
    digits = (value.encode() if isinstance(value, str) else value or b"").rstrip(b".")
    return int(digits) if digits.isdigit() else -1
