"""What every command that uses Spark has in common.

No command imports the pipeline at the top of its module: `regent --help` must neither need Spark
nor wait for it.
"""

from importlib.util import find_spec
from typing import Annotated

import typer

from regent.errors import BadInput

MasterOption = Annotated[
    str,
    typer.Option(
        metavar="URL",
        help="Where Spark runs: local[2] for two cores of this machine, or spark://HOST:PORT.",
    ),
]


def need_spark() -> None:
    """Say what to install when the optional part is missing; before the pipeline is imported."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise BadInput(
            "this command needs Spark, which is not installed; `pip install 'regent[spark]'`"
            " brings it"
        )
