"""Where brokers listen, as people write it."""

from typing import NamedTuple

from regent.errors import BadInput

PORT_MAX = 65_535


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """`host:port,host:port`, each once; an IPv6 address is written in brackets."""
    addresses = dict.fromkeys(_parse_address(part.strip()) for part in text.split(","))
    return tuple(addresses)


def _parse_address(text: str) -> Address:
    host, _, port = text.rpartition(":")
    is_bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if is_bracketed else host
    is_port = port.isascii() and port.isdigit() and 0 < int(port) <= PORT_MAX
    if not host or not is_port or (":" in host and not is_bracketed):
        raise BadInput(
            f"--bootstrap: {text!r} is no address of a broker; write it like broker-1:9092, or"
            " [::1]:9092, with commas between several"
        )
    return Address(host, int(port))
