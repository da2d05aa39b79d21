"""Bytes against the reader of requests and answers, led by coverage: not a part of `make test`.

    pip install atheris
    python -m tests.fuzz.fuzz_wire -max_total_time=60

Anything but a value or a `ProtocolError` ends it, with the bytes that did it in a file `crash-…`.
"""

import importlib
import sys


def main() -> None:
    """Run until told to stop."""
    # By name, because it is not among what a checkout needs.
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["regent.wire"]):
        reading = importlib.import_module("tests.fuzz.reading")
    atheris.Setup(sys.argv, reading.read_anything)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
