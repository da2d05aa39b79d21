"""A program for `node_main` to run: dials a port again and again, and writes down how it went."""

import socket
import sys
import time
from pathlib import Path


def main(port: int, diary: Path) -> None:
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)) as link:
                note(diary, "open")
                link.recv(1)
                note(diary, "broken")
        except OSError as error:
            note(diary, str(error))
        time.sleep(0.01)


def note(diary: Path, word: str) -> None:
    with diary.open("a") as file:
        file.write(f"{word}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
