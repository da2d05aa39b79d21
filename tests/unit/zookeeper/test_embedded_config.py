"""The text of `zoo.cfg`, which Java reads in its own way."""

import pytest

from regent.zookeeper.embedded import to_property


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("/home/anna/my data/~x=1:2", "/home/anna/my data/~x=1:2"),
        ("/home/jürgen", r"/home/j\u00fcrgen"),
        ("/data/集群", r"/data/\u96c6\u7fa4"),
        ("/data/🦀", r"/data/\ud83e\udd80"),
        (r"C:\new\users", r"C:\\new\\users"),
        ("two\nlines", r"two\u000alines"),
        ("no utf-8: \udcff", r"no utf-8: \udcff"),
    ],
)
def test_a_value_is_written_as_java_reads_it(value: str, text: str) -> None:
    """A byte is a letter of Latin-1 there, and a backslash begins something."""
    assert to_property(value) == text
